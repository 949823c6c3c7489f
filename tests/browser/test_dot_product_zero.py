"""The dot product's figure where a vector has no length and so no direction."""

import pytest
from pages import Visit

CHAPTER = "chapters/01_dot_products.html"


@pytest.mark.parametrize("zero", [["q"], ["k"], ["q", "k"]], ids="".join)
def test_a_vector_of_length_zero_draws_no_nan(visit: Visit, zero: list[str]) -> None:
    page = visit(CHAPTER)
    figure = page.locator(".tf-dot-product").first
    for name in zero:
        for which in ("first", "second"):
            figure.get_by_label(f"{name}, {which} coordinate").fill("0")
    assert figure.get_by_text("points nowhere").count() == 1
    assert "NaN" not in figure.locator("svg").first.evaluate("(e) => e.outerHTML")
