"""The fit of a law: its gradient, its weights, laws that are known, and what is resampled."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, differential_evolution, minimize

from every import every
from tformer_book.experiments.scaling import (
    Law,
    Runs,
    bootstrap,
    draws,
    ends,
    explained,
    fit,
    fit_each,
    objective,
    predict,
)
from tformer_book.experiments.scaling.descent import Descent
from tformer_book.experiments.scaling.law import _law

LAW = Law(1.8, 480.0, 2100.0, 0.35, 0.37)


def drawn(law: Law = LAW, scatter: float = 0.0, size: int = 40, seed: int = 0) -> Runs:
    rng = np.random.default_rng(seed)
    n, d = np.exp(rng.uniform(np.log([[1e7], [1e8]]), np.log([[1e10], [1e12]]), (2, size)))
    return Runs(n, d, law.loss(n, d) * np.exp(scatter * rng.standard_normal(size)))


def constants(law: Law) -> np.ndarray:
    return np.array([law.floor, law.a, law.b, law.alpha, law.beta])


@every("floor", [None, 0.0, 1.5])
def test_gradient_and_hessian_are_those_of_the_objective(floor: float | None) -> None:
    runs, counts = drawn(scatter=0.05), np.arange(40.0) % 3
    descent = Descent(*runs, floor, 0.02)
    place = np.array([-1.1, -0.8, 0.3, 0.5, 0.2])[: 5 if floor is None else 4]

    def at(x: np.ndarray, part: int) -> np.ndarray:
        return descent(x[None], counts[None])[part][0]

    value, gradient, hessian = (at(place, part) for part in range(3))
    assert value == pytest.approx(objective(_law(place, descent), runs, 0.02, counts))
    slope = approx_fprime(place, lambda x: at(x, 0), 1e-7)
    assert gradient == pytest.approx(slope, rel=1e-4, abs=1e-6)
    assert hessian == pytest.approx(approx_fprime(place, lambda x: at(x, 1), 1e-7), rel=1e-4)


@every("floor", [1.8, 0.5])
def test_a_law_without_scatter_is_found_again(floor: float) -> None:
    law = Law(floor, 480.0, 2100.0, 0.33, 0.41)
    runs = drawn(law)
    assert constants(fit(runs)) == pytest.approx(constants(law), rel=1e-4)
    assert constants(fit(runs, floor=floor)) == pytest.approx(constants(law), rel=1e-4)
    excess = Law(0.0, 480.0, 2100.0, 0.33, 0.41)
    found = fit(runs._replace(loss=runs.loss - floor), floor=0.0)
    assert constants(found) == pytest.approx(constants(excess), rel=1e-4)


@every("floor", [None, 1.5])
def test_starts_are_least_squares_of_relative_differences(floor: float | None) -> None:
    runs, counts = drawn(scatter=0.02), np.arange(40.0) % 3
    descent = Descent(*runs, floor, 1e-3)
    for place in descent.starts(counts[None], 6)[0]:
        law = _law(place, descent)
        terms = [runs.n**-law.alpha, runs.d**-law.beta, np.ones(40)][: 3 if floor is None else 2]
        relative = (law.loss(runs.n, runs.d) - runs.loss) / runs.loss
        for term in terms:
            size = counts @ np.abs(term / runs.loss * relative)
            assert abs(counts @ (term / runs.loss * relative)) < 1e-9 * size


def searched(runs: Runs, counts: np.ndarray, seed: int = 0) -> float:
    """The least objective of a law with floor 0 that differential evolution finds."""
    x, y, logs = np.log(runs.n), np.log(runs.d), np.log(runs.loss)
    x, y, middle = x - x.mean(), y - y.mean(), logs.mean()

    def objectives(at: np.ndarray) -> np.ndarray:
        a, b, alpha, beta = at
        total = np.exp(a - alpha * x[:, None]) + np.exp(b - beta * y[:, None])
        off = np.abs(np.log(total) - logs[:, None])
        return counts @ np.where(off <= 1e-3, off**2 / 2, 1e-3 * (off - 5e-4))

    box = [(middle - 4, middle + 1)] * 2 + [(0.02, 3)] * 2
    options = {"popsize": 30, "maxiter": 600, "tol": 1e-12, "polish": False, "mutation": (0.4, 0.9)}
    return float(
        differential_evolution(
            objectives, box, vectorized=True, updating="deferred", seed=seed, **options
        ).fun
    )


def test_no_draw_is_caught_in_a_valley() -> None:
    """Twelve runs with one that is far off: half of such draws have a second valley."""
    n, d = (one.ravel() for one in np.meshgrid(4.0 ** np.arange(4, 8), 4.0 ** np.arange(8, 11)))
    rng = np.random.default_rng(3)
    loss = 20 * n**-0.7 + 300 * d**-0.65
    runs = Runs(n, d, loss * np.exp(0.1 * rng.standard_t(2, 12)))
    counts = draws(runs, 12, np.random.default_rng(0), floor=0.0)
    for law, times in zip(fit_each(runs, counts, floor=0.0), counts, strict=True):
        best = min(searched(runs, times, seed) for seed in range(2))
        assert objective(law, runs, counts=times) <= best * (1 + 1e-6)


def test_no_other_way_goes_lower() -> None:
    runs = drawn(scatter=0.02)
    law = fit(runs)
    best = objective(law, runs)
    for seed in range(3):
        push = 1 + 0.05 * np.random.default_rng(seed).standard_normal(5)
        found = minimize(
            lambda x: objective(Law(*x), runs),
            constants(law) * push,
            method="Nelder-Mead",
            options={"maxiter": 3000, "adaptive": True},
        )
        assert found.fun >= best * (1 - 1e-9)


def test_a_run_that_counts_twice_is_there_twice() -> None:
    runs, counts = drawn(scatter=0.02, size=20), np.arange(20) % 3
    twice = runs.keep(np.repeat(np.arange(20), counts))
    assert objective(LAW, runs, counts=counts) == pytest.approx(objective(LAW, twice))
    assert constants(fit(runs, counts=counts)) == pytest.approx(constants(fit(twice)), rel=1e-3)


def test_huber_is_a_square_and_then_a_line() -> None:
    n = d = np.array([1e8])
    loss = LAW.loss(n, d)
    for off, want in ((0.0005, 0.0005**2 / 2), (0.01, 1e-3 * (0.01 - 1e-3 / 2))):
        for sign in (1, -1):
            runs = Runs(n, d, loss * np.exp(sign * off))
            assert objective(LAW, runs) == pytest.approx(want)


@every("compute", [1e18, 1e24])
def test_the_optimum_is_lower_than_its_neighbours(compute: float) -> None:
    n, d = LAW.optimum(compute)
    assert 6 * n * d == pytest.approx(compute)
    nearby = n * np.array([0.99, 1.01])
    assert (LAW.loss(nearby, compute / 6 / nearby) > LAW.loss(n, d)).all()
    assert np.log(LAW.optimum(100 * compute)[0] / n) / np.log(100) == pytest.approx(LAW.share)


def test_a_bootstrap_scatters_as_its_runs_do() -> None:
    rng = np.random.default_rng
    still = bootstrap(drawn(), 5, rng(1))
    assert all(constants(one) == pytest.approx(constants(LAW), rel=1e-3) for one in still)
    first, again = (bootstrap(drawn(scatter=0.01), 8, rng(1)) for _ in range(2))
    assert first == again
    wide = bootstrap(drawn(scatter=0.04), 8, rng(1))
    assert np.std([x.share for x in wide]) > 2 * np.std([x.share for x in first]) > 0


def test_a_prediction_has_the_scatter_of_a_run() -> None:
    factors = np.linspace(0.9, 1.1, 201)
    runs = drawn(size=201)
    runs = runs._replace(loss=runs.loss * factors)
    low, high = predict([LAW] * 4000, runs, 1e9, 1e10, np.random.default_rng(0))
    true = float(LAW.loss(1e9, 1e10))
    assert (low / true, high / true) == pytest.approx((0.905, 1.095), abs=0.003)
    assert predict([LAW] * 10, drawn(), 1e9, 1e10, np.random.default_rng(0)) == pytest.approx(
        (true, true)
    )


GRID = [one.ravel() for one in np.meshgrid(4.0 ** np.arange(8, 11), 4.0 ** np.arange(9, 12))]
NINE = Runs(*GRID, LAW.loss(*GRID))


def test_fewer_runs_than_constants_are_refused() -> None:
    same = np.zeros(4, int)
    for few, floor, least in ((4, None, 5), (3, 0.0, 4), (1, None, 5)):
        with pytest.raises(ValueError, match=f"least {least} different runs; got {few}"):
            fit(NINE.keep(np.array([0, 1, 3, 8])[:few]), floor)
    with pytest.raises(ValueError, match="least 4 different runs; got 1"):
        fit(NINE.keep(same), 0.0)
    with pytest.raises(ValueError, match="least 5 different runs; got 4"):
        fit(NINE, counts=np.array([2, 1, 3, 1, 0, 0, 0, 0, 0]))


@every(
    "case",
    [
        (NINE.n == NINE.n[0], 0.0, "least 4 different runs"),
        (NINE.n < NINE.n.max(), None, "3 sizes and 3 numbers of tokens; got 2 and 3"),
        (np.array([0, 1, 3, 4]), 0.0, "3 sizes and 2, or 2 and 3, numbers of tokens; got 2 and 2"),
    ],
)
def test_runs_that_leave_constants_open_are_refused(
    case: tuple[np.ndarray, float | None, str],
) -> None:
    kept, floor, why = case
    with pytest.raises(ValueError, match=why):
        fit(NINE.keep(kept), floor)
    with pytest.raises(ValueError, match=why):
        bootstrap(NINE.keep(kept), 3, np.random.default_rng(0), floor)


def test_tokens_in_proportion_to_sizes_tell_no_terms_apart() -> None:
    n = np.geomspace(1e6, 1e9, 12)
    for d in (20 * n, 3 * n**0.8):
        with pytest.raises(ValueError, match="tokens are a power of sizes"):
            fit(Runs(n, d, LAW.loss(n, d)))
    d = 1e18 / n  # one budget: one term falls and the other rises
    assert constants(fit(Runs(n, d, LAW.loss(n, d)))) == pytest.approx(constants(LAW), rel=1e-3)


@every("column", ["n", "d", "loss"])
@every("value", [np.nan, np.inf, 0.0, -1.0])
def test_a_run_that_is_none_is_named(column: str, value: float) -> None:
    spoiled = getattr(NINE, column).copy()
    spoiled[7] = value
    runs = NINE._replace(**{column: spoiled})
    rng = np.random.default_rng(0)
    for use in (
        lambda: fit(runs),
        lambda: bootstrap(runs, 3, rng),
        lambda: explained(LAW, runs),
        lambda: objective(LAW, runs),
        lambda: predict([LAW], runs, 1e9, 1e10, rng),
    ):
        with pytest.raises(ValueError, match=rf"{column} of each run .*; run 7 has {value}"):
            use()


def test_what_fits_no_run_or_law_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=r"rows of one length; got \(9,\), \(8,\), \(9,\)"):
        fit(NINE._replace(d=NINE.d[1:]))
    for floor in (np.nan, -1.0, np.inf):
        with pytest.raises(ValueError, match=f"floor must be finite and at least 0; got {floor}"):
            fit(NINE, floor)
    for delta in (0.0, np.nan):
        with pytest.raises(ValueError, match=f"delta must be above 0; got {delta}"):
            fit(NINE, delta=delta)
    for counts in (np.ones(8), np.append(np.ones(8), -1), np.append(np.ones(8), np.nan)):
        with pytest.raises(ValueError, match="counts must be 9 numbers, finite and at least 0"):
            fit(NINE, counts=counts)
    for n in (0.0, np.nan, np.inf):
        with pytest.raises(ValueError, match="n and d must be finite and above 0"):
            predict([LAW], NINE, n, 1e10, rng)
    with pytest.raises(ValueError, match="laws is empty"):
        predict([], NINE, 1e9, 1e10, rng)
    with pytest.raises(ValueError, match="laws is empty"):
        ends([], "alpha")
    with pytest.raises(ValueError, match="all losses are the same"):
        explained(LAW, NINE._replace(loss=np.ones(9)))


def test_draws_that_leave_constants_open_are_drawn_again() -> None:
    runs = NINE.keep(np.array([0, 1, 2, 3, 4, 6, 8]))
    counts = draws(runs, 100, np.random.default_rng(0), floor=0.0)
    first = np.random.default_rng(0).multinomial(7, np.full(7, 1 / 7), size=100)
    few = (first > 0).sum(axis=1) < 4
    assert few.any()
    again = (counts != first).any(axis=1)
    assert again[few].all()
    assert (counts.sum(axis=1) == 7).all()
    assert ((counts > 0).sum(axis=1) >= 4).all()
    assert len(fit_each(runs, counts, floor=0.0)) == 100
    by_size = draws(NINE, 50, np.random.default_rng(0), floor=0.0, group=NINE.n)
    for n in np.unique(NINE.n):
        assert (np.ptp(by_size[:, NINE.n == n], axis=1) == 0).all()


def test_losses_far_off_a_law_overflow_nowhere() -> None:
    """A step, sizes of every order, a loss that rises: warnings are errors."""
    n, d = (
        one.ravel() for one in np.meshgrid(10.0 ** np.arange(0, 18, 3), 10.0 ** np.arange(0, 20, 4))
    )
    rng = np.random.default_rng(0)
    for loss in (
        np.where(n < 10, 1e3, 1e-3),
        n**0.3 * d**0.2,
        np.exp(5 * rng.standard_normal(len(n))),
        np.full(len(n), 2.0) + (n == n[0]),
    ):
        for floor in (None, 0.0):
            law = fit(Runs(n, d, loss), floor)
            assert np.isfinite(constants(law)).all()
            assert np.isfinite(law.loss(n, d)).all()
            assert 0.01 <= min(law.alpha, law.beta) <= max(law.alpha, law.beta) <= 5
