"""The same tokenizer as the package tokenizers has it, from the metadata of a GGUF file."""

from collections.abc import Mapping
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers


def other_tokenizer(metadata: Mapping[str, Any]) -> Any:
    """A tokenizer put together as SmolLM2's `tokenizer.json` asks for."""
    tokens, merges = (metadata[f"tokenizer.ggml.{key}"] for key in ("tokens", "merges"))
    pairs = [tuple(merge.split(" ")) for merge in merges]
    numbers = {token: number for number, token in enumerate(tokens)}
    made = Tokenizer(models.BPE(numbers, pairs))
    digits = pre_tokenizers.Digits(individual_digits=True)
    letters = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    made.decoder = decoders.ByteLevel()
    kinds = zip(tokens, metadata["tokenizer.ggml.token_type"], strict=True)
    special = [token for token, kind in kinds if kind == 3]
    made.add_special_tokens([AddedToken(x, special=True, normalized=False) for x in special])
    return made
