"""Exercise 22.1."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _values() -> Iterator[Case]:
    yield case(v=[[1, 3], [3, 9]], want=[2, 6], why="Two values: the point halfway between them.")
    yield case(v=[[5, -1]], want=[5, -1], why="With one key its value is the output.")
    for keys, width in ((3, 2), (4, 1), (2, 5), (40, 3)):
        v = integers(keys + width, (keys, width)) + 1
        want = reference.attention(np.zeros((1, 2)), np.zeros((keys, 2)), v)[0]
        yield case(v=v, want=want)


@exercise(
    "22.1",
    praise="From 1 to 40 keys, and values of 1 to 5 numbers.",
    hints=(
        "Which weights does softmax give to equal scores?",
        "How many keys are there? That is one of the two axes of `v`.",
        "Add up the rows, then divide once.",
    ),
    cases=_values,
    otherwise="The mean of the rows of v.",
    slips="""
        v.sum(axis=0) / len(v) → v.sum(axis=0)
            The values were added up and not averaged.
        v.sum(axis=0) / len(v) → v.sum(axis=1) / v.shape[1]
            The mean runs over the numbers of a value; it belongs over the keys.
        v.sum(axis=0) / len(v) → v.sum(axis=0) / v.shape[1]
            The sum was divided by the width of a value, and not by the number of keys.
    """,
)
def mean_of_values(v: Array) -> Array:
    """The mean of the rows."""
    return v.sum(axis=0) / len(v)
