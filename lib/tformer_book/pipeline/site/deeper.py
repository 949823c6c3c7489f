"""Sphinx extension: a deeper page counts its boxes with its chapter, and bears no numbers itself.

A page whose name ends in `_deeper` stands under its chapter in the table of contents. So its
theorems go on where the chapter's end. Its headings would be 1.11.1 and so on, which helps nobody.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from tformer_book.pipeline.notebook.numbering import SUFFIX


def drop_numbers(app: Sphinx, env: BuildEnvironment) -> None:
    """Take the numbers off the headings of deeper pages, once the boxes have been counted."""
    for name in env.found_docs:
        if name.endswith(SUFFIX):
            env.toc_secnumbers.pop(name, None)
    for contents in env.tocs.values():
        for reference in contents.findall(nodes.reference):
            if reference.get("refuri", "").endswith(SUFFIX):
                reference.attributes.pop("secnumber", None)


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("env-check-consistency", drop_numbers)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
