"""Sphinx extension: the theme's style sheet without the rules that no page of the book can use."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from tformer.book.search import INDEX

THEME = "_static/styles/pydata-sphinx-theme.css"
NAMES = re.compile(r"""\s(?:class|id)=["']([^"']*)["']""")
WORD = re.compile(r"[A-Za-z_][\w-]*")
NOT_LOADED = {"fontawesome.js", "bootstrap.js", "searchtools.js", INDEX}  # or no code, but text
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
NEEDED = re.compile(r"[.#]((?:\\.|[\w-])+)")
COMMA = re.compile(r",(?![^(]*\))")  # of a list of selectors, not inside :is(…)
ICONS = re.compile(r"--fa-[\w-]+:[^;{}]*;?")  # variables of the theme's icon font, never loaded


def used_names(root: Path) -> set[str]:
    """Classes and ids of the built pages, and every word of their scripts, which may set some."""
    names: set[str] = set()
    for page in root.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        names.update(name for found in NAMES.findall(text) for name in found.split())
    for script in root.glob("_static/**/*.js"):
        if script.name not in NOT_LOADED:
            names.update(WORD.findall(script.read_text(encoding="utf-8")))
    return names


def trim(css: str, used: set[str]) -> str:
    """A style sheet without selectors that need a class or id which is not used."""
    kept = []
    for head, body in _blocks(ICONS.sub("", COMMENT.sub("", css))):
        if head.startswith(("@media", "@supports")):
            body = trim(body, used)
        elif head.startswith("@font-face"):
            body = "" if "Font Awesome" in body or "FontAwesome" in body else body
        elif not head.startswith("@"):
            selectors = COMMA.split(head)
            head = ",".join(one for one in selectors if used.issuperset(_needs(one)))
        if head and (body or head.startswith("@layer")):
            kept.append(f"{head}{{{body}}}" if body else f"{head};")
    return "".join(kept)


def _needs(selector: str) -> list[str]:
    # Of `:is(.a, .b)` one is enough, so only what stands outside of brackets is needed.
    while (plain := re.sub(r":[\w-]+\([^()]*\)", "", selector)) != selector:
        selector = plain
    return [name.replace("\\", "") for name in NEEDED.findall(selector)]


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    """Each rule as what stands before its brace and what stands in it."""
    depth = start = opened = 0
    for brace in re.finditer(r"[{};]", css):
        sign, at = brace[0], brace.start()
        if sign == "{":
            opened = at if depth == 0 else opened
            depth += 1
        elif sign == "}":
            depth -= 1
        if depth == 0 and sign != "{":
            head = css[start : opened if sign == "}" else at].strip()
            yield head, css[opened + 1 : at].strip() if sign == "}" else ""
            start = at + 1


def trim_theme(app: Sphinx, exception: Exception | None) -> None:
    """Trim the theme's style sheet in the built book; Sphinx copies it afresh for each build."""
    path = Path(app.outdir, THEME)
    if exception is None and app.builder.format == "html" and path.exists():
        css = trim(path.read_text(encoding="utf-8"), used_names(Path(app.outdir)))
        path.write_text(css, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Trim before the site is checked."""
    app.connect("build-finished", trim_theme, priority=700)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
