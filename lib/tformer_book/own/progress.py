"""How far a reader's file has come, and what is said of one of its parts."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import NamedTuple

from tformer_book.exercises import CheckFailed, show_hint
from tformer_book.exercises.display import boxed, in_notebook, tell, wrapped
from tformer_book.exercises.done import SIGNS
from tformer_book.own.checking import checks, find_check, judge
from tformer_book.own.parts import FILE, PARTS, Part, answered_with, defined_in


def find_file(path: Path | str | None = None) -> Path:
    """Return the reader's file: the one that is named, else the nearest one upwards from here.

    Raises
    ------
    FileNotFoundError
        If there is none; the message says how to begin one.
    """
    here = Path.cwd()
    folders = [here, *here.parents] if path is None else []
    for found in [Path(path)] if path else [folder / FILE for folder in folders]:
        if found.is_file():
            return found
    raise FileNotFoundError(
        f"There is no {path or FILE} here. `make lab` puts one on your desk; "
        f"`python -m tformer_book.own begin` writes one into this folder."
    )


def check(name: str, path: Path | str | None = None) -> None:
    """Check one part of a file; say what was verified, or what is wrong first.

    Parameters
    ----------
    name : str
        The part, such as ``"softmax"``.
    path : Path or str, optional
        The file; `my_transformer.py` here, or in a folder above, if None.

    Raises
    ------
    CheckFailed
        It is not right yet, outside a notebook. Or there is no such part, or it is not there.
    """
    correct, text = judge(find_file(path), name)
    head = f"{name}, {'correct' if correct else 'not yet'}."
    plain, more = wrapped(f"{head} {text}"), ""
    if not correct and checks()[name].hints:
        more = f"For a hint: `{HINT.format(name)}`"
        plain = f"{plain}\n{more}"
    if not correct and not in_notebook():
        raise CheckFailed(plain)
    html_head = f"{SIGNS[correct][0]} {head}"
    tell(f"{SIGNS[correct][0]} {plain}", boxed(html_head, text, more, correct))


def hint(name: str, tier: int = 1) -> None:
    """Print one hint for a part; a higher tier tells more.

    Parameters
    ----------
    name : str
        The part, such as ``"train"``.
    tier : int
        1 for a nudge, up to the number of hints that the part has.

    Raises
    ------
    CheckFailed
        There is no such part.
    """
    show_hint(name, find_check(name).hints, tier, f"{HINT.format(name)} {{}}")


HINT = "python -m tformer_book.own hint {}"
"""Asks for the first hint for a part."""


class Line(NamedTuple):
    """A part in a report: right or not (None: lent), its lines of code, the first complaint."""

    part: Part
    correct: bool | None
    n_lines: int
    complaint: str


def report(path: Path) -> list[Line]:
    """Check all parts that a file has; a line for each part.

    Raises
    ------
    SyntaxError
        If Python cannot read the file.
    """
    mine = defined_in(path)
    lines = []
    for part in PARTS:
        names = [name for name in part.names if name in mine]
        said = [(name, *judge(path, name)) for name in names]
        wrong = [f"{name}: {text}" for name, correct, text in said if not correct]
        missing = [name for name in part.names if name not in mine]
        if names and missing and not wrong:
            wrong = [f"still lent: {', '.join(missing)}"]
        correct = not wrong if names else None
        n_lines = sum(mine[name].n_lines for name in names)
        lines.append(Line(part, correct, n_lines, wrong[0] if wrong else ""))
    return lines


def progress(path: Path | str | None = None) -> None:
    """Say which parts of a file are right, how long it is, and what it can do by now.

    Parameters
    ----------
    path : Path or str, optional
        The file; `my_transformer.py` here, or in a folder above, if None.
    """
    lines = report(find_file(path))
    done = [line for line in lines if line.correct]
    total = sum(line.n_lines for line in done)
    head = f"Your transformer: {len(done)} of {len(PARTS)} parts, {total} lines of your own."
    rest = "" if len(done) == len(PARTS) else " The book lends the rest."
    numbers = ", ".join(answered_with([name for line in done for name in line.part.names]))
    answers = f"It can answer these exercises: {numbers}." if numbers else ""
    rows = [(SIGNS[line.correct][0], line, line.complaint or line.part.gives) for line in lines]
    plain = "\n".join(
        f"{sign} {line.part.chapter:2d}  {', '.join(line.part.names)}: {text}"
        for sign, line, text in rows
    )
    listed = "".join(
        f"<div>{sign} {line.part.chapter}. "
        f"{', '.join(f'<code>{name}</code>' for name in line.part.names)}: {escape(text)}</div>"
        for sign, line, text in rows
    )
    tell(
        "\n".join(filter(None, [f"{head}{rest}", plain, answers])),
        f"<strong>{head}</strong>{rest}{listed}{answers and f'<div>{answers}</div>'}",
    )
