"""Regression in context: shapes of batches, and what the formulas say at their ends."""

import numpy as np
import pytest

from tformer_book.chapters.ch18.regression import (
    answer,
    answers,
    best_loss,
    best_step,
    descend,
    layer,
    least_squares,
    loss_of_step,
    ridge,
    tokens,
    with_question_as_key,
)


def test_a_batch_is_computed_as_each_of_its_tasks() -> None:
    rng = np.random.default_rng(0)
    x, y, q = rng.normal(size=(4, 6, 3)), rng.normal(size=(4, 6, 2)), rng.normal(size=(4, 3))
    for call in (layer, with_question_as_key):
        e = call(call(tokens(x, y, q), 3, 0.2), 3, 0.2)
        for i in range(4):
            one = call(call(tokens(x[i], y[i], q[i]), 3, 0.2), 3, 0.2)
            np.testing.assert_allclose(e[i], one, atol=1e-14)
    found = answers(x, y, q, 0.2, 3)
    assert found.shape == (4, 4, 2)
    np.testing.assert_allclose(found[2], answer(layer(layer(tokens(x, y, q), 3, 0.2), 3, 0.2), 3))


def test_many_steps_come_to_least_squares_the_shortest_if_there_are_several() -> None:
    rng = np.random.default_rng(1)
    for n in (2, 6):
        x, y = rng.normal(size=(n, 3)), rng.normal(size=(n, 1))
        step = 1 / np.linalg.eigvalsh(x.T @ x / n)[-1]
        np.testing.assert_allclose(descend(x, y, step, 20000), least_squares(x, y), atol=1e-6)


def test_ridge_is_between_zero_and_least_squares() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(6, 3)), rng.normal(size=(6, 1))
    np.testing.assert_allclose(ridge(x, y, 1e-9), least_squares(x, y), atol=1e-6)
    sizes = [float(np.linalg.norm(ridge(x, y, penalty))) for penalty in (0.1, 1, 10, 1e6)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] < 1e-4


@pytest.mark.parametrize(("n", "d", "noise"), [(10, 5, 0.0), (3, 2, 1.5)])
def test_the_best_step_is_the_lowest_place(n: int, d: int, noise: float) -> None:
    best = best_step(n, d, noise)
    least = loss_of_step(n, d, best, noise)
    assert least == pytest.approx(best_loss(n, d, noise))
    assert least < min(loss_of_step(n, d, best + off, noise) for off in (-0.01, 0.01))


def test_the_formula_is_what_tasks_have_on_average() -> None:
    """40,000 tasks: a standard error of .4 %."""
    rng = np.random.default_rng(3)
    w, x = rng.normal(size=(40000, 2, 1)), rng.normal(size=(40000, 4, 2))
    q = rng.normal(size=(40000, 2))
    y = x @ w + 0.5 * rng.normal(size=(40000, 4, 1))
    got = answers(x, y, q, 0.6, 1)[1, :, 0]
    error = ((got - (q[:, None] @ w)[:, 0, 0]) ** 2).mean() / 2
    assert error == pytest.approx(loss_of_step(4, 2, 0.6, 0.5), rel=0.03)
