"""Both libraries learn stories from the same first parameters: one by gradients derived by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tformer import reference
from tformer.chapters.ch12.intermediates import SLIPS
from tformer.chapters.ch12.small import backward, drawn, forward, loss
from tformer.configuration import Configuration
from tformer.experiments.training import Adam, training
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, tree_map
from tformer.world.stories import stories

__all__ = ["GPT", "RATE", "AdamW", "both", "broken", "first"]

GPT = Configuration(activation="gelu_tanh")
RATE, DECAY, BATCH = 0.01, 0.1, 8


class AdamW(Adam):
    """Adam, which before each step takes a small share off every parameter [loshchilov2019]."""

    decay = DECAY

    def step(self, gradients: Any, rate: Any) -> None:
        """Make one step."""
        for x in self.leaves:
            x *= 1 - rate * self.decay
        super().step(gradients, rate)


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


@cache
def both(
    steps: int = 40, single: bool = False, decay: float = DECAY
) -> tuple[np.ndarray, np.ndarray]:
    """The loss before each step, by `reference` and by `fast`, in float64.

    The second in float32 if it is to be `single`, and with a decay of its own.
    """
    import torch  # a page that shows no curve need not wait for it

    from tformer import fast
    from tformer.experiments.threads import one_thread

    start, tokens = first()
    batches = np.random.default_rng(1).integers(0, len(tokens), (steps, BATCH))
    p, curves = tree_map(np.copy, start), ([], [])  # type: ignore[var-annotated]
    second = tree_map(lambda x: x.astype(np.float32) if single else np.copy(x), start)
    module = fast.Module(fast.decoder, tree_map(torch.from_numpy, second), configuration=GPT)
    optimiser = AdamW(module.tree)
    optimiser.decay = decay
    texts = iter(tokens[batches])

    def by_hand() -> Any:
        words = next(texts)
        given, comes = words[:, :-1], words[:, 1:]
        logits = reference.decoder(given, p, GPT)
        curves[0].append(reference.cross_entropy(logits, comes).mean())
        each = np.full(comes.shape, 1 / comes.size)
        dlogits = reference.cross_entropy_vjp(logits, comes, each)
        return reference.decoder_vjp(given, p, GPT, dlogits)[0]

    def by_torch() -> Any:
        words = torch.from_numpy(next(texts))
        found = fast.cross_entropy(module(words[:, :-1]), words[:, 1:]).mean()
        curves[1].append(found.item())
        return torch.autograd.grad(found, leaves(module.tree))

    with one_thread():
        for _ in training(AdamW(p), by_hand, steps, RATE):
            pass
        texts = iter(tokens[batches])
        for _ in training(optimiser, by_torch, steps, RATE):
            pass
    return np.array(curves[0]), np.array(curves[1])


@cache
def broken(slip: tuple[str, str] | None = None, steps: int = 100) -> np.ndarray:
    """The loss of the model of one block while it learns a rule, one line of its way back wrong.

    A text has seven words, and behind word w comes 3 w + the word two places before, modulo 7.
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
        curve.append(loss(p, given, comes))
        found = backward(forward(p, given, comes), p, planted)
        optimiser.step([found[name] for name in p], 0.02)
    return np.array(curve)
