"""Sphinx extension: the theme's style sheet without the rules that no page of the book can use."""

import itertools
import re
from pathlib import Path
from typing import Any

import tinycss2
from sphinx.application import Sphinx

from tformer_book.pipeline.site.search import INDEX

THEME = "_static/styles/pydata-sphinx-theme.css"
NAMES = re.compile(r"""\s(?:class|id)=["']([^"']*)["']""")
WORD = re.compile(r"[A-Za-z_][\w-]*")
NOT_LOADED = {"fontawesome.js", "bootstrap.js", "searchtools.js", INDEX}  # or no code, but text


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


def trim(css: str | list[Any], used: set[str]) -> str:
    """A style sheet without selectors that need a class or id which is not used.

    Nor has it comments, or anything of the theme's icon font, which no page loads.
    """
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    return "".join(_kept(rule, used) for rule in rules)


def _kept(rule: Any, used: set[str]) -> str:
    """What is left of a rule."""
    if rule.type == "qualified-rule":
        chosen = [one for one in _split(rule.prelude, ",") if used.issuperset(_needs(one))]
        head = ",".join(tinycss2.serialize(one).strip() for one in chosen)
    else:
        head = f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude).rstrip()}"
        if rule.content is None:
            return f"{head};"
        if head == "@font-face" and "Awesome" in tinycss2.serialize(rule.content):
            return ""
    if head.startswith(("@media", "@supports")):
        body = trim(rule.content, used)
    else:
        texts = [tinycss2.serialize(one).strip() for one in _split(rule.content, ";")]
        body = ";".join(text for text in texts if text and not text.startswith("--fa-"))
    return f"{head}{{{body}}}" if head and body else ""


def _split(nodes: list[Any], sign: str) -> list[list[Any]]:
    """The parts of a list between signs; what stands in brackets is one node."""
    parts: list[list[Any]] = [[]]
    for node in nodes:
        if node == sign:
            parts.append([])
        elif node.type != "comment":
            parts[-1].append(node)
    return parts


def _needs(selector: list[Any]) -> set[str]:
    # Of `:is(.a, .b)` one is enough, so only what stands outside of brackets is needed.
    pairs = itertools.pairwise(selector)
    classes = {name.value for dot, name in pairs if dot == "." and name.type == "ident"}
    return classes | {node.value for node in selector if node.type == "hash"}


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
