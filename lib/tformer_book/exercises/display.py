"""What `check`, `hint` and `progress` say: plain text, and in a notebook HTML with code as code."""

from __future__ import annotations

import re
import sys
import textwrap
from html import escape
from typing import Any

WIDTH = 64
KEY = "tformer"
CODE = re.compile(r"`([^`]+)`|\b(hint\(\"[\d.]+\"(?:, \d)?\))|(?<![\w.])([A-Za-z]\w*_\w{2,})\b")
COLOURS = {  # of JupyterLab, of the page, and of whatever else shows a notebook
    True: "var(--jp-success-color1, var(--book-definition, #17705f))",
    False: "var(--jp-warn-color1, var(--book-warning, #a8410f))",
    None: "var(--jp-border-color1, var(--book-line, #8a8f96))",
}
VERBS = "changes|ended|is called|is still|returned|returns|stopped|was still"
BOX = "border-left: 3px solid {}; padding: 0.1em 0 0.1em 0.8em; max-width: 44em; line-height: 1.5"


def in_notebook() -> bool:
    """Whether somebody looks on: a shell of IPython that shows things."""
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None


def tell(plain: str, html: str, **record: Any) -> None:
    """Show HTML in a notebook, with `record` in the metadata of the output; elsewhere print."""
    if not in_notebook():
        print(plain)  # noqa: T201
        return
    from IPython.display import display

    told = {"text/plain": plain, "text/html": html}
    display(told, raw=True, metadata={KEY: record} if record else {})


def boxed(head: str, text: str, more: str = "", correct: bool | None = None) -> str:
    """A verdict or a hint as HTML: what it begins with in bold, code set as code."""
    style, rest = BOX.format(COLOURS[correct]), f"<br>{coded(more)}" if more else ""
    return f'<div style="{style}"><strong>{escape(head)}</strong> {coded(text)}{rest}</div>'


def with_name(text: str, function: Any) -> str:
    """A complaint with the name of the answer between backticks where it is plainly meant."""
    name = re.escape(getattr(function, "__name__", "") or "-")
    meant = rf"(?<=answer of ){name}\b|(?<![`\w]){name}(?= (?:{VERBS})\b)"
    return re.sub(meant, r"`\g<0>`", text)


def coded(text: str) -> str:
    """Text as HTML, with what stands between backticks, calls of `hint` and long names as code."""
    parts, end = [], 0
    for found in CODE.finditer(text):
        code = found[1] or found[2] or found[3]
        parts += [escape(text[end : found.start()]), f"<code>{escape(code)}</code>"]
        end = found.end()
    return "".join([*parts, escape(text[end:])])


def wrapped(text: str) -> str:
    """Break text into lines that fit a narrow notebook, not inside numbers or short code."""
    joined = re.sub(r"(?<=[\d∞n]), (?=[\d−∞n])", ",\0", text)
    joined = re.sub(r"`[^`]{1,40}`", lambda code: code[0].replace(" ", "\0"), joined)
    lines = textwrap.fill(joined, WIDTH, break_long_words=False, break_on_hyphens=False)
    return lines.replace("\0", " ")
