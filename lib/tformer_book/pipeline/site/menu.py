"""Sphinx extension: the list of chapters beside the text, and the order in which pages follow.

A chapter is one line of the list: its main page, its deeper page, its exercises. *Next* goes along
the lines, so that *Previous* always leads back; a link of its own leads past the rest of a chapter.
The library is one link; its pages are listed below it on each of them.
"""

from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import yaml
from sphinx.application import Sphinx

from tformer_book.pipeline.notebook.numbering import SUFFIX, files, named
from tformer_book.pipeline.site.curriculum import planned
from tformer_book.pipeline.site.library import FOLDER

Lines = tuple[tuple[str, ...], ...]


@cache
def parts(root: Path) -> tuple[tuple[str, Lines], ...]:
    """The parts of the book, each a caption and its lines: pages whose files have one name.

    A line stands where its first page does, so nothing is left of a part of exercises.
    """
    toc = yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8"))
    listed = {
        part["caption"]: [page for entry in part["chapters"] for page in files(entry)]
        for part in toc["parts"]
    }
    lines: dict[str, list[str]] = {}
    for pages in listed.values():
        for page in pages:
            lines.setdefault(_stem(page), []).append(page)
    found = (
        (caption, tuple(tuple(lines.pop(_stem(p))) for p in pages if _stem(p) in lines))
        for caption, pages in listed.items()
    )
    return tuple((caption, kept) for caption, kept in found if kept)


def _stem(page: str) -> str:
    return Path(page).name.removesuffix(SUFFIX)


def neighbours(lines: Lines, page: str) -> tuple[str | None, str | None, str | None]:
    """The pages before and after one, and where the next line begins if that is another."""
    order = [one for line in lines for one in line]
    before, after, beyond = None, None, None
    for one, other in pairwise(order):
        before, after = one if other == page else before, other if one == page else after
    for line, following in pairwise(lines):
        if page in line[:-1]:
            beyond = following[0]
    return before, after, beyond


def show(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Hand the list and the neighbours of a page to its template."""
    all_parts = parts(Path(app.srcdir))
    root = cast(str, app.config.root_doc)
    lines: Lines = ((root,), *(line for _, part in all_parts for line in part))

    def link(page: str | None, text: str = "") -> dict[str, Any] | None:
        if page is None:
            return None
        title = app.env.titles[page].astext()
        if number := "".join(f"{n}. " for n in app.env.toc_secnumbers.get(page, {}).get("", ())):
            title = number + title
        href = app.builder.get_relative_uri(pagename, page) or "#"
        return {
            "link": href,
            "title": escape(title),
            "text": text or title,
            "here": page == pagename,
            "recorded": recorded(app, page),
        }

    def text(page: str, first: bool) -> str:
        if not first:
            return "deeper" if page.endswith(SUFFIX) else "exercises"
        return _short().get(named(page) or 0, "")

    context["recorded"] = recorded(app, pagename)
    context["book_parts"] = [
        {
            "caption": caption,
            "open": any(pagename in line for line in part),
            "folded": not part[0][0].startswith(FOLDER),
            "lines": [[link(page, text(page, page == line[0])) for page in line] for line in part],
        }
        for caption, part in all_parts
    ]
    if not any(part["open"] for part in context["book_parts"]):
        context["book_parts"][0]["open"] = True
    if any(pagename in line for line in lines):
        pages = neighbours(lines, pagename)
        context["prev"], context["next"], context["beyond"] = map(link, pages)


def recorded(app: Sphinx, page: str) -> str:
    """The name of a page if the reader's record speaks of it: it is read on, not looked up."""
    known = page in app.env.found_docs
    return page if known and app.env.doc2path(page).endswith(".ipynb") else ""


@cache
def _short() -> dict[int, str]:
    """The names of the chapters on the map, with their numbers."""
    return {chapter.number: f"{chapter.number} {chapter.box}" for chapter in planned()}


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("html-page-context", show)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
