"""The real model of the book as the book's own functions take it."""

from typing import NamedTuple

from tformer.configuration import Configuration
from tformer.models.state_dicts import from_state_dict
from tformer.parameters import ModelParameters
from tformer.pretrained import Checkpoint, checkpoint
from tformer.tokens import BPE

__all__ = ["PretrainedModel", "from_checkpoint", "from_pretrained"]


class PretrainedModel(NamedTuple):
    """What it takes to read and write: words to numbers and back, parameters, and what to compute.

    Attributes
    ----------
    tokenizer : BPE
    parameters : ModelParameters
        NumPy arrays in float32.
    configuration : Configuration
    """

    tokenizer: BPE
    parameters: ModelParameters
    configuration: Configuration


def from_pretrained() -> PretrainedModel:
    """Open SmolLM2-135M-Instruct, in four bits a weight, and decode it.

    A second and half a gigabyte; keep what it returns.

    Raises
    ------
    PretrainedError
        If it is not on this machine, which `make model` changes, or is not what it should be.
    """
    return from_checkpoint(checkpoint())


def from_checkpoint(found: Checkpoint) -> PretrainedModel:
    """A checkpoint of the shape of Llama, as the functions of the book take it."""
    about = found.architecture
    configuration = Configuration(
        norm="rms",
        eps=about.eps,
        activation="silu",
        positions="rope",
        pairing=about.pairing,
        base=about.base,
    )
    state = found.common(about.pairing)
    parameters = from_state_dict("llama", state, about.n_heads, about.n_groups)
    return PretrainedModel(found.tokenizer, parameters, configuration)
