"""A step that would spoil what is there is not made, and one that cannot teach is refused."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from every import every
from test_any_module import STEPS, Plain, batch, ran
from tformer.training import Recipe, train


class Broken(Plain):
    """One of its gradients is not finite from the third call on; its loss is."""

    def __init__(self, value: float, calls: int = 1) -> None:
        super().__init__()
        self.value, self.calls, self.bad = value, 0, range(3, 3 + calls)

    def forward(self, tokens: Any) -> Any:
        self.calls += 1
        scores = super().forward(tokens)
        if self.calls in self.bad:
            scores.register_hook(lambda grad: grad * self.value)
        return scores


@every(
    "case",
    [(v, c, p) for v in (np.nan, np.inf) for c in (None, 1.0) for p in ("float32", "bfloat16")],
)
def test_a_gradient_that_is_not_finite_stops_before_the_step(
    case: tuple[float, float | None, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    value, clip, precision = case
    folder, model = tmp_path_factory.mktemp("broken"), Broken(value)
    recipe = Recipe(STEPS, 0.05, clip=clip, precision=precision)
    steps = train(model, batch, recipe, folder, every=1)
    assert [next(steps).step, next(steps).step] == [1, 2]
    before = [x.clone() for x in model.parameters()]
    saved = (folder / "checkpoint.safetensors").read_bytes()
    with pytest.raises(FloatingPointError, match="the gradient norm of step 3 is nan"):
        next(steps)
    assert all(map(torch.equal, before, model.parameters()))
    assert (folder / "checkpoint.safetensors").read_bytes() == saved
    assert len(ran(Plain(), recipe, folder)) == STEPS - 2  # and it can be gone on with


def test_scaled_losses_leave_a_step_out_and_do_not_do_so_for_ever() -> None:
    model = Broken(np.inf)
    steps = train(model, batch, Recipe(STEPS, 0.05, precision="float16"))
    next(steps)
    next(steps)
    before = [x.clone() for x in model.parameters()]
    assert not np.isfinite(next(steps).norm)
    assert all(map(torch.equal, before, model.parameters()))
    assert np.isfinite(next(steps).norm)
    assert not all(map(torch.equal, before, model.parameters()))
    model = Broken(np.nan, calls=10**6)
    with pytest.raises(FloatingPointError, match="the gradient norm of step 19 is nan"):
        ran(model, Recipe(100, 0.05, precision="float16"))
    assert all(x.isfinite().all() for x in model.parameters())


def test_gradients_are_those_of_the_loss_and_not_of_the_scaled_one_when_they_are_clipped() -> None:
    """With a large `eps` a step of Adam is as long as the clipped gradient."""
    ends: dict[str, Any] = {}
    for precision in ("float32", "float16"):
        model = Plain()
        start = [x.detach().clone() for x in model.parameters()]
        recipe = Recipe(1, 1.0, schedule="constant", clip=0.01, eps=1e3, decay=0.0)
        recipe = replace(recipe, precision=precision)
        (made,) = ran(model, recipe)
        moves = [x.detach() - y for x, y in zip(model.parameters(), start, strict=True)]
        ends[precision] = made.norm, torch.cat([x.flatten() for x in moves]).norm().item()
    assert ends["float16"] == pytest.approx(ends["float32"], rel=0.01)
    assert ends["float32"][0] > 0.05  # it is clipped
    assert ends["float32"][1] == pytest.approx(0.01 / 1e3, rel=0.01)


def test_parameters_that_are_not_finite_are_not_saved(tmp_path: Path) -> None:
    """In the row of a word that no text has: the loss and the gradients do not see it."""
    model = Plain()
    steps = train(
        model, lambda step: tuple(x % 6 for x in batch(step)), Recipe(9, 0.05), tmp_path, every=2
    )
    assert [next(steps).step for _ in range(3)] == [1, 2, 3]
    saved = (tmp_path / "checkpoint.safetensors").read_bytes()
    with torch.no_grad():
        model.table.weight[6] = np.inf
    words = r"after step 4 parameters\.table\.weight is not finite; it is not saved"
    with pytest.raises(FloatingPointError, match=words):
        next(steps)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == saved


BATCHES: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "no target": (lambda x, y: (x, 0 * y - 1), "the batch of step 1 has no target"),
    "no row": (lambda x, y: (x[:0], y[:0]), "the batch of step 1 has no target"),
    "-100": (lambda x, y: (x, np.where(y > 3, -100, y)), "targets of -1 or more, .*; got -100"),
    "too large": (lambda x, y: (x, y + 1), "targets must be below 7, as the logits; got 7"),
    "rows": (lambda x, y: (x, y[:3]), r"one number of rows in all arrays; got \[4, 3\]"),
    "words": (lambda x, y: (x, y[:, 1:]), r"logits must have the shape \(4, 4, 'N'\); got \(4, 5"),
    "turned": (lambda x, y: (x[:, :4], y[:, :4].T[:, :4, None][..., 0][:, :, None]), "logits must"),
}


@every("name", BATCHES)
def test_a_batch_that_teaches_nothing_or_something_else_says_so(name: str) -> None:
    change, words = BATCHES[name]
    model = Plain()
    before = [x.clone() for x in model.parameters()]
    with pytest.raises(ValueError, match=f"^train: .*{words}"):
        next(train(model, lambda step: change(*batch(step)), Recipe(3, 0.1)))
    assert all(map(torch.equal, before, model.parameters()))


def test_a_checkpoint_of_other_types_or_buffers_is_of_another_model(tmp_path: Path) -> None:
    recipe = Recipe(STEPS, 0.05)
    ran(Plain(nn.BatchNorm1d(8)), recipe, tmp_path, stop=4)
    before = (tmp_path / "checkpoint.safetensors").read_bytes()
    for other, words in [
        (Plain(nn.BatchNorm1d(8)).double(), "float32 there, float64 here"),
        (Plain(nn.BatchNorm1d(8, affine=False)), r"between.bias is \(8,\) there, absent here"),
        (Plain(nn.LayerNorm(8)), r"buffers.between.num_batches_tracked is \(\) there, absent"),
        (Plain(nn.BatchNorm1d(8, track_running_stats=False)), "buffers.between.num_batches_track"),
    ]:
        with pytest.raises(ValueError, match=f"is of another model: .*{words}"):
            ran(other, recipe, tmp_path)
    assert (tmp_path / "checkpoint.safetensors").read_bytes() == before
