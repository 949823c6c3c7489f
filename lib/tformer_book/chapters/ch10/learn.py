"""A decoder of two blocks learns the small world; the pair animal, street is held out of it.

Trained once for each of five drawings of the first parameters, with attention as it is and with
queries that are 0 and stay 0, so that every word looks at all words so far alike. What came of it
is in `learned.json`; the tests begin two of the trainings again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.files import save
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, named_leaves, tree_map
from tformer_book.experiments.training import Adam, linear_schedule, training
from tformer_book.world.stories import CURES, WHO, Stories, stories

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

__all__ = [
    "DECODER",
    "EARLY",
    "FILE",
    "KINDS",
    "PROMPTS",
    "SEEDS",
    "STEPS",
    "guessed",
    "learned",
    "measured",
    "store",
    "stored",
]

FILE = Path(__file__).with_name("learned.json")
DECODER = Path(__file__).with_name("decoder.safetensors")
KINDS = ("free", "equal")
"""Attention as it is; queries that are 0."""
SEEDS, STEPS, BATCH, RATE, WIDTH = 5, 1000, 48, 0.008, 32
EARLY = 50
"""After so many steps each the loss is heard; the first is stored."""
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
    until: int = STEPS,
    heard: Callable[[int, float], None] = print,
) -> ModelParameters:
    """Train a decoder of two blocks with one head, width 32; tensors in float64.

    Parameters
    ----------
    kind : one of `KINDS`. With "equal" the queries are not trained, so fewer parameters are.
    until : the step after which it stops; the rate falls as for all `STEPS`.
    heard : gets the step and the loss of a story, in nats, `EARLY` steps apart.
    """
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

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

    with one_thread():
        for step in training(Adam(moved), gradients, until, linear_schedule(RATE, STEPS)):
            if step % EARLY == 0:
                heard(step, (lessons.shape[1] - 1) * float(loss.detach()))
    return tree_map(torch.Tensor.detach, model)


def measured(model: ModelParameters) -> dict[str, Any]:
    """What a model gives for the pairs that were held out, and for the two prompts.

    Returns
    -------
    dict
        "told" and "held": the loss of each word of a story, in nats, on either side. "right": share
        of held-out stories whose patient is the likeliest word. For each prompt: "p", the
        probabilities of the words that have more than 0.001; "looks" and "too", the weights of the
        last word and of *too*, in both blocks; "cut", the probability of *street* if the last word
        may not look at it, and if *too* may not.
    """
    import torch

    with torch.no_grad():
        return {**_losses(model), **{name: _asked(text, model) for name, text in PROMPTS.items()}}


def _losses(model: ModelParameters) -> dict[str, Any]:
    import torch

    from tformer import fast

    found: dict[str, Any] = {}
    for name, world in zip(("told", "held"), _world(), strict=True):
        tokens = torch.from_numpy(world.tokens())
        logits = fast.decoder(tokens[:, :-1], model, CONFIGURATION)
        found[name] = _rounded(fast.cross_entropy(logits, tokens[:, 1:]).mean(dim=0))
        best = logits[:, -2].argmax(dim=-1)
    found["right"] = round(float((best == tokens[:, -2]).double().mean()), 4)
    return found


def _asked(text: str, model: ModelParameters) -> dict[str, Any]:
    import torch

    words, said = _world()[0].words, text.split()
    tokens = torch.tensor([words.index(word) for word in said])
    p, tables = _read(tokens, model)
    likely = {words[i]: round(x, 4) for i, x in enumerate(p.tolist()) if x > 0.001}
    too, street = said.index("too"), said.index("street")
    cut = [_read(tokens, model, row, street)[0] for row in (len(said) - 1, too)]
    return {
        "p": likely,
        "looks": [_rounded(table[-1]) for table in tables],
        "too": [_rounded(table[too, : too + 1]) for table in tables],
        "cut": _rounded(torch.stack(cut)[:, words.index("street")]),
    }


def guessed() -> float:
    """Share of held-out stories that is right by chance: the cure tells the kind, and no more."""
    _, held = _world()
    kinds = {cure: kind for kind, cures in CURES.items() for cure in cures.values()}
    chances = [1 / len(WHO[kinds[text.split()[-4]]]) for text in held]
    return float(np.mean(chances))


def _read(
    tokens: torch.Tensor, model: Any, row: int = 0, cut: int | None = None
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    """The probabilities of the next word, and the weights in each block.

    With a `cut` the word of that place is hidden from the word of place `row`, in both blocks.
    """
    import torch

    from tformer import fast

    mask = torch.ones(len(tokens), len(tokens), dtype=torch.bool).tril()
    if cut is not None:
        mask[row, cut] = False
    x, tables = model.embedding[tokens] + model.positions[: len(tokens)], []
    for one in model.blocks:
        n = fast.rms_norm(x, one.heads_norm, CONFIGURATION.eps)
        q, k, _ = fast.project(n, one.heads)
        tables.append(fast.grouped_attention_weights(q, k, mask=mask)[0])
        x = fast.block(x, one, CONFIGURATION, mask=mask)
    rows = fast.rms_norm(x[-1:], model.norm, CONFIGURATION.eps)
    return torch.softmax(fast.unembed(rows, model)[0], dim=-1), tables


def _rounded(x: torch.Tensor) -> list[float]:
    return [round(one, 4) for one in x.tolist()]


def stored() -> dict[str, list[dict[str, Any]]]:
    """What `measured` gave for each kind, a seed each, and the first loss that was "heard"."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def _one(kind: str, seed: int) -> dict[str, Any]:
    losses: list[float] = []
    model = learned(kind, seed, heard=lambda _, loss: losses.append(round(loss, 4)))
    return {"heard": losses[0], **measured(model)}


def store() -> None:
    """Write the first of the free models, its numbers rounded to float16; chapter 17 opens it."""
    narrow = tree_map(lambda x: x.numpy().astype(np.float16), learned())
    save(DECODER, narrow, CONFIGURATION)


if __name__ == "__main__":
    store()
    every = {kind: [_one(kind, seed) for seed in range(SEEDS)] for kind in KINDS}
    text = json.dumps(every, indent=1) + "\n"
    lines = re.sub(r"\[[^][{]*\]", lambda numbers: " ".join(numbers[0].split()), text)
    FILE.write_text(lines, encoding="utf-8")
