"""The head browser in a browser: its arithmetic, and how it is worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from chapters.ch06.test_head_browser import browsers
from tformer_book.chapters.ch06.head_browser import LAYERS, HeadBrowser

FOUR = list(LAYERS)[1]


@pytest.fixture
def widget() -> HeadBrowser:
    """What `page` and `phone` show."""
    return HeadBrowser(off=[])


def test_the_page_computes_what_the_library_does(blank: Page) -> None:
    all_of_them = browsers()
    calls = [
        [dict(one.layers)[one.layer], one.words, one.kinds, list(one.tokens), one.off]
        for one in all_of_them
    ]
    for ours, one in zip(call(blank, HeadBrowser, "browse", calls), all_of_them, strict=True):
        np.testing.assert_allclose(ours["weights"], one.weights, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours["total"], one.total, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours["received"], one.received, rtol=0, atol=1e-12)


def rows(page: Page) -> list[str]:
    """The names of the heads, from top to bottom."""
    return page.locator(".tf-open").all_text_contents()


def test_heads_stand_in_the_order_of_the_library(page: Page) -> None:
    assert rows(page) == list(LAYERS["six heads, one a kind"])
    page.get_by_text("Other layers and sentences").click()
    page.get_by_role("button", name=FOUR).click()
    assert rows(page) == list(LAYERS[FOUR])


def test_a_head_is_switched_off_by_keyboard_and_on_again(page: Page) -> None:
    said, looking = page.locator(".tf-said"), page.locator(".tf-looking")
    expect(looking).to_contain_text("animal 0.166, street 0.000, tired 0.833, which brings nothing")
    page.get_by_label("place is on").focus()
    page.keyboard.press("Space")
    expect(said).to_have_text("“… tired” without place: of the nouns, animal gets most: 0.166.")
    expect(looking).to_contain_text("tired 0.667")
    page.get_by_label("animate is on").click()
    expect(said).to_have_text(
        "“… tired” without animate and place: no noun gets more than a trace."
    )
    expect(looking).to_contain_text("animal 0.000")
    expect(page.locator(".tf-brought .tf-title")).to_contain_text("(switched off)")
    page.get_by_role("button", name="all heads on").click()
    expect(said).to_have_text("“… tired”: of the nouns, animal gets most: 0.166.")


def test_it_begins_with_one_head_off_and_what_that_does(show: Callable) -> None:
    page = show(HeadBrowser())
    said = page.locator(".tf-said")
    expect(said).to_have_text("“… tired” without animate: no noun gets more than a trace.")
    page.get_by_label("animate is on").click()
    expect(said).to_have_text("“… tired”: of the nouns, animal gets most: 0.166.")
    page.get_by_text("Other layers and sentences").click()
    page.get_by_role("button", name="reset").click()
    expect(said).to_contain_text("without animate")


def test_nouns_that_get_the_same_are_both_named(show: Callable) -> None:
    widget = HeadBrowser(last="narrow", off=[])
    animal, street = (widget.total[widget.tokens.index(noun)] for noun in ("animal", "street"))
    assert animal == pytest.approx(street, abs=5e-4)
    said = show(widget).locator(".tf-said")
    expect(said).to_have_text(f"“… narrow”: animal and street get the same, {animal:.3f}.")


def test_a_cell_that_is_pressed_is_told_in_full(page: Page) -> None:
    full = page.locator("details", has_text="in full")
    expect(full).not_to_have_attribute("open", "")
    page.get_by_label("place looks at street").click()
    expect(full).to_have_attribute("open", "")
    expect(page.locator(".tf-brought .tf-title")).to_have_text("Head place, word street")


def test_the_last_word_turns_the_row_and_a_pair_is_told(page: Page) -> None:
    page.get_by_role("button", name="wide", exact=True).click()
    expect(page.locator(".tf-looking")).to_contain_text("animal 0.015, street 0.181, wide 0.667")
    page.get_by_role("button", name="place", exact=True).click()
    page.locator(".tf-column", has_text="street").click()
    told = page.locator(".tf-brought")
    expect(told).to_contain_text("Head place, word street")
    expect(told).to_contain_text("is place 8: score 8")
    expect(told).to_contain_text("is place, 0.997 × 1/6 = 0.166")
    page.locator(".tf-column", has_text="wide").click()
    expect(told).to_contain_text("says place −40, says cargo 16: score −24")


def test_a_longer_sentence_and_back(page: Page) -> None:
    page.get_by_text("Other layers and sentences").click()
    page.get_by_role("button", name="piano, door").click()
    expect(page.locator(".tf-column")).to_have_count(13)
    page.locator(".tf-column").last.click()
    page.get_by_role("button", name="cat, mat").click()
    expect(page.locator(".tf-column[aria-pressed=true]")).to_have_text("cat")
    page.get_by_role("button", name="reset").click()
    expect(page.locator(".tf-said")).to_contain_text("animal gets most: 0.166")


def test_a_finger_turns_a_feature_off(phone: Page) -> None:
    phone.get_by_label("animate is on").tap()
    expect(phone.locator(".tf-said")).to_contain_text("no noun gets more than a trace")
