"""An exam from the chapters' questions: a sheet for the students and a key for who marks it.

Both are single files, HTML with its formulas set and its fonts inside, and Markdown beside it. The
numbers are drawn by a seed, and the same seed gives the same bytes.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from markdown_it import MarkdownIt
from mdit_py_plugins.dollarmath import dollarmath_plugin

from tformer_book.chapters import numbers
from tformer_book.exams import Item, Question, questions
from tformer_book.pipeline import find_root
from tformer_book.pipeline.site.formulas import TYPESETTER

TITLE = "The Executable Transformer"
RULES = "Closed book, no calculator. Give exact numbers, and a reason wherever one is asked for."
FONT = re.compile(r'src:url\((fonts/[^)]+)\) format\("woff2"\)')
FACE = re.compile(r"@font-face\{font-family:\"?(KaTeX_\w+)\"?;[^}]*\}")
MM_PER_MINUTE = 6
STYLE = Path(__file__).with_name("exam.css")


@dataclass(frozen=True)
class Paper:
    """Questions with their numbers drawn, in the order of the sheet."""

    chapters: tuple[int, ...]
    seed: int
    tasks: tuple[tuple[Question, Item], ...]

    @property
    def version(self) -> str:
        """Stands on sheet and key, and does not tell the seed."""
        return sha256(f"{self.chapters} {self.seed} {len(self.tasks)}".encode()).hexdigest()[:6]

    @property
    def minutes(self) -> int:
        """How long the paper takes, by its questions."""
        return sum(question.minutes for question, _ in self.tasks)

    @property
    def points(self) -> int:
        """What a full paper earns."""
        return sum(item.points for _, item in self.tasks)


def paper(chapters: Sequence[int], seed: int, n: int | None = None) -> Paper:
    """Draw an exam on some chapters, of all their questions or of n of each.

    Raises
    ------
    FileNotFoundError
        If a chapter does not exist or has no questions; the message says which there are.
    ValueError
        If no chapter is named, or n or the seed cannot be.
    """
    if not chapters or seed < 0:
        raise ValueError("an exam needs a chapter, make exam CH=04, and a seed of 0 or more")
    tasks = []
    for chapter in dict.fromkeys(chapters):
        if chapter not in numbers():
            there = ", ".join(map(str, numbers()))
            raise FileNotFoundError(f"there is no chapter {chapter}; there are {there}")
        chosen = questions(chapter)
        if not chosen:
            raise FileNotFoundError(f"chapter {chapter} has no exam questions yet")
        if n is not None and not 1 <= n <= len(chosen):
            raise ValueError(f"chapter {chapter} has {len(chosen)} questions; {n} are asked for")
        rng = np.random.default_rng([seed, chapter])
        kept = sorted(rng.choice(len(chosen), size=n or len(chosen), replace=False))
        tasks += [(chosen[i], chosen[i].item(seed)) for i in kept]
    return Paper(tuple(dict.fromkeys(chapters)), seed, tuple(tasks))


def sheet(made: Paper) -> str:
    """What the students get, in Markdown."""
    return _markdown(made, "Exam", key=False)


def key(made: Paper) -> str:
    """The same questions with answers and marking, in Markdown."""
    return _markdown(made, f"Key, drawn with seed {made.seed}", key=True)


def _markdown(made: Paper, name: str, key: bool) -> str:
    about = f"Version {made.version}. {made.minutes} minutes, {made.points} points."
    parts = [f"# {TITLE}: {name}", f"{_named(made)}. {about} {RULES}"]
    for n, (question, item) in enumerate(made.tasks, start=1):
        parts += [f"## {n}. {question.title} ({_worth(question, item)})", item.statement.strip()]
        if key:
            parts += ["**Answer**", item.answer.strip(), _marks(item)]
    return "\n\n".join(parts) + "\n"


def _marks(item: Item) -> str:
    rows = [f"| {points} | {what} |" for points, what in item.marking]
    return "\n".join(["| points | for |", "|--:|---|", *rows])


def _named(made: Paper) -> str:
    plural = "s" if len(made.chapters) > 1 else ""
    return f"Chapter{plural} {', '.join(map(str, made.chapters))}"


def _worth(question: Question, item: Item) -> str:
    return f"{item.points} points, {question.minutes} minutes"


def page(made: Paper, with_key: bool) -> str:
    """Sheet or key as one HTML file that prints on A4 and asks nothing of anybody."""
    body = []
    for n, (question, item) in enumerate(made.tasks, start=1):
        head = f"<h2>{n}. {escape(question.title)} <small>{_worth(question, item)}</small></h2>"
        below = f'<div class="space" style="height:{question.minutes * MM_PER_MINUTE}mm"></div>'
        if with_key:
            below = f'<div class="answer">{_html(item.answer)}{_html(_marks(item))}</div>'
        body.append(
            f'<section><div class="task">{head}{_html(item.statement)}</div>{below}</section>'
        )
    name = f"Key, drawn with seed {made.seed}" if with_key else "Exam"
    sign = (
        "" if with_key else "<p>Name <span class=line></span> Number <span class=line></span></p>"
    )
    about = f"Version {made.version}. {made.minutes} minutes, {made.points} points. {RULES}"
    text, style = "\n".join(body), STYLE.read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en-GB"><head><meta charset="utf-8">'
        f"<title>{TITLE}: {name}</title><style>{_fonts(text)}\n{style}</style></head>\n<body>"
        f"<header><h1>{TITLE}: {name}</h1>{sign}<p>{_named(made)}. {about}</p></header>\n"
        f"{text}\n</body></html>\n"
    )


def _html(text: str) -> str:
    def formula(tex: str, options: dict[str, Any]) -> str:
        return TYPESETTER.html(tex, bool(options["display_mode"]))

    reader = MarkdownIt("commonmark").enable("table")
    return str(reader.use(dollarmath_plugin, renderer=formula).render(text))


def _fonts(html: str) -> str:
    """The style of the formulas, with the fonts that they can need as part of it.

    Calligraphic, fraktur, script and sans serif are left out where no formula asks for them.
    """
    folder = find_root(Path(__file__).parent) / "vendor" / "web" / "katex"
    named = {"Caligraphic": "mathcal", "Fraktur": "mathfrak", "Script": "mathscr"}
    named |= {"SansSerif": "mathsf", "Typewriter": "mathtt", "AMS": "amsrm"}

    def face(found: re.Match[str]) -> str:
        wanted = named.get(found[1].removeprefix("KaTeX_"))
        return found[0] if wanted is None or wanted in html else ""

    def inlined(found: re.Match[str]) -> str:
        data = base64.b64encode((folder / found[1]).read_bytes()).decode()
        return f'src:url(data:font/woff2;base64,{data}) format("woff2")'

    css = FACE.sub(face, (folder / "katex.min.css").read_text(encoding="utf-8"))
    return FONT.sub(inlined, css)


def write(made: Paper, folder: Path) -> list[Path]:
    """Write sheet and key into a folder, which may hold the very same paper already.

    Raises
    ------
    FileExistsError
        If a file is there and says something else; nothing is written then.
    """
    texts = {
        "sheet.html": page(made, with_key=False),
        "sheet.md": sheet(made),
        "key.html": page(made, with_key=True),
        "key.md": key(made),
    }
    for name, text in texts.items():
        path = folder / name
        if path.exists() and (not path.is_file() or path.read_text(encoding="utf-8") != text):
            raise FileExistsError(
                f"{path} is there already and says something else; nothing was written. "
                "Remove it, or name another folder: DIR=…"
            )
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return [folder / name for name in texts]
