"""Sphinx extension: BibTeX that a click copies, of the book and of each reference.

`{cite-the-book}` sets the button of the book, from `CITATION.cff`. That of a reference has its
entry of `references.bib`, without the note, which says what this book cites it for.
"""

import re
from html import escape
from pathlib import Path
from typing import Any, cast

import yaml
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

ENTRY = re.compile(r"^@\w+\{(\w+),\n.*?^\}$", re.MULTILINE | re.DOTALL)
NOTE = re.compile(r"^ *note *= .*\n", re.MULTILINE)
KEY = "executable_transformer"


def of_references(text: str) -> dict[str, str]:
    """The entries of a file of BibTeX by their keys, without their notes.

    Parameters
    ----------
    text : the file, each entry from `@kind{key,` to a line of one brace, each field on a line.
    """
    return {found[1]: NOTE.sub("", found[0]) for found in ENTRY.finditer(text)}


def of_the_book(citation: dict[str, Any], year: str) -> str:
    """An entry for the book.

    Parameters
    ----------
    citation : what `CITATION.cff` holds.
    year : used if the file has no `date-released`.
    """
    authors = " and ".join(f"{{{author['name']}}}" for author in citation["authors"])
    fields = {
        "author": authors,
        "title": citation["title"],
        "year": str(citation.get("date-released", year))[:4],
        "note": f"Version {citation['version']}",
        "url": citation.get("url", ""),
    }
    lines = [f"  {name:<6} = {{{value}}}," for name, value in fields.items() if value]
    return "\n".join([f"@misc{{{KEY},", *lines, "}"])


def button(entry: str, words: str, of: str) -> nodes.raw:
    """A button that copies an entry; readers without scripts do not see it."""
    html = (
        f'<button class="book-bibtex pst-js-only" type="button" data-bibtex="{escape(entry)}"'
        f' aria-label="{escape(f"{words} of {of}")}" aria-live="polite">{words}</button>'
    )
    return nodes.raw("", html, format="html")


class CiteTheBook(SphinxDirective):
    """`{cite-the-book}`: a button that copies the entry of the book."""

    def run(self) -> list[nodes.Node]:
        """Make it."""
        path = Path(self.env.srcdir, "CITATION.cff")
        self.env.note_dependency(str(path))
        entry = of_the_book(yaml.safe_load(path.read_text("utf-8")), self.config.copyright)
        return [nodes.paragraph("", "", button(entry, "Copy BibTeX", "the book"))]


class CiteReferences(SphinxPostTransform):
    """A button at the end of each reference."""

    default_priority = 402
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Find the key of each citation, and its entry."""
        citations = list(self.document.findall(nodes.citation))
        if not citations:
            return
        domain = cast(Any, self.env.get_domain("cite"))
        keys = {one.citation_id: (one.key, one.formatted_entry.label) for one in domain.citations}
        entries: dict[str, str] = {}
        for file in domain.bibdata.bibfiles:
            entries |= of_references(Path(file).read_text(encoding="utf-8"))
        for citation in citations:
            for name in set(citation["ids"]) & set(keys):
                key, label = keys[name]
                last = list(citation.findall(nodes.paragraph))[-1]
                last += [nodes.Text(" "), button(entries[key], "BibTeX", label)]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive and the transform."""
    app.add_directive("cite-the-book", CiteTheBook)
    app.add_post_transform(CiteReferences)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
