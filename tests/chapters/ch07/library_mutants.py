"""Mutants of the library functions of chapter 7, and the claims of the chapter that kill them."""

import numpy as np

from tformer import reference as ref

sinusoidal, rope, alibi_slopes = ref.sinusoidal, ref.rope, ref.alibi_slopes


def cosine_first(positions, d_model, base=10000.0, interpolation=1.0):
    waves = sinusoidal(positions, d_model, base, interpolation)
    return waves.reshape(*waves.shape[:-1], -1, 2)[..., ::-1].reshape(waves.shape)


def exponent_doubled(positions, d_model, base=10000.0, interpolation=1.0):
    return sinusoidal(positions, d_model, base**2, interpolation)


def one_sign(x, waves, pairing="adjacent"):
    return rope(x, abs(waves), pairing)


def shifted(tokens, table):
    return table[tokens - 1]


def last_wins(tokens, table, grad):
    dtable = np.zeros(table.shape)
    dtable[tokens] = grad
    return dtable


def unclipped(table, n_queries, n_keys, offset=0):
    distance = np.arange(n_keys) - np.arange(n_queries)[:, None] - offset
    return np.take(table, distance + table.shape[-1] // 2, axis=-1, mode="wrap")


def no_offset(table, grad, offset=0):
    return ref_vjp(table, grad)


def both_sides(n_heads, n_queries, n_keys, offset=0):
    distance = np.arange(n_keys) - np.arange(n_queries)[:, None] - offset
    return alibi_slopes(n_heads)[:, None, None] * distance[None] ** 2


ref_vjp = ref.relative_bias_vjp
MUTANTS = {
    "waves: cosine first": ("sinusoidal", cosine_first),
    "waves: exponent doubled": ("sinusoidal", exponent_doubled),
    "rope: not turned": ("rope", lambda x, waves, pairing="adjacent": x),
    "rope: never backwards": ("rope", one_sign),
    "rope vjp: turned forwards": (
        "rope_vjp",
        lambda waves, grad, pairing="adjacent": rope(grad, waves, pairing),
    ),
    "pairings: the other way round": (
        "rope_permutation",
        lambda d_k: np.arange(d_k).reshape(2, -1).T.ravel(),
    ),
    "embedding: the row before": ("embedding", shifted),
    "embedding vjp: the last gradient wins": ("embedding_vjp", last_wins),
    "relative bias: not clipped": ("relative_bias", unclipped),
    "relative bias vjp: no offset": ("relative_bias_vjp", no_offset),
    "slopes: from 1": ("alibi_slopes", lambda n_heads: 2.0 ** (-8 * np.arange(n_heads) / n_heads)),
    "ALiBi: squares": ("alibi_bias", both_sides),
}
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "waves: cosine first": ["thm-sinusoidal-shift", "exm-position-listings"],
    "waves: exponent doubled": ["exm-two-the", "prop-ones", "prop-base-change"],
    "rope: not turned": ["exm-turned-row", "prop-any-distance"],
    "rope: never backwards": ["thm-rope"],
    "rope vjp: turned forwards": ["prop-rope-vjp"],
    "pairings: the other way round": ["prop-pairings"],
    "embedding: the row before": ["prop-learned-rows"],
    "embedding vjp: the last gradient wins": ["prop-learned-rows"],
    "relative bias: not clipped": ["prop-toeplitz"],
    "relative bias vjp: no offset": ["prop-toeplitz"],
    "slopes: from 1": ["prop-alibi-slopes"],
    "ALiBi: squares": ["thm-alibi"],
    "attention: masked after softmax": ["thm-counting"],
    "weights: softmax over the queries": ["exm-box-and-bag"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
