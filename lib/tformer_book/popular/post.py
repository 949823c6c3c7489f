"""What *Understanding Transformer Architectures* says of its own, and its listings, tried."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import softmax as scipy_softmax

from tformer import reference as ref
from tformer.parameters import HeadParameters
from tformer_book.popular import tried
from tformer_book.popular.lines import Cases

CAT = (0.05, 0.82, 0.03, 0.01, 0.02, 0.07)


def sum_of_six() -> Cases:
    """The sum of the six printed weights."""
    return {
        f"they sum to {sum(CAT):.2f} and can be rounded weights": sum(CAT) <= 1 + 6 * 0.005,
        "they leave more than 0.03 for the other four": 1 - sum(CAT) + 6 * 0.005 > 0.03 + 1e-9,
    }


def previous() -> Cases:
    """The weights on earlier and on later tokens, with a mask and without."""
    x, p = tried.words(), tried.heads()
    causal, free = (ref.multi_head_weights(x, p, causal=c)[0, 2] for c in (True, False))
    return {
        "earlier tokens get weights": bool((causal[:2] > 0).all()),
        "with a causal mask, no other token does": bool((causal[2:] == 0).all()),
        "without a mask, no other token does": bool((free[2:] == 0).all()),
    }


def ten_thousand() -> Cases:
    """The size of one table of weights."""
    gigabytes = 4 * 10_000**2 / 1e9
    return {
        f"at n = 10,000, float32 weights take {gigabytes:.1f} GB for each head": gigabytes > 0.1
    }


PAPER = (-0.5, -1.5, -0.5)
"""The powers of step, of the warm-up and of the width in the paper of 2017, equation 3."""


def tables_of_softmax() -> tuple[np.ndarray, np.ndarray]:
    """Return the weights (5, 5) of a softmax over each row, and of SciPy's as it is called."""
    q, k, _ = tried.rng().normal(size=(3, 5, 8))
    scores = q @ k.T / np.sqrt(8)
    return scipy_softmax(scores, axis=-1), scipy_softmax(scores)


def softmax_of_all() -> Cases:
    """The listing with a softmax over rows, and with SciPy's as it is called."""
    q, k, v = tried.rng().normal(size=(3, 5, 8))
    (rows, whole), y = tables_of_softmax(), ref.attention(q, k, v)
    least, most = whole.sum(axis=-1).min(), whole.sum(axis=-1).max()
    return {
        "with a softmax over each row it is attention": tried.same(rows @ v, y),
        f"with SciPy's, as called (rows then sum to {least:.2f} to {most:.2f})": tried.same(
            whole @ v, y
        ),
    }


def docstring() -> Cases:
    """The width of a query for one head and for two."""
    x, p = tried.words(), tried.heads(2)
    width = (x @ p.w_q[0]).shape[-1]
    return {
        "a single head of full width": (x @ tried.heads(1).w_q[0]).shape == x.shape,
        f"two heads (the width is {width}, not {x.shape[-1]})": width == x.shape[-1],
    }


class HeadsListing:
    """Heads with matrices of their own, concatenated, and one last matrix."""

    def __init__(self, width: int, n_heads: int):
        rng = tried.rng()
        size = width // n_heads
        self.inputs = rng.normal(size=(n_heads, 3, width, size)) / np.sqrt(width)
        self.last = rng.normal(size=(n_heads * size, width)) / np.sqrt(width)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        outputs = [tried.by_hand(*(x @ w for w in ws)) for ws in self.inputs]
        return np.concatenate(outputs, axis=-1) @ self.last


def heads_listing() -> Cases:
    """The listing of heads against the library's, and a width that the heads do not divide."""
    x, layer = tried.words(), HeadsListing(8, 4)
    w_q, w_k, w_v = layer.inputs.swapaxes(0, 1)
    p = HeadParameters(w_q, w_k, w_v, layer.last.reshape(4, 2, 8))
    return {
        "it is the library's layer of heads": tried.same(layer(x), ref.multi_head_attention(x, p)),
        "also if the heads do not divide the width (3 heads keep 6 of 8 numbers)": HeadsListing(
            8, 3
        ).last.shape[0]
        == 8,
    }


def split() -> Cases:
    """How much of the input a head reads."""
    p = tried.heads(4)
    return {"a head reads only a part of the input": p.w_q.shape[1] < 8}


def clipping() -> Cases:
    """A large gradient and a small one, clipped."""
    held = {}
    for name, size in (
        ("a gradient of norm 5 is clipped", 5.0),
        ("one of norm 0.5 stays as it is", 0.5),
    ):
        weight = torch.nn.Parameter(torch.zeros(4))
        weight.grad = torch.tensor([size, 0.0, 0.0, 0.0])
        torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
        held[name] = abs(float(weight.grad.norm()) - min(size, 1.0)) < 1e-5
    return held


def powers() -> tuple[float, ...]:
    """Return the powers of the paper's schedule."""
    return PAPER
