"""A decoder of two blocks learns the small world; the pair animal, street is held out of it.

Trained once for each of five drawings of the first parameters, with attention as it is and with
queries that are 0 and stay 0, so that every word looks at all words so far alike. What came of it
is in `learned.json`; the tests train one of them again.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tformer import fast
from tformer.configuration import Configuration
from tformer.experiments.threads import one_thread
from tformer.experiments.training import Adam, training
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, named_leaves, tree_map
from tformer.world.stories import Stories, stories

__all__ = ["FILE", "KINDS", "PROMPTS", "SEEDS", "STEPS", "learned", "measured", "stored"]

FILE = Path(__file__).with_name("learned.json")
KINDS = ("free", "equal")
"""Attention as it is; queries that are 0."""
SEEDS, STEPS, BATCH, RATE, WIDTH = 5, 1000, 48, 0.008, 32
CONFIGURATION = Configuration(norm="rms", activation="relu", positions="learned")
CROSS = ". the animal did not cross the street because it was too"
PROMPTS = {
    "tired": f"{CROSS} tired . so they woke the",
    "wide": f"{CROSS} wide . so they narrowed the",
}
"""Two stories of the pair that was held out, up to the word that is asked."""


@cache
def _world() -> tuple[Stories, Stories]:
    return stories().split()


def learned(
    kind: str = "free",
    seed: int = 0,
    steps: int = STEPS,
    heard: Callable[[int, float], None] = print,
) -> ModelParameters:
    """Train a decoder of two blocks with one head, width 32; tensors in float64.

    Parameters
    ----------
    kind : one of `KINDS`.
    heard : gets the step and the loss of a story, in nats, a hundred steps apart.
    """
    told, _ = _world()
    lessons, rng = torch.from_numpy(told.tokens()), np.random.default_rng(seed)
    sizes = Sizes(len(told.words), WIDTH, 2, 1, 4 * WIDTH, n_positions=lessons.shape[1])
    sizes = replace(sizes, biased=False, tied=False)
    model = tree_map(torch.from_numpy, initialise(sizes, CONFIGURATION, rng, std=WIDTH**-0.5))
    named = dict(named_leaves(model))
    asks = [name for name in named if name.endswith("w_q")]
    if kind == "equal":
        for name in asks:
            named[name].zero_()
    moved = [x for name, x in named.items() if kind == "free" or name not in asks]
    for x in moved:
        x.requires_grad_()
    loss = torch.zeros(())

    def gradients() -> Any:
        nonlocal loss
        batch = lessons[torch.from_numpy(rng.integers(len(lessons), size=BATCH))]
        logits = fast.decoder(batch[:, :-1], model, CONFIGURATION)
        loss = fast.cross_entropy(logits, batch[:, 1:]).mean()
        return torch.autograd.grad(loss, moved)

    def rate(step: int) -> float:
        return RATE * min(step / 20, 1 - (step - 1) / steps)

    with one_thread():
        for step in training(Adam(moved), gradients, steps, rate):
            if step % 100 == 0:
                heard(step, (lessons.shape[1] - 1) * float(loss.detach()))
    return tree_map(torch.Tensor.detach, model)


@torch.no_grad()
def measured(model: ModelParameters) -> dict[str, Any]:
    """What a model gives for the pairs that were held out, and for the two prompts.

    Returns
    -------
    dict
        "told" and "held": the loss of a story, in nats, on either side. "right": share of held-out
        stories whose patient is the likeliest word. For each prompt: "p", the probabilities of the
        words that have more than 0.001; "looks", the weights of the last word in both blocks.
    """
    worlds = dict(zip(("told", "held"), _world(), strict=True))
    found: dict[str, Any] = {}
    for name, world in worlds.items():
        tokens = torch.from_numpy(world.tokens())
        logits = fast.decoder(tokens[:, :-1], model, CONFIGURATION)
        losses = fast.cross_entropy(logits, tokens[:, 1:]).sum(dim=-1)
        found[name] = round(float(losses.mean()), 4)
        best = logits[:, -2].argmax(dim=-1)
    found["right"] = round(float((best == tokens[:, -2]).double().mean()), 4)
    words = worlds["told"].words
    for name, text in PROMPTS.items():
        tokens = torch.tensor([words.index(word) for word in text.split()])
        p = torch.softmax(fast.decoder(tokens, model, CONFIGURATION)[-1], dim=-1).tolist()
        likely = {words[i]: round(x, 4) for i, x in enumerate(p) if x > 0.001}
        found[name] = {"p": likely, "looks": _looks(tokens, model)}
    return found


def _looks(tokens: torch.Tensor, model: Any) -> list[list[float]]:
    """The weights of the last word, in each block."""
    x, looks = model.embedding[tokens] + model.positions[: len(tokens)], []
    for one in model.blocks:
        n = fast.rms_norm(x, one.heads_norm, CONFIGURATION.eps)
        q, k = n @ one.heads.w_q[0], n @ one.heads.w_k[0]
        looks.append([round(x, 4) for x in fast.attention_weights(q, k)[-1].tolist()])
        x = fast.block(x, one, CONFIGURATION, causal=True)
    return looks


def stored() -> dict[str, list[dict[str, Any]]]:
    """What `measured` gave for each kind, a seed each."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


if __name__ == "__main__":
    every = {kind: [measured(learned(kind, seed)) for seed in range(SEEDS)] for kind in KINDS}
    FILE.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
