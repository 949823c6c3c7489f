"""The norm on the bench, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page

from browsing import call, value, values
from tformer_book.chapters.ch08.norm_bench import NORMS, START, NormBench


@pytest.fixture
def widget() -> NormBench:
    """What `page` and `phone` show."""
    return NormBench()


@pytest.mark.parametrize("norm", NORMS)
def test_what_comes_out_agrees_with_the_library(blank: Page, norm: str) -> None:
    for x in (list(START), [0.0, 0.0, 0.0, 0.0], [-10.0, 10.0, 0.1, 0.0]):
        found = call(blank, NormBench, "normed", [[x, norm]])[0]
        python = NormBench(x, norm)
        np.testing.assert_allclose(found["y"], python.normed, rtol=0, atol=1e-12)
        assert found["size"] == pytest.approx(python.size, abs=1e-12)


def test_a_shift_is_forgotten_by_one_norm_and_not_by_the_other(page: Page) -> None:
    widget = page.locator(".tf-bench")
    outcome = widget.locator(".tf-outcome")
    widget.get_by_role("button", name="add 2 to all").click()
    assert outcome.inner_text() == "Nothing after the norm has changed (add 2 to all)."
    widget.get_by_role("button", name="RMSNorm").click()
    assert outcome.inner_text() == ""
    widget.get_by_role("button", name="add 2 to all").click()
    assert outcome.inner_text() == "What comes out has changed."
    widget.get_by_role("button", name="reset").click()
    assert values(widget, "given") == list(START)


def test_a_slider_moves_one_number(page: Page) -> None:
    widget = page.locator(".tf-bench")
    widget.get_by_label("Number 2").fill("-4")
    x = [START[0], -4.0, *START[2:]]
    np.testing.assert_allclose(values(widget, "made"), NormBench(x).normed, atol=1e-12)
    assert value(widget, "size") == [pytest.approx(NormBench(x).size, abs=1e-12)]
    assert value(widget, "length") == [pytest.approx(2, abs=1e-4)]
