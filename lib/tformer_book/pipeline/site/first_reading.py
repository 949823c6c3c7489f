"""Sphinx extension: `{first-reading}`, how long a page takes and what of it may wait.

The line stands below the title of the page, wherever the directive stands, and opens to a link to
each section; a section that may wait says so below its title.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tformer_book.pipeline.notebook.normalise import load
from tformer_book.pipeline.notebook.reading import CLOSING, path


class Line(nodes.General, nodes.Element):
    """A mark of the directive."""


class FirstReading(SphinxDirective):
    """`{first-reading}`: the line below the title; the body names the sections that may wait."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Leave a mark until the page's sections are known."""
        return [Line()]


def fill(app: Sphinx, doctree: nodes.document) -> None:
    """Put the line below the title, and mark the sections that may wait."""
    for line in list(doctree.findall(Line)):
        nb = load(Path(app.env.doc2path(app.env.docname)))
        core, rest, parts = path(nb)
        page = next(doctree.findall(nodes.section))
        below = [node for node in page.children if isinstance(node, nodes.section)]
        if len(below) != len(parts):
            raise LookupError(f"{app.env.docname}: {len(parts)} titles, {len(below)} sections")
        first: list[nodes.reference] = []
        late: list[nodes.reference] = []
        for part, section in zip(parts, below, strict=True):
            if part.waits:
                section.insert(1, _note(part.minutes))
            if part.title != CLOSING:
                (late if part.waits else first).append(_link(section))
        said = f"<strong>First reading</strong>: about {core} min"
        more = f"; {rest} more may wait" if late else ""
        ways = nodes.paragraph("", "", *_between(first), nodes.Text("."), classes=["tf-path"])
        if late:
            ways += [nodes.Text(" What may wait: "), *_between(late), nodes.Text(".")]
        line.parent.remove(line)
        page.insert(
            page.index(next(page.findall(nodes.title))) + 1,
            [
                _html(f'<details class="tf-path"><summary>{said}{more}</summary>'),
                ways,
                _html("</details>"),
            ],
        )


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def _note(minutes: float) -> nodes.paragraph:
    said = f"May wait for a second reading; about {max(1, round(minutes))} min."
    return nodes.paragraph("", said, classes=["tf-may-wait"])


def _link(section: nodes.section) -> nodes.reference:
    title = section.next_node(nodes.title)
    inside = [child.deepcopy() for child in title.children] if title else []
    return nodes.reference("", "", *inside, refid=section["ids"][0], internal=True)


def _between(links: list[nodes.reference]) -> list[nodes.Node]:
    found: list[nodes.Node] = []
    for link in links:
        found += [nodes.Text(" · "), link] if found else [link]
    return found


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.add_node(Line)
    app.add_directive("first-reading", FirstReading)
    app.connect("doctree-read", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
