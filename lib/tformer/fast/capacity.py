"""Capacity: an expert computes at most so many tokens, and the others lose it (chapter 22)."""

import torch
from torch import Tensor

from tformer.fast.experts import largest
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["drop_overflow", "drop_overflow_vjp"]


@twin
def drop_overflow(weights: Tensor, capacity: int) -> Tensor:
    """An expert's choice of tokens is computed by sorting, without a loop over experts."""
    return torch.where(_taken(weights.detach(), capacity), weights, 0.0)


@twin
def drop_overflow_vjp(weights: Tensor, capacity: int, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `drop_overflow`."""
    return vjp(lambda x: drop_overflow(x, capacity), (weights,), grad)[0]


def _taken(weights: Tensor, capacity: int) -> Tensor:
    """Return True where an expert takes a token that chose it."""
    n_tokens, n_experts = weights.shape[-2:]
    order = weights.argsort(dim=-1, descending=True, stable=True)
    rank = order.argsort(dim=-1, stable=True)
    turn = rank * n_tokens + torch.arange(n_tokens, device=weights.device)[:, None]
    turn = turn.masked_fill(weights == 0, n_experts * n_tokens)
    return largest(-turn.mT, capacity).mT & (weights != 0)
