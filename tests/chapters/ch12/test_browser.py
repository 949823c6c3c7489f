"""Nudge a score, in a browser: its arithmetic, and how it is worked."""

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call, value, values
from tformer_book.chapters.ch12.nudge import CHOICES, Nudge
from tformer_book.chapters.ch12.row import row


@pytest.fixture
def widget() -> Nudge:
    """What `page` and `phone` show."""
    return Nudge()


def test_the_page_computes_what_the_library_does(blank: Page) -> None:
    some = [Nudge(s, layer, word) for s in (0, 1) for layer in (1, 2) for word in (0, 1, 6, 11)]
    calls = [[one.readings[one.sentence], one.layer, one.word, 0.3] for one in some]
    for got, one in zip(call(blank, Nudge, "loss", calls), some, strict=True):
        assert got == pytest.approx(one.loss(0.3), abs=1e-12)
    readings = [[given] for given in Nudge().readings]
    for got, sentence in zip(call(blank, Nudge, "gradients", readings), CHOICES, strict=True):
        found = row(sentence)
        np.testing.assert_allclose(got, found.dscores[:, found.it], rtol=0, atol=1e-12)


def test_a_score_is_chosen_and_its_step_made_smaller(page: Page) -> None:
    widget = page.locator(".tf-nudge")
    said = widget.locator(".tf-said")
    expect(said).to_have_text("The score of “it” on animal in layer 2 should grow.")
    far = value(widget, "error")[0]
    page.get_by_role("slider", name="Digits of the step").fill("5")
    assert value(widget, "step") == [pytest.approx(1e-5)]
    assert value(widget, "error")[0] < 1e-9 < far
    widget.get_by_role("group", name="layer 2").get_by_role("button", name="street").click()
    expect(said).to_have_text("The score of “it” on street in layer 2 should fall.")
    widget.get_by_role("group", name="layer 1").get_by_role("button", name="tired").click()
    expect(said).to_have_text("The score of “it” on tired in layer 1 should grow.")
    found = row()
    np.testing.assert_allclose(values(widget, "slope-1"), found.dscores[0, found.it], atol=1e-12)
    widget.get_by_role("button", name="reset").click()
    assert value(widget, "step") == [pytest.approx(0.1)]


def test_a_finger_chooses_the_other_sentence(phone: Page) -> None:
    widget = phone.locator(".tf-nudge")
    widget.get_by_role("button", name="… wide").tap()
    said = "The score of “it” on animal in layer 2 should fall."
    expect(widget.locator(".tf-said")).to_have_text(said)
