"""Said and there, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call
from chapters.ch09.test_said_and_there import widgets
from tformer_book.chapters.ch09.said_and_there import SaidAndThere


@pytest.fixture
def widget() -> SaidAndThere:
    """What `page` and `phone` show."""
    return SaidAndThere()


def test_the_page_computes_what_the_library_does(blank: Page) -> None:
    all_of_them = widgets()
    calls = [[*one.heard[one.sentence], one.threshold, one.activation] for one in all_of_them]
    for ours, one in zip(call(blank, SaidAndThere, "units", calls), all_of_them, strict=True):
        np.testing.assert_allclose(ours, one.units, rtol=0, atol=1e-12)


def test_the_threshold_decides_by_keyboard(page: Page) -> None:
    said = page.locator(".tf-said")
    expect(said).to_contain_text("“it” is place.")
    slider = page.get_by_role("slider", name="Threshold")
    slider.focus()
    page.keyboard.press("Home")
    expect(said).to_contain_text("“it” is animate, or place, or cargo.")
    page.keyboard.press("End")
    expect(said).to_contain_text("no unit answers.")
    page.get_by_role("button", name="reset").click()
    expect(said).to_contain_text("“it” is place.")


def test_another_sentence_and_another_bend(page: Page) -> None:
    page.get_by_role("button", name="lorry, street: wide").click()
    expect(page.locator(".tf-said")).to_contain_text("“it” is place, or cargo.")
    page.get_by_role("button", name="animal, street: heavy").click()
    expect(page.locator(".tf-said")).to_contain_text("no unit answers.")
    page.get_by_role("button", name="SiLU").click()
    expect(page.locator("tr", has_text="animate").locator(".tf-unit")).to_have_text("−0.190")


def test_a_finger_chooses_a_sentence(phone: Page) -> None:
    phone.get_by_role("button", name="cat, mat: soft").tap()
    expect(phone.locator(".tf-said")).to_contain_text("“it” is cloth.")
