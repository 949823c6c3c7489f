"""The chapters as JupyterLab shows them best: what the page writes out is written out.

JupyterLab knows one notebook at a time. So each chapter is written once more: boxes and equations
carry the numbers of the page, references and citations are links with their words, captions stand
below the figures. `desk` puts them into a folder that git does not see.
"""

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat import NotebookNode
from pybtex.database import Entry, parse_file
from pybtex.plugin import find_plugin

from tformer_book.pipeline.lab.seals import seal_html
from tformer_book.pipeline.notebook.normalise import load
from tformer_book.pipeline.notebook.numbering import (
    EQUATION,
    SUFFIX,
    Target,
    number_headings,
    pages,
    targets,
    title,
)
from tformer_book.pipeline.notebook.reading import DIRECTIVE, in_words
from tformer_book.pipeline.site.seals import CALL

NOTE = (
    "*This is the chapter as `make lab` writes it for JupyterLab. What you change here is yours.*"
)
IMPORT = re.compile(r"^from tformer_book\.claims import .*\bverify\b", re.MULTILINE)
SEALS_ON = """
from tformer_book.pipeline.lab.seals import show_seals

show_seals()  # what verify returns, as on the page"""
BOX = re.compile(
    r"^[ \t]*(?:`{3,}|:{3,})\{prf:(\w+)\}.*\n(?P<options>(?:[ \t]*:[\w-]+:.*\n)*)", re.M
)
LABEL = re.compile(r"^[ \t]*:label:[ \t]*([\w-]+)", re.MULTILINE)
ROLE = re.compile(r"\{(cite:p|cite:t|doc|eq|numref|prf:ref|ref)\}`(?:([^`<]+?)\s*<)?([^`<>]+)>?`")
COLOURED = re.compile(r"\[([^\]]+)\]\{\.tf-\w+\}")  # a word in the colour of its role
INSIDE = re.compile(r"\[([^\]]*)\]\(#([\w-]+)\)")
MESSAGE = re.compile(r"(?s)(.+?[.!?])(?=\s|$)")
LINK = re.compile(r"\]\((https?://\S+?)\)\\?\.?\s*$")


@dataclass
class Book:
    """The book around `root`: its notebooks, labels and works cited.

    `linked` gathers the pages that are no notebooks and that a notebook written out leads to.
    """

    root: Path
    linked: set[str] = field(default_factory=set)

    @cached_property
    def chapters(self) -> dict[str, str]:
        """The number of the chapter of each page."""
        return pages(self.root)

    @cached_property
    def main_pages(self) -> dict[str, str]:
        """The number of each chapter by its main page, the first that has this number."""
        first = {number: page for page, number in reversed(self.chapters.items()) if number}
        return {page: number for number, page in first.items()}

    @cached_property
    def notebooks(self) -> dict[str, NotebookNode]:
        """The notebooks of the chapters by page, in order."""
        paths = {page: self.root / f"{page}.ipynb" for page in self.chapters}
        chosen = {page: path for page, path in paths.items() if page.startswith("chapters/")}
        return {page: load(path) for page, path in chosen.items() if path.exists()}

    @cached_property
    def targets(self) -> dict[str, Target]:
        """What every label stands for."""
        return targets(self.notebooks, self.chapters)

    @cached_property
    def works(self) -> dict[str, "Work"]:
        """The works of the list of references, by key."""
        entries = parse_file(self.root / "references.bib").entries
        style = find_plugin("pybtex.style.formatting", "alpha")()
        markdown = find_plugin("pybtex.backends", "markdown")()  # looked for once, not for each
        formatted = style.format_entries(entries.values())
        return {
            item.key: Work(item.label, " ".join(item.text.render(markdown).split()), entry)
            for item in formatted
            for entry in [entries[item.key]]
        }

    def title(self, page: str) -> str:
        """The title of any page of the book."""
        if page in self.notebooks:
            return title(self.notebooks[page].cells[0].source)
        for path in (self.root / f"{page}.ipynb", self.root / f"{page}.md"):
            if path.exists() and path.suffix == ".ipynb":
                return title(load(path).cells[0].source)
            if path.exists():
                return title(path.read_text(encoding="utf-8"))
        raise LookupError(f"there is no page {page}")

    def place(self, page: str) -> str:
        """Where a page is found on the desk: chapters in its folder, others in one below.

        In a list of files `06_many_heads` and `06_many_heads_deeper` would begin alike and be cut
        off before they differ.
        """
        page = page.replace("exercises/solutions/", "exercises/")
        if (self.root / f"{page}.ipynb").exists():
            place = page.removeprefix("chapters/")
            below = "deeper/" if place.endswith(SUFFIX) else ""
            return f"{below}{place.removesuffix(SUFFIX)}.ipynb"
        if (self.root / f"{page}.md").exists():
            return f"{page.removeprefix('chapters/')}.md"
        raise LookupError(f"there is no page {page}")

    def address(self, page: str, start: str) -> str:
        """How a page is reached from the page `start` on the desk."""
        place = self.place(page)
        if place.endswith(".md"):
            self.linked.add(page)
        return posixpath.relpath(place, posixpath.dirname(self.place(start)) or ".")


@dataclass(frozen=True)
class Work:
    """One work: its label in square brackets, its line in the list, and what is known of it."""

    label: str
    line: str
    entry: Entry

    @property
    def link(self) -> str:
        """The label, with a link to the work where it has an address."""
        address = LINK.search(self.line)
        return f"[{self.label}]({address[1]})" if address else self.label

    @property
    def authors(self) -> str:
        """The names of the authors as a sentence uses them."""
        names = [" ".join(person.last_names) for person in self.entry.persons["author"]]
        if len(names) > 2:
            return f"{names[0]} *et al.*"
        return " and ".join(names)


def edition(book: Book, page: str) -> NotebookNode:
    """The notebook of a page with numbers, references, citations and captions written out.

    Raises
    ------
    LookupError
        If the page names a label, a page or a work that does not exist.
    """
    notebook = nbformat.from_dict(book.notebooks[page])
    cells: list[NotebookNode] = []
    cited: dict[str, Work] = {}
    _seals_on(notebook)
    title, _, opening = notebook.cells[0].source.partition("\n")
    if opening != (rest := DIRECTIVE.sub("", opening)):
        notebook.cells[0].source = f"{title}\n\n{in_words(notebook)}\n{rest.rstrip()}"
    if chapter := book.main_pages.get(page):
        number_headings(notebook, chapter)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = written_out(cell.source, book, page, cited)
        elif call := CALL.fullmatch(cell.source):
            _seal(cell, call[1])
        for output in cell.get("outputs", []):
            if "text/markdown" in output.get("data", {}):
                text = output.data["text/markdown"]
                output.data["text/markdown"] = written_out(text, book, page, cited)
        cells.append(cell)
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        if "caption" in figure:
            caption = _caption(figure["caption"], book.targets[figure["name"]].name)
            text = f"({figure['name']})=\n{written_out(caption, book, page, cited)}"
            cells.append(_markdown(text, f"{cell['id']}-caption"))
    cells.insert(1, _markdown(NOTE, "edition"))
    if cited:
        works = sorted(cited.values(), key=lambda work: work.label)
        lines = "\n".join(f"- **[{work.label}]** {work.line}" for work in works)
        cells.append(_markdown(f"## Works cited\n\n{lines}", "works"))
    notebook.cells = cells
    return notebook


def _seals_on(notebook: NotebookNode) -> None:
    """Let the cell that imports also see to it that `verify` shows seals."""
    imports = next((cell for cell in notebook.cells if IMPORT.search(cell.source)), None)
    if imports is not None:
        imports.source += f"\n{SEALS_ON}"


def _seal(cell: NotebookNode, label: str) -> None:
    """Show the seal in place of the evidence that is stored with a cell."""
    html = seal_html(label)
    for output in cell.outputs:
        if html and "data" in output:
            output.data["text/html"] = html


def _markdown(text: str, name: str) -> NotebookNode:
    cell = nbformat.v4.new_markdown_cell(text)
    cell["id"] = name
    return cell


def _caption(text: str, name: str) -> str:
    bold = text if text.startswith("**") else MESSAGE.sub(r"**\1**", text, count=1)
    return f"**{name}** {bold.strip()}"


def written_out(source: str, book: Book, page: str, cited: dict[str, Work] | None = None) -> str:
    """The text of a page with numbers, references and citations written out; adds to `cited`."""
    cited = {} if cited is None else cited
    source = BOX.sub(lambda found: _box(found, book.targets), source)
    source = EQUATION.sub(lambda found: _equation(found, book.targets), source)
    source = COLOURED.sub(r"\1", source)
    source = INSIDE.sub(lambda found: _link(book, page, *found.groups()), source)
    return ROLE.sub(lambda found: _role(found, book, page, cited), source)


def _box(found: re.Match[str], known: Mapping[str, Target]) -> str:
    """A box with the number that it has on the page; a proof has none."""
    label = LABEL.search(found["options"])
    number = known[label[1]].number if label and found[1] != "proof" else ""
    option = f":enumerator: {number}" if number else ":enumerated: false"
    opening, _, options = found[0].partition("\n")
    return f"{opening}\n{option}\n{options}"


def _equation(found: re.Match[str], known: Mapping[str, Target]) -> str:
    """An equation with the number that it has on the page, or with none."""
    options = [":enumerated: false"]
    if label := found["label"]:
        options = [f":label: {label}", f":enumerator: {known[label].number}"]
    indent = found["indent"]
    lines = ["```{math}", *options, "", *found["body"].strip().splitlines(), "```"]
    return "\n".join([indent + lines[0], *[f"{indent}{line.strip()}" for line in lines[1:]]])


def _role(found: re.Match[str], book: Book, page: str, cited: dict[str, Work]) -> str:
    """A role as a link with the words that the page shows."""
    kind, words, name = found.groups()
    if kind.startswith("cite"):
        works = {key.strip(): _known(book.works, key.strip()) for key in name.split(",")}
        cited |= works
        if kind == "cite:t":
            return ", ".join(f"{work.authors} [{work.link}]" for work in works.values())
        return f"[{', '.join(work.link for work in works.values())}]"
    if kind == "doc":
        target = _joined(page, name)
        return f"[{words or book.title(target)}]({book.address(target, page)})"
    return _link(book, page, words, name)


def _link(book: Book, page: str, words: str, label: str) -> str:
    """A link from a page to what has a label; without words it is called by its name."""
    target = _known(book.targets, label)
    address = "" if target.page == page else book.address(target.page, page)
    text = (words or target.name).replace("%s", target.number)
    if not text:
        raise LookupError(f"{label} is no heading, so a link to it needs words of its own")
    return f"[{text}]({address}#{label})"


def _known(table: Mapping[str, Any], key: str) -> Any:
    if key not in table:
        raise LookupError(f"nothing has the label {key}")
    return table[key]


def _joined(page: str, name: str) -> str:
    """The page that a link of `page` names."""
    parts: list[str] = [] if name.startswith("/") else list(PurePosixPath(page).parent.parts)
    for part in PurePosixPath(name.lstrip("/")).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)
