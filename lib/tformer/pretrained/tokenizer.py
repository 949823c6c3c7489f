"""The tokenizer in the metadata of a GGUF file."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from tformer.pretrained.errors import format_error
from tformer.pretrained.keys import require_known
from tformer.tokens import BPE

__all__ = ["tokenizer_from_metadata"]

NORMAL, CONTROL = 1, 3
FIX = "give the metadata of a GGUF file of SmolLM2"


def tokenizer_from_metadata(metadata: Mapping[str, Any]) -> BPE:
    """The tokenizer in the metadata of a GGUF file.

    Without token types all tokens are normal, and without merges there are none, as in the
    format's description.

    Raises
    ------
    PretrainedError
        If there is none, or another than byte-level BPE with the pre-tokenizer of SmolLM2; or if a
        key asks for something else, such as a token before the text.
    """
    kind = {key: metadata.get(f"tokenizer.ggml.{key}") for key in ("model", "pre")}
    if kind != {"model": "gpt2", "pre": "smollm"}:
        raise _error("byte-level BPE, gpt2, with the pre-tokenizer smollm", kind)
    require_known("tokenizer", metadata, ("tokenizer.ggml.",), FIX)
    tokens, merges = _strings(metadata, "tokens"), _strings(metadata, "merges", [])
    kinds = metadata.get("tokenizer.ggml.token_type", np.full(len(tokens), NORMAL))
    if (
        not isinstance(kinds, np.ndarray)
        or len(kinds) != len(tokens)
        or not np.isin(kinds, [NORMAL, CONTROL]).all()
    ):
        raise _error(f"{len(tokens)} types of tokens, each {NORMAL} or {CONTROL}", kinds)
    try:
        return BPE(tokens, merges, np.flatnonzero(kinds == CONTROL).tolist())
    except ValueError as error:
        expected, _, found = str(error).removeprefix("BPE: expected ").partition(", found ")
        raise _error(expected, found) from error


def _strings(metadata: Mapping[str, Any], key: str, default: Any = None) -> list[str]:
    found = metadata.get(f"tokenizer.ggml.{key}", default)
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise _error(f"a list of strings as {key}", type(found).__name__)
    return found


def _error(expected: str, found: object) -> ValueError:
    return format_error("tokenizer", expected, found, FIX)
