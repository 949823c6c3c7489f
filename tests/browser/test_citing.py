"""BibTeX by a click, the feed of changes, and the words that a report of a mistake takes along."""

import re
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Page, expect

from browsing import Visit, settled
from tformer_book.pipeline.site.bibtex import of_references

ROOT = Path(__file__).parents[2]
PAGE, SECTION = "chapters/02_softmax", "from-scores-to-weights"
FORM = f"https://github.com/someone/book/issues/new?template=sentence.yml&page={PAGE}"
INSECURE = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


@pytest.mark.parametrize("secure", [True, False], ids=["clipboard", "without-its-interface"])
def test_a_reference_is_copied_by_a_click(stage: Callable, book: Path, secure: bool) -> None:
    page, troubles = stage(locale="en-NZ" if secure else "en-JM")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    if not secure:
        page.add_init_script(INSECURE)
    page.goto((book / "chapters/references.html").as_uri())
    button = page.locator(".citation .book-bibtex").nth(2)
    button.focus()
    page.keyboard.press("Enter")
    expect(button).to_have_text("Copied")
    expect(button).to_be_focused()
    page.goto((book / "404.html").as_uri())
    page.evaluate("document.querySelector('input').focus()")
    page.keyboard.press("Control+v")
    copied = page.locator("input").input_value()
    entry = button_text(book, "chapters/references.html")[2]
    assert copied.split() == entry.split()
    assert troubles == []


def button_text(book: Path, name: str) -> list[str]:
    """What the buttons of a page copy."""
    text = (book / name).read_text(encoding="utf-8")
    return [unescape(one) for one in re.findall(r'data-bibtex="([^"]*)"', text)]


def test_each_reference_of_the_page_has_its_entry(book: Path) -> None:
    entries = of_references((ROOT / "references.bib").read_text(encoding="utf-8"))
    copied = button_text(book, "chapters/references.html")
    assert set(copied) <= set(entries.values())
    page = (book / "chapters/references.html").read_text(encoding="utf-8")
    assert len(copied) == len(set(copied)) == page.count('class="citation"') > 200
    # The entry is that of its reference: the year is in both.
    for part in page.split('class="citation"')[1:]:
        entry = button_text_of(part)
        year = re.search(r"year *= \{(\d{4})\}", entry)
        assert year, entry
        assert year[1] in part.partition("data-bibtex")[0], entry


def button_text_of(part: str) -> str:
    """What the first button of a part of a page copies."""
    found = re.search(r'data-bibtex="([^"]*)"', part)
    return found[1] if found else ""


def test_the_book_is_cited_from_its_first_page(visit: Visit, book: Path) -> None:
    (entry,) = button_text(book, "index.html")
    assert entry.startswith("@misc{")
    page = visit("index.html")
    expect(page.get_by_role("button", name="Copy BibTeX of the book")).to_be_visible()


def test_pages_name_the_feed(book: Path) -> None:
    link = '<link rel="alternate" type="application/atom+xml" title="Changes" href="'
    assert f'{link}feed.xml"/>' in (book / "index.html").read_text(encoding="utf-8")
    assert f'{link}../feed.xml"/>' in (book / f"{PAGE}.html").read_text(encoding="utf-8")
    assert (book / "feed.xml").is_file()


# ---- report a mistake -------------------------------------------------------------------

LINK = f"""addEventListener("DOMContentLoaded", () => {{
    if (document.querySelector("[data-report]")) return;
    const link = Object.assign(document.createElement("a"), {{ href: "{FORM}" }});
    link.textContent = "Report a mistake";
    link.dataset.report = "";
    link.addEventListener("click", (event) => event.preventDefault());
    document.querySelector(".book-licence")?.append(link);
}}, {{ capture: true }})"""
SELECT = f"""() => {{
    const text = document.querySelector("#{SECTION} > p");
    getSelection().selectAllChildren(text);
    return textOf(text);
}}"""


@pytest.fixture
def reported(stage: Callable, book: Path) -> Iterator[Page]:
    """A page with the link that it has if the configuration names a repository."""
    page, troubles = stage(locale="en-HK")
    page.add_init_script(LINK)
    page.goto((book / f"{PAGE}.html").as_uri())
    yield settled(page)
    assert troubles == []


def fields(page: Page) -> dict[str, list[str]]:
    """What the form is told after a click on the link."""
    link = page.locator("[data-report]")
    link.click()
    return parse_qs(urlsplit(link.get_attribute("href") or "").query)


def test_no_page_reports_to_another_books_repository(book: Path) -> None:
    for name in ("index.html", f"{PAGE}.html", "record.html"):
        assert "executablebooks" not in (book / name).read_text(encoding="utf-8")


def test_a_report_takes_along_what_was_selected_and_where(reported: Page) -> None:
    words = reported.evaluate(SELECT)
    told = fields(reported)
    assert told["page"] == [f"{PAGE}#{SECTION}"]
    assert told["template"] == ["sentence.yml"]
    assert len(words) > 40
    assert told["sentence"] == [words[:500].strip()]


def test_a_formula_in_it_is_told_once(reported: Page) -> None:
    told = reported.evaluate("""() => {
        const formula = [...document.querySelectorAll("article section > p .katex-mathml")]
            .find((one) => one.textContent.length > 3);
        getSelection().selectAllChildren(formula.closest("p"));
        return formula.textContent;
    }""")
    (sentence,) = fields(reported)["sentence"]
    assert len(told) > 3
    assert sentence.count(told) == 1


def test_a_report_without_a_selection_names_the_page(reported: Page) -> None:
    assert fields(reported) == {"template": ["sentence.yml"], "page": [PAGE]}


def test_what_was_selected_long_ago_is_not_told(reported: Page) -> None:
    reported.evaluate(SELECT)
    reported.evaluate("getSelection().removeAllRanges()")
    reported.wait_for_timeout(3200)
    assert fields(reported) == {"template": ["sentence.yml"], "page": [PAGE]}
