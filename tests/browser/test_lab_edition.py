"""The edition for JupyterLab says what the page says, and reads there as it should."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from browsing import ROOT, toc_pages
from tformer_book.pipeline.lab.edition import Book, edition
from tformer_book.pipeline.site.seals import CALL

PAGES = [name.removesuffix(".html") for name in toc_pages()]
PAGES = [page for page in PAGES if page.startswith("chapters/")]
PAGES = [page for page in PAGES if (ROOT / f"{page}.ipynb").exists()]
NAMED = {
    ".admonition[id]": ".caption-number",
    "figure[id]": ".caption-number",
    ".math[id]": ".eqno",
}
DRAWN = r"<(svg|script)\b.*?</\1>"
SHOWN = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook"


@pytest.fixture(scope="module")
def sources() -> Book:
    """The book that the editions are written from."""
    return Book(ROOT)


@pytest.mark.parametrize("page", PAGES)
def test_numbers_and_citations_are_those_of_the_page(book: Path, sources: Book, page: str) -> None:
    whole = (book / f"{page}.html").read_text(encoding="utf-8")
    html = BeautifulSoup(re.sub(DRAWN, "", whole, flags=re.DOTALL), "html.parser")
    for mark in html.select("article .headerlink, article .katex"):
        mark.decompose()
    published = {
        str(box["id"]).removeprefix("equation-"): name.get_text().strip()
        for kind, part in NAMED.items()
        for box in html.select(f"article {kind}")
        if (name := box.select_one(part))
    }
    known = sources.targets.items()
    assert published == {
        label: target.name for label, target in known if target.page == page and target.number
    }
    text = "\n".join(cell.source for cell in edition(sources, page).cells)
    cited = {link.get_text() for link in html.select('article a[href^="references.html#"]')}
    assert cited == set(re.findall(r"^- \*\*\[(.+?)\]\*\* ", text, re.MULTILINE))
    sections = [number.get_text().strip(" .") for number in html.select("article .section-number")]
    assert sections == re.findall(r"^#+ (\d[\d.]*)\. ", text, re.MULTILINE)


def test_a_chapter_reads_in_jupyterlab_as_on_its_page(notebook: Callable, sources: Book) -> None:
    page = "chapters/02_softmax_deeper"
    chapter = edition(sources, page)
    lab = notebook(whole=chapter)
    shown = lab.page.locator(SHOWN)
    last = chapter.cells[-1].source.splitlines()[0].removeprefix("## ")
    expect(shown.get_by_role("heading", name=last)).to_be_attached()
    text = shown.inner_text()
    names = [target.name for target in sources.targets.values() if target.page == page]
    assert [name for name in names if name not in text] == []
    assert not re.search(r"\{[a-z:]+\}`|:::|\$\$|Proof \d", text)
    ours = [i for i, cell in enumerate(chapter.cells) if "show_seals()" in cell.source]
    calls = [i for i, cell in enumerate(chapter.cells) if CALL.fullmatch(cell.source)]
    lab.run(ours[0])
    seal = lab.run(calls[0]).locator(".tf-seal")
    expect(seal).to_have_count(1)
    seal.locator(":scope > summary").click()
    expect(seal).to_contain_text(CALL.fullmatch(chapter.cells[calls[0]].source)[1])
