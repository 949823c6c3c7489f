"""Whole models, decoder and encoder: token ids to logits or hidden states (chapters 10, 11)."""

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import DropoutMasks, KVCache, ModelParameters, tree_map
from tformer.reference.blocks import apply_norm, cached_block
from tformer.reference.equation import equation
from tformer.reference.stacks import (
    embed,
    embed_vjp,
    position_inputs,
    require_tokens,
    stack,
    stack_vjp,
    unembed,
    unembed_vjp,
)

__all__ = [
    "cached_decoder",
    "decoder",
    "decoder_vjp",
    "encoder",
    "encoder_vjp",
]

Masks = tuple[DropoutMasks, ...] | None


@equation
def decoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    dropout_masks: Masks = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the logits of the next token at every position of a causal decoder.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids in [0, N).
    parameters : ModelParameters
    configuration : Configuration
    memory : (..., S, d_model) array, optional
        Hidden states that cross-attention attends to.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, besides the causal mask; nothing more is masked if
        omitted.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        True where token t may attend to position s of the memory; nothing is masked if omitted.
    dropout_masks : tuple of DropoutMasks, optional
        Dropout keep masks of each block; nothing is dropped if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted. They restart at 0 in each document of a
        packed row, and at the first token after left padding; `mask` must hide the rest.

    Returns
    -------
    (..., T, N) array
        Logits: row t is computed from tokens 0 to t, and from the memory if there is one.

    Raises
    ------
    ValueError
        If a token id is below 0 or not below N, if the table of learned or relative positions that
        the configuration needs is missing or too short, or a position has no row in it, if there is
        a memory but no cross-attention, or if dropout_masks is not one for each block.

    Notes
    -----
    Equation eq-decoder; [radford2018], section 3.1, which is post-norm; [radford2019], section 2.3,
    for pre-norm and its final norm. A memory as in [vaswani2017].
    """
    p, c = parameters, configuration
    require_tokens(
        "decoder", tokens, p, c, memory is not None, 0, positions, dropout_masks=dropout_masks
    )
    x = embed(tokens, p, c, 0, positions)
    return unembed(stack(x, p, c, True, memory, mask, memory_mask, dropout_masks, positions), p)


@equation
def decoder_vjp(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: np.ndarray,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    dropout_masks: Masks = None,
    positions: np.ndarray | None = None,
) -> tuple[ModelParameters, np.ndarray | None]:
    """Compute the vector-Jacobian product of `decoder`: gradients with respect to its parameters.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids in [0, N).
    parameters : ModelParameters
    configuration : Configuration
    grad : (..., T, N) array
        Gradient of a loss with respect to what `decoder` returned.
    memory : (..., S, d_model) array, optional
        Hidden states that cross-attention attends to.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s, besides the causal mask; nothing more is masked if
        omitted.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        True where token t may attend to position s of the memory; nothing is masked if omitted.
    dropout_masks : tuple of DropoutMasks, optional
        Dropout keep masks of each block; nothing is dropped if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted. They restart at 0 in each document of a
        packed row, and at the first token after left padding; `mask` must hide the rest.

    Returns
    -------
    dparameters : ModelParameters
        The gradient of each array.
    dmemory : (..., S, d_model) array, optional
        None without a memory.

    Raises
    ------
    ValueError
        As `decoder`.

    Notes
    -----
    Equation eq-decoder-vjp; the derivatives of [radford2018], section 3.1.
    """
    p, c, options = (
        parameters,
        configuration,
        (True, memory, mask, memory_mask, dropout_masks, positions),
    )
    require_tokens(
        "decoder_vjp", tokens, p, c, memory is not None, 0, positions, dropout_masks=dropout_masks
    )
    x = embed(tokens, p, c, 0, positions)
    dhidden, dunembed = unembed_vjp(stack(x, p, c, *options), p, grad)
    dx, dstack, dmemory = stack_vjp(x, p, c, dhidden, *options)
    dembed = embed_vjp(tokens, p, c, dx, positions)
    return tree_map(np.add, dunembed, tree_map(np.add, dstack, dembed)), dmemory


@equation
def cached_decoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    caches: tuple[KVCache, ...] | None = None,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> tuple[np.ndarray, tuple[KVCache, ...]]:
    """Compute the logits of `decoder` for new tokens, given KV caches of earlier ones.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids of the new tokens, in [0, N).
    parameters : ModelParameters
    configuration : Configuration
    caches : tuple of KVCache, optional
        The KV caches of S earlier tokens, one for each block; None if there are none (S = 0).
    mask : (..., T or 1, S + T or 1) boolean array, optional
        True where a new token may attend to a token, cached ones first, besides the causal mask;
        nothing more is masked if omitted.
    positions : (..., S + T) integer array, optional
        Position of each token, cached ones first; as in `decoder`.

    Returns
    -------
    logits : (..., T, N) array
        What `decoder` computes from all S + T tokens, for the last T.
    extended.*.k : (..., G, S + T, d_k) array
        The caches extended by the new tokens; the given ones are not modified.
    extended.*.v : (..., G, S + T, d_v) array

    Raises
    ------
    ValueError
        If a token id is below 0 or not below N, if the table of learned or relative positions that
        the configuration needs is missing or too short, or a position has no row in it, or if
        caches is not one for each block.

    Notes
    -----
    Equation eq-cached-decoder; [radford2018], section 3.1, with incremental decoding as in
    [shazeer2019].
    """
    p, c = parameters, configuration
    offset = caches[0].length if caches else 0
    require_tokens("cached_decoder", tokens, p, c, False, offset, positions, caches=caches)
    x, extended = embed(tokens, p, c, offset, positions), []
    encoded = position_inputs(p, c, tokens.shape[-1], offset, x, positions)
    for layer, cache in zip(p.blocks, caches or [None] * len(p.blocks), strict=True):
        x, cache = cached_block(x, layer, c, cache, None, mask, None, *encoded, True, None)
        extended.append(cache)
    return unembed(apply_norm(x, p.norm, c), p), (*extended,)


@equation
def encoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    mask: np.ndarray | None = None,
    dropout_masks: Masks = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the hidden state of every token with bidirectional attention.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids in [0, N).
    parameters : ModelParameters
        The unembedding is not used.
    configuration : Configuration
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    dropout_masks : tuple of DropoutMasks, optional
        Dropout keep masks of each block; nothing is dropped if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted. They restart at 0 in each document of a
        packed row, and at the first token after left padding; `mask` must hide the rest.

    Returns
    -------
    (..., T, d_model) array
        Hidden states after the last norm.

    Raises
    ------
    ValueError
        If a token id is below 0 or not below N, if the table of learned or relative positions that
        the configuration needs is missing or too short, or a position has no row in it, or if
        dropout_masks is not one for each block.

    Notes
    -----
    Equation eq-encoder; [vaswani2017], section 3.1; without a decoder as in [devlin2019].
    """
    p, c = parameters, configuration
    require_tokens("encoder", tokens, p, c, False, 0, positions, dropout_masks=dropout_masks)
    x = embed(tokens, p, c, 0, positions)
    return stack(x, p, c, False, None, mask, None, dropout_masks, positions)


@equation
def encoder_vjp(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    dropout_masks: Masks = None,
    positions: np.ndarray | None = None,
) -> ModelParameters:
    """Compute the vector-Jacobian product of `encoder`: gradients with respect to its parameters.

    Parameters
    ----------
    tokens : (..., T) integer array
        Token ids in [0, N).
    parameters : ModelParameters
        The unembedding is not used.
    configuration : Configuration
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `encoder` returned.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where token t may attend to token s; nothing is masked if omitted.
    dropout_masks : tuple of DropoutMasks, optional
        Dropout keep masks of each block; nothing is dropped if omitted.
    positions : (..., T) integer array, optional
        Position of each token; 0, 1, 2, … if omitted. They restart at 0 in each document of a
        packed row, and at the first token after left padding; `mask` must hide the rest.

    Returns
    -------
    dparameters : ModelParameters
        The gradient of each array; zeros for an unembedding.

    Raises
    ------
    ValueError
        As `encoder`.

    Notes
    -----
    Equation eq-encoder-vjp; the derivatives of [vaswani2017], section 3.1.
    """
    p, c = parameters, configuration
    require_tokens("encoder_vjp", tokens, p, c, False, 0, positions, dropout_masks=dropout_masks)
    x = embed(tokens, p, c, 0, positions)
    dx, dstack, _ = stack_vjp(x, p, c, grad, False, None, mask, None, dropout_masks, positions)
    return tree_map(np.add, dstack, embed_vjp(tokens, p, c, dx, positions))
