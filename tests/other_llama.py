"""The model of a checkpoint as another library writes it down."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from tformer.pretrained.architecture import Architecture


def settings_of(about: Architecture) -> LlamaConfig:
    """Another library's configuration of the same model."""
    return LlamaConfig(
        vocab_size=about.n_vocab,
        hidden_size=about.d_model,
        num_hidden_layers=about.n_layers,
        num_attention_heads=about.n_heads,
        num_key_value_heads=about.n_groups,
        intermediate_size=about.d_ff,
        rms_norm_eps=about.eps,
        max_position_embeddings=about.n_context,
        rope_parameters={"rope_type": "default", "rope_theta": about.base},
        tie_word_embeddings=about.tied,
    )


def theirs_of(checkpoint: Any) -> Any:
    """Another library's model with the same numbers, under its names and in its pairing."""
    config = settings_of(checkpoint.architecture)
    with torch.device("meta"):
        made = LlamaForCausalLM(config)
    state = {name: torch.from_numpy(x) for name, x in checkpoint.common("half").items()}
    if config.tie_word_embeddings:
        state["lm_head.weight"] = state["model.embed_tokens.weight"]
    made.load_state_dict(state, assign=True)
    made.model.rotary_emb = type(made.model.rotary_emb)(config)
    return made.eval()
