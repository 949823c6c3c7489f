"""Whole models: from tokens through a stack of blocks to the scores of words (chapters 10, 11)."""

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import (
    EncoderDecoderParameters,
    Kept,
    KVCache,
    ModelParameters,
    tree_map,
)
from tformer.reference.blocks import cached_block, normed
from tformer.reference.equation import equation
from tformer.reference.stacks import (
    embedded,
    embedded_vjp,
    places_of,
    require_words,
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
    "encoder_decoder",
    "encoder_decoder_vjp",
    "encoder_vjp",
]

Several = tuple[Kept, ...] | None


@equation
def decoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    kept: Several = None,
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
    kept : tuple of Kept, optional
        What dropout keeps in each block; all, if left out.

    Returns
    -------
    (..., T, N) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, if there is a memory and no cross-attention, or if not one
        Kept is given for each block.

    Notes
    -----
    Equation eq-decoder; [radford2018], section 3.1, whose norms stand after the sums; the last
    norm, where they stand before the sublayers, is that of [radford2019], section 2.3. A memory as
    in [vaswani2017].
    """
    p, c = parameters, configuration
    require_words("decoder", tokens, p, c, memory is not None, kept=kept)
    x = embedded(tokens, p, c)
    return unembed(stack(x, p, c, True, memory, mask, memory_mask, kept), p)


@equation
def decoder_vjp(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: np.ndarray,
    memory: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    memory_mask: np.ndarray | None = None,
    kept: Several = None,
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
    kept : tuple of Kept, optional
        What dropout keeps in each block; all, if left out.

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
    p, c, options = parameters, configuration, (True, memory, mask, memory_mask, kept)
    require_words("decoder_vjp", tokens, p, c, memory is not None, kept=kept)
    x = embedded(tokens, p, c)
    drows, by_logits = unembed_vjp(stack(x, p, c, *options), p, grad)
    dx, by_stack, dmemory = stack_vjp(x, p, c, drows, *options)
    found = tree_map(np.add, by_logits, tree_map(np.add, by_stack, embedded_vjp(tokens, p, c, dx)))
    return found, dmemory


@equation
def cached_decoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    caches: tuple[KVCache, ...] | None = None,
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
        for is missing or too short, or if not one cache is given for each block.

    Notes
    -----
    Equation eq-cached-decoder; [radford2018], section 3.1, a word at a time as in [shazeer2019].
    """
    p, c = parameters, configuration
    offset = caches[0].length if caches else 0
    require_words("cached_decoder", tokens, p, c, offset=offset, caches=caches)
    x, extended = embedded(tokens, p, c, offset), []
    places = places_of(p, c, tokens.shape[-1], offset, x)
    for one, cache in zip(p.blocks, caches or [None] * len(p.blocks), strict=True):
        x, cache = cached_block(x, one, c, cache, None, None, None, *places, True, None)
        extended.append(cache)
    return unembed(normed(x, p.norm, c), p), (*extended,)


@equation
def encoder(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    mask: np.ndarray | None = None,
    kept: Several = None,
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
    kept : tuple of Kept, optional
        What dropout keeps in each block; all, if left out.

    Returns
    -------
    (..., T, d_model) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, or if not one Kept is given for each block.

    Notes
    -----
    Equation eq-encoder; [vaswani2017], section 3.1; alone as in [devlin2019].
    """
    p, c = parameters, configuration
    require_words("encoder", tokens, p, c, kept=kept)
    return stack(embedded(tokens, p, c), p, c, False, None, mask, None, kept)


@equation
def encoder_vjp(
    tokens: np.ndarray,
    parameters: ModelParameters,
    configuration: Configuration,
    grad: np.ndarray,
    mask: np.ndarray | None = None,
    kept: Several = None,
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
    kept : tuple of Kept, optional
        What dropout keeps in each block; all, if left out.

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
    require_words("encoder_vjp", tokens, p, c, kept=kept)
    x = embedded(tokens, p, c)
    dx, by_stack, _ = stack_vjp(x, p, c, grad, False, None, mask, None, kept)
    return tree_map(np.add, by_stack, embedded_vjp(tokens, p, c, dx))


@equation
def encoder_decoder(
    source: np.ndarray,
    target: np.ndarray,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    source_mask: np.ndarray | None = None,
) -> np.ndarray:
    """Scores of the next word of a target, from the words before it and from a whole source.

    Parameters
    ----------
    source : (..., S) integer array
        The words that are read, from 0 to N - 1.
    target : (..., T) integer array
        The words that have been written, from 0 to N - 1.
    parameters : EncoderDecoderParameters
    configuration : Configuration
        Of both.
    source_mask : (..., S) boolean array, optional
        True for the words of the source that may be looked at; without it, all.

    Returns
    -------
    (..., T, N) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, or if a block of the decoder has no cross-attention.

    Notes
    -----
    Equation eq-encoder-decoder; [vaswani2017], section 3.1.
    """
    c, mask = configuration, None if source_mask is None else source_mask[..., np.newaxis, :]
    require_words("encoder_decoder", source, parameters.encoder, c)
    memory = encoder(source, parameters.encoder, c, mask)
    require_words("encoder_decoder", target, parameters.decoder, c, crossed=True)
    return decoder(target, parameters.decoder, c, memory, None, mask)


@equation
def encoder_decoder_vjp(
    source: np.ndarray,
    target: np.ndarray,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    grad: np.ndarray,
    source_mask: np.ndarray | None = None,
) -> EncoderDecoderParameters:
    """Vector-Jacobian product of `encoder_decoder`: the gradients passed back to its parameters.

    Parameters
    ----------
    source : (..., S) integer array
        The words that are read, from 0 to N - 1.
    target : (..., T) integer array
        The words that have been written, from 0 to N - 1.
    parameters : EncoderDecoderParameters
    configuration : Configuration
        Of both.
    grad : (..., T, N) array
        Gradient of a loss with respect to what `encoder_decoder` returned.
    source_mask : (..., S) boolean array, optional
        True for the words of the source that may be looked at; without it, all.

    Returns
    -------
    dparameters : EncoderDecoderParameters
        A gradient in the place of each array; zeros for the encoder's unembedding.

    Raises
    ------
    ValueError
        As `encoder_decoder`.

    Notes
    -----
    Equation eq-encoder-decoder-vjp; the derivatives of [vaswani2017], section 3.1.
    """
    c, mask = configuration, None if source_mask is None else source_mask[..., np.newaxis, :]
    require_words("encoder_decoder_vjp", source, parameters.encoder, c)
    memory = encoder(source, parameters.encoder, c, mask)
    require_words("encoder_decoder_vjp", target, parameters.decoder, c, crossed=True)
    of_decoder, dmemory = decoder_vjp(target, parameters.decoder, c, grad, memory, None, mask)
    dmemory = np.zeros_like(memory) if dmemory is None else dmemory
    return EncoderDecoderParameters(
        encoder_vjp(source, parameters.encoder, c, dmemory, mask), of_decoder
    )
