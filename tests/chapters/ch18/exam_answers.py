"""The exam questions of chapter 18, answered again by other ways."""

from fractions import Fraction
from itertools import product

import numpy as np

from tformer_book.exams import Item


def two_steps(item: Item) -> dict[str, object]:
    """By tokens and loops over queries and keys; the largest step by the sign of growth."""
    x, y, q, step = (item.given[name] for name in ("x", "y", "q", "step"))
    keys = [*x.tolist(), q]

    def layer(residuals: list[float], n_keys: int) -> list[float]:
        return [
            r - step / 2 * sum(query * keys[s] * residuals[s] for s in range(n_keys))
            for query, r in zip(keys, residuals, strict=True)
        ]

    start = [*map(float, y), 0.0]
    once = layer(start, 2)
    factor = np.linalg.eigvalsh(np.outer(x, x) / 2).max()
    return {
        "residuals": np.array(once[:2]),
        "answer": -layer(once, 2)[2],
        "largest": round(2 / factor, 13),
        "wrong": -layer(layer(start, 3), 3)[2],
    }


def learnt_step(item: Item) -> dict[str, object]:
    """From the moments of single numbers, added up over examples and coordinates."""
    d, n, more = (item.given[name] for name in ("d", "n", "more"))

    def square(examples: int) -> Fraction:
        """The mean of a diagonal entry of S²."""
        total = 0
        for i, j, b in product(range(examples), range(examples), range(d)):
            total += (3 if b == 0 else 1) if i == j else int(b == 0)
        return Fraction(total, examples**2)

    step = 1 / square(n)  # where the derivative, −2 + 2 η times this mean, is 0

    def error(examples: int) -> Fraction:
        return 1 - 2 * step + step**2 * square(examples)

    left = 1 - 2 * step + step**2
    return {
        "step": float(step),
        "error": float(error(n)),
        "asked": float(error(more)),
        "left": float(left),
    }


def ridge(item: Item) -> dict[str, object]:
    """By taking in one example after another, and by trying many x for the largest mean."""
    x, y, sigma, target = (item.given[name] for name in ("x", "y", "sigma", "target"))
    mean, variance = Fraction(0), Fraction(1)
    for a, b in zip(x.tolist(), y.tolist(), strict=True):
        gain = variance * a / (a * a * variance + sigma**2)
        mean, variance = mean + gain * (b - a * mean), variance * (1 - gain * a)
    tried = (Fraction(eighths, 8) for eighths in range(1, 200))
    largest = max(target * at / (at**2 + sigma**2) for at in tried)
    least = np.linalg.lstsq(x[:, None].astype(float), y, rcond=None)[0][0]
    return {
        "mean": float(mean),
        "variance": float(variance),
        "least": round(least, 13),
        "largest": float(largest),
    }


def jumps(item: Item) -> dict[str, object]:
    """By counting, among all ways in which the tokens can fall, those that are right."""
    k, whole, shares, tasks = (item.given[name] for name in ("k", "whole", "shares", "tasks"))
    ways = np.array(list(product(range(whole), repeat=k)))
    solved = [int((ways < share).all(axis=1).sum()) for share in shares]
    return {
        "scores": np.array(solved) / len(ways),
        "token": shares[2] / shares[0],
        "score": solved[2] / solved[0],
        "solved": tasks * solved[0] / len(ways),
    }
