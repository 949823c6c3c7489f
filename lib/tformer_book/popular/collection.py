"""What *Transformers* says of its own, and its listing in PyTorch, tried."""

from __future__ import annotations

import numpy as np
import torch

from tformer import fast
from tformer import reference as ref
from tformer_book.popular import tried
from tformer_book.popular.lines import Cases


def run_listing(x: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and weights as the listing has them: fresh Gaussian projections every call."""
    w_q, w_k, w_v = (torch.randn(8, 8, generator=generator) for _ in range(3))
    scores = (x @ w_q) @ (x @ w_k).T / 8**0.5
    weights = torch.softmax(scores, dim=-1)
    return weights @ (x @ w_v), weights


def listing_is_attention() -> Cases:
    """The listing's output against the library's attention with the same draws."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 8, generator=generator)
    state = generator.get_state()
    output, _ = run_listing(x, generator)
    generator.set_state(state)
    q, k, v = (x @ torch.randn(8, 8, generator=generator) for _ in range(3))
    return {
        "with the same draws it is the library's attention": bool(
            (output - fast.attention(q, k, v)).abs().max() < 1e-3
        )
    }


def draws_again() -> Cases:
    """The same words, given twice."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 8, generator=generator)
    first, second = (run_listing(x, generator)[1] for _ in range(2))
    return {"the same tokens have the same weights in the next call": torch.equal(first, second)}


def saturates() -> Cases:
    """The mean largest weight over many calls, as listed and with entries of variance 1/8."""
    generator = torch.Generator().manual_seed(0)
    listed, usual = [], []
    for _ in range(400):
        x = torch.randn(3, 8, generator=generator)
        listed.append(float(run_listing(x, generator)[1].max(dim=-1).values.mean()))
        q, k = (x @ torch.randn(8, 8, generator=generator) / 8**0.5 for _ in range(2))
        usual.append(float(fast.attention_weights(q, k).max(dim=-1).values.mean()))
    as_listed, scaled = float(np.mean(listed)), float(np.mean(usual))
    return {
        f"as listed (the largest of three weights is {as_listed:.2f} on average)": as_listed < 0.8,
        f"with entries of variance 1/8 ({scaled:.2f})": scaled < 0.8,
    }


def shapes() -> Cases:
    """The shapes of outputs and weights."""
    output, weights = run_listing(torch.ones(3, 8), torch.Generator().manual_seed(0))
    return {"outputs (3, 8), weights (3, 3)": output.shape == (3, 8) and weights.shape == (3, 3)}


def diagram_weights() -> Cases:
    """The printed weights; and the ratio of two weights under two last words."""
    weights = np.array([0.48, 0.28, 0.08])
    last = {name: tried.rng().normal(size=8) * i for i, name in enumerate(("tired", "wide"), 1)}
    rows, p = tried.words(4), tried.heads(1)
    ratios = []
    for row in last.values():
        looked = ref.multi_head_weights(np.vstack([rows[:3], row]), p)[0, 2]
        ratios.append(looked[0] / looked[1])
    return {
        f"they can be in one row (they sum to {weights.sum():.0%})": weights.sum() <= 1,
        "in a first layer, another last word changes the ratio of *animal* to *street*": abs(
            ratios[0] - ratios[1]
        )
        > 1e-9,
    }


def second_order() -> Cases:
    """Weights on three words when the fourth changes."""
    rows, p = tried.words(4), tried.heads(1)
    other = np.vstack([rows[:3], -rows[3:]])
    first, second = (ref.multi_head_weights(x, p)[0, 0] for x in (rows, other))
    return {
        "of two tokens, through their vectors": not tried.same(first[3], second[3]),
        "of two tokens if a third decides": not tried.same(
            first[1] / first[2], second[1] / second[2]
        ),
    }
