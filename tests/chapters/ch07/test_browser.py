"""The widget of waves and phases, in a browser: its arithmetic, and how it is worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

from browsing import call, value, values, violations
from tformer import reference
from tformer_book.chapters.ch07.waves_and_phases import (
    BASE,
    PLACES,
    WIDTH,
    WISHES,
    WavesAndPhases,
    wishes,
)


@pytest.fixture
def widget() -> WavesAndPhases:
    """What `page` and `phone` show."""
    return WavesAndPhases()


def test_waves_parts_and_profile_agree_with_the_library(blank: Page) -> None:
    at = [0, 1, 17, 63]
    found = call(blank, WavesAndPhases, "waves", [[place] for place in at])
    want = reference.sinusoidal(np.array(at), WIDTH, base=BASE)
    np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)
    for wish, (q, k) in wishes().items():
        rows, pairs = [q.tolist(), k.tolist()], [(0, 0), (12, 7), (3, 60)]
        found = call(blank, WavesAndPhases, "parts", [[*rows, *pair] for pair in pairs])
        want = [WavesAndPhases(*pair, wish).parts for pair in pairs]
        np.testing.assert_allclose(found, want, rtol=0, atol=1e-12)
        hill = call(blank, WavesAndPhases, "profile", [rows])[0]
        want = [WavesAndPhases(max(0, n), max(0, -n), wish).score for n in range(-63, 64)]
        np.testing.assert_allclose(hill, want, rtol=0, atol=1e-11)


# ---- by hand ----------------------------------------------------------------------------


def test_sliders_give_the_numbers_of_the_library(page: Page) -> None:
    widget = page.locator(".tf-phases")
    for t, s in ((20, 7), (20, 33)):
        widget.get_by_label("Position of the query").fill(str(t))
        widget.get_by_label("Position of the key").fill(str(s))
        python = WavesAndPhases(t, s)
        assert value(widget, "score") == [pytest.approx(python.score, abs=1e-12)]
        assert value(widget, "distance") == [t - s]
        np.testing.assert_allclose(values(widget, "part"), python.parts, rtol=0, atol=1e-12)
    widget.get_by_role("button", name=WISHES[1]).click()
    assert value(widget, "score") == [pytest.approx(WavesAndPhases(20, 33, WISHES[1]).score)]
    widget.get_by_label("Position of the key").press("ArrowLeft")
    assert value(widget, "s") == [32]
    widget.get_by_role("button", name="reset").click()
    assert (value(widget, "t"), value(widget, "s")) == ([12], [7])


def test_both_together_keep_distance_and_score_up_to_the_edge(page: Page) -> None:
    widget = page.locator(".tf-phases")
    both = widget.get_by_label("Both words together")
    score = value(widget, "score")
    for low, key in ((0, 0), (30, 30), (63, 58)):
        both.fill(str(low))
        assert (value(widget, "t"), value(widget, "s")) == ([key + 5], [key])
        assert value(widget, "score") == [pytest.approx(score[0], abs=1e-12)]
    assert both.get_attribute("aria-valuetext") == "query at 63, key at 58"


def test_hands_point_where_the_pairs_point(page: Page) -> None:
    widget = page.locator(".tf-phases")
    widget.get_by_label("Position of the query").fill("2")
    hand = widget.locator(".tf-face").first.locator("line.tf-q")
    x, y = (float(hand.get_attribute(name)) for name in ("x2", "y2"))
    assert (x, -y) == (pytest.approx(np.sin(2)), pytest.approx(np.cos(2)))  # clockwise from noon


def test_a_guess_is_answered_once_both_have_moved_ten_positions(page: Page) -> None:
    widget = page.locator(".tf-phases")
    outcome = widget.locator(".tf-outcome")
    assert outcome.inner_text() == ""
    widget.get_by_role("radio", name="it shrinks").check()
    assert outcome.inner_text() == "Now move both on."
    widget.get_by_label("Position of the query").fill("22")
    assert "One word has moved alone" in outcome.inner_text()
    widget.get_by_label("Position of the key").fill("17")
    assert "You said it shrinks. It stays." in outcome.inner_text()
    widget.get_by_role("radio", name="it stays").check()
    assert "As you said: it stays." in outcome.inner_text()
    widget.get_by_label("Position of the query").fill("19")  # from a new distance, both together
    assert "One word has moved alone" in outcome.inner_text()
    for low, words in ((20, "Now move both on."), (27, "As you said: it stays.")):
        widget.get_by_label("Both words together").fill(str(low))
        assert words in outcome.inner_text()


def test_they_walk_together_until_they_are_stopped(show: Callable) -> None:
    page = show(WavesAndPhases(), timezone_id="UTC")  # in a context of its own, for its clock stops
    widget = page.locator(".tf-phases")
    button = widget.get_by_role("button", name="walk on together")
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    button.click()
    page.clock.run_for(3 * 180)
    assert (value(widget, "t"), value(widget, "s")) == ([15], [10])
    widget.get_by_role("button", name="stop").click()
    page.clock.run_for(3 * 180)
    assert (value(widget, "t"), button.inner_text()) == ([15], "walk on together")
    button.click()
    widget.get_by_label("Position of the key").fill("40")  # a hand on a slider stops them
    page.clock.run_for(3 * 180)
    assert (value(widget, "t"), value(widget, "s")) == ([15], [40])
    button.click()
    page.clock.run_for(50 * 180)  # at the end they begin anew
    assert 0 <= value(widget, "t")[0] < value(widget, "s")[0] < PLACES
    page.emulate_media(reduced_motion="reduce")
    widget.get_by_role("button", name="stop").click()
    widget.get_by_role("button", name="reset").click()
    button.click()
    assert (value(widget, "t"), value(widget, "s")) == ([22], [17])
    page.emulate_media(reduced_motion="null")


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_role("radio", name="it stays").check()
    page.get_by_label("Both words together").fill("20")
    assert violations(page) == []
