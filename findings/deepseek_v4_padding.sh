#!/usr/bin/env bash
# A tiny random DeepSeek-V4 by transformers 5.24.0, read with padding on the left: the attention mask hides it, and the positions begin at 0
# with the text, as for every decoder. A layer attends to the latest tokens and to windows of 4, or of 8, earlier tokens, each pooled into
# one vector. The mask reaches the first and not the second: padding is pooled with the text. One padding token is enough, and eight,
# which fill whole windows, are seen too. So a prompt continues differently in a batch with a longer one, without a word.
# Padding on the right changes nothing, nor does any in a DeepSeek-V4 whose layers do not pool, or in Llama.
# Seen: largest change over the largest logit with 1, 2, 4 and 8 padding tokens: windows of 4 1.1, 1.1, 1.0 and 1.0, of 8 0.9, 0.7, 1.5 and
# 1.1; no windows and Llama below 0.00001. Of ten generated tokens a longer prompt in the batch changes 10, 9, 0 and 0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import torch
import transformers

transformers.utils.logging.set_verbosity_error()

TEXT = torch.arange(24)[None] * 7 % 61 + 3
SIZES = dict(
    vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, initializer_range=0.3, pad_token_id=0, bos_token_id=1,
    eos_token_id=2,
)  # fmt: skip
POOLED = dict(
    compress_rates={"compressed_sparse_attention": 4, "heavily_compressed_attention": 8}, head_dim=16, partial_rotary_factor=0.5,
    qk_rope_head_dim=8, q_lora_rank=16, o_groups=2, o_lora_rank=8, index_head_dim=16, index_n_heads=4, moe_intermediate_size=24,
    n_routed_experts=4, num_experts_per_tok=2, mlp_layer_types=["moe"] * 2, sliding_window=8,
)  # fmt: skip
KINDS = {
    "windows of 4": ("DeepseekV4", dict(POOLED, layer_types=["compressed_sparse_attention"] * 2)),
    "windows of 8": ("DeepseekV4", dict(POOLED, layer_types=["heavily_compressed_attention"] * 2)),
    "no windows": ("DeepseekV4", dict(POOLED, layer_types=["sliding_attention"] * 2)),
    "Llama": ("Llama", dict(intermediate_size=48, num_key_value_heads=2)),
}


def model(kind, keys):
    torch.manual_seed(0)
    config = getattr(transformers, kind + "Config")(**SIZES, **keys)
    return getattr(transformers, kind + "ForCausalLM")._from_config(config, attn_implementation="eager").eval()


def padded(text, left, right=0):
    x = torch.nn.functional.pad(text, (left, right))
    mask = (x != 0).long()
    return dict(input_ids=x, attention_mask=mask, position_ids=(mask.cumsum(-1) - 1).clamp(min=0))


def generated(decoder, prompts):
    mask = (prompts != 0).long()
    tokens = decoder.generate(prompts, attention_mask=mask, max_new_tokens=10, do_sample=False, eos_token_id=None)
    return tokens[-1, prompts.shape[1] :]


for name, kind in KINDS.items():
    decoder = model(*kind)
    with torch.no_grad():
        alone = decoder(**padded(TEXT, 0)).logits
        left = [decoder(**padded(TEXT, n)).logits[:, n:] for n in (1, 2, 4, 8)]
        right = decoder(**padded(TEXT, 0, 3)).logits[:, :-3]
    moved = [float((x - alone).abs().max() / alone.abs().max()) for x in (*left, right)]
    batch = torch.cat([TEXT[:, :12], padded(TEXT[:, 12:21], 3)["input_ids"]])
    changed = int((generated(decoder, batch) != generated(decoder, TEXT[:, 12:21])).sum())
    print(f"{name}: left", ", ".join(f"{x:.2f}" for x in moved[:-1]), f"right {moved[-1]:.0e}, generated otherwise {changed}")
    if "windows of" in name:
        assert min(moved[:-1]) > 0.3 and changed > 0
    else:
        assert max(moved) < 1e-4 and changed == 0
    assert moved[-1] < 1e-4
EOF
