"""A tiny attention layer learns to look things up, under three scales of its scores.

Each memory holds 16 different tokens out of 32, every one with a value of its own. Every token of
the memory asks for its value, so query and key come from the same embedding, which is random and
fixed; only W_Q and W_K learn. The layer answers with a distribution over the values, and the loss
is the negative logarithm of the weight on the right one. Each step draws new memories, so no
memory is seen twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from tformer import fast
from tformer_book.experiments.threads import one_thread
from tformer_book.experiments.training import Adam, Descent, training

N_TOKENS, N_STORED, D_MODEL, N_MEMORIES = 32, 16, 16, 2
CHANCE = math.log(N_STORED)
"""Loss of a layer that looks at all keys alike."""
FLOOR = 0.02  # of the answer is spread over all values, so that no loss exceeds log(16 / 0.02)


@dataclass(frozen=True)
class Runs:
    """Training runs of one width and one scale, for several learning rates and seeds.

    Attributes
    ----------
    rates : tuple of floats
    losses : (steps, rates, seeds) tensor
    matched, aligned : (2, rates, seeds) tensors
        Before and after training: the mean unscaled dot product of a query with its own key, and
        the mean cosine with it.
    """

    rates: tuple[float, ...]
    losses: Tensor
    matched: Tensor
    aligned: Tensor
    chance: ClassVar[float] = CHANCE

    def final(self, last: int = 10) -> Tensor:
        """Mean loss of the last steps: (rates, seeds)."""
        return self.losses[-last:].mean(dim=0)

    def typical(self) -> Tensor:
        """Median of the final losses over the seeds: (rates,).

        For an even number of seeds halfway between the middle two, where torch's median is the
        lower.
        """
        return self.final().quantile(0.5, dim=-1)


def train(
    d_head: int,
    scale: float,
    rates: Sequence[float],
    adam: bool = False,
    seeds: int = 6,
    steps: int = 100,
) -> Runs:
    """Train one model for each learning rate and seed, all at once, by gradient descent or Adam.

    Runs of one seed share embeddings, first weights and memories, whatever the scale and the rate.
    One thread computes, so that sums are taken in the same order on every machine.
    """
    rng = torch.Generator().manual_seed(0)
    shapes = (N_TOKENS, D_MODEL), (D_MODEL, d_head), (D_MODEL, d_head)
    draws = [torch.randn(seeds, *shape, generator=rng, dtype=torch.float64) for shape in shapes]
    embeddings, w_q, w_k = (x.repeat(len(rates), 1, 1) for x in draws)
    weights = [(w / math.sqrt(D_MODEL)).requires_grad_() for w in (w_q, w_k)]
    rate = torch.tensor(rates, dtype=torch.float64).repeat_interleave(seeds)[:, None, None]
    before, losses = _dots(embeddings, *weights), []

    def gradients() -> Sequence[Tensor]:
        loss = _loss(embeddings, weights, scale, _memories(rng, seeds, len(rates)))
        losses.append(loss.detach())
        return torch.autograd.grad(loss.sum(), weights)

    with one_thread():
        for _ in training(Adam(weights) if adam else Descent(weights), gradients, steps, rate):
            pass
    both = zip(before, _dots(embeddings, *weights), strict=True)
    found = [torch.stack(losses), *(torch.stack(pair) for pair in both)]
    return Runs(tuple(rates), *(x.unflatten(-1, (len(rates), seeds)) for x in found))


def _memories(rng: torch.Generator, seeds: int, rates: int) -> Tensor:
    """Tokens of fresh memories, (runs, memories, stored): the same for every learning rate."""
    order = torch.rand(seeds, N_MEMORIES, N_TOKENS, generator=rng).argsort(dim=-1)
    return order[..., :N_STORED].repeat(rates, 1, 1)


def _loss(embeddings: Tensor, weights: list[Tensor], scale: float, tokens: Tensor) -> Tensor:
    """Mean loss of each run: (runs,)."""
    run = torch.arange(len(tokens))[:, None, None]
    x = embeddings[run, tokens]
    q, k = (x @ w[:, None] for w in weights)
    values = torch.eye(N_STORED, dtype=x.dtype)
    answers = fast.attention(q, k, values, scale=scale)
    right = answers.diagonal(dim1=-2, dim2=-1)
    return -torch.log((1 - FLOOR) * right + FLOOR / N_STORED).mean(dim=(-2, -1))


def _dots(embeddings: Tensor, w_q: Tensor, w_k: Tensor) -> tuple[Tensor, Tensor]:
    """For each run: mean of q·k for a token and itself, and mean cosine of the two."""
    q, k = ((embeddings @ w).detach() for w in (w_q, w_k))
    return fast.dot(q, k).mean(dim=-1), fast.cosine_similarity(q, k).mean(dim=-1)
