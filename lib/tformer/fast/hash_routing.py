"""Hash routing: a table names the experts of each token, whatever its scores (chapter 22)."""

import torch
from torch import Tensor

from tformer.fast.experts import weights_of
from tformer.fast.positions import require_rows
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_configuration import Routing

__all__ = ["hash_routing", "hash_routing_vjp"]


@twin
def hash_routing(logits: Tensor, experts: Tensor, routing: Routing) -> Tensor:
    """Half precision is computed in float32. Whether experts exist is checked on a CPU only, as the
    check would synchronise a GPU; there one that does not exist is not chosen.
    """
    require_rows("hash_routing", experts, logits.shape[-1], "experts")
    return weights_of(logits, routing, named(experts, logits.shape[-1]))


@twin
def hash_routing_vjp(logits: Tensor, experts: Tensor, routing: Routing, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `hash_routing`."""
    require_rows("hash_routing_vjp", experts, logits.shape[-1], "experts")
    return vjp(lambda x: hash_routing(x, experts, routing), (logits,), grad)[0]


def named(experts: Tensor, n_experts: int) -> Tensor:
    """Return True for the experts (..., T, n_experts) that are named."""
    every = torch.arange(n_experts, device=experts.device)
    return (experts.long().unsqueeze(-1) == every).any(dim=-2)
