"""The row of *it*: its scores against every word of the sentence, as chapter 1's vectors give them
and through random matrices.
"""

from functools import cache

import numpy as np

from tformer import reference
from tformer_book.world import corpus

SENTENCE = "the animal did not cross the street because it was too tired"
WORDS = tuple(SENTENCE.split())
ASKS = WORDS.index("it")
WIDTH = 16
"""Width of the words' vectors."""


@cache
def embeddings() -> np.ndarray:
    """The words' vectors, as chapter 1 counts them in the corpus: (12, 16)."""
    return corpus.vectors(WORDS, WIDTH)


def normalised() -> np.ndarray:
    """The same directions, each brought to length √16 and rounded to three decimals: (12, 16).

    Then each coordinate of x W has variance 1 up to rounding, if W has independent entries of
    variance 1/16.
    """
    x = embeddings()
    rows: np.ndarray = np.round(WIDTH**0.5 * x / reference.norm(x)[:, None], 3)
    return rows


def through_random_matrices(rng: np.random.Generator, d: int, n_draws: int = 1000) -> np.ndarray:
    """Dot products of *it* with every word after fresh matrices W_Q and W_K of width d.

    Their entries are independent and normal with variance 1/16. Returns (n_draws, 12) scores.
    """
    x, scores = normalised(), np.empty((n_draws, len(WORDS)))
    for found in scores:
        w_q, w_k = rng.standard_normal((2, WIDTH, d)) / WIDTH**0.5
        found[:] = reference.pairwise_dot(x[ASKS : ASKS + 1] @ w_q, x @ w_k)[0]
    return scores
