"""What the tests of exercises share: the book's answers, and what an author is told."""

import re
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
import scipy.special

from tformer_book import exercises
from tformer_book.exercises import CheckFailed, check, guard, process
from tformer_book.exercises.answer import Answer
from tformer_book.exercises.table import Table
from tformer_book.pipeline.generators.exercises import MARK, read, sources

ROOT = Path(__file__).resolve().parents[1]


def answers(planted):
    """One wrong answer, or several that are told the same."""
    return planted if isinstance(planted, tuple) else (planted,)


@cache
def solutions():
    """The book's answers by exercise, and the source of each."""
    found = {}
    for path in sources(ROOT):
        for cell in read(path):
            if cell.role == "solution":
                space = {"np": np, "scipy": scipy}
                exec(MARK.sub("", cell.node.source), space)
                name = re.search(r"def (\w+)", cell.node.source).group(1)
                found[cell.number.replace("-", ".")] = space[name], cell.node.source
    return found


def computed_once(patch):
    """Let a table take from a mutant, tried as an answer, what it would compute with it again.

    An answer is judged as always: its memory, its types and what it does to its arguments. The
    first case that goes wrong is computed both ways, so that no mutant is named that draws anew
    each time. Checks have to run in threads.
    """
    raw, attempt = Answer.raw, Table.attempt

    def kept(f, /, *said, **inputs):
        f.given = raw(f, *said, **inputs)
        return f.given

    def attempted(table, f, case):
        trial, wrong = attempt(table, f, case)
        if hasattr(f, "failed") and not trial.error and case.dtype is None:
            case.own.setdefault(f.function, table.kind.plain(f.given.value))
        if wrong:
            f.failed = True
        return trial, wrong

    patch.setattr(Answer, "raw", kept)
    patch.setattr(Table, "attempt", attempted)


def call_in_place(patch):
    """Let checks run where they are, and make each call there too, without a thread for each.

    For answers that come to an end. One that took too long is told so afterwards.
    """

    def call(function, seconds, measure=""):
        outcome = guard.in_place(function, seconds, measure)
        outcome.timed_out = outcome.seconds > seconds
        return outcome

    patch.setattr(process, "CAN_FORK", False)
    patch.setattr(exercises, "Answer", partial(Answer, call=call))


def told(number, answer, seconds=10.0):
    """The feedback on a wrong answer, on one line; a slow machine takes more than five seconds."""
    with pytest.raises(CheckFailed) as caught:
        check(number, answer, seconds=seconds)
    text = " ".join(str(caught.value).split())
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert text.startswith(f"Exercise {number}, not yet. ")
    assert text.endswith(f'For a hint: hint("{number}")')
    assert "Traceback" not in text
    assert "fault of the book" not in text
    return text
