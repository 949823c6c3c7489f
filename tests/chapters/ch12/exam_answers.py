"""The exam questions of chapter 12, answered again by other ways than the library's."""

from typing import Any

import numpy as np

from tformer_book.exams import Item


def linear_step(item: Item) -> dict[str, object]:
    """Number by number."""
    x, w, dy = (item.given[name].tolist() for name in ("x", "w", "dy"))
    both = range(2)
    n, d, m = item.given["sizes"]
    there = sum(1 for _ in range(n) for _ in range(d) for _ in range(m))
    return {
        "dx": np.array([[sum(dy[t][j] * w[i][j] for j in both) for i in both] for t in both]),
        "dw": np.array([[sum(x[t][i] * dy[t][j] for t in both) for j in both] for i in both]),
        "db": np.array([sum(dy[t][j] for t in both) for j in both]),
        "there": there,
        "back": there + there,
    }


def _slopes(loss: Any, s: np.ndarray) -> np.ndarray:
    """Derivatives of a function of scores by steps in the complex plane, which do not round."""
    steps = 1e-30j * np.eye(len(s))
    return np.array([loss(s + step).imag / 1e-30 for step in steps])


def blamed_row(item: Item) -> dict[str, object]:
    """By complex steps in the scores."""
    a, right, da = (item.given[name] for name in ("a", "right", "da"))

    def weights(s: np.ndarray) -> np.ndarray:
        return np.exp(s) / np.exp(s).sum()

    s = np.log(a)
    return {
        "first": _slopes(lambda s: -np.log(weights(s)[right]), s).round(9),
        "mean": round(sum(p * g for p, g in zip(a, da, strict=True)), 9),
        "second": _slopes(lambda s: (weights(s) * da).sum(), s).round(9),
    }


def used_twice(item: Item) -> dict[str, object]:
    """Word by word."""
    words, dx, x, dz = (item.given[name] for name in ("words", "dx", "x", "dz"))
    lookup = [sum(g for word, g in zip(words, dx, strict=True) if word == n) for n in range(3)]
    head = [sum(dz[t, n] * x[t] for t in range(3)) for n in range(3)]
    total = np.array([a + b for a, b in zip(lookup, head, strict=True)], float)
    return {"lookup": np.array(lookup, float), "head": np.array(head, float), "total": total}


def checked(item: Item) -> dict[str, object]:
    """By trying steps one over a whole number, and by adding up what is kept."""
    eps, m, n_tokens, d, n_heads, n_layers = (item.given[x] for x in ("eps", "m", *"TdHL"))
    bounds = {k: m / k**2 / 6 + eps * k for k in range(1, 100)}
    best = min(bounds, key=lambda k: bounds[k])
    block = n_tokens * (4 * d + 4 * d + 2 * 4 * d) + n_heads * n_tokens * n_tokens
    return {
        "best": 1 / best,
        "bound": round(bounds[best], 12),
        "everything": sum([block] * n_layers),
        "least": sum([n_tokens * d] * n_layers) + block,
    }
