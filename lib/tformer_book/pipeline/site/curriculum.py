"""Sphinx extension: which chapter needs which, as a map and as a table.

`curriculum.toml` has the plan of the whole book. A chapter is here as soon as its page is: then
its box is solid, and box and line are links. The directives `{map-of-chapters}` and
`{table-of-chapters}` set them on a page.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from html import escape
from importlib.resources import files
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

COLUMNS = (46.0, 135.0, 179.5, 224.0, 313.0)
"""Middles of the boxes; a box in the third stands between the second and the fourth."""
WIDTH, HEIGHT, ROW, EDGE = 84, 44, 76, 4
PAGE = re.compile(r"chapters/(\d\d)_\w+?(?<!_deeper)")
"""The name of a main page; chapters count from 1, what comes before them has 00."""


@dataclass(frozen=True)
class Planned:
    """A chapter of the plan, here or to come.

    Attributes
    ----------
    number, title, part : as on its page.
    builds_on : numbers of the chapters it needs directly.
    at : column and row of its box on the map.
    box : its name there.
    around : by the number of a chapter it builds on, the path of an edge that must go round a box.
    """

    number: int
    title: str
    part: str
    builds_on: tuple[int, ...]
    at: tuple[int, int]
    box: str
    around: Mapping[str, str] = field(default_factory=dict)

    @property
    def corner(self) -> tuple[float, float]:
        """Upper left corner of the box, in units of the map."""
        return COLUMNS[self.at[0]] - WIDTH / 2, EDGE + ROW * self.at[1]


def planned() -> tuple[Planned, ...]:
    """All chapters of the plan, in order."""
    text = (files("tformer_book.pipeline.site") / "curriculum.toml").read_text(encoding="utf-8")
    listed = [
        (part["title"], row) for part in tomllib.loads(text)["part"] for row in part["chapter"]
    ]
    return tuple(
        Planned(
            number=number,
            title=row["title"],
            part=part,
            builds_on=tuple(row["builds_on"]),
            at=tuple(row["at"]),
            box=row.get("box", row["title"]),
            around=row.get("around", {}),
        )
        for number, (part, row) in enumerate(listed, start=1)
    )


def pages(names: Iterable[str]) -> dict[int, str]:
    """The main pages among the names of documents, by the number of their chapter."""
    found = ((PAGE.fullmatch(name), name) for name in names)
    return {int(match[1]): name for match, name in found if match and int(match[1])}


def svg(chapters: Iterable[Planned], links: Mapping[int, str]) -> str:
    """The map; `links` are the addresses of the chapters that are here, by their number."""
    chapters = tuple(chapters)
    by_number = {chapter.number: chapter for chapter in chapters}
    edges = [
        f'<path class="edge" d="{chapter.around.get(str(n)) or _edge(by_number[n], chapter)}"/>'
        for chapter in chapters
        for n in chapter.builds_on
    ]
    boxes = [_box(chapter, links.get(chapter.number)) for chapter in chapters]
    right = COLUMNS[-1] + WIDTH / 2 + 17
    bottom = max(chapter.corner[1] for chapter in chapters) + HEIGHT + EDGE
    title = "Map of the chapters: an arrow leads to a chapter from each that it builds on"
    arrow = '<marker id="book-arrow" viewBox="0 0 8 8" refX="5" refY="4" markerWidth="6"'
    arrow += ' markerHeight="6" orient="auto"><path d="M0 0L8 4L0 8z"/></marker>'
    return "\n".join(
        (
            f'<svg class="tf-chapters" viewBox="0 0 {right:g} {bottom:g}" role="group"'
            f' aria-label="{title}" xmlns="http://www.w3.org/2000/svg">',
            f"<defs>{arrow}</defs>",
            *edges,
            *boxes,
            "</svg>",
        )
    )


def _edge(start: Planned, end: Planned) -> str:
    """A curve from the foot of a box to the head of one further down."""
    (x, top), (to_x, foot) = start.corner, end.corner
    x, to_x, y, to_y = x + WIDTH / 2, to_x + WIDTH / 2, top + HEIGHT, foot - 4
    middle = (y + to_y) / 2
    return f"M{x:g} {y:g}C{x:g} {middle:g} {to_x:g} {middle:g} {to_x:g} {to_y:g}"


def _box(chapter: Planned, link: str | None) -> str:
    x, y = chapter.corner
    middle = x + WIDTH / 2
    inside = (
        f'<rect x="{x:g}" y="{y:g}" width="{WIDTH}" height="{HEIGHT}" rx="6"/>'
        f'<text class="n" x="{middle:g}" y="{y + 18:g}">{chapter.number}</text>'
        f'<text x="{middle:g}" y="{y + 35:g}">{escape(chapter.box)}</text>'
    )
    if link is None:
        return f'<g class="later">{inside}</g>'
    return f'<a class="here" href="{escape(link)}">{inside}</a>'


def markdown(chapters: Iterable[Planned], here: Mapping[int, str]) -> str:
    """The table, as MyST Markdown; `here` names the pages of the chapters that are here."""
    lines, part = ["| Chapter | Title | Builds on |", "| ---: | --- | --- |"], ""
    for chapter in chapters:
        if chapter.part != part:
            part = chapter.part
            lines.append(f"| | **{part}** | |")
        title = chapter.title
        if chapter.number in here:
            title = f"{{doc}}`{title} </{here[chapter.number]}>`"
        needs = ", ".join(map(str, chapter.builds_on)) or "nothing"
        lines.append(f"| {chapter.number} | {title} | {needs} |")
    return "\n".join(lines)


class MapOfChapters(SphinxDirective):
    """`{map-of-chapters}`: the map, in HTML only."""

    def run(self) -> list[nodes.Node]:
        """Draw it with links to the pages that are here."""
        self.env.note_dependency(str(files("tformer_book.pipeline.site") / "curriculum.toml"))
        address = self.env.app.builder.get_relative_uri
        links = {
            n: address(self.env.docname, page) for n, page in pages(self.env.found_docs).items()
        }
        return [nodes.raw("", svg(planned(), links), format="html")]


class TableOfChapters(SphinxDirective):
    """`{table-of-chapters}`: the same in words."""

    def run(self) -> list[nodes.Node]:
        """Set the table with links to the pages that are here."""
        self.env.note_dependency(str(files("tformer_book.pipeline.site") / "curriculum.toml"))
        text = StringList(markdown(planned(), pages(self.env.found_docs)).splitlines())
        place = nodes.container()
        self.state.nested_parse(text, self.content_offset, place)
        return place.children


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directives."""
    app.add_directive("map-of-chapters", MapOfChapters)
    app.add_directive("table-of-chapters", TableOfChapters)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
