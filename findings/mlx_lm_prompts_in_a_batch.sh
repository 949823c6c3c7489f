#!/usr/bin/env bash
# Tiny random models in mlx-lm 0.32.2. batch_generate continues several prompts at once, and the server batches requests that come together
# if the caches can be merged. Does a prompt get the same continuation as alone? Shorter prompts are padded on the right, and the caches
# are told their lengths. Llama, Mamba-2 and Qwen3-Next go on from the end of each prompt. The states of Mamba and RWKV-7 read the padding, and
# the convolutions of OLMo-Hybrid keep it as their latest inputs; nothing says so. Gemma 2 adds a mask of four axes to scores of five, and
# raises an error, except with as many prompts as it has key-value heads: then each head silently gets the mask of one of the prompts.
# Prompts of one length get the same continuation in all of them.
# Seen: of ten tokens after a shorter and a longer prompt the batch changes: Llama, Mamba-2 and Qwen3-Next 0 and 0; Mamba, RWKV-7 and
# OLMo-Hybrid 10 and 0; Gemma 2 with two key-value heads 0 and 10
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet mlx-lm==0.32.2 "mlx[cpu]==0.32.4" numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
from importlib import import_module
from types import SimpleNamespace

import mlx.core as mx
from mlx.utils import tree_map
from mlx_lm import batch_generate

LONG = [7 * i % 61 + 3 for i in range(24)]
SHORT = LONG[5:14]
SIZES = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2)
HEADS = dict(SIZES, intermediate_size=48, num_attention_heads=4, num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-6)
LINEAR = dict(linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8, linear_conv_kernel_dim=4)
KINDS = {
    "llama": HEADS,
    "mamba2": dict(
        SIZES, num_heads=8, head_dim=8, intermediate_size=64, state_size=8, conv_kernel=4, n_groups=1, use_bias=False, use_conv_bias=True,
        tie_word_embeddings=False, time_step_limit=(0.0, 100.0), time_step_rank=4, layer_norm_epsilon=1e-6,
    ),
    "qwen3_next": dict(
        HEADS, **LINEAR, num_experts=4, num_experts_per_tok=2, decoder_sparse_step=1, shared_expert_intermediate_size=24, mlp_only_layers=[],
        moe_intermediate_size=24, rope_theta=1e4, partial_rotary_factor=0.5, max_position_embeddings=128, full_attention_interval=2,
    ),
    "mamba": dict(
        SIZES, intermediate_size=64, state_size=8, conv_kernel=4, use_bias=False, use_conv_bias=True, time_step_rank=4,
    ),
    "rwkv7": dict(
        SIZES, intermediate_size=48, norm_eps=1e-6, head_dim=8, a_low_rank_dim=8, v_low_rank_dim=8, gate_low_rank_dim=8, decay_low_rank_dim=8,
    ),
    "olmo_hybrid": dict(
        HEADS, **LINEAR, layer_types=["linear_attention", "full_attention"], linear_allow_neg_eigval=True, max_position_embeddings=128,
        tie_word_embeddings=False, attention_bias=False,
    ),
    "gemma2": dict(HEADS, query_pre_attn_scalar=8, attn_logit_softcapping=50.0, final_logit_softcapping=30.0),
}  # fmt: skip
TOKENIZER = SimpleNamespace(eos_token_ids=[], decode=str)


def model(kind, sizes):
    module = import_module(f"mlx_lm.models.{kind}")
    model = module.Model(module.ModelArgs(model_type=kind, **sizes))
    mx.random.seed(0)

    def drawn(x):
        return mx.random.normal(x.shape) * 0.3 if x.ndim > 1 else x + mx.random.normal(x.shape) * 0.1

    model.update(tree_map(drawn, model.parameters()))
    return model.eval()


def written(model, *prompts):
    return batch_generate(model, TOKENIZER, list(prompts), max_tokens=10, return_token_ids=True).token_ids


def changed(model, *prompts):
    together = written(model, *prompts)
    return [sum(a != b for a, b in zip(batch, *written(model, prompt))) for batch, prompt in zip(together, prompts)]


for kind, sizes in KINDS.items():
    decoder = model(kind, sizes)
    equal, (longer, shorter) = changed(decoder, LONG, LONG[::-1]), changed(decoder, LONG, SHORT)
    print(f"{kind}: of one length {equal}, the shorter prompt {shorter}, the longer {longer}")
    assert equal == [0, 0]
    assert (shorter + longer == 0) == (kind in ("llama", "mamba2", "qwen3_next"))
    if kind == "gemma2":
        try:
            written(decoder, LONG, SHORT, SHORT)
        except ValueError as error:
            print("gemma2 with three prompts:", error)
        else:
            raise AssertionError("Gemma 2 takes three prompts")
EOF
