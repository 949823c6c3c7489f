"""What an answer is told that is right up to its type: whole numbers alone, or few digits."""

import numpy as np
import pytest

from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.diagnosis import check_by_table
from tformer.exercises.kinds import Array
from tformer.exercises.table import Table, case

TABLE = Table(
    lambda x: x / 3,
    lambda: [case(x=[1.0, 2, n], whole=whole) for whole in (False, True) for n in (7.0, 8.0)],
    {},
    Array(),
    otherwise="Look again.",
)


def told(answer):
    """What is said to an answer."""
    with pytest.raises(Wrong) as caught:
        check_by_table(TABLE, Answer(answer))
    return caught.value.explain()[0]


def _written_into_its_like(x):
    out = np.empty_like(x)
    out[:] = x / 3
    return out


def test_an_array_of_the_type_of_whole_numbers_is_told():
    assert "only where whole numbers are handed over" in told(_written_into_its_like)


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x / 3 + (x.dtype.kind == "i") * (x[2] == 7),  # one case of two
        lambda x: x / 3 + (x.dtype.kind == "i") + (x[2] == 8),  # a case of floats as well
    ],
)
def test_other_mistakes_with_whole_numbers_are_not(answer):
    assert told(answer).endswith("Look again.")


def test_few_digits_are_told():
    text = told(lambda x: (x.astype(np.float32) / np.float32(3)).astype(float))
    assert "right to about seven digits" in text
    assert "right to about three digits" in told(lambda x: x / 3 * (1 + 1e-3 * np.sign(x - 2)))


@pytest.mark.parametrize(
    "answer",
    [
        lambda x: x / 3 * (1 + 1e-2 * np.sign(x - 2)),  # hardly digits
        lambda x: x / 3 + 1e-5 * (x == 1) * (x[2] == 7),  # in one case
        lambda x: np.where(x == 2, np.nan, x / 3 + 1e-6),
        lambda x: x[:1] / 3 + 1e-6,
    ],
)
def test_other_mistakes_are_no_matter_of_digits(answer):
    assert "digits" not in told(answer)
