"""Linear attention: attention weights are dot products of positive features (chapter 16)."""

import torch
from torch import Tensor

from tformer.fast.precision import wide
from tformer.fast.twins import twin

__all__ = ["elu_feature_map", "linear_attention", "recurrent_linear_attention"]


@twin
def elu_feature_map(x: Tensor) -> Tensor:
    """Half precision is computed in float32."""
    return _features(x).to(x.dtype)


def _features(x: Tensor) -> Tensor:
    x = wide(x)
    return torch.where(x > 0, x + 1, x.clamp(max=0).exp())


@twin
def linear_attention(q: Tensor, k: Tensor, v: Tensor, causal: bool = False) -> Tensor:
    """Half precision is computed in float32."""
    weights_TS = _features(q) @ _features(k).mT
    if causal:
        weights_TS = weights_TS.tril()
    total = weights_TS.sum(dim=-1, keepdim=True)
    return ((weights_TS @ wide(v)) / torch.where(total == 0, 1.0, total)).to(q.dtype)


@twin
def recurrent_linear_attention(
    q: Tensor, k: Tensor, v: Tensor, state: Tensor | None = None, total: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Half precision is computed in float32; state and total stay in float32."""
    dtype, q, k, v = q.dtype, _features(q), _features(k), wide(v)
    given = [x.shape[:-2] for x in (q, k, v, state) if x is not None]
    leading = torch.broadcast_shapes(*given, () if total is None else total.shape[:-1])
    table = (*leading, q.shape[-1], v.shape[-1])
    state = (q.new_zeros(()) if state is None else wide(state)).expand(table)
    total = (q.new_zeros(()) if total is None else wide(total)).expand(table[:-1])
    rows = []
    for t in range(q.shape[-2]):
        state = state + k[..., t, :, None] * v[..., t, None, :]
        total = total + k[..., t, :]
        norm = (q[..., t, :] * total).sum(dim=-1, keepdim=True)
        row = (q[..., t, None, :] @ state).squeeze(-2)
        rows.append(row / torch.where(norm == 0, 1.0, norm))
    y = torch.stack(rows, dim=-2) if rows else v.new_zeros((*leading, 0, v.shape[-1]))
    return y.to(dtype), state, total
