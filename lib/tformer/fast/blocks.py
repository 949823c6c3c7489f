"""The transformer block: attention and feed-forward on the residual stream (chapters 8, 10)."""

from torch import Tensor

from tformer.configuration import Configuration, require_block
from tformer.fast._kernels import widened
from tformer.fast.feed_forward import dropout, feed_forward
from tformer.fast.groups import grouped_attention
from tformer.fast.heads import multi_head_attention
from tformer.fast.norms import layer_norm, rms_norm
from tformer.fast.positions import turned, turns_of
from tformer.fast.precision import wide
from tformer.fast.projections import extend_cache, merge, project
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import (
    BlockParameters,
    DropoutMasks,
    HeadParameters,
    KVCache,
    NormParameters,
)

__all__ = ["block", "block_vjp"]

Gradients = tuple[Tensor, BlockParameters, Tensor | None, Tensor | None]
NORMS = {"layer": layer_norm, "rms": rms_norm}
NORM_FIRST = {"pre": True, "post": False}
"""What each choice of `Configuration.norm` and `Configuration.order` means."""


@twin
def block(
    x: Tensor,
    parameters: BlockParameters,
    configuration: Configuration,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    bias: Tensor | None = None,
    sinusoids: Tensor | None = None,
    causal: bool = False,
    dropout_masks: DropoutMasks | None = None,
) -> Tensor:
    """On a CPU half precision is widened to float32; on a GPU hidden states are rounded to it
    between the sublayers.
    """
    require_block("block", parameters, memory is not None, sinusoids is not None)
    dtype = x.dtype
    x, parameters, memory, bias = widened(x, parameters, memory, bias)
    turns = block_turns(x, sinusoids, configuration)
    options = (memory, mask, memory_mask, bias, turns, causal, dropout_masks)
    y, _ = cached_block(x, parameters, configuration, None, *options)
    return y if x.dtype == dtype else y.to(dtype)


@twin
def block_vjp(
    x: Tensor,
    parameters: BlockParameters,
    configuration: Configuration,
    grad: Tensor,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    bias: Tensor | None = None,
    sinusoids: Tensor | None = None,
    causal: bool = False,
    dropout_masks: DropoutMasks | None = None,
) -> Gradients:
    """Computed by PyTorch's autograd from `block`."""
    require_block("block_vjp", parameters, memory is not None, sinusoids is not None)

    def forward(x: Tensor, p: BlockParameters, m: Tensor | None, b: Tensor | None) -> Tensor:
        return block(x, p, configuration, m, mask, memory_mask, b, sinusoids, causal, dropout_masks)

    return vjp(forward, (x, parameters, memory, bias), grad)


def cached_block(
    x: Tensor,
    parameters: BlockParameters,
    configuration: Configuration,
    cache: KVCache | None,
    memory: Tensor | None,
    mask: Tensor | None,
    memory_mask: Tensor | None,
    bias: Tensor | None,
    turns: tuple[Tensor, ...] | None,
    causal: bool,
    dropout_masks: DropoutMasks | None,
) -> tuple[Tensor, KVCache]:
    """Apply a block to the tokens that follow those in the KV cache; also return the new cache.

    `turns` are those of `block_turns`, which all blocks share.
    """
    p, c, dropout_masks = parameters, configuration, dropout_masks or DropoutMasks()
    inputs = sublayer_input(x, p.heads_norm, c)
    y, cache = _attend(inputs, p.heads, cache, mask, bias, turns, causal)
    x = add_residual(x, y, p.heads_norm, c, dropout_masks.heads)
    if memory is not None and p.cross is not None:
        inputs = sublayer_input(x, p.cross_norm, c)
        y = multi_head_attention(inputs, p.cross, memory, memory_mask)
        x = add_residual(x, y, p.cross_norm, c, dropout_masks.cross)
    if p.feed_forward is not None:
        inputs = sublayer_input(x, p.feed_forward_norm, c)
        y = feed_forward(inputs, p.feed_forward, c)
        x = add_residual(x, y, p.feed_forward_norm, c, dropout_masks.feed_forward)
    return x, cache


def _attend(
    x: Tensor,
    parameters: HeadParameters,
    cache: KVCache | None,
    mask: Tensor | None,
    bias: Tensor | None,
    turns: tuple[Tensor, ...] | None,
    causal: bool,
) -> tuple[Tensor, KVCache]:
    """Attend to the cached tokens and the new ones; also return the extended KV cache."""
    q, k, v = project(x, parameters)
    if turns is not None:
        q, k = turned(q, turns), turned(k, turns)
    offset = 0 if cache is None else cache.length
    cache = extend_cache(cache, k, v)
    y = grouped_attention(q, cache.k, cache.v, mask, bias, None, causal, offset)
    return merge(y, parameters), cache


def block_turns(x: Tensor, sinusoids: Tensor | None, c: Configuration) -> tuple[Tensor, ...] | None:
    """Return what rotates queries and keys (..., heads, T, d_k), if anything does."""
    if sinusoids is None:
        return None
    return turns_of("rope", sinusoids.unsqueeze(-3), wide(x).dtype, c.pairing)


def sublayer_input(x: Tensor, norm: NormParameters | None, c: Configuration) -> Tensor:
    """Return the input of a sublayer: normalised under pre-norm, x itself under post-norm."""
    return apply_norm(x, norm, c) if NORM_FIRST[c.order] else x


def add_residual(
    x: Tensor, y: Tensor, norm: NormParameters | None, c: Configuration, keep_mask: Tensor | None
) -> Tensor:
    """Return x + dropout(y), normalised under post-norm."""
    x = x + (y if keep_mask is None else dropout(y, keep_mask, c))
    return x if NORM_FIRST[c.order] else apply_norm(x, norm, c)


def apply_norm(x: Tensor, norm: NormParameters | None, c: Configuration) -> Tensor:
    """Apply the norm that the configuration names; return x itself if there is none."""
    if norm is None:
        return x
    return NORMS[c.norm](x, norm, c.eps)
