"""Links to edit a page and to report a mistake: absent until the book has a repository."""

import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jupyter_book
import nbformat
import pytest
import yaml

from sphinx_fixtures import Sphinx
from tformer_book.pipeline.site.repository import BRANCH, GENERATED, STOCK, edit_link, report_link

ROOT = Path(__file__).parents[1]
URL = "https://github.com/someone/book"
DEFAULTS = Path(jupyter_book.__file__).with_name("default_config.yml")
PAGES = {
    "chapters/04_why_sqrt_d": "chapters/04_why_sqrt_d.ipynb",
    "exercises/solutions/02_softmax": "exercises/solutions/02_softmax.py",
    "index": "index.md",
}
CONF = """
extensions = ["myst_nb", "sphinx_book_theme"]
extensions += ["tformer_book.pipeline.site.repository", "tformer_book.pipeline.site.page"]
html_theme = "sphinx_book_theme"
nb_execution_mode = "off"
templates_path = [{templates!r}]
html_title = "Book"
html_context = {{"default_mode": "light"}}
html_theme_options = {options!r}
html_static_path = []
"""


@pytest.fixture
def pages(sphinx: Sphinx, tmp_path: Path):
    """Build a small book with these options of the theme: its pages by name."""

    def build(**options: str) -> dict[str, str]:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("# Title")])
        kernel = {"name": "python3", "display_name": "P", "language": "python"}
        notebook.metadata["kernelspec"] = kernel
        listed = [page for page in PAGES if page != "index"]
        for page in listed:
            (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
            nbformat.write(notebook, tmp_path / f"{page}.ipynb")
        text = "\n".join(["# Book", "", "```{toctree}", *listed, "```", ""])
        (tmp_path / "index.md").write_text(text)
        templates = str(ROOT / "assets" / "templates")
        (tmp_path / "conf.py").write_text(CONF.format(templates=templates, options=options))
        _, complaints = sphinx(tmp_path)
        names = [*PAGES, "search"]
        made = {name: tmp_path / "out" / f"{name}.html" for name in names}
        assert all(path.is_file() for path in made.values()), complaints
        return {name: path.read_text(encoding="utf-8") for name, path in made.items()}

    return build


def links(html: str) -> dict[str, str]:
    """The links at the foot of a page, by their words."""
    found = re.findall(r'<a class="book-mend" href="([^"]*)"[^>]*>([^<]*)<', html)
    return {words: address.replace("&amp;", "&") for address, words in found}


@pytest.mark.parametrize("url", ["", "https://gitlab.com/someone/book", STOCK])
def test_there_is_no_link_without_a_repository_on_github(pages, url: str) -> None:
    made = pages(repository_url=url) if url else pages()
    assert "repository" not in yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    for name, html in made.items():
        assert links(html) == {}, name
        assert "Report a mistake" not in html


def test_the_repository_that_is_no_books_own_is_the_one_of_jupyter_book() -> None:
    stock = yaml.safe_load(DEFAULTS.read_text(encoding="utf-8"))
    assert stock["repository"]["url"] == STOCK


def test_each_page_links_to_its_source_and_to_the_form(pages) -> None:
    for name, html in pages(repository_url=f"{URL}/").items():
        found = links(html)
        report = urlsplit(found.pop("Report a mistake"))
        assert f"{report.scheme}://{report.netloc}{report.path}" == f"{URL}/issues/new"
        assert parse_qs(report.query) == {"template": ["sentence.yml"], "page": [name]}
        edited = {"Edit this page": f"{URL}/edit/main/{PAGES[name]}"} if name in PAGES else {}
        assert found == edited
        assert html.count(" data-report>") == 1
        assert not re.search(r"<(?:script|img|link|iframe)[^>]*github", html)


def test_a_page_that_a_program_writes_is_not_edited() -> None:
    ledger = "chapters/ledger"
    assert ledger in GENERATED
    assert (ROOT / f"{ledger}.md").is_file()
    assert edit_link(URL, ledger, ".md") is None
    assert ledger in parse_qs(urlsplit(report_link(URL, ledger)).query)["page"]


def test_what_is_edited_is_the_branch_that_is_published() -> None:
    workflow = (ROOT / ".github" / "workflows" / "book.yml").read_text(encoding="utf-8")
    assert f"branches: [{BRANCH}]" in workflow
