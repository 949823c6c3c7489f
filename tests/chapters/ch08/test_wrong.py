"""The norms that are wrong on purpose: the first of each table is right, the others are not."""

import numpy as np
import pytest

from tformer import reference
from tformer_book.chapters.ch08 import wrong
from tformer_book.chapters.ch08.rows import PLAIN

X = np.random.default_rng(0).standard_normal((5, 8))


@pytest.mark.parametrize("table", [wrong.AXES, wrong.SIZES])
def test_only_the_first_is_right(table: dict) -> None:
    right, *others = (norm(X) for norm in table.values())
    np.testing.assert_allclose(right, reference.rms_norm(X, PLAIN, wrong.EPS))
    assert all(abs(other - right).max() > 1e-6 for other in others)


def test_each_divisor_leaves_the_size_that_is_drawn() -> None:
    row = 0.01 * X[:1]
    size = float(np.sqrt(np.mean(row * row)))
    left = {name: float(np.sqrt(np.mean(norm(row) ** 2))) for name, norm in wrong.SIZES.items()}
    assert left["right"] == pytest.approx(size / np.sqrt(size**2 + 1e-5))
    assert left["ε outside"] == pytest.approx(size / (size + 1e-5))
    assert left["d − 1"] == pytest.approx(size / np.sqrt(size**2 * 8 / 7 + 1e-5))
    assert left["sum"] == pytest.approx(size / np.sqrt(8 * size**2 + 1e-5))
    assert left["no root"] == pytest.approx(size / (size**2 + 1e-5))
