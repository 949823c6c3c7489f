"""What a model makes of the texts it was made from, and of others; and how entropy is estimated."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import product
from math import factorial, prod

import numpy as np

from tformer_book.chapters.ch13.known import LAST, contexts, given, tokens, world

__all__ = ["by_sample", "draws", "held_out", "plugged_in"]

ROOM = 0.001
"""The share of its probability that a model by counting leaves to words that it has not seen."""


def draws(r: np.ndarray, n: int) -> Iterator[tuple[float, np.ndarray]]:
    """Every way in which n words can come, as shares of the words, each with its probability."""
    for counts in product(range(n + 1), repeat=len(r)):
        if sum(counts) == n:
            ways = factorial(n) // prod(map(factorial, counts))
            yield ways * float(np.prod(r ** np.array(counts))), np.array(counts) / n


def plugged_in(counts: np.ndarray) -> np.ndarray:
    """The entropy of shares that were counted, in nats, for each row of counts (n, N)."""
    shares = counts / counts.sum(axis=-1, keepdims=True)
    return -(shares * np.log(np.where(shares > 0, shares, 1))).sum(axis=-1)


@cache
def by_sample(n: int, k: int, seed: int = 0) -> tuple[float, float]:
    """A model that counts what follows the last k words, in n stories that are drawn.

    Returns
    -------
    Its mean loss of these stories, and of all stories of the world; for the latter all words
    share `ROOM` alike, else what never followed had no probability.
    """
    rows, n_tokens = tokens()[:, 1:], len(world().words)
    drawn = rows[np.random.default_rng(seed).integers(len(rows), size=n)]
    which, asked = contexts(np.concatenate([drawn, rows]), k), (drawn.ravel(), rows.ravel())
    own_place, new_place = np.split(which.ravel(), [drawn.size])
    table = np.zeros((which.max() + 1, n_tokens))
    np.add.at(table, (own_place, asked[0]), 1)
    whole = table.sum(axis=1, keepdims=True)
    shares = np.where(whole > 0, table / np.maximum(whole, 1), 1 / n_tokens)
    own = -np.log(shares[own_place, asked[0]]).sum() / n
    wide = (1 - ROOM) * shares + ROOM / n_tokens
    new = -np.log(wide[new_place, asked[1]]).sum() / len(rows)
    return float(own), float(new)


def held_out(k: int) -> tuple[float, float, float]:
    """The patient after the last k words, if pairs of nouns are held out.

    Returns
    -------
    What is left open in the stories that remain; the loss of a model that knows the shares in all
    stories, on those that remain and on those held out.
    """
    split = [one.tokens()[:, 1 : LAST + 1] for one in world().split()]
    rows = np.concatenate([*split, tokens()[:, 1 : LAST + 1]])
    n, of = len(rows) - len(tokens()), np.repeat([0, 1], [*map(len, split)])
    seen = contexts(rows, k)[:, -1]
    _, pairs = np.unique(seen * (rows.max() + 1) + rows[:, -1], return_inverse=True)
    losses = np.log(np.bincount(seen[n:])[seen[:n]] / np.bincount(pairs[n:])[pairs[:n]])
    remain = np.full(len(split[0]), 1 / len(split[0]))
    floor = given(split[0], remain, LAST - 1, list(range(LAST - 1 - k, LAST - 1)))
    return floor, float(losses[of == 0].mean()), float(losses[of == 1].mean())
