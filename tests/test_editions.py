"""What an edition holds, and the EPUB of pages that have been read. No browser is needed."""

import io
import zipfile
from dataclasses import replace

import pytest
from PIL import Image

from browsing import ROOT, toc_pages
from editions import BOOK, LINES, faults
from tformer_book.pipeline.editions import contents, epub, pdf
from tformer_book.pipeline.editions.contents import Front, Read
from tformer_book.pipeline.editions.write import write


def picture() -> bytes:
    """A small PNG."""
    target = io.BytesIO()
    Image.new("RGB", (4, 4), "red").save(target, "PNG")
    return target.getvalue()


FRONT = Front(b"", picture(), dict.fromkeys(BOOK.pages, 1), "file:///html/")


def article(inside: str) -> str:
    """The text of a page as the browser writes it down."""
    return f'<article xmlns="http://www.w3.org/1999/xhtml">{inside}</article>'


def packed(inside: str, **more: object) -> tuple[bytes, str]:
    """An EPUB whose second page holds this, and the text of that page in it."""
    read = {
        "index": Read("Two pages", [], b"", article('<p id="here">Words</p>')),
        "chapters/one": Read("1. One", [], b"", article(inside), **more),
    }
    made = epub.pack(BOOK, FRONT, read)
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        return made, archive.read("EPUB/chapters/one.xhtml").decode()


def test_an_edition_has_all_pages_in_the_order_of_the_contents() -> None:
    book = contents.read(ROOT)
    assert [f"{page}.html" for page in book.pages] == toc_pages()
    depths = {line.page: line.depth for line in book.lines if line.page}
    assert depths["index"] == 0
    assert depths["chapters/03_attention"] == 1
    assert depths["chapters/03_attention_deeper"] == 2
    assert book.language == "en-GB"


def test_pages_that_are_not_built_are_named(tmp_path) -> None:
    for name in ("_config.yml", "_toc.yml", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    with pytest.raises(FileNotFoundError, match=r"not built: index, .*`make book` builds them"):
        write(tmp_path)


@pytest.mark.parametrize(
    ("link", "becomes"),
    [
        ("../index.html#here", '<a class="x" href="../index.xhtml#here">'),
        ("../index.html#gone", '<a class="x" href="../index.xhtml">'),
        ("#own", '<a class="x" href="#own">'),
        ("one.html#own", '<a class="x" href="#own">'),
        ("#gone", "<a>"),
        ("../search.html", "<a>"),
        ("https://example.org/#a", '<a class="x" href="https://example.org/#a">'),
    ],
)
def test_a_link_leads_to_a_file_of_the_epub_or_nowhere(link: str, becomes: str) -> None:
    made, text = packed(f'<p id="own"><a class="x" href="{link}">there</a></p>')
    assert f"{becomes}there</a>" in text
    assert faults(made) == []


def test_what_is_not_in_the_epub_is_linked_where_the_book_is_published() -> None:
    book = replace(BOOK, address="https://example.org/book/")
    page = Read("1. One", [], b"", article('<a href="../search.html">search</a>'))
    made = epub.pack(book, FRONT, {"index": page, "chapters/one": page})
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        text = archive.read("EPUB/chapters/one.xhtml").decode()
    assert '<a href="https://example.org/book/search.html">search</a>' in text


def test_pictures_are_in_the_epub_and_have_words() -> None:
    told = '<img alt="a red box" src="chapters-one-1.png"/>'
    made, text = packed(told, pictures={"chapters-one-1.png": picture()})
    assert 'src="../pictures/chapters-one-1.png"' in text
    assert faults(made) == []


def test_the_contents_of_the_epub_are_nested() -> None:
    made, _ = packed("")
    with zipfile.ZipFile(io.BytesIO(made)) as archive:
        nav = archive.read("EPUB/nav.xhtml").decode()
    assert len(LINES) == nav.count("<li>")
    inner = '<ol><li><a href="chapters/one.xhtml">1. One</a></li></ol>'
    assert f'<li><a href="chapters/one.xhtml">Sums &amp; parts</a>{inner}</li></ol></nav>' in nav


@pytest.mark.parametrize(
    ("inside", "told"),
    [
        ('<p id="a"/><p id="a"/>', "twice a"),
        ('<img src="none.png" alt="x"/>', "leads nowhere: ../pictures/none.png"),
        ('<math xmlns="http://www.w3.org/1998/Math/MathML"/>', None),
        ('<img src="chapters-one-1.png"/>', "a picture without words"),
    ],
)
def test_faults_of_an_epub_are_found(inside: str, told: str | None) -> None:
    made, _ = packed(inside, pictures={"chapters-one-1.png": picture()})
    found = faults(made)
    assert found == [f"EPUB/chapters/one.xhtml: {told}"] if told else found == []


def test_numbers_of_a_sheet_are_rounded_and_its_text_is_not() -> None:
    drawn = b"-.23999999 0 0 1.0416667 390.640625 103621.125 cm (1.2345 \\) 6.78901) Tj 7.0001 w"
    told = b"-0.24 0 0 1.0417 390.64 103621.12 cm (1.2345 \\) 6.78901) Tj 7.0001 w"
    assert pdf.shorten(drawn) == told
