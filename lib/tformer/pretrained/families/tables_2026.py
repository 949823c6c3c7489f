"""The tables of families released in 2026."""

from tformer.pretrained.families.family import Family, Split
from tformer.pretrained.families.tables import (
    EXPERT_SPLITS,
    EXPERTS,
    FEED_BIASES,
    FEED_FORWARD,
    HEAD_NORMS,
    HEADS,
    LLAMA,
    MIXTRAL_NAMES,
    MLA,
    MLA_SIZES,
    MLA_SPLITS,
    MODELS,
    NORMALISED,
    NORMS,
    NORMS_AROUND,
    SHARED_TO_MLP,
    TOP_K,
    WINDOW,
)

__all__ = ["TABLES_2026"]

SINKS = {"attention.sinks": "self_attn.sinks"}
CHOICE_BIAS = {"experts.choice_bias": "mlp.gate.e_score_correction_bias"}
PER_LAYER = (
    *(f"per_layer.{x}" for x in ("w_gate", "w_out", "embedding", "w_context", "gain")),
    "per_layer_norm_after.gain",
)
BESIDE = {
    "dense_norm_after.gain": "post_feedforward_layernorm_1.weight",
    "experts_norm.gain": "pre_feedforward_layernorm_2.weight",
    "experts_norm_after.gain": "post_feedforward_layernorm_2.weight",
    "router_norm.gain": "router.scale",
}
"""The norms of a dense part and of experts beside it."""
DELTA = {
    **{f"delta.w_{x}": f"self_attn.{x}_proj.weight" for x in "qkvo"},
    **{f"delta.kernel_{x}": f"self_attn.{x}_conv1d.weight" for x in "qkv"},
    "delta.w_beta": "self_attn.b_proj.weight",
    "delta.log_rate": "self_attn.A_log",
    "delta.w_decay_down": "self_attn.f_a_proj.weight",
    "delta.w_decay": "self_attn.f_b_proj.weight",
    "delta.b_decay": "self_attn.dt_bias",
    "delta.w_gate_down": "self_attn.g_a_proj.weight",
    "delta.w_gate": "self_attn.g_b_proj.weight",
    "delta.gain": "self_attn.o_norm.weight",
}
COMPRESSED = {
    "compressed.w_q_down": "self_attn.q_a_proj.weight",
    "compressed.q_gain": "self_attn.q_a_norm.weight",
    "compressed.w_q": "self_attn.q_b_proj.weight",
    "compressed.w_kv": "self_attn.kv_proj.weight",
    "compressed.kv_gain": "self_attn.kv_norm.weight",
    "compressed.w_o_down": "self_attn.o_a_proj.weight",
    "compressed.w_o": "self_attn.o_b_proj.weight",
    "compressed.sinks": "self_attn.sinks",
}
WINDOWS = {
    "compressed.w_pool_kv": "self_attn.compressor.kv_proj.weight",
    "compressed.w_pool": "self_attn.compressor.gate_proj.weight",
    "compressed.b_pool": "self_attn.compressor.position_bias",
    "compressed.pool_gain": "self_attn.compressor.kv_norm.weight",
}
INDEXER = {
    "compressed.w_index_q": "self_attn.compressor.indexer.q_b_proj.weight",
    "compressed.w_index": "self_attn.compressor.indexer.scorer.weights_proj.weight",
    "compressed.w_index_kv": "self_attn.compressor.indexer.kv_proj.weight",
    "compressed.w_index_pool": "self_attn.compressor.indexer.gate_proj.weight",
    "compressed.b_index_pool": "self_attn.compressor.indexer.position_bias",
    "compressed.index_gain": "self_attn.compressor.indexer.kv_norm.weight",
}
STREAMS = {
    f"{ours}_streams.{field}": f"{theirs}_hc.{kind}_{what}"
    for ours, theirs in (("mixer", "attn"), ("feed_forward", "ffn"))
    for what in ("read", "write", "mix")
    for field, kind in ((f"w_{what}", "fn"), (f"b_{what}", "base"), (f"{what}_scale", "scale"))
}
STREAM_SPLITS = tuple(
    Split(
        f"{x}_hc.{kind}",
        tuple(f"{x}_hc.{kind}_{what}" for what in ("read", "write", "mix")),
        widths=() if kind == "scale" else ("n", "n"),
    )
    for x in ("attn", "ffn")
    for kind in ("fn", "base", "scale")
)
V4_NAMES = (
    *((".attn.", ".self_attn."), (".ffn.", ".mlp.")),
    *((".attn_norm.", ".input_layernorm."), (".ffn_norm.", ".post_attention_layernorm.")),
    *((".hc_attn_", ".attn_hc."), (".hc_ffn_", ".ffn_hc."), (".attn_sink", ".sinks")),
    *((".self_attn.norm.", ".self_attn.kv_norm."), (".q_norm.", ".q_a_norm.")),
    *((".compressor.norm.", ".compressor.kv_norm."), (".ape", ".position_bias")),
    (".self_attn.indexer.compressor.", ".self_attn.compressor.indexer."),
    (".self_attn.indexer.", ".self_attn.compressor.indexer."),
    (".indexer.weights_proj.", ".indexer.scorer.weights_proj."),
    *((".wq_a.", ".q_a_proj."), (".wq_b.", ".q_b_proj."), (".wkv.", ".kv_proj.")),
    *((".wgate.", ".gate_proj."), (".wo_a.", ".o_a_proj."), (".wo_b.", ".o_b_proj.")),
    *((".gate.bias", ".gate.e_score_correction_bias"), ("lm_head.", "head.")),
)
"""From the names in files of DeepSeek-V4 to those of its class."""

TABLES_2026 = {
    "flint": Family(
        LLAMA | HEAD_NORMS | SINKS | EXPERTS,
        MODELS | WINDOW | TOP_K | NORMALISED,
        {"qk_norm": "head", "routing.scores": "sigmoid"},
        positionless=("full_attention",),
        kinds=(),
        splits=EXPERT_SPLITS,
        renames=(*SHARED_TO_MLP, (".softmax_offset", ".sinks")),
    ),
    "mimo_v2_flash": Family(
        LLAMA | SINKS | EXPERTS | CHOICE_BIAS,
        MODELS
        | WINDOW
        | TOP_K
        | NORMALISED
        | {"routing.n_groups": "n_group", "routing.top_groups": "topk_group"}
        | {"routing.factor": "routed_scaling_factor", "value_scale": "attention_value_scale"},
        {"routing.scores": "sigmoid"},
        sizes={"d_k": "head_dim", "d_v": "v_head_dim"},
        kinds=(),
        optional={"attention.sinks": ""},  # only layers with a window have them
        splits=EXPERT_SPLITS,
        renames=((".attention_sink_bias", ".sinks"),),
    ),
    "lfm3": Family(
        HEADS
        | FEED_FORWARD
        | HEAD_NORMS
        | {
            "mixer_norm.gain": "operator_norm.weight",
            "mixer_norm_after.gain": "post_operator_norm.weight",
            "feed_forward_norm.gain": "ffn_norm.weight",
            "feed_forward_norm_after.gain": "post_ffn_norm.weight",
            "attention.w_gate": "self_attn.g_proj.weight",
            **{f"convolution.w_{x}": f"conv.{x}" for x in ("before", "after", "in")},
            "convolution.kernel": "conv.conv.weight",
            "convolution.w_out": "conv.out_proj.weight",
        },
        {"eps": "norm_eps rms_norm_eps"} | WINDOW,
        {"qk_norm": "head", "activation": "silu"},
        mixers={"": "attention", "conv": "convolution"},
        positionless=("conv",),
        kinds=(),
        optional={
            "attention.w_gate": "use_attention_gate",
            "mixer_norm_after.gain": "use_sandwich_norm",
            "feed_forward_norm_after.gain": "use_sandwich_norm",
        },
        splits=(
            Split("conv.in_proj.weight", tuple(f"conv.{x}" for x in ("before", "after", "in"))),
        ),
        renames=(
            (".feed_forward.w1.", ".mlp.gate_proj."),
            (".feed_forward.w2.", ".mlp.down_proj."),
            (".feed_forward.w3.", ".mlp.up_proj."),
            (".self_attn.gate_proj.", ".self_attn.g_proj."),
            ("model.embedding_norm.", "model.norm."),
        ),
        required={"conv_bias": (False, None)},
        unused=("conv_L_cache",),
    ),
    "hrm_text": Family(  # L_bp_cycles says where gradients stop in training
        HEADS | FEED_FORWARD | FEED_BIASES | {"attention.w_gate": "self_attn.gate_proj.weight"},
        MODELS,
        model_keys={"embedding_scale": "embedding_scale"},
        splits=(
            Split(
                "self_attn.gqkv_proj.weight",
                tuple(f"self_attn.{x}_proj.weight" for x in ("gate", "q", "k", "v")),
            ),
            Split("mlp.gate_up_proj.weight", ("mlp.gate_proj.weight", "mlp.up_proj.weight")),
        ),
        renames=((".attn.", ".self_attn."),),
        optional=dict.fromkeys(FEED_BIASES, "mlp_bias"),
        unused=("prefix_lm", "L_bp_cycles"),
        bare_norms=("mixer_norm", "feed_forward_norm", "norm"),
        n_layers="num_layers_per_stack num_hidden_layers",
        stacks=("model.L_module.layers.", "model.H_module.layers."),
        loop={"inner": "L_cycles", "outer": "H_cycles"},
        outer={"start": "model.z_L_init"},
    ),
    "gemma4_text": Family(
        HEADS
        | FEED_FORWARD
        | NORMS_AROUND
        | HEAD_NORMS
        | EXPERTS
        | BESIDE
        | {
            "experts.w_router": "router.proj.weight",
            "experts.scale": "router.per_expert_scale",
            **{f"shared.w_{x}": f"self_attn.{x}_proj.weight" for x in "qko"},
            **{f"shared.{x}_gain": f"self_attn.{x}_norm.weight" for x in "qk"},
            "per_layer.w_gate": "per_layer_input_gate.weight",
            "per_layer.w_out": "per_layer_projection.weight",
            "per_layer_norm_after.gain": "post_per_layer_input_norm.weight",
            "scale": "layer_scalar",
        },
        {"eps": "rms_norm_eps", "activation": "hidden_activation"}
        | WINDOW
        | {"routing.top_k": "top_k_experts"},
        {"qk_norm": "head", "v_norm": True, "scale": 1.0, "routing.renormalise": True},
        model_keys={"logit_cap": "final_logit_softcapping"},
        kinds=("sliding_attention",) * 5 + ("full_attention",),
        splits=EXPERT_SPLITS,
        renames=((".experts.", ".mlp.experts."),),
        optional=dict.fromkeys(PER_LAYER, "hidden_size_per_layer_input")
        | dict.fromkeys(("routing.top_k", *BESIDE), "enable_moe_block"),
        required={
            "use_bidirectional_attention": (None,),
            "enable_moe_block": (True, False, None),
        },
        unused=("hidden_size_per_layer_input", "vocab_size_per_layer_input"),
        shrunk=("router_norm.gain",),
        scaled_embedding=True,
        outer={
            "per_layer.embedding": "model.embed_tokens_per_layer.weight",
            "per_layer.w_context": "model.per_layer_model_projection.weight",
            "per_layer.gain": "model.per_layer_projection_norm.weight",
        },
        n_borrowing="num_kv_shared_layers",
        keys_as_values="attention_k_eq_v",
    ),
    "kimi_linear": Family(
        {x: y for x, y in MLA.items() if x not in ("latent.w_q_down", "latent.q_gain")}
        | FEED_FORWARD
        | NORMS
        | DELTA
        | EXPERTS
        | CHOICE_BIAS,
        MODELS
        | {"routing.top_k": "num_experts_per_token num_experts_per_tok"}
        | {"routing.renormalise": "moe_renormalize norm_topk_prob"}
        | {"routing.n_groups": "num_expert_group n_group", "routing.top_groups": "topk_group"}
        | {"routing.factor": "routed_scaling_factor"},
        {"routing.scores": "sigmoid", "latent_eps": 1e-6},
        sizes=MLA_SIZES | {"F": "linear_num_heads", "L": "linear_num_heads"},
        mixers={"": "latent", "linear_attention": "delta"},
        positionless=("full_attention", "linear_attention"),
        kinds=(),
        splits=(
            *EXPERT_SPLITS,
            *MLA_SPLITS,
            Split(
                "self_attn.conv1d.weight",
                tuple(f"self_attn.{x}_conv1d.weight" for x in "qkv"),
            ),
        ),
        renames=(*MIXTRAL_NAMES, *SHARED_TO_MLP, (".forget_gate.", ".")),
        required={"q_lora_rank": (None,)},
        unused=("qk_head_dim", "v_head_dim") + ("linear_head_dim", "linear_conv_kernel_dim"),
    ),
    "deepseek_v4": Family(
        COMPRESSED
        | WINDOWS
        | INDEXER
        | STREAMS
        | FEED_FORWARD
        | NORMS
        | EXPERTS
        | CHOICE_BIAS
        | {"token_experts": "mlp.gate.tid2eid"},
        {"eps": "rms_norm_eps", "index_top_k": "index_topk"}
        | WINDOW
        | TOP_K
        | {"routing.factor": "routed_scaling_factor"},
        {
            "activation": "clipped_silu",
            "routing.scores": "sqrt_softplus",
            "routing.renormalise": True,
            "rotary.pairing": "adjacent",
        },
        model_keys={"streams.n_rounds": "hc_sinkhorn_iters", "streams.eps": "hc_eps"},
        sizes={"O": "o_groups", "n": "hc_mult", "d_k": "head_dim", "d_i": "index_head_dim"},
        mixers={
            "": "compressed",
            "compressed_sparse_attention": "compressed",
            "heavily_compressed_attention": "compressed",
        },
        kinds=(),
        splits=(*EXPERT_SPLITS, *STREAM_SPLITS),
        renames=(*V4_NAMES, *MIXTRAL_NAMES, *SHARED_TO_MLP),
        required={
            "hidden_act": ("silu",),
            "scoring_func": ("sqrtsoftplus",),
            "swiglu_limit": (10.0,),
            "norm_topk_prob": (True, None),
        },
        unused=(
            *("q_lora_rank", "o_lora_rank", "index_n_heads", "compress_rates"),
            *("rope_theta", "compress_rope_theta", "qk_rope_head_dim", "num_nextn_predict_layers"),
        ),
        outer={
            "unembedding": "head.weight",
            "streams.w_read": "model.hc_head.hc_fn",
            "streams.b_read": "model.hc_head.hc_base",
            "streams.read_scale": "model.hc_head.hc_scale",
        },
        without={
            "sliding_attention": (*WINDOWS, *INDEXER),
            "heavily_compressed_attention": tuple(INDEXER),
            "hash_moe": tuple(CHOICE_BIAS),
            "moe": ("token_experts",),
        },
        rope_kinds={
            "sliding_attention": "main",
            "compressed_sparse_attention": "compress",
            "heavily_compressed_attention": "compress",
        },
        everywhere=("window",),
    ),
}
"""By model_type."""
