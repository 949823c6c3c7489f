"""The tokenizer that the metadata of a GGUF file describe."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tformer.pretrained.errors import refused
from tformer.tokens import BPE

__all__ = ["tokenizer_of"]

NORMAL, CONTROL = 1, 3


def tokenizer_of(metadata: Mapping[str, Any]) -> BPE:
    """The tokenizer that the metadata of a GGUF file describe.

    Raises
    ------
    PretrainedError
        If they describe none, or another than byte-level BPE with the words of SmolLM2.
    """
    told = {key: metadata.get(f"tokenizer.ggml.{key}") for key in ("model", "pre")}
    if told != {"model": "gpt2", "pre": "smollm"}:
        raise _wrong("byte-level BPE, gpt2, with words cut as smollm", told)
    tokens, merges = (_strings(metadata, key) for key in ("tokens", "merges"))
    kinds = metadata.get("tokenizer.ggml.token_type")
    if (
        not isinstance(kinds, np.ndarray)
        or len(kinds) != len(tokens)
        or not np.isin(kinds, [NORMAL, CONTROL]).all()
    ):
        raise _wrong(f"{len(tokens)} types of tokens, each {NORMAL} or {CONTROL}", kinds)
    try:
        return BPE(tokens, merges, np.flatnonzero(kinds == CONTROL).tolist())
    except ValueError as error:
        expected, _, found = str(error).removeprefix("BPE: expected ").partition(", found ")
        raise _wrong(expected, found) from error


def _strings(metadata: Mapping[str, Any], key: str) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{key}")
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _wrong(f"a list of strings as {key}", type(found).__name__)
    return found


def _wrong(expected: str, found: object) -> ValueError:
    cure = "give the metadata of a GGUF file of SmolLM2"
    return refused("tokenizer", expected, found, cure)
