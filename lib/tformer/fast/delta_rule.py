"""The gated delta rule and the short convolution, whose states have one size (chapter 22)."""

import torch
from torch import Tensor

from tformer.fast.precision import wide
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = [
    "chunked_gated_delta_rule",
    "gated_delta_rule",
    "gated_delta_rule_vjp",
    "short_convolution",
    "short_convolution_vjp",
]


@twin
def gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    beta: Tensor,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Half precision is computed in float32; the state stays in float32."""
    dtype, (q, k, v, log_decay, beta) = q.dtype, (wide(x) for x in (q, k, v, log_decay, beta))
    leading = _leading(q, k, v, log_decay, beta, state)
    state = _state(q, v, leading, state)
    decay, beta = log_decay.exp(), beta.unsqueeze(-1)
    rows = []
    for t in range(q.shape[-2]):
        k_t = k[..., t, None, :]
        state = decay[..., t, :, None] * state
        change = beta[..., t, :] * (v[..., t, :] - (k_t @ state).squeeze(-2))
        state = state + k_t.mT * change.unsqueeze(-2)
        rows.append((q[..., t, None, :] @ state).squeeze(-2))
    y = torch.stack(rows, dim=-2) if rows else v.expand(*leading, 0, v.shape[-1])
    return y.to(dtype), state


@twin
def gated_delta_rule_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    beta: Tensor,
    grad: Tensor,
    state: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor | None]:
    """Computed by PyTorch's autograd from `gated_delta_rule`."""
    return vjp(lambda *given: gated_delta_rule(*given)[0], (q, k, v, log_decay, beta, state), grad)


@twin
def chunked_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    log_decay: Tensor,
    beta: Tensor,
    state: Tensor | None = None,
    chunk: int = 64,
) -> tuple[Tensor, Tensor]:
    """Half precision is computed in float32; the state stays in float32."""
    dtype, (q, k, v, log_decay, beta) = q.dtype, (wide(x) for x in (q, k, v, log_decay, beta))
    leading = _leading(q, k, v, log_decay, beta, state)
    state = _state(q, v, leading, state)
    q, k, v, log_decay = (x.expand(*leading, *x.shape[-2:]) for x in (q, k, v, log_decay))
    beta = beta.expand(*leading, beta.shape[-1]).unsqueeze(-1)
    rows = [v.new_zeros((*leading, 0, v.shape[-1]))]
    for start in range(0, q.shape[-2], chunk):
        part = slice(start, start + chunk)
        q_c, k_c, v_c, beta_c = (x[..., part, :] for x in (q, k, v, beta))
        total = log_decay[..., part, :].cumsum(-2)
        past = total.exp()
        corrected = beta_c * (v_c - (k_c * past) @ state)
        system = beta_c * _decayed(k_c, k_c, total, -1)  # the unit diagonal is not read
        changes = torch.linalg.solve_triangular(system, corrected, upper=False, unitriangular=True)
        rows.append((q_c * past) @ state + _decayed(q_c, k_c, total, 0) @ changes)
        left = (total[..., -1:, :] - total).exp()
        state = past[..., -1, :, None] * state + (k_c * left).mT @ changes
    return torch.cat(rows, dim=-2).to(dtype), state


@twin
def short_convolution(
    x: Tensor, kernel: Tensor, earlier: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Half precision is computed in float32."""
    dtype, n_rows = x.dtype, x.shape[-2]
    x, kernel = wide(x), wide(kernel)
    if earlier is None:
        earlier = x.new_zeros((*x.shape[:-2], *kernel.shape[-2:]))
    leading = torch.broadcast_shapes(x.shape[:-2], earlier.shape[:-2])
    both = [part.expand(*leading, *part.shape[-2:]) for part in (wide(earlier), x)]
    padded = torch.cat(both, dim=-2)
    y = x.new_zeros((*torch.broadcast_shapes(leading, kernel.shape[:-2]), *x.shape[-2:]))
    for i in range(kernel.shape[-2]):
        y = y + kernel[..., i : i + 1, :] * padded[..., i + 1 : i + 1 + n_rows, :]
    return y.to(dtype), padded[..., n_rows:, :].to(dtype)


@twin
def short_convolution_vjp(
    x: Tensor, kernel: Tensor, grad: Tensor, earlier: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Computed by PyTorch's autograd from `short_convolution`."""
    return vjp(lambda *given: short_convolution(*given)[0], (x, kernel, earlier), grad)


def _leading(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, beta: Tensor, state: Tensor | None
) -> tuple[int, ...]:
    """Return the leading axes of all arguments after broadcasting."""
    others = [x.shape[:-2] for x in (q, k, v, log_decay, state) if x is not None]
    return tuple(torch.broadcast_shapes(beta.shape[:-1], *others))


def _state(q: Tensor, v: Tensor, leading: tuple[int, ...], state: Tensor | None) -> Tensor:
    """Return the state before the first token."""
    table = (*leading, q.shape[-1], v.shape[-1])
    return (q.new_zeros(()) if state is None else wide(state)).expand(table)


def _decayed(a: Tensor, b: Tensor, total: Tensor, diagonal: int) -> Tensor:
    """Return the products of rows of a and b, decayed from b's token to a's; later ones are 0."""
    n = a.shape[-2]
    past = torch.ones(n, n, dtype=torch.bool, device=a.device).tril(diagonal)
    difference = total.unsqueeze(-2) - total.unsqueeze(-3)
    decays = difference.masked_fill(~past.unsqueeze(-1), -torch.inf).exp()
    if decays.shape[-1] == 1:
        return (a @ b.mT) * decays.squeeze(-1)
    return torch.einsum("...id,...jd,...ijd->...ij", a, b, decays)
