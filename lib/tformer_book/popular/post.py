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
    return {
        f"they add up to {sum(CAT):.2f} and can be rounded weights": sum(CAT) <= 1 + 6 * 0.005,
        "they leave more than 0.03 for the other four": 1 - sum(CAT) + 6 * 0.005 > 0.03 + 1e-9,
    }


def previous() -> Cases:
    x, p = tried.words(), tried.heads()
    causal, free = (ref.multi_head_weights(x, p, causal=c)[0, 2] for c in (True, False))
    return {
        "earlier words get weights": bool((causal[:2] > 0).all()),
        "no other does, with a causal mask": bool((causal[2:] == 0).all()),
        "no other does, without one": bool((free[2:] == 0).all()),
    }


def ten_thousand() -> Cases:
    gigabytes = 4 * 10_000**2 / 1e9
    return {
        f"one table of float32 weights at n = 10,000: {gigabytes:.1f} GB a head": gigabytes > 0.1
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
    x, p = tried.words(), tried.heads(2)
    width = (x @ p.w_q[0]).shape[-1]
    return {
        "a single head of full width": (x @ tried.heads(1).w_q[0]).shape == x.shape,
        f"two heads: {width}, not {x.shape[-1]}": width == x.shape[-1],
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
    x, layer = tried.words(), HeadsListing(8, 4)
    w_q, w_k, w_v = layer.inputs.swapaxes(0, 1)
    p = HeadParameters(w_q, w_k, w_v, layer.last.reshape(4, 2, 8))
    return {
        "it is the library's layer of heads": tried.same(layer(x), ref.multi_head_attention(x, p)),
        "at widths that do not divide too (8 by 3 keeps 6 of 8 numbers)": HeadsListing(
            8, 3
        ).last.shape[0]
        == 8,
    }


def split() -> Cases:
    p = tried.heads(4)
    return {"a head sees a part of the row only": p.w_q.shape[1] < 8}


def clipping() -> Cases:
    held = {}
    for name, size in (("a gradient of norm 5", 5.0), ("one of norm 0.5 stays", 0.5)):
        weight = torch.nn.Parameter(torch.zeros(4))
        weight.grad = torch.tensor([size, 0.0, 0.0, 0.0])
        torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
        held[name] = abs(float(weight.grad.norm()) - min(size, 1.0)) < 1e-5
    return held


def powers() -> tuple[float, ...]:
    """Return the powers of the paper's schedule."""
    return PAPER
