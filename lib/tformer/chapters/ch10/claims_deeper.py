"""The claim of the deeper page of chapter 10."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer import reference as ref
from tformer.claims.registry import claim, require
from tformer.claims.tools import near, show
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise


@claim(
    "prop-tied-gradient",
    "numeric",
    mutants={
        "only as the unembedding": {"read": 0.0},
        "only as the embedding": {"written": 0.0},
        "words that were not read stay": {"others": True},
    },
    scope="12 decoders, 3 to 9 words of 11",
)
def tied_gradient(read: float = 1.0, written: float = 1.0, others: bool = False) -> str:
    """A tied table against the sum for two tables that hold the same numbers."""
    c = Configuration(positions="none")
    for seed in range(12):
        rng = np.random.default_rng(seed)
        model = initialise(Sizes(11, 8, 2, 2, 16), c, rng, std=0.5)
        tokens = rng.integers(0, 11, 3 + seed % 7)
        z = ref.decoder(tokens, model, c)
        dz = ref.cross_entropy_vjp(z[:-1], tokens[1:], np.full(len(tokens) - 1, 1.0))
        dz = np.concatenate([dz, 0 * z[:1]]) / (len(tokens) - 1)
        got = ref.decoder_vjp(tokens, model, c, dz)[0].embedding
        two = replace(model, unembedding=model.embedding.T.copy())
        apart = ref.decoder_vjp(tokens, two, c, dz)[0]
        want = written * apart.unembedding.T + read * apart.embedding
        require(near(got, want, 1e-10), f"row 0 has {show(got[0][:3])}, not {show(want[0][:3])}")
        unread = np.setdiff1d(np.arange(11), tokens)
        require(near(apart.embedding[unread], 0), "a word that was not read moves as an embedding")
        moved = np.abs(got[unread]).max(axis=1)
        require(bool((moved == 0).all() if others else (moved > 1e-9).all()), show(moved))
    return (
        "12 decoders of two blocks: the gradient of the tied table is the sum of those of two "
        "tables, within 1e-10; words that were not read move as unembeddings alone"
    )
