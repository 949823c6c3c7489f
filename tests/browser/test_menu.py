"""The list of chapters beside the text, and the way through the book."""

import re
from pathlib import Path

from browsing import IN_THE_HAND, Visit, toc_pages

CHAPTER = "chapters/08_residual_stream_deeper.html"
TURN = re.compile(r'<a class="book-turn-(prev|next)" href="([^"]*)"')
FITS = """() => {
    const box = document.querySelector(".bd-sidebar-primary");
    return [box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth];
}"""
OPEN = """(n) => document.querySelectorAll(".book-part")
    .forEach((part, i) => { part.open = i === n; })"""
BROKEN = """() => [...document.querySelectorAll(".book-part li")]
    .filter((line) => line.children.length > 2 && line.offsetHeight > 30)
    .map((line) => line.textContent)"""


def test_the_list_fits_a_screen_with_one_part_open(visit: Visit) -> None:
    page = visit(CHAPTER, viewport={"width": 1440, "height": 900})
    assert page.locator(".book-part[open] > summary").all_inner_texts() == ["THE BLOCK"]
    assert page.locator(".book-part [aria-current]").inner_text() == "deeper"
    parts = page.locator(".book-part")
    for i in range(parts.count()):  # any part may be the open one
        page.evaluate(OPEN, i)
        assert page.evaluate(FITS) == [0, 0], parts.nth(i).inner_text()
        assert page.evaluate(BROKEN) == []


def test_a_line_of_the_list_is_one_line_on_a_phone(visit: Visit) -> None:
    page = visit(CHAPTER, **IN_THE_HAND)
    page.locator(".primary-toggle").click()
    page.evaluate("document.querySelectorAll('.book-part').forEach((e) => { e.open = true; })")
    assert page.evaluate(BROKEN) == []


def test_next_leads_through_every_page_once_and_previous_back(book: Path) -> None:
    page, way = "index.html", []
    while page:
        way.append(page)
        found = dict(TURN.findall((book / page).read_text(encoding="utf-8")))
        if len(way) > 1:
            back = (book / page).parent / found["prev"]
            assert back.resolve() == (book / way[-2]).resolve()
        after = ((book / page).parent / found["next"]).resolve() if "next" in found else None
        page = after.relative_to(book.resolve()).as_posix() if after else ""
        assert page not in way
    assert sorted(way) == sorted(toc_pages())
    at = way.index("chapters/03_attention.html")
    assert way[at + 1 : at + 4] == [
        "chapters/03_attention_deeper.html",
        "exercises/solutions/03_attention.html",
        "chapters/04_why_sqrt_d.html",
    ]
