"""A hundred notebooks handed in: no mark is lost, and none invented."""

import random
import re
import sys
import time
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_notebook

import tformer.chapters
from course_tools import (
    HOSTILE,
    HOSTILE_CELLS,
    IMPORTS,
    NUMBERS,
    answers_by,
    name,
    needs_walls,
    right,
)
from exercise_tools import told
from tformer.course.judge import Booth
from tformer.course.notebook import cell, needed, verdicts
from tformer.exercises.registry import exercises

ANSWERS = Path(tformer.chapters.__path__[0])
SLOW = {"2.12", "4.12"}  # seconds each, if they are right
SOME = ["leaves", "forks", "kills the judge", "takes a terabyte", "reads the gradebook", "breaks",
        "asks the right function", "opens a socket", "praises itself", "sends rubbish"]  # fmt: skip


def notebook(*answers, first=IMPORTS):
    """A notebook with some exercises' cells and their checks."""
    cells = [new_code_cell(first)]
    for number, source in answers:
        owner = number.replace(".", "-")
        about = {"grade_id": f"solution-{owner}", "solution": True, "grade": False}
        cells.append(new_code_cell(source, metadata={"nbgrader": about}))
        about = {"grade_id": f"check-{owner}", "solution": False, "grade": True}
        check = f'check("{number}", {name(number)})'
        cells.append(new_code_cell(check, metadata={"nbgrader": about}))
    return new_notebook(cells=cells)


def marks(booth, made, seconds=30.0):
    """What is said of each exercise."""
    found = {}
    for node, verdict in verdicts(made, booth, seconds):
        found[re.search(r'"([\d.]+)"', node.source)[1]] = verdict
    return found


@pytest.fixture(scope="module")
def booth():
    with Booth(512 << 20, readable=[ANSWERS]) as booth:
        yield booth


def mutant(number, place):
    """A cell that takes a mistake of the book's own for the answer."""
    return (
        "from tformer.exercises.registry import find\n"
        f"{name(number)} = list(find({number!r}).mutants.values())[{place}]"
    )


def answer(draw, number):
    """An answer drawn at random, whether it is right, and what must be said to it."""
    kind = draw.choice(["right", "right", "empty", "mutant", "hostile", "broken"])
    if kind == "right" and number not in SLOW:
        return right(number), True, exercises()[number].praise
    if kind == "mutant" and (known := exercises()[number].mutants):
        place = draw.randrange(len(known))
        return mutant(number, place), False, ("as told", list(known.values())[place])
    if kind == "hostile":
        what = draw.choice([what for what in HOSTILE if what in SOME])
        source = f"GRADEBOOK = '/etc/passwd'\n{answers_by(number, HOSTILE[what])}"
        return source, False, ""
    if kind == "broken":
        what = draw.choice([what for what in HOSTILE_CELLS if "never" not in what])
        return HOSTILE_CELLS[what].format(name=name(number)), False, ""
    return f"def {name(number)}(*a):\n    raise NotImplementedError()", False, "empty template"


def without_praise(number, text):
    """What a check says, on one line."""
    text = text.removeprefix(f"Exercise {number}, not yet. ").removesuffix(
        f' For a hint: hint("{number}")'
    )
    return " ".join(text.split())


@needs_walls
def test_a_hundred_notebooks_get_the_marks_that_they_earn(booth, capsys):
    draw, begin, count = random.Random(4), time.monotonic(), 0
    for _ in range(100):
        numbers = draw.sample(NUMBERS, 4)
        drawn = {number: answer(draw, number) for number in sorted(numbers, key=NUMBERS.index)}
        made = notebook(*((number, source) for number, (source, _, _) in drawn.items()))
        found = marks(booth, made, seconds=5.0)
        assert list(found) == list(drawn)
        for number, (source, earned, words) in drawn.items():
            assert found[number].right == earned, (number, source, found[number])
            if isinstance(words, tuple):
                words = without_praise(number, told(number, words[1]))
                assert without_praise(number, found[number].text).lower() == words.lower()
            assert words in found[number].text or words[:1].isupper()
            count += 1
    took = time.monotonic() - begin
    with capsys.disabled():
        sys.stdout.write(f"\n{count} answers in {took:.0f} s, {12 * took / count:.1f} s for twelve\n")


@needs_walls
@pytest.mark.parametrize("number", NUMBERS)
def test_the_books_answer_and_a_mistake_of_it_are_judged_as_in_the_notebook(number, booth):
    assert marks(booth, notebook((number, right(number))))[number].right
    if known := exercises()[number].mutants:
        verdict = marks(booth, notebook((number, mutant(number, len(known) - 1))))[number]
        words = without_praise(number, told(number, list(known.values())[-1]))
        assert not verdict.right
        assert without_praise(number, verdict.text).lower() == words.lower()
