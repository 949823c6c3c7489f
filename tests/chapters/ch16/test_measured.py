"""What is stored, what is recalled, and the row's mistakes, each found another way."""

import math

import numpy as np
import pytest

from tformer_book.chapters.ch16 import figures, measured, recall, row


def test_what_is_stored_is_complete_and_keeps_the_goals() -> None:
    """At long texts at most 1.10 of the yardstick, and at most .4 MiB beyond the output."""
    found = measured.stored()
    assert [one["length"] for one in found["lengths"]] == [512, 1024, 2048, 4096, 8192]
    assert [n for n, _ in found["roof"]["products"]] == [*measured.SIZES]
    for one in found["lengths"]:
        seconds, mib = one["forward"]["seconds"], one["forward"]["mib"]
        assert seconds["blockwise"] < min(seconds["by the table"], seconds["naive"])
        assert mib["blockwise"] <= 0.4
        if one["length"] >= 4096:
            assert seconds["blockwise"] <= 1.1 * seconds["yardstick"]
            assert (
                one["backward"]["seconds"]["blockwise"] < one["backward"]["seconds"]["by the table"]
            )


def test_the_roof_is_above_all_that_was_measured() -> None:
    roof = measured.stored()["roof"]
    for n, took in roof["products"]:
        flops, moved = 2 * n * measured.WIDE**2, 4 * (2 * n + measured.WIDE) * measured.WIDE
        assert took * (1 + 1e-9) >= max(flops / roof["flops"], moved / roof["bytes"])


def test_a_machine_is_measured() -> None:
    found = measured.roof((1, 2), 0.01)
    assert [n for n, _ in found["products"]] == [1, 2]
    assert min(found["flops"], found["bytes"]) > 1e6


@pytest.mark.parametrize("kind", recall.ANSWERS)
def test_errors_are_counted_again(kind: str) -> None:
    total = 0.0
    for seed in range(5):
        k = recall.keys(20, seed)
        np.testing.assert_allclose(np.linalg.norm(k, axis=1), 1)
        if kind == "softmax":
            weights = np.exp(recall.SHARP * k @ k.T)
            y = weights / weights.sum(axis=1, keepdims=True)
        elif kind == "linear":
            f = np.where(k > 0, k + 1, np.exp(k))
            y = f @ f.T / (f @ f.sum(axis=0))[:, None]
        elif kind == "sum":
            y = k @ k.T
        else:
            y = k @ np.linalg.lstsq(k, np.eye(20), rcond=None)[0]
        total += ((y - np.eye(20)) ** 2).sum() / 20 / 5
    assert recall.error(kind, 20) == pytest.approx(total, abs=1e-9)


def test_the_best_table_reaches_the_bound() -> None:
    for n in (4, 16, 17, 40):
        assert recall.error("best", n) == pytest.approx(recall.least(n), abs=1e-9)


def test_mistakes_sum_to_one_and_are_not_the_row() -> None:
    shown = figures.mistakes()
    for weights in shown.values():
        assert weights.sum() == pytest.approx(1)
    assert math.isclose(shown["merged"][row.IT], 0.855, abs_tol=5e-4)
    assert shown["not corrected"][3] == pytest.approx(shown["not corrected"][row.IT], abs=1e-3)
