"""The claim of the deeper page of chapter 10."""

from __future__ import annotations

from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show, stirred

Array = np.ndarray
C = Configuration(positions="none")


@claim(
    "prop-tied-gradient",
    "numeric",
    mutants={
        "only as the unembedding": {"read": 0.0},
        "only as the embedding": {"written": 0.0},
        "words that were not read stay": {"others": True},
        "in a vocabulary of one word too": {"least": 1},
    },
    scope="6 decoders, 3 to 8 words of 9, every row by differences",
)
def tied_gradient(
    read: float = 1.0, written: float = 1.0, others: bool = False, least: int = 2
) -> str:
    """The library's gradient against a decoder in loops: shares, vectors and differences.

    What comes by a looked-up vector is the difference of losses when it alone is moved.
    """
    for seed in range(6):
        rng, n_tokens = np.random.default_rng(seed), 3 + seed
        model = stirred(initialise(Sizes(9, 4, 2, 2, 8), C, rng, std=0.5))
        tokens, comes = rng.integers(0, 9, n_tokens), rng.integers(0, 9, n_tokens)
        looked, x, dz = _by_hand(model, tokens, comes)
        require(bool((dz != 0).all()), "a word has the gradient 0 as an unembedding")
        got = ref.decoder_vjp(tokens, model, C, dz)[0].embedding
        want, rows = written * dz.T @ x, _by_lookup(looked, model, comes)
        for word, row in zip(tokens, rows, strict=True):
            want[word] += read * row
        worst = int(np.abs(got - want).sum(axis=1).argmax())
        says = f"row {worst} has {show(got[worst])}, not {show(want[worst])}"
        require(near(got, want, 1e-8), says)
        unread = np.setdiff1d(np.arange(9), tokens)
        moved = np.abs(got[unread]).max(axis=1)
        require(bool((moved == 0).all() if others else (moved > 1e-9).all()), show(moved))
    for n_vocab in (least, 2):
        model = initialise(Sizes(n_vocab, 4, 1, 2, 8), C, np.random.default_rng(0))
        _, _, dz = _by_hand(model, np.array([0, 0]), np.array([0, 0]))
        require(bool((dz != 0).all()), f"a vocabulary of {n_vocab} has the gradients {show(dz)}")
    return (
        "6 decoders of two blocks with biases: the gradient of the tied table is the sum of both, "
        "within 1e-8 of differences; words that were not read move as unembeddings alone"
    )


def _by_hand(model: Any, tokens: Array, comes: Array) -> tuple[Array, Array, Array]:
    """Of a mean cross-entropy: looked-up vectors, those before the unembedding, and dz."""
    looked = plain.looked_up(tokens, model, C)
    x = plain.decoded(looked, model, C)
    came = np.arange(len(model.embedding)) == comes[:, None]
    return looked, x, (plain.softmax(x @ model.embedding.T) - came) / len(tokens)


def _by_lookup(looked: Array, model: Any, comes: Array, step: float = 1e-5) -> Array:
    """The gradient of each looked-up vector, by central differences; the table stays."""

    def loss(rows: Array) -> float:
        p = plain.softmax(plain.decoded(rows, model, C) @ model.embedding.T)
        return -float(np.log(p[np.arange(len(comes)), comes]).mean())

    found = np.zeros_like(looked)
    for place in np.ndindex(looked.shape):
        move = np.zeros_like(looked)
        move[place] = step
        found[place] = (loss(looked + move) - loss(looked - move)) / (2 * step)
    return found
