"""The claims of chapter 21 on patches and their positions."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.chapters.ch21 import recognise
from tformer_book.chapters.ch21.images import digits, patches
from tformer_book.chapters.ch21.stack import hidden_states, start
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, stirred

Array = np.ndarray
RIGHT: dict[str, dict[str, tuple[float, float]]] = {
    "file order": {"positions": (0.0, 1.0), "no positions": (0.0, 1.0)},
    "random": {"positions": (0.0, 1.0), "no positions": (0.0, 1.0)},
}
"""Between what the shares of the three models lie."""
NEAREST = {"file order": 0.0, "random": 0.0}
"""The share of the nearest image, by the same splits."""


@claim(
    "prop-patch-permutation",
    "numeric",
    mutants={
        "the table of positions stays as it was": {"table": False},
        "the first token alone is read": {"pooled": False},
        "a causal mask": {"causal": True},
    },
    scope="120 orders of 5 tokens, 3 models; 20 orders of digits",
)
def patch_permutation(table: bool = True, pooled: bool = True, causal: bool = False) -> str:
    """Small random models with every order of five tokens; the stored model with real digits."""
    rng = np.random.default_rng(0)
    images, _ = digits()
    cases = [
        (stirred(start(3, 8, 4, 5, seed), seed), rng.normal(size=(1, 5, 3)), every)
        for seed, every in ((s, list(permutations(range(5)))) for s in range(3))
    ]
    orders = [rng.permutation(recognise.T).tolist() for _ in range(20)]
    cases.append((recognise.model(), patches(images[:2], recognise.P), orders))
    for model, tokens, every in cases:
        mask = reference.causal_mask(tokens.shape[-2], tokens.shape[-2]) if causal else None

        def read(tokens: Array, model: Any = model, mask: Array | None = mask) -> Array:
            x = hidden_states(tokens @ model.embedding, model, mask)
            x = x.mean(-2) if pooled else x[..., 0, :]
            return np.asarray(x @ model.unembedding)

        bare = replace(model, positions=None)
        before, without = read(tokens), read(tokens, bare)
        for order in every:
            moved = replace(model, positions=model.positions[list(order)]) if table else model
            gap = abs(read(tokens[:, list(order)], moved) - before).max()
            require(gap < 1e-10, f"with both permuted, a logit moves by {gap:.4f}")
            gap = abs(read(tokens[:, list(order)], bare) - without).max()
            require(gap < 1e-10, f"without positions, a logit moves by {gap:.4f}")
    return "logits to 1e-10: every order of five random tokens, twenty orders of a digit's patches"


@claim(
    "exm-digits",
    "empirical",
    mutants={
        "the transformer beats the nearest image": {"beats": 1},
        "without positions it does as well": {"gap": -1.0},
        "a random order of the digits is as hard": {"easier": 0.05},
    },
    scope="12 trainings; 597 test digits of each split",
)
def recognised(beats: int = -1, gap: float = 0.15, easier: float = 0.0) -> str:
    """The nearest image again, by loops over the test; what is stored, against the table."""
    images, labels = digits()
    told = recognise.stored()
    for kind in recognise.SPLITS:
        chosen, asked = recognise.split(kind)
        right = sum(
            labels[i] == labels[chosen[((images[chosen] - images[i]) ** 2).sum((1, 2)).argmin()]]
            for i in asked
        )
        share = right / len(asked)
        require(near(share, NEAREST[kind], 5e-4), f"{kind}: the nearest image has {share:.4f}")
        for name, (low, high) in RIGHT[kind].items():
            shares = told[kind][name]
            inside = low <= min(shares) and max(shares) <= high
            require(inside, f"{kind}, {name}: the shares are {shares}")
        best, worst = max(told[kind]["positions"]), min(told[kind]["positions"])
        require(
            beats * (best - share) > 0, f"{kind}: the best model has {best}, nearest {share:.4f}"
        )
        bare = max(told[kind]["no positions"])
        lost = worst - bare
        require(gap > 0 and lost > gap, f"{kind}: without positions {bare} instead of {worst}")
    first, second = (NEAREST[kind] for kind in recognise.SPLITS)
    require(second - first > easier, f"nearest: {first:.4f} in file order, {second:.4f} at random")
    return "the nearest image by loops over 597 digits of each split; twelve stored trainings"
