"""Spend a budget, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call, value
from tformer_book.chapters.ch20.spend import CHINCHILLA, SpendBudget


@pytest.fixture
def widget() -> SpendBudget:
    """What `page` and `phone` show."""
    return SpendBudget()


def test_the_page_computes_what_the_library_does(blank: Page) -> None:
    some = [
        SpendBudget(c, n, law)
        for law in (0, 1, 2)
        for c in (17.0, 20.3, 23.76, 26.0)
        for n in (7.0, 9.4, 13.0)
    ]
    laws = [one.laws[one.law] for one in some]
    asked = [[law, one.compute] for law, one in zip(laws, some, strict=True)]
    got = call(blank, SpendBudget, "optimum", asked)
    want = [one.chosen.optimum(one.compute) for one in some]
    np.testing.assert_allclose(got, want, rtol=1e-12)
    asked = [[law, *one.bought] for law, one in zip(laws, some, strict=True)]
    got = call(blank, SpendBudget, "parts", asked)
    np.testing.assert_allclose(got, [one.parts for one in some], rtol=1e-12)
    asked = [[law, one.compute, one.bought[0]] for law, one in zip(laws, some, strict=True)]
    got = call(blank, SpendBudget, "worth", asked)
    np.testing.assert_allclose(got, [one.worth for one in some], rtol=1e-10)


def test_a_budget_is_spent(page: Page) -> None:
    widget, first = page.locator(".tf-spend"), SpendBudget()
    said = widget.locator(".tf-said")
    expect(said).to_have_text(
        "The model is too large and reads too little: with 73.2 billion parameters the same "
        "loss costs 54% of the budget."
    )
    assert value(widget, "loss") == [pytest.approx(sum(first.parts), abs=1e-12)]
    for name, part in zip(("floor", "small", "few"), first.parts, strict=True):
        assert value(widget, name) == [pytest.approx(part, abs=1e-12)]
    assert value(widget, "each") == [pytest.approx(first.bought[1] / first.bought[0])]
    widget.get_by_role("button", name="70 billion", exact=True).click()
    expect(said).to_have_text("No other number of parameters does better.")
    widget.get_by_role("button", name="as printed").click()
    assert value(widget, "best-each") == [pytest.approx(92.6, abs=0.05)]
    share = SpendBudget(size=CHINCHILLA, law=1).worth
    expect(said).to_have_text(
        "The model is too large and reads too little: with 32.2 billion parameters the same "
        "loss costs "
        f"{100 * share:.0f}% of the budget."
    )
    page.get_by_role("slider", name="Parameters").fill("9")
    assert "The model is too small" in said.inner_text()
    widget.get_by_role("button", name="the best number").click()
    assert value(widget, "worth") == [pytest.approx(1)]
    page.get_by_role("slider", name="Budget").fill("20")
    assert value(widget, "budget") == [pytest.approx(1e20)]
    widget.get_by_role("button", name="reset").click()
    assert value(widget, "loss") == [pytest.approx(sum(first.parts), abs=1e-12)]


def test_arrow_keys_move_the_sliders_and_a_voice_says_it(page: Page) -> None:
    slider = page.get_by_role("slider", name="Parameters")
    assert slider.get_attribute("aria-valuetext") == "280 billion"
    slider.focus()
    page.keyboard.press("ArrowLeft")
    widget = page.locator(".tf-spend")
    assert value(widget, "size")[0] < 2.79e11
    expect(widget.get_by_role("status")).to_contain_text("of which 1.817 is the floor")
    drawing = widget.get_by_role("img")
    assert "Loss against parameters for 5.76 × 10²³ FLOPs" in drawing.get_attribute("aria-label")


def test_a_finger_chooses_a_size_on_the_drawing(phone: Page) -> None:
    widget = phone.locator(".tf-spend")
    box = widget.locator("svg").bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    middle = 7 + 6 * (320 - 52) / (640 - 14 - 52)
    assert np.log10(value(widget, "size")[0]) == pytest.approx(middle, abs=0.03)
