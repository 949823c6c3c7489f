"""The last words, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from tformer_book.chapters.ch13.last_words import MOST, LastWords


@pytest.fixture
def widget() -> LastWords:
    """What `page` and `phone` show."""
    return LastWords()


def test_the_page_counts_what_the_library_counts(blank: Page) -> None:
    asked = [LastWords(tale, k) for tale in (0, 1) for k in range(MOST + 1)]
    lists = [one.tales[one.tale] for one in asked]
    calls = [[t["lists"][t["which"][one.k]]] for one, t in zip(asked, lists, strict=True)]
    got = call(blank, LastWords, "uncertainty", calls)
    np.testing.assert_allclose(got, [one.left() for one in asked], atol=1e-5)


def test_words_are_uncovered(page: Page) -> None:
    nouns, range_ = page.locator(".tf-lastwords-noun"), page.get_by_role("slider")
    expect(nouns).to_have_count(42)
    for _ in range(2):
        range_.press("ArrowRight")
    expect(nouns).to_have_count(12)
    page.get_by_role("button", name="… wide").click()
    expect(nouns).to_have_count(6)
    for _ in range(9):
        range_.press("ArrowRight")
    expect(nouns).to_have_text(["street"])
    page.get_by_role("button", name="reset").click()
    expect(nouns).to_have_count(42)


def test_a_finger_chooses_the_story(phone: Page) -> None:
    phone.get_by_role("button", name="… wide").tap()
    expect(phone.get_by_role("button", name="… wide")).to_have_attribute("aria-pressed", "true")
