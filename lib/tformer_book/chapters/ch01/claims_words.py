"""The claims of chapter 1, dot products: words and their rows."""

from __future__ import annotations

from itertools import product
from math import log

import numpy as np

from tformer import reference as ref
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import formula, near, show, sizes
from tformer_book.world import corpus

SENTENCE = "the animal did not cross the street because it was too tired wide"
SCORES = (4.4, 16.6, 13.4, 17.9, 16.6, 4.4, 16.1, 31.7, 41.3, 26.8, 21.4, 27.7, 15.0)


@claim(
    "exm-ppmi-by-hand",
    "numeric",
    mutants={"negative values kept": {"floor": -np.inf}},
    scope="the ratios and all four entries",
)
def ppmi_by_hand(floor: float = 0.0) -> str:
    """The four ratios and the table that the library makes of them."""
    counts = np.array([[2.0, 0.0], [1.0, 1.0]])
    ratios = counts * counts.sum() / np.outer(counts.sum(axis=1), counts.sum(axis=0))
    require(near(ratios, [[4 / 3, 0], [2 / 3, 2]]), f"the ratios are {show(ratios)} row by row")
    got, want = ref.ppmi(counts), np.maximum([[log(4 / 3), 0], [log(2 / 3), log(2)]], floor)
    require(near(got, want), f"PPMI is {show(got)} row by row, not {show(want)}")
    return "the ratios 4/3, 0, 2/3 and 2; four entries within 1e-12 of log(4/3), 0, 0 and log 2"


@claim(
    "prop-svd-error",
    "numeric",
    mutants={"singular values not squared": {"power": 1}},
    scope="seventeen matrices, every number of values kept",
)
def svd_error(power: int = 2) -> str:
    """Sampled; singular values may repeat, and those kept may be more than the rank."""
    shapes = [(6, 6, 6), (6, 6, 2), (6, 4, 4), (4, 6, 4)]
    matrices = [np.eye(4)]
    for seed, (rows, columns, rank) in product(range(4), shapes):
        rng = np.random.default_rng(seed)
        matrices.append(rng.standard_normal((rows, rank)) @ rng.standard_normal((rank, columns)))
    for matrix in matrices:
        sigma = np.linalg.svdvals(matrix)
        for d_model in sizes(min(matrix.shape)):
            kept = min(d_model, int((sigma > 1e-9).sum()))
            left = formula(ref.svd_embeddings)(matrix, d_model)[:, :kept] / sigma[:kept]
            error = ((matrix - left @ left.T @ matrix) ** 2).sum()
            want = (sigma[d_model:] ** power).sum()
            numbers = f"squared error {error:.4f}, sum of the left-out values {want:.4f}"
            where = f"{' × '.join(map(str, matrix.shape))}, {d_model} singular values kept"
            require(near(error, want, 1e-10), f"{where}: {numbers}")
    return (
        "random 6 × 6, 6 × 4 and 4 × 6 matrices and 6 × 6 ones of rank 2, four of each, and the "
        "4 × 4 identity, for every number of values kept, within 1e-10"
    )


@claim(
    "exm-row-of-it",
    "numeric",
    mutants={
        "raw counts": {"positive_only": False},
        "neighbours at most 2 places off": {"window": 2},
    },
    scope="all its numbers, as the digits are printed",
)
def row_of_it(window: int = 5, positive_only: bool = True) -> str:
    """Beyond the statement, that no word of the vocabulary scores higher than *it* itself."""
    words = corpus.vocabulary(least=3)
    counts = ref.cooccurrence(corpus.ids(least=3), len(words), window=window)
    rows = ref.svd_embeddings(ref.ppmi(counts) if positive_only else counts, d_model=16)
    it, sentence = rows[words.index("it")], rows[[words.index(word) for word in SENTENCE.split()]]
    scores = ref.dot(it, sentence)
    for word, score, want in zip(SENTENCE.split(), scores, SCORES, strict=True):
        require(near(score, want, 0.05), f"it · {word} = {score:.1f}, not {want}")
    cosines = ref.cosine_similarity(it, sentence[[1, 6]])
    require(near(cosines, (0.43, 0.41), 0.005), f"cosines {show(cosines)}, not (0.43, 0.41)")
    best = words[int(ref.dot(it, rows).argmax())]
    require(best == "it", f"{best} scores highest, not it")
    alone = int((ref.pairwise_dot(rows, rows).argmax(axis=-1) == np.arange(len(words))).sum())
    require((alone, len(words)) == (70, 165), f"{alone} of {len(words)} words prefer themselves")
    return (
        "thirteen scores to one decimal and two cosines to two; of all words of the corpus “it” "
        f"has the highest score with itself, as {alone} of {len(words)} words have"
    )
