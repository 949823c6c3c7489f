"""What has been painted stays where it is, while scripts, figures and typefaces arrive."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Route

from browser.faults import CHAPTERS
from browsing import settled

STEADY = 0.1
"""The most that a page may shift: above it, it is felt to move."""
HEIGHTS = {1440: 900, 390: 844}
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


@pytest.mark.parametrize("name", MAIN)
def test_a_page_stands_still(stage: Callable, server: str, name: str) -> None:
    for width, height in HEIGHTS.items():
        size = {"width": width, "height": height}
        page, troubles = stage(viewport=size, device_scale_factor=1)
        page.add_init_script(WATCH)
        met = shifts(page, f"{server}/{name}")
        moved = sum(shift[0] for shift in met)
        assert moved <= STEADY, f"{width}: {moved:.3f} {sorted(met)[-3:]}"
        troubles.clear()
