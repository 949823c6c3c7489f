"""Scaled dot-product attention: a weighted average of values for each query (chapter 3).

A mask is boolean; True means "may attend". Where it is False it acts as a bias of -inf on the
scores. In a fully masked row all scores are -inf: its attention weights are zeros, and so are its
output and the gradients that flow through it.
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
    """Masked, infinite and NaN entries as in the definition. Half precision is computed in
    float32.
    """
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
    """Uses the fused kernel of [dao2022], which never stores the T × S scores.

    Infinite and NaN entries as in the definition. On a CPU half precision is widened to float32,
    where the kernel is no slower; on a GPU the weights are rounded to half precision. Where PyTorch
    has no such kernel (float64 on a GPU, a gradient for the bias on a CPU), it stores the scores.
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
    """Computed by PyTorch's autograd from `attention`.

    The backward kernel recomputes the weights [dao2022]. Infinite and NaN entries as in the
    definition, except that some values get a gradient of 0 if another value's score was +inf.
    """

    def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None) -> Tensor:
        return attention(q, k, v, mask, bias, scale)

    return vjp(attend, (q, k, v, bias), grad)


def scale_of(q: Tensor, scale: float | None) -> float:
    """Return `scale`, or 1/√d_k if it is None, from queries that are not padded yet."""
    return 1 / math.sqrt(max(q.shape[-1], 1)) if scale is None else scale
