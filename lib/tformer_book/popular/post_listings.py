"""The listings of *Understanding Transformer Architectures*: what they give."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import softmax as scipy_softmax

from tformer import reference as ref
from tformer.parameters import HeadParameters
from tformer_book.popular import tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases, Line, cited, numbers, runs

PAPER = (-0.5, -1.5, -0.5)
"""The powers of step, of the warm-up and of the width in the paper of 2017, equation 3."""


def listings() -> list[Line]:
    return [
        runs(
            "weights = softmax(scores)",
            "attention(Q, K, V) is attention",
            softmax_of_all,
            "eq-softmax",
            "`softmax` is not defined, and NumPy has none; SciPy's takes one over the whole "
            "table unless it is told otherwise.",
        ),
        runs(
            "Q: Query matrix [seq_len, d_model]",
            "the shapes in the docstring",
            _docstring,
            "def-multi-head",
            "The next listing calls it with heads of width d_model / num_heads.",
        ),
        runs(
            "self.d_k = d_model // num_heads",
            "the listing of heads is a layer of heads",
            _heads_listing,
            "thm-sum-of-heads",
        ),
        runs(
            "# Split into multiple heads",
            "the input is split",
            _split,
            "eq-multi-head-attention",
            "Each head reads the whole input through matrices of its own.",
        ),
        runs(
            "np.exp(np.arange(0, d_model, 2) * -(np.log(10000.0) / d_model))",
            "the listing of positions gives the sinusoids",
            tried_models.sinusoid_listing,
            "exm-position-listings",
            "An odd width has one sine more than cosines.",
        ),
        runs(
            "x = self.norm1(x + attn_output)",
            "the block: norms after the sums",
            tried_models.norm_after,
            "eq-block",
        ),
        runs(
            "x = self.norm1(x) / x = x + self.attention(x)",
            "this is pre-norm",
            tried_models.overwritten,
            "prop-unrolled eq-block",
            "The row itself is replaced by its norm, so what was in the stream is gone; pre-norm "
            "norms a copy.",
        ),
        cited(
            "Pre-norm is more stable than post-norm",
            "in training",
            "agrees",
            "{cite:p}`xiong2020` train both. What the snippet computes is post-norm, but for its "
            "ends.",
            "thm-variance prop-one-layer-back",
        ),
        numbers(
            "step ** -0.5, warmup_steps ** -1.5, d_model ** -0.5",
            "the powers of the paper's schedule",
            lambda: PAPER,
            "14",
            "{cite:p}`vaswani2017`, section 5.3.",
        ),
        runs(
            "min(arg1, arg2), warmup_steps=4000",
            "up to step 4000, then down",
            tried_costs.schedule,
            "14",
        ),
        runs(
            "max_norm=1.0",
            "the gradient's norm is cut to 1",
            _clipping,
            "14",
        ),
    ]


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


def _docstring() -> Cases:
    x, p = tried.words(), tried.heads(2)
    width = (x @ p.w_q[0]).shape[-1]
    return {
        "a single head of full width": (x @ tried.heads(1).w_q[0]).shape == x.shape,
        f"two heads: {width}, not {x.shape[-1]}": width == x.shape[-1],
    }


class _Heads:
    """Heads with matrices of their own, concatenated, and one last matrix."""

    def __init__(self, width: int, n_heads: int):
        rng = tried.rng()
        size = width // n_heads
        self.inputs = rng.normal(size=(n_heads, 3, width, size)) / np.sqrt(width)
        self.last = rng.normal(size=(n_heads * size, width)) / np.sqrt(width)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        outputs = [tried.by_hand(*(x @ w for w in ws)) for ws in self.inputs]
        return np.concatenate(outputs, axis=-1) @ self.last


def _heads_listing() -> Cases:
    x, layer = tried.words(), _Heads(8, 4)
    w_q, w_k, w_v = layer.inputs.swapaxes(0, 1)
    p = HeadParameters(w_q, w_k, w_v, layer.last.reshape(4, 2, 8))
    return {
        "it is the library's layer of heads": tried.same(layer(x), ref.multi_head_attention(x, p)),
        "at widths that do not divide too (8 by 3 keeps 6 of 8 numbers)": _Heads(8, 3).last.shape[0]
        == 8,
    }


def _split() -> Cases:
    p = tried.heads(4)
    return {"a head sees a part of the row only": p.w_q.shape[1] < 8}


def _clipping() -> Cases:
    held = {}
    for name, size in (("a gradient of norm 5", 5.0), ("one of norm 0.5 stays", 0.5)):
        weight = torch.nn.Parameter(torch.zeros(4))
        weight.grad = torch.tensor([size, 0.0, 0.0, 0.0])
        torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
        held[name] = abs(float(weight.grad.norm()) - min(size, 1.0)) < 1e-5
    return held
