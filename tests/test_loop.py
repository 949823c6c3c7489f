"""The loop of training: against one written by hand in NumPy, in parts, and in two processes."""

import json
import math
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from every import every
from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import leaves, named_leaves, tree_map
from tformer.training import Recipe, learning_rate_at, train
from tformer_book.experiments.training import Adam

GPT = Configuration(activation="gelu_tanh")
FIRST = initialise(Sizes(11, 8, 2, 2, 16, n_positions=8), GPT, np.random.default_rng(0), 0.2)
DECAYS = {
    **dict.fromkeys(("w_q", "w_k", "w_v", "w_o", "w_in", "w_out", "w_gate"), True),
    **dict.fromkeys(("embedding", "unembedding"), True),
    **dict.fromkeys(("b_q", "b_k", "b_v", "b_o", "b_in", "b_out", "gain", "bias"), False),
    **dict.fromkeys(("positions", "distances"), False),
}
"""What decays, by the field's habit: matrices and tables of words, no biases, gains or places."""
PROCESSES = Path(__file__).parent / "two_processes.py"


def module(kind: Any = np.float64, dropout: float = 0.0) -> fast.Module:
    tensors = tree_map(lambda x: torch.from_numpy(x.astype(kind)), FIRST)
    return fast.Module(fast.decoder, tensors, configuration=replace(GPT, dropout=dropout))


def batch(step: int) -> tuple[np.ndarray, ...]:
    """Texts of different lengths: a mean over parts is not the mean of the parts' means."""
    rng = np.random.default_rng([3, step])
    tokens = rng.integers(0, 11, (5, 9))
    for row, size in zip(tokens, rng.integers(2, 9, 5), strict=True):
        row[size:] = -1
    return next_tokens(tokens)


def by_hand(recipe: Recipe) -> list[tuple[float, float]]:
    """Losses and norms, from the gradients that `reference` derives."""
    p = tree_map(np.copy, FIRST)
    some = [DECAYS[name.split(".")[-1]] for name, _ in named_leaves(p)]
    parts = [[x for x, one in zip(leaves(p), some, strict=True) if one == kind] for kind in (0, 1)]
    adams = [
        Adam(part, recipe.betas, recipe.eps, decay)
        for part, decay in zip(parts, (0.0, recipe.decay), strict=True)
    ]
    found = []
    for step in range(1, recipe.steps + 1):
        given, wanted = batch(step)
        logits = reference.decoder(given, p, GPT)
        share = np.where(wanted < 0, 0, 1 / (wanted >= 0).sum())
        loss = (share * reference.cross_entropy(logits, wanted)).sum()
        dlogits = reference.cross_entropy_vjp(logits, wanted, share)
        gradients = leaves(reference.decoder_vjp(given, p, GPT, dlogits)[0])
        norm = math.sqrt(sum((x * x).sum() for x in gradients))
        scale = 1.0 if recipe.clip is None else min(1.0, recipe.clip / (norm + 1e-6))
        for kind, adam in enumerate(adams):
            pairs = zip(gradients, some, strict=True)
            adam.step(
                [scale * x for x, one in pairs if one == kind], learning_rate_at(recipe, step)
            )
        found.append((loss, norm))
    return found


RECIPES = {
    "plain": Recipe(20, 0.01),
    "clipped": Recipe(20, 0.01, clip=0.3, decay=3.0),
    "never clipped": Recipe(20, 0.01, clip=None, warmup=10, schedule="inverse_sqrt"),
    "in parts": Recipe(20, 0.01, accumulate=3, betas=(0.5, 0.7), eps=1e-3, schedule="constant"),
    "in more parts than rows": Recipe(20, 0.01, accumulate=7),
}


@pytest.mark.parametrize("name", RECIPES)
def test_the_loop_is_that_by_hand(name: str) -> None:
    recipe = RECIPES[name]
    found = [(metrics.loss, metrics.norm) for metrics in train(module(), batch, recipe)]
    np.testing.assert_allclose(found, by_hand(recipe), rtol=1e-10)


def asked(
    recipe: Recipe, dropout: float = 0.0, stop: int | None = None, **options: Any
) -> dict[str, Any]:
    """A training for two processes, which they may leave after a step."""
    model = {"dropout": dropout}
    return {"recipe": asdict(recipe), "model": model, "stop": stop, "options": options}


LAUNCHER = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]


def in_two_processes(*trainings: dict[str, Any], launcher: bool = False) -> list[dict[str, Any]]:
    """What the first of two tells of each training, forked or by PyTorch's own launcher."""
    command = [sys.executable, *(LAUNCHER if launcher else ())]
    command += [str(PROCESSES), json.dumps(trainings)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr[-3000:]
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_two_processes_give_the_losses_of_one(tmp_path: Path) -> None:
    """Five rows for two, in three parts; from the start, and from where one process stopped.

    One alone writes: the metrics of steps that are made again stand there once.
    """
    recipe = Recipe(20, 0.01, accumulate=3, smoothing=0.1)
    one = [metrics.loss for metrics in train(module(), batch, recipe)]
    stopped = train(module(), batch, recipe, tmp_path, every=4)
    assert next(metrics.loss for metrics in stopped if metrics.step == 6) == one[5]
    again = asked(recipe, folder=str(tmp_path))
    two, rest = in_two_processes(asked(recipe), again, launcher=True)
    np.testing.assert_allclose(two["losses"], one, rtol=1e-12)
    np.testing.assert_allclose(rest["losses"], one[4:], rtol=1e-12)
    lines = (tmp_path / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["step"] for line in lines] == [*range(1, 21)]


def test_rates_rise_in_a_line_and_end_where_they_should() -> None:
    cosine = Recipe(100, 0.2, warmup=10, last=0.25)
    rates = [learning_rate_at(cosine, step) for step in range(1, 101)]
    np.testing.assert_allclose(rates[:10], 0.2 * np.arange(1, 11) / 10)
    assert rates[54] == pytest.approx(0.2 * (1 + 0.25) / 2)  # halfway between 10 and 100
    assert rates[99] == pytest.approx(0.05)
    assert (np.diff(rates[10:]) < 0).all()
    inverse = Recipe(100, 0.2, warmup=16, schedule="inverse_sqrt")
    assert learning_rate_at(inverse, 16) == pytest.approx(0.2)
    assert learning_rate_at(inverse, 64) == pytest.approx(0.1)
    assert learning_rate_at(inverse, 4) == pytest.approx(0.05)
    d_model = 64  # the form of the first paper, section 5.3
    for step in (1, 15, 16, 17, 100):
        theirs = d_model**-0.5 * min(step**-0.5, step * 16**-1.5)
        scaled = Recipe(100, (d_model * 16) ** -0.5, warmup=16, schedule="inverse_sqrt")
        assert learning_rate_at(scaled, step) == pytest.approx(theirs)
    assert learning_rate_at(Recipe(9, 0.2, schedule="constant"), 9) == 0.2
    assert learning_rate_at(Recipe(1, 0.2, warmup=1), 1) == 0.2


def test_half_precision_follows_at_a_distance() -> None:
    found = {
        kind: [m.loss for m in train(module(np.float32), batch, Recipe(20, 0.01, precision=kind))]
        for kind in ("float32", "bfloat16", "float16")
    }
    for kind, bound in [("bfloat16", 0.03), ("float16", 0.006)]:
        apart = np.abs(np.array(found[kind]) - found["float32"])
        assert 0 < apart.max() < bound, kind


def test_a_loss_that_is_not_finite_stops_before_the_step(tmp_path: Path) -> None:
    broken = module(np.float32)
    training = train(broken, batch, Recipe(9, 0.01), tmp_path, every=1)
    for metrics in training:
        if metrics.step == 3:
            with torch.no_grad():
                broken.tree.embedding[:] = np.inf
            break
    before = [x.clone() for x in broken.parameters()]
    with pytest.raises(FloatingPointError, match="the loss of step 4 is nan"):
        next(training)
    for x, same in zip(broken.parameters(), before, strict=True):
        assert torch.equal(x, same)
    again = module(np.float32)
    assert next(train(again, batch, Recipe(9, 0.01), tmp_path, every=1)).step == 4


WRONG: dict[str, Any] = {
    "steps": -1,
    "rate": math.nan,
    "warmup": 6,
    "schedule": "linear",
    "last": 1.5,
    "betas": (0.9, 1.0),
    "eps": 0.0,
    "decay": math.inf,
    "clip": 0.0,
    "smoothing": 1.0,
    "accumulate": 0,
    "precision": "float64",
    "recompute": 1,
    "fused": 1,
    "seed": -1,
}


@every("name", WRONG)
def test_a_recipe_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"Recipe: {name} must be .*; got "):
        Recipe(**{"steps": 5, "rate": 0.1, name: WRONG[name]})


def test_other_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="every must be above 0; got 0"):
        next(train(module(), batch, Recipe(5, 0.1), every=0))
    with pytest.raises(ValueError, match='warmup must be above 0 for "inverse_sqrt"; got 0'):
        Recipe(5, 0.1, schedule="inverse_sqrt")
