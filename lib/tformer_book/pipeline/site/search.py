"""Sphinx extension: what the search page looks through, place by place, from the built pages."""

import itertools
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tformer_book.pipeline.site.formulas import APPLY

INDEX = "book-search.js"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
# Where one of these begins or ends, so does a word.
BLOCKS = {*HEADINGS, "p", "div", "section", "li", "dt", "dd", "td", "th", "br", "details", "figure"}
# Left out: what is drawn twice, what is no text, and code with its output; but of code that is
# shown the names are kept, as the classes of its colours tell them.
SKIPPED_TAGS = {"script", "style", "svg", "button", "form", "summary"}
SKIPPED_CLASSES = {"katex-html", "headerlink", "cell", "eqno", "tf-program"}
# On the pages of the library names are titles, so nothing of their code has to be found.
SKIPPED_CLASSES |= {"tf-signature", "tf-source", "tf-raises", "tf-whereabouts", "tf-heading"}
SKIPPED_CLASSES |= {"tf-functions", "highlight-pycon"}
SHOWN = {"cell_input", "highlight-python", "tf-program"}
NAME = re.compile(r"[A-Za-z_]\w+")
NAMED = {"n", "na", "nc", "nf", "nn"}
# A formula is quoted if it reads in a line; else three dots stand for it.
STACKED = {"mfrac", "msqrt", "mroot", "msup", "msubsup", "mtable", "munder", "mover", "munderover"}


@dataclass
class Place:
    """Where a search can lead: a page, a section, a box, a term or a function of the library."""

    kind: str
    anchor: str = ""
    title: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)


@dataclass
class _Open:
    """An element that has not ended yet."""

    tag: str
    place: Place | None = None
    title: bool = False
    skipped: bool = False
    named: bool = False
    shown: bool = False
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
        if tag in BLOCKS:
            self.handle_data(" ")
        if tag in VOID or not (self._open or tag == "article"):
            return
        has = {name: value or "" for name, value in attrs}
        classes = set(has.get("class", "").split())
        entered = _Open(tag, self._place(tag, has, classes))
        place = self._innermost()
        boxed = "admonition-title" in classes and place is not None and place.kind == "box"
        entered.title = tag in HEADINGS or tag == "dt" or boxed
        entered.named = tag == "pre" or (tag == "span" and bool(classes & NAMED))
        entered.shown = bool(classes & SHOWN)
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
            kind = "function" if anchor.startswith("tformer.") else kind
        elif tag == "dt":
            kind = "term"
        elif "admonition" in classes and "exercise" not in classes:
            kind = "box"  # an exercise has the title of its section
        else:
            return None
        self.found.append(Place(kind, anchor))
        return self.found[-1]

    def _innermost(self) -> Place | None:
        return next((element.place for element in reversed(self._open) if element.place), None)

    def handle_endtag(self, tag: str) -> None:
        """Leave an element, and what was left open in it."""
        if tag in VOID or not any(element.tag == tag for element in self._open):
            return
        if tag in BLOCKS:
            self.handle_data(" ")
        while True:
            left = self._open.pop()
            if left.math is not None:
                self.handle_data("…" if left.stacked else "".join(left.math))
            if left.tag == tag:
                return

    def handle_data(self, data: str) -> None:
        """Give text to the innermost place: a term keeps what follows it, its definition."""
        place = self._innermost()
        if not self._open or any(element.skipped for element in self._open):
            if place and self._open[-1].named and any(element.shown for element in self._open):
                place.code += NAME.findall(data)
            return
        if (math := self._open[-1].math) is None:
            math = next((e.math for e in self._open if e.math is not None), None)
        if math is not None:
            math.append(data.strip().replace(APPLY, ""))
            return
        if any(element.tag == "dd" for element in self._open) and self.found[-1].kind == "term":
            place = self.found[-1]
        if place:
            titled = any(element.title for element in self._open)
            begun = any(map(str.strip, place.text))
            (place.title if titled and not begun else place.text).append(data)


def entries(root: Path, pages: list[str]) -> list[list[str]]:
    """Address, kind, title and title of the page, of each place of the built pages, its text, and
    the names in its code."""
    found: list[list[str]] = []
    for page in pages:
        here: list[list[str]] = []
        for place in Places((root / page).read_text(encoding="utf-8")).found:
            title, text = (" ".join("".join(part).split()) for part in (place.title, place.text))
            address = page if place.kind == "page" else f"{page}#{place.anchor}"
            names = " ".join(dict.fromkeys(place.code))
            here.append([address, place.kind, title, here[0][2] if here else title, text, names])
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
