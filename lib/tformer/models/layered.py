"""Decoders whose layers may differ: those of released models (chapter 22).

Each function takes NumPy arrays or tensors, and computes with the library of the parameters.
"""

from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np

from tformer import reference
from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayerCache, LayeredParameters, LayerParameters
from tformer.parameters import ModelParameters, tree_map

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
        not exactly one mixer, or experts have no routing.
    ShapeError
        If shapes do not fit.

    Notes
    -----
    Equation eq-layered-decoder.
    """
    library = _library(parameters)
    x = _embedded("layered_decoder", tokens, parameters, configuration, library)
    for one, choices in zip(parameters.layers, configuration.layers, strict=True):
        x = library.layer(x, one, choices, mask, valid, positions)
    return _logits(x, parameters, configuration, library)


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
        One for each layer, of S earlier tokens, as the call before returned them.
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
        As `layered_decoder`; and if caches is not one for each layer.

    Notes
    -----
    Keys and values of all tokens are kept, also those that a window hides.
    """
    library, found = _library(parameters), list[LayerCache]()
    x = _embedded("cached_layered_decoder", tokens, parameters, configuration, library)
    n_layers = len(parameters.layers)
    if caches is not None and len(caches) != n_layers:
        raise ValueError(
            f"cached_layered_decoder: caches must have one for each of {n_layers} layers; "
            f"got {len(caches)}"
        )
    offset = max((getattr(one, "length", 0) for one in caches or ()), default=0)
    for one, choices, cache in zip(
        parameters.layers, configuration.layers, caches or [None] * n_layers, strict=True
    ):
        x, cache = library.layers.cached_layer(
            x, one, choices, cache, mask, valid, positions, offset
        )
        found.append(cache)
    return _logits(x, parameters, configuration, library), tuple(found)


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
    if _library(p) is not reference:
        from tformer.fast.vjp import vjp

        return vjp(lambda p: layered_decoder(tokens, p, c, *options), (p,), grad)[0]
    hidden = [_embedded("layered_decoder_vjp", tokens, p, c, reference)]
    for one, choices in zip(p.layers, c.layers, strict=True):
        hidden.append(reference.layer(hidden[-1], one, choices, *options))
    last = hidden.pop()
    normed = _normed(last, p, c, reference)
    raw = c.logit_scale * reference.unembed(normed, _around(p))
    if c.logit_cap is not None:
        grad = reference.soft_cap_vjp(raw, c.logit_cap, grad)
    dnormed, douter = reference.unembed_vjp(normed, _around(p), c.logit_scale * grad)
    dnorm = None
    if p.norm is not None:
        vjps = {"rms": reference.rms_norm_vjp, "layer": reference.layer_norm_vjp}
        dnormed, dnorm = vjps[c.norm](last, p.norm, dnormed, c.eps)
    dlayers = list[LayerParameters]()
    for one, choices in zip(reversed(p.layers), reversed(c.layers), strict=True):
        dnormed, dlayer = reference.layer_vjp(hidden.pop(), one, choices, dnormed, *options)
        dlayers.insert(0, dlayer)
    dembedding = reference.embedding_vjp(tokens, p.embedding, c.embedding_scale * dnormed)
    grads = replace(tree_map(np.zeros_like, p), layers=tuple(dlayers), norm=dnorm)
    return replace(grads, embedding=dembedding + douter.embedding, unembedding=douter.unembedding)


def _library(parameters: LayeredParameters) -> ModuleType:
    """The library of the parameters: `reference` for NumPy arrays, `fast` for tensors."""
    if isinstance(parameters.embedding, np.ndarray):
        return reference
    from tformer import fast

    return fast


def _around(p: LayeredParameters) -> ModelParameters:
    """What stands around the layers, in the form of chapter 10."""
    return ModelParameters(p.embedding, (), None, None, None, p.unembedding)


def _embedded(
    where: str,
    tokens: Any,
    p: LayeredParameters,
    c: LayeredConfiguration,
    library: ModuleType,
) -> Any:
    if len(p.layers) != len(c.layers):
        raise ValueError(
            f"{where}: there must be one configuration for each of {len(p.layers)} layers; "
            f"got {len(c.layers)}"
        )
    return c.embedding_scale * library.embedding(tokens, p.embedding)


def _normed(x: Any, p: LayeredParameters, c: LayeredConfiguration, library: ModuleType) -> Any:
    norm = {"rms": library.rms_norm, "layer": library.layer_norm}[c.norm]
    return x if p.norm is None else norm(x, p.norm, c.eps)


def _logits(x: Any, p: LayeredParameters, c: LayeredConfiguration, library: ModuleType) -> Any:
    logits = c.logit_scale * library.unembed(_normed(x, p, c, library), _around(p))
    return logits if c.logit_cap is None else library.soft_cap(logits, c.logit_cap)
