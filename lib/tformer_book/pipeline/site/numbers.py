"""Sphinx extension: a chapter has the number that the name of its file begins with.

Sphinx counts the chapters that are there. Where some are still to come, the next would get theirs.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx_external_toc.collectors import TocTreeCollectorWithStyles as Collector

from tformer_book.pipeline.notebook.numbering import named


def renumber(env: BuildEnvironment) -> None:
    """Put the chapter's own number in front of all numbers of its pages, where they have any."""
    for page, numbers in env.toc_secnumbers.items():
        chapter = named(page)
        if chapter is None:
            continue
        env.toc_secnumbers[page] = {
            anchor: (chapter, *number[1:]) if number else number
            for anchor, number in numbers.items()
        }
        for node in (env.titles[page], *env.tocs[page].findall(nodes.reference)):
            if node.get("secnumber"):
                node["secnumber"] = [chapter, *node["secnumber"][1:]]


def setup(app: Sphinx) -> dict[str, Any]:
    """Come between counting sections and counting boxes, which Sphinx does in one step."""
    count = Collector.assign_section_numbers

    def assign(collector: Collector, env: BuildEnvironment) -> list[str]:
        before = env.toc_secnumbers
        count(collector, env)
        renumber(env)
        return [page for page, now in env.toc_secnumbers.items() if now != before.get(page)]

    Collector.assign_section_numbers = assign  # type: ignore[method-assign]
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
