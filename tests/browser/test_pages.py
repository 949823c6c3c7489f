"""The built pages, opened from files by a browser that may ask no other host."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from browser.faults import faults
from browsing import IN_THE_HAND, Visit, settled, toc_pages

CHAPTER = "chapters/01_dot_products.html"
LIGHT, OTHER = "chapters/00_notation.html", "chapters/00_prerequisites.html"
PAGES = [*toc_pages(), "search.html", "record.html", "404.html"]


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_fault(stage: Callable, book: Path, name: str) -> None:
    found = faults(stage, book, name)
    assert not found, "\n".join(found)


# ---- what the pages do ------------------------------------------------------------------


def test_search_works_from_a_file(visit: Visit) -> None:
    page = visit(LIGHT)
    page.locator(".bd-sidebar-primary input[type=search]").fill("softmax")
    page.keyboard.press("Enter")
    page.locator("#search-results a[href^='chapters/02_softmax.html']").first.click()
    expect(page).to_have_url(re.compile(r"/chapters/02_softmax\.html"))


def test_search_says_when_nothing_is_found(visit: Visit) -> None:
    page = visit("search.html")
    page.locator("main input[type=search]").fill("zyxwvut")
    page.keyboard.press("Enter")
    expect(page.locator("#search-results")).to_contain_text("did not match")


def test_colour_mode_is_kept(visit: Visit) -> None:
    page = visit(LIGHT, color_scheme="dark")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Colour mode").click()
    expect(root).to_have_attribute("data-mode", "light")
    page.goto(page.url.replace(LIGHT, OTHER))
    expect(root).to_have_attribute("data-theme", "light")


def test_keyboard_reaches_the_text_first(visit: Visit) -> None:
    page = visit(LIGHT)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"


def test_the_way_of_a_first_reading_is_a_line_below_the_title(visit: Visit) -> None:
    page = settled(visit("chapters/04_why_sqrt_d.html", **IN_THE_HAND))
    line = page.locator("h1 + details.tf-path > summary")
    expect(line).to_have_text(re.compile(r"^First reading: about \d+ min; \d+ more may wait$"))
    assert (line.bounding_box() or {})["height"] < 30
    line.tap()
    page.locator("details.tf-path a", has_text="Does training repair it?").tap()
    expect(page).to_have_url(re.compile("#does-training-repair-it$"))


def test_drawings_take_the_colour_of_the_text(visit: Visit) -> None:
    page = settled(visit(CHAPTER, color_scheme="dark"))
    drawing = page.locator(".drawing-frame > [role=img]").first
    assert len(drawing.get_attribute("aria-label") or "") > 20
    colour = page.locator("svg.drawing").first.evaluate("(e) => getComputedStyle(e).fill")
    assert colour == page.locator("article").evaluate("(e) => getComputedStyle(e).color")


def test_folds_open_for_an_address_inside_and_for_print(visit: Visit) -> None:
    page = settled(visit("exercises/solutions/01_dot_products.html"))
    fold = page.locator("details.admonition").first
    expect(fold).not_to_have_attribute("open", "")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(fold).to_have_attribute("open", "")
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    expect(fold).not_to_have_attribute("open", "")
    fold.locator(":scope > :not(summary)").first.evaluate("(e) => { e.id = 'inside'; }")
    page.evaluate("location.hash = 'inside'")
    expect(fold).to_have_attribute("open", "")


def test_print_has_the_text_and_not_the_frame(visit: Visit) -> None:
    page = settled(visit(CHAPTER, color_scheme="dark"))
    page.evaluate(
        """addEventListener("beforeprint", () => {
            window.inked = getComputedStyle(document.querySelector("article section > p")).color;
        })"""
    )
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) >= 2
    assert len(pdf) > 40_000
    assert page.evaluate("window.inked") in ("rgb(0, 0, 0)", "rgb(29, 33, 37)")
    page.emulate_media(media="print")
    expect(page.locator("article h1")).to_be_visible()
    for frame in (".bd-sidebar-primary", ".bd-header-article", ".prev-next-footer"):
        expect(page.locator(frame).first).to_be_hidden()


def test_page_reads_without_javascript(visit: Visit) -> None:
    page = visit(CHAPTER, java_script_enabled=False)
    expect(page.locator("article h1")).to_be_visible()
    expect(page.locator("article .theorem p").first).to_be_visible()
    expect(page.locator("[data-print]")).to_be_hidden()


def test_missing_page_leads_back_at_any_depth(stage: Callable, server: str) -> None:
    for wrong in ("nothing.html", "chapters/very/deep/nothing.html"):
        page, troubles = stage()
        page.goto(f"{server}/{wrong}")
        link = page.get_by_role("link", name="first page of the book")
        expect(link).to_have_attribute("href", f"{server}/index.html")
        assert all("404" in trouble for trouble in troubles)
        troubles.clear()
