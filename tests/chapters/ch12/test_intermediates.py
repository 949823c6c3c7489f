"""The table of intermediates: it names the first that is wrong, and the slip that makes it so."""

import numpy as np
import pytest

from tformer_book.chapters.ch12.intermediates import SLIPS, Problem, fingerprint
from tformer_book.chapters.ch12.small import STEPS, backward

PROBLEM = Problem()


def _right() -> dict[str, np.ndarray]:
    return backward(PROBLEM.f, PROBLEM.p)


def test_the_right_way_back_is_right() -> None:
    report = PROBLEM.table(_right())
    assert report.first is None
    assert repr(report).endswith("All that was given is right.")


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_every_slip_is_named(seed: int) -> None:
    problem = Problem(seed)
    for (name, said), step in SLIPS.items():
        report = problem.table(backward(problem.f, problem.p, {name: step}))
        assert (report.first, report.likely) == (name, said)


def test_a_slip_before_what_was_handed_in_is_found() -> None:
    slip = ("s", "softmax's −pᵀ p is forgotten")
    mine = backward(PROBLEM.f, PROBLEM.p, {slip[0]: SLIPS[slip]})
    report = PROBLEM.table({"W_q": mine["W_q"]})
    assert (report.first, report.likely) == ("W_q", f"in ds, {slip[1]}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x: 3 * x, "right but for the factor 3"),
        (lambda x: -x, "in dz, the sign is turned"),
        (lambda x: x.T, "it is transposed"),
        (lambda x: x + 1, ""),
        (lambda x: x[0], ""),
        (lambda x: np.full_like(x, np.nan), ""),
    ],
)
def test_what_is_no_slip_of_the_list(change, words: str) -> None:
    report = PROBLEM.table({"W_q": change(_right()["W_q"])})
    assert (report.first, report.likely) == ("W_q", words)


def test_a_wrong_shape_is_said() -> None:
    said = repr(PROBLEM.table({"W_q": _right()["W_q"].T}))
    assert "dW_q    (4, 6), not (6, 4)" in said


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(ValueError, match="no gradient is called 'w'"):
        PROBLEM.table({"w": np.zeros(3)})


def test_an_error_spreads_forwards_only() -> None:
    for slip in SLIPS:
        wrong = fingerprint(slip) > 1e-6
        place = list(STEPS).index(slip[0])
        assert wrong[place]
        assert not wrong[:place].any()
