"""A sentence, end to end, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from chapters.ch10.test_end_to_end import widgets
from tformer_book.chapters.ch10.end_to_end import EndToEnd


@pytest.fixture
def widget() -> EndToEnd:
    """What `page` and `phone` show."""
    return EndToEnd()


def test_the_page_computes_what_the_library_does(blank: Page) -> None:
    all_of_them = widgets()
    calls = [
        [one.models[one.model], one.text.split(), one.look, one.doubled, one.eps]
        for one in all_of_them
    ]
    for found, one in zip(call(blank, EndToEnd, "steps", calls), all_of_them, strict=True):
        for name, table in one.tables.items():
            if name in found:
                np.testing.assert_allclose(found[name], table, rtol=0, atol=1e-9, err_msg=repr(one))
        assert set(found) <= set(one.tables)


def test_the_noun_decides_in_one_model_and_nothing_in_the_other(page: Page) -> None:
    said = page.locator(".tf-said")
    expect(said).to_have_text("buy milk and → eggs.")
    page.get_by_role("button", name="pack laptop and").click()
    expect(said).to_have_text("pack laptop and → eggs.")
    page.get_by_role("button", name="both lists").click()
    expect(said).to_have_text("pack laptop and → charger.")
    page.get_by_role("button", name="only itself").click()
    expect(said).to_have_text("pack laptop and → eggs or charger: a tie.")
    page.get_by_role("button", name="as they are").click()
    expect(said).to_have_text("pack laptop and → now.")
    page.get_by_role("button", name="reset").click()
    expect(said).to_have_text("buy milk and → eggs.")


def test_a_sentence_is_typed_and_what_cannot_be_read_is_named(page: Page) -> None:
    field, note = page.get_by_label("Your own sentence"), page.locator(".tf-end-note")
    page.get_by_role("button", name="both lists").click()
    field.fill("Buy phone and")
    expect(page.locator(".tf-said")).to_have_text("buy phone and → charger.")
    field.fill("buy wine and")
    expect(note).to_contain_text("It does not know “wine”")
    expect(page.locator(".tf-said")).to_have_text("buy phone and → charger.")
    field.fill("and and and and and and and")
    expect(note).to_have_text("It reads one to 6 words.")
    field.fill("milk")
    expect(note).to_be_empty()


def test_a_finger_chooses_a_sentence(phone: Page) -> None:
    phone.get_by_role("button", name="both lists").tap()
    phone.get_by_role("button", name="buy laptop and", exact=True).tap()
    expect(phone.locator(".tf-said")).to_have_text("buy laptop and → charger.")
