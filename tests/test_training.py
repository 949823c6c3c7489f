"""The optimisers and the loop of the experiments, in both libraries, against PyTorch's own."""

from typing import Any

import numpy as np
import pytest
import torch

from tformer.parameters import HeadParameters, leaves, tree_map
from tformer_book.experiments.training import Adam, Descent, linear_schedule, training

STEPS = 30


def start() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    heads = HeadParameters(*rng.standard_normal((4, 2, 3, 3)))
    return {"table": rng.standard_normal((4, 3)), "heads": heads}


def pull(x: Any) -> Any:
    """Gradient of a loss with narrow and wide directions, zero somewhere."""
    return x**3 - 0.5 * x * (x > 0)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("kind", ["SGD", "Adam", "AdamW"])
def test_steps_are_those_of_pytorch(kind: str, library: str) -> None:
    mine = convert(start(), library)
    theirs = [torch.tensor(x, requires_grad=True) for x in leaves(start())]
    moments: dict[str, Any] = {} if kind == "SGD" else {"betas": (0.9, 0.98), "eps": 1e-6}
    share = 0.7 if kind == "AdamW" else 0.0
    optimiser = getattr(torch.optim, kind)(theirs, **moments, weight_decay=share)
    ours = Adam(mine, **moments, decay=share) if moments else Descent(mine)

    def rate(step: int) -> float:
        return 0.02 * min(1, step / 10)

    steps = training(ours, lambda: tree_map(pull, tree_map(plain, mine)), STEPS, rate)
    for step in steps:
        optimiser.param_groups[0]["lr"] = rate(step)
        for x in theirs:
            x.grad = pull(x.detach())
        optimiser.step()
        for one, other in zip(leaves(mine), theirs, strict=True):
            np.testing.assert_allclose(plain(one), other.detach(), rtol=0, atol=1e-12)
    assert step == STEPS
    moved = [
        np.ptp(np.asarray(plain(a)) - b) for a, b in zip(leaves(mine), leaves(start()), strict=True)
    ]
    assert min(moved) > 0.01


def convert(tree: Any, library: str) -> Any:
    return (
        tree if library == "numpy" else tree_map(lambda x: torch.tensor(x).requires_grad_(), tree)
    )


def plain(x: Any) -> Any:
    return x.detach() if isinstance(x, torch.Tensor) else x


def test_a_rate_may_be_an_array_of_one_for_each_run() -> None:
    table = np.ones((3, 2))
    for _ in training(Descent([table]), lambda: [table], 1, np.array([[0.0], [0.5], [1.0]])):
        pass
    np.testing.assert_array_equal(table, [[1, 1], [0.5, 0.5], [0, 0]])


def test_the_rate_rises_and_falls_along_lines() -> None:
    rates = [linear_schedule(2.0, 100)(step) for step in (1, 10, 50, 51, 100, 101)]
    assert rates == pytest.approx([0.1, 1, 1.02, 1, 0.02, 0], abs=1e-12)
