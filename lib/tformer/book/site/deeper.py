"""Sphinx extension: a deeper page counts its boxes with its chapter, and bears no numbers itself.

A page whose name ends in `_deeper` stands under its chapter in the table of contents. So its
theorems go on where the chapter's end. Its headings would be 1.11.1 and so on, which helps nobody.
"""

from html import escape
from typing import Any, cast

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.builders.html import StandaloneHTMLBuilder
from sphinx.environment import BuildEnvironment

from tformer.book.notebook.numbering import SUFFIX


def drop_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    """Take the numbers off the headings of deeper pages, once the boxes have been counted."""
    for name in env.found_docs:
        if name.endswith(SUFFIX):
            env.toc_secnumbers.pop(name, None)
    for contents in env.tocs.values():
        for reference in contents.findall(nodes.reference):
            if reference.get("refuri", "").endswith(SUFFIX):
                reference.attributes.pop("secnumber", None)


def go_on_to_chapter(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let *next* on a main page lead to the next chapter: the text leads to the deeper page."""
    relations = cast(StandaloneHTMLBuilder, app.builder).relations
    following = relations.get(pagename, [None] * 3)[2]
    if following is None or not following.endswith(SUFFIX):
        return
    after = relations[following][2]
    if after is None:
        context["next"] = None
        return
    number = "".join(f"{n}. " for n in app.env.toc_secnumbers.get(after, {}).get("", ()))
    title = escape(number + app.env.titles[after].astext())
    context["next"] = {"link": app.builder.get_relative_uri(pagename, after), "title": title}


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("env-check-consistency", drop_numbers)
    app.connect("html-page-context", go_on_to_chapter)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
