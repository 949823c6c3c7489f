"""Decoders whose layers may differ: those of released models (chapter 22).

Each function takes NumPy arrays or tensors, and computes with the library of the parameters.
"""

from typing import Any

from tformer import reference
from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayerCache, LayeredParameters
from tformer.models.layered_gradient import decoder_vjp
from tformer.models.layered_parts import (
    embedded,
    in_turn,
    library_of,
    logits_of,
    normed,
    per_layer_embeddings,
    states_of,
)
from tformer.models.layered_streams import through_streams
from tformer.parameters import KVCache

__all__ = ["cached_layered_decoder", "layered_decoder", "layered_decoder_vjp"]

Caches = tuple[LayerCache, ...]


def layered_decoder(
    tokens: Any,
    parameters: LayeredParameters,
    configuration: LayeredConfiguration,
    mask: Any = None,
    valid: Any = None,
    positions: Any = None,
) -> Any:
    """Compute the logits of the next token at every position.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids in [0, N).
    parameters : LayeredParameters
    configuration : LayeredConfiguration
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, besides the masks of each layer.
    valid : (..., T) boolean array, optional
        False at left padding.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted.

    Returns
    -------
    (..., T, N) array

    Raises
    ------
    ValueError
        If a token id is out of range, there is not one configuration for each layer, a layer has
        not exactly one mixer, experts have no routing, or a loop has no start.
    ShapeError
        If shapes do not fit.

    Notes
    -----
    Equation eq-layered-decoder.
    """
    p, c, library = parameters, configuration, library_of(parameters)
    x = embedded("layered_decoder", tokens, p, c, library)
    if p.streams is not None:
        options = mask, valid, positions
        x, _ = through_streams(tokens, x, p, c, library, options, [None] * len(p.layers))
        return logits_of(normed(x, p, c, library), p, c, library)
    own, states = per_layer_embeddings(tokens, x, p, c, library), states_of(x, p)
    for layers, state in c.stacks:
        x, lent = sum(states), dict[int | None, KVCache]()
        for i in layers:
            one, choices = p.layers[i], c.layers[i]
            if i in c.lenders:
                lent[i] = library.layers.lent_keys(x, one, choices, positions)
            given = lent.get(choices.kv_layer), own[i]
            x = library.layer(x, one, choices, mask, valid, positions, *given)
        states[state] = normed(x, p, c, library)
    return logits_of(states[0], p, c, library)


def cached_layered_decoder(
    tokens: Any,
    parameters: LayeredParameters,
    configuration: LayeredConfiguration,
    caches: Caches | None = None,
    mask: Any = None,
    valid: Any = None,
    positions: Any = None,
) -> tuple[Any, Caches]:
    """Compute the logits of `layered_decoder` for new tokens, given the caches of earlier ones.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids of the new tokens, in [0, N).
    parameters : LayeredParameters
    configuration : LayeredConfiguration
    caches : tuple of caches, optional
        One for each layer, in a loop one for each time it is applied, of S earlier tokens, as the
        call before returned them.
    mask, valid, positions : arrays, optional
        As in `layered_decoder`, for all S + T tokens, cached ones first.

    Returns
    -------
    logits : (..., T, N) array
        What `layered_decoder` computes from all tokens, for the last T.
    caches : tuple of caches
        Extended by the new tokens; the given ones are not modified.

    Raises
    ------
    ValueError, ShapeError
        As `layered_decoder`; and if there are more or fewer caches.

    Notes
    -----
    Keys and values of all tokens are kept, also those that a window hides.
    """
    p, c, library = parameters, configuration, library_of(parameters)
    x = embedded("cached_layered_decoder", tokens, p, c, library)
    earlier = in_turn(caches, c)
    offset = max((getattr(one, "length", 0) for one in caches or ()), default=0)
    if p.streams is not None:
        options = mask, valid, positions
        x, found = through_streams(tokens, x, p, c, library, options, earlier, offset)
        return logits_of(normed(x, p, c, library), p, c, library), tuple(found)
    own, states = per_layer_embeddings(tokens, x, p, c, library), states_of(x, p)
    found = list[LayerCache]()
    for layers, state in c.stacks:
        x, made = sum(states), dict[int | None, LayerCache]()
        for i in layers:
            given = mask, valid, positions, offset, made.get(c.layers[i].kv_layer), own[i]
            x, made[i] = library.layers.cached_layer(
                x, p.layers[i], c.layers[i], next(earlier), *given
            )
        states[state] = normed(x, p, c, library)
        found += made.values()
    return logits_of(states[0], p, c, library), tuple(found)


def layered_decoder_vjp(
    tokens: Any,
    parameters: LayeredParameters,
    configuration: LayeredConfiguration,
    grad: Any,
    mask: Any = None,
    valid: Any = None,
    positions: Any = None,
) -> LayeredParameters:
    """Compute the vector-Jacobian product of `layered_decoder` with respect to its parameters.

    Parameters
    ----------
    tokens, parameters, configuration, mask, valid, positions
        As in `layered_decoder`.
    grad : (..., T, N) array
        Gradient of a loss with respect to what `layered_decoder` returned.

    Returns
    -------
    LayeredParameters
        The gradient of each array: by hand for NumPy arrays, by autograd for tensors.

    Raises
    ------
    ValueError, ShapeError
        As `layered_decoder`.
    """
    p, c, options = parameters, configuration, (mask, valid, positions)
    if library_of(p) is not reference:
        from tformer.fast.vjp import vjp

        return vjp(lambda p: layered_decoder(tokens, p, c, *options), (p,), grad)[0]
    return decoder_vjp(tokens, p, c, grad, options)
