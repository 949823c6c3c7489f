"""How to teach a chapter: a plan in its folder, shown on the page for instructors.

`chapters/chNN/teach.toml` holds what a lecturer needs who has fifty minutes: a question to open,
two routes, questions to discuss, and misconceptions with what cures them. The directive
`{teach} NN` sets it as a section of a page.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

MINUTES = 50
ROUTES, QUESTIONS, MISCONCEPTIONS = 2, 5, 3
HOW = ("ask", "touch", "board", "slides", "run", "poll", "discuss", "close")
"""What happens in a part of a route: who works, and with what."""


@dataclass(frozen=True)
class Part:
    """Some minutes of a lecture: what happens, and how (one of HOW)."""

    minutes: int
    how: str
    what: str


@dataclass(frozen=True)
class Route:
    """One way through a chapter in fifty minutes, what it leaves out, and for whom it is."""

    name: str
    audience: str
    skips: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Plan:
    """What a chapter's `teach.toml` holds. All texts are Markdown.

    Attributes
    ----------
    opening : the question to open with.
    routes : two of them.
    discuss : pairs of a question and what to listen for in an answer; five or more.
    misconceptions : triples of what students say, why, and what cures it; three or more.
    """

    opening: str
    routes: tuple[Route, ...]
    discuss: tuple[tuple[str, str], ...]
    misconceptions: tuple[tuple[str, str, str], ...]


def plan(chapter: int) -> Plan:
    """The plan of a chapter.

    Raises
    ------
    FileNotFoundError
        If the chapter has none.
    ValueError
        If something is missing or a route does not fill its time; the message says what.
    """
    file = files("tformer.chapters") / f"ch{chapter:02d}" / "teach.toml"
    return read(tomllib.loads(file.read_text(encoding="utf-8")), f"chapter {chapter}")


def read(table: Mapping[str, Any], where: str) -> Plan:
    """A plan from a parsed file; `where` names it in messages. Raises ValueError as `plan` does."""
    try:
        made = Plan(
            opening=table["opening"],
            routes=tuple(
                Route(r["name"], r["audience"], r["skips"], tuple(Part(**p) for p in r["part"]))
                for r in table["route"]
            ),
            discuss=tuple((d["question"], d["listen"]) for d in table["discuss"]),
            misconceptions=tuple(
                (m["says"], m["because"], m["cure"]) for m in table["misconception"]
            ),
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"plan of {where}: {error} is missing or not known") from None
    for problem in _problems(made):
        raise ValueError(f"plan of {where}: {problem}")
    return made


def _problems(made: Plan) -> Iterator[str]:
    for what, found, least in (
        ("routes", len(made.routes), ROUTES),
        ("questions to discuss", len(made.discuss), QUESTIONS),
        ("misconceptions", len(made.misconceptions), MISCONCEPTIONS),
    ):
        if found < least:
            yield f"{found} {what}; there must be at least {least}"
    for route in made.routes:
        total = sum(part.minutes for part in route.parts)
        if total != MINUTES:
            yield f"the route '{route.name}' takes {total} minutes, not {MINUTES}"
        for part in route.parts:
            if part.how not in HOW:
                yield f"'{part.how}' is not one of {', '.join(HOW)}"
            if part.minutes < 1:
                yield f"a part of '{route.name}' takes {part.minutes} minutes"


def markdown(made: Plan) -> str:
    """The plan as MyST Markdown."""
    lines = [f"**Open with.** {made.opening}", ""]
    for route in made.routes:
        lines += [f"**Route: {route.name}.** {route.audience}", ""]
        lines += ["| from | minutes | | |", "|--:|--:|---|---|"]
        start = 0
        for part in route.parts:
            lines.append(
                f"| {start} | {part.minutes} | *{part.how}* | {' '.join(part.what.split())} |"
            )
            start += part.minutes
        lines += ["", f"*Left out:* {route.skips}", ""]
    lines += ["**To discuss.**", ""]
    for i, (question, listen) in enumerate(made.discuss, start=1):
        lines += [f"{i}. {_indented(question)} *Listen for:* {_indented(listen)}"]
    lines += ["", "**What students say, and what cures it.**", ""]
    for says, because, cure in made.misconceptions:
        lines += [f"“{says}”", f": {_indented(because)}", "", f"  {_indented(cure)}", ""]
    return "\n".join(lines)


def _indented(text: str) -> str:
    return " ".join(text.split())


class Teach(SphinxDirective):
    """`{teach} NN`: the plan of a chapter, here."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Read the plan and set it."""
        chapter = int(self.arguments[0])
        self.env.note_dependency(
            str(Path(str(files("tformer.chapters"))) / f"ch{chapter:02d}" / "teach.toml")
        )
        box = nodes.container(classes=["tf-plan"])
        text = StringList(markdown(plan(chapter)).splitlines())
        self.state.nested_parse(text, self.content_offset, box)
        return [box]


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("teach", Teach)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
