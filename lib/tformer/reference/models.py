"""Whole models: from tokens through a stack of blocks to the scores of words (chapters 10, 11)."""

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

Several = tuple[DropoutMasks, ...] | None


@equation
def decoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    dropout_masks: Several = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """Scores of the word that comes next, at every place, from the words up to that place.

    Parameters
    ----------
    tokens : (..., T) integer array
        The words, from 0 to N - 1.
    parameters : ModelParameters
    configuration : Configuration
    memory : (..., S, d_model) array, optional
        What cross-attention looks at.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where word t may look at word s, if that is no later one; without it, everywhere.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        The same for what cross-attention looks at.
    dropout_masks : tuple of DropoutMasks, optional
        What dropout keeps in each block; all, if left out.
    positions : (..., T) integer array, optional
        Where each word stands; 0, 1, 2 and so on if left out. They start again in each document of
        a packed row, and after what fills a row up on the left; a mask hides the rest.

    Returns
    -------
    (..., T, N) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, or a position has no row in it, if there is a memory and no
        cross-attention, or if not one DropoutMasks is given for each block.

    Notes
    -----
    Equation eq-decoder; [radford2018], section 3.1, whose norms stand after the sums; the last
    norm, where they stand before the sublayers, is that of [radford2019], section 2.3. A memory as
    in [vaswani2017].
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
    dropout_masks: Several = None,
    positions: np.ndarray | None = None,
) -> tuple[ModelParameters, np.ndarray | None]:
    """Vector-Jacobian product of `decoder`: the gradients passed back to its parameters.

    Parameters
    ----------
    tokens : (..., T) integer array
        The words, from 0 to N - 1.
    parameters : ModelParameters
    configuration : Configuration
    grad : (..., T, N) array
        Gradient of a loss with respect to what `decoder` returned.
    memory : (..., S, d_model) array, optional
        What cross-attention looks at.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where word t may look at word s, if that is no later one; without it, everywhere.
    memory_mask : (..., T or 1, S or 1) boolean array, optional
        The same for what cross-attention looks at.
    dropout_masks : tuple of DropoutMasks, optional
        What dropout keeps in each block; all, if left out.
    positions : (..., T) integer array, optional
        Where each word stands; 0, 1, 2 and so on if left out. They start again in each document of
        a packed row, and after what fills a row up on the left; a mask hides the rest.

    Returns
    -------
    dparameters : ModelParameters
        A gradient in the place of each array.
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
    drows, by_logits = unembed_vjp(stack(x, p, c, *options), p, grad)
    dx, by_stack, dmemory = stack_vjp(x, p, c, drows, *options)
    by_words = embed_vjp(tokens, p, c, dx, positions)
    return tree_map(np.add, by_logits, tree_map(np.add, by_stack, by_words)), dmemory


@equation
def cached_decoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    caches: tuple[KVCache, ...] | None = None,
    mask: np.ndarray | None = None,
    positions: np.ndarray | None = None,
) -> tuple[np.ndarray, tuple[KVCache, ...]]:
    """As `decoder`, for words that go on after others: of those the caches keep what is asked for.

    Parameters
    ----------
    tokens : (..., T) integer array
        The words that are new, from 0 to N - 1.
    parameters : ModelParameters
    configuration : Configuration
    caches : tuple of KVCache, optional
        Of S words, one for each block; None before the first words, and then S is 0.
    mask : (..., T or 1, S + T or 1) boolean array, optional
        True where a new word may look at a word, those in the caches first, if that is no later
        one; without it, everywhere.
    positions : (..., S + T) integer array, optional
        Where each word stands, those in the caches first; as in `decoder`.

    Returns
    -------
    logits : (..., T, N) array
        As the full pass over all words gives for the last T.
    extended.*.k : (..., G, S + T, d_k) array
        The caches with the new words; those that were given stay what they are.
    extended.*.v : (..., G, S + T, d_v) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, or a position has no row in it, or if not one cache is given
        for each block.

    Notes
    -----
    Equation eq-cached-decoder; [radford2018], section 3.1, a word at a time as in [shazeer2019].
    """
    p, c = parameters, configuration
    offset = caches[0].length if caches else 0
    require_tokens("cached_decoder", tokens, p, c, False, offset, positions, caches=caches)
    x, extended = embed(tokens, p, c, offset, positions), []
    places = position_inputs(p, c, tokens.shape[-1], offset, x, positions)
    for one, cache in zip(p.blocks, caches or [None] * len(p.blocks), strict=True):
        x, cache = cached_block(x, one, c, cache, None, mask, None, *places, True, None)
        extended.append(cache)
    return unembed(apply_norm(x, p.norm, c), p), (*extended,)


@equation
def encoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    mask: np.ndarray | None = None,
    dropout_masks: Several = None,
    positions: np.ndarray | None = None,
) -> np.ndarray:
    """A row for every word, from all words: those before it and those after it.

    Parameters
    ----------
    tokens : (..., T) integer array
        The words, from 0 to N - 1.
    parameters : ModelParameters
        The unembedding plays no part.
    configuration : Configuration
    mask : (..., T or 1, T or 1) boolean array, optional
        True where word t may look at word s; without it, everywhere.
    dropout_masks : tuple of DropoutMasks, optional
        What dropout keeps in each block; all, if left out.
    positions : (..., T) integer array, optional
        Where each word stands; 0, 1, 2 and so on if left out. They start again in each document of
        a packed row, and after what fills a row up on the left; a mask hides the rest.

    Returns
    -------
    (..., T, d_model) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, or a position has no row in it, or if not one DropoutMasks is
        given for each block.

    Notes
    -----
    Equation eq-encoder; [vaswani2017], section 3.1; alone as in [devlin2019].
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
    dropout_masks: Several = None,
    positions: np.ndarray | None = None,
) -> ModelParameters:
    """Vector-Jacobian product of `encoder`: the gradients passed back to its parameters.

    Parameters
    ----------
    tokens : (..., T) integer array
        The words, from 0 to N - 1.
    parameters : ModelParameters
        The unembedding plays no part.
    configuration : Configuration
    grad : (..., T, d_model) array
        Gradient of a loss with respect to what `encoder` returned.
    mask : (..., T or 1, T or 1) boolean array, optional
        True where word t may look at word s; without it, everywhere.
    dropout_masks : tuple of DropoutMasks, optional
        What dropout keeps in each block; all, if left out.
    positions : (..., T) integer array, optional
        Where each word stands; 0, 1, 2 and so on if left out. They start again in each document of
        a packed row, and after what fills a row up on the left; a mask hides the rest.

    Returns
    -------
    dparameters : ModelParameters
        A gradient in the place of each array; zeros for an unembedding.

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
    dx, by_stack, _ = stack_vjp(x, p, c, grad, False, None, mask, None, dropout_masks, positions)
    return tree_map(np.add, by_stack, embed_vjp(tokens, p, c, dx, positions))
