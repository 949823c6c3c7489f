"""Fewer bits in the storyteller: its matrices, or the keys and values of its cache."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.hooks import run_with_hooks
from tformer.parameters import tree_map
from tformer_book.storyteller import load
from tformer_book.storyteller.tales import Tales, parted

__all__ = ["BITS", "divergence", "logits", "measured_bits", "quantised"]

BITS = (2, 3, 4, 5, 6, 8)
N_TALES, CONTEXT = 4, 128


def quantised(x: np.ndarray, bits: int, block: int = 32) -> np.ndarray:
    """Round the numbers of each block to so many bits, the largest of a block to the last step."""
    rows = x.reshape(-1, block)
    scale = np.abs(rows).max(axis=1, keepdims=True) / (2 ** (bits - 1) - 1)
    scale = np.where(scale == 0, 1, scale)
    return (np.round(rows / scale) * scale).astype(x.dtype).reshape(x.shape)


@cache
def tales() -> np.ndarray:
    """Rows of tokens of tales: (4, 128)."""
    of = Tales(load().tokens, parted()[0])
    return np.asarray(of.rows(np.random.default_rng(0), N_TALES, CONTEXT))


def logits(tokens: np.ndarray, parameters: Any, bits: int | None = None) -> np.ndarray:
    """The storyteller's logits (T, N), if its keys and values are kept in so many bits."""

    def kept(x: np.ndarray) -> np.ndarray:
        return x if bits is None else quantised(x, bits, x.shape[-1])

    layers = range(len(parameters.blocks))
    hooks = {f"blocks.{i}.{part}": kept for i in layers for part in "kv"}
    run = run_with_hooks(tokens, parameters, load().configuration, hooks)
    return np.asarray(run["logits"])


def divergence(bits: int, kind: str) -> float:
    """Mean KL divergence of the next token, in nats, over whole tales.

    Parameters
    ----------
    bits : int
    kind : str
        "matrices" or "cache".
    """
    whole = tree_map(lambda x: x.astype(float), load().parameters)
    fewer = tree_map(lambda x: quantised(x, bits) if x.ndim > 1 else x, whole)
    found = []
    for tokens in tales():
        log_p = reference.log_softmax(logits(tokens, whole))
        changed = logits(tokens, fewer) if kind == "matrices" else logits(tokens, whole, bits)
        log_q = reference.log_softmax(changed)
        found.append((np.exp(log_p) * (log_p - log_q)).sum(axis=-1).mean())
    return float(np.mean(found))


@cache
def measured_bits() -> dict[str, dict[int, float]]:
    """The divergence for each kind and each of `BITS`."""
    return {kind: {bits: divergence(bits, kind) for bits in BITS} for kind in ("matrices", "cache")}
