"""Sphinx extension: the pages of the library, from its docstrings, its examples and its source.

`{library} reference.norms` sets all that is public in these modules of `tformer`: each function
with its equation as its chapter has it, an example, its source, and that of its twin in PyTorch.
`{all-of-the-library}` sets a table for each such page. Without an equation or an example a function
of `tformer.reference` draws a warning.
"""

import inspect
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tformer_book.pipeline.site.docstring import Docstring, signature
from tformer_book.pipeline.site.library import (
    MODEL,
    Entry,
    Page,
    blocks,
    examples,
    helpers,
    library,
    places,
    source,
)
from tformer_book.pipeline.site.seals import coloured

LOGGER = logging.getLogger(__name__)
EQUATIONS, SHOWS = "equations", "shows_equations"
STOP = re.compile(r"\s*(\\[ ,])?[,.;]\s*$")
"""What ends a formula as a part of a sentence."""


class Equation(nodes.General, nodes.Element):
    """Where an equation comes; what it holds stands below the formula."""


class OfDocstrings(SphinxDirective):
    """A directive that shows docstrings, with links to all that is public."""

    def docstring(self, thing: Any) -> Docstring:
        """The docstring of something, with the links of this page."""
        text = "" if thing is None else inspect.getdoc(thing) or ""
        return Docstring(text, self.link, self.role)

    def link(self, name: str, around: nodes.Node) -> nodes.Node | None:
        """A link around a node to what a name stands for."""
        if (found := places(Path(self.env.srcdir)).get(name)) is None:
            return None
        page, anchor = found
        here = page == self.env.docname
        uri = "" if here else self.env.app.builder.get_relative_uri(self.env.docname, page)
        return nodes.reference("", "", around, refuri=f"{uri}#{anchor}", internal=True)

    def role(self, name: str, text: str) -> nodes.Node:
        """What a role of MyST makes of a text."""
        box = nodes.container()
        line = StringList([f"{{{name}}}`{text}`"])
        self.state.nested_parse(line, self.content_offset, box)
        [node] = box[0].children
        return node


class Library(OfDocstrings):
    """`{library} module …`: all that is public in these modules."""

    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        """The page's head, and a section for each function and class."""
        root, here = Path(self.env.srcdir), self.env.docname
        page = next(page for page in library(root) if page.docname == here)
        self.env.metadata[here][SHOWS] = True
        found = examples(page.stem)
        made: list[nodes.Node] = [
            nodes.paragraph("", "The examples of this page begin with"),
            _code(found.before),
        ]
        for entry in page.entries:
            for file in {inspect.getsourcefile(inspect.unwrap(entry.thing)) or ""}:
                self.env.note_dependency(file)
            made.append(self.section(page, entry))
        return made

    def section(self, page: Page, entry: Entry) -> nodes.section:
        """All about one function or class."""
        section = nodes.section(ids=[entry.path], names=[entry.path], classes=["tf-api-entry"])
        section += nodes.title("", entry.name)
        section += self.whereabouts(entry)
        called = escape(signature(entry.name, entry.thing))
        section += _raw(f'<pre class="tf-signature">{called}</pre>')
        text = self.docstring(entry.thing)
        section += text.summary
        if entry.equation:
            place = nodes.paragraph("", "Equation ", classes=["tf-api-place"])
            place += text.role("eq", entry.equation)
            section += Equation("", place, label=entry.equation)
        elif entry.twin:
            self.warn(f"{entry.path} names no equation")
        section += text.body()
        section += self.members(entry)
        section += self.example(page, entry)
        section += self.sources(entry)
        return section

    def whereabouts(self, entry: Entry) -> nodes.paragraph:
        """How it is imported, and a link to its twin."""
        line = nodes.paragraph(classes=["tf-whereabouts"])
        line += nodes.literal("", entry.path)
        if twin := entry.twin:
            line += nodes.Text(" · in PyTorch ")
            line += nodes.reference("", "", nodes.literal("", twin.path), refid=twin.path)
        return line

    def members(self, entry: Entry) -> Iterator[nodes.Node]:
        """The methods and properties of a class."""
        if not isinstance(entry.thing, type):
            return
        rows = nodes.definition_list(classes=["tf-entries"])
        for name, member in vars(entry.thing).items():
            inner = getattr(member, "__func__", getattr(member, "fget", member))
            if name.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
                continue
            called = name if isinstance(member, property) else signature(name, inner)
            text = self.docstring(inner)
            item = nodes.definition_list_item("", nodes.term("", "", nodes.literal("", called)))
            item += nodes.definition("", *text.summary, *text.body())
            rows += item
        if len(rows):
            yield nodes.paragraph("", "Methods and properties", classes=["tf-heading"])
            yield rows

    def example(self, page: Page, entry: Entry) -> Iterator[nodes.Node]:
        """Its example, as the tests run it."""
        found = examples(page.stem)
        if entry.name not in found.by_name:
            if not isinstance(entry.thing, type):
                self.warn(f"{entry.path} has no example")
            return
        needs = MODEL if entry.name in found.with_model else ""
        yield nodes.paragraph("", f"Example{needs}", classes=["tf-heading"])
        for kind, text in blocks(found.by_name[entry.name]):
            if kind == "code":
                yield _code(text)
            else:
                yield from self.docstring(None).paragraphs(text)

    def sources(self, entry: Entry) -> Iterator[nodes.Node]:
        """The folded source, and the notes and the source of the twin."""
        yield _raw(self.fold("Source", entry.thing))
        if twin := entry.twin:
            notes = self.docstring(twin.thing)
            yield _raw(self.opened("In PyTorch", twin.thing, twin.path))
            yield from notes.paragraphs(notes.parts.get("Notes", ""))
            yield _raw(self.listing(twin.thing))

    def fold(self, words: str, thing: Any) -> str:
        """A source behind a handle."""
        return self.opened(words, thing) + self.listing(thing)

    def opened(self, words: str, thing: Any, anchor: str = "") -> str:
        """The handle of a fold that is not closed yet."""
        _, file, first, last = source(thing)
        named = f' id="{anchor}"' if anchor else ""
        return (
            f'<details class="tf-source"{named}><summary>{words}: <code>{file}</code>, lines '
            f"{first} to {last}</summary>"
        )

    def listing(self, thing: Any) -> str:
        """A source, and what closes its fold; with a link to it if the book names a repository."""
        code, file, first, last = source(thing)
        code = "\n\n\n".join(filter(None, (code, helpers(thing))))
        url = _repository(Path(self.env.srcdir))
        link = f"{url}/blob/HEAD/{file}#L{first}-L{last}"
        more = f'<p><a href="{escape(link)}">In the repository</a></p>' if url else ""
        return (
            f'<div class="highlight"><pre tabindex="0">{coloured(code)}</pre></div>{more}</details>'
        )

    def warn(self, message: str) -> None:
        """What is missing: the build fails."""
        LOGGER.warning("library: %s", message, location=self.env.docname, type="book")


class AllOfTheLibrary(OfDocstrings):
    """`{all-of-the-library}`: for each page of the library a table of its functions and classes."""

    def run(self) -> list[nodes.Node]:
        """A section for each page."""
        return [self.section(page) for page in library(Path(self.env.srcdir))]

    def section(self, page: Page) -> nodes.section:
        """The title as a link to the page, and a row for each function or class."""
        uri = self.env.app.builder.get_relative_uri(self.env.docname, page.docname)
        section = nodes.section(ids=[f"api-{page.stem}"], classes=["tf-api-topic"])
        section += nodes.title("", "", nodes.reference("", page.title, refuri=uri, internal=True))
        group = nodes.tgroup("", nodes.colspec(colwidth=30), nodes.colspec(colwidth=70), cols=2)
        body = nodes.tbody()
        for entry in page.entries:
            self.env.note_dependency(inspect.getsourcefile(inspect.unwrap(entry.thing)) or "")
            body += self.row(entry)
        group += body
        section += nodes.table("", group, classes=["book-lines", "tf-functions"])
        return section

    def row(self, entry: Entry) -> nodes.row:
        """Name, first sentence and equation."""
        text = self.docstring(entry.thing)
        name = self.link(entry.path, nodes.literal("", entry.name)) or nodes.Text(entry.name)
        said = nodes.paragraph("", "", *text.inline(text.parts[""].partition("\n\n")[0]))
        if entry.equation:
            said += [nodes.Text(" "), text.role("eq", entry.equation)]
        cells = (nodes.paragraph("", "", name), said)
        return nodes.row("", *(nodes.entry("", cell) for cell in cells))


@cache
def _repository(root: Path) -> str:
    """The address that the book names; Jupyter Book gives its own to a book that names none."""
    told = yaml.safe_load((root / "_config.yml").read_text(encoding="utf-8"))
    return str(told.get("repository", {}).get("url", "")).rstrip("/")


def _raw(html: str) -> nodes.raw:
    return nodes.raw("", html, format="html")


def _code(text: str) -> nodes.literal_block:
    return nodes.literal_block(text, text, language="pycon")


def note(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the numbered equations of a page."""
    found = {x["label"]: x.astext() for x in doctree.findall(nodes.math_block) if x.get("label")}
    if found:
        app.env.metadata[app.env.docname][EQUATIONS] = found


def write_again(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages that show equations, if one of these has changed."""
    every = {name: kept[EQUATIONS] for name, kept in env.metadata.items() if EQUATIONS in kept}
    before = getattr(env, "library_equations", None)
    env.library_equations = every  # type: ignore[attr-defined]
    if before == every:
        return []
    return [page for page, kept in env.metadata.items() if SHOWS in kept]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Set each equation as its chapter does, and below it where it stands."""
    every = {
        label: (page, tex)
        for page, kept in app.env.metadata.items()
        for label, tex in kept.get(EQUATIONS, {}).items()
    }
    for place in list(doctree.findall(Equation)):
        if place["label"] not in every:
            LOGGER.warning("library: there is no %s", place["label"], location=docname, type="book")
            place.replace_self(place.children)
            continue
        page, tex = every[place["label"]]
        uri = app.builder.get_relative_uri(docname, page)
        where: Any = place.children[0]
        where += [
            nodes.Text(" of "),
            nodes.reference("", app.env.titles[page].astext(), refuri=uri),
        ]
        tex = STOP.sub("", tex)
        formula = nodes.math_block(tex, tex, number=None, nowrap=False)
        place.replace_self([formula, *place.children])


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_node(Equation)
    app.add_directive("library", Library)
    app.add_directive("all-of-the-library", AllOfTheLibrary)
    app.connect("doctree-read", note)
    app.connect("env-updated", write_again)
    app.connect("doctree-resolved", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
