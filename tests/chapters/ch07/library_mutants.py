"""Mutants of the library functions of chapter 7, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    sinusoidal="""
        np.sin(angles), np.cos(angles) → np.cos(angles), np.sin(angles)
            waves: cosine first
        base → $**2
            waves: exponent doubled
    """,
    rope="""
        = x
            rope: not turned
        sinusoids[..., 0::2] → abs($) ;; sinusoids[..., 1::2] → abs($)
            rope: never backwards
    """,
    rope_vjp="""
        + second → - second ;; - first → + first
            rope vjp: turned forwards
    """,
    rope_permutation="""
        (d_k // 2, 2) → (2, d_k // 2)
            pairings: the other way round
    """,
    embedding="""
        [tokens] → [tokens - 1]
            embedding: the row before
    """,
    embedding_vjp="""
        np.add.at(dtable, rows, grads) → dtable[rows] = grads
            embedding vjp: the last gradient wins
    """,
    relative_bias="""
        = np.take(table, np.arange(n_keys) - np.arange(n_queries)[:, None] - offset
        + table.shape[-1] // 2, axis=-1, mode="wrap")
            relative bias: not clipped
    """,
    relative_bias_vjp="""
        offset → 0
            relative bias vjp: no offset
    """,
    alibi_slopes="""
        = 2.0 ** (-8 * np.arange(n_heads) / n_heads)
            slopes: from 1
    """,
    alibi_bias="""
        alibi_bias_at(n_heads, np.abs(t - s)) → -alibi_bias_at(n_heads, (t - s) ** 2)
            ALiBi: squares
    """,
)
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
    "weights: softmax over the queries": ["exm-box-and-bag", "prop-disperses"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
