"""Sampling: from the logits of the next token to one token (chapter 15).

A logit of -inf means that the token is excluded. Functions that exclude more tokens return the
other logits unchanged, so they can be chained, and softmax renormalises what remains. Tokens with
equal logits are kept or excluded together, so more than k may remain, and no order is chosen.
A threshold counts as met within the same rounding error as in the definition.
"""

import math

import torch
from torch import Tensor

from tformer.fast.precision import wide
from tformer.fast.twins import twin

__all__ = ["min_p", "sample", "temperature", "top_k", "top_p"]


@twin
def temperature(logits: Tensor, tau: float = 1.0) -> Tensor:
    x = wide(logits)
    return ((x - _largest(x)) / tau).to(logits.dtype)


@twin
def top_k(logits: Tensor, k: int) -> Tensor:
    """Excluded tokens have gradient 0."""
    descending = logits.detach().sort(dim=-1, descending=True).values
    return _without(logits, logits < _least(descending[..., :k]))


@twin
def top_p(logits: Tensor, p: float) -> Tensor:
    """Excluded tokens have gradient 0."""
    descending = logits.detach().sort(dim=-1, descending=True).values.double()
    q = _weights(descending)
    error = _error((q * _size(descending)).sum(dim=-1, keepdim=True), logits)
    sums = q.cumsum(dim=-1)
    likelier = torch.cat([torch.zeros_like(sums[..., :1]), sums[..., :-1]], dim=-1)
    reached = likelier >= p - error - 2.0**-52 * logits.shape[-1]
    out = (likelier > 0) & reached & (p < 1)
    return _without(logits, logits < _least(descending.masked_fill(out, torch.inf)))


@twin
def min_p(logits: Tensor, p: float) -> Tensor:
    """Excluded tokens have gradient 0."""
    x = logits.detach().double()
    largest = _largest(x)
    error = _error(_size(x) + _size(largest), logits)
    return _without(logits, (x - largest < math.log(p) - error) & largest.isfinite())


@twin
def sample(logits: Tensor, u: Tensor) -> Tensor:
    sums = _weights(wide(logits.detach())).cumsum(dim=-1)
    last = sums[..., -1:].sum(dim=-1, keepdim=True)
    passed = (sums <= u.unsqueeze(-1) * last) & (sums < last)
    return torch.where((last[..., 0] > 0) & (u >= 0), passed.sum(dim=-1), -1)


def _without(logits: Tensor, out: Tensor) -> Tensor:
    return logits.masked_fill(out, -torch.inf)


def _largest(logits: Tensor) -> Tensor:
    """Return the largest logit of each row, or 0 where all are -inf or there is none."""
    if not logits.shape[-1]:
        return logits.sum(dim=-1, keepdim=True)
    largest = logits.amax(dim=-1, keepdim=True)
    return largest.masked_fill(largest == -torch.inf, 0.0)


def _least(logits: Tensor) -> Tensor:
    """Return the smallest entry of each row, 0 for an empty row."""
    some = logits.shape[-1] > 0
    return logits.amin(dim=-1, keepdim=True) if some else logits.sum(dim=-1, keepdim=True)


def _weights(logits: Tensor) -> Tensor:
    """Return the softmax, zeros where all logits are -inf."""
    masked = (logits == -torch.inf).all(dim=-1, keepdim=True)
    return torch.softmax(logits.masked_fill(masked, 0.0), -1).masked_fill(masked, 0.0)


def _size(x: Tensor) -> Tensor:
    return x.abs().masked_fill(~x.isfinite(), 0.0)


def _error(size: Tensor, logits: Tensor) -> Tensor:
    return 2 * (torch.finfo(wide(logits).dtype).eps + 2.0**-52) * (1 + size)
