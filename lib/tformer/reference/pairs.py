"""The encoder–decoder: a decoder with cross-attention to an encoder (chapter 11)."""

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import EncoderDecoderParameters
from tformer.reference.equation import equation
from tformer.reference.models import decoder, decoder_vjp, encoder, encoder_vjp
from tformer.reference.stacks import require_tokens

__all__ = ["encoder_decoder", "encoder_decoder_vjp"]


@equation
def encoder_decoder(
    source: np.ndarray,
    target: np.ndarray,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    source_mask: np.ndarray | None = None,
    target_mask: np.ndarray | None = None,
    source_positions: np.ndarray | None = None,
    target_positions: np.ndarray | None = None,
) -> np.ndarray:
    """Compute the logits of the next target token, from the target so far and the whole source.

    Parameters
    ----------
    source : (..., S) integer array
        Token ids of the source, in [0, N).
    target : (..., T) integer array
        Token ids of the target so far, in [0, N).
    parameters : EncoderDecoderParameters
    configuration : Configuration
        Of both models.
    source_mask : (..., S) boolean array, optional
        True for source tokens that may be attended to, False for padding; all if omitted.
    target_mask : (..., T) boolean array, optional
        True for target tokens that may be attended to, False for padding; all if omitted.
    source_positions : (..., S) integer array, optional
        Position of each source token, as in `encoder`.
    target_positions : (..., T) integer array, optional
        Position of each target token, as in `decoder`.

    Returns
    -------
    (..., T, N) array
        Logits.

    Raises
    ------
    ValueError
        If a token id is below 0 or not below N, if the table of learned or relative positions that
        the configuration needs is missing or too short, or a position has no row in it, or if a
        block of the decoder has no cross-attention.

    Notes
    -----
    Equation eq-encoder-decoder; [vaswani2017], section 3.1.
    """
    p, c, mask, own = (
        parameters,
        configuration,
        _over_queries(source_mask),
        _over_queries(target_mask),
    )
    require_tokens("encoder_decoder", source, p.encoder, c, False, 0, source_positions)
    memory = encoder(source, p.encoder, c, mask, None, source_positions)
    require_tokens("encoder_decoder", target, p.decoder, c, True, 0, target_positions)
    return decoder(target, p.decoder, c, memory, own, mask, None, target_positions)


@equation
def encoder_decoder_vjp(
    source: np.ndarray,
    target: np.ndarray,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    grad: np.ndarray,
    source_mask: np.ndarray | None = None,
    target_mask: np.ndarray | None = None,
    source_positions: np.ndarray | None = None,
    target_positions: np.ndarray | None = None,
) -> EncoderDecoderParameters:
    """Compute the vector-Jacobian product of `encoder_decoder` with respect to its parameters.

    Parameters
    ----------
    source : (..., S) integer array
        Token ids of the source, in [0, N).
    target : (..., T) integer array
        Token ids of the target so far, in [0, N).
    parameters : EncoderDecoderParameters
    configuration : Configuration
        Of both models.
    grad : (..., T, N) array
        Gradient of a loss with respect to what `encoder_decoder` returned.
    source_mask : (..., S) boolean array, optional
        True for source tokens that may be attended to, False for padding; all if omitted.
    target_mask : (..., T) boolean array, optional
        True for target tokens that may be attended to, False for padding; all if omitted.
    source_positions : (..., S) integer array, optional
        Position of each source token, as in `encoder`.
    target_positions : (..., T) integer array, optional
        Position of each target token, as in `decoder`.

    Returns
    -------
    dparameters : EncoderDecoderParameters
        The gradient of each array; zeros for the encoder's unembedding.

    Raises
    ------
    ValueError
        As `encoder_decoder`.

    Notes
    -----
    Equation eq-encoder-decoder-vjp; the derivatives of [vaswani2017], section 3.1.
    """
    p, c, mask, own = (
        parameters,
        configuration,
        _over_queries(source_mask),
        _over_queries(target_mask),
    )
    require_tokens("encoder_decoder_vjp", source, p.encoder, c, False, 0, source_positions)
    memory = encoder(source, p.encoder, c, mask, None, source_positions)
    require_tokens("encoder_decoder_vjp", target, p.decoder, c, True, 0, target_positions)
    options = (memory, own, mask, None, target_positions)
    ddecoder, dmemory = decoder_vjp(target, p.decoder, c, grad, *options)
    dmemory = np.zeros_like(memory) if dmemory is None else dmemory
    dencoder = encoder_vjp(source, p.encoder, c, dmemory, mask, None, source_positions)
    return EncoderDecoderParameters(dencoder, ddecoder)


def _over_queries(mask: np.ndarray | None) -> np.ndarray | None:
    """Add the axis of the queries to a mask of keys."""
    return None if mask is None else mask[..., np.newaxis, :]
