"""Attention: each query asks all keys, and takes a weighted mean of the values (chapter 3).

A mask is boolean, and True means "may look". It is a bias of -inf wherever it is False, so
everything below follows from the scores. A row that may look nowhere has scores of -inf only: its
weights are zeros, and so are its output and what it passes back.
"""

import math

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from tformer.fast.checks import checked
from tformer.fast.softmax import softmax
from tformer.shapes import require_scale

__all__ = ["attention", "attention_vjp", "attention_weights"]

SHORT = 16
"""With fewer keys than a vector register holds, and no mask, PyTorch's CPU kernel takes a row of
NaN for one that may look nowhere, and gives zeros. With a mask of True it does not."""


@checked
def attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Table of weights: row t, column s holds how much query t takes of value s.

    Parameters
    ----------
    q : (..., T, K) array
        Queries.
    k : (..., S, K) array
        Keys.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf hides a key as the mask does.
    scale : float, optional
        Factor of the scores, finite and above 0; 1/√K if left out.

    Returns
    -------
    (..., T, S) array
        Each row sums to one, or is zero where it may look nowhere.

    Raises
    ------
    ShapeError
        If two arrays disagree about an axis or their leading axes do not broadcast.
    ValueError
        If scale is not finite and above 0.
    TypeError
        If mask does not hold booleans, or another array no floating-point numbers.

    Notes
    -----
    Equation eq-attention-weights; [vaswani2017]. Departures: a row whose scores are all -inf gives
    zeros, an empty row stays empty. A score of +inf or NaN makes its row NaN, even where the mask
    hides it, since +inf or NaN plus -inf is NaN. Half precision is widened to float32 on the way.
    """
    scale = require_scale("attention_weights", scale, q)
    scores_TS = scale * (_widened(q) @ _widened(k).mT)
    if bias is not None:
        scores_TS = scores_TS + bias
    if mask is not None:
        scores_TS = scores_TS + _hiding(mask, scores_TS.dtype)
    return softmax(scores_TS).to(q.dtype)


@checked
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Scaled dot-product attention: row t is the mean of the values, by the weights of query t.

    Parameters
    ----------
    q : (..., T, K) array
        Queries.
    k : (..., S, K) array
        Keys.
    v : (..., S, V) array
        Values, one for each key.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf hides a key as the mask does.
    scale : float, optional
        Factor of the scores, finite and above 0; 1/√K if left out.

    Returns
    -------
    (..., T, V) array
        A row that may look nowhere is zero.

    Raises
    ------
    ShapeError
        If two arrays disagree about an axis or their leading axes do not broadcast.
    ValueError
        If scale is not finite and above 0.
    TypeError
        If mask does not hold booleans, or another array no floating-point numbers.

    Notes
    -----
    Equation eq-attention; [vaswani2017], by the kernel of [dao2022], which never stores the table
    of scores. Departures, infinite and NaN entries as in the definition. On a CPU half precision is
    widened to float32, where the kernel is no slower; on a GPU the weights are rounded to it. Where
    PyTorch has no such kernel (float64 on a GPU, a gradient for the bias on a CPU), it stores them.
    """
    scale = require_scale("attention", scale, q)
    if bias is None and _kernel_takes(q, k, v, mask):
        return scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=scale)
    leading = _leading_axes(q, k, v, mask, bias)
    dtype, width = q.dtype, v.shape[-1]
    if q.device.type == "cpu":
        q, k, v = _widened(q), _widened(k), _widened(v)
    shown = _shown(k, mask, bias)
    if shown is not None:
        shown = _four_axes_of_mask(shown, leading)
    q, k, v = (_four_axes(x, leading) for x in _one_width(q, k, v))
    if shown is None or q.device.type == "cpu":
        y = scaled_dot_product_attention(q, k, v, attn_mask=shown, scale=scale)
    else:
        k, v, shown, nowhere = _for_gpu(k, v, shown)
        y = scaled_dot_product_attention(q, k, v, attn_mask=shown, scale=scale)
        y = y.masked_fill(nowhere, 0.0)
    return y[..., :width].reshape(*leading, q.shape[-2], width).to(dtype)


@checked
def attention_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Vector-Jacobian product of attention: the gradients passed back to its arguments.

    Parameters
    ----------
    q : (..., T, K) array
        Queries.
    k : (..., S, K) array
        Keys.
    v : (..., S, V) array
        Values, one for each key.
    grad : (..., T, V) array
        Gradient of a loss with respect to the output of `attention`.
    mask : (..., T or 1, S or 1) boolean array, optional
        True where query t may look at key s; without it, everywhere.
    bias : (..., T or 1, S or 1) array, optional
        Added to the scaled scores; -inf hides a key as the mask does.
    scale : float, optional
        Factor of the scores, finite and above 0; 1/√K if left out.

    Returns
    -------
    dq : (..., T, K) array
        Each gradient has the shape of its argument: axes along which that was repeated are summed.
    dk : (..., S, K) array
    dv : (..., S, V) array
    dbias : (..., T or 1, S or 1) array, optional
        None without a bias.

    Raises
    ------
    ShapeError
        If two arrays disagree about an axis or their leading axes do not broadcast.
    ValueError
        If scale is not finite and above 0.
    TypeError
        If mask does not hold booleans, or another array no floating-point numbers.

    Notes
    -----
    Equation eq-attention-vjp; the derivatives of [vaswani2017], by PyTorch's automatic
    differentiation of `attention`, which computes the weights again where it needs them [dao2022].
    A row that may look nowhere passes back zeros; one of NaN passes back NaN, except that to some
    values PyTorch's kernel passes 0 if the score of another was +inf.
    """
    scale = require_scale("attention_vjp", scale, q)
    with torch.enable_grad():
        q, k, v = (x.detach().requires_grad_() for x in (q, k, v))
        bias = None if bias is None else bias.detach().requires_grad_()
        inputs = [x for x in (q, k, v, bias) if x is not None]
        y, grad = torch.broadcast_tensors(attention(q, k, v, mask, bias, scale), grad)
        dq, dk, dv, *dbias = torch.autograd.grad(y, inputs, grad, materialize_grads=True)
    return dq, dk, dv, dbias[0] if dbias else None


def _kernel_takes(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> bool:
    """Whether the kernel takes the arguments as they are: then none of what follows is needed."""
    if q.device.type == "cpu":
        right = q.dtype.itemsize >= 4 and k.shape[-2] >= SHORT
    else:
        right = q.shape[-1] % 8 == 0 and mask is None
    return (
        right
        and q.ndim == 4
        and q.shape[:2] == k.shape[:2] == v.shape[:2]
        and q.shape[3] == v.shape[3]
        and q.stride(3) == k.stride(3) == v.stride(3) == 1
        and (mask is None or mask.ndim == 2)
    )


def _leading_axes(*arrays: Tensor | None) -> tuple[int, ...]:
    """The leading axes of all arrays after broadcasting."""
    shapes = {tuple(x.shape[:-2]) for x in arrays if x is not None} - {()}
    if len(shapes) > 1:  # torch.broadcast_shapes takes as long as a small kernel
        return tuple(torch.broadcast_shapes(*shapes))
    return shapes.pop() if shapes else ()


def _widened(x: Tensor) -> Tensor:
    """Half precision as float32; wider tensors as they are."""
    return x if x.dtype == torch.float64 else x.float()


def _hiding(mask: Tensor, dtype: torch.dtype) -> Tensor:
    """The mask as a bias: 0 where one may look, -inf where not."""
    return torch.zeros_like(mask, dtype=dtype).masked_fill(~mask, -torch.inf)


def _shown(k: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Mask and bias as the one tensor that the kernel takes, if any.

    Short rows get a mask of True if they have none; see `SHORT`.
    """
    if bias is None:
        few = k.device.type == "cpu" and k.shape[-2] < SHORT
        return torch.ones(1, k.shape[-2], dtype=torch.bool) if mask is None and few else mask
    bias = bias.to(k.dtype)
    return bias if mask is None else bias + _hiding(mask, k.dtype)


def _for_gpu(k: Tensor, v: Tensor, shown: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Keys, values and mask as the kernels of a GPU need them, and the rows that may look nowhere.

    Those kernels want a multiple of 16 keys if there is a mask, and in half precision they give a
    row that may look nowhere the mean of the values. So hidden keys fill up the number, and such a
    row may look everywhere until its output is replaced.
    """
    missing = -k.shape[-2] % 16
    shown = shown.expand(*shown.shape[:-1], k.shape[-2])
    if shown.dtype == torch.bool:
        nowhere = ~shown.any(dim=-1, keepdim=True)
        shown = pad(shown | nowhere, (0, missing))
    else:
        nowhere = (shown == -torch.inf).all(dim=-1, keepdim=True)
        shown = pad(shown.masked_fill(nowhere, 0.0), (0, missing), value=-torch.inf)
    return pad(k, (0, 0, 0, missing)), pad(v, (0, 0, 0, missing)), shown, nowhere


def _one_width(*tensors: Tensor) -> list[Tensor]:
    """Queries, keys and values filled up with zeros to a width that the kernel takes.

    It takes one width for all three, and on a GPU a multiple of 8.
    """
    step = 1 if tensors[0].device.type == "cpu" else 8
    width = step * math.ceil(max(x.shape[-1] for x in tensors) / step)
    return [pad(x, (0, width - x.shape[-1])) if x.shape[-1] < width else x for x in tensors]


def _four_axes(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """`x` with its leading axes repeated and folded to two; no copy if there were no more."""
    if x.stride(-1) != 1:
        x = x.contiguous()
    if len(leading) == 2 and x.shape[:-2] == leading:
        return x
    x = x.expand(*leading, *x.shape[-2:])
    return x.reshape(math.prod(leading[:-1]), math.prod(leading[-1:]), *x.shape[-2:])


def _four_axes_of_mask(x: Tensor, leading: tuple[int, ...]) -> Tensor:
    """A mask or bias with two leading axes, repeated no more than it must be."""
    own = (1,) * (len(leading) + 2 - x.ndim) + tuple(x.shape[:-2])
    front = own[:-1] if set(own[:-1]) <= {1} else leading[:-1]
    return _four_axes(x, (*front, *own[-1:]))
