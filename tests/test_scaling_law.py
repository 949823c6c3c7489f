"""The fit of a law: its gradient, its weights, laws that are known, and what is resampled."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, minimize

from every import every
from tformer.experiments.scaling import Law, Runs, bootstrap, fit, objective, predict
from tformer.experiments.scaling.law import _Problem

LAW = Law(1.8, 480.0, 2100.0, 0.35, 0.37)


def drawn(law: Law = LAW, scatter: float = 0.0, size: int = 40, seed: int = 0) -> Runs:
    rng = np.random.default_rng(seed)
    n, d = np.exp(rng.uniform(np.log([[1e7], [1e8]]), np.log([[1e10], [1e12]]), (2, size)))
    return Runs(n, d, law.loss(n, d) * np.exp(scatter * rng.standard_normal(size)))


def constants(law: Law) -> np.ndarray:
    return np.array([law.floor, law.a, law.b, law.alpha, law.beta])


@every("floor", [None, 0.0, 1.5])
def test_the_gradient_is_that_of_the_objective(floor: float | None) -> None:
    runs, counts = drawn(scatter=0.05), np.arange(40) % 3
    problem = _Problem(runs, floor, 0.02, counts)
    at = np.array([-1.1, -0.8, 0.3, 0.5, 0.2])[: 5 if floor is None else 4]
    slope = approx_fprime(at, lambda x: problem(x)[0], 1e-7)
    assert problem(at)[1] == pytest.approx(slope, rel=1e-4, abs=1e-6)
    assert problem(at)[0] == pytest.approx(objective(problem.outside(at), runs, 0.02, counts))
    assert problem.inside(problem.outside(at)) == pytest.approx(at)


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
    runs, counts = drawn(scatter=0.02), np.arange(40) % 3
    problem = _Problem(runs, floor, 1e-3, counts)
    for at in problem.grid():
        law = problem.outside(at)
        terms = [runs.n**-law.alpha, runs.d**-law.beta, np.ones(40)][: 3 if floor is None else 2]
        relative = (law.loss(runs.n, runs.d) - runs.loss) / runs.loss
        for term in terms:
            size = counts @ np.abs(term / runs.loss * relative)
            assert abs(counts @ (term / runs.loss * relative)) < 1e-9 * size


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


def test_runs_that_tell_no_law_are_refused() -> None:
    n = d = np.array([1e8, 1e9, 1e10])
    with pytest.raises(ValueError, match="these runs determine no law"):
        fit(Runs(n, d, np.array([1.0, 2.0, 3.0])))
