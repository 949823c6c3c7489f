"""Lecture mode: figures stay alive, notes and paper follow; that slides fit is among the faults."""

import io
import re
from itertools import accumulate

from playwright.sync_api import Page, expect
from pypdf import PdfReader

from browsing import Visit
from tformer_book.pipeline.site.teach import MINUTES, plan, questions

SCREEN = {"width": 1280, "height": 720}
FIRST = "chapters/01_dot_products.html"


def lecture(page: Page) -> Page:
    page.keyboard.press("l")
    page.locator("dialog.tf-lecture .tf-slide").wait_for()
    return page


def where(page: Page) -> tuple[int, int]:
    """The number of the slide, and how many there are."""
    now, _, rest = page.locator(".tf-where").inner_text().partition("/")
    return int(now), int(rest.split("·")[0])


def test_a_figure_to_touch_is_alive_on_its_slide_and_keeps_what_was_set(visit: Visit) -> None:
    page = lecture(visit(FIRST, viewport=SCREEN))
    field = page.locator(".tf-stage .tf-fields input").first
    while not field.count():
        page.keyboard.press("ArrowRight")
    page.locator(".tf-stage summary", has_text="The numbers behind it").click()
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


def test_a_route_shows_what_its_plan_names(visit: Visit) -> None:
    page = visit(f"{FIRST}?#lecture=route-1", viewport=SCREEN)
    page.locator("dialog.tf-lecture .tf-slide").wait_for()
    route = plan(1).routes[0]
    names = [place for part in route.parts for place in part.places(questions(1))]
    number, count = where(page)
    assert number == 1
    assert len(names) <= count < 2 * len(names)
    ends = list(accumulate(part.minutes for part in route.parts))
    told, shown = [], []
    for _ in range(count):
        told.append(page.locator(".tf-where").inner_text().split(" · ")[1])
        shown += page.locator(".tf-stage .tf-slide [id]").evaluate_all(
            "(all) => all.map((one) => one.id.replace(/^slide\\d+-/, ''))"
        )
        page.keyboard.press("ArrowRight")
    assert list(dict.fromkeys(told)) == [
        f"minutes {end - part.minutes} to {end}, {part.how}"
        for end, part in zip(ends, route.parts, strict=True)
    ]
    assert {"fig-projection", "thm-projection", "fig-row"} <= set(shown)
    assert "fig-fans" not in shown  # of the other route
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    clock = f"planned {ends[-2]}:00 to {MINUTES}:00 · slide {count} of {count}"
    expect(opened.value.locator(".tf-clock")).to_contain_text(clock)
    page.bring_to_front()
    page.locator(".tf-lecture select").select_option(index=0)
    assert where(page)[1] > 2 * count
    page.keyboard.press("r")
    assert page.evaluate("location.hash").startswith("#lecture=route-1,")
    assert where(page)[1] == count


def test_overview_and_notes_follow_the_slides(visit: Visit) -> None:
    page = lecture(visit(FIRST, viewport=SCREEN))
    with page.expect_popup() as opened:
        page.keyboard.press("n")
    notes = opened.value
    page.bring_to_front()
    page.keyboard.press("o")
    entries = page.locator(".tf-overview button")
    assert entries.count() == where(page)[1]
    entries.nth(2).click()
    assert where(page)[0] == 3
    expect(notes.locator("h1")).to_have_text(entries.nth(2).text_content().partition(". ")[2])
    expect(notes.locator(".tf-next")).to_contain_text("Next: ")
    expect(notes.locator(".tf-clock")).to_contain_text("slide 3 of")
    assert notes.locator("article p").count()


def test_all_slides_are_printed_on_sheets_of_16_to_9(visit: Visit) -> None:
    page = visit(FIRST, viewport=SCREEN)
    page.evaluate("() => { window.print = () => { window.printed = true; }; }")
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


def test_slides_show_neither_imports_nor_asserts(visit: Visit) -> None:
    page = lecture(visit("chapters/14_training.html", viewport=SCREEN))
    source = page.locator("article .cell_input pre").all_text_contents()  # folded ones too
    assert any(re.search(r"^assert\b", text, re.MULTILINE) for text in source)
    shown: list[str] = []
    for _ in range(where(page)[1]):
        shown += page.locator(".tf-stage .cell_input pre").all_inner_texts()
        page.keyboard.press("ArrowRight")
    assert len(shown) > 3
    assert not [text for text in shown if re.search(r"^(import|from|assert)\b", text, re.MULTILINE)]
    assert all(text.strip() for text in shown)
