"""The widget that widens a head, in a browser: its arithmetic, and how it is worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page

from browsing import call, evaluate, numbers, value, values, violations
from tformer_book.chapters.ch04 import row
from tformer_book.chapters.ch04.scores import SCALES
from tformer_book.chapters.ch04.widen_head import START, WidenHead, normal


@pytest.fixture
def widget() -> WidenHead:
    """What `page` and `phone` show."""
    return WidenHead()


def test_the_random_coordinates_are_the_same_in_both_languages(blank: Page) -> None:
    first, later = evaluate(blank, WidenHead, "normal", [[4096], [64, 40 * 4096]])
    np.testing.assert_allclose(numbers(list(first.values())), normal(4096), rtol=0, atol=1e-12)
    found = numbers(list(later.values()))
    np.testing.assert_allclose(found, normal(64, 40 * 4096), rtol=0, atol=1e-12)


def test_columns_agree_with_the_widget_in_python(blank: Page) -> None:
    choices, rows = [(0, 4), (3, 91), (START, 1024), (31, 4096)], row.normalised().tolist()
    found = call(blank, WidenHead, "columns", [[rows, row.ASKS, *choice] for choice in choices])
    for ours, (draw, d) in zip(found, choices, strict=True):
        for name, python in WidenHead(d, draw).columns.items():
            size = abs(python.scores).max()
            np.testing.assert_allclose(ours[name]["scores"], python.scores, atol=1e-12 * size)
            np.testing.assert_allclose(ours[name]["weights"], python.weights, atol=1e-10)
            assert ours[name]["entropy"] == pytest.approx(python.entropy, abs=1e-10)
            assert ours[name]["atScores"] == pytest.approx(python.at_scores, rel=1e-9, abs=1e-10)
            assert ours[name]["atQuery"] == pytest.approx(python.at_query, rel=1e-9, abs=1e-10)


# ---- by hand ----------------------------------------------------------------------------


def test_the_slider_gives_the_numbers_of_the_library(page: Page) -> None:
    widget = page.locator(".tf-widen")
    for octave in (2, 7, 12):
        widget.get_by_label("Width d").fill(str(octave))
        python = WidenHead(2**octave).columns.values()
        assert value(widget, "d") == [2**octave]
        for name, field in (("at-scores", "at_scores"), ("at-query", "at_query")):
            want = [getattr(found, field) for found in python]
            assert values(widget, name) == pytest.approx(want, rel=1e-9, abs=1e-10)
        weights = np.array(values(widget, "weight")).reshape(-1, 3).T  # a line of the table a word
        np.testing.assert_allclose(weights, [found.weights for found in python], atol=1e-10)
    widget.get_by_role("button", name="other random matrices").click()
    want = [found.entropy for found in WidenHead(4096, START + 1).columns.values()]
    assert values(widget, "entropy") == pytest.approx(want, abs=1e-10)
    widget.get_by_role("button", name="reset").click()
    assert value(widget, "d") == [4]
    widget.get_by_label("Width d").press("ArrowRight")
    assert value(widget, "d") == [round(2**2.125)]


def test_no_dot_leaves_its_axis_at_any_width(page: Page) -> None:
    widget = page.locator(".tf-widen")
    inside = """(root) => [...root.querySelectorAll(".tf-dots")].every((axis) => {
        const { left, right } = axis.getBoundingClientRect();
        return [...axis.querySelectorAll(".tf-dot")].every((dot) => {
            const box = dot.getBoundingClientRect();
            return box.left >= left && box.right <= right;
        });
    })"""
    page.emulate_media(reduced_motion="reduce")  # dots do not take their time
    for octave in range(2, 13):
        widget.get_by_label("Width d").fill(str(octave))
        assert widget.evaluate(inside), octave
    page.emulate_media(reduced_motion="null")


def test_a_guess_is_answered_once_the_head_is_wide(page: Page) -> None:
    widget = page.locator(".tf-widen")
    outcome = widget.locator(".tf-outcome")
    assert outcome.inner_text() == ""
    widget.get_by_role("radio", name="1", exact=True).check()
    assert "widen the head to 1024" in outcome.inner_text()
    widget.get_by_label("Width d").fill("12")
    assert "Dark at the query: 1 and 1/d. You said 1." in outcome.inner_text()
    widget.get_by_role("radio", name="both 1 and 1/d").check()
    assert "As you said." in outcome.inner_text()


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (START, "Dark at the query: 1 and 1/d. As you said. Under 1 one weight has nearly"),
        (3, "Dark at the query: 1 and 1/d. As you said. Under 1 two words with one and the same"),
        (24, "Dark at the query: 1/d. You said 1 and 1/d. Under 1 two words happen to be nearly"),
    ],
)
def test_the_reason_is_that_of_the_draw(show: Callable, draw: int, words: str) -> None:
    page = show(WidenHead(4096, draw=draw, guess="1 and 1/d"))
    assert words in page.locator(".tf-outcome").inner_text()


STEP = 110  # milliseconds


def test_the_head_widens_by_itself_until_it_is_stopped(show: Callable) -> None:
    page = show(WidenHead(), timezone_id="UTC")  # in a context of its own, for its clock stops
    widget = page.locator(".tf-widen")
    button = widget.locator(".tf-width .tf-button")
    page.clock.install(time=0)
    page.clock.pause_at(1_000)
    button.click()
    assert (value(widget, "d"), button.inner_text()) == ([4], "stop")
    page.clock.run_for(3 * STEP)
    d = value(widget, "d")
    assert (4 < d[0] < 4096, button.inner_text()) == (True, "stop")
    button.click()
    page.clock.run_for(3 * STEP)
    assert (value(widget, "d"), button.inner_text()) == (d, "widen")
    page.emulate_media(reduced_motion="reduce")
    button.click()
    assert value(widget, "d") == [4096]
    page.emulate_media(reduced_motion="null")


def test_brightness_follows_the_gradient(page: Page) -> None:
    widget = page.locator(".tf-widen")
    widget.get_by_label("Width d").fill("12")
    code = "(all) => all.map((bulb) => Number(bulb.style.getPropertyValue('--tf-lit')))"
    lit = widget.locator(".tf-bulb").evaluate_all(code)
    python = WidenHead(4096).columns
    lengths = [python[name].at_scores for name in SCALES] + [
        python[name].at_query for name in SCALES
    ]
    assert lit == pytest.approx([min(1, (2 * length) ** 0.5) for length in lengths], abs=1e-3)


@pytest.mark.parametrize("device", ["page", "phone"])
def test_axe_finds_nothing(request: pytest.FixtureRequest, device: str) -> None:
    page = request.getfixturevalue(device)
    page.get_by_role("radio", name="1", exact=True).check()
    page.get_by_label("Width d").fill("12")
    assert violations(page) == []
