"""The chapters as `make lab` writes them: complete, with no loose ends."""

import posixpath
import re

import nbformat
import pytest

from browsing import ROOT, toc_pages
from tformer_book.claims.record import records
from tformer_book.pipeline.lab.edition import Book, _caption, edition, written_out
from tformer_book.pipeline.notebook.myst import directives
from tformer_book.pipeline.notebook.normalise import dump
from tformer_book.pipeline.notebook.numbering import number_headings
from tformer_book.pipeline.site.seals import CALL

PAGES = [name.removesuffix(".html") for name in toc_pages()]
PAGES = [page for page in PAGES if page.startswith("chapters/")]
PAGES = [page for page in PAGES if (ROOT / f"{page}.ipynb").exists()]
each_page = pytest.mark.parametrize("page", PAGES)
LEFT = re.compile(r"\{(?:prf:ref|numref|eq|ref|doc|cite\S*|term)\}`|(?<!\\)\$\$")
LINK = re.compile(r"\]\(([^()\s]+)\)")
TARGET = re.compile(r"^(?::label: *|\()([\w-]+)(?:\)=)?$", re.MULTILINE)


@pytest.fixture(scope="module")
def book() -> Book:
    return Book(ROOT)


@pytest.fixture(scope="module")
def texts(book: Book) -> dict[str, str]:
    """The prose of each chapter of the edition, by the name of its file."""
    return {book.place(name): prose(edition(book, name)) for name in PAGES}


def prose(notebook: nbformat.NotebookNode) -> str:
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


def _recorded(cell: nbformat.NotebookNode) -> bool:
    call = CALL.fullmatch(cell.source)
    return bool(call and call[1] in records() and cell.outputs)


@each_page
def test_nothing_is_left_that_jupyterlab_cannot_show(book: Book, page: str) -> None:
    notebook = edition(book, page)
    assert LEFT.findall(prose(notebook)) == []
    for box in directives(notebook):
        if box.name.startswith("prf:") or box.name == "math":
            assert {"enumerator", "enumerated"} & set(box.options), box
    paragraphs = prose(notebook).split("\n\n")
    way = [text for text in paragraphs if text.startswith("**A first reading takes")]
    assert not way or way == paragraphs[1:2], "it stands below the title"
    captions = [cell.source for cell in notebook.cells if cell["id"].endswith("-caption")]
    figures = [cell.metadata.get("mystnb", {}).get("figure") for cell in book.notebooks[page].cells]
    assert len(captions) == sum(figure is not None for figure in figures)
    assert all(re.match(r"\(fig-\S+\)=\n\*\*Figure [\d.]+\*\* \*\*\S", text) for text in captions)
    sealed = [cell for cell in notebook.cells if CALL.fullmatch(cell.source)]
    shown = [cell.outputs[0].data["text/html"] for cell in sealed if _recorded(cell)]
    assert all("tf-seal" in html for html in shown)
    assert ("show_seals()" in dump(notebook)) is bool(sealed)


@each_page
def test_links_lead_somewhere(book: Book, texts: dict[str, str], page: str) -> None:
    place = book.place(page)
    own = texts[place]
    for link in LINK.findall(own):
        if link.startswith("https:"):
            continue
        name, _, label = link.partition("#")
        name = name and posixpath.normpath(posixpath.join(posixpath.dirname(place), name))
        there = ROOT / (name if name.startswith("exercises/") else f"chapters/{name}")
        assert name in texts or not name or there.is_file(), link
        assert not label or label in TARGET.findall(texts[name] if name else own), link


def test_what_is_labelled_and_no_heading_is_linked_with_words_of_its_own(book: Book) -> None:
    page = "chapters/02_softmax"
    assert written_out("{ref}`the keys <three-keys>`", book, page) == "[the keys](#three-keys)"
    with pytest.raises(LookupError, match="needs words of its own"):
        written_out("{ref}`three-keys`", book, page)


def test_the_book_is_left_as_it_was(book: Book) -> None:
    before = dump(book.notebooks["chapters/02_softmax"])
    edition(book, "chapters/02_softmax")
    assert dump(book.notebooks["chapters/02_softmax"]) == before


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("By {doc}`it <01_dot_products>`", "By [it](01_dot_products.ipynb)"),
        ("{doc}`02_softmax`", "[Softmax](02_softmax.ipynb)"),
        ("{doc}`a <../exercises/solutions/02_softmax>`", "[a](exercises/02_softmax.ipynb)"),
        ("{doc}`glossary`", "[Glossary](glossary.md)"),
        ("{cite:t}`vaswani2017`", "Vaswani *et al.* [[VSP+17](https://arxiv.org/abs/1706.03762)]"),
        ("[it](#thm-cauchy-schwarz)", "[it](01_dot_products.ipynb#thm-cauchy-schwarz)"),
        ("[](#thm-cauchy-schwarz)", "[Theorem 1."),
        ("{prf:ref}`it <thm-cauchy-schwarz>`", "[it](01_dot_products.ipynb#thm-cauchy"),
        ("{cite:t}`boyd2004`", "Boyd and Vandenberghe [[BV04](https://doi.org/10.1017/CBO97805"),
        (
            "{cite:p}`boyd2004, ball1997`",
            "[[BV04](https://doi.org/10.1017/CBO9780511804441), Bal97]",
        ),
        ("[*key*]{.tf-key} and", "*key* and"),
        ("$$ a = b $$", "```{math}\n:enumerated: false\n\na = b\n```"),
        ("  $$\n  a\n  $$", "  ```{math}\n  :enumerated: false\n  \n  a\n  ```"),
        (
            ":::{prf:proof}\n:class: dropdown\nx",
            ":::{prf:proof}\n:enumerated: false\n:class: dropdown",
        ),
    ],
)
def test_what_the_page_writes_out_iswritten_out(book: Book, source: str, expected: str) -> None:
    assert written_out(source, book, "chapters/00_notation", {}).startswith(expected)


def test_an_exercise_reaches_the_chapters_above_it(book: Book) -> None:
    source = "{doc}`../../chapters/glossary` [](#thm-cauchy-schwarz)"
    text = written_out(source, book, "exercises/solutions/02_softmax")
    assert text.startswith("[Glossary](../glossary.md) [Theorem 1.")
    assert text.endswith("](../01_dot_products.ipynb#thm-cauchy-schwarz)")
    assert "chapters/glossary" in book.linked


@pytest.mark.parametrize(
    "source", ["{eq}`eq-none`", "[a](#none)", "{cite:p}`none1999`", "{doc}`none`"]
)
def test_what_leads_nowhere_is_refused(book: Book, source: str) -> None:
    with pytest.raises(LookupError, match="none"):
        written_out(source, book, "chapters/02_softmax", {})


@pytest.mark.parametrize("text", ["A square. It has four.", "**A square.** It has four."])
def test_the_message_of_a_caption_is_bold_once(text: str) -> None:
    assert _caption(text, "Figure 1.1") == "**Figure 1.1** **A square.** It has four."


def test_headings_are_numbered_outside_listings() -> None:
    sources = ["# T\n\n## A", "```python\n# no\n```\n\n### C\n\n### D", "## E\n\n### F"]
    cells = [nbformat.v4.new_markdown_cell(source) for source in sources]
    number_headings(notebook := nbformat.v4.new_notebook(cells=cells), "7")
    headings = re.findall(r"^#+ (.+)$", prose(notebook), re.MULTILINE)
    assert headings == ["7. T", "7.1. A", "no", "7.1.1. C", "7.1.2. D", "7.2. E", "7.2.1. F"]
