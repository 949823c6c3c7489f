"""Mutants of the library functions of chapter 5, and the claims of the chapter that kill them."""

import numpy as np

from slipped import slipped
from tformer import reference as ref

RIGHT = ref.causal_attention


def causal_upside_down(n_queries, n_keys, offset=0):
    return np.arange(n_keys) >= np.arange(n_queries)[:, None] + offset


def causal_beyond(n_queries, n_keys, offset=0):
    return np.arange(n_keys) <= np.arange(n_queries)[:, None] + offset + 1


MUTANTS = {
    "causal mask: upside down": ("causal_mask", causal_upside_down),
    "causal mask: one too far": ("causal_mask", causal_beyond),
    "window: one too wide": (
        "sliding_window_mask",
        lambda n_queries, n_keys, window, offset=0: (
            np.tri(n_queries, n_keys, offset, dtype=bool)
            & ~np.tri(n_queries, n_keys, offset - window - 1, dtype=bool)
        ),
    ),
    "packed mask: everything": (
        "packed_mask",
        lambda documents_q, documents_k: np.ones(
            (*documents_q.shape, documents_k.shape[-1]), dtype=bool
        ),
    ),
    "additive mask: a finite fill": ("to_additive", lambda mask: np.where(mask, 0.0, -10.0)),
    "causal attention: the offset ignored": (
        "causal_attention",
        lambda q, k, v, offset=0, scale=None: RIGHT(q, k, v, 0, scale),
    ),
    "leaks: none counted": (
        "count_leaks",
        lambda influence, mask: np.zeros(influence.shape[:-2], dtype=int),
    ),
} | slipped(
    prefix_mask="""
        s < n_prefix → s <= n_prefix
            prefix mask: one too long
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "causal mask: upside down": ["exm-causal-row", "thm-one-pass", "cor-distribution"],
    "causal mask: one too far": ["exm-causal-row", "thm-causal", "thm-one-pass"],
    "window: one too wide": ["prop-paths"],
    "prefix mask: one too long": ["cor-distribution"],
    "packed mask: everything": ["exm-packed", "exm-packed-places"],
    "additive mask: a finite fill": ["exm-causal-row"],
    "causal attention: the offset ignored": ["exm-cache"],
    "leaks: none counted": ["prop-hole"],
    "attention: masked after softmax": ["thm-causal", "exm-milk-masked", "exm-packed"],
    "weights: softmax over the queries": ["thm-conditioning"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
