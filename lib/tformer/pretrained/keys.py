"""The metadata keys that are known, and the values of those that are not implemented.

Any other key is refused by its name: it may change what the model computes, or how its tokenizer
reads a text, and ignoring it would give wrong results.

Source: "Standardized key-value pairs" in GGUF's description,
https://github.com/ggml-org/ggml/blob/master/docs/gguf.md; of keys that it does not have, such as
``attention.causal`` and ``add_space_prefix``, ``src/llama-arch.cpp`` of llama.cpp.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tformer.pretrained.errors import format_error

__all__ = ["require_known"]

ANY: tuple[Any, ...] = ()
"""The value has no effect here, or is read elsewhere."""
IDS = (
    *("bos", "eos", "unknown", "separator", "seperator", "padding", "cls", "mask", "eot", "eom"),
    *("fim_pre", "fim_suf", "fim_mid", "fim_pad", "fim_rep", "fim_sep"),
    *("prefix", "suffix", "middle"),
)
KNOWN: dict[str, tuple[Any, ...]] = {
    "general.type": ("model",),
    "general.quantization_version": (2,),
    "split.count": (0, 1),
    **dict.fromkeys(
        (
            *("llama.block_count", "llama.context_length", "llama.embedding_length"),
            *("llama.feed_forward_length", "llama.vocab_size", "llama.rope.dimension_count"),
            *("llama.attention.head_count", "llama.attention.head_count_kv"),
            *("llama.attention.key_length", "llama.attention.value_length"),
            *("llama.attention.layer_norm_rms_epsilon", "llama.rope.freq_base"),
            *("llama.rope.scaling.finetuned", "llama.rope.scaling.original_context_length"),
            *(f"tokenizer.ggml.{x}" for x in ("model", "pre", "tokens", "token_type", "merges")),
            *(f"tokenizer.ggml.{x}_token_id" for x in IDS),
            "tokenizer.ggml.scores",
        ),
        ANY,
    ),
    "llama.tensor_data_layout": ("reference",),
    "llama.use_parallel_residual": (False,),
    **dict.fromkeys(("llama.expert_count", "llama.expert_used_count"), (0,)),
    "llama.attention.causal": (True,),
    "llama.attention.sliding_window": (0,),
    **dict.fromkeys(("llama.attention.max_alibi_bias", "llama.attention.clamp_kqv"), (0.0,)),
    "llama.rope.scaling.type": ("none", "linear"),
    **dict.fromkeys(
        (
            *("llama.rope.scaling.factor", "llama.rope.scaling.attn_factor"),
            *("llama.rope.scale", "llama.rope.scale_linear"),
        ),
        (1.0,),
    ),
    **dict.fromkeys(
        (
            *(f"tokenizer.ggml.add_{x}" for x in ("bos_token", "eos_token", "sep_token")),
            *("tokenizer.ggml.add_space_prefix", "tokenizer.ggml.remove_extra_whitespaces"),
            *(f"tokenizer.ggml.normalizer.{x}" for x in ("lowercase", "strip_accents")),
        ),
        (False,),
    ),
}
"""The values of each key that have no effect; `ANY` if it is read elsewhere, or has none."""
UNSCALED = "llama.rope.scaling."
"""Keys with this prefix have no effect if the type of scaling is "none"."""


def require_known(
    where: str | Path, metadata: Mapping[str, Any], prefixes: tuple[str, ...], fix: str
) -> None:
    """Require that the keys with these prefixes are known, with values that have no effect.

    Raises
    ------
    PretrainedError
        If a key is not on the list, or has a value that is not implemented.
    """
    for key, value in metadata.items():
        if not key.startswith(prefixes):
            continue
        if key not in KNOWN:
            raise format_error(where, f"no {key}, which is not understood", value, fix)
        unscaled = key.startswith(UNSCALED) and metadata.get(f"{UNSCALED}type") == "none"
        kinds = KNOWN[key]
        if kinds is ANY or unscaled or any(type(value) is type(x) and value == x for x in kinds):
            continue
        raise format_error(where, f"{key} {' or '.join(map(repr, kinds))}, or none", value, fix)
