"""A tiny attention layer learns to look things up, under three scales of its scores.

Each memory holds 16 different tokens out of 32, every one with a value of its own. Every token of
the memory asks for its value, so query and key come from the same embedding, which is random and
fixed; only W_Q and W_K learn. The layer answers with a distribution over the values, and the loss
is the negative logarithm of the weight on the right one. Each step draws new memories, so no
sample is seen twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tformer import fast

N_TOKENS, N_STORED, D_MODEL, N_MEMORIES = 32, 16, 32, 2
FLOOR = 0.02  # of the answer is spread over all values, so that no loss is infinite


@dataclass(frozen=True)
class Runs:
    """Training runs of one width and one scale.

    Attributes
    ----------
    losses : (steps, learning rates, seeds) tensor
    matched, spread : (2, learning rates, seeds) tensors
        Before and after training: the mean unscaled dot product of a query with its own key, and
        the root mean square of those with the other keys.
    """

    losses: Tensor
    matched: Tensor
    spread: Tensor


def train(
    d_head: int, scale: float, rates: Sequence[float], seeds: int = 8, steps: int = 200
) -> Runs:
    """Train one model for each learning rate and seed, all at once, with Adam.

    Runs of one seed share embeddings, first weights and memories, whatever the scale and the rate.
    """
    rng = torch.Generator().manual_seed(0)
    shapes = (N_TOKENS, D_MODEL), (D_MODEL, d_head), (D_MODEL, d_head)
    draws = [torch.randn(seeds, *shape, generator=rng, dtype=torch.float64) for shape in shapes]
    embeddings, w_q, w_k = (x.repeat(len(rates), 1, 1) for x in draws)
    weights = [(w / math.sqrt(D_MODEL)).requires_grad_() for w in (w_q, w_k)]
    rate = torch.tensor(rates, dtype=torch.float64).repeat_interleave(seeds)[:, None, None]
    before, adam, losses = _dots(embeddings, *weights), _Adam(weights, rate), []
    for _ in range(steps):
        loss = _loss(embeddings, weights, scale, _memories(rng, seeds, len(rates)))
        adam.step(torch.autograd.grad(loss.sum(), weights))
        losses.append(loss.detach())
    found = torch.stack(losses), *map(torch.stack, zip(before, _dots(embeddings, *weights)))
    return Runs(*(x.unflatten(-1, (len(rates), seeds)) for x in found))


def _memories(rng: torch.Generator, seeds: int, rates: int) -> Tensor:
    """Tokens of fresh memories: (runs, memories, stored), the same for every learning rate."""
    order = torch.rand(seeds, N_MEMORIES, N_TOKENS, generator=rng).argsort(dim=-1)
    return order[..., :N_STORED].repeat(rates, 1, 1)


def _loss(embeddings: Tensor, weights: list[Tensor], scale: float, tokens: Tensor) -> Tensor:
    """Mean loss of each run, (runs,)."""
    run = torch.arange(len(tokens))[:, None, None]
    x = embeddings[run, tokens]
    q, k = (x @ w[:, None] for w in weights)
    values = torch.eye(N_STORED, dtype=x.dtype)
    answers = fast.attention(q, k, values, scale=scale)
    right = answers.diagonal(dim1=-2, dim2=-1)
    return -torch.log((1 - FLOOR) * right + FLOOR / N_STORED).mean(dim=(-2, -1))


def _dots(embeddings: Tensor, w_q: Tensor, w_k: Tensor) -> tuple[Tensor, Tensor]:
    """For each run: mean of q·k for a token and itself, root mean square for different tokens."""
    dots = ((embeddings @ w_q) @ (embeddings @ w_k).mT).detach()
    same = torch.eye(N_TOKENS, dtype=torch.bool)
    return dots[:, same].mean(dim=-1), dots[:, ~same].square().mean(dim=-1).sqrt()


class _Adam:
    """Adam with a learning rate for each run; torch's own would take three seconds to import."""

    def __init__(self, weights: list[Tensor], rate: Tensor):
        self.weights, self.rate, self.steps = weights, rate, 0
        self.moments = [(torch.zeros_like(w), torch.zeros_like(w)) for w in weights]

    @torch.no_grad()
    def step(self, gradients: Sequence[Tensor], decay: float = 0.9, decay2: float = 0.99) -> None:
        self.steps += 1
        for w, grad, (first, second) in zip(self.weights, gradients, self.moments, strict=True):
            first.lerp_(grad, 1 - decay)
            second.lerp_(grad * grad, 1 - decay2)
            mean, square = first / (1 - decay**self.steps), second / (1 - decay2**self.steps)
            w -= self.rate * mean / (square.sqrt() + 1e-12)
