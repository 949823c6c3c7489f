"""Losses: the cross-entropy of the next token (chapter 12)."""

import torch
from torch import Tensor
from torch.nn import functional

from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["cross_entropy", "cross_entropy_vjp"]


@twin
def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    """Calls PyTorch's own function, which computes half precision in float32. The range of targets
    is checked on a CPU only, as the check would synchronise a GPU.
    """
    _require_targets("cross_entropy", targets, logits.shape[-1])
    return _cross_entropy(logits, targets)


@twin
def cross_entropy_vjp(logits: Tensor, targets: Tensor, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `cross_entropy`."""
    _require_targets("cross_entropy_vjp", targets, logits.shape[-1])
    return vjp(lambda x: _cross_entropy(x, targets), (logits,), grad)[0]


def _cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    shape = torch.broadcast_shapes(logits.shape[:-1], targets.shape)
    rows = logits.expand(*shape, logits.shape[-1]).flatten(0, -2) if shape else logits[None]
    flat = targets.long().expand(shape).flatten()
    losses = functional.cross_entropy(rows, flat, ignore_index=-1, reduction="none")
    return losses.view(shape)


def _require_targets(where: str, targets: Tensor, n_vocab: int) -> None:
    if not targets.is_cpu or torch.compiler.is_compiling() or not targets.numel():
        return
    least, most = (int(x) for x in targets.long().aminmax())
    if least < -1 or most >= n_vocab:
        raise ValueError(
            f"{where}: targets must be from -1 to {n_vocab - 1}; got {least} to {most}"
        )
