"""Everything that can be wrong with a built page, found in one visit of it.

Each part yields one line for each fault, so that one run tells all of them.
"""

import gzip
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
from playwright.sync_api import Page, Request

from browsing import AXE, COLOUR, PHONE, ROOT, settled, toc_pages

WEIGHT = 450_000  # a tenth more than the heaviest page has
COMPRESSED = {".woff2", ".png"}
SMALLEST = 0.7  # of their size, at which lines and letters of a drawing are legible still
RESIZED = 450  # milliseconds until what is too wide has been made reachable
CHAPTERS = [page for page in toc_pages() if page.startswith("chapters/") and page[9:11].isdigit()]
ZOOM = 0.9  # of a slide, at which it can be read from the last row
LETTERS = 0.017  # of a slide's height, which the smallest letters of a drawing have at least
COLUMNS = (1200, 768)  # widths at which what stands beside the text has just come, or gone


def faults(stage: Callable[..., tuple[Page, list[str]]], book: Path, name: str) -> list[str]:
    """Open one page of the book, once, and try everything that holds for every page."""
    asked: list[str] = []

    def note(request: Request) -> None:
        asked.append(request.url)

    # Colours are judged at rest. The page's clock is run by hand, so it has a context of its own.
    page, found = stage(reduced_motion="reduce", locale="en-GB")
    page.clock.install()
    page.on("request", note)
    page.goto((book / name).as_uri())
    settled(page)
    page.remove_listener("request", note)
    found += mathematics(page)
    if name in toc_pages():
        found += [*weight(asked), *figures(page, book, name), *download(page, book, name)]
    if name in CHAPTERS:
        found += lecture(page)
    page.evaluate(f"{OPENED}; {ANSWERED_WRONGLY}")
    desk = page.viewport_size
    found += [*sideways(page), *cut(page), *one_look(page)]
    page.evaluate(SEEN)
    for width in COLUMNS:
        page.set_viewport_size({**desk, "width": width})
        found += [*sideways(page), *cut(page)]
    page.set_viewport_size(PHONE)
    found += on_a_phone(page)
    page.set_viewport_size(desk)
    found += on_a_desk(page)
    met = [*found]
    found.clear()
    return met


# ---- what it loads ----------------------------------------------------------------------


def weight(asked: list[str]) -> Iterator[str]:
    """The files that the page asked for, as a server that compresses sends them."""
    files = {Path(unquote(urlsplit(url).path)) for url in asked if url.startswith("file:")}
    yield from (f"weight: {path.name} is not there" for path in files if not path.is_file())
    sizes = {path.name: moved(path) for path in files if path.is_file()}
    if len(sizes) < 6:
        yield f"weight: {len(sizes)} files are not a whole page"
    if any(name.startswith("fa-") for name in sizes):
        yield "weight: the theme's icon font"
    if sum(sizes.values()) > WEIGHT:
        largest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
        yield f"weight: {sum(sizes.values())} bytes, more than {WEIGHT}: {largest}"


@cache
def moved(path: Path) -> int:
    """What a server that compresses sends."""
    data = path.read_bytes()
    return len(data if path.suffix in COMPRESSED else gzip.compress(data))


# ---- what it shows ----------------------------------------------------------------------


def mathematics(page: Page) -> Iterator[str]:
    """Formulas are drawn, and no TeX is left in the text."""
    errors = page.locator(".katex-error").all_inner_texts()
    yield from (f"mathematics: error in {text}" for text in errors)
    plain = page.evaluate("""[...document.querySelectorAll('.math')]
        .filter((m) => !m.querySelector('.katex')).map((m) => m.textContent)""")
    yield from (f"mathematics: not drawn: {text}" for text in plain)
    text = page.evaluate("""() => {
        const article = document.querySelector("article, main, body").cloneNode(true);
        article.querySelectorAll("pre, code, script, style, .katex").forEach((e) => e.remove());
        return article.textContent;
    }""")
    left = re.findall(r"\\[a-zA-Z(\[]{1,12}|\$\$|\$[^$\s]+\$", text)
    yield from (f"mathematics: left as text: {part}" for part in left)


def figures(page: Page, book: Path, name: str) -> Iterator[str]:
    """Every figure and caption of the notebook is on the page, and the notebook has been run."""
    source = (book / "_sources" / name).with_suffix(".ipynb")
    if not source.exists():
        return
    cells = [cell for cell in nbformat.read(source, 4).cells if cell.cell_type == "code"]
    if not all(cell.execution_count for cell in cells if cell.source):
        yield "figures: cells have not been run"
    drawn = sum("image/svg+xml" in out.get("data", {}) for cell in cells for out in cell.outputs)
    there = page.evaluate(DRAWN)
    if there != drawn:
        yield f"figures: {there} on the page, {drawn} in the notebook"
    said = sum("caption" in cell.metadata.get("mystnb", {}).get("figure", {}) for cell in cells)
    numbered = page.locator("figure figcaption .caption-number").count()
    if numbered < said:
        yield f"figures: {numbered} numbered captions on the page, {said} in the notebook"


def download(page: Page, book: Path, name: str) -> Iterator[str]:
    """The link in the header leads to the source of the page; that of a notebook is one."""
    link = page.locator(".article-header-buttons a[download]").get_attribute("href") or ""
    source = (book / name).parent / link
    if not source.is_file():
        yield f"download: {link or 'the link'} leads to no file"
    elif (ROOT / name).with_suffix(".ipynb").exists():
        try:
            nbformat.validate(nbformat.read(source, as_version=4))
        except (ValueError, nbformat.ValidationError) as error:
            yield f"download: {link} is no notebook: {error}"


# ---- as a lecture -----------------------------------------------------------------------


def lecture(page: Page) -> Iterator[str]:
    """Every slide says something under one title, fits, and can be read from the last row.

    A place that a route names and the page does not have is an error of the console.
    """
    page.keyboard.press("l")
    page.locator("dialog.tf-lecture .tf-slide").wait_for()
    slides = page.evaluate(SLIDES)
    count = int(slides[0]["where"].partition("/")[2].split("·")[0])
    if not 3 < len(slides) == count:
        yield f"lecture: {len(slides)} slides of {count}"
    for slide in slides:
        place = f"{slide['where']}: {slide['text']}"
        if not slide["text"]:
            yield f"lecture: a slide says nothing: {place}"
        if slide["over"] > 1:
            yield f"lecture: {slide['over']:.0f} too high: {place}"
        if slide["wide"]:
            yield f"lecture: wider than its box: {slide['wide']}: {place}"
        if slide["titles"] != 1:
            yield f"lecture: {slide['titles']} titles: {place}"
        if slide["lone"]:
            yield f"lecture: a formula without its sentence: {place}"
        if slide["zoom"] < ZOOM:
            yield f"lecture: at {slide['zoom']:.2f} of its size: {place}"
        if slide["letters"] < LETTERS:
            yield f"lecture: letters of {slide['letters']:.4f} of its height: {place}"
    page.keyboard.press("Escape")
    page.evaluate("scrollTo(0, 0)")


# ---- how it is laid out -----------------------------------------------------------------


def on_a_phone(page: Page) -> Iterator[str]:
    """Nothing sticks out; the rules of axe, but those of colour for what a desk does not show.

    What is heavy becomes a box here, at last, and stays one.
    """
    yield from sideways(page)
    page.clock.run_for(RESIZED)
    yield from beyond_the_edge(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))
    page.evaluate(AS_BOXES)
    yield from axe(page, "light", {"rules": {rule: {"enabled": False} for rule in COLOUR}})
    if page.evaluate(UNSEEN):
        yield from axe(page, "light", {"runOnly": COLOUR}, "window.unseen")
        yield from axe(page, "dark", {"runOnly": COLOUR}, "window.unseen")


def on_a_desk(page: Page) -> Iterator[str]:
    """All rules of axe in the light theme, those of colour in the dark one.

    What stands on what is tried in the light theme, so of each look one element is tried again.
    """
    page.clock.run_for(RESIZED)
    yield from axe(page, "light", {})
    wear(page, "dark")
    page.evaluate(ONE_OF_EACH)
    yield from axe(page, "dark", {"runOnly": COLOUR}, "window.looks")


def sideways(page: Page) -> Iterator[str]:
    """What makes the page wider than the window."""
    size = page.viewport_size["width"]
    width = page.evaluate("document.documentElement.scrollWidth")
    if width > size:
        yield f"sideways: {width} wide at {size}: {page.evaluate(STICK_OUT, size)}"


def cut(page: Page) -> Iterator[str]:
    """What is wider than its box on a desk, where code alone may be scrolled."""
    for box in page.evaluate(CUT):
        yield f"cut at {page.viewport_size['width']}: {box}"


def one_look(page: Page) -> Iterator[str]:
    """Paragraphs of the text that look otherwise than most."""
    most, *others = page.evaluate(LOOKS) or [None]
    yield from (f"text: not as {most[0]}: {look}: {words}" for look, words in others)


def beyond_the_edge(page: Page) -> Iterator[str]:
    """What scrolls says so at its edge and is reached by Tab; a drawing is whole, and large.

    One that would be too small if it were whole, within the frame's padding, scrolls like anything
    else.
    """
    for box in page.evaluate(WIDE):
        if "drawing-frame" in box["name"] and box["whole"] > SMALLEST:
            yield f"beyond the edge: a drawing is cut: {box['name']}"
        if not box["cued"]:
            yield f"beyond the edge: no shadow: {box['name']}"
        if not box["reached"]:
            yield f"beyond the edge: not reached by Tab: {box['name']}"
    small = [scale for scale in page.evaluate(SCALES) if scale <= SMALLEST]
    yield from (f"beyond the edge: a drawing at {scale:.2f} of its size" for scale in small)


def wear(page: Page, theme: str) -> None:
    """Put on a theme."""
    page.evaluate("(theme) => { document.documentElement.dataset.theme = theme; }", theme)


def axe(page: Page, theme: str, options: dict, places: str = "document") -> Iterator[str]:
    """The serious findings of axe, in the whole page or in some elements of it."""
    wear(page, theme)
    # Formulas are many and all alike: MathML for a reader, hidden spans for the eye.
    code = """async (options) => {
        const context = { include: %s, exclude: [".katex"] };
        const shared = { preload: false, resultTypes: ["violations"], rules: {} };
        // What a rule finds has the rule's impact.
        const lesser = (rule) => !["serious", "critical"].includes(rule.impact);
        for (const { id } of axe._audit.rules.filter(lesser)) shared.rules[id] = { enabled: false };
        Object.assign(shared.rules, options.rules);
        const { violations } = await axe.run(context, { ...options, ...shared });
        return violations.map((v) => {
            const places = v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160));
            return [v.id, v.nodes[0].any[0]?.message, ...places].join(" | ");
        });
    }"""
    where = f"axe, {theme}, {page.viewport_size['width']}"
    yield from (f"{where}: {finding}" for finding in page.evaluate(code % places, options))


# All slides: how large, how high against the frame, what is wider than its box. The page below is
# put away meanwhile, or each slide would be an occasion to style it again.
SLIDES = """() => {
    const frame = document.querySelector(".tf-stage .tf-frame"), found = [];
    const below = [...document.body.children].filter((e) => !e.contains(frame));
    const shown = below.map((e) => e.style.display);
    below.forEach((e) => { e.style.display = "none"; });
    const where = () => document.querySelector(".tf-where").textContent;
    for (let before; where() !== before;) {
        before = where();
        const slide = frame.firstElementChild;
        const inside = slide.querySelectorAll("pre, .katex-display, .drawing-frame, table");
        const boxes = [slide, ...inside].filter((e) => !e.closest("details:not([open])"));
        const wide = boxes.filter((e) => e.scrollWidth > e.clientWidth + 2).map((e) => e.className);
        const over = slide.getBoundingClientRect().height - frame.getBoundingClientRect().height;
        const text = slide.innerText.trim().slice(0, 60);
        const own = ":is(h1, h2, h3, h4), :scope > .admonition > .admonition-title";
        const carried = document.querySelector(".tf-stage .tf-carried");
        const seen = (e) => e.checkVisibility() && e.textContent.trim();
        const titles = [carried, ...slide.querySelectorAll(own)].filter(seen).length;
        const lone = slide.matches(".tf-slide-formula") && !slide.querySelector("p");
        const zoom = Number(slide.style.zoom);
        const glyphs = [...slide.querySelectorAll("svg.drawing use")];
        const sizes = glyphs.filter((e) => e.checkVisibility()).map((e) => e.getScreenCTM());
        const heights = sizes.map(({ a, b }) => 100 * Math.hypot(a, b) / frame.clientHeight);
        const letters = Math.min(1, ...heights); // a font of matplotlib is 100 high
        found.push({ where: before, zoom, letters, over, wide, text, titles, lone });
        frame.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    }
    below.forEach((e, i) => { e.style.display = shown[i]; });
    return found;
}"""
# The first elements beyond the edge of the window that nothing around them cuts off or scrolls.
STICK_OUT = """(width) => {
    const cuts = (e) => getComputedStyle(e).overflowX !== "visible";
    const clipped = (e) => e && (cuts(e) || clipped(e.parentElement));
    return [...document.querySelectorAll("body *")]
        .filter((e) => e.getBoundingClientRect().right > width && !clipped(e.parentElement))
        .slice(0, 5).map((e) => e.outerHTML.slice(0, 150));
}"""
OPENED = "document.querySelectorAll('details').forEach((fold) => { fold.open = true })"
# Every question with a wrong answer, and the reason why it is wrong.
ANSWERED_WRONGLY = """document.querySelectorAll(".tf-quiz fieldset").forEach((question) => {
    for (const option of question.querySelectorAll("input[type=radio]")) {
        option.click();
        question.querySelector("button").click();
        if (question.querySelector(".tf-option.tf-wrong")) break;
    }
})"""
# What has more in it than it shows, but for code, and what only a screen reader hears.
CUT = """() => [...document.querySelectorAll("article *:not(pre, .math:not(div), .katex *, svg *)")]
    .filter((e) => e.clientWidth && e.scrollWidth > e.clientWidth + 1 && e.checkVisibility())
    .map((e) => [e, getComputedStyle(e)])
    .filter(([, style]) => style.overflowX !== "visible" && style.clipPath === "none")
    .map(([e]) => `${e.scrollWidth - e.clientWidth} of ${e.outerHTML.slice(0, 120)}`)"""
# The looks of paragraphs, the commonest first, each with the first words of one.
LOOKS = """() => {
    const looks = new Map();
    for (const p of document.querySelectorAll("article section > p:not([class])")) {
        const { fontSize, fontFamily, color } = getComputedStyle(p);
        const look = [fontSize, fontFamily.split(",")[0], color].join(" ");
        looks.set(look, [...(looks.get(look) ?? []), p.textContent.slice(0, 60)]);
    }
    return [...looks].sort(([, one], [, other]) => other.length - one.length)
        .map(([look, [words]]) => [look, words]);
}"""
# Boxes that scroll sideways, without those that only hold one: has it a shadow, does Tab reach it?
WIDE = """() => [...document.querySelectorAll("article *")].filter((box) =>
    ["auto", "scroll"].includes(getComputedStyle(box).overflowX) && box.clientWidth
    && box.scrollWidth > box.clientWidth + 1).map((box) => ({
        name: box.outerHTML.slice(0, 120),
        whole: (box.clientWidth - 2 * parseFloat(getComputedStyle(box).paddingLeft))
            / (box.querySelector("svg.drawing")?.viewBox.baseVal.width * 4 / 3),
        cued: getComputedStyle(box).backgroundImage.split("linear-gradient").length === 5
            && getComputedStyle(box).backgroundAttachment === "local, local, scroll, scroll",
        reached: box.tabIndex === 0 }))"""
# Frames with one drawing that is shown and has a name; the other shape of some is not.
DRAWN = """[...document.querySelectorAll(".drawing-frame")].filter((frame) =>
    [...frame.children].filter((e) => e.matches("[role=img][aria-label]")
        && getComputedStyle(e).display !== "none").length === 1).length"""
SCALES = """[...document.querySelectorAll("svg.drawing")].filter((drawing) =>
    getComputedStyle(drawing).display !== "none").map((drawing) =>
    drawing.getBoundingClientRect().width / (drawing.viewBox.baseVal.width * 4 / 3))"""
# How an element is drawn, and on what: two of one look have one contrast.
LOOK = """
    const asked = ["color", "fill", "background", "font", "opacity", "textDecoration"];
    const looks = new Map();
    const look = (el) => {
        if (el && !looks.has(el)) {
            const style = getComputedStyle(el), own = [el.className, el.getAttribute("style")];
            const drawn = asked.map((name) => style[name]);
            looks.set(el, [look(el.parentElement), ...own, ...drawn].join("|"));
        }
        return looks.get(el);
    };
    // Of what is short, axe judges nothing.
    const LONGER = (one, other) => other.textContent.length - one.textContent.length;"""
# Most elements of a page are the insides of formulas, which axe is told to leave out and walks
# through all the same, the lines of drawings, which are images with a name, and the words of code.
# A formula becomes a box of its size that holds its text, a drawing an image without lines; a word
# of code that looks as an earlier one becomes plain text. What scrolls loses the shadow at its
# edge: on a ground that is an image, axe judges no colour.
AS_BOXES = (
    """() => {"""
    + LOOK
    + """
    const formulas = [...document.querySelectorAll(".katex")];
    const sizes = formulas.map((formula) => formula.getBoundingClientRect());
    const words = [...document.querySelectorAll("pre span:not(:has(*))")].sort(LONGER);
    const seen = new Set(), again = words.filter((word) => seen.size === seen.add(look(word)).size);
    const shadowed = [...document.querySelectorAll("article *")]
        .filter((el) => getComputedStyle(el).backgroundAttachment.startsWith("local"));
    formulas.forEach((formula, i) => {
        const { width, height } = sizes[i];
        formula.replaceChildren(formula.querySelector(".katex-mathml")?.textContent ?? "");
        formula.style.cssText += `; display: inline-block; overflow: hidden;
            width: ${width}px; height: ${height}px`;
    });
    document.querySelectorAll(".drawing-frame > [role=img][aria-label]")
        .forEach((drawing) => drawing.replaceChildren());
    shadowed.forEach((el) => el.style.setProperty("background-image", "none", "important"));
    again.forEach((word) => word.replaceWith(word.textContent));
}"""
)
# Of what bears text, one of each look.
ONE_OF_EACH = (
    """() => {"""
    + LOOK
    + """
    const text = (el) => [...el.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const bears = (el) => el.matches("input, select, textarea") || text(el);
    const all = [...document.querySelectorAll("body *:not(.katex)")].filter(bears);
    const seen = all.filter((el) => el.checkVisibility());
    const last = seen.sort(LONGER).reverse().map((el) => [look(el), el]);
    window.looks = [...new Map(last).values()];
}"""
)
# What is visible on a desk, and the outermost of what only a phone shows.
SEEN = """() => {
    const visible = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility());
    window.seen = new WeakSet(visible);
}"""
UNSEEN = """() => {
    const fresh = [...document.querySelectorAll("body *")]
        .filter((e) => e.checkVisibility() && !window.seen.has(e));
    window.unseen = fresh.filter((e) => !fresh.includes(e.parentElement));
    return window.unseen.length;
}"""
