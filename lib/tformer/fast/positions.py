"""Position encodings: added to embeddings, rotary, or a bias of the scores (chapter 7).

Positions are integers, counted from 0: `torch.arange(T) + offset` with `offset` tokens in the KV
cache. A model can be given others: restarting at 0 in each document of a packed row, or counted
from the first token after left padding.
"""

import torch
from torch import Tensor

from tformer.fast.precision import wide
from tformer.fast.quantised import rows_of
from tformer.fast.twins import twin
from tformer.shapes import ShapeError

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "embedding",
    "embedding_vjp",
    "relative_bias",
    "relative_bias_vjp",
    "rope",
    "rope_permutation",
    "rope_vjp",
    "sinusoidal",
]


@twin
def sinusoidal(
    positions: Tensor, d_model: int, base: float = 10000.0, interpolation: float = 1.0
) -> Tensor:
    """Returned in torch's default dtype; the angles are in float64 (float32 on MPS, which has no
    float64).
    """
    if d_model % 2:
        raise ValueError(f"sinusoidal: d_model must be even; got {d_model}")
    return sinusoids_of(positions, d_model, base, interpolation, torch.get_default_dtype())


def sinusoids_of(
    positions: Tensor, d_model: int, base: float, interpolation: float, dtype: torch.dtype
) -> Tensor:
    """Return what `sinusoidal` returns, in any floating-point dtype."""
    exact = torch.float32 if positions.is_mps else torch.float64
    columns = torch.arange(0, d_model, 2, dtype=exact, device=positions.device)
    frequencies = base ** (-columns / d_model)
    angles = positions.to(exact).unsqueeze(-1) / interpolation * frequencies
    pairs = torch.stack([angles.sin(), angles.cos()], dim=-1)
    return pairs.flatten(-2).to(dtype)


@twin
def rope(x: Tensor, sinusoids: Tensor, pairing: str = "adjacent") -> Tensor:
    """Adjacent pairs are rotated as complex numbers."""
    _require_even("rope", x)
    return turned(x, turns_of("rope", sinusoids, wide(x).dtype, pairing))


@twin
def rope_vjp(sinusoids: Tensor, grad: Tensor, pairing: str = "adjacent") -> Tensor:
    """Computed as `rope` with every sine negated."""
    _require_even("rope_vjp", grad)
    signs = torch.tensor([-1.0, 1.0], dtype=sinusoids.dtype, device=sinusoids.device)
    back = (sinusoids.unflatten(-1, (sinusoids.shape[-1] // 2, 2)) * signs).flatten(-2)
    return turned(grad, turns_of("rope_vjp", back, wide(grad).dtype, pairing))


@twin
def rope_permutation(d_k: int) -> Tensor:
    """On torch's default device; its `torch.argsort` is the inverse permutation."""
    if d_k % 2:
        raise ValueError(f"rope_permutation: d_k must be even; got {d_k}")
    return torch.arange(d_k).view(d_k // 2, 2).T.flatten()


@twin
def embedding(tokens: Tensor, table: Tensor) -> Tensor:
    """The range of token ids is checked on a CPU only, as the check would synchronise a GPU. There
    an id without a row ends in a device-side assert of CUDA.
    """
    require_rows("embedding", tokens, table.shape[0])
    return rows_of(table, tokens.long())


@twin
def embedding_vjp(tokens: Tensor, table: Tensor, grad: Tensor) -> Tensor:
    """Half precision is summed in float32. Token ids without a row as in `embedding`."""
    require_rows("embedding_vjp", tokens, table.shape[0])
    shape = torch.broadcast_shapes(tokens.shape, grad.shape[:-1])
    rows = tokens.long().expand(shape).flatten()
    grads = wide(grad).expand(*shape, table.shape[1]).flatten(0, -2)
    return torch.zeros_like(table, dtype=grads.dtype).index_add(0, rows, grads).to(table.dtype)


@twin
def relative_bias(table: Tensor, n_queries: int, n_keys: int, offset: int = 0) -> Tensor:
    """Each row is the one above it shifted by one position, so all rows are slices of one strip."""
    distances = torch.arange(-n_queries - offset, n_keys - offset, device=table.device)
    strip = table[:, _columns("relative_bias", table, distances)]
    return strip.unfold(-1, n_keys, 1)[:, 1:].flip(-2)


@twin
def relative_bias_vjp(table: Tensor, grad: Tensor, offset: int = 0) -> Tensor:
    """Half precision is summed in float32."""
    _, n_queries, n_keys = grad.shape
    t = torch.arange(n_queries, device=grad.device).unsqueeze(-1) + offset
    s = torch.arange(n_keys, device=grad.device)
    columns = _columns("relative_bias_vjp", table, s - t).flatten()
    dtable = torch.zeros_like(table, dtype=wide(grad).dtype)
    return dtable.index_add(1, columns, wide(grad).flatten(1)).to(table.dtype)


@twin
def alibi_slopes(n_heads: int) -> Tensor:
    """In torch's default dtype."""
    default = torch.get_default_dtype()
    return _slopes(n_heads, default).to(default)


@twin
def alibi_bias(n_heads: int, n_queries: int, n_keys: int, offset: int = 0) -> Tensor:
    """In torch's default dtype."""
    return alibi_bias_on(n_heads, n_queries, n_keys, offset, torch.get_default_dtype(), None)


def alibi_bias_on(
    n_heads: int,
    n_queries: int,
    n_keys: int,
    offset: int,
    dtype: torch.dtype,
    device: torch.device | None,
) -> Tensor:
    """Return what `alibi_bias` returns, in any dtype and on any device."""
    t = torch.arange(n_queries, device=device).unsqueeze(-1) + offset
    return alibi_bias_at(n_heads, t - torch.arange(n_keys, device=device), dtype)


def alibi_bias_at(n_heads: int, distances: Tensor, dtype: torch.dtype) -> Tensor:
    """Return the ALiBi bias (..., H, T, S) for distances (..., T, S)."""
    slopes = _slopes(n_heads, dtype, distances.device)[:, None, None]
    return (-slopes * distances.abs().unsqueeze(-3)).to(dtype)


def relative_bias_at(table: Tensor, distances: Tensor) -> Tensor:
    """Return the bias (..., H, T, S) for distances (..., T, S) from queries to keys."""
    columns = _columns("relative_bias", table, distances)
    bias = table.index_select(1, columns.flatten())
    return bias.unflatten(1, columns.shape).movedim(0, -3)


def _slopes(n_heads: int, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """Return the ALiBi slopes in `dtype`, or in float32 if that is narrower."""
    dtype = torch.promote_types(dtype, torch.float32)
    smaller = 2 ** (n_heads.bit_length() - 1)
    steps = torch.arange(1, 2 * smaller + 1, dtype=dtype, device=device)
    slopes = 2.0 ** (-8 * steps[:smaller] / smaller)
    between = 2.0 ** (-8 * steps[::2] / (2 * smaller))
    return torch.cat([slopes, between[: n_heads - smaller]])


def turns_of(where: str, sinusoids: Tensor, dtype: torch.dtype, pairing: str) -> tuple[Tensor, ...]:
    """Return what `turned` multiplies by: complex numbers for adjacent pairs, else two factors."""
    if not isinstance(pairing, str) or pairing not in ("adjacent", "half"):
        raise ValueError(f'{where}: pairing must be "adjacent" or "half"; got {pairing!r}')
    sinusoids = sinusoids.to(dtype)
    sine, cosine = sinusoids[..., 0::2], sinusoids[..., 1::2]
    if pairing == "adjacent":
        return (torch.complex(cosine, sine),)
    return torch.cat([cosine, cosine], dim=-1), torch.cat([-sine, sine], dim=-1)


def turned(x: Tensor, turns: tuple[Tensor, ...]) -> Tensor:
    """Rotate each pair of coordinates by its angle; half precision in float32."""
    y = wide(x)
    if len(turns) == 1:
        return torch.view_as_real(_as_complex(y) * turns[0]).flatten(-2).to(x.dtype)
    cosines, sines = turns
    return (y * cosines).addcmul_(y.roll(y.shape[-1] // 2, -1), sines).to(x.dtype)


def _as_complex(x: Tensor) -> Tensor:
    """View adjacent coordinates as complex numbers; copy only where the strides require it.

    Under `torch.compile`, where the storage offset is not known, they are copied.
    """
    pairs = x.unflatten(-1, (x.shape[-1] // 2, 2))
    *outer, inner = pairs.stride()
    if (
        torch.compiler.is_compiling()
        or inner != 1
        or any(n % 2 for n in (*outer, pairs.storage_offset()))
    ):
        pairs = pairs.clone(memory_format=torch.contiguous_format)
    return torch.view_as_complex(pairs)


def _require_even(where: str, x: Tensor) -> None:
    if x.shape[-1] % 2:
        raise ShapeError(f"{where}: axis d_k must be even; got {x.shape[-1]}")


def require_rows(where: str, tokens: Tensor, n_rows: int, name: str = "tokens") -> None:
    """Raise ValueError unless every token id, or position, has a row; checked on a CPU only."""
    if not tokens.is_cpu or torch.compiler.is_compiling() or not tokens.numel():
        return
    if not n_rows:
        raise ValueError(
            f"{where}: table has no rows, so {name} must be empty; got {tokens.numel()}"
        )
    least, most = (int(x) for x in tokens.long().aminmax())
    if least < 0 or most >= n_rows:
        raise ValueError(f"{where}: {name} must be from 0 to {n_rows - 1}; got {least} to {most}")


def _columns(where: str, table: Tensor, distances: Tensor) -> Tensor:
    """Return the column of the table for each distance."""
    n_distances = table.shape[-1]
    if n_distances % 2 == 0:
        raise ShapeError(
            f"{where}: axis N must be odd, for distances from -m to m; got {n_distances}"
        )
    furthest = n_distances // 2
    return distances.clamp(-furthest, furthest) + furthest
