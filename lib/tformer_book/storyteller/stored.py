"""The storyteller as it was trained: its tokens, its weights and what it computes."""

import hashlib
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tformer.configuration import Configuration
from tformer.models.files import WeightsError
from tformer.models.files import load as read
from tformer.models.state_dicts import to_state_dict
from tformer.parameters import BlockParameters, ModelParameters, tree_map
from tformer.tokens import BPE

__all__ = ["MERGES", "SHA256", "WEIGHTS", "Storyteller", "load", "named", "tokens"]

HERE = Path(__file__).parent
MERGES, WEIGHTS = HERE / "merges.txt", HERE / "weights.safetensors"
SHA256 = "005a9e4e863dc07f427bdf5c44fa3696e4e7aff50df351c426affef564963806"


class Storyteller(NamedTuple):
    """A model with its tokens.

    Attributes
    ----------
    tokens : BPE
    parameters : ModelParameters
        NumPy arrays, float32; stored in half as many bytes.
    configuration : Configuration
    """

    tokens: BPE
    parameters: ModelParameters
    configuration: Configuration


@cache
def tokens() -> BPE:
    """Its tokenizer: the bytes, and what the committed merges make of them."""
    return BPE.from_merges(MERGES.read_text("utf-8").splitlines())


@cache
def load() -> Storyteller:
    """Read the committed weights.

    Raises
    ------
    WeightsError
        If the file is not the one that was trained.
    """
    found = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    if found != SHA256:
        raise WeightsError(f"load: {WEIGHTS.name} has the checksum {found}, and not {SHA256}")
    parameters, configuration = read(WEIGHTS)
    return Storyteller(
        tokens(), tree_map(lambda x: x.astype(np.float32), parameters), configuration
    )


def named(parameters: ModelParameters) -> dict[str, Any]:
    """Parameters by the names of Llama's files, as a reader's own `my_transformer.py` reads them.

    Parameters
    ----------
    parameters : ModelParameters
        Of the storyteller, or of a model of its form: NumPy arrays or tensors. RoPE turns
        coordinates i and i + d_k / 2 of its queries and keys as a pair.

    Returns
    -------
    dict of arrays, or of tensors
        Here such a pair stands side by side.
    """
    order = np.arange(parameters.blocks[0].heads.w_q.shape[-1]).reshape(2, -1).T.ravel()

    def paired(block: BlockParameters) -> BlockParameters:
        q, k = (w[..., order] for w in (block.heads.w_q, block.heads.w_k))
        return replace(block, heads=replace(block.heads, w_q=q, w_k=k))

    blocks = tuple(paired(block) for block in parameters.blocks)
    return to_state_dict("llama", replace(parameters, blocks=blocks))
