"""Fifty notebooks handed in: no mark is lost, and none invented."""

import random
import re
import sys
import time
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import tformer_book.chapters
from course_tools import (
    HOSTILE,
    HOSTILE_CELLS,
    IMPORTS,
    NUMBERS,
    answers_by,
    name,
    needs_confinement,
    right,
)
from exercise_tools import ROOT, told
from tformer_book.exercises.registry import exercises
from tformer_course.judge import MEASURED
from tformer_course.notebook import cell, needed, verdicts
from tformer_course.remote import Sandbox
from tformer_course.submission import mend

ANSWERS = Path(tformer_book.chapters.__path__[0])
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


def marks(sandbox, made, seconds=30.0):
    """What is said of each exercise."""
    found = {}
    for node, verdict in verdicts(made, sandbox, seconds):
        found[re.search(r'"([\d.]+)"', node.source)[1]] = verdict
    return found


@pytest.fixture(scope="module")
def sandbox():
    with Sandbox(512 << 20, readable=[ANSWERS]) as sandbox:
        yield sandbox


RELEASED = nbformat.read(ROOT / "exercises" / "01_dot_products.ipynb", 4)
BROKEN = [
    b"",
    b"no notebook",
    nbformat.writes(RELEASED).encode()[:20_000],
    (ROOT / "exercises" / "02_softmax.ipynb").read_bytes(),
    nbformat.writes(RELEASED).replace("NotImplementedError()", "SystemExit").encode(),
]


def mutant(number, place):
    """A cell that takes a mistake of the book's own for the answer."""
    return (
        "from tformer_book.exercises.registry import find\n"
        f"{name(number)} = list(find({number!r}).mutants.values())[{place}]"
    )


def answer(draw, number):
    """An answer drawn at random, whether it is right, and what must be said to it."""
    kind = draw.choice(["right", "right", "empty", "mutant", "hostile", "broken"])
    if kind == "right" and number not in SLOW:
        return right(number), True, exercises()[number].praise
    if kind == "mutant" and (known := exercises()[number].mutants):
        # Where == meets rounding, another process may round otherwise, and nobody is told the same.
        place = draw.choice([i for i, said in enumerate(known) if "rounding" not in said])
        return mutant(number, place), False, ("as told", list(known.values())[place])
    if kind == "hostile":
        known = {"asks the right function"} if number == NUMBERS[0] else set()  # readable here
        what = draw.choice([what for what in HOSTILE if what in SOME and what not in known])
        source = f"GRADEBOOK = '/etc/passwd'\n{answers_by(number, HOSTILE[what])}"
        return source, False, ""
    if kind == "broken":
        what = draw.choice([what for what in HOSTILE_CELLS if "never" not in what])
        return HOSTILE_CELLS[what].format(name=name(number)), False, ""
    return f"def {name(number)}(*a):\n    raise NotImplementedError()", False, "empty template"


def sentence(number, text):
    """What a check says, on one line, without its frame and the marks of code."""
    text = text.removeprefix(f"Exercise {number}, not yet. ").partition(" For a hint:")[0]
    text = " ".join(text.replace("`", "").split())
    return text[:1].upper() + text[1:]


def expected(number, words):
    """What must stand in the verdict on an answer that was drawn."""
    if isinstance(words, str):
        return words.replace("`", "")
    return sentence(number, told(number, words[1]))


@needs_confinement
def test_fifty_notebooks_get_the_marks_that_they_earn(sandbox, capsys):
    draw, begin, count = random.Random(4), time.monotonic(), 0
    for place in range(50):
        if place % 10 == 9:
            found = marks(sandbox, mend(BROKEN[place // 10], RELEASED))
            assert [verdict.right for verdict in found.values()] == [False] * 12
            count += 12
            continue
        numbers = draw.sample(NUMBERS, 4)
        drawn = {number: answer(draw, number) for number in sorted(numbers, key=NUMBERS.index)}
        made = notebook(*((number, source) for number, (source, _, _) in drawn.items()))
        found = marks(sandbox, made)
        assert list(found) == list(drawn)
        for number, (source, earned, words) in drawn.items():
            assert found[number].right == earned, (number, source, found[number])
            if found[number].text != MEASURED:
                assert expected(number, words) in sentence(number, found[number].text)
            count += 1
    took = time.monotonic() - begin
    with capsys.disabled():
        sys.stdout.write(
            f"\n{count} answers judged in {took:.0f} s: {12 * took / count:.1f} s a dozen\n"
        )


@needs_confinement
def test_what_a_check_measures_is_measured_in_the_sandbox(sandbox):
    found = marks(
        sandbox,
        notebook(
            ("1.5", "def score_table(q, k):\n    return np.array([[a @ b for b in k] for a in q])"),
            ("1.6", "def squared_distances(q, k):\n"
                    "    return ((q[..., :, None, :] - k[..., None, :, :]) ** 2).sum(-1)"),
            ("2.1", "def softmax_along(x, axis):\n    x -= x.max(axis, keepdims=True)\n"
                    "    return np.exp(x) / np.exp(x).sum(axis, keepdims=True)"),
            ("2.10", "def streamed_lse(chunks):\n"
                     "    whole = np.concatenate([np.empty(0), *chunks])\n"
                     "    return np.logaddexp.reduce(whole)"),
            ("4.7", "def repaired(q, k):\n    e = np.exp(q @ k.T / q.shape[-1] ** 0.5)\n"
                    "    return e / e.sum(-1, keepdims=True)"),
        ),
    )  # fmt: skip
    words = {
        "1.5": "loop",
        "1.6": "MB at once",
        "2.1": "changes the x it was given",
        "2.10": "MB at once",
        "4.7": "reverses all axes",
    }
    assert {n: words[n] in sentence(n, v.text) for n, v in found.items()} == dict.fromkeys(
        words, True
    ), found


# Which cells an answer needs.

CELLS = [
    cell("c1", "import numpy as np\nfrom tformer_book.exercises import check"),
    cell("c2", "def helper(x):\n    return np.exp(x)"),
    cell("c3", "def f(x):\n    return helper(x)", "1-1"),
    cell("c4", "import numpy as np\nnp.exp = None\ndef g(x):\n    return tool(f(x))", "1-2"),
    cell("c5", "def tool(x):\n    global made\n    made = x\n    return x", "1-3"),
    cell("c6", "%%time\nh = f(made)", "1-4"),
    cell("c7", "def broken(:", "1-5"),
]


@pytest.mark.parametrize(
    ("name", "owner", "places"),
    [
        ("f", "1-1", "c1 c2 c3"),
        ("g", "1-2", "c1 c2 c3 c4 c5"),
        ("tool", "1-3", "c5"),
        ("h", "1-4", "c1 c2 c3 c5 c6"),
        ("broken", "1-5", "c7"),
        ("nowhere", "1-6", ""),
    ],
)
def test_an_answer_takes_the_cells_that_it_names_and_no_others(name, owner, places):
    assert " ".join(c.place for c in needed(CELLS, name, owner)) == places


@needs_confinement
@pytest.mark.parametrize(
    ("extra", "answer", "earned"),
    [
        ("", right("1.1"), True),
        ("%matplotlib inline\n!ls\n", right("1.1"), True),
        ("", "%%time\n" + right("1.1"), True),
        ("exec('def helper(q, k): return (q * k).sum(-1)')", "row_dots = lambda *a: helper(*a)", 1),
        ("", "def row_dots(q, k): return np.sum(q * k, -1)\n1 / 0", True),
        ("", "def row_dots(q, k): return nowhere", False),
        ("from numpy import *", "def row_dots(q, k): return sum(q * k, -1)", True),
        ("", "from functools import partial\nrow_dots = partial(np.vecdot)", True),
        ("", "from numpy import vecdot as row_dots", True),
        (
            "",
            "class Dots:\n    def __call__(self, q, k): return np.vecdot(q, k)\nrow_dots = Dots()",
            1,
        ),
    ],
)
def test_honest_ways_to_write_an_answer_count(extra, answer, earned, sandbox):
    made = notebook(
        ("1.1", answer), first=f"{IMPORTS}\n{extra}" if extra[:1] != "%" else extra + IMPORTS
    )
    assert marks(sandbox, made)["1.1"].right == bool(earned)


@needs_confinement
def test_a_cell_below_the_check_counts_where_none_above_makes_the_function(sandbox):
    made = notebook(("1.1", ""))
    made.cells.append(new_code_cell(right("1.1")))
    assert marks(sandbox, made)["1.1"].right
    made = notebook(("1.1", "def row_dots(q, k): return 0"))
    made.cells.append(new_code_cell(right("1.1")))
    assert not marks(sandbox, made)["1.1"].right


@needs_confinement
def test_a_graded_cell_of_the_lecturers_own_is_left_to_the_lecturer(sandbox):
    made = notebook(("1.1", right("1.1")))
    made.cells[-1].source = "assert True"
    _, verdict = next(verdicts(made, sandbox))
    assert (verdict.right, "by hand" in verdict.text) == (False, True)
