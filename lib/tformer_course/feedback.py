"""Feedback as one page of HTML that asks nothing of any other machine.

What a student wrote is shown as text; formulas are MathML, which browsers set themselves.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import escape
from importlib.resources import files
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin
from nbconvert.exporters import Exporter
from nbformat import NotebookNode
from nbgrader.converters import GenerateFeedback
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from tformer_book.exercises.display import coded
from tformer_book.pipeline.site.formulas import MATHML, TYPESETTER
from tformer_course.bounded import bounded
from tformer_course.intake import EXCHANGED
from tformer_course.submission import NOTE

HEADING = re.compile(r"^#+[ \t]+(.+)$", re.MULTILINE)
SECONDS = 20.0  # to make a page
STYLE = (files("tformer_course") / "feedback.css").read_text(encoding="utf-8")
LIGHT, DARK = (HtmlFormatter(style=name).get_style_defs("pre") for name in ("default", "monokai"))


class Feedback(Exporter):
    """Writes a graded notebook as a page."""

    file_extension = ".html"

    def from_notebook_node(self, nb: NotebookNode, resources: Any = None, **kw: Any) -> Any:
        """Return the page, and what belongs to it."""
        nb, resources = super().from_notebook_node(nb, resources, **kw)
        resources["output_extension"] = self.file_extension
        about = resources["nbgrader"]
        if isinstance(self.parent, GenerateFeedback):
            only_ours(Path(self.parent._format_dest(about["assignment"], about["student"])))
        told = bounded(lambda tell: tell(page=page(nb, about)), SECONDS)
        return told.get("page") or page(nb, about, plain=True), resources


def only_ours(folder: Path) -> None:
    """Take from a folder of feedback what nbgrader copied there from a submission."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif path.name not in EXCHANGED:
            path.unlink()


def page(notebook: NotebookNode, about: dict[str, Any], plain: bool = False) -> str:
    """Return the page of a notebook that bears its marks.

    Parameters
    ----------
    notebook : NotebookNode
        Its cells, with scores as nbgrader's GetGrades writes them.
    about : dict
        The names of the assignment and the student, the sum of the marks and what was possible.
    plain : bool
        Show every cell as it was typed: nothing in it can make that slow.
    """
    title = f"{about['notebook']}, {about['student']}"
    style = LIGHT + STYLE.replace("%s", DARK)
    body = "\n".join([_marks(notebook, about), *(_cell(cell, plain) for cell in notebook.cells)])
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n<body>\n<h1>{escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _marks(notebook: NotebookNode, about: dict[str, Any]) -> str:
    rows = [
        f'<tr><td><a href="#{escape(grade["grade_id"])}">{escape(name)}</a></td>'
        f"<td>{grade.get('score') or 0:g} of {grade['points']:g}</td></tr>"
        for name, grade in _graded(notebook)
    ]
    late = about.get("late_penalty") or 0
    if late:
        rows.append(f"<tr><td>handed in late</td><td>−{late:g}</td></tr>")
    total = f"{about['score']:g} of {about['max_score']:g}"
    rows.append(f"<tr><th>together</th><th>{total}</th></tr>")
    return f'<table class="marks">{"".join(rows)}</table>'


def _graded(notebook: NotebookNode) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each graded cell the heading above it, or its number, and its marks."""
    heading = ""
    for cell in notebook.cells:
        if cell.cell_type == "markdown" and (found := HEADING.search(cell.source)):
            heading = found[1]
        grade = cell.metadata.get("nbgrader", {})
        if grade.get("grade"):
            number = grade["grade_id"].removeprefix("check-").replace("-", ".")
            yield heading if heading.startswith(f"{number} ") else number, grade


def _cell(cell: NotebookNode, plain: bool) -> str:
    about = cell.metadata.get("nbgrader", {})
    if plain and not about.get("grade"):
        return f"<pre>{escape(cell.source)}</pre>"
    if cell.cell_type == "markdown":
        text = MARKDOWN.render(cell.source)
        return f'<div class="note">{text}</div>' if cell.id == NOTE else str(text)
    if about.get("grade"):
        return _said(cell, about)
    code = f"<pre>{highlight(cell.source, PythonLexer(), HtmlFormatter(nowrap=True))}</pre>"
    comment = about.get("comment")
    return code + (MARKDOWN.render(f"**Comment.** {comment}") if comment else "")


def _said(cell: NotebookNode, about: dict[str, Any]) -> str:
    """Return what the check said, with its code set as code."""
    texts = [o.get("evalue") or o.get("text", "") for o in cell.get("outputs", [])]
    words = " ".join(" ".join(texts).split())
    right = all(o.output_type != "error" for o in cell.get("outputs", []))
    points = f"{about.get('score') or 0:g} of {about['points']:g}"
    return (
        f'<p class="said{" right" * right}" id="{escape(about["grade_id"])}">'
        f"{'✓' if right else '✗'} {coded(words)} <b>({points})</b></p>"
    )


def _formula(tex: str, options: dict[str, Any]) -> str:
    try:
        found = MATHML.search(TYPESETTER.html(tex, bool(options.get("display_mode"))))
    except ValueError:
        found = None
    return found[0] if found else f"<code>{escape(tex)}</code>"


MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
MARKDOWN.use(dollarmath_plugin, renderer=_formula)
