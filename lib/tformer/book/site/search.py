"""Sphinx extension: what the search page looks through, place by place, from the built pages."""

import itertools
import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tformer.book.site.formulas import APPLY

INDEX = "book-search.js"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
# Left out: what is drawn twice, what is no text, and code with its output.
SKIPPED_TAGS = {"script", "style", "svg", "button", "form", "summary"}
SKIPPED_CLASSES = {"katex-html", "headerlink", "cell", "eqno", "tf-program"}
# A formula is quoted if it reads in a line; else three dots stand for it.
STACKED = {"mfrac", "msqrt", "mroot", "msup", "msubsup", "mtable", "munder", "mover", "munderover"}


@dataclass
class Place:
    """Where a search can lead: a page, a section, a box or a term."""

    kind: str
    anchor: str = ""
    title: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


@dataclass
class _Open:
    """An element that has not ended yet."""

    tag: str
    place: Place | None = None
    title: bool = False
    skipped: bool = False
    math: list[str] | None = None
    stacked: bool = False


class Places(HTMLParser):
    """The places of one page, each with the text that is its own."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[Place] = []
        self._open: list[_Open] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Enter an element of the article."""
        if tag in VOID or not (self._open or tag == "article"):
            return
        has = {name: value or "" for name, value in attrs}
        classes = set(has.get("class", "").split())
        entered = _Open(tag, self._place(tag, has, classes))
        entered.title = tag in HEADINGS or tag == "dt" or "admonition-title" in classes
        entered.skipped = tag in SKIPPED_TAGS or bool(classes & SKIPPED_CLASSES)
        if tag == "math":
            entered.math = []
        elif tag in STACKED:
            for element in self._open:
                element.stacked = True
        self._open.append(entered)

    def _place(self, tag: str, has: dict[str, str], classes: set[str]) -> Place | None:
        if not (anchor := has.get("id", "")):
            return None
        if tag == "section":
            kind = "section" if self.found else "page"
        elif tag == "dt":
            kind = "term"
        elif "admonition" in classes and "exercise" not in classes:
            kind = "box"  # an exercise has the title of its section
        else:
            return None
        self.found.append(Place(kind, anchor))
        return self.found[-1]

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and what was left open in it."""
        if tag in VOID or not any(element.tag == tag for element in self._open):
            return
        while True:
            left = self._open.pop()
            if left.math is not None:
                self.handle_data("…" if left.stacked else "".join(left.math))
            if left.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        """Give text to the innermost place: a term keeps what follows it, its definition."""
        if not self._open or any(element.skipped for element in self._open):
            return
        if (math := self._open[-1].math) is None:
            math = next((e.math for e in self._open if e.math is not None), None)
        if math is not None:
            math.append(data.strip().replace(APPLY, ""))
            return
        places = [element.place for element in self._open if element.place]
        place = places[-1] if places else None
        if any(element.tag == "dd" for element in self._open) and self.found[-1].kind == "term":
            place = self.found[-1]
        if place:
            titled = any(element.title for element in self._open)
            begun = any(map(str.strip, place.text))
            (place.title if titled and not begun else place.text).append(data)


def entries(root: Path, pages: list[str]) -> list[list[str]]:
    """Address, kind, title, title of the page and text of each place of the built pages."""
    found: list[list[str]] = []
    for page in pages:
        here: list[list[str]] = []
        for place in Places((root / page).read_text(encoding="utf-8")).found:
            title, text = (" ".join("".join(part).split()) for part in (place.title, place.text))
            address = page if place.kind == "page" else f"{page}#{place.anchor}"
            here.append([address, place.kind, title, here[0][2] if here else title, text])
        for word, following in itertools.pairwise(here):
            if word[1] == "term" and not word[4]:  # two words for one thing
                word[4] = following[4]
        found += here
    return found


def write_index(app: Sphinx, exception: Exception | None) -> None:
    """Write the index beside the pages, as a script: a page from a file may load nothing else."""
    if exception is not None or app.builder.format != "html":
        return
    root = Path(app.outdir)
    pages = [f"{name}.html" for name in sorted(app.env.found_docs)]
    text = json.dumps(entries(root, pages), ensure_ascii=False, separators=(",", ":"))
    (root / "_static" / INDEX).write_text(f"globalThis.BOOK = {text};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Write the index before the links of the site are checked."""
    app.connect("build-finished", write_index, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
