"""A layer of a released model: a mixer and a feed-forward part, with their norms (chapter 22)."""

from torch import Tensor

from tformer.fast import activations
from tformer.fast._kernels import widened
from tformer.fast.checks import require_values
from tformer.fast.feeds import feed, normed
from tformer.fast.mixers import mixer_answer, mixer_of
from tformer.fast.shared_attention import lent
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.layer_checks import require_borrowed, require_layer
from tformer.layer_configuration import LayerConfiguration
from tformer.layers import LayerCache, LayerParameters
from tformer.parameters import KVCache

__all__ = ["layer", "layer_vjp"]


@twin
def layer(
    x: Tensor,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    mask: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
    kv: KVCache | None = None,
    per_layer: Tensor | None = None,
) -> Tensor:
    """On a CPU half precision is widened to float32."""
    if parameters.experts is not None:
        require_values("layer", "x", x)
    require_borrowed("layer", x, kv)
    dtype = x.dtype
    x, p, kv, per_layer = widened(x, parameters, kv, per_layer)
    options = (mask, valid, positions, 0, kv, per_layer)
    return cached_layer(x, p, configuration, None, *options)[0].to(dtype)


@twin
def layer_vjp(
    x: Tensor,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    grad: Tensor,
    mask: Tensor | None = None,
    valid: Tensor | None = None,
    positions: Tensor | None = None,
    kv: KVCache | None = None,
    per_layer: Tensor | None = None,
) -> tuple[Tensor, LayerParameters, KVCache | None, Tensor | None]:
    """Computed by PyTorch's autograd from `layer`."""
    if parameters.experts is not None:
        require_values("layer_vjp", "x", x)
    require_layer("layer_vjp", parameters, configuration, per_layer)
    require_borrowed("layer_vjp", x, kv)

    def forward(
        x: Tensor, p: LayerParameters, kv: KVCache | None, per_layer: Tensor | None
    ) -> Tensor:
        return layer(x, p, configuration, mask, valid, positions, kv, per_layer)

    return vjp(forward, (x, parameters, kv, per_layer), grad)


def lent_keys(
    x: Tensor, p: LayerParameters, c: LayerConfiguration, positions: Tensor | None
) -> KVCache:
    """Return the keys and values of a layer, for the layers that borrow them."""
    dtype = x.dtype
    x, p = widened(x, p)
    kv = lent(normed(x, p.mixer_norm, c), mixer_of(p)[1], c, positions)
    return KVCache(kv.k.to(dtype), kv.v.to(dtype))


def cached_layer(
    x: Tensor,
    parameters: LayerParameters,
    configuration: LayerConfiguration,
    cache: LayerCache | None,
    mask: Tensor | None,
    valid: Tensor | None,
    positions: Tensor | None,
    offset: int = 0,
    kv: KVCache | None = None,
    per_layer: Tensor | None = None,
) -> tuple[Tensor, LayerCache]:
    """Apply a layer to the tokens after those in the cache; also return the new cache.

    `mask`, `valid`, `positions` and `kv` are for all tokens, cached ones first.
    """
    p, c = parameters, configuration
    require_layer("layer", p, c, per_layer)
    inputs = normed(x, p.mixer_norm, c)
    y, cache = mixer_answer(inputs, p, c, cache, mask, valid, positions, offset, kv)
    between = x + y
    fed = inputs if c.parallel else normed(between, p.feed_forward_norm, c)
    answer, x = feed(between, fed, p, c), between
    if answer is not None:
        x = x + normed(answer, p.feed_forward_norm_after, c)
    if p.per_layer is not None:
        gate = getattr(activations, c.activation)(x @ p.per_layer.w_gate)
        x = x + normed((gate * per_layer) @ p.per_layer.w_out, p.per_layer_norm_after, c)
    return x if p.scale is None else p.scale * x, cache
