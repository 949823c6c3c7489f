"""Who can know whom, in a browser: its arithmetic, and how it is worked."""

from itertools import product

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from chapters.ch11.test_who_knows import widgets
from tformer_book.chapters.ch11.who_knows import NAMES, WhoKnows, same_word


@pytest.fixture
def widget() -> WhoKnows:
    """What `page` and `phone` show."""
    return WhoKnows()


def test_the_page_knows_what_the_library_knows(blank: Page) -> None:
    all_of_them = widgets()
    calls = [[len(x.words), x.at, x.layers, x.shown[x.form]["prefix"]] for x in all_of_them]
    for ours, one in zip(call(blank, WhoKnows, "known", calls), all_of_them, strict=True):
        np.testing.assert_array_equal(ours, one.knows)


def test_the_page_finds_the_same_word(blank: Page) -> None:
    lists = [WhoKnows(form=form).words for form in NAMES]
    calls = [[a, place, b] for a, b in product(lists, lists) for place in range(len(a))]
    assert call(blank, WhoKnows, "moved", calls) == [same_word(*one) for one in calls]


def test_it_in_a_decoder_does_not_know_the_last_word(page: Page) -> None:
    told = page.locator(".tf-says")
    expect(told).to_contain_text("“it” can know 13 of 13 words.")
    page.get_by_role("button", name="decoder", exact=True).click()
    expect(told).to_contain_text("“it” can know 10 of 13 words.")
    page.get_by_role("button", name="tired", exact=True).click()
    expect(told).to_contain_text("“tired” can know 13 of 13 words.")
    expect(page.locator(".tf-knows-bar").first).to_contain_text("animal")
    page.get_by_role("button", name="street: wide").click()
    expect(page.locator(".tf-knows-bar").first).to_contain_text("street")
    page.get_by_role("button", name="before layer 1").click()
    expect(told).to_contain_text("“wide” can know 1 of 13 words.")


def test_the_pronoun_is_german(page: Page) -> None:
    page.get_by_role("button", name="encoder–decoder").click()
    page.get_by_role("button", name="weil").press("Enter")
    expect(page.locator(".tf-says")).to_contain_text("“weil” can know 14 of 18 words.")
    page.get_by_role("button", name="street, can be known").click()
    page.get_by_role("button", name="decoder", exact=True).click()
    expect(page.locator(".tf-says")).to_contain_text("“street” can know 8 of 13 words.")
    page.get_by_role("button", name="encoder–decoder").click()
    expect(page.locator(".tf-says")).to_contain_text("“street” can know 12 of 18 words.")
    page.get_by_role("button", name="weil").click()
    expect(page.locator(".tf-knows-bar").first).to_contain_text("es")
    page.get_by_role("button", name="reset").click()
    expect(page.locator(".tf-says")).to_contain_text("“it”")


def test_a_finger_chooses_a_word(phone: Page) -> None:
    phone.get_by_role("button", name="because, can be known").tap()
    expect(phone.locator(".tf-says")).to_contain_text("Not asked here in training.")
