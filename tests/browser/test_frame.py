"""What stands around the text: drawers, focus rings, what Tab reaches."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from browsing import Visit

CHAPTER = "chapters/00_prerequisites.html"
WIDE, MIDDLE, NARROW = ({"width": width, "height": 900} for width in (1440, 1000, 390))
# What has the focus: its place in the page, whether it is drawn, and its ring.
FOCUSED = """() => {
    const el = document.activeElement, style = getComputedStyle(el);
    const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    const box = el.getBoundingClientRect();
    const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    return { name: el.outerHTML.slice(0, 120), text: el === document.body,
             seen: el.contains(top) || top?.contains(el), ring,
             nav: el.matches("nav.bd-links a, .page-toc a"), inText: !!el.closest("article") };
}"""


@pytest.mark.parametrize(
    ("name", "size"),
    [("primary", NARROW), ("secondary", MIDDLE), ("secondary", NARROW)],
    ids=["chapters-narrow", "sections-middle", "sections-narrow"],
)
def test_an_open_drawer_hides_the_text_below(visit: Visit, size: dict[str, int], name: str) -> None:
    page = visit(CHAPTER, viewport=size, color_scheme="dark", reduced_motion="reduce")
    handle = page.locator(f".{name}-toggle")
    handle.click()
    drawer = page.locator(f"dialog#pst-{name}-sidebar-modal")
    colour = drawer.evaluate("(e) => getComputedStyle(e).backgroundColor")
    assert colour == page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.keyboard.press("Escape")
    expect(handle).to_be_focused()


@pytest.mark.parametrize("size", [WIDE, MIDDLE, NARROW], ids=["wide", "middle", "narrow"])
def test_tab_reaches_only_what_is_seen_and_rings_it(visit: Visit, size: dict[str, int]) -> None:
    page = visit(CHAPTER, viewport=size, reduced_motion="reduce")
    reached, links = 0, page.locator("nav.bd-links a:visible").count()
    for _ in range(links + 20):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        if focused["inText"]:
            break
        assert focused["seen"], focused["name"]
        assert focused["ring"], focused["name"]
        reached += focused["nav"]
    assert focused["inText"]
    assert reached == links >= 4 or size is NARROW  # all of the part of the book that is open


def test_the_list_of_sections_rings_what_has_the_focus(visit: Visit) -> None:
    page = visit(CHAPTER, viewport=WIDE, reduced_motion="reduce")
    page.keyboard.press("Tab")  # from now on the browser shows rings
    for link in page.locator(".page-toc a").all():
        link.focus()
        focused = page.evaluate(FOCUSED)
        assert focused["nav"], focused["name"]
        assert focused["ring"], focused["name"]


def test_a_missing_page_looks_like_the_book_and_searches_it(stage: Callable, server: str) -> None:
    page, troubles = stage()
    page.goto(f"{server}/chapters/very/deep/nothing.html")
    expect(page.locator("form")).to_have_attribute("action", f"{server}/search.html")
    page.wait_for_function("document.fonts.size === 1 && document.fonts.status === 'loaded'")
    page.locator("input").fill("softmax")
    page.keyboard.press("Enter")
    expect(page.locator("#search-results li").first).to_be_visible()
    assert all("404" in trouble for trouble in troubles)
    troubles.clear()
