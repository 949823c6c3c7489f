"""What has been painted stays where it is, while scripts, figures and typefaces arrive."""

import re
from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import Page, Route

from browser.faults import CHAPTERS
from browsing import STYLE, Visit, settled

STEADY = 0.1
"""The most that a page may shift: above it, it is felt to move."""
PHONE = {"width": 390, "height": 844}
WIDE = {"width": 1200, "height": 800}
"""A desk: wider ones show the same lines, and what moves is a smaller part of them."""
TABLET = {"width": 768, "height": 1024}
MAIN = ["index.html", *(name for name in CHAPTERS if "deeper" not in name)]
QUIET = 6
"""Rounds of 25 milliseconds in which nothing more is asked for."""
WATCH = """if (!window.moved) {
    window.moved = [];
    new PerformanceObserver((list) => window.moved.push(...list.getEntries()))
        .observe({ type: "layout-shift", buffered: true });
}"""
TOLD = """window.moved.map((shift) => [shift.value, ...shift.sources.map(({ node }) =>
    (node?.outerHTML ?? node?.textContent ?? "").slice(0, 80))])"""
PAINTED = "performance.getEntriesByName('first-contentful-paint').length"


def shifts(page: Page, address: str) -> list[list]:
    """Load a page whose scripts come after its first paint, and its typefaces after them."""
    waiting: list[Route] = []
    for late in ("**/*.js", "**/*.js?*", "**/*.woff2"):
        page.route(late, lambda route: waiting.append(route))

    def let_through(kind: str) -> None:
        still = 0
        while still < QUIET:
            ready = [one for one in waiting if kind in one.request.url]
            for route in ready:
                waiting.remove(route)
                route.continue_()
            still = 0 if ready else still + 1
            page.wait_for_timeout(25)

    page.goto(address, wait_until="commit")
    page.wait_for_function(PAINTED)
    let_through(".js")
    let_through("")
    page.unroute_all()
    settled(page).wait_for_timeout(200)
    return page.evaluate(TOLD)


@pytest.mark.parametrize(("number", "name"), [*enumerate(MAIN)])
def test_a_page_stands_still(stage: Callable, server: str, number: int, name: str) -> None:
    for size in (WIDE, PHONE, TABLET)[: 2 + (number % 3 == 2)]:
        page, troubles = stage(viewport=size, device_scale_factor=1)
        page.add_init_script(WATCH)
        met = shifts(page, f"{server}/{name}")
        moved = sum(shift[0] for shift in met)
        assert moved <= STEADY, f"{size}: {moved:.3f} {sorted(met)[-3:]}"
        troubles.clear()


@pytest.mark.parametrize("width", [768, 390])
@pytest.mark.parametrize(
    ("name", "place"), [("15_generation", ".tf-teller"), ("17_heads", ".tf-cutting")]
)
def test_a_figure_is_as_high_before_its_file_has_come(
    visit: Visit, server: str, name: str, place: str, width: int
) -> None:
    page = visit("404.html", viewport={"width": width, "height": 900})
    held: list[Route] = []
    page.route("**/*.held.js", lambda route: held.append(route))
    page.goto(f"{server}/chapters/{name}.html")
    figure = page.locator(place)
    figure.evaluate("(e) => e.scrollIntoView({ block: 'center', behavior: 'instant' })")
    height = "(e) => e.getBoundingClientRect().height"
    page.wait_for_timeout(300)
    before = figure.evaluate(height)
    held.pop().continue_()
    page.locator(f"{place}[data-ready]").wait_for()
    assert figure.evaluate(height) == pytest.approx(before, abs=8)


def ink(page: Page, place: str) -> int:
    """How much of a word is black."""
    shot = Image.open(BytesIO(page.locator(place).screenshot())).convert("L")
    return sum(255 - value for value in shot.tobytes())


def test_bold_is_bold_before_the_typefaces_have_come(visit: Visit, tmp_path: Path) -> None:
    style = re.sub(r"@font-face[^}]*url\([^}]*}", "", STYLE.read_text("utf-8"))
    words = "".join(f"<p><{tag}>Hamburgefonstiv</{tag}></p>" for tag in ("span", "b", "i", "em"))
    text = f"<html data-theme='light' data-web><style>{style} em {{ font-weight: 700 }}</style>"
    (tmp_path / "page.html").write_text(f"<!doctype html>{text}<body>{words}", encoding="utf-8")
    page = visit((tmp_path / "page.html").as_uri(), viewport={"width": 390, "height": 844})
    page.evaluate("document.body.style.fontFamily = 'var(--pst-font-family-base)'")
    for upright, bold in (("span", "b"), ("i", "em")):
        assert ink(page, bold) > 1.15 * ink(page, upright)
