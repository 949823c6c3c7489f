"""Softmax, log-softmax, logsumexp and entropy (chapter 2).

A score of -inf means that the key is masked. Each function of scores subtracts the largest score
before exponentiating, so that no exponent exceeds zero.
"""

import torch
from torch import Tensor

from tformer.fast.precision import wide
from tformer.fast.twins import twin

__all__ = ["entropy", "log_softmax", "logsumexp", "softmax", "softmax_jacobian", "softmax_vjp"]


@twin
def softmax(x: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Infinite, NaN and empty rows as in the definition; a row of -inf only has gradient 0."""
    masked = _fully_masked(x, axis)
    scores = _scaled(x.masked_fill(masked, 0.0), axis, beta)
    return torch.softmax(scores, axis).masked_fill(masked, 0.0)


@twin
def log_softmax(x: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Infinite, NaN and empty rows as in the definition; a row of -inf only has gradient 0."""
    masked = _fully_masked(x, axis)
    scores = _scaled(x.masked_fill(masked, 0.0), axis, beta)
    return torch.log_softmax(scores, axis).masked_fill(masked, -torch.inf)


@twin
def logsumexp(x: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    """Infinite, NaN and empty rows as in the definition; a row of -inf only has gradient 0."""
    masked = _fully_masked(x, axis)
    scores = x.masked_fill(masked, 0.0)
    shift = _largest(scores, axis)
    shift = shift.masked_fill(shift == torch.inf, 0.0)
    result = shift + torch.logsumexp(beta * (scores - shift), axis, keepdim=True) / beta
    return result.masked_fill(masked, -torch.inf).squeeze(axis)


@twin
def entropy(p: Tensor, axis: int = -1) -> Tensor:
    """A weight of exactly 0 contributes nothing to the value or the gradient."""
    return 0 - (p * p.masked_fill(p == 0, 1.0).log()).sum(dim=axis)


@twin
def softmax_vjp(p: Tensor, grad: Tensor, axis: int = -1, beta: float = 1.0) -> Tensor:
    dtype, p, grad = p.dtype, wide(p), wide(grad)
    mean = (p * grad).sum(dim=axis, keepdim=True)
    return (beta * p * (grad - mean)).to(dtype)


@twin
def softmax_jacobian(p: Tensor, beta: float = 1.0) -> Tensor:
    dtype, p = p.dtype, wide(p)
    return (beta * (torch.diag_embed(p) - p.unsqueeze(-1) * p.unsqueeze(-2))).to(dtype)


def _fully_masked(x: Tensor, axis: int) -> Tensor:
    """Return where rows hold -inf only; their gradient must not become NaN."""
    return (x == -torch.inf).all(dim=axis, keepdim=True)


def _scaled(x: Tensor, axis: int, beta: float) -> Tensor:
    """Multiply scores by beta, shifted first so that the product cannot overflow to +inf."""
    return x if beta == 1 else (beta * (wide(x) - _largest(x, axis))).to(x.dtype)


def _largest(x: Tensor, axis: int) -> Tensor:
    """Return the largest score along `axis`, detached; 0 for an empty row."""
    if x.shape[axis] == 0:
        return x.sum(dim=axis, keepdim=True)
    return x.detach().amax(dim=axis, keepdim=True)
