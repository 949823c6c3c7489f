"""An encoder and a decoder that looks at what it has read (chapter 11)."""

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
    target_mask : (..., T) boolean array, optional
        The same for those of the target.
    source_positions : (..., S) integer array, optional
        Where each word of the source stands, as in `encoder`.
    target_positions : (..., T) integer array, optional
        Where each word of the target stands, as in `decoder`.

    Returns
    -------
    (..., T, N) array

    Raises
    ------
    ValueError
        If a token is below 0 or not below N, if a table of positions that the configuration asks
        for is missing or too short, or a position has no row in it, or if a block of the decoder
        has no cross-attention.

    Notes
    -----
    Equation eq-encoder-decoder; [vaswani2017], section 3.1.
    """
    p, c, mask, own = parameters, configuration, _for_all(source_mask), _for_all(target_mask)
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
    target_mask : (..., T) boolean array, optional
        The same for those of the target.
    source_positions : (..., S) integer array, optional
        Where each word of the source stands, as in `encoder`.
    target_positions : (..., T) integer array, optional
        Where each word of the target stands, as in `decoder`.

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
    p, c, mask, own = parameters, configuration, _for_all(source_mask), _for_all(target_mask)
    require_tokens("encoder_decoder_vjp", source, p.encoder, c, False, 0, source_positions)
    memory = encoder(source, p.encoder, c, mask, None, source_positions)
    require_tokens("encoder_decoder_vjp", target, p.decoder, c, True, 0, target_positions)
    of_target = (memory, own, mask, None, target_positions)
    of_decoder, dmemory = decoder_vjp(target, p.decoder, c, grad, *of_target)
    dmemory = np.zeros_like(memory) if dmemory is None else dmemory
    of_encoder = encoder_vjp(source, p.encoder, c, dmemory, mask, None, source_positions)
    return EncoderDecoderParameters(of_encoder, of_decoder)


def _for_all(mask: np.ndarray | None) -> np.ndarray | None:
    """A mask of words as one that is the same for all that look."""
    return None if mask is None else mask[..., np.newaxis, :]
