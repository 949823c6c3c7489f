#!/usr/bin/env bash
# Tiny random models with a state, by transformers 5.24.0. They read 12 tokens, then 12 more from the cache: one by one, or in pieces of
# four, as when a long prompt is read in pieces or drafted tokens are checked. One by one all agree with one pass over the 24 tokens.
# In pieces the recurrence of Mamba and of Jamba's Mamba layers starts from zero at each piece (the short convolution remembers), and
# nothing says so; Mamba-2, LFM2 and Falcon-H1 go on from their state.
# Mamba also takes past_key_values=, the other models' word for the cache, and reads without any cache then.
# Seen: largest error of a logit, one by one and in pieces: Mamba 2e-6 and 5, Jamba 4e-5 and 7, all others below 1e-5;
# Mamba with past_key_values= 8
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import torch
import transformers

transformers.utils.logging.set_verbosity_error()

TOKENS = torch.arange(2, 26)[None] * 5 % 61 + 3
SIZES = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2, initializer_range=0.3)
HEADS = dict(intermediate_size=48, num_attention_heads=4, num_key_value_heads=2)
KINDS = {
    "Mamba": dict(state_size=8),
    "Jamba": dict(**HEADS, attn_layer_period=2, attn_layer_offset=1, expert_layer_period=8, mamba_d_state=8),
    "Mamba2": dict(state_size=8, num_heads=8, head_dim=8, n_groups=1, chunk_size=8),
    "Lfm2": dict(**HEADS, layer_types=["conv", "full_attention"]),
    "FalconH1": dict(**HEADS, mamba_d_ssm=32, mamba_n_heads=4, mamba_d_head=8, mamba_d_state=8, mamba_n_groups=1),
}


@torch.no_grad()
def error(model, length, word="cache"):
    whole = model(TOKENS, use_cache=False).logits
    answer = model(TOKENS[:, :12], use_cache=True)
    cache, worst = answer.cache, 0.0
    for start in range(12, 24, length):
        piece = slice(start, start + length)
        answer = model(TOKENS[:, piece], use_cache=True, **{word: cache})
        worst = max(worst, float((answer.logits - whole[:, piece]).abs().max()))
    return worst


for name, keys in KINDS.items():
    torch.manual_seed(0)
    config = getattr(transformers, name + "Config")(**SIZES, **keys)
    model = getattr(transformers, name + "ForCausalLM")(config).eval()
    single, pieces = error(model, 1), error(model, 4)
    print(f"{name}: one by one {single:.0e}, in pieces {pieces:.0e}")
    assert single < 1e-4
    assert pieces > 1 if name in ("Mamba", "Jamba") else pieces < 1e-4
    if name == "Mamba":
        lost = error(model, 1, "past_key_values")
        print(f"{name} with past_key_values=: {lost:.0e}")
        assert lost > 1
EOF
