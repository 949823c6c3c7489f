"""Vectors and gradients in deep stacks of random blocks, with the norms before or after.

The variance of a matrix's entries is one over the number of coordinates that it reads, so that each
by itself keeps the mean square of a vector; the ReLU between two of them takes a half. Nothing is
trained. Computed by the fast library: PyTorch's autograd passes the gradient through all blocks at
once.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    NormParameters,
    tree_map,
)
from tformer_book.chapters.ch08.rows import alike
from tformer_book.experiments.intervals import mean_interval

__all__ = ["DEPTH", "MEASURES", "SEEDS", "bands", "measured"]

DEPTH, SEEDS = 64, 10
MEASURES = ("mean square", "gradient", "mean cosine")
WIDTH, N_HEADS, N_WORDS = 32, 2, 12


def _block(rng: np.random.Generator, share: float, d: int, attends: bool) -> BlockParameters:
    """Draw a block of width d; `share` narrows the matrices that write to the vectors.

    Where it does not attend, its attention writes zeros, and all else is drawn as it would be.
    """
    n_heads, width, hidden = N_HEADS, d // N_HEADS, 2 * d
    norm = NormParameters(np.ones(d), None)
    q, k, v = rng.normal(0, d**-0.5, (3, n_heads, d, width))
    heads = HeadParameters(q, k, v, attends * share * rng.normal(0, d**-0.5, (n_heads, width, d)))
    w_in = rng.normal(0, d**-0.5, (d, hidden))
    feed = FeedForwardParameters(w_in, share * rng.normal(0, hidden**-0.5, (hidden, d)))
    return BlockParameters(heads, feed, norm, norm)


@cache
def measured(
    order: str,
    seeds: int = SEEDS,
    depth: int = DEPTH,
    narrow: bool = False,
    width: int = WIDTH,
    shared: bool = False,
    size: float = 1.0,
    attends: bool = True,
) -> np.ndarray:
    """Measure stacks of random blocks.

    Parameters
    ----------
    order : "pre" or "post".
    seeds : how many stacks, each with vectors and a gradient of its own.
    depth : blocks of a stack.
    narrow : whether what is added is made smaller by √(2 · depth), as GPT-2's start is read.
    width : coordinates of a vector.
    shared : whether every word gets the mean of the words' gradients in the place of its own.
    size : standard deviation of the numbers in the first vectors.
    attends : whether the blocks have attention, or their feed-forward layers only.

    Returns
    -------
    (seeds, 3, depth + 1) array
        Before block 1 and after each block: the mean square of the numbers in the vectors; the root
        mean square of a gradient that is Gaussian, of variance 1, after the last block; the mean
        cosine of two vectors.
    """
    import torch  # a page whose stacks are not measured need not wait for it

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    configuration = Configuration(order=order, activation="relu", positions="none")
    found = []
    with one_thread():  # two that wait for each other take a hundred times as long on busy cores
        for seed in range(seeds):
            rng = np.random.default_rng(seed)
            rows, grads = rng.standard_normal((2, 1, N_WORDS, width))
            if shared:
                grads = np.repeat(grads.mean(axis=1, keepdims=True), N_WORDS, axis=1)
            share = (2 * depth) ** -0.5 if narrow else 1.0
            blocks = [_block(rng, share, width, attends) for _ in range(depth)]
            x = [torch.from_numpy(size * rows[0]).requires_grad_()]
            for one in blocks:
                x.append(fast.block(x[-1], tree_map(torch.from_numpy, one), configuration))
            grad = torch.autograd.grad(x[-1], x, torch.from_numpy(grads[0]))
            table, passed = (torch.stack(each).detach().numpy() for each in ((*x,), grad))
            squares, sizes = (np.square(each).mean(axis=(1, 2)) for each in (table, passed))
            found.append([squares, np.sqrt(sizes), alike(table)])
    return np.array(found)


def bands(order: str, measure: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over the stacks, and the two ends of its 95 % interval, at each depth.

    Squares and gradients are averaged as logarithms, so theirs is the geometric mean.
    """
    values = measured(order)[:, measure]
    log = measure < 2
    mean, half = mean_interval(np.log(values) if log else values, 0.95)
    low, high = mean - half, np.minimum(mean + half, np.inf if log else 1.0)
    return (np.exp(mean), np.exp(low), np.exp(high)) if log else (mean, low, high)
