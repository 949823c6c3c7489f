"""The models of chapter 21 trained again: they begin as they did, and one ends as it is stored."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tformer.parameters import leaves
from tformer_book.chapters.ch21 import captions, life_learnt, recognise, series, sets

BEGUN: dict[str, tuple[Callable[[], Any], float]] = {
    "captions": (lambda: captions.trained(0, until=4), 1285.767407),
    "digits": (lambda: recognise.trained(0, until=20), 930.041013),
    "no positions": (lambda: recognise.trained(1, "random", 0, until=20), 851.397712),
    "life": (lambda: life_learnt.trained(0, until=40), 90.936962),
    "series": (lambda: series.trained(1, 0, until=40), 576.484450),
    "mean": (lambda: sets.trained("mean", 0, until=40), 182.093628),
    "attention": (lambda: sets.trained("attention", 0, until=40), 216.092343),
    "largest": (lambda: sets.trained("largest", 0, until=40), 181.723204),
}
"""The sum of squares of all parameters after the first steps of a training that is stored."""


@pytest.mark.parametrize("name", BEGUN)
def test_a_training_begins_as_it_did(name: str) -> None:
    """Without vector kernels, and with those of two other processors, the same to 1e-8."""
    train, squares = BEGUN[name]
    found = sum(float((x.detach().double() ** 2).sum()) for x in leaves(train()))
    assert found == pytest.approx(squares, rel=1e-6)


def test_the_neighbourhood_is_there_after_300_steps() -> None:
    """With and without vector kernels neighbours have .111 to .112, and the cell itself .01."""
    found = life_learnt.measured(life_learnt.trained(0, until=300))
    weights = np.roll(np.reshape(found["weights"], (8, 8)), (1, 1), (0, 1))
    assert weights[1, 1] < 0.03
    np.testing.assert_allclose(np.delete(weights[:3, :3].ravel(), 4), 0.111, atol=0.006)


def test_a_board_that_repeats_itself_is_read_like_one_of_its_parts() -> None:
    """With the new offsets hidden, each cell of 16 × 16 sees each cell of the 8 × 8 once."""
    rng = np.random.default_rng(0)
    model = {**life_learnt.begin(0), "bias": rng.normal(size=64)}
    small = life_learnt.boards(rng, 4)
    wider = np.tile(small, (1, 2, 2)).reshape(4, -1)
    bias = life_learnt.carried(model["bias"], 16, -np.inf)
    found = life_learnt.score(wider, model, bias=bias).reshape(4, 16, 16)
    want = np.tile(life_learnt.score(small.reshape(4, -1), model).reshape(4, 8, 8), (1, 2, 2))
    np.testing.assert_allclose(found, want, atol=1e-12)


def test_a_series_ends_as_it_is_stored() -> None:
    """To a hundredth of a degree."""
    told = series.stored()["1"]
    found = series.transformer(1, series.trained(1, 2, int(told["steps"][2])))
    assert found == pytest.approx(told["errors"][2], abs=0.01)


def test_a_training_stops_where_ten_years_are_told_best(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that are off by more degrees, the further they are from step 105."""

    def trained(ahead: int, seed: int, until: int, months: int) -> int:
        assert months == 360
        return until

    said = series.anomalies()[360:480]
    monkeypatch.setattr(series, "trained", trained)
    monkeypatch.setattr(series, "answers", lambda seen, step: said + abs(step - 105))
    assert series.steps(1, 0) == 100


def test_the_stored_digits_are_read_as_well_as_before_they_were_rounded() -> None:
    """Float16 moves three digits of 597 at most."""
    model = recognise.tensors(recognise.model())
    told = recognise.stored()
    order = recognise.permutation()
    assert recognise.right(model) == pytest.approx(told["file order"]["positions"][0], abs=0.005)
    permuted = recognise.right(model, change=lambda x: x[:, order])
    assert permuted == pytest.approx(told["permuted in the test"][0], abs=0.01)
