"""Pages as a PDF and as an EPUB: two small ones, and one of the book."""

import io
import re
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser as Chromium
from pypdf import PdfReader, PdfWriter
from pypdf.generic import DictionaryObject, NameObject

from browser.test_print import EMPTY, foot, squeezed
from browsing import ROOT
from editions import BOOK, elements, faults, untagged, write_site
from tformer_book.pipeline.editions import contents, epub, pdf
from tformer_book.pipeline.editions.browser import SCALE, WINDOW, Browser
from tformer_book.pipeline.editions.contents import Book, Front, Line, Read

Made = tuple[Book, Front, dict[str, Read]]


def read(chromium: Chromium, built: Path, book: Book) -> Made:
    """What the browser reads of all pages of a book, and the front that it makes of them."""
    context = chromium.new_context(viewport=WINDOW, device_scale_factor=SCALE)
    browser = Browser(context.new_page(), built, book)
    pages = {page: browser.visit(page) for page in book.pages}
    front = browser.front(pages)
    context.close()
    return book, front, pages


@pytest.fixture(scope="module")
def small(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The two pages of a small site."""
    return read(browser, write_site(tmp_path_factory.mktemp("site")), BOOK)


@pytest.fixture(scope="module")
def real(browser: Chromium, book: Path) -> Made:
    """One page of the book."""
    whole = contents.read(ROOT)
    lines = (Line(0, "chapters/03_attention"),)
    return read(browser, book, replace(whole, lines=lines))


def titles(items: list, depth: int = 0) -> Iterator[tuple[int, str]]:
    """The bookmarks of a PDF, each with its depth."""
    for item in items:
        if isinstance(item, list):
            yield from titles(item, depth + 1)
        else:
            yield depth, str(item.title)


def links(reader: PdfReader, number: int) -> list:
    """What the links of a sheet lead to: the number of another from 0, or an address."""

    def lead(link: dict) -> object:
        if "/Dest" in link:
            return reader.get_page_number(link["/Dest"][0].get_object())
        return link["/A"]["/URI"]

    return [lead(one.get_object()) for one in reader.pages[number].get("/Annots", [])]


def test_bookmarks_and_page_numbers_are_those_of_the_contents(small: Made) -> None:
    reader = PdfReader(io.BytesIO(pdf.bind(*small)))
    assert [*titles(reader.outline)] == [
        (0, "Two pages"),
        (0, "Sums & parts"),
        (1, "1. One"),
        (2, "1.1. Later"),
        (2, "Answers to the questions"),
    ]
    assert reader.page_labels[:4] == ["i", "ii", "1", "2"]
    texts = [sheet.extract_text() for sheet in reader.pages]
    for label, text in zip(reader.page_labels[2:], texts[2:], strict=True):
        assert label in text.split()
    assert re.search(r"Two pages\s*1\s+Sums & parts\s+1\. One\s*2", texts[1])
    assert reader.metadata is not None
    assert reader.metadata.title == "Two pages"


def test_links_lead_to_the_sheet_of_what_they_name(small: Made) -> None:
    reader = PdfReader(io.BytesIO(pdf.bind(*small)))
    texts = [sheet.extract_text() for sheet in reader.pages]
    theorem = next(n for n, text in enumerate(texts) if "Theorem 1.1" in text)
    assert theorem > 3  # not on the first sheet of its page
    assert links(reader, 1) == [2, 3]
    assert links(reader, 2) == [theorem, "https://example.org/"]
    assert links(reader, theorem)[:2] == [2, theorem]
    published = pdf.bind(replace(BOOK, address="https://example.org/b/"), *small[1:])
    found = links(PdfReader(io.BytesIO(published)), 2)
    assert found == [theorem, "https://example.org/b/search.html", "https://example.org/"]


def test_paper_shows_questions_and_answers_and_figures_at_rest(small: Made) -> None:
    reader = PdfReader(io.BytesIO(pdf.bind(*small)))
    text = squeezed("".join(sheet.extract_text() for sheet in reader.pages))
    assert "Question1.Isitone?" in text
    assert text.index("Answerstothequestions") < text.index("isright.")
    assert "Sinceoneisone." in text
    assert "Aredbox" in text
    assert "Totouchit,openchapters/one.html." in text
    assert 'print("shown")' in text
    assert "hidden" not in text
    assert "foldedaway" not in text


def test_a_screen_reader_finds_its_way_through_the_pdf(small: Made) -> None:
    made = pdf.bind(*small)
    assert untagged(made) == []
    tags = [*elements(PdfReader(io.BytesIO(made)).root_object["/StructTreeRoot"])]
    kinds = [str(tag["/S"]) for tag in tags]
    assert [kind for kind in kinds if re.fullmatch(r"/H\d", kind)] == [
        *("/H1", "/H2"),  # the title page and the contents
        *("/H1", "/H1", "/H2", "/H2"),
    ]
    words = {str(tag["/S"]): str(tag["/Alt"]) for tag in tags if "/Alt" in tag}
    assert words == {"/Formula": "x = − y − z", "/Figure": "a box. As drawn, red."}
    assert kinds.count("/Link") > 5
    assert {"/L", "/LI"} < {*kinds}


def _silent(root: DictionaryObject, tags: dict[str, DictionaryObject]) -> None:
    del tags["/Figure"]["/Alt"]


def _deep(root: DictionaryObject, tags: dict[str, DictionaryObject]) -> None:
    tags["/H2"][NameObject("/S")] = NameObject("/H4")


def _bare(root: DictionaryObject, tags: dict[str, DictionaryObject]) -> None:
    del root["/StructTreeRoot"]


def _crossed(root: DictionaryObject, tags: dict[str, DictionaryObject]) -> None:
    numbers = root["/StructTreeRoot"]["/ParentTree"]["/Nums"]
    numbers[1], numbers[3] = numbers[3], numbers[1]


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (_silent, "/Figure without words"),
        (_deep, "/H4 below /H2"),
        (_bare, "no tree of tags"),
        (_crossed, "leads to another"),
    ],
)
def test_faults_of_the_tags_are_found(
    small: Made, fault: Callable[[DictionaryObject, dict], None], told: str
) -> None:
    writer = PdfWriter(clone_from=io.BytesIO(pdf.bind(*small)))
    tags = {tag["/S"]: tag for tag in elements(writer.root_object["/StructTreeRoot"])}
    fault(writer.root_object, tags)
    target = io.BytesIO()
    writer.write(target)
    assert any(told in one for one in untagged(target.getvalue()))


def test_the_epub_has_formulas_drawings_and_pictures(small: Made) -> None:
    made = epub.pack(*small)
    assert faults(made) == []
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        text = archive.read("EPUB/chapters/one.xhtml").decode()
        assert len(archive.read("EPUB/pictures/chapters-one-1.png")) > 500
    negative, difference = '<mo form="prefix">−</mo><mi>y</mi>', "<mo>−</mo><mi>z</mi>"
    assert f"<mi>x</mi><mo>=</mo>{negative}{difference}" in text
    assert "katex-html" not in text
    assert 'alt="a box. As drawn, red."' in text
    assert text.count("<svg") == 1  # the other shape is hidden, but its letter is here
    assert 'id="a"' in text
    assert "fill: #123456" in text
    assert '<p class="fold-title">Proof</p>By counting.' in text


def test_a_page_of_the_book_is_printed_without_voids(real: Made) -> None:
    reader = PdfReader(io.BytesIO(pdf.bind(*real)))
    sheets = reader.pages[2:]
    assert len(sheets) > 10
    assert [share for share in map(foot, sheets[:-1]) if share > EMPTY] == []
    texts = [squeezed(sheet.extract_text()) for sheet in sheets]
    assert min(map(len, texts[:-1])) > 300
    assert any("(Outputsstayamongthevalues)" in text for text in texts)
    assert not any("Predict." in text for text in texts)
    assert (0, "3. Queries, keys and values") in titles(reader.outline)


def test_a_page_of_the_book_is_tagged(real: Made) -> None:
    made = pdf.bind(*real)
    assert untagged(made) == []
    tags = [*elements(PdfReader(io.BytesIO(made)).root_object["/StructTreeRoot"])]
    kinds = [str(tag["/S"]) for tag in tags]
    assert kinds.count("/Figure") > 5
    assert kinds.count("/Formula") > 100
    assert {"/Table", "/TH", "/TD", "/Caption", "/Code"} < {*kinds}


def test_a_figure_higher_than_the_rest_of_a_sheet_leaves_no_void(
    browser: Chromium, book: Path
) -> None:
    """The first figure of the first page lists what a model writes, over more than half a sheet."""
    lines = (Line(0, "chapters/00_whole_machine"),)
    first = read(browser, book, replace(contents.read(ROOT), lines=lines))
    sheets = PdfReader(io.BytesIO(pdf.bind(*first))).pages[2:]
    assert len(sheets) > 10
    assert [share for share in map(foot, sheets[:-1]) if share > EMPTY] == []


def test_a_page_of_the_book_is_an_epub(real: Made) -> None:
    made = epub.pack(*real)
    assert faults(made) == []
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        text = archive.read("EPUB/chapters/03_attention.xhtml").decode()
    assert text.count("<math") > 100
    assert text.count("<svg") > 10
    assert "var(--" not in text
    assert "(Outputs stay among the values)" in text
