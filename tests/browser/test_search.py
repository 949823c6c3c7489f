"""Searching the book from files: results are places, each once, with a line of readable text."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browsing import Visit


def results(visit: Visit, query: str) -> tuple[Page, list[str]]:
    page = visit(f"search.html?q={query}")
    expect(page.locator("#search-results p").first).to_be_visible()
    return page, page.locator("#search-results li > a").evaluate_all(
        "(links) => links.map((link) => link.getAttribute('href'))"
    )


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("softmax", "chapters/glossary.html#term-softmax"),
        ("Cauchy-Schwarz", "chapters/01_dot_products.html#thm-cauchy-schwarz"),
        ("shadow remainder", "chapters/01_dot_products.html#projection-and-cosine"),
        ("dot products", "chapters/"),
        ("glossary", "chapters/glossary.html"),
    ],
)
def test_results_are_places_each_once(visit: Visit, query: str, first: str) -> None:
    _, links = results(visit, query)
    assert links[0].startswith(first)
    assert len(links) == len(set(links))
    assert sum(link == "chapters/glossary.html" for link in links) <= 1


@pytest.mark.parametrize("name", ["layer_norm", "top_p", "min_p"])
def test_a_name_that_stands_in_code_is_found(visit: Visit, book: Path, name: str) -> None:
    _, links = results(visit, name)
    assert links
    for link in links:
        assert name in (book / link.partition("#")[0]).read_text(encoding="utf-8")


def test_a_root_is_part_of_what_is_looked_for(visit: Visit) -> None:
    page, links = results(visit, "√d")
    assert len(links) > 10
    found = page.locator("#search-results li").all_inner_texts()
    assert all("√d" in text for text in found)  # in a title or a line of the text


def test_a_place_that_has_a_name_in_its_code_says_so(visit: Visit) -> None:
    page, _ = results(visit, "layer_norm")
    in_text = re.compile("Library|Your own transformer")  # pages that speak of it by this name
    of_chapters = page.locator("#search-results .search-page").filter(has_not_text=in_text)
    expect(of_chapters.first).to_have_text(re.compile("· in its code$"))


def test_a_result_leads_to_its_place(visit: Visit) -> None:
    page, _ = results(visit, "Cauchy-Schwarz")
    page.locator("#search-results li > a").first.click()
    box = page.locator("#thm-cauchy-schwarz")
    expect(box).to_be_in_viewport()
    assert page.evaluate("scrollY") > 500


def test_excerpts_mark_the_words_and_show_no_tex(visit: Visit) -> None:
    page, _ = results(visit, "scores weights")
    excerpts = page.locator("#search-results .context").all_inner_texts()
    assert len(excerpts) > 10
    assert not [text for text in excerpts if re.search(r"\\[a-z]|\$|[_^]\{", text)]
    marks = page.locator("#search-results mark").all_inner_texts()
    assert {mark.lower()[:5] for mark in marks} == {"score", "weigh"}


@pytest.mark.parametrize("query", ["zyxwvut", "%3Cimg src=x onerror=alert(1)%3E", "(", "..."])
def test_odd_queries_are_only_text(visit: Visit, query: str) -> None:
    page = visit(f"search.html?q={query}")
    expect(page.locator("#search-results")).to_contain_text("did not match")
    assert page.locator("#search-results img").count() == 0


def test_the_search_page_answers_while_typing(visit: Visit) -> None:
    page = visit("search.html")
    field = page.locator("main input[type=search]")
    field.press_sequentially("softm")
    first = page.locator("#search-results li > a").first
    expect(first).to_have_attribute("href", "chapters/glossary.html#term-softmax")
    field.fill("")
    expect(page.locator("#search-results li")).to_have_count(0)


def test_the_field_beside_the_text_answers_while_typing_what_defines_first(visit: Visit) -> None:
    page = visit("chapters/00_prerequisites.html", viewport={"width": 1440, "height": 900})
    assert page.evaluate("typeof globalThis.BOOK") == "undefined"  # 0.3 MB that few ask for
    field = page.locator(".book-search input")
    field.press_sequentially("softmax")
    answers = page.locator(".book-answers li > a")
    expect(answers).to_have_count(7)
    links = answers.evaluate_all("(all) => all.map((link) => link.getAttribute('href'))")
    assert links[0] == "../chapters/glossary.html#term-softmax"
    others = [link for link in links if "glossary" not in link]
    assert "#def-" in others[0]
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#term-softmax")).to_be_in_viewport()


def test_what_was_typed_before_the_index_came_is_answered(visit: Visit) -> None:
    page = visit("chapters/00_prerequisites.html", viewport={"width": 1440, "height": 900})
    page.locator(".book-search input").evaluate(
        "(field) => { field.value = 'zyx'; field.focus(); }"
    )
    expect(page.locator(".book-answers")).to_contain_text("did not match")
