"""Attention: each query asks all keys, and takes a weighted mean of the values (chapter 3).

A mask is boolean, and True means "may look". It is a bias of -inf wherever it is False, so
everything below follows from the scores. A fully masked row has scores of -inf only: its weights
are zeros, and so are its output and what it passes back.
"""

import math

from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from tformer.fast._kernels import additive, for_kernel
from tformer.fast.precision import wide
from tformer.fast.softmax import softmax
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = ["attention", "attention_vjp", "attention_weights"]


@twin
def attention_weights(
    q: Tensor,
    k: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """Edges as in the definition. Half precision is widened to float32 on the way."""
    scale = scale_of(q, scale)
    scores_TS = scale * (wide(q) @ wide(k).mT)
    if bias is not None:
        scores_TS = scores_TS + bias
    if mask is not None:
        scores_TS = scores_TS + additive(mask, scores_TS.dtype)
    return softmax(scores_TS).to(q.dtype)


@twin
def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> Tensor:
    """By the kernel of [dao2022], which never stores the table of scores.

    Infinite and NaN entries as in the definition. On a CPU half precision is widened to float32,
    where the kernel is no slower; on a GPU the weights are rounded to it. Where PyTorch has no such
    kernel (float64 on a GPU, a gradient for the bias on a CPU), it stores the scores.
    """
    scale = scale_of(q, scale)
    q, k, v, attn_mask, restored = for_kernel(q, k, v, mask, bias)
    y = scaled_dot_product_attention(q, k, v, attn_mask, scale=scale)
    return restored(y)


@twin
def attention_vjp(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    grad: Tensor,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """By PyTorch's automatic differentiation of `attention`.

    The kernel computes the weights again where it needs them [dao2022]. Infinite and NaN entries
    as in the definition, except that to some values it passes 0 if the score of another was +inf.
    """

    def look(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return attention(q, k, v, mask, bias, scale)

    return vjp(look, (q, k, v, bias), grad)


def scale_of(q: Tensor, scale: float | None) -> float:
    """The factor of the scores; if left out, 1/√d_k, for queries that no kernel has widened yet."""
    return 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
