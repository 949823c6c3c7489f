"""Sphinx extension: the list of all figures to touch, from the pages on which they stand.

`{figures-to-touch}` sets it. What a figure is for is the first line of its class; where it stands,
the page itself says when it is read. Quizzes are left out.
"""

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from myst_nb.sphinx_ import NbMetadataCollector
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from tformer_book.pipeline.notebook.numbering import pages
from tformer_book.widgets.base import WIDGET_STATE, WIDGET_VIEW, library_class
from tformer_book.widgets.quiz import Quiz

MODEL = re.compile(r'"model_id": ?"(\w+)"')
FIGURES, LIST = "figures_to_touch", "lists_figures_to_touch"


class Place(nodes.General, nodes.Element):
    """Where the list comes."""


class FiguresToTouch(SphinxDirective):
    """`{figures-to-touch}`: the list, here."""

    def run(self) -> list[nodes.Node]:
        """Keep its place until all pages have been read."""
        self.env.metadata[self.env.docname][LIST] = True
        return [Place()]


def note(app: Sphinx, doctree: nodes.document) -> None:
    """Remember the widgets of a page: the class of each, and id and title of its section."""
    scripts = NbMetadataCollector.get_js_files(app.env, app.env.docname).values()
    bodies = [kept["body"] for _, kept in scripts if kept.get("type") == WIDGET_STATE]
    states = {key: model for body in bodies for key, model in json.loads(body)["state"].items()}
    found = []
    for view in doctree.findall(nodes.raw):
        if WIDGET_VIEW not in view.astext() or not (model := MODEL.search(view.astext())):
            continue
        section: Any = view
        while not isinstance(section, nodes.section):
            section = section.parent
        name = states[model[1]]["state"].get("_anywidget_id", "")
        title = section.next_node(nodes.title)
        found.append((name, section["ids"][0], title.astext() if title else ""))
    if found:
        app.env.metadata[app.env.docname][FIGURES] = found


def write_again(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """The pages with the list: they are written anew whatever page has changed."""
    return [page for page, kept in env.metadata.items() if LIST in kept]


def fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Put the list in its place: for each page that has figures its title, and an item for each."""
    for place in list(doctree.findall(Place)):
        parts: list[nodes.Node] = []
        for page in (app.config.root_doc, *pages(Path(app.srcdir))):
            items = [*_items(app, docname, page)]
            if items:
                title = nodes.strong("", app.env.titles[page].astext())
                parts += [nodes.paragraph("", "", title), nodes.bullet_list("", *items)]
        place.replace_self(parts)


def _items(app: Sphinx, docname: str, page: str) -> list[nodes.list_item]:
    address = app.builder.get_relative_uri(docname, page)
    items = []
    for name, anchor, title in app.env.metadata[page].get(FIGURES, ()):
        figure = library_class(name)
        if figure is None or issubclass(figure, Quiz):
            continue
        link = nodes.reference("", title, refuri=f"{address}#{anchor}", internal=True)
        said = (figure.__doc__ or "").strip().partition("\n")[0]
        words = [
            nodes.emphasis("", word) if i % 2 else nodes.Text(word)
            for i, word in enumerate(said.split("*"))
        ]
        items.append(nodes.list_item("", nodes.paragraph("", "", link, nodes.Text(" – "), *words)))
    return items


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_node(Place)
    app.add_directive("figures-to-touch", FiguresToTouch)
    app.connect("doctree-read", note)
    app.connect("env-updated", write_again)
    app.connect("doctree-resolved", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
