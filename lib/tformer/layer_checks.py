"""Whether parameters of layers fit their configuration."""

from typing import Any

from tformer.layer_configuration import (
    CHOICES,
    LayerConfiguration,
    LayeredConfiguration,
    Routing,
)
from tformer.layers import (
    CompressedAttentionParameters,
    HyperConnectionParameters,
    LayeredParameters,
    LayerParameters,
)
from tformer.rotary import rotated_width
from tformer.shapes import ShapeError

__all__ = ["require_activation", "require_borrowed", "require_experts", "require_layer"]

MIXERS = ("attention", "shared", "latent", "delta", "convolution", "compressed")
"""The fields of `LayerParameters` of which one is given."""
STREAMS = ("mixer_streams", "feed_forward_streams")
OF_DECODERS = (*STREAMS, "token_experts")
"""The fields that only a decoder with several residual streams reads."""
ONE_STREAM = ("per_layer", "scale")
"""The fields that such a decoder does not read."""
WRITTEN = ("w_write", "b_write", "write_scale", "w_mix", "b_mix", "mix_scale")
WINDOWS = ("w_pool_kv", "w_pool", "b_pool", "pool_gain")
INDEXER = ("w_index_q", "w_index", "w_index_kv", "w_index_pool", "b_index_pool", "index_gain")
"""Fields of which all are given, or none."""


def require_layer(
    where: str, p: LayerParameters, c: LayerConfiguration, per_layer: Any = None
) -> None:
    """Raise unless parameters fit a configuration, and the layer's own embeddings are given.

    Raises
    ------
    ValueError
        As `require_mixer`; and if the layer's own embeddings of tokens are missing, or parameters
        are for a decoder with several residual streams.
    """
    require_mixer(where, p, c)
    for name in OF_DECODERS:
        if getattr(p, name) is not None:
            raise ValueError(
                f"{where}: parameters.{name} is for a decoder with several residual streams; "
                "use layered_decoder"
            )
    if p.per_layer is not None and per_layer is None:
        raise ValueError(f"{where}: per_layer must be given with parameters.per_layer; got None")


def require_mixer(where: str, p: LayerParameters, c: LayerConfiguration) -> None:
    """Raise unless parameters fit a configuration.

    Raises
    ------
    ValueError
        If there is not exactly one mixer, experts have no routing, an indexer no index_top_k,
        windows no tokens, or keys and values are neither made nor borrowed.
    """
    found = [name for name in MIXERS if getattr(p, name) is not None]
    if len(found) != 1:
        raise ValueError(
            f"{where}: parameters must have one of {', '.join(MIXERS)}; "
            f"got {' and '.join(found) or 'none'}"
        )
    if p.experts is not None and c.routing is None:
        raise ValueError(f"{where}: parameters.experts need configuration.routing; got None")
    if p.compressed is not None:
        require_windows(where, p.compressed, c)
    borrows = p.shared is not None and p.shared.w_k is None
    if borrows != (c.kv_layer is not None):
        raise ValueError(
            f"{where}: configuration.kv_layer must be given where parameters.shared has no w_k, "
            f"and only there; got {c.kv_layer}"
        )


def require_windows(where: str, p: CompressedAttentionParameters, c: LayerConfiguration) -> None:
    """Raise unless pooled windows have all of their arrays, and an indexer its number of windows.

    Raises
    ------
    ValueError
        If some of the arrays are missing, windows have no tokens, or an indexer no index_top_k.
    """
    _require_together(where, p, WINDOWS)
    _require_together(where, p, INDEXER)
    if p.w_index_q is not None and p.b_pool is None:
        raise ValueError(f"{where}: parameters.w_index_q needs windows; got no b_pool")
    if p.w_index_q is not None and c.index_top_k is None:
        raise ValueError(f"{where}: an indexer needs configuration.index_top_k; got None")
    if p.b_pool is not None and 0 in p.b_pool.shape[:-1]:
        raise ShapeError(
            f"{where}: a window must have tokens, and a token a series; "
            f"got b_pool of shape {tuple(p.b_pool.shape)}"
        )
    if c.rotary is not None and p.w_index_q is not None:
        rotated = c.rotary.width or p.w_kv.shape[-1]
        rotated_width(c.rotary, rotated, p.w_index_q.shape[-1])


def require_connection(where: str, p: HyperConnectionParameters) -> None:
    """Raise unless streams are written and mixed by all arrays of it, or by none.

    Raises
    ------
    ValueError
        If some of them are missing.
    """
    _require_together(where, p, WRITTEN)


def _require_together(where: str, p: Any, names: tuple[str, ...]) -> None:
    missing = [name for name in names if getattr(p, name) is None]
    if 0 < len(missing) < len(names):
        raise ValueError(
            f"{where}: parameters must have all of {', '.join(names)}, or none; "
            f"got no {' and no '.join(missing)}"
        )


def require_streams(where: str, p: LayeredParameters, c: LayeredConfiguration) -> None:
    """Raise unless all layers have several residual streams, or none has.

    Raises
    ------
    ValueError
        If some layer does not read or write the streams as the others do, configuration.streams is
        missing, or there is a loop or what a decoder with several streams does not read.
    """
    if (p.streams is None) != (c.streams is None):
        raise ValueError(
            f"{where}: configuration.streams must be given with parameters.streams, and only then; "
            f"got {c.streams}"
        )
    if p.streams is None:
        return
    if c.loop is not None:
        raise ValueError(f"{where}: configuration.loop must be None with streams; got {c.loop}")
    for i, (one, choices) in enumerate(zip(p.layers, c.layers, strict=True)):
        missing = [name for name in STREAMS if getattr(one, name) is None]
        unread = [name for name in ONE_STREAM if getattr(one, name) is not None]
        unread += ["parallel"] * choices.parallel + ["kv_layer"] * (choices.kv_layer is not None)
        if missing or unread:
            raise ValueError(
                f"{where}: with parameters.streams, layer {i} must have {' and '.join(STREAMS)}, "
                f"and no {' or '.join((*ONE_STREAM, 'parallel', 'kv_layer'))}; "
                f"got {', '.join([f'no {x}' for x in missing] + unread)}"
            )
        require_mixer(f"{where}: layer {i}", one, choices)


def require_borrowed(where: str, x: Any, kv: Any) -> None:
    """Raise unless there is one borrowed key for each token.

    Raises
    ------
    ShapeError
        If there are more or fewer.
    """
    if kv is not None and kv.length != x.shape[-2]:
        raise ShapeError(f"{where}: kv has {kv.length} keys for {x.shape[-2]} tokens")


def require_activation(where: str, activation: str) -> None:
    """Raise unless experts can have that activation.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    if not isinstance(activation, str) or activation not in CHOICES["activation"]:
        wanted = " or ".join(f'"{x}"' for x in CHOICES["activation"])
        raise ValueError(f"{where}: activation must be {wanted}; got {activation!r}")


def require_experts(where: str, n_experts: int, routing: Routing) -> None:
    """Raise unless that many experts can be routed so.

    Raises
    ------
    ValueError
        If there are fewer than top_k experts to choose from, or n_groups does not divide their
        number.
    """
    if n_experts % routing.n_groups:
        raise ValueError(f"{where}: n_groups, {routing.n_groups}, must divide {n_experts} experts")
    available = n_experts // routing.n_groups * routing.top_groups
    if available < routing.top_k:
        raise ValueError(f"{where}: top_k is {routing.top_k}, of {available} experts")
