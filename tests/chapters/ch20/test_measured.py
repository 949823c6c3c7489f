"""Our own runs: what made them, and that nothing of them was typed."""

import numpy as np
import pytest

from tformer_book.chapters.ch20 import measured, published
from tformer_book.chapters.ch20.search import lowest
from tformer_book.claims import ClaimFailed, verify
from tformer_book.experiments.scaling import draws, fit, objective
from tformer_book.experiments.scaling.descent import Descent
from tformer_book.experiments.scaling.sweep import TOKENS, WIDTHS, grid


def test_the_table_holds_the_grid() -> None:
    runs, whole = measured.sweep(), measured.sweep("n_all")
    plans = grid(WIDTHS, TOKENS)
    assert [*runs.n] == [plan.n for plan in plans]
    assert [*runs.d] == [plan.tokens for plan in plans]
    assert (whole.n > runs.n + 512 * np.sqrt(runs.n / 24)).all()
    assert (whole.loss == runs.loss).all()
    by_width = runs.loss.reshape(6, 4)
    assert (np.diff(by_width) < 0).all()
    assert (np.diff(by_width, axis=0) < 0).all()


def test_a_bootstrap_of_widths_draws_widths() -> None:
    runs, many = measured.sweep(), measured.by_width(6)
    drawn = np.random.default_rng(0).multinomial(6, np.full(6, 1 / 6), size=6)
    for one, counts in zip(many, drawn, strict=True):
        again = fit(runs, 0.0, counts=np.repeat(counts, 4))
        found = again.alpha, again.beta  # sums over one draw and over six round differently
        assert (one.alpha, one.beta) == pytest.approx(found, rel=1e-9)


def test_most_of_the_runs_lie_in_the_intervals_of_the_others() -> None:
    inside, above = measured.backtest()
    assert (inside, above) == (21, 2)
    assert measured.backtest(0.5)[0] == pytest.approx(12, abs=3)


def test_the_prediction_holds_and_its_size_is_beyond_the_sweep() -> None:
    runs, out = measured.sweep(), measured.held_out()
    assert (out.n[0], out.d[0]) == (393216, 2**22)
    assert out.n[0] > 1.7 * runs.n.max()
    middle, low, high = measured.expected(float(out.n[0]), float(out.d[0]))
    assert low < out.loss[0] < middle < high
    assert measured.law().loss(out.n, out.d)[0] == middle


def test_draws_that_one_start_missed_are_at_their_minimum() -> None:
    """From the law of the 24 alone, these four ended up to 3.6 % higher."""
    runs = measured.sweep()
    drawn = draws(runs, 200, np.random.default_rng(0), floor=0.0)
    for i in (30, 48, 73, 192):
        least = min(lowest(runs, drawn[i], 0.0, seed=seed) for seed in range(2))
        got = objective(measured.laws()[i], runs, counts=drawn[i])
        assert got == pytest.approx(least, rel=1e-7), i


def test_a_fit_from_one_start_is_caught_by_its_claim(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was drawn and fitted before is forgotten, so that the claim fits anew."""
    kept = (measured.laws, measured.with_floor, measured.expected, published.laws)
    starts = Descent.starts
    with monkeypatch.context() as patched:
        patched.setattr(Descent, "starts", lambda self, counts, many: starts(self, counts, 1))
        for one in kept:
            one.cache_clear()
        with pytest.raises(ClaimFailed, match="exm-sweep is false: "):
            verify("exm-sweep")
    for one in kept:
        one.cache_clear()
