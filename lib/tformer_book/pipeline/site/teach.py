"""How to teach a chapter: a plan in its folder, shown on the page for instructors.

`chapters/chNN/teach.toml` holds what a lecturer needs who has fifty minutes: a question to open,
two routes, questions to discuss, and misconceptions with what cures them. The directive
`{teach} NN` sets it as a section of a page. The main page of the chapter is handed its routes, so
that its slides can follow one of them; a place that a route names and the page lacks is a warning.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from tformer_book.pipeline.notebook.numbering import SUFFIX, named

LOGGER = logging.getLogger(__name__)

MINUTES = 50
ROUTES, QUESTIONS, MISCONCEPTIONS = 2, 5, 3
HOW = ("ask", "touch", "board", "slides", "run", "poll", "discuss", "close")
"""What happens in a part of a route: who works, and with what."""
OPENING = "00_whole_machine"
"""The page whose plan is in ch00; other pages have no chapter's number."""
NAMED = re.compile(r"\{(prf:ref|numref|eq)\}`([\w-]+)`|\*([\w-]+)\*")
ID = re.compile(r'\bid="([^"]+)"')


@dataclass(frozen=True)
class Part:
    """Some minutes of a lecture: what happens, and how (one of HOW).

    `at` says what is on the screen meanwhile: places of the main page, in order. A place is the
    label of a statement, figure or equation, the name of a quiz question, the anchor of a section
    or `opening`, the first of them. `+` after a statement adds its proof; `/touch`, `/code`,
    `/list` or `/*` after a section names what is in it up to the next heading, and `/code-2` the
    second piece of code. Without `at` they are those that `what` refers to.
    """

    minutes: int
    how: str
    what: str
    at: tuple[str, ...] = ()

    def places(self, questions: Collection[str]) -> list[str]:
        """What is on the screen; `questions` are the names of the chapter's quiz."""
        found = list(self.at)
        for role, label, word in () if found else NAMED.findall(self.what):
            if label:
                found.append(f"{label}+" if (self.how, role) == ("board", "prf:ref") else label)
            elif word in questions:
                found.append(word)
        return [f"equation-{place}" if place.startswith("eq-") else place for place in found]


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
    file = files("tformer_book.chapters") / f"ch{chapter:02d}" / "teach.toml"
    return read(tomllib.loads(file.read_text(encoding="utf-8")), f"chapter {chapter}")


def read(table: Mapping[str, Any], where: str) -> Plan:
    """A plan from a parsed file; `where` names it in messages. Raises ValueError as `plan` does."""
    try:
        made = Plan(
            opening=table["opening"],
            routes=tuple(
                Route(r["name"], r["audience"], r["skips"], tuple(map(_part, r["part"])))
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


def _part(table: Mapping[str, Any]) -> Part:
    return Part(**{**table, "at": tuple(table.get("at", ()))})


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


def questions(chapter: int) -> list[str]:
    """The names of a chapter's quiz questions."""
    file = files("tformer_book.chapters") / f"ch{chapter:02d}" / "quiz.toml"
    return [one["id"] for one in tomllib.loads(file.read_text(encoding="utf-8"))["question"]]


def slides(made: Plan, asked: Collection[str]) -> list[dict[str, Any]]:
    """Each route as its slides need it: its name, and of each part minutes, how and places."""
    return [
        {"name": r.name, "parts": [[p.minutes, p.how, p.places(asked)] for p in r.parts]}
        for r in made.routes
    ]


def lost(made: Plan, asked: Collection[str], body: str) -> Iterator[str]:
    """What is wrong with the routes on a page: parts that show nothing, places it does not have."""
    there = {"opening", *asked, *ID.findall(body)}
    for route in slides(made, asked):
        for minutes, how, places in route["parts"]:
            if not places:
                yield f"a part of '{route['name']}' shows nothing: {how}, {minutes} minutes"
            for place in places:
                if place.partition("/")[0].rstrip("+") not in there:
                    yield f"the route '{route['name']}' names '{place}', which is not on this page"


def chapter_of(page: str) -> int | None:
    """The chapter whose main page this is."""
    main = page.startswith("chapters/") and not page.endswith(SUFFIX)
    number = named(page) if main else None
    return None if number == 0 and not page.endswith(OPENING) else number


def markdown(made: Plan, page: str) -> str:
    """The plan as MyST Markdown, with links to the slides of each route on its page."""
    lines = [f"**Open with.** {made.opening}", ""]
    for number, route in enumerate(made.routes, start=1):
        link = f' <a href="{page}#lecture=route-{number}">Its slides</a>'
        lines += [f"**Route: {route.name}.** {route.audience}{link}", ""]
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
            str(Path(str(files("tformer_book.chapters"))) / f"ch{chapter:02d}" / "teach.toml")
        )
        box = nodes.container(classes=["tf-plan"])
        page = next(name for name in self.env.found_docs if chapter_of(name) == chapter)
        text = StringList(markdown(plan(chapter), f"{Path(page).name}.html").splitlines())
        self.state.nested_parse(text, self.content_offset, box)
        return [box]


def hand_over(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the template of a main page the routes of its plan; warn of places it does not have."""
    chapter = chapter_of(pagename)
    if chapter is None:
        return
    made, asked = plan(chapter), questions(chapter)
    context["lecture_routes"] = slides(made, asked)
    for problem in lost(made, asked, context.get("body", "")):
        LOGGER.warning("teach.toml: %s", problem, location=pagename, type="book")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive, and follow pages."""
    app.add_directive("teach", Teach)
    app.connect("html-page-context", hand_over)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
