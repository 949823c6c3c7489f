"""What *The Transformer Architecture: A Mathematical Introduction* says of its own, tried."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer_book.popular import tried
from tformer_book.popular.lines import Cases
from tformer_book.world.sources import THREE_TOKENS

RIGHT = THREE_TOKENS.right() | {"q": THREE_TOKENS.q, "k": THREE_TOKENS.k, "v": THREE_TOKENS.v}
"""The tables of the worked example, as they should be."""


PUBLISHED = {"N": 0.076, "D": 0.095, "C": 0.050}
"""The exponents of the first scaling laws, for parameters, data, and compute spent well."""


FLOPS = {
    "big": 2.3e19,
    "best before, English to German": 7.7e19,
    "best before, English to French": 1.2e21,
}
"""Training costs in the second table of the paper of 2017."""


def scores() -> Cases:
    """Scores as scaled dot products, one by one."""
    q, k, _ = tried.rng().normal(size=(3, 5, 8))
    scores = np.array([[a @ b / np.sqrt(8) for b in k] for a in q])
    return {
        "computed entry by entry, the scores give the library's weights": tried.same(
            ref.softmax(scores), ref.attention_weights(q, k)
        )
    }


def differentiable() -> Cases:
    """The gradient of attention, and a finite difference."""
    q, k, v, grad = tried.rng().normal(size=(4, 5, 8))
    step = 1e-6
    first = ref.attention_vjp(q, k, v, grad)[0][0, 0]
    moved = [
        ref.attention(q + sign * step * np.eye(5, 8, 0) * (np.arange(5) == 0)[:, None], k, v)
        for sign in (1, -1)
    ]
    slope = ((moved[0] - moved[1]) * grad).sum() / (2 * step)
    return {"its gradient is equal to a finite difference": tried.same(first, slope, 1e-6)}


def hundredfold() -> Cases:
    """Training costs of the best models before, in those of the big transformer."""
    ratios = {name: cost / FLOPS["big"] for name, cost in FLOPS.items() if name != "big"}
    return {f"{name}: {ratio:.1f} times the cost": ratio >= 100 for name, ratio in ratios.items()}


def example(table: str, *place: int) -> np.ndarray:
    """Return a table of the worked example, a row of it, or a number."""
    return np.asarray(RIGHT[table][place])


def published(exponent: str) -> float:
    """Return an exponent of the first scaling laws."""
    return PUBLISHED[exponent]


def a_to_b() -> Cases:
    """The largest weights of the first two tokens."""
    a, b = RIGHT["weights"][:2]
    return {"A attends most to B, and B to A": bool(a.argmax() == 1 and b.argmax() == 0)}


def c_to_all() -> Cases:
    """The weights of the third token."""
    return {"all three are 1/3": tried.same(RIGHT["weights"][2], np.full(3, 1 / 3))}


def dominated_by_b() -> Cases:
    """The first token's weights beside its dot products."""
    weights, dots = example("weights", 0), example("dots", 0)
    return {
        "the largest weight belongs to the largest dot product": bool(
            weights.argmax() == dots.argmax()
        )
    }
