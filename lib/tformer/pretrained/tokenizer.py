"""The tokenizer that the metadata of a GGUF file describe."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tformer.pretrained.errors import format_error
from tformer.pretrained.keys import require_known
from tformer.tokens import BPE

__all__ = ["tokenizer_from_metadata"]

NORMAL, CONTROL = 1, 3
CURE = "give the metadata of a GGUF file of SmolLM2"


def tokenizer_from_metadata(metadata: Mapping[str, Any]) -> BPE:
    """The tokenizer that the metadata of a GGUF file describe.

    Without types all tokens are normal, and without merges none is merged, as the format's
    description says.

    Raises
    ------
    PretrainedError
        If they describe none, or another than byte-level BPE with the words of SmolLM2; or if a key
        says something else of how a text is read, such as a token put before it.
    """
    told = {key: metadata.get(f"tokenizer.ggml.{key}") for key in ("model", "pre")}
    if told != {"model": "gpt2", "pre": "smollm"}:
        raise _wrong("byte-level BPE, gpt2, with words cut as smollm", told)
    require_known("tokenizer", metadata, ("tokenizer.ggml.",), CURE)
    tokens, merges = _strings(metadata, "tokens"), _strings(metadata, "merges", [])
    kinds = metadata.get("tokenizer.ggml.token_type", np.full(len(tokens), NORMAL))
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


def _strings(metadata: Mapping[str, Any], key: str, default: Any = None) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{key}", default)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _wrong(f"a list of strings as {key}", type(found).__name__)
    return found


def _wrong(expected: str, found: object) -> ValueError:
    return format_error("tokenizer", expected, found, CURE)
