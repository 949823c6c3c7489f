"""The real model from stored runs, in a browser: its numbers, and how it is worked."""

from collections.abc import Callable

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from browsing import IN_THE_HAND, call, value, values, violations
from tformer import pretrained, reference
from tformer.models.hooks import run_with_hooks
from tformer.models.known import SMOL
from tformer.models.pretrained import from_checkpoint
from tformer_book.chapters.ch00.real import NORMS, TEXTS, seen, stored
from tformer_book.chapters.ch00.real_parts import PARTS
from tformer_book.chapters.ch00.real_view import RealView

DESK = {"width": 1440, "height": 900}
LAST = SMOL.n_layers - 1
PAGE = "chapters/00_machine_view.html"


def test_the_page_reads_what_python_reads(blank: Page) -> None:
    places = [(name, t) for name, rows in stored()["texts"].items() for t in range(len(rows))]
    calls = [(*place, block) for place in places for block in (0, 11, LAST)]
    sizes = [SMOL.n_layers, SMOL.n_heads]
    for where, found in zip(
        calls, call(blank, RealView, "seen", [[*one, *sizes] for one in calls]), strict=True
    ):
        ours = seen(*where)
        norms = [found["norms"][name] for name in ("before", "attention", "between")]
        norms += [found["norms"][name] for name in ("feedForward", "after")]
        assert norms == [ours["norms"][name] for name in ("before", *NORMS)], where
        assert [tuple(one) for one in found["best"]] == ours["lens"], where
        assert [tuple(one) for one in found["end"]] == seen(*where[:2], LAST)["lens"], where
        np.testing.assert_allclose(found["weights"], ours["weights"], atol=1e-12)
        shares = [norms[1] / (norms[0] + norms[1]), norms[3] / (norms[2] + norms[3])]
        assert found["shares"] == pytest.approx(shares)


@pytest.fixture
def built(visit: Callable[..., Page]) -> Page:
    """The page of the built book, its figure with the last token of a repeat in block 18."""
    page = visit(PAGE, viewport=DESK)
    widget = page.locator(".tf-real")
    widget.get_by_role("button", name="a repeat").click()
    slider = widget.get_by_role("slider", name="Block")
    slider.focus()
    for _ in range(18):
        page.keyboard.press("ArrowRight")
    return page


def shown(page: Page) -> tuple[float, float, float]:
    """The norm after the block, the best of the lens after it, and head 6's largest weight."""
    widget = page.locator(".tf-real")
    return (
        *value(widget, "after"),
        values(widget.locator(".tf-real-now"), "guess")[0],
        values(widget, "head")[6],
    )


def test_the_built_page_shows_the_stored_numbers(built: Page) -> None:
    here = seen("a repeat", -1, 18)
    stands = (here["norms"]["after"], here["lens"][0][1], here["weights"][6].max())
    assert shown(built) == pytest.approx(stands)
    end = [p for _, p in seen("a repeat", -1, LAST)["lens"]]
    assert values(built.locator(".tf-real-end"), "guess") == end
    expect(built.locator(".tf-real-end").last).to_contain_text("␣glass")


def test_the_built_page_shows_what_the_library_computes(
    built: Page, checkpoint: pretrained.Checkpoint
) -> None:
    tokenizer, p, c = from_checkpoint(checkpoint)
    run = run_with_hooks(np.array(tokenizer.encode(TEXTS["a repeat"])), p, c)
    x = run["blocks.18.after"][-1]
    norm, best, weight = shown(built)
    assert norm == pytest.approx(np.linalg.norm(x), rel=2e-3)
    chances = reference.softmax(reference.logit_lens(x, p, c))
    assert best == pytest.approx(chances.max(), abs=1e-3)
    assert weight == pytest.approx(run["blocks.18.weights"][6, -1].max(), abs=1 / 255)


# ---- how it is worked ---------------------------------------------------------------------


def test_the_slider_says_what_it_shows(show: Callable) -> None:
    page = show(RealView(), viewport=DESK)
    widget = page.locator(".tf-real")
    slider = widget.get_by_role("slider", name="Block")
    slider.focus()
    page.keyboard.press("End")
    here = seen("France", -1, LAST)
    x, (best, p) = here["norms"], here["lens"][0]
    shares = [
        a / (a + b) for a, b in ((x["attention"], x["before"]), (x["feed_forward"], x["between"]))
    ]
    assert slider.get_attribute("aria-valuetext") == (
        f"block 29: attention adds {shares[0]:.2f}, feed-forward {shares[1]:.2f}; "
        f"the lens reads “␣{best.strip()}”, {p:.3f}"
    )
    page.keyboard.press("ArrowLeft")
    expect(widget.locator(".tf-real-now")).to_contain_text("The lens after block 28␣capital")


def test_tokens_and_arrays_are_one_stop_each_and_keys_lead_through(show: Callable) -> None:
    page = show(RealView(block=11), viewport=DESK)
    widget, keyboard = page.locator(".tf-real"), page.keyboard
    widget.get_by_role("button", name="␣is").focus()
    for _ in range(4):
        keyboard.press("ArrowLeft")
    keyboard.press("Enter")
    assert value(widget, "after") == [seen("France", 0, 11)["norms"]["after"]]
    assert widget.get_by_role("button", name="The", exact=True).get_attribute("aria-pressed")
    expect(widget.get_by_role("button", name="The", exact=True)).to_be_focused()
    for _ in range(2):  # the slider, and the arrays
        keyboard.press("Tab")
    expect(widget.get_by_role("button", name="tokens")).to_be_focused()
    keyboard.press("ArrowDown")
    for _ in range(9):
        keyboard.press("ArrowRight")
    keyboard.press("Enter")
    about = widget.locator(".tf-real-about")
    expect(about).to_contain_text("change by feed-forward, 5 × 576")
    expect(about).to_contain_text("884,736 parameters in each block: W out, 1536 × 576.")
    expect(about).to_contain_text("It makes the sink.")


def test_what_is_said_follows_the_block(show: Callable) -> None:
    at = next(i for i, part in enumerate(PARTS) if part["name"] == "attention weights")
    page = show(RealView(block=11, part=at, text="tired"), viewport=DESK)
    about, slider = page.locator(".tf-real-about"), page.get_by_role("slider", name="Block")
    expect(about).to_contain_text("9 × 12 × 12")
    for block, said in ((11, "Head 1"), (17, "Induction heads"), (16, "Head 0"), (29, "sink")):
        slider.fill(str(block))
        expect(about).to_contain_text(said)
    expect(about).not_to_contain_text("Induction")


def test_a_strip_is_pressed_and_a_bar_is_read(show: Callable) -> None:
    page = show(RealView(text="a repeat"), viewport=DESK)
    widget = page.locator(".tf-real")
    strip = widget.locator(".tf-real-strip").first
    box = strip.bounding_box() or {}
    strip.click(position={"x": (16 + 0.5) * box["width"] / 30, "y": 5})
    expect(widget.locator(".tf-real-strips b")).to_have_text("block 16")
    widget.locator(".tf-real-head").first.locator(".tf-real-reach").nth(9).hover()
    title = widget.locator(".tf-real-title", has_text="head 0: ")
    expect(title).to_have_text("head 0: 0.99 to “␣door”, token 9")
    page.mouse.move(5, 5)
    expect(title).to_have_count(0)


def test_reset_goes_back(show: Callable) -> None:
    page = show(RealView(), viewport=DESK)
    widget = page.locator(".tf-real")
    before = widget.inner_text()
    widget.get_by_role("button", name="wide").click()
    widget.get_by_role("button", name="weights").click()
    assert widget.inner_text() != before
    widget.get_by_role("button", name="reset").click()
    assert widget.inner_text() == before


@pytest.mark.parametrize("device", ["desk", "hand"])
@pytest.mark.parametrize("part", [-1, 6, 12])
def test_it_fits_and_axe_finds_nothing(show: Callable, part: int, device: str) -> None:
    widget = RealView(text="tired", block=17, part=part)
    page = show(widget, **(IN_THE_HAND if device == "hand" else {"viewport": DESK}))
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]
    assert violations(page) == []


def test_no_array_makes_it_higher_than_a_screen(show: Callable) -> None:
    page = show(RealView(text="tired", block=17), viewport=DESK)
    page.evaluate("document.documentElement.dataset.theme = 'light'")  # the book's letters
    look = "width: var(--book-measure); font-family: var(--pst-font-family-base)"
    page.evaluate("(look) => { document.body.style.cssText = look; }", look)
    widget, high = page.locator(".tf-real"), {}
    for at, part in enumerate(PARTS):
        widget.locator(".tf-real-part").nth(at).click()
        high[part["name"]] = (widget.bounding_box() or {})["height"]
    assert {name: height for name, height in high.items() if height > 700} == {}
