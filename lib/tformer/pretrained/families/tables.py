"""The tables of families released up to 2025."""

from tformer.pretrained.families.family import Family, Split

__all__ = ["TABLES"]

HEADS = {
    **{f"attention.heads.w_{x}": f"self_attn.{x}_proj.weight" for x in "qkvo"},
    **{f"attention.heads.b_{x}": f"self_attn.{x}_proj.bias" for x in "qkvo"},
}
GATED = (("gate", "gate"), ("in", "up"), ("out", "down"))
FEED_FORWARD = {f"feed_forward.w_{our}": f"mlp.{their}_proj.weight" for our, their in GATED}
FEED_BIASES = {f"feed_forward.b_{our}": f"mlp.{their}_proj.bias" for our, their in GATED}
NORMS = {
    "mixer_norm.gain": "input_layernorm.weight",
    "feed_forward_norm.gain": "post_attention_layernorm.weight",
}
NORMS_BEHIND = {
    "mixer_norm_after.gain": "post_attention_layernorm.weight",
    "feed_forward_norm_after.gain": "post_feedforward_layernorm.weight",
}
NORMS_AROUND = NORMS_BEHIND | {
    "mixer_norm.gain": "input_layernorm.weight",
    "feed_forward_norm.gain": "pre_feedforward_layernorm.weight",
}
HEAD_NORMS = {f"attention.{x}_gain": f"self_attn.{x}_norm.weight" for x in "qk"}
LLAMA = HEADS | FEED_FORWARD | NORMS
MODELS = {"eps": "rms_norm_eps", "activation": "hidden_act"}
"""Keys that nearly all families have."""
WINDOW = {"window": "sliding_window"}

EXPERTS = {f"experts.w_{our}": f"mlp.experts.{their}_proj.weight" for our, their in GATED}
EXPERTS |= {"experts.w_router": "mlp.gate.weight"}
GATE_UP = ("mlp.experts.gate_proj.weight", "mlp.experts.up_proj.weight")
EXPERT_SPLITS = (
    Split("mlp.experts.gate_up_proj", GATE_UP, axis=1),
    Split("mlp.experts.down_proj", ("mlp.experts.down_proj.weight",)),
)
"""As the classes of transformers hold experts; files have the arrays of each expert."""
OTHER_WAY = tuple(Split(x.name, x.parts, axis=2, transposed=True) for x in EXPERT_SPLITS)
TOP_K = {"routing.top_k": "num_experts_per_tok"}
NORMALISED = {"routing.renormalise": "norm_topk_prob"}
SHARED_TO_MLP = ((".mlp.shared_expert.", ".mlp."), (".mlp.shared_experts.", ".mlp."))
MIXTRAL_NAMES = (
    (".block_sparse_moe.", ".mlp."),
    *(
        (f".{x}.weight", f".{y}_proj.weight")
        for x, y in zip(("w1", "w2", "w3"), ("gate", "down", "up"), strict=True)
    ),
)

MLA = {
    "latent.w_q_down": "self_attn.q_a_proj.weight",
    "latent.q_gain": "self_attn.q_a_layernorm.weight",
    "latent.w_q": "self_attn.q_plain.weight",
    "latent.w_q_shared": "self_attn.q_shared.weight",
    "latent.w_kv_down": "self_attn.kv_a_proj.weight",
    "latent.w_k_shared": "self_attn.k_shared.weight",
    "latent.kv_gain": "self_attn.kv_a_layernorm.weight",
    "latent.w_k": "self_attn.k_b_proj.weight",
    "latent.w_v": "self_attn.v_b_proj.weight",
    "latent.w_o": "self_attn.o_proj.weight",
}
QUERIES = ("self_attn.q_plain.weight", "self_attn.q_shared.weight")
MLA_SPLITS = (
    Split("self_attn.q_b_proj.weight", QUERIES, "H", ("d_nope",)),
    Split("self_attn.q_proj.weight", QUERIES, "H", ("d_nope",), mixer="latent"),
    Split(
        "self_attn.kv_a_proj_with_mqa.weight",
        ("self_attn.kv_a_proj.weight", "self_attn.k_shared.weight"),
        widths=("d_c",),
    ),
    Split(
        "self_attn.kv_b_proj.weight",
        ("self_attn.k_b_proj.weight", "self_attn.v_b_proj.weight"),
        "H",
        ("d_nope",),
    ),
)
"""Queries come from their latent, or without one from hidden states."""
MLA_SIZES = {"d_c": "kv_lora_rank", "d_nope": "qk_nope_head_dim", "d_r": "qk_rope_head_dim"}

DELTA = {
    **{f"delta.w_{x}": f"linear_attn.{x}" for x in "qkv"},
    **{f"delta.kernel_{x}": f"linear_attn.conv_{x}" for x in "qkv"},
    "delta.w_gate": "linear_attn.z",
    "delta.w_beta": "linear_attn.b",
    "delta.w_decay": "linear_attn.a",
    "delta.b_decay": "linear_attn.dt_bias",
    "delta.log_rate": "linear_attn.A_log",
    "delta.gain": "linear_attn.norm.weight",
    "delta.w_o": "linear_attn.out_proj.weight",
}

TABLES = {
    "llama": Family(LLAMA | FEED_BIASES, MODELS, optional=dict.fromkeys(FEED_BIASES, "mlp_bias")),
    "mistral": Family(LLAMA, MODELS | WINDOW, kinds=("sliding_attention",)),
    "smollm3": Family(
        LLAMA,
        MODELS | WINDOW,
        rope_by_layer=True,
        required={"use_sliding_window": (False, None)},
        unused=("no_rope_layer_interval",),
    ),
    "qwen3": Family(
        LLAMA | HEAD_NORMS,
        MODELS | WINDOW,
        {"qk_norm": "head"},
        required={"use_sliding_window": (False, None)},
    ),
    "olmo2": Family(
        HEADS | FEED_FORWARD | NORMS_BEHIND | HEAD_NORMS, MODELS, {"qk_norm": "projection"}
    ),
    "olmo3": Family(
        HEADS | FEED_FORWARD | NORMS_BEHIND | HEAD_NORMS,
        MODELS | WINDOW,
        {"qk_norm": "projection"},
        kinds=("sliding_attention",) * 3 + ("full_attention",),
    ),
    "gemma2": Family(
        HEADS | FEED_FORWARD | NORMS_AROUND,
        {"eps": "rms_norm_eps", "activation": "hidden_activation"}
        | WINDOW
        | {"scale": "query_pre_attn_scalar", "cap": "attn_logit_softcapping"},
        model_keys={"logit_cap": "final_logit_softcapping"},
        kinds=("sliding_attention", "full_attention"),
        required={"use_bidirectional_attention": (False, None)},
        unused=("hidden_act",),
        adds_one=True,
        scaled_embedding=True,
    ),
    "gemma3_text": Family(
        HEADS | FEED_FORWARD | NORMS_AROUND | HEAD_NORMS,
        {"eps": "rms_norm_eps", "activation": "hidden_activation"}
        | WINDOW
        | {"scale": "query_pre_attn_scalar", "cap": "attn_logit_softcapping"},
        {"qk_norm": "head"},
        model_keys={"logit_cap": "final_logit_softcapping"},
        kinds=("sliding_attention",) * 5 + ("full_attention",),
        required={
            "use_bidirectional_attention": (False, None),
            "sliding_window_pattern": (6, None),
        },
        unused=("_sliding_window_pattern",),
        adds_one=True,
        scaled_embedding=True,
    ),
    "cohere": Family(
        HEADS | FEED_FORWARD | {"mixer_norm.gain": "input_layernorm.weight"},
        {"eps": "layer_norm_eps", "activation": "hidden_act"},
        {"norm": "layer", "parallel": True, "rotary.pairing": "adjacent"},
        model_keys={"logit_scale": "logit_scale"},
        required={"use_qk_norm": (False, None)},
    ),
    "cohere2": Family(
        HEADS | FEED_FORWARD | {"mixer_norm.gain": "input_layernorm.weight"},
        {"eps": "layer_norm_eps", "activation": "hidden_act"} | WINDOW,
        {"norm": "layer", "parallel": True, "rotary.pairing": "adjacent"},
        model_keys={"logit_scale": "logit_scale"},
        positionless=("full_attention",),
        kinds=("sliding_attention",) * 3 + ("full_attention",),
        required={"sliding_window_pattern": (4, None)},
    ),
    "mixtral": Family(
        HEADS | NORMS | EXPERTS,
        MODELS | WINDOW | TOP_K,
        {"routing.renormalise": True},
        kinds=("sliding_attention",),
        splits=EXPERT_SPLITS,
        renames=MIXTRAL_NAMES,
    ),
    "qwen3_moe": Family(
        LLAMA | HEAD_NORMS | EXPERTS,
        MODELS | WINDOW | TOP_K | NORMALISED,
        {"qk_norm": "head"},
        splits=EXPERT_SPLITS,
        required={"use_sliding_window": (False, None)},
    ),
    "olmoe": Family(
        HEADS | NORMS | HEAD_NORMS | EXPERTS,
        MODELS | TOP_K | NORMALISED,
        {"qk_norm": "projection"},
        splits=EXPERT_SPLITS,
        required={"clip_qkv": (None,)},
    ),
    "gpt_oss": Family(
        HEADS
        | NORMS
        | EXPERTS
        | {f"experts.b_{our}": f"mlp.experts.{their}_proj.bias" for our, their in GATED}
        | {
            "experts.w_router": "mlp.router.weight",
            "experts.b_router": "mlp.router.bias",
            "attention.sinks": "self_attn.sinks",
        },
        {"eps": "rms_norm_eps"} | WINDOW | TOP_K,
        {"activation": "clipped_swiglu", "routing.renormalise": True},
        kinds=("sliding_attention", "full_attention"),
        splits=(
            Split("mlp.experts.gate_up_proj", GATE_UP, "*", axis=2, transposed=True),
            OTHER_WAY[1],
            Split(
                "mlp.experts.gate_up_proj_bias",
                ("mlp.experts.gate_proj.bias", "mlp.experts.up_proj.bias"),
                "*",
                axis=1,
            ),
            Split("mlp.experts.down_proj_bias", ("mlp.experts.down_proj.bias",)),
        ),
        required={
            "hidden_act": ("silu",),
            "swiglu_alpha": (1.702, None),
            "swiglu_limit": (7.0, None),
        },
        unused=("experts_per_token", "initial_context_length"),
    ),
    "deepseek_v3": Family(
        MLA
        | FEED_FORWARD
        | NORMS
        | EXPERTS
        | {"experts.choice_bias": "mlp.gate.e_score_correction_bias"},
        MODELS
        | TOP_K
        | NORMALISED
        | {"routing.n_groups": "n_group", "routing.top_groups": "topk_group"}
        | {"routing.factor": "routed_scaling_factor", "rotary.pairing": "rope_interleave"},
        {"routing.scores": "sigmoid", "latent_eps": 1e-6},
        sizes=MLA_SIZES,
        mixers={"": "latent"},
        optional={"latent.w_q_down": "q_lora_rank", "latent.q_gain": "q_lora_rank"},
        splits=(*EXPERT_SPLITS, *MLA_SPLITS),
        renames=SHARED_TO_MLP,
        required={
            "scoring_func": ("sigmoid", None),
            "topk_method": ("noaux_tc", None),
            "moe_layer_freq": (1, None),
        },
        unused=(
            *("qk_head_dim", "v_head_dim"),
            *("num_nextn_predict_layers", "aux_loss_alpha", "seq_aux", "ep_size"),
        ),
    ),
    "llama4_text": Family(
        LLAMA | EXPERTS | {"experts.w_router": "mlp.router.weight"},
        MODELS
        | TOP_K
        | {"chunk": "attention_chunk_size", "qk_norm": "use_qk_norm"}
        | {"temperature": "attn_temperature_tuning"},
        {
            "rotary.pairing": "adjacent",
            "qk_norm_last": True,
            "routing.scores": "sigmoid",
            "routing.weigh_input": True,
        },
        rope_by_layer=True,
        kinds=(),
        splits=OTHER_WAY,
        renames=((".feed_forward.", ".mlp."), *SHARED_TO_MLP),
        unused=(
            *("intermediate_size_mlp", "interleave_moe_layer_step", "moe_layers"),
            *("no_rope_layer_interval", "floor_scale", "attn_scale"),
        ),
    ),
    "qwen3_next": Family(
        HEADS
        | NORMS
        | HEAD_NORMS
        | FEED_FORWARD
        | EXPERTS
        | DELTA
        | {
            "attention.w_gate": "self_attn.gate_proj.weight",
            "experts.w_shared_gate": "mlp.shared_expert_gate.weight",
        },
        MODELS | TOP_K | NORMALISED,
        {"qk_norm": "head", "gate": "silu"},
        sizes={
            "F": "linear_num_key_heads",
            "L": "linear_num_value_heads",
            "d_f": "linear_key_head_dim",
            "d_l": "linear_value_head_dim",
        },
        mixers={"": "attention", "linear_attention": "delta"},
        positionless=("linear_attention",),
        kinds=("linear_attention",) * 3 + ("full_attention",),
        splits=(
            *EXPERT_SPLITS,
            Split(
                "self_attn.q_proj.weight",
                ("self_attn.q_proj.weight", "self_attn.gate_proj.weight"),
                "H",
            ),
            Split(
                "linear_attn.in_proj_qkvz.weight",
                tuple(f"linear_attn.{x}" for x in "qkvz"),
                "F",
                ("d_f", "d_f"),
            ),
            Split(
                "linear_attn.in_proj_ba.weight",
                ("linear_attn.b", "linear_attn.a"),
                "F",
            ),
            Split(
                "linear_attn.conv1d.weight",
                tuple(f"linear_attn.conv_{x}" for x in "qkv"),
                "",
                ("F*d_f", "F*d_f"),
            ),
        ),
        renames=SHARED_TO_MLP,
        required={"full_attention_interval": (4, None), "use_sliding_window": (False, None)},
        unused=("linear_conv_kernel_dim",),
        adds_one=True,
    ),
}
"""By model_type."""
