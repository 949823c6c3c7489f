"""Matrices of four and eight bits a weight, and their products on a CPU (chapter 16).

A group of 32 weights of one output has a scale and a zero: a weight is scale · (q - 8) + zero, with
q from 0 to 15. PyTorch's kernel multiplies four bits as they lie in memory; see decision 053.

Source: `aten/src/ATen/native/cpu/int4mm_kernel.cpp` of PyTorch,
https://github.com/pytorch/pytorch/blob/main/aten/src/ATen/native/cpu/int4mm_kernel.cpp.
"""

import copy
import math
from functools import cache
from typing import Any, NoReturn

import torch
from torch import Tensor
from torch.nn import functional

__all__ = [
    "GROUP",
    "QuantisedMatrix",
    "lay_together",
    "linear",
    "linears",
    "missing_kernel",
    "rounded_for",
    "rows_of",
]

GROUP = 32
"""Weights that share a scale and a zero."""
FEW = 48
"""Rows up to which the kernel is faster than a product with dequantised weights."""
BLOCKS = {"AVX512": 64, "AVX2": 32}
"""Outputs whose weights the kernel packs together, by the processor's instructions."""


class QuantisedMatrix:
    """A matrix of four or eight bits a weight, which may stand for a tensor of parameters.

    `tformer.fast` multiplies by it wherever a layer has a matrix, and looks up rows of it as an
    embedding. It lies on a CPU, has no gradient, and offers nothing else of a tensor. Its scales
    and zeros, and the inputs and results of its products, are rounded to bfloat16.

    Parameters
    ----------
    q : tensor of shape (d_out, d_in), integers
        The quantised weights: from 0 to 15, or from -128 to 127 if there are no `zeros`.
    scales : tensor of shape (d_out, d_in / 32)
    zeros : tensor of shape (d_out, d_in / 32), or None
        The weight of q = 8 in each group; None for eight bits, whose weights are scale · q.
    shape : tuple of int
        Of the tensor that it stands for: (d_in, d_out); for heads (H, d_in, d_out / H) or
        (H, d_in / H, d_out); for an embedding (d_out, d_in).
    is_table : bool
        Whether it is an embedding.

    Raises
    ------
    RuntimeError
        If PyTorch has no such kernel for this processor.
    ValueError
        If d_out is not a multiple of 64, or d_in of 32, or the sizes do not fit each other.
    """

    dtype = torch.float32
    is_cpu, is_meta = True, False

    def __init__(
        self,
        q: Tensor,
        scales: Tensor,
        zeros: Tensor | None,
        shape: tuple[int, ...],
        is_table: bool = False,
    ) -> None:
        if reason := missing_kernel():
            raise RuntimeError(f"QuantisedMatrix: {reason}")
        d_out, d_in = q.shape
        wanted = (d_out, d_in // GROUP)
        fits = math.prod(shape) == q.numel() and scales.shape == wanted
        if d_out % 64 or d_in % GROUP or not fits:
            raise ValueError(
                f"QuantisedMatrix: q must be (d_out, d_in), multiples of 64 and {GROUP}, and "
                f"scales {wanted}; got {tuple(q.shape)} and {tuple(scales.shape)} for shape {shape}"
            )
        self.shape, self.is_table = tuple(shape), is_table
        self.planes = 2 if zeros is None else 1
        self.whole: QuantisedMatrix | None = None
        self.packed = torch.cat([_packed(rows, self.planes) for rows in q.split(64 * GROUP)])
        if zeros is None:
            zeros = torch.cat([torch.zeros_like(scales), 8 * scales], dim=1)
            scales = torch.cat([16 * scales, scales], dim=1)
        pairs = torch.stack([scales.mT, zeros.mT], dim=-1)
        self.scales_and_zeros = pairs.bfloat16().contiguous()

    def __repr__(self) -> str:
        return f"QuantisedMatrix(shape={self.shape}, bits={4 * self.planes})"

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"a QuantisedMatrix has no {name}: it is for products; dequantised() gives a tensor"
        )

    @property
    def nbytes(self) -> int:
        """Bytes that it takes: weights, scales and zeros."""
        return self.packed.nbytes + self.scales_and_zeros.nbytes

    def product(self, x: Tensor, bias: Tensor | None = None) -> Tensor:
        """The linear map of each row.

        Parameters
        ----------
        x : (..., d_in) tensor
            In float32 or bfloat16.
        bias : (d_out,) tensor, optional

        Returns
        -------
        (..., d_out) tensor
            In the dtype of x, rounded to bfloat16 before the bias is added.

        Raises
        ------
        TypeError
            If x requires a gradient.
        """
        if x.requires_grad and torch.is_grad_enabled():
            raise TypeError("QuantisedMatrix: there is no gradient for x; use dequantised()")
        rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
        y = self._few(rows) if rows.shape[0] <= FEW else self._many(rows)
        y = y.to(x.dtype) if x.ndim == 2 else y.to(x.dtype).view(*x.shape[:-1], y.shape[-1])
        return y if bias is None else y + bias.to(x.dtype)

    def rows(self, tokens: Tensor) -> Tensor:
        """The rows of an embedding in float32: (..., d_in) for tokens (...), integers."""
        block, n = _block(), tokens.flatten()
        half = n % block % (block // 2)
        found = self._blocks()[n // block, :, half]
        q = torch.where((n % block >= block // 2)[:, None], found >> 4, found & 15)
        pairs = self.scales_and_zeros[:, n].float().transpose(0, 1)
        scales, zeros = pairs.unsqueeze(-2).unbind(-1)
        w = (q.view(len(n), -1, GROUP) - 8.0) * scales + zeros
        return w.view(len(n), self.planes, -1).sum(1).view(*tokens.shape, -1)

    def dequantised(self) -> Tensor:
        """The tensor that it stands for, in float32."""
        w = self._weights()
        if self.is_table:
            return w
        if len(self.shape) == 3 and self.shape[1] == w.shape[1]:
            return w.view(self.shape[0], self.shape[2], w.shape[1]).mT
        return w.mT.reshape(self.shape)

    def _blocks(self) -> Tensor:
        """The packed weights (blocks, d_in, half a block): its first half in the low bits."""
        block = _block()
        return self.packed.view(len(self.packed) // block, -1, block // 2)

    def _few(self, rows: Tensor) -> Tensor:
        """The product of a few rows, by the kernel."""
        rows = rows.bfloat16()
        rows = rows if self.planes == 1 else rows.repeat(1, self.planes)
        pairs = self.scales_and_zeros.contiguous()
        return torch._weight_int4pack_mm_for_cpu(rows, self.packed, GROUP, pairs)

    def _many(self, rows: Tensor) -> Tensor:
        """The product of many rows, for which dequantised weights are faster."""
        dtype = _fast_dtype()
        rows, w = rows.to(dtype), self._scaled(dtype)
        if self.planes == 2:
            return rows @ w
        sums = rows.unflatten(1, (-1, GROUP)).sum(-1)
        return torch.addmm(sums @ self.scales_and_zeros[..., 1].to(dtype), rows, w)

    def _scaled(self, dtype: torch.dtype) -> Tensor:
        """scale · (q - 8), or scale · q of eight bits, in a dtype: (d_in, d_out)."""
        packed = self._blocks().transpose(0, 1)
        q = torch.cat([packed & 15, packed >> 4], dim=-1).flatten(1)
        if self.planes == 1:
            q = q.sub_(8)
        else:
            high, low = q.chunk(2)
            q = (high << 4).add_(low).sub_(128)
        scales = self.scales_and_zeros[-len(q) // GROUP :, :, 0].to(dtype).contiguous()
        return _by_group(q.view(torch.int8)).to(dtype).mul_(scales.unsqueeze(1)).flatten(0, 1)

    def _weights(self) -> Tensor:
        """The matrix (d_out, d_in) in float32."""
        w = self._scaled(torch.float32)
        if self.planes == 1:
            _by_group(w).add_(self.scales_and_zeros[..., 1].float().unsqueeze(1))
        return w.mT.contiguous()


def _by_group(x: Tensor) -> Tensor:
    """Split the inputs (d_in, d_out) in groups: (groups, 32, d_out)."""
    return x.view(-1, GROUP, x.shape[-1])


def _packed(q: Tensor, planes: int) -> Tensor:
    """Pack rows of quantised weights; eight bits as two planes side by side.

    With q + 128 = 16 high + low, scale · q = 16 scale · (high - 8) + scale · (low - 8) + 8 scale.
    """
    q = q.int()
    if planes == 2:
        q = torch.cat([(q + 128) >> 4, (q + 128) & 15], dim=1)
    return torch._convert_weight_to_int4pack_for_cpu(q.contiguous(), 1)


def linear(x: Tensor, w: Any, b: Tensor | None = None) -> Tensor:
    """Return x w + b for a tensor w of shape (d_in, d_out), or a `QuantisedMatrix`."""
    if type(w) is QuantisedMatrix:
        return w.product(x, b)
    return functional.linear(x, w.mT, b)


def rounded_for(x: Tensor, *ws: Any) -> Tensor:
    """Return x in bfloat16 if all matrices are a `QuantisedMatrix`, else x; None is left out."""
    few = all(type(w) is QuantisedMatrix for w in ws if w is not None)
    return x.bfloat16() if few else x


def rows_of(table: Any, tokens: Tensor) -> Tensor:
    """Return the rows of an embedding, a tensor or a `QuantisedMatrix`, for tokens."""
    if type(table) is QuantisedMatrix:
        return table.rows(tokens)
    return functional.embedding(tokens, table)


def linears(x: Tensor, ws: tuple[Any, ...], bs: tuple[Tensor | None, ...]) -> list[Tensor]:
    """Return x w + b for each w and b; matrices that `lay_together` has joined take one product."""
    whole = getattr(ws[0], "whole", None) if type(ws[0]) is QuantisedMatrix else None
    if whole is None or any(getattr(w, "whole", None) is not whole for w in ws):
        return [linear(x, w, b) for w, b in zip(ws, bs, strict=True)]
    ys = whole.product(x).split_with_sizes([w.packed.shape[0] for w in ws], dim=-1)
    return [y if b is None else y + b.to(x.dtype) for y, b in zip(ys, bs, strict=True)]


def lay_together(*matrices: QuantisedMatrix) -> None:
    """Let matrices of the same inputs share their memory, so that one product serves them all."""
    whole = copy.copy(matrices[0])
    whole.packed = torch.cat([x.packed for x in matrices])
    whole.scales_and_zeros = torch.cat([x.scales_and_zeros for x in matrices], dim=1)
    whole.shape = (matrices[0].shape[-2], len(whole.packed))
    sizes = [len(x.packed) for x in matrices]
    parts = whole.packed.split(sizes), whole.scales_and_zeros.split(sizes, dim=1)
    for matrix, packed, pairs in zip(matrices, *parts, strict=True):
        matrix.packed, matrix.scales_and_zeros, matrix.whole = packed, pairs, whole


@cache
def missing_kernel() -> str:
    """Return why the kernel of four bits cannot be used here; "" if it can.

    It is tried with a small matrix: its product, and where it keeps each weight.
    """
    kernels = "_convert_weight_to_int4pack_for_cpu", "_weight_int4pack_mm_for_cpu"
    if not all(hasattr(torch, name) for name in kernels):
        return f"PyTorch {torch.__version__} has no product of four-bit weights for a CPU"
    if (found := torch.backends.cpu.get_cpu_capability()) not in BLOCKS:
        return f"the product of four-bit weights needs AVX2 or AVX-512; this processor has {found}"
    block, n = _block(), torch.arange(2 * _block() * GROUP, dtype=torch.int32)
    q = (n * 7 + n // 13).view(2 * block, GROUP) % 16
    pairs = torch.stack([torch.full((1, 2 * block), 0.5), torch.ones(1, 2 * block)], dim=-1)
    packed = torch._convert_weight_to_int4pack_for_cpu(q, 1)
    halves = packed.view(2, GROUP, -1)
    kept = torch.cat([halves & 15, halves >> 4], dim=-1).transpose(1, 2).reshape(q.shape)
    one = torch.eye(GROUP, dtype=torch.bfloat16)
    y = torch._weight_int4pack_mm_for_cpu(one, packed, GROUP, pairs.bfloat16())
    if torch.equal(kept, q.byte()) and torch.equal(y.float(), (0.5 * (q.float() - 8) + 1).mT):
        return ""
    return f"the product of four-bit weights of PyTorch {torch.__version__} keeps them otherwise"


def _block() -> int:
    return BLOCKS[torch.backends.cpu.get_cpu_capability()]


@cache
def _fast_dtype() -> torch.dtype:
    """Return bfloat16 where the processor multiplies matrices in it, else float32."""
    has = getattr(torch.cpu, "_is_avx512_bf16_supported", bool)()
    return torch.bfloat16 if has else torch.float32
