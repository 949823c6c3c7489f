"""Four descents, in a browser: its arithmetic is the library's, and how it is worked."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import call, value
from tformer_book.chapters.ch14.descent import STEPS, FourDescents, gradient, loss

KEYS = ("gd", "momentum", "adam", "adamw")
DIALS = ("start", "rate", "warmup", "clip", "beta2", "decay")


# Presses the button again as soon as a step is seen, however slow the machine is.
STOPS_SOON = """(button) => {
    const step = button.closest(".tf-descent").querySelector("data.tf-step");
    new MutationObserver((_, seen) => {
        if (!/^[1-9]/.test(step.textContent) || button.textContent !== "pause") return;
        seen.disconnect();
        button.click();
    }).observe(step, { childList: true, characterData: true, subtree: true });
}"""


@pytest.fixture
def widget() -> FourDescents:
    """What `page` and `phone` show."""
    return FourDescents()


def some() -> list[FourDescents]:
    """The examples of the figure, each dial at its ends, and other starts."""
    found = [FourDescents(rate=rate) for rate in (0.01, 0.1, 0.3, 1.0)]
    found += [FourDescents(rate=0.3, warmup=60), FourDescents(rate=0.3, clip=1.0)]
    found += [FourDescents(beta2=0.9, decay=decay) for decay in (0.0, 0.1, 1.0)]
    found += [FourDescents(clip=0.1, beta2=0.9999), FourDescents(warmup=100, beta2=0.5)]
    found.append(FourDescents([-4.0, 2.0], 1.0))
    found += [FourDescents([x, y], 0.2) for x, y in ((4.0, 2.0), (-4.0, -2.0), (0.0, 0.0))]
    return found


def test_the_page_has_the_surface_of_the_library(blank: Page) -> None:
    places = np.random.default_rng(0).uniform(-4, 4, (200, 2)).tolist()
    got = call(blank, FourDescents, "loss", places)
    np.testing.assert_allclose(got, [loss(*at) for at in places], rtol=1e-13)
    got = call(blank, FourDescents, "gradient", places)
    np.testing.assert_allclose(got, [gradient(*at) for at in places], rtol=1e-13, atol=1e-15)


def test_the_page_goes_the_ways_of_the_library(blank: Page) -> None:
    shown = some()
    asked = [[{name: getattr(one, name) for name in DIALS}] for one in shown]
    for one, got in zip(shown, call(blank, FourDescents, "ways", asked), strict=True):
        np.testing.assert_allclose(got, one.ways, rtol=1e-9, atol=1e-9, err_msg=repr(one))


def test_cures_are_chosen(page: Page) -> None:
    widget = page.locator(".tf-descent")
    first, said = FourDescents(), widget.locator(".tf-said")
    for key, want in zip(KEYS, first.losses[:, -1], strict=True):
        assert value(widget, key) == [pytest.approx(want, abs=1e-12)]
    expect(said).to_contain_text("After 150 steps: lowest is momentum")
    expect(said).to_contain_text("Out of the drawing went momentum at step")
    widget.get_by_role("button", name="rate 0.3", exact=True).click()
    expect(said).to_contain_text("gradient descent at step")
    widget.get_by_role("button", name="… clipped").click()
    assert value(widget, "clip") == [1]
    want = FourDescents(rate=0.3, clip=1.0)
    assert value(widget, "adamw") == [pytest.approx(want.losses[3, -1], abs=1e-12)]
    widget.get_by_role("button", name="reset").click()
    assert value(widget, "rate") == [0.1]
    assert value(widget, "clip") == [np.inf]


def test_every_dial_turns(page: Page) -> None:
    widget = page.locator(".tf-descent")
    dials = [
        ("Learning rate", "rate", "6", 0.3),
        ("Warm-up", "warmup", "40", 40),
        ("Largest norm", "clip", "2", 0.5),
        ("Beta 2", "beta2", "1", 0.9),
        ("Weight decay", "decay", "0.5", 0.5),
        ("Steps that are shown", "step", "70", 70),
    ]
    for label, name, sent, want in dials:
        page.get_by_role("slider", name=label).fill(sent)
        assert value(widget, name) == [want]
    want = FourDescents(rate=0.3, warmup=40, clip=0.5, beta2=0.9, decay=0.5, step=70)
    for key, place in zip(KEYS, want.ways[:, 70], strict=True):
        assert value(widget, f"{key}-at") == pytest.approx(place.tolist(), abs=1e-9)
    expect(page.get_by_role("slider", name="Warm-up")).to_have_attribute(
        "aria-valuetext", "40 steps"
    )


def test_arrow_keys_move_the_start_and_a_voice_says_it(page: Page) -> None:
    widget = page.locator(".tf-descent")
    start = page.get_by_role("slider", name="Start")
    expect(start).to_have_attribute("aria-valuetext", "(−3.2, 0.8)")
    start.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Shift+ArrowDown")
    expect(start).to_have_attribute("aria-valuetext", "(−3.1, −0.2)")
    want = FourDescents([-3.1, -0.2]).losses[2, -1]
    assert value(widget, "adam") == [pytest.approx(want, abs=1e-12)]
    for _ in range(3):
        page.keyboard.press("Shift+ArrowUp")
    expect(start).to_have_attribute("aria-valuetext", "(−3.1, 2.0)")
    expect(widget.get_by_role("status")).to_contain_text("After 150 steps: lowest is")


def test_it_is_played_and_stopped(page: Page) -> None:
    widget = page.locator(".tf-descent")
    play = widget.get_by_role("button", name="play")
    play.evaluate(STOPS_SOON)
    play.click()
    expect(widget.locator("data.tf-step")).to_have_text(re.compile("^[1-9]"))
    expect(play).to_be_visible()
    at = int(value(widget, "step")[0])
    assert 0 < at < STEPS
    expect(widget.locator(".tf-said")).to_contain_text(f"After {at} step")
    assert value(widget, "adam") == [
        pytest.approx(FourDescents().losses[2, at], rel=1e-9, abs=1e-12)
    ]
    play.click()
    expect(widget.locator(".tf-said")).to_contain_text("After 150 steps", timeout=15_000)
    expect(play).to_be_visible()


def test_whoever_wants_no_motion_gets_the_end(show: Callable[..., Page]) -> None:
    page = show(FourDescents(step=0), reduced_motion="reduce")
    widget = page.locator(".tf-descent")
    expect(widget.locator(".tf-said")).to_contain_text("All four start at a loss of")
    widget.get_by_role("button", name="play").click()
    assert value(widget, "step") == [STEPS]


def test_a_finger_drags_the_start(phone: Page) -> None:
    widget = phone.locator(".tf-descent")
    box = widget.locator(".tf-descent-start .tf-halo").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    whole = widget.locator(".tf-descent-map").bounding_box()
    phone.mouse.move(x, y)
    phone.mouse.down()
    phone.mouse.move(whole["x"] + whole["width"] / 2, whole["y"] + whole["height"] / 2, steps=4)
    phone.mouse.up()
    start = phone.get_by_role("slider", name="Start")
    expect(start).to_have_attribute("aria-valuetext", "(0.0, 0.0)")
