"""Where a layer of ReLUs is straight: pieces of a line, regions of the plane; dead units."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations, pairwise, product
from math import comb

import numpy as np

from tformer import reference
from tformer.parameters import FeedForwardParameters
from tformer_book.chapters.ch09.rows import RELU

__all__ = ["bound", "dead", "dead_share", "pieces", "regions", "slopes", "witnesses"]


def bound(units: int, width: int) -> int:
    """How many regions so many ReLUs of one layer make at most in so many dimensions."""
    return sum(comb(units, k) for k in range(width + 1))


def regions(w_in: np.ndarray, b_in: np.ndarray) -> int:
    """Count the regions of the plane on which each of n ReLUs is on or off throughout.

    Exact, for integers: the patterns of signs at four points around each crossing of two lines, at
    a distance that no other line comes as near as. Every region has a corner if two lines cross;
    if none do, points far out on a normal of the lines are taken instead.

    Parameters
    ----------
    w_in : (2, n) array of integers
    b_in : (n,) array of integers
    """
    lines = [(int(a), int(b), int(c)) for a, b, c in zip(*w_in, b_in, strict=True)]
    patterns = set()
    for x, y in witnesses(lines):
        patterns.add(tuple(a * x + b * y + c > 0 for a, b, c in lines))
    return len(patterns)


def witnesses(lines: list[tuple[int, int, int]]) -> list[tuple[Fraction, Fraction]]:
    """Points in the interior of every region."""
    found = []
    for (a, b, c), (d, e, f) in combinations(lines, 2):
        if det := a * e - b * d:
            x, y = Fraction(b * f - c * e, det), Fraction(c * d - a * f, det)
            values = [p * x + q * y + r for p, q, r in lines]
            near = min([abs(v) for v in values if v], default=Fraction(1))
            most = max(abs(p) + abs(q) for p, q, _ in lines)
            for s, t in product((1, -1), repeat=2):  # to either side of both lines
                u, v = Fraction(e * s - b * t, det), Fraction(a * t - d * s, det)
                step = near / (2 * most * max(abs(u), abs(v), Fraction(1)))
                found.append((x + step * u, y + step * v))
    if not found:  # all are parallel: along a normal (a, b) of theirs
        if not (tilted := [line for line in lines if line[:2] != (0, 0)]):
            return [(Fraction(0), Fraction(0))]  # no unit has a line
        a, b, _ = tilted[0]
        cuts = sorted(Fraction(-r, a * p + b * q) for p, q, r in lines if (p, q) != (0, 0))
        inner = [(s + t) / 2 for s, t in pairwise(cuts)]
        found = [(t * a, t * b) for t in (cuts[0] - 1, *inner, cuts[-1] + 1)]
    return found


def slopes(x: np.ndarray, layer: FeedForwardParameters) -> np.ndarray:
    """The gradient of the layer's first output at points x (n, d_model), (n, d_model)."""
    back = np.zeros_like(x)
    back[:, 0] = 1.0
    return np.array(
        [reference.feed_forward_vjp(p, layer, RELU, g)[0] for p, g in zip(x, back, strict=True)]
    )


def pieces(layer: FeedForwardParameters, digits: int = 9) -> int:
    """How many straight pieces the first output has along a line: d_model = 1.

    It is asked between every two bends of a unit, and beyond the outermost.
    """
    w, b = layer.w_in[0], np.zeros(layer.w_in.shape[1]) if layer.b_in is None else layer.b_in
    bends = np.unique(-b[w != 0] / w[w != 0])
    if not bends.size:
        return 1
    between = np.concatenate([[bends[0] - 1], (bends[1:] + bends[:-1]) / 2, [bends[-1] + 1]])
    found = slopes(between[:, None], layer)[:, 0].round(digits)
    return 1 + int((np.diff(found) != 0).sum())


def dead(x: np.ndarray, layer: FeedForwardParameters) -> np.ndarray:
    """Which hidden units are off at every one of the vectors x (n, d_model), (d_ff,)."""
    bias = 0.0 if layer.b_in is None else layer.b_in
    return np.asarray((x @ layer.w_in + bias <= 0).all(axis=0))


def dead_share(d: int, bias: float, n: int = 2000) -> float:
    """Share of random units that are off at all of n random vectors of length √d.

    The bias of each is −`bias` √d |w|: at 1, no vector of that length can turn it on. There are 20
    drawings of 64 units, each with vectors of its own.
    """
    return float((_reach(d, n) <= bias).mean())


@cache
def _reach(d: int, n: int) -> np.ndarray:
    """The largest x · w of each unit, in units of √d |w|: (20, 64)."""
    found = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, w = rng.standard_normal((n, d)), rng.standard_normal((d, 64))
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
        found.append((x @ (w / np.linalg.norm(w, axis=0))).max(axis=0))
    return np.array(found)
