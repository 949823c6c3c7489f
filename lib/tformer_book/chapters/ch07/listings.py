"""Waves as others write them: two listings line for line, and small learned shifts."""

import numpy as np

TOY = np.array(
    [
        [0.1, 0.2, 0.1, 0.0, -0.1, 0.05, 0.2, -0.05],
        [0.0, -0.1, 0.2, 0.3, 0.1, -0.2, 0.0, 0.05],
        [0.2, 0.1, -0.1, 0.1, 0.0, 0.2, -0.2, 0.1],
        [-0.1, 0.3, 0.2, -0.2, 0.1, -0.1, 0.05, 0.0],
    ]
)
"""The toy embeddings of the listing in C++, to which it adds its waves."""
BUY_MILK_AND = np.array([[0.1, 1.0], [1.0, 0.1], [0.6, 0.6]])
SHIFTS = np.array([[0.0, 0.0], [0.1, -0.1], [-0.1, 0.1]])
PRINTED = np.array([[0.1, 1.0], [1.1, 0.0], [0.5, 0.7]])
"""Embeddings, learned shifts and their sums, as the example *Buy milk and* prints them."""


def in_numpy(seq_len: int, d_model: int) -> np.ndarray:
    """The listing in NumPy, of a blog post of 2024 about transformer architectures."""
    position = np.arange(seq_len)[:, np.newaxis]
    div_term = np.exp(np.arange(0, d_model, 2) * -(np.log(10000.0) / d_model))
    pe = np.zeros((seq_len, d_model))
    pe[:, 0::2] = np.sin(position * div_term)
    pe[:, 1::2] = np.cos(position * div_term)
    return pe


def in_cpp(max_len: int, d_model: int) -> np.ndarray:
    """The listing in C++, of a long introduction, each line put into Python."""
    pe = np.zeros((max_len, d_model))
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            angle = pos / 10000.0 ** (float(i) / d_model)
            pe[pos][i] = np.sin(angle)
            if i + 1 < d_model:
                pe[pos][i + 1] = np.cos(angle)
    return pe
