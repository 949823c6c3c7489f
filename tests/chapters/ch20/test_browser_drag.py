"""Take runs out, in a browser: its fit is the library's, and how it is worked."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call, value
from tformer_book.chapters.ch20 import published
from tformer_book.chapters.ch20.drag import (
    BY_LOSS,
    BY_RATIO,
    LEAST,
    DragRuns,
    below,
    largest,
    law_without,
)
from tformer_book.experiments.scaling import Law, objective


@pytest.fixture
def widget() -> DragRuns:
    """What `page` and `phone` show."""
    return DragRuns()


def left_out() -> list[list[int]]:
    """What the buttons take out, single runs of the five, corners of the plane, and any others."""
    five, every = largest(5), published.runs()
    found = [[], *map(largest, BY_LOSS), *map(below, BY_RATIO)]
    found += [[one] for one in five] + [[i for i in five if i != one] for one in five]
    for key in (every.n, every.d, every.n * every.d):
        order = np.argsort(key)
        found += [sorted(part.tolist()) for part in (order[:100], order[-100:], order[-185:])]
    rng = np.random.default_rng(1)
    drawn = [rng.choice(245, k, replace=False) for k in (5,) * 6 + (20,) * 6 + (60, 120, 185)]
    return found + [sorted(one.tolist()) for one in drawn]


def test_the_page_fits_what_the_library_fits(blank: Page) -> None:
    shown, every = DragRuns(), published.runs()
    cases = left_out()
    kept = [np.setdiff1d(np.arange(245), out) for out in cases]
    asked = [[[shown.runs[i] for i in some], shown.starts] for some in kept]
    for out, some, got in zip(cases, kept, call(blank, DragRuns, "fit", asked), strict=True):
        share, want = got.pop("share"), law_without(tuple(out))
        found = Law(**got)
        names = ("floor", "alpha", "beta", "share")
        numbers, right = ([getattr(law, name) for name in names] for law in (found, want))
        np.testing.assert_allclose(numbers, right, rtol=0, atol=2e-4, err_msg=f"{out}")
        assert share == pytest.approx(found.share, abs=1e-12)
        best = objective(want, every.keep(some))
        assert objective(found, every.keep(some)) == pytest.approx(best, rel=1e-6)


def test_five_runs_are_taken_out_and_put_back(page: Page) -> None:
    widget = page.locator(".tf-dragruns")
    said, five = widget.locator(".tf-said"), widget.get_by_role("button", name="take out the five")
    assert value(widget, "share") == [pytest.approx(0.5646, abs=5e-5)]
    expect(five).to_have_attribute("aria-pressed", "false")
    five.click()
    expect(said).to_have_text("Without 5 runs the exponent is 0.514, 0.051 lower than with all.")
    expect(five).to_have_attribute("aria-pressed", "true")
    assert value(widget, "each") == [pytest.approx(17.9, abs=0.05)]
    by_loss = widget.get_by_role("group", name="largest losses")
    by_loss.get_by_role("button", name="30").click()
    assert value(widget, "share") == [pytest.approx(0.4595, abs=5e-4)]
    by_ratio = widget.get_by_role("group", name="tokens a parameter")
    by_ratio.get_by_role("button", name="10").click()
    assert value(widget, "share") == [pytest.approx(0.5226, abs=5e-4)]
    widget.get_by_role("button", name="put all back").click()
    expect(said).to_contain_text("All 245 runs: the exponent is 0.565.")


def test_runs_are_taken_out_one_at_a_time_by_keys(page: Page) -> None:
    widget = page.locator(".tf-dragruns")
    run = widget.get_by_role("checkbox")
    expect(run).to_have_attribute("aria-label", re.compile("^Run 1 of 245 by loss: 6.8 billion"))
    run.focus()
    page.keyboard.press("Space")
    expect(run).to_have_attribute("aria-checked", "false")
    assert value(widget, "share") == [pytest.approx(law_without((0,)).share, abs=2e-4)]
    for _ in range(4):
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
    assert value(widget, "in") == [240]
    assert value(widget, "share") == [pytest.approx(0.5139, abs=2e-4)]
    page.keyboard.press("Enter")
    assert value(widget, "in") == [241]
    expect(widget.get_by_role("status")).to_contain_text("Without 4 runs the exponent is")


def test_a_pointer_takes_out_what_it_is_drawn_over(page: Page) -> None:
    widget = page.locator(".tf-dragruns")
    places = widget.locator("circle.tf-dragruns-marked").evaluate_all(
        "(all) => all.map((e) => { const b = e.getBoundingClientRect(); "
        "return [b.x + b.width / 2, b.y + b.height / 2]; })"
    )
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=4)
    page.mouse.up()
    out = 245 - value(widget, "in")[0]
    assert out >= 5
    assert widget.locator(".tf-dragruns-marked.tf-dragruns-out").count() == 5
    page.mouse.click(*places[0])
    assert value(widget, "in") == [246 - out]


def test_too_few_runs_are_told(show: Callable[..., Page]) -> None:
    page = show(DragRuns(list(range(245 - LEAST))))
    widget = page.locator(".tf-dragruns")
    assert value(widget, "in") == [LEAST]
    assert value(widget, "share") == [
        pytest.approx(law_without(tuple(range(245 - LEAST))).share, abs=2e-4)
    ]
    run = widget.get_by_role("checkbox")
    run.focus()
    for _ in range(25):
        page.keyboard.press("PageDown")
    expect(run).to_have_attribute("aria-label", re.compile("^Run 245 of 245 by loss"))
    page.keyboard.press("Space")
    expect(widget.locator(".tf-said")).to_have_text(
        "59 runs are too few for a law of five constants. Put some back."
    )
    assert np.isnan(value(widget, "share")[0])


def test_a_finger_takes_out_a_run(phone: Page) -> None:
    widget = phone.locator(".tf-dragruns")
    box = widget.locator("circle.tf-dragruns-marked").first.bounding_box()
    phone.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert value(widget, "in") == [244]
