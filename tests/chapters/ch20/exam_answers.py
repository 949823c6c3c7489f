"""The exam questions of chapter 20, answered again by other ways."""

from fractions import Fraction
from math import isqrt, sqrt

import numpy as np

from tformer_book.exams import Item


def spent(item: Item) -> dict[str, object]:
    """By trying every whole N that divides the product, and again with sixteen times as much."""
    a, b, floor, product = (item.given[name] for name in ("a", "b", "floor", "product"))

    def loss(n: int, much: int) -> float:
        return floor + a / sqrt(n) + b / sqrt(much // n)

    def best(much: int) -> int:
        sizes = [n for n in range(1, isqrt(much) + 1) if much % n == 0]
        return min([*sizes, *(much // n for n in sizes)], key=lambda n: loss(n, much))

    n = best(product)
    return {
        "n": n,
        "d": product // n,
        "loss": loss(n, product),
        "more": loss(best(16 * product), 16 * product),
        "stays": b / sqrt(product // n),
    }


def floored(item: Item) -> dict[str, object]:
    """By a complex step between logarithms, at N = 1 and at the second size."""
    floor, above, root = (item.given[name] for name in ("floor", "above", "root"))

    def slope(size: float) -> float:
        step = np.exp(np.log(size) + 1e-30j)
        return round(-np.log(floor + above * step**-0.5).imag / 1e-30, 14)

    loss = floor + above * float(root * root) ** -0.5
    return {"first": slope(1), "loss": loss, "second": slope(root * root), "least": floor}


def costs(item: Item) -> dict[str, object]:
    """By counting in loops over keys and coordinates; the half by trying lengths."""
    d, layers, n_tokens = (item.given[name] for name in ("d", "layers", "T"))

    def looks(length: int) -> int:
        scored = sum(2 for _ in range(length) for _ in range(d))
        mixed = sum(2 for _ in range(d) for _ in range(length))
        return 3 * (scored + mixed)

    matrices = 3 * 2 * (4 * d * d + 2 * d * 4 * d)
    half = next(length for length in range(1, 1000) if looks(length) >= matrices)
    share = Fraction(layers * looks(n_tokens), layers * (looks(n_tokens) + matrices))
    return {"looks": looks(n_tokens), "share": float(share), "half": half}


def related(item: Item) -> dict[str, object]:
    """From the covariance matrix of the runs."""
    m, rho, places = (item.given[name] for name in ("m", "rho", "places"))
    rho = float(Fraction(rho))
    same = np.full((m, m), rho) + (1 - rho) * np.eye(m)
    x = np.repeat(np.linspace(-1, 1, places), m)
    pulls = x / (x @ x)
    grows = pulls @ np.kron(np.eye(places), same) @ pulls / (pulls @ pulls)
    mean = np.full(m, 1 / m)
    wider = sqrt((x @ x) / ((x / 2) @ (x / 2)))
    return {
        "grows": round(grows, 12),
        "worth": round(1 / (mean @ same @ mean), 12),
        "wider": round(wider, 12),
    }
