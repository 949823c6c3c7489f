"""Sphinx extension: the film of the row, a frame a chapter, from the numbers of its library.

`{film}` sets it. Each chapter that is here and has something to say of the sentence has a module
`film` with a function `frame`; others are left out.
"""

from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from tformer_book.chapters import load
from tformer_book.figures.strips import Frame
from tformer_book.pipeline.site.curriculum import pages, planned


def frames() -> dict[int, Frame]:
    """The frames by the numbers of their chapters."""
    found = {int(module.__name__.split(".")[-2][2:]): module.frame() for module in load("film")}
    return dict(sorted(found.items()))


def html(film: Mapping[int, Frame], links: Mapping[int, tuple[str, str]]) -> str:
    """The film as a list; `links` has address and name of each chapter by its number."""
    items, before = [], [""]
    for number, frame in film.items():
        address, name = links[number]
        names = [name for name, _ in frame.ends]
        ends = "".join(_end(frame, *end, again=names == before) for end in frame.ends)
        before = names
        items.append(
            f'<li><a href="{escape(address)}"><span>{number}</span> {escape(name)}</a>'
            f'<p>{escape(frame.seen)}<span class="from">{escape(frame.model)}</span></p>{ends}</li>'
        )
    return "\n".join(('<ol class="tf-film">', *items, "</ol>"))


def _end(frame: Frame, name: str, pair: Iterable[tuple[str, float]], again: bool) -> str:
    """An ending, whose name is not seen `again` where it is that of the frame before."""
    squares = "".join(
        f'<span class="{_look(frame, value)}" style="--share: {_share(frame, value):g}%">'
        f"{escape(noun)} <b>{frame.written(value)}</b></span>"
        for noun, value in pair
    )
    kind = "end again" if again else "end"
    return f'<div><span class="{kind}">{escape(name)}</span>{squares}</div>'


def _look(frame: Frame, value: float) -> str:
    return ("weight" if frame.weights else "number") + (" below" if value < 0 else "")


def _share(frame: Frame, value: float) -> float:
    return round(100 * min(1.0, abs(value) / frame.most), 1)


class Film(SphinxDirective):
    """`{film}`: the film, in HTML only."""

    def run(self) -> list[nodes.Node]:
        """Draw it with links to the pages that are here."""
        here = pages(self.env.found_docs)
        address = self.env.app.builder.get_relative_uri
        links = {
            one.number: (address(self.env.docname, here[one.number]), one.box)
            for one in planned()
            if one.number in here
        }
        film = {number: frame for number, frame in frames().items() if number in here}
        return [nodes.raw("", html(film, links), format="html")]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("film", Film)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
