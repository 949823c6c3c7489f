"""Training on the three tasks, in PyTorch: what `tasks.stored` holds is made here."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer.chapters.ch11.tasks import (
    ALL,
    CONFIGURATION,
    FILE,
    RUNS,
    SEEDS,
    STORIES,
    WORDS,
    Examples,
    examples,
)
from tformer.experiments.threads import one_thread
from tformer.experiments.training import Adam, training
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, leaves, tree_map
from tformer.world.stories import Stories

__all__ = ["chances", "measured", "scores", "trained", "tried", "written"]

D_MODEL, N_LAYERS, STEPS, BATCH, RATE = 32, 2, 400, 64, 0.005


def scores(form: str, p: Any, source: Tensor, words: Tensor, n_prefix: int = 0) -> Tensor:
    """Scores of all words at every place of `words`, by an architecture of that form."""
    if form == "pair":
        return fast.encoder_decoder(source, words, p, CONFIGURATION)
    if form == "decoder":
        return fast.decoder(words, p, CONFIGURATION)
    n = words.shape[-1]
    mask = fast.prefix_mask(n, n, n_prefix) if form == "prefix" else None
    return fast.unembed(fast.encoder(words, p, CONFIGURATION, mask), p)


def _start(form: str, seed: int) -> Any:
    """Parameters to start from, in float32; a pair has its layers on two sides."""
    rng = np.random.default_rng(seed)
    sizes = Sizes(len(WORDS), D_MODEL, N_LAYERS, 2, 4 * D_MODEL, n_positions=20)
    if form != "pair":
        p: Any = initialise(sizes, CONFIGURATION, rng, std=0.1)
    else:
        halves = {"n_layers": N_LAYERS // 2}
        one = Sizes(**vars(sizes) | halves)
        two = Sizes(**vars(sizes) | halves | {"crossed": True})
        p = EncoderDecoderParameters(
            *(initialise(half, CONFIGURATION, rng, std=0.1) for half in (one, two))
        )
    return tree_map(lambda x: torch.tensor(x, dtype=torch.float32, requires_grad=True), p)


def trained(task: str, form: str, seed: int = 0, steps: int = STEPS) -> Any:
    """Train an architecture on a task, on one thread; its parameters, as tensors in float32."""
    given = examples(task, ALL.split()[0], form == "pair")
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    rng, p = np.random.default_rng(seed), _start(form, seed)

    def gradients() -> tuple[Tensor, ...]:
        some = torch.from_numpy(rng.integers(0, len(words), BATCH))
        z, right = scores(form, p, source[some], words[some], given.n_prefix), asked[some]
        loss = fast.cross_entropy(z[right >= 0], right[right >= 0]).mean()
        return torch.autograd.grad(loss, leaves(p), allow_unused=True, materialize_grads=True)

    def rate(step: int) -> float:
        return RATE * min(step / 20, 1) * (1 + math.cos(math.pi * step / steps)) / 2

    with one_thread():
        for _ in training(Adam(p, betas=(0.9, 0.98)), gradients, steps, rate):
            pass
    return tree_map(Tensor.detach, p)


def written(form: str, p: Any, given: Examples) -> np.ndarray:
    """The words that an architecture writes where words are asked for, each the likeliest.

    Every word is found by a pass over all words before it, and only the last row of it is read.

    Returns
    -------
    (n, T) boolean array
        Whether the word at each place is the right one; True where none is asked for.
    """
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    first = int((asked[0] >= 0).int().argmax())
    so_far, right = words[:, : first + 1], asked.clone()
    for t in range(first, words.shape[1]):
        found = scores(form, p, source, so_far, given.n_prefix)[:, -1].argmax(-1)
        right[:, t] = torch.where(asked[:, t] >= 0, found, -1)
        so_far = torch.cat([so_far, found[:, None]], dim=1)
    return (right == asked).numpy()


def tried(task: str, form: str, p: Any) -> dict[str, Any]:
    """How an architecture does on stories with pairs of nouns that it has not seen.

    Returns
    -------
    dict
        "given": share of right words at each place, where the words before are the right ones.
        "wrote": share of stories that it writes without a mistake; None where it is not to write.
    """
    given = examples(task, ALL.split()[1], form == "pair")
    source, words, asked = (torch.from_numpy(x) for x in given[:3])
    found = scores(form, p, source, words, given.n_prefix).argmax(-1)
    right = ((found == asked) | (asked < 0)).double().mean(0)
    wrote = None if task == "refer" else float(written(form, p, given).all(axis=1).mean())
    return {"given": right[asked[0] >= 0].numpy().round(4).tolist(), "wrote": wrote}


def chances(task: str, form: str, p: Any, story: str) -> np.ndarray:
    """The chances (T, N) of all words, at each place of a story, by a trained architecture."""
    given = examples(task, Stories((story,), np.ones(1), ALL.words), form == "pair")
    source, words = (torch.from_numpy(x) for x in given[:2])
    z = scores(form, p, source, words, given.n_prefix)
    return np.asarray(torch.softmax(z[0].double(), -1))


def measured(task: str, form: str, seed: int) -> dict[str, Any]:
    """What `tried` gives behind training; with seed 0, what it says of `STORIES` as well.

    Returns
    -------
    dict
        That of `tried`, and "said": for each story, place by place, three words with their chances.
    """
    p = trained(task, form, seed)
    found = tried(task, form, p)
    if seed == 0:
        found["said"] = [_likeliest(chances(task, form, p, story)) for story in STORIES]
    return found


def _likeliest(p: np.ndarray) -> list[list[Any]]:
    rows = [np.argsort(-row, kind="stable")[:3] for row in p]
    return [
        [[WORDS[i], round(float(row[i]), 4)] for i in best]
        for row, best in zip(p, rows, strict=True)
    ]


if __name__ == "__main__":
    made = {
        f"{task} {form}": [measured(task, form, seed) for seed in range(SEEDS)]
        for task, form in RUNS
    }
    FILE.write_text(json.dumps(made, ensure_ascii=False) + "\n", encoding="utf-8")
