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
RIGHT = {
    "file order": {"positions": (0.92, 0.935), "no positions": (0.64, 0.69)},
    "random": {"positions": (0.975, 0.99), "no positions": (0.69, 0.71)},
}
"""Between what the shares of the three models lie."""
SIMPLE = {"file order": (0.965, 0.878), "random": (0.988, 0.938)}
"""The shares of the nearest image and of the linear fit."""


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
        "without positions it does as well": {"lost": (-0.05, 0.05)},
        "a random order of the digits is no easier": {"easier": -1},
    },
    scope="12 trainings; 597 test digits of each split",
)
def recognised(beats: int = -1, lost: tuple[float, float] = (0.2, 0.3), easier: int = 1) -> str:
    """Nearest image by loops, linear fit by least squares; what is stored, against the table."""
    images, labels = digits()
    told, x = recognise.stored(), images.reshape(len(images), 64)
    for kind in recognise.SPLITS:
        chosen, asked = recognise.split(kind)
        near_ones = [chosen[((x[chosen] - x[i]) ** 2).sum(1).argmin()] for i in asked]
        share = float((labels[near_ones] == labels[asked]).mean())
        rows = np.vstack([np.pad(x[chosen], ((0, 0), (0, 1)), constant_values=1), np.eye(65)])
        wanted = np.vstack([np.eye(10)[labels[chosen]], np.zeros((65, 10))])
        w = np.linalg.lstsq(rows, wanted)[0]
        line = float(((x[asked] @ w[:64] + w[64]).argmax(1) == labels[asked]).mean())
        said = f"{kind}: nearest {share:.4f}, linear {line:.4f}"
        require(near((share, line), SIMPLE[kind], 1e-3), said)
        for name, (low, high) in RIGHT[kind].items():
            shares = told[kind][name]
            inside = low <= min(shares) and max(shares) <= high
            require(inside, f"{kind}, {name}: the shares are {shares}")
        best, worst = max(told[kind]["positions"]), min(told[kind]["positions"])
        require(beats * (best - share) > 0, f"{kind}: the best has {best}, nearest {share:.4f}")
        bare = max(told[kind]["no positions"])
        require(lost[0] < worst - bare < lost[1], f"{kind}: without positions {bare}, not {worst}")
        if kind == "random":
            before = told["file order"]["positions"]
            gain = worst - max(before)
            require(easier * gain > 0, f"the random split is easier by {gain:.4f}")
    return "nearest image by loops, linear fit by least squares, to .001; twelve stored trainings"
