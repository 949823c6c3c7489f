"""A figure to touch at first sight, and cause and effect on one screen (decision 037)."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page

import chapters
from browsing import ROOT
from tformer_book.chapters.ch04.widen_head import WidenHead
from tformer_book.chapters.ch05.mask_editor import MaskEditor
from tformer_book.chapters.ch06.head_browser import HeadBrowser
from tformer_book.widgets.base import BookWidget
from tformer_book.widgets.page import HELD, held_script

DESK = {"width": 1440, "height": 900}
HAND = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
SCREEN = 700
"""Pixels: what a reader can see at once, without the browser's own lines."""
HIGHER = {
    "Training",
    "Typed",
    "AttentionMap",
    "OneQuery",
    "FourDescents",
    "DragRuns",
    "SpendBudget",
}
"""Figures that are still higher than a screen; no other may become so."""
NUMBERS = {WidenHead: 9, MaskEditor: 1, HeadBrowser: 0}
"""Numbers at first sight; those of the first are its width and the names of its scales."""
SIGHT = (ROOT / "benchmarks" / "first_sight.js").read_text("utf-8")

every = pytest.mark.parametrize("kind", chapters.widgets(), ids=lambda kind: kind.__name__)
each = pytest.mark.parametrize("kind", list(NUMBERS), ids=lambda kind: kind.__name__)


@pytest.fixture
def desk(show: Callable[..., Page], tmp_path: Path) -> Callable[[BookWidget], Locator]:
    """Show a figure as wide as the text of a page on a desk."""

    def shown(widget: BookWidget) -> Locator:
        if data := widget.held():
            name = f"{type(widget).__module__}.{type(widget).__name__}"
            (tmp_path / "widgets").mkdir()
            (tmp_path / "widgets" / f"{name}{HELD}").write_text(held_script(name, data), "utf-8")
        page = show(widget, viewport=DESK)
        page.evaluate("document.body.style.width = 'var(--book-measure)'")
        return page.locator(".tf-widget")

    return shown


def sight(root: Locator) -> dict[str, int]:
    """Height, count of numbers and of tab stops."""
    return root.evaluate(SIGHT[SIGHT.index("(root)") :])


def shows(root: Locator, least: int) -> bool:
    """Whether so many numbers are seen soon: they fade in."""
    for _ in range(50):
        if sight(root)["numbers"] >= least:
            return True
        root.page.wait_for_timeout(100)
    return False


@every
def test_a_figure_fits_on_one_screen(desk: Callable, kind: type[BookWidget]) -> None:
    if kind.__name__ not in HIGHER:
        assert sight(desk(kind()))["height"] <= SCREEN


@each
def test_few_numbers_at_first_sight_and_all_on_demand(desk: Callable, kind: type) -> None:
    root = desk(kind())
    assert sight(root)["numbers"] <= NUMBERS[kind]
    row = root.locator(".tf-waiting:has(.tf-waits:not(:empty))").nth(3)
    row.hover()
    assert shows(root, NUMBERS[kind] + 1)
    root.page.mouse.move(0, 0)
    if kind is MaskEditor:
        root.get_by_text("The numbers").click()
    else:
        root.get_by_role("button", name="numbers", exact=True).click()
    assert shows(root, NUMBERS[kind] + 5)


@pytest.mark.parametrize(
    ("kind", "name", "first"), [(MaskEditor, ".tf-cells", 13), (HeadBrowser, ".tf-table", 12)]
)
def test_a_grid_is_one_stop_and_arrow_keys_lead_through_it(
    desk: Callable, kind: type, name: str, first: int
) -> None:
    root = desk(kind())
    grid, keyboard = root.locator(name), root.page.keyboard
    assert sight(grid)["stops"] == 1
    parts = grid.locator("button, input")
    inside = "(grid) => grid.contains(document.activeElement)"
    where = "(parts) => parts.indexOf(document.activeElement)"
    last = parts.count() - 1
    parts.nth(last).focus()
    keyboard.press("ArrowRight")
    keyboard.press("ArrowDown")
    assert parts.evaluate_all(where) == last
    keyboard.press("ArrowUp")
    assert parts.evaluate_all(where) == last - first
    keyboard.press("ArrowLeft")
    at = parts.evaluate_all(where)
    assert at == last - first - 1
    keyboard.press("Tab")
    assert not grid.evaluate(inside)
    keyboard.press("Shift+Tab")
    assert parts.evaluate_all(where) == at
    assert sight(grid)["stops"] == 1


def seen(part: Locator) -> bool:
    """Whether all of it is in the window."""
    code = """(el) => {
        const { top, bottom } = el.getBoundingClientRect();
        return top >= 0 && bottom <= innerHeight;
    }"""
    return part.evaluate(code)


def middle(part: Locator) -> Locator:
    """Bring it to the middle of the window."""
    part.evaluate("(el) => el.scrollIntoView({ block: 'center', behavior: 'instant' })")
    return part


def test_on_a_phone_what_a_cell_of_a_mask_does_is_seen_where_it_is_pressed(show: Callable) -> None:
    root = show(MaskEditor(guess=1), **HAND).locator(".tf-mask")
    for s in (9, 11):
        middle(root.get_by_label(f"it may not look at {['was', '', 'tired'][s - 9]}")).tap()
    for name in (".tf-leak-count", ".tf-told-cell", ".tf-outcome"):
        assert seen(root.locator(name)), name
    assert "pairs leak" in root.locator(".tf-leak-count").inner_text()


def test_on_a_phone_what_a_head_does_is_seen_where_it_is_switched(show: Callable) -> None:
    root = show(HeadBrowser(), **HAND).locator(".tf-heads")
    for name in ("animate", "food"):
        middle(root.get_by_label(f"{name} is on")).tap()
        for effect in (".tf-said", ".tf-sum", ".tf-arrives"):
            assert seen(root.locator(effect)), (name, effect)


def test_on_a_phone_lamps_go_dark_where_the_head_is_widened(show: Callable) -> None:
    root = show(WidenHead(guess="1"), **HAND).locator(".tf-widen")
    dial = root.get_by_label("Width d")
    dial.evaluate("(el) => window.scrollBy(0, el.getBoundingClientRect().top - 20)")
    dial.fill("12")
    assert "Dark at the query" in root.locator(".tf-outcome").inner_text()
    assert seen(root.locator(".tf-outcome"))
    assert seen(root.locator(".tf-of-lamp").last)
