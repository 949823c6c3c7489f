"""Lecture mode: every slide of every chapter fits, figures stay alive, notes and paper follow."""

import io

import pytest
from playwright.sync_api import Page, expect
from pypdf import PdfReader

from browsing import Visit, toc_pages

SCREEN = {"width": 1280, "height": 720}
CHAPTERS = [page for page in toc_pages() if page.startswith("chapters/") and page[9:11].isdigit()]
FIRST = "chapters/01_dot_products.html"
# All slides: how large, how high against the frame, what is wider than its box.
MEASURE = """() => {
    const frame = document.querySelector(".tf-stage .tf-frame"), found = [];
    const where = () => document.querySelector(".tf-where").textContent;
    for (let before; where() !== before;) {
        before = where();
        const slide = frame.firstElementChild;
        const inside = slide.querySelectorAll("pre, .katex-display, .drawing-frame, table");
        const boxes = [slide, ...inside];
        const wide = boxes.filter((e) => e.scrollWidth > e.clientWidth + 2).map((e) => e.className);
        const over = slide.getBoundingClientRect().height - frame.getBoundingClientRect().height;
        const text = slide.innerText.trim().slice(0, 60);
        found.push({ where: before, zoom: Number(slide.style.zoom), over, wide, text });
        frame.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
    }
    return found;
}"""
SMALLEST = 0.9


def lecture(page: Page) -> Page:
    page.keyboard.press("l")
    page.locator("dialog.tf-lecture .tf-slide").wait_for()
    return page


def where(page: Page) -> tuple[int, int]:
    """The number of the slide, and how many there are."""
    now, _, rest = page.locator(".tf-where").inner_text().partition("/")
    return int(now), int(rest.split("·")[0])


@pytest.mark.parametrize("address", CHAPTERS, ids=lambda address: address[9:-5])
def test_every_slide_fits_and_can_be_read_from_the_last_row(visit: Visit, address: str) -> None:
    page = lecture(visit(address, viewport=SCREEN, reduced_motion="reduce"))
    slides = page.evaluate(MEASURE)
    assert len(slides) == where(page)[1] > 3
    for slide in slides:
        assert slide["text"], slide
        assert slide["over"] <= 1, slide
        assert slide["wide"] == [], slide
        assert slide["zoom"] >= SMALLEST, slide


def test_a_figure_to_touch_is_alive_on_its_slide_and_keeps_what_was_set(visit: Visit) -> None:
    page = lecture(visit(FIRST, viewport=SCREEN))
    field = page.locator(".tf-stage .tf-fields input").first
    while not field.count():
        page.keyboard.press("ArrowRight")
    field.fill("2")
    field.press("Tab")
    said = page.locator(".tf-stage .tf-headline").inner_text()
    field.press("ArrowRight")  # belongs to the figure
    page.keyboard.press("Escape")
    expect(page.locator("dialog.tf-lecture")).to_have_count(0)
    assert page.locator("article .tf-headline").first.inner_text() == said


def test_a_proof_comes_in_steps_and_can_be_skipped(visit: Visit) -> None:
    page = lecture(visit(FIRST, viewport=SCREEN))
    while "step 1 of" not in page.locator(".tf-where").inner_text():
        page.keyboard.press("ArrowRight")
    number = where(page)[0]
    before = page.locator(".tf-stage .tf-slide").inner_text()
    page.keyboard.press("ArrowDown")
    assert where(page)[0] == number
    assert len(page.locator(".tf-stage .tf-slide").inner_text()) > len(before)
    page.keyboard.press("ArrowRight")
    assert where(page)[0] == number + 1


def test_overview_and_notes_follow_the_slides(visit: Visit) -> None:
    page = lecture(visit(FIRST, viewport=SCREEN))
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    page.bring_to_front()
    page.keyboard.press("o")
    entries = page.locator(".tf-overview button")
    assert entries.count() == where(page)[1]
    entries.nth(1).click()
    assert where(page)[0] == 2
    expect(notes.locator("h1")).to_have_text(entries.nth(1).text_content().partition(". ")[2])
    expect(notes.locator(".tf-next")).to_contain_text("Next: ")
    expect(notes.locator(".tf-clock")).to_contain_text("slide 2 of")
    assert notes.locator("article p").count()


def test_all_slides_are_printed_on_sheets_of_16_to_9(visit: Visit) -> None:
    page = visit(FIRST, viewport=SCREEN)
    page.evaluate("window.print = () => { window.printed = true; }")
    lecture(page)
    count = where(page)[1]
    page.keyboard.press("p")
    page.wait_for_function("window.printed")
    assert page.locator(".tf-sheets .proof [hidden]").count() == 0
    ids = "[...document.querySelectorAll('.tf-sheets [id]')].map((e) => e.id)"
    assert page.evaluate(f"new Set({ids}).size === {ids}.length")
    sheets = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True, print_background=True))).pages
    assert len(sheets) == count
    assert {round(sheet.mediabox.width / sheet.mediabox.height, 2) for sheet in sheets} == {1.78}
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator(".tf-sheets").count() == 0
    assert where(page)[0] == 1
