"""The reader's record: what a browser keeps of the pages read, the place left and the answers.

A record that must outlast a page is tried over HTTP: a busy Chromium loses what a page from a
folder wrote when the next page opens (decision 055).
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browsing import IN_THE_HAND, Visit, settled, toc_pages
from tformer_book.pipeline.site.menu import parts

ROOT = Path(__file__).parents[2]
CHAPTER, SECTION = "chapters/02_softmax", "from-scores-to-weights"
KEY = "executable-transformer"
OWN_CLOCK = {"locale": "en-IE"}
"""A device of its own, as its clock is run by hand."""
LONG_ENOUGH = 21_000
ONE_READ = re.compile(r"^1 of \d+$")
RECORD = {
    "form": 1,
    "read": {"chapters/01_dot_products": "2026-11-29"},
    "left": {
        "page": CHAPTER,
        "section": SECTION,
        "title": "2. Softmax: From scores to weights",
        "when": "2026-11-30T10:00:00Z",
    },
    "quizzes": {"chapters/01_dot_products": {"angle": True, "length": False}},
}
WITHOUT = """Object.defineProperty(window, "localStorage", {
    configurable: true, get() { throw new DOMException("refused", "SecurityError"); } })"""


def kept(page: Page) -> dict[str, Any]:
    """The record that the browser keeps."""
    return json.loads(page.evaluate(f"localStorage.getItem('{KEY}')") or "{}")


def go(page: Page, server: str, name: str, record: object = None) -> Page:
    """Turn to another page of the book in the same browser, with a record if one is given."""
    if record is not None:
        page.evaluate(f"(text) => localStorage.setItem('{KEY}', text)", json.dumps(record))
    page.goto(f"{server}/{name}.html")
    return settled(page)


@pytest.fixture
def timed(stage: Callable, server: str) -> Page:
    """A page of a chapter whose clock stands still."""
    page, troubles = stage(**OWN_CLOCK)
    page.clock.install()
    page.goto(f"{server}/{CHAPTER}.html")
    yield settled(page)
    page.evaluate("localStorage.clear()")
    assert troubles == []


def test_a_page_is_read_at_its_end_and_not_before_its_time(timed: Page) -> None:
    timed.locator(".book-turn").scroll_into_view_if_needed()
    timed.wait_for_timeout(100)
    timed.clock.run_for(LONG_ENOUGH // 2)
    assert kept(timed) == {}
    timed.clock.run_for(LONG_ENOUGH // 2)
    assert list(kept(timed)["read"]) == [CHAPTER]
    expect(timed.locator(".bd-links a.book-read")).to_have_count(1)


def test_a_page_that_stays_at_its_top_is_not_read(timed: Page) -> None:
    timed.clock.run_for(2 * LONG_ENOUGH)
    assert kept(timed).get("read", {}) == {}


def test_the_first_page_and_the_menu_lead_to_the_place_left(timed: Page, server: str) -> None:
    timed.clock.run_for(LONG_ENOUGH)
    timed.evaluate(f"document.getElementById('{SECTION}').scrollIntoView()")
    go(timed, server, "index")
    for place in ("article .book-go-on a", ".book-mine .book-go-on a"):
        expect(timed.locator(place)).to_have_text("2. Softmax: From scores to weights")
    timed.locator("article .book-go-on a").click()
    expect(timed.locator(f"#{SECTION} > h2")).to_be_in_viewport()
    expect(timed.locator(".book-mine .book-go-on")).to_be_hidden()  # one is there


def test_who_has_come_to_the_end_goes_on_at_the_next_page(timed: Page, server: str) -> None:
    timed.clock.run_for(LONG_ENOUGH)
    timed.locator(".book-turn").scroll_into_view_if_needed()
    timed.wait_for_timeout(100)
    following = (timed.locator(".book-turn-next").get_attribute("href") or "").split("/")[-1]
    go(timed, server, "index")
    link = timed.locator("article .book-go-on a")
    assert (link.get_attribute("href") or "").endswith(following)
    assert "Next" not in link.inner_text()


def test_a_glance_leaves_no_trace(visit: Visit, server: str) -> None:
    page = visit(f"{server}/{CHAPTER}.html")
    page.evaluate(f"document.getElementById('{SECTION}').scrollIntoView()")
    go(page, server, "chapters/glossary")
    assert kept(page) == {}


def test_answers_are_kept_the_last_one_of_each_question(visit: Visit, server: str) -> None:
    page = settled(visit(f"{server}/{CHAPTER}.html"))
    question = page.locator(".tf-quiz fieldset").first
    given = []
    for option in (0, 1):
        question.locator("input[type=radio]").nth(option).check()
        question.get_by_role("button", name="check").click()
        given.append(question.locator(".tf-verdict.tf-right").count() == 1)
        ((_, right),) = kept(page)["quizzes"][CHAPTER].items()
        assert right == given[-1]
    go(page, server, "record")
    score = page.locator(f"[data-record-quiz='{CHAPTER}']")
    expect(score).to_have_text(f"{int(given[-1])} of 1 answers right")


def test_the_record_has_each_page_that_is_read_on(visit: Visit) -> None:
    page = visit("record.html")
    listed = page.locator("[data-record-read]").evaluate_all("(all) => all.map((e) => e.value)")
    read_on = {one for _, part in parts(ROOT) for line in part for one in line}
    read_on = {one for one in read_on if (ROOT / f"{one}.ipynb").is_file()}
    assert sorted(listed) == sorted(read_on)
    assert len(listed) > 60
    assert {f"{one}.html" for one in listed} < set(toc_pages())


def test_a_tick_is_set_and_removed_by_hand(visit: Visit) -> None:
    page = visit("record.html")
    tick = page.get_by_role("checkbox", name="Read: 2. Softmax", exact=True)
    tick.press("Space")
    assert list(kept(page)["read"]) == [CHAPTER]
    expect(page.locator("[data-record-count]")).to_have_text(ONE_READ)
    tick.press("Space")
    assert kept(page)["read"] == {}


def test_a_record_goes_into_a_file_and_comes_back(
    visit: Visit, server: str, tmp_path: Path
) -> None:
    page = go(visit(f"{server}/record.html"), server, "record", RECORD)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Save as a file").click()
    file = tmp_path / "record.json"
    saved.value.save_as(file)
    assert json.loads(file.read_text()) == RECORD
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase").click()
    assert kept(page) == {}
    expect(page.locator("[data-record-read]:checked")).to_have_count(0)
    expect(page.locator(".bd-article .book-go-on")).to_be_hidden()
    page.locator("[data-record-file]").set_input_files(file)
    expect(page.get_by_role("status")).to_have_text("Added to this record.")
    assert kept(page) == RECORD


def test_a_file_adds_to_what_is_there(visit: Visit, server: str, tmp_path: Path) -> None:
    later = {**RECORD["left"], "page": "chapters/05_masking", "when": "2026-12-01T10:00:00Z"}
    answers = {"chapters/01_dot_products": {"angle": False, "sign": True}}
    other = {"form": 1, "read": {CHAPTER: "2026-12-01"}, "left": later, "quizzes": answers}
    (tmp_path / "other.json").write_text(json.dumps(other))
    page = go(visit(f"{server}/record.html"), server, "record", RECORD)
    page.locator("[data-record-file]").set_input_files(tmp_path / "other.json")
    expect(page.get_by_role("status")).to_have_text("Added to this record.")
    both = kept(page)
    assert both["read"] == RECORD["read"] | other["read"]
    assert both["left"] == later
    assert both["quizzes"]["chapters/01_dot_products"] == {
        "angle": True,
        "length": False,
        "sign": True,
    }


@pytest.mark.parametrize("text", ["", "[]", "null", '{"form": 2, "read": {}}', "<svg onload=x>"])
def test_a_file_that_is_no_record_changes_nothing(
    visit: Visit, server: str, tmp_path: Path, text: str
) -> None:
    page = go(visit(f"{server}/record.html"), server, "record", RECORD)
    (tmp_path / "wrong.json").write_text(text)
    page.locator("[data-record-file]").set_input_files(tmp_path / "wrong.json")
    expect(page.get_by_role("status")).to_contain_text("Nothing was changed")
    assert kept(page) == RECORD


def test_what_a_record_should_not_hold_is_left_out(visit: Visit, server: str) -> None:
    bad = {
        "form": 1,
        "read": {"../../x": "2026-11-29", CHAPTER: "yesterday", "a/b": "2026-11-29"},
        "left": {"page": "javascript:alert(1)", "title": "x", "when": "2026-11-29"},
        "quizzes": {CHAPTER: {"a": "<b>"}},
    }
    page = go(visit(f"{server}/record.html"), server, "index", bad)
    expect(page.locator(".book-go-on").first).to_be_hidden()
    loaded = page.evaluate("bookRecord.load()")
    assert loaded == {"form": 1, "read": {"a/b": "2026-11-29"}, "left": None, "quizzes": {}}


def test_a_browser_that_keeps_nothing_reads_in_peace(stage: Callable, server: str) -> None:
    page, troubles = stage(locale="en-ZA")
    page.add_init_script(WITHOUT)
    for name in ("index", CHAPTER, "record"):
        go(page, server, name)
    page.get_by_role("checkbox", name="Read: 2. Softmax", exact=True).check()
    page.get_by_role("button", name="Colour mode").click()
    expect(page.locator("html")).to_have_attribute("data-mode", "dark")
    expect(page.locator("[data-record-count]")).to_have_text(ONE_READ)  # as long as the page
    assert troubles == []


@pytest.mark.parametrize("device", [{}, IN_THE_HAND], ids=["desk", "phone"])
def test_the_place_left_moves_nothing(visit: Visit, server: str, device: dict) -> None:
    where = "document.querySelector('article h1 ~ p:not(.book-go-on)').getBoundingClientRect().top"
    page = settled(visit(f"{server}/index.html", **device))
    before = page.evaluate(where)
    go(page, server, "index", RECORD)
    line = page.locator("article .book-go-on a")
    expect(line).to_be_visible()
    assert page.evaluate(where) == pytest.approx(before, abs=0.5)
    box, first = line.bounding_box() or {}, page.evaluate(where)
    assert box["y"] + box["height"] <= first + 4  # letters of the text below begin lower than that
