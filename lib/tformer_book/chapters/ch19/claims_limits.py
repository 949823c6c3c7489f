"""The claims of chapter 19 on limits: one token moves a head little; a window is an automaton."""

from __future__ import annotations

from itertools import product

import numpy as np

from tformer import reference as ref
from tformer_book.chapters.ch19.claims import random_heads
from tformer_book.chapters.ch19.machines import machine
from tformer_book.chapters.ch19.small import words
from tformer_book.chapters.ch19.stream import run
from tformer_book.chapters.ch19.turing import layers
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


@claim(
    "thm-sensitivity",
    "numeric",
    mutants={
        "half of it": {"factor": 1.0},
        "e^-B in place of e^-2B": {"power": 1.0},
        "n tokens in place of n - 1": {"others": 1},
        "it is never reached": {"reached": 0.99},
    },
    scope="3,000 random changes, and the worst case for 2 to 40 tokens",
)
def sensitivity(
    factor: float = 2.0, power: float = 2.0, others: int = 0, reached: float = 1.0
) -> str:
    """Random scores and values, then two rows that reach the bound."""

    def most(n: int, b: float, v: float) -> float:
        return float(factor * v / (1 + (n - 1 + others) * np.exp(-power * b)))

    def head(scores: np.ndarray, values: np.ndarray) -> np.ndarray:
        return ref.attention(np.ones((1, 1)), scores[:, None], values, scale=1.0)[0]

    for n, b, v in product((2, 3, 12, 40), (0.0, 0.5, 1.3, 3.0), (0.5, 2.0)):
        scores = np.array([b] + [-b] * (n - 1))
        values = np.full((n, 1), -v)
        before = head(scores, values)
        values[0] = v
        moved = float(abs(head(scores, values) - before)[0])
        require(moved <= most(n, b, v) + 1e-12, f"n = {n}, B = {b}: it moved by {moved:.4f}")
        require(near(moved, reached * most(n, b, v), 1e-12), f"n = {n}: {moved:.4f} is reached")
    rng = np.random.default_rng(0)
    for _ in range(3000):
        n, b, v, d = int(rng.integers(2, 30)), rng.uniform(0, 3), rng.uniform(0.1, 3), 2
        scores = rng.choice([-b, b, rng.uniform(-b, b)], n)
        values = rng.normal(size=(n, d))
        values *= v / np.linalg.norm(values, axis=1, keepdims=True)
        before = head(scores, values)
        scores[0], values[0] = rng.choice([-b, b]), -values[0] * rng.choice([1, 0.5])
        moved = float(np.linalg.norm(head(scores, values) - before))
        require(moved <= most(n, b, v) + 1e-12, f"n = {n}, B = {b:.2f}: it moved by {moved:.4f}")
    return "no random change beats the bound; two rows reach it for 32 sizes, to 1e-12"


@claim(
    "prop-finite-automaton",
    "exhaustive",
    mutants={
        "two layers with a window of m see m tokens": {"deep": False},
        "m states are enough": {"states": "W"},
        "the whole text counts as the window": {"whole": True},
    },
    scope="all 216 windows of 3 tokens; 2 random layers, 4 windows",
)
def finite_automaton(deep: bool = True, states: str = "V^W", whole: bool = False) -> str:
    """The beaver of two states with a window of three tokens behind BOS, from each window."""
    one, width = machine("beaver 2"), 3
    every = words(len(one.names), width)
    follow = dict(zip(map(tuple, every.tolist()), _next(every), strict=True))
    most = len(one.names) ** width if states == "V^W" else width
    for window in follow:
        seen, text = [window], [*window]
        while True:
            new = int(_next(np.array([text if whole else text[-width:]]))[0])
            require(new == follow[seen[-1]], f"after {text} not what the table of windows says")
            text.append(new)
            if (state := tuple(text[-width:])) in seen:
                break
            seen.append(state)
        require(len(seen) <= most, f"{len(seen)} states on a walk, at most {most}")
    rng = np.random.default_rng(0)
    for w in (1, 2, 3, 4):
        reach = 2 * (w - 1) + 1 if deep else w
        heads = [random_heads(rng, 6, 2) for _ in range(2)]
        x = rng.normal(size=(2, 12, 6))
        x[1, -reach:] = x[0, -reach:]
        mask = np.tri(12, dtype=bool) & ~np.tri(12, k=-w, dtype=bool)
        y = x
        for layer in heads:
            y = y + ref.multi_head_attention(y, layer, mask=mask, scale=1.0)
        off = abs(y[0, -1] - y[1, -1]).max()
        require(
            near(off, 0), f"window {w}: a token further back than {reach} moves it by {off:.3g}"
        )
    return "each window's walk against the table of all windows; what two layers see, to 1e-12"


def _next(texts: np.ndarray) -> np.ndarray:
    """The number of the next token after BOS and each text (n, T)."""
    one = machine("beaver 2")
    bos = np.full((len(texts), 1), one.prompt()[0])
    y = run(one.embedding[np.concatenate([bos, texts], axis=1)], layers())[:, -1]
    return np.asarray((y @ one.unembedding).argmax(axis=-1))
