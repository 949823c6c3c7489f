"""The gradient of `layered_decoder` by hand, for NumPy arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tformer import reference
from tformer.layer_configuration import LayeredConfiguration
from tformer.layers import LayeredParameters, LayerParameters, PerLayerEmbeddings
from tformer.models.layered_parts import (
    HALF,
    around,
    context,
    embedded,
    normed,
    per_layer_embeddings,
    states_of,
    widened,
)
from tformer.models.layered_streams import through_streams, through_streams_vjp
from tformer.parameters import KVCache, NormParameters, tree_map
from tformer.reference.attention import sum_to
from tformer.reference.feed_forward import linear_vjp
from tformer.reference.layers import lent_keys, lent_keys_vjp

Array = np.ndarray
NORM_VJPS: dict[str, Callable[..., Any]] = {
    "rms": reference.rms_norm_vjp,
    "layer": reference.layer_norm_vjp,
}


def decoder_vjp(
    tokens: Array,
    p: LayeredParameters,
    c: LayeredConfiguration,
    grad: Array,
    options: tuple[Any, Any, Any],
) -> LayeredParameters:
    """The gradient of each array; `options` are mask, valid and positions."""
    x = embedded("layered_decoder_vjp", tokens, p, c, reference)
    if p.streams is not None:
        return _streams_vjp(tokens, x, p, c, grad, options)
    own, states = per_layer_embeddings(tokens, x, p, c, reference), states_of(x, p)
    hidden = list[list[Array]]()  # of each stack: what its layers read, and what the norm reads
    for layers, state in c.stacks:
        hidden.append(_hidden(sum(states), layers, p, c, own, options))
        states[state] = normed(hidden[-1][-1], p, c, reference)
    dstates, douter = _logits_vjp(states, p, c, grad)
    grads: LayeredParameters = tree_map(np.zeros_like, p)
    dlayers, dnorm, down = list(grads.layers), grads.norm, [np.zeros_like(x) for x in own]
    for (layers, state), read in zip(reversed(c.stacks), reversed(hidden), strict=True):
        dx, dstates[state] = dstates[state], np.zeros_like(x)
        if p.norm is not None:
            dx, dgain = NORM_VJPS[c.norm](read[-1], p.norm, dx, c.eps)
            dnorm = tree_map(np.add, dnorm, dgain)
        dx = _stack_vjp(read, layers, p, c, own, options, dx, dlayers, down)
        dstates = [one + dx for one in dstates]
    dx, dper_layer = _per_layer_vjp(tokens, x, p, c, down)
    dx = c.embedding_scale * (dstates[0] + dx)
    return LayeredParameters(
        reference.embedding_vjp(tokens, p.embedding, dx) + douter.embedding,
        tuple(dlayers),
        dnorm,
        douter.unembedding,
        None if p.start is None else sum_to(p.start, dstates[1]),
        dper_layer,
    )


def _streams_vjp(
    tokens: Array,
    x: Array,
    p: LayeredParameters,
    c: LayeredConfiguration,
    grad: Array,
    options: tuple[Any, Any, Any],
) -> LayeredParameters:
    """The gradient of each array of a decoder with several residual streams."""
    if x.dtype == np.float16:
        x, wide, grad = widened((x, p, grad))
        found: LayeredParameters = _streams_vjp(tokens, x, wide, c, grad, options)
        rounded: LayeredParameters = tree_map(lambda one, d: d.astype(one.dtype), p, found)
        return rounded
    last, _ = through_streams(tokens, x, p, c, reference, options, [None] * len(p.layers))
    (dlast,), douter = _logits_vjp([normed(last, p, c, reference)], p, c, grad)
    dnorm = None
    if p.norm is not None:
        dlast, dnorm = NORM_VJPS[c.norm](last, p.norm, dlast, c.eps)
    dx, dlayers, dstreams = through_streams_vjp(tokens, x, p, c, options, dlast)
    dembedding = reference.embedding_vjp(tokens, p.embedding, c.embedding_scale * dx)
    return LayeredParameters(
        dembedding + douter.embedding,
        tuple(dlayers),
        dnorm,
        douter.unembedding,
        streams=dstreams,
    )


def _hidden(
    x: Array,
    layers: range,
    p: LayeredParameters,
    c: LayeredConfiguration,
    own: list[Any],
    options: tuple[Any, Any, Any],
) -> list[Array]:
    """What each layer of a stack reads, and what the last one gives."""
    found, lent = [x], dict[int | None, KVCache]()
    for i in layers:
        one, choices = p.layers[i], c.layers[i]
        if i in c.lenders:
            lent[i] = lent_keys(found[-1], one, choices, options[2])
        given = lent.get(choices.kv_layer), own[i]
        found.append(reference.layer(found[-1], one, choices, *options, *given))
    return found


def _stack_vjp(
    read: list[Array],
    layers: range,
    p: LayeredParameters,
    c: LayeredConfiguration,
    own: list[Any],
    options: tuple[Any, Any, Any],
    grad: Array,
    dlayers: list[LayerParameters],
    down: list[Any],
) -> Array:
    """The gradient of what a stack reads; those of its parameters are added to the lists."""
    lent: dict[int | None, KVCache] = {
        i: lent_keys(x, p.layers[i], c.layers[i], options[2])
        for i, x in zip(layers, read, strict=False)
        if i in c.lenders
    }
    dlent = tree_map(np.zeros_like, lent)
    for i, x in zip(reversed(layers), reversed(read[:-1]), strict=True):
        one, choices = p.layers[i], c.layers[i]
        given = lent.get(choices.kv_layer), own[i]
        grad, dlayer, dkv, dper_layer = reference.layer_vjp(x, one, choices, grad, *options, *given)
        if dkv is not None:
            dlent[choices.kv_layer] = tree_map(np.add, dlent[choices.kv_layer], dkv)
        if dper_layer is not None:
            down[i] = down[i] + dper_layer
        if i in dlent:
            dx, dlender = lent_keys_vjp(x, one, choices, dlent[i], options[2])
            grad, dlayer = grad + dx, tree_map(np.add, dlayer, dlender)
        dlayers[i] = tree_map(np.add, dlayers[i], dlayer)
    return grad


def _logits_vjp(
    states: list[Array], p: LayeredParameters, c: LayeredConfiguration, grad: Array
) -> tuple[list[Array], Any]:
    """The gradients of the states and of the arrays around the layers."""
    if c.logit_cap is not None:
        raw = c.logit_scale * reference.unembed(states[0], around(p))
        grad = reference.soft_cap_vjp(raw, c.logit_cap, grad)
    dx, douter = reference.unembed_vjp(states[0], around(p), c.logit_scale * grad)
    return [dx, *map(np.zeros_like, states[1:])], douter


def _per_layer_vjp(
    tokens: Array, x: Array, p: LayeredParameters, c: LayeredConfiguration, grads: list[Array]
) -> tuple[Array, PerLayerEmbeddings | None]:
    """The gradients of x and of the tables, for `per_layer_embeddings`."""
    own, dx = p.per_layer, np.zeros_like(x)
    if own is None:
        return dx, None
    dtables, dcontexts, dgain = [], [], np.zeros_like(own.gain)
    for table, w_context, grad in zip(own.embedding, own.w_context, grads, strict=True):
        dseen = HALF * grad
        dtables.append(reference.embedding_vjp(tokens, table, table.shape[-1] ** 0.5 * dseen))
        gain = NormParameters(own.gain)
        dcontext, dnorm = reference.rms_norm_vjp(context(x, w_context), gain, dseen, c.eps)
        done, dw, _ = linear_vjp(x, w_context, None, dcontext * x.shape[-1] ** -0.5)
        dx, dgain = dx + done, dgain + dnorm.gain
        dcontexts.append(dw)
    return dx, PerLayerEmbeddings(np.stack(dtables), np.stack(dcontexts), dgain)
