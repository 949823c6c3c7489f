"""Both libraries learn stories from the same first parameters: one by gradients derived by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer_book.chapters.ch12.intermediates import SLIPS
from tformer_book.chapters.ch12.small import backward, drawn, forward, surprise
from tformer_book.experiments.training import Adam, training
from tformer_book.world.stories import stories

__all__ = ["GPT", "RATE", "both", "broken", "by_hand", "by_torch", "fallen", "first"]

GPT = Configuration(activation="gelu_tanh")
RATE, DECAY, BATCH = 0.01, 0.1, 8


def first() -> tuple[ModelParameters, np.ndarray]:
    """Parameters to start from, and the stories as numbers of words."""
    tokens = stories().tokens()
    sizes = Sizes(
        n_vocab=int(tokens.max()) + 1,
        d_model=16,
        n_layers=2,
        n_heads=2,
        d_ff=32,
        n_positions=tokens.shape[1],
    )
    return initialise(sizes, GPT, np.random.default_rng(0), 0.1), tokens


def batches(steps: int) -> np.ndarray:
    """The stories that each step reads, for both libraries."""
    _, tokens = first()
    return tokens[np.random.default_rng(1).integers(0, len(tokens), (steps, BATCH))]


def by_hand(steps: int) -> np.ndarray:
    """The loss before each step of `reference`, which follows the derived gradients."""
    p, curve, texts = first()[0], [], iter(batches(steps))

    def gradients() -> Any:
        words = next(texts)
        given, comes = words[:, :-1], words[:, 1:]
        logits = reference.decoder(given, p, GPT)
        curve.append(reference.cross_entropy(logits, comes).mean())
        each = np.full(comes.shape, 1 / comes.size)
        dlogits = reference.cross_entropy_vjp(logits, comes, each)
        return reference.decoder_vjp(given, p, GPT, dlogits)[0]

    for _ in training(Adam(p, decay=DECAY), gradients, steps, RATE):
        pass
    return np.array(curve)


@cache
def by_torch(steps: int, single: bool = False, decay: float = DECAY) -> np.ndarray:
    """The same of `fast` and its automatic differentiation; in float32 if it is to be `single`."""
    import torch  # a page that shows no curve need not wait for it

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    start = tree_map(lambda x: x.astype(np.float32) if single else x, first()[0])
    module = fast.Module(fast.decoder, tree_map(torch.from_numpy, start), configuration=GPT)
    optimiser, curve, texts = Adam(module.tree, decay=decay), [], iter(batches(steps))

    def gradients() -> Any:
        words = torch.from_numpy(next(texts))
        found = fast.cross_entropy(module(words[:, :-1]), words[:, 1:]).mean()
        curve.append(found.item())
        return torch.autograd.grad(found, leaves(module.tree))

    with one_thread():
        for _ in training(optimiser, gradients, steps, RATE):
            pass
    return np.array(curve)


@cache
def both() -> tuple[np.ndarray, np.ndarray]:
    """Both curves as the page draws them."""
    return by_hand(40), by_torch(40)


@cache
def broken(slip: tuple[str, str] | None = None, steps: int = 100) -> np.ndarray:
    """The loss of the model of one block while it learns a rule, one backward line wrong.

    A text has seven words, and after word w comes 3 w + the word two places before, modulo 7.
    """
    rng = np.random.default_rng(2)
    tokens = rng.integers(0, 7, (16, 10))
    for t in range(2, 10):
        tokens[:, t] = (3 * tokens[:, t - 1] + tokens[:, t - 2]) % 7
    p = {name: 0.3 * x for name, x in drawn(3, d=16, d_k=8, d_ff=32).items()}
    given, comes, curve = tokens[:, :-1], tokens[:, 1:], []
    planted = {} if slip is None else {slip[0]: SLIPS[slip]}
    optimiser = Adam([p[name] for name in p])
    for _ in range(steps):
        f = forward(p, given, comes)
        curve.append(surprise(f))
        found = backward(f, p, planted)
        optimiser.step([found[name] for name in p], 0.02)
    return np.array(curve)


def fallen() -> tuple[int, int]:
    """With how many slips the loss ends below its start; and rises again by more than 0.2."""
    curves = [broken(slip) for slip in SLIPS]
    lower = [curve for curve in curves if curve[-1] < curve[0]]
    return len(lower), sum(curve[-1] > curve.min() + 0.2 for curve in lower)
