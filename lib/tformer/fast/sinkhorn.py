"""Sinkhorn's iteration: rows and columns of a matrix that sum to 1 (chapter 22)."""

from torch import Tensor

from tformer.fast.precision import wide
from tformer.fast.softmax import softmax
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["sinkhorn", "sinkhorn_vjp"]


@twin
def sinkhorn(logits: Tensor, n_rounds: int = 20, eps: float = 1e-6) -> Tensor:
    """Half precision is computed in float32."""
    found = softmax(wide(logits)) + eps
    for axis in ([-2, -1] * n_rounds)[:-1]:
        found = found / (found.sum(dim=axis, keepdim=True) + eps)
    return found.to(logits.dtype)


@twin
def sinkhorn_vjp(logits: Tensor, grad: Tensor, n_rounds: int = 20, eps: float = 1e-6) -> Tensor:
    """Computed by PyTorch's autograd from `sinkhorn`."""
    return vjp(lambda x: sinkhorn(x, n_rounds, eps), (logits,), grad)[0]
