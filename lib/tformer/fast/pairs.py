"""The encoder–decoder: a decoder with cross-attention to an encoder (chapter 11)."""

from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast._kernels import widened
from tformer.fast.models import decoder, encoder, narrowed
from tformer.fast.stacks import require_tokens
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import EncoderDecoderParameters

__all__ = ["encoder_decoder", "encoder_decoder_vjp"]


@twin
def encoder_decoder(
    source: Tensor,
    target: Tensor,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    source_positions: Tensor | None = None,
    target_positions: Tensor | None = None,
) -> Tensor:
    """Half precision as in `decoder`."""
    c, mask, own = configuration, _over_queries(source_mask), _over_queries(target_mask)
    where, dtype = "encoder_decoder", parameters.encoder.embedding.dtype
    require_tokens(where, source, parameters.encoder, c, False, 0, source_positions)
    _, p = widened(parameters.encoder.embedding, parameters)
    memory = encoder(source, p.encoder, c, mask, None, source_positions)
    require_tokens(where, target, p.decoder, c, True, 0, target_positions)
    logits = decoder(target, p.decoder, c, memory, own, mask, None, target_positions)
    return narrowed(logits, p.encoder, dtype)


@twin
def encoder_decoder_vjp(
    source: Tensor,
    target: Tensor,
    parameters: EncoderDecoderParameters,
    configuration: Configuration,
    grad: Tensor,
    source_mask: Tensor | None = None,
    target_mask: Tensor | None = None,
    source_positions: Tensor | None = None,
    target_positions: Tensor | None = None,
) -> EncoderDecoderParameters:
    """Computed by PyTorch's autograd from `encoder_decoder`."""
    c, where = configuration, "encoder_decoder_vjp"
    require_tokens(where, source, parameters.encoder, c, False, 0, source_positions)
    require_tokens(where, target, parameters.decoder, c, True, 0, target_positions)
    masks, positions = (source_mask, target_mask), (source_positions, target_positions)
    return vjp(
        lambda p: encoder_decoder(source, target, p, c, *masks, *positions), (parameters,), grad
    )[0]


def _over_queries(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else mask.unsqueeze(-2)
