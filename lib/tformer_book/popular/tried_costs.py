"""What several documents say of costs, training and recurrence, tried."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np

from tformer.models.sizes import Sizes, count_flops, count_parameters
from tformer_book.popular import tried_models
from tformer_book.popular.lines import Cases
from tformer_book.popular.tried import rng, same, words
from tformer_book.popular.tried_models import PLAIN


def products(n: int, d: int, hidden: int) -> dict[str, int]:
    """Multiplications of one layer for n words of width d: its parts."""
    return {
        "projections": 4 * n * d * d,
        "attention": 2 * n * n * d,
        "feed-forward": 2 * n * d * hidden,
    }


def layer_flops(n: int, d: int) -> int:
    """Additions and multiplications of one layer, by the library's count."""
    sizes = Sizes(n_vocab=1, d_model=d, n_layers=1, n_heads=4, d_ff=4 * d)
    return count_flops(sizes, n) - 2 * n * d


def layer_costs() -> Cases:
    """The formula of a layer's costs against the library's count; what dominates when."""
    n, d = 96, 64
    parts = products(n, d, 4 * d)
    long, short = products(6 * d, d, 4 * d), products(4 * d, d, 4 * d)
    return {
        "T d² + T² d + T d d_ff, with constants, is the library's count": layer_flops(n, d)
        == 2 * sum(parts.values()),
        "scores and weighted sums cost as much as the feed-forward layer at T = 4 d": short[
            "attention"
        ]
        == short["feed-forward"],
        "they cost as much as all the rest at T = 6 d": 2 * long["attention"] == sum(long.values()),
    }


def scores_alone() -> Cases:
    """n² d against everything that one layer does."""
    share = [
        products(n, 512, 2048)["attention"] / sum(products(n, 512, 2048).values())
        for n in (512, 51200)
    ]
    return {
        f"at n = 100 d, {share[1]:.0%} of a layer are scores and weighted sums": share[1] > 0.9,
        f"at n = d it is {share[0]:.0%}, since projections cost n d²": share[0] > 0.9,
    }


def feed_forward_costs() -> Cases:
    """Twice the words, twice the width."""
    base, longer, wider = products(64, 32, 128), products(128, 32, 128), products(64, 64, 256)
    return {
        "the feed-forward layer is linear in the number of tokens": longer["feed-forward"]
        == 2 * base["feed-forward"],
        "it is quadratic in the widths": wider["feed-forward"] == 4 * base["feed-forward"],
        "scores and weighted sums are quadratic in the number of tokens": longer["attention"]
        == 4 * base["attention"],
    }


def attention_alone() -> Cases:
    """The share of a block's parameters that is attention."""
    sizes = Sizes(n_vocab=1, d_model=64, n_layers=1, n_heads=4, d_ff=256, biased=False)
    one, none = (count_parameters(replace(sizes, d_ff=size), PLAIN) for size in (256, 0))
    share = (one - none) / (one - 3 * 64)
    return {
        "only attention mixes positions": tried_models.feed_forward_by_hand()[
            "a token's output does not depend on other tokens"
        ],
        f"attention is most of the block (feed-forward has {share:.0%} of parameters)": share < 0.5,
    }


def schedule() -> Cases:
    """The warm-up schedule against the paper's, its peak, and step 0."""

    def rate(step: int, d_model: int = 512, warmup: int = 4000) -> float:
        return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)

    rates = [rate(step) for step in range(1, 12001)]
    try:
        first = rate(0)
    except ZeroDivisionError:
        first = inf
    return {
        f"at width 512, the rate rises to {max(rates):.1e} at step 4000 and then falls": int(
            np.argmax(rates)
        )
        == 3999,
        "a loop can start at step 0 (0 to the power −0.5 raises an error)": first < inf,
    }


def half_precision() -> Cases:
    """A gradient of 1e-8 in float16, alone and scaled up before; and a step added to a weight."""
    tiny = 1e-8
    alone = float(np.float16(tiny))
    scaled = float(np.float16(tiny * 1024)) / 1024
    return {
        "an update of 1e-4 changes a weight of 1 in float32": bool(
            np.float32(1) + np.float32(1e-4) > 1
        ),
        f"float16 keeps a gradient of 1e-8 (as {alone:g}, or {scaled:.0e} if scaled first)": alone
        > 0,
    }


def in_context() -> Cases:
    """A layer of attention without softmax over examples, and a step of gradient descent."""
    x, target = rng().normal(size=(20, 3)), words(20, 2)
    asked = np.random.default_rng(4).normal(size=(1, 3))
    weights, rate = np.zeros((3, 2)), 0.1
    stepped = weights + rate * x.T @ (target - x @ weights)
    answer = rate * (asked @ x.T) @ target
    return {
        "the parameters are the same before and after": same(weights, np.zeros((3, 2))),
        "no gradient step is computed (attention without softmax gives one exactly)": not same(
            asked @ stepped, answer
        ),
    }


def recurrence() -> Cases:
    """A recurrence with a tanh as one sum over its inputs, and a linear one."""
    a, inputs = 0.5, rng().normal(size=8)
    bent, straight = [0.0], [0.0]
    for x in inputs:
        bent.append(float(np.tanh(a * bent[-1] + x)))
        straight.append(a * straight[-1] + x)
    lags = np.subtract.outer(np.arange(8), np.arange(8))
    at_once = np.where(lags >= 0, a ** np.maximum(lags, 0.0), 0.0) @ inputs
    return {
        "with a tanh, no single product gives all states": not same(at_once, bent[1:]),
        "without a tanh, none does either": not same(at_once, straight[1:]),
    }


def waiting() -> Cases:
    """The first of these cases: with a tanh, as in the networks that are meant."""
    return dict(list(recurrence().items())[:1])


def fading() -> Cases:
    """How much of a gradient is left after 50 steps: through tanh, and through an open gate."""
    w = 0.9 * np.linalg.qr(rng().normal(size=(8, 8)))[0]
    h, grad = np.zeros(8), np.eye(8)
    for x in np.random.default_rng(5).normal(size=(50, 8)):
        h = np.tanh(h @ w + x)
        grad = grad @ (w * (1 - h**2))
    left = float(np.abs(grad).max())
    gated = np.linalg.matrix_power(np.eye(8), 50).max()
    return {
        f"tanh recurrence: {left:.0e} of the gradient is left after 50 steps": left < 1e-6,
        f"cell of an LSTM with an open gate: {gated:.0f} is left": bool(gated < 1e-6),
    }


def any_length() -> Cases:
    """A recurrence over 10 and over 1000 words."""
    sizes = []
    for n in (10, 1000):
        h = np.zeros(8)
        for x in rng().normal(size=(n, 8)):
            h = np.tanh(0.5 * h + x)
        sizes.append(h.shape)
    return {"a recurrent network has a maximum length": sizes[0] != sizes[1]}
