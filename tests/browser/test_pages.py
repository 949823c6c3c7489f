"""The built pages, opened from files by a browser that may ask no other host."""

import gzip
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from pages import DESKTOP, PHONE, ROOT, Visit, toc_pages
from playwright.sync_api import Browser, Page, expect

AXE = Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js"
CHAPTER = "chapters/01_dot_products.html"
WEIGHT = 600_000
COMPRESSED = {".woff2", ".png"}
PAGES = toc_pages()


def settled(page: Page) -> Page:
    """Wait for fonts and formulas."""
    page.wait_for_function("document.readyState === 'complete'")
    page.evaluate("document.fonts.ready")
    return page


# ---- every page -------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*PAGES, "search.html", "404.html"])
def test_no_serious_finding_of_axe(visit: Visit, name: str) -> None:
    page = settled(visit(name))
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = {}
    for size in (DESKTOP, PHONE):
        page.set_viewport_size(size)
        page.wait_for_timeout(450)  # what is too wide is made reachable a moment later
        for theme in ("light", "dark"):
            page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)
            found[f"{size['width']} {theme}"] = findings(page, theme)
    assert not any(found.values()), json.dumps(found, indent=1)


def findings(page: Page, theme: str) -> list[str]:
    code = """async (theme) => {
        const options = { preload: false, resultTypes: ["violations"] };
        // All that a theme changes is colour; the other rules were tried in the light one.
        if (theme === "dark") options.runOnly = ["color-contrast", "link-in-text-block"];
        // Formulas are many and all alike: MathML for a reader, hidden spans for the eye.
        const { violations } = await axe.run({ exclude: [".katex"] }, options);
        return violations.filter((v) => ["serious", "critical"].includes(v.impact)).map((v) => {
            const places = v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160));
            return [v.id, v.nodes[0].any[0]?.message, ...places].join(" | ");
        });
    }"""
    return page.evaluate(code, theme)


@pytest.mark.parametrize("name", PAGES)
def test_mathematics_is_drawn(visit: Visit, name: str) -> None:
    page = settled(visit(name))
    assert page.locator(".katex-error").count() == 0
    drawn = page.evaluate(
        "[...document.querySelectorAll('.math')].map((m) => !!m.querySelector('.katex'))"
    )
    assert all(drawn)
    text = page.evaluate("""() => {
        const article = document.querySelector("article").cloneNode(true);
        article.querySelectorAll("pre, code, script, style, .katex").forEach((e) => e.remove());
        return article.textContent;
    }""")
    assert not re.findall(r"\\[a-zA-Z(\[]{1,12}|\$\$|\$[^$\s]+\$", text)


@pytest.mark.parametrize("name", [*PAGES, "search.html", "404.html"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page_does_not_scroll_sideways(visit: Visit, name: str, size: dict[str, int]) -> None:
    page = settled(visit(name, viewport=size))
    page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= size["width"], page.evaluate(
        """(width) => [...document.querySelectorAll("article *")]
            .filter((e) => e.getBoundingClientRect().right > width && !e.closest(".katex"))
            .slice(0, 5).map((e) => e.outerHTML.slice(0, 150))""",
        size["width"],
    )


@pytest.mark.parametrize("name", PAGES)
def test_figures_of_the_notebook_are_on_the_page(visit: Visit, book: Path, name: str) -> None:
    source = (book / "_sources" / name).with_suffix(".ipynb")
    if not source.exists():
        pytest.skip("this page is no notebook")
    cells = [cell for cell in nbformat.read(source, 4).cells if cell.cell_type == "code"]
    assert all(cell.execution_count for cell in cells if cell.source), "cells have not been run"
    drawn = [
        out for cell in cells for out in cell.outputs if "image/svg+xml" in out.get("data", {})
    ]
    page = visit(name)
    assert page.locator("svg.drawing[aria-label]").count() == len(drawn)
    captions = [
        cell for cell in cells if "caption" in cell.metadata.get("mystnb", {}).get("figure", {})
    ]
    assert page.locator("figure figcaption .caption-number").count() >= len(captions)


@pytest.mark.parametrize("name", PAGES)
def test_weight(visit: Visit, book: Path, name: str) -> None:
    page = visit("404.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((book / name).as_uri())
    settled(page)
    files = {Path(unquote(urlsplit(url).path)) for url in asked if url.startswith("file:")}
    sizes = {path.name: moved(path) for path in files}
    assert len(sizes) > 5
    assert not [name for name in sizes if name.startswith("fa-")], "the theme's icon font"
    assert sum(sizes.values()) <= WEIGHT, sorted(sizes.items(), key=lambda item: -item[1])[:8]


def moved(path: Path) -> int:
    """What a server that compresses sends."""
    data = path.read_bytes()
    return len(data if path.suffix in COMPRESSED else gzip.compress(data))


# ---- what the pages do ------------------------------------------------------------------


def test_search_works_from_a_file(visit: Visit) -> None:
    page = visit(CHAPTER)
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
    page = visit(CHAPTER, color_scheme="dark")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    page.get_by_role("button", name="Colour mode").click()
    expect(root).to_have_attribute("data-mode", "light")
    page.goto(page.url.replace("01_dot_products", "02_softmax"))
    expect(root).to_have_attribute("data-theme", "light")


def test_keyboard_reaches_the_text_first(visit: Visit) -> None:
    page = visit(CHAPTER)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('href')") == "#main-content"


def test_drawings_take_the_colour_of_the_text(visit: Visit) -> None:
    page = settled(visit(CHAPTER, color_scheme="dark"))
    drawing = page.locator("svg.drawing[role=img]").first
    assert len(drawing.get_attribute("aria-label") or "") > 20
    colour = drawing.evaluate("(e) => getComputedStyle(e).fill")
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
            window.inked = getComputedStyle(document.querySelector("article p")).color;
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


@pytest.mark.parametrize("name", [name for name in PAGES if "0" in name])
def test_notebook_can_be_downloaded(visit: Visit, book: Path, name: str) -> None:
    link = visit(name).locator(".article-header-buttons a[download]").get_attribute("href") or ""
    source = (book / name).parent / link
    assert source.is_file()
    if (ROOT / name).with_suffix(".ipynb").exists():
        nbformat.validate(nbformat.read(source, as_version=4))


def test_missing_page_leads_back_at_any_depth(browser: Browser, server: str) -> None:
    for wrong in ("nothing.html", "chapters/very/deep/nothing.html"):
        page = browser.new_page()
        page.goto(f"{server}/{wrong}")
        link = page.get_by_role("link", name="first page of the book")
        expect(link).to_have_attribute("href", f"{server}/index.html")
        page.close()
