"""Write the fixtures of `tests/test_released.py` with the published classes.

Run with transformers 5.24.0: python tests/released/make.py [FAMILY ...]. Each fixture has a small
config.json, the names and shapes of all arrays, and the logits that the published class gives in
float64. The arrays are random and drawn from a seed by `arrays_of`, so they are not stored.
"""

import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file
from safetensors.torch import load_file

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent))

from released_models import VERSION, arrays_of  # noqa: E402

SEED, N_TOKENS = 0, 13
SMALL = {
    **{"vocab_size": 37, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8},
    **{"max_position_embeddings": 512, "tie_word_embeddings": False},
    **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id")),
}
NO_WIDTH: dict[str, Any] = {"head_dim": ...}  # the class has no such key
TOP_3 = {"num_experts_per_tok": 3, "moe_intermediate_size": 16}
MLA = {
    **{"num_key_value_heads": 4, "head_dim": ..., "kv_lora_rank": 12, "qk_rope_head_dim": 6},
    **{"qk_nope_head_dim": 10, "v_head_dim": 7},
}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0}
LLAMA3 |= {"high_freq_factor": 4.0, "original_max_position_embeddings": 64}
YARN = {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 40.0, "beta_fast": 32.0}
YARN |= {"original_max_position_embeddings": 64, "mscale": 1.0, "mscale_all_dim": 0.7}
PARTIAL = {"rope_type": "default", "partial_rotary_factor": 0.34}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("Llama", {"attention_bias": True, "rope_parameters": LLAMA3}),
    "mistral": ("Mistral", {"sliding_window": 5}),
    "smollm3": ("SmolLM3", {"num_hidden_layers": 4}),
    "qwen3": ("Qwen3", {"attention_bias": True}),
    "olmo2": ("Olmo2", NO_WIDTH),
    "olmo3": ("Olmo3", NO_WIDTH | {"num_hidden_layers": 4, "sliding_window": 5}),
    "gemma2": (
        "Gemma2",
        {"sliding_window": 5, "query_pre_attn_scalar": 24, "tie_word_embeddings": True},
    ),
    "gemma3_text": (
        "Gemma3",
        {
            **{"num_hidden_layers": 6, "sliding_window": 5, "query_pre_attn_scalar": 24},
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            },
        },
    ),
    "cohere": ("Cohere", NO_WIDTH | {"tie_word_embeddings": True}),
    "cohere2": (
        "Cohere2",
        {"num_hidden_layers": 4, "sliding_window": 5, "tie_word_embeddings": True},
    ),
    "mixtral": ("Mixtral", {"num_local_experts": 8, "num_experts_per_tok": 3}),
    "qwen3_moe": ("Qwen3Moe", TOP_3 | {"num_experts": 8}),
    "olmoe": ("Olmoe", NO_WIDTH | {"num_experts": 8, "num_experts_per_tok": 3}),
    "gpt_oss": (
        "GptOss",
        {
            **{"num_local_experts": 8, "num_experts_per_tok": 3},
            **{"num_hidden_layers": 2, "sliding_window": 5},
        },
    ),
    "deepseek_v3": (
        "DeepseekV3",
        TOP_3
        | MLA
        | {
            **{"n_routed_experts": 8, "n_group": 4, "topk_group": 2, "first_k_dense_replace": 1},
            **{"q_lora_rank": 20, "num_mtp_layers": 0, "rope_parameters": YARN},
        },
    ),
    "llama4_text": (
        "Llama4",
        {
            **{"num_hidden_layers": 4, "num_local_experts": 6, "num_experts_per_tok": 2},
            **{"intermediate_size_mlp": 40, "interleave_moe_layer_step": 2},
            **{"attention_chunk_size": 5, "floor_scale": 4},
        },
    ),
    "qwen3_next": (
        "Qwen3Next",
        TOP_3
        | {
            **{"num_hidden_layers": 4, "head_dim": 16, "num_experts": 8},
            **{"linear_key_head_dim": 6, "linear_value_head_dim": 10},
            **{"linear_num_key_heads": 2, "linear_num_value_heads": 4},
            "shared_expert_intermediate_size": 24,
        },
    ),
    "flint": (
        "Flint",
        TOP_3
        | {
            **{"num_hidden_layers": 5, "sliding_window": 5, "num_experts": 8},
            "shared_expert_intermediate_size": 24,
        },
    ),
    "mimo_v2_flash": (
        "MiMoV2Flash",
        TOP_3
        | {
            **{"num_hidden_layers": 4, "head_dim": 12, "v_head_dim": 8, "num_key_value_heads": 1},
            **{"sliding_window": 5, "n_routed_experts": 8, "n_group": 1, "topk_group": 1},
            "layer_types": ["full_attention", *["sliding_attention"] * 2, "full_attention"],
            "rope_parameters": {
                "full_attention": PARTIAL | {"rope_theta": 5e6},
                "sliding_attention": PARTIAL | {"rope_theta": 1e4},
            },
        },
    ),
    "lfm3": ("Lfm3", {"num_hidden_layers": 6, "sliding_window": 5, "conv_L_cache": 4}),
    "hrm_text": (
        "HrmText",
        {"num_hidden_layers": 2, "num_key_value_heads": ..., "mlp_bias": True},
    ),
    "gemma4_text": (
        "Gemma4",
        {
            **{"num_hidden_layers": 6, "sliding_window": 5, "tie_word_embeddings": True},
            **{"hidden_size_per_layer_input": 6, "vocab_size_per_layer_input": 37},
            **{"num_kv_shared_layers": 2, "attention_k_eq_v": True, "use_double_wide_mlp": True},
            **{"global_head_dim": 12, "num_global_key_value_heads": 1},
            **{"layer_types": ["sliding_attention", "full_attention"] * 3},
            "final_logit_softcapping": 30.0,
        },
    ),
    "gemma4_text_experts": (
        "Gemma4",
        {
            **{"num_hidden_layers": 4, "sliding_window": 5, "tie_word_embeddings": True},
            **{"hidden_size_per_layer_input": 0, "num_kv_shared_layers": 0},
            **{"attention_k_eq_v": True, "global_head_dim": 12, "num_global_key_value_heads": 1},
            **{"enable_moe_block": True, "num_experts": 8, "top_k_experts": 3},
            "moe_intermediate_size": 16,
            "layer_types": ["sliding_attention", "full_attention"] * 2,
        },
    ),
    "kimi_linear": (
        "KimiLinear",
        TOP_3
        | MLA
        | {
            **{"num_hidden_layers": 5, "num_local_experts": 8, "n_group": 1, "topk_group": 1},
            **{"q_lora_rank": None, "linear_head_dim": 8, "linear_num_heads": 3},
        },
    ),
    "deepseek_v4": (
        "DeepseekV4",
        TOP_3
        | {
            **{"num_hidden_layers": 4, "num_key_value_heads": 1, "head_dim": 8},
            **{"partial_rotary_factor": 0.5, "q_lora_rank": 12, "intermediate_size": ...},
            **{"n_routed_experts": 4, "hc_mult": 3, "hc_sinkhorn_iters": 5, "sliding_window": 5},
            **{"o_groups": 2, "o_lora_rank": 10},
            **{"index_n_heads": 16, "index_head_dim": 6, "index_topk": 2},
            "compress_rates": {
                "compressed_sparse_attention": 2,
                "heavily_compressed_attention": 4,
            },
            "layer_types": [
                "sliding_attention",
                "heavily_compressed_attention",
                *["compressed_sparse_attention"] * 2,
            ],
            "mlp_layer_types": ["hash_moe", *["moe"] * 3],
            "rope_parameters": {"rope_type": "yarn", "rope_theta": 160000.0, "factor": 8.0}
            | {"original_max_position_embeddings": 64, "beta_fast": 32.0, "beta_slow": 1.0},
        },
    ),
}


@contextlib.contextmanager
def wide() -> Iterator[None]:
    """Everything in float64, where the published code writes float32 as well."""
    saved = torch.float32, torch.float, torch.Tensor.float
    torch.set_default_dtype(torch.float64)
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.float32, torch.float, torch.Tensor.float = saved  # type: ignore
        torch.set_default_dtype(torch.float32)


def class_of(name: str) -> tuple[Any, Any]:
    """The published classes of a configuration and of a model."""
    kind = FAMILIES[name][0]
    inner = "TextConfig" if "_text" in name and name != "hrm_text" else "Config"
    return getattr(transformers, kind + inner), getattr(transformers, kind + "ForCausalLM")


def made(name: str) -> dict[str, Any]:
    """The fixture of a family."""
    config_class, model_class = class_of(name)
    given = {key: x for key, x in (SMALL | FAMILIES[name][1]).items() if x is not ...}
    with tempfile.TemporaryDirectory() as folder:
        first = model_class(config_class(**given))
        first.save_pretrained(folder)
        config = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
        stored = load_file(Path(folder) / "model.safetensors")
    arrays = {
        key: [float((x == 1).all() and x.ndim == 1), *x.shape]
        for key, x in sorted(stored.items())
        if x.is_floating_point()
    }
    tables = {key: [*x.shape] for key, x in sorted(stored.items()) if key not in arrays}
    more = {"tables": tables, "n_choices": config["n_routed_experts"]} if tables else {}
    tokens = np.random.default_rng(SEED + 1).integers(0, SMALL["vocab_size"], N_TOKENS).tolist()
    fixture = {
        **{"transformers": transformers.__version__, "config": config, "seed": SEED},
        **{"n_parameters": sum(x.numel() for x in first.parameters()), "tokens": tokens},
    }
    with wide(), tempfile.TemporaryDirectory() as folder, torch.no_grad():
        (Path(folder) / "config.json").write_text(json.dumps(config), encoding="utf-8")
        save_file(
            arrays_of(fixture | {"arrays": arrays} | more), Path(folder) / "model.safetensors"
        )
        kinds = {"attn_implementation": "eager", "experts_implementation": "eager"}
        model = model_class.from_pretrained(folder, dtype=torch.float64, **kinds).eval()
        logits = model(input_ids=torch.tensor([tokens]), use_cache=False).logits[0]
        cached = {str(n): cached_numbers(model, n) for n in (20, 30)}
    if logits.dtype != torch.float64:
        raise TypeError(f"{name}: logits are {logits.dtype}")
    return fixture | {"cached_numbers": cached, "arrays": arrays, "logits": logits.tolist()} | more


def cached_numbers(model: Any, n_tokens: int) -> int:
    """All numbers that the published cache holds after n tokens, each storage once."""
    tokens = torch.arange(n_tokens)[None]  # fewer than the vocabulary has
    cache = model(input_ids=tokens[:, :-1], use_cache=True).cache
    cache = model(input_ids=tokens[:, -1:], cache=cache, use_cache=True).cache
    found: dict[int, int] = {}
    waiting = [vars(layer) for layer in cache.layers]
    while waiting:
        x = waiting.pop()
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel():
            found[x.data_ptr()] = x.numel()
        elif isinstance(x, dict | list | tuple):
            waiting += x.values() if isinstance(x, dict) else x
    return sum(found.values())


def write(fixture: dict[str, Any], path: Path) -> None:
    """A fixture as JSON, one line for each of its parts and arrays."""
    parts = [f'"{key}": {json.dumps(x)}' for key, x in fixture.items() if key != "arrays"]
    rows = [f'  "{key}": {json.dumps(x)}' for key, x in fixture["arrays"].items()]
    parts.append('"arrays": {\n' + ",\n".join(rows) + "\n}")
    path.write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if transformers.__version__ != VERSION:
        sys.exit(f"transformers {VERSION} is needed; found {transformers.__version__}")
    for family in sys.argv[1:] or FAMILIES:
        write(made(family), HERE / f"{family}.json")
