"""Mutants of the library functions of chapter 1, and the claims of the chapter that kill them."""

from slipped import slipped

MUTANTS = slipped(
    dot="""
        sum → mean
            dot: mean, not sum
        axis=-1 → axis=0
            dot: the wrong axis
    """,
    norm="""
        = (x * x).sum(axis=-1)
            norm: no root
    """,
    cosine_similarity="""
        _unit(q) → q
            cosine: one norm only
    """,
    squared_distance="""
        (q - k) ** 2 → abs(q - k)
            distance: of absolute values
    """,
    projection="""
        = (q * k).sum(axis=-1, keepdims=True) / (q * q).sum(axis=-1, keepdims=True) * q
            projection: onto q
    """,
    pairwise_dot="""
        q @ k.mT → k @ q.mT
            table: transposed
        q @ k.mT → np.abs($)
            table: absolute values
    """,
    pairwise_cosine="""
        _unit(q) @ _unit(k) → q @ k
            cosine table: not normalised
    """,
    pairwise_squared_distance="""
        difference**2 → abs(difference)
            distance table: absolute values
    """,
    ppmi="""
        = np.log(np.where(counts == 0, 1, counts * counts.sum()
        / (counts.sum(axis=-1, keepdims=True) * counts.sum(axis=-2, keepdims=True))))
            ppmi: not clipped
    """,
    svd_embeddings="""
        * sigma → * np.sqrt(sigma)
            svd: roots of the singular values
    """,
)
"""What is wrong -> the library function, and the mutant in its place."""

KILLED_BY = {
    "dot: mean, not sum": [
        "exm-dot-by-hand",
        "thm-dot-variance",
        "prop-table-of-dots",
        "thm-projection",
    ],
    "dot: the wrong axis": ["prop-table-of-dots"],
    "norm: no root": ["exm-dot-by-hand", "prop-law-of-cosines", "thm-cauchy-schwarz"],
    "cosine: one norm only": ["exm-dot-by-hand"],
    "distance: of absolute values": [
        "prop-law-of-cosines",
        "thm-projection",
        "prop-rankings-agree",
    ],
    "projection: onto q": ["exm-dot-by-hand", "thm-projection"],
    "table: transposed": ["exm-table-by-hand", "prop-table-of-dots"],
    "table: absolute values": ["prop-law-of-cosines", "thm-dot-variance", "prop-rankings-agree"],
    "cosine table: not normalised": [
        "exm-rankings-differ",
        "thm-hoeffding-cosine",
        "thm-cosine-variance",
    ],
    "distance table: absolute values": [
        "prop-law-of-cosines",
        "exm-rankings-differ",
        "prop-rankings-agree",
    ],
    "ppmi: not clipped": ["exm-ppmi-by-hand"],
    "svd: roots of the singular values": ["prop-svd-error"],
}
"""What is wrong, here or in another chapter -> the claims of this chapter that must fail."""
