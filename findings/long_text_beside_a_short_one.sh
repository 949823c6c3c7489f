#!/usr/bin/env bash
# Two ways to stretch RoPE depend on the length of the text: "longrope", as in Phi-3 with 128k tokens, has other frequencies beyond the
# original length, and "dynamic" has others at each length beyond it. Is a row of a batch computed as it is alone? transformers 5.24.0 takes
# the length of the longest row for all. A short text's logits change when a long one stands beside it, without a word, padded left or
# right. With "yarn", "linear" and plain RoPE no row changes another.
# A cache keeps the keys that were turned at a shorter length, so Llama generates another text with it; Phi-3 drops its cache once, when the
# text gets too long, and generates the same.
# Seen: largest change of the short text's logits over the largest: Phi-3's longrope 1, Llama's longrope 0.7 and dynamic 0.6; yarn, linear
# and plain below 0.000002. Tokens of 30 that are alike with and without a cache: Llama's longrope 14 and dynamic 16, all others 30
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import torch
import transformers
from torch.nn.functional import pad

transformers.utils.logging.set_verbosity_error()

LONG = torch.arange(40)[None] * 7 % 61 + 3
SHORT = LONG[:, 5:15]
SIZES = dict(
    vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    initializer_range=0.3, max_position_embeddings=64, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)  # fmt: skip
BEYOND = dict(original_max_position_embeddings=16)
LONGROPE = dict(rope_type="longrope", short_factor=[1.0] * 4, long_factor=[1.0, 2.0, 3.0, 4.0], factor=4.0) | BEYOND
KINDS = {
    "Phi-3, longrope": ("Phi3", LONGROPE, BEYOND),
    "Llama, longrope": ("Llama", LONGROPE, {}),
    "Llama, dynamic": ("Llama", dict(rope_type="dynamic", factor=4.0), dict(max_position_embeddings=16)),
    "Llama, yarn": ("Llama", dict(rope_type="yarn", factor=4.0) | BEYOND, {}),
    "Llama, linear": ("Llama", dict(rope_type="linear", factor=4.0), {}),
    "Llama, plain": ("Llama", dict(rope_type="default"), {}),
}


def model(kind, rope, keys):
    torch.manual_seed(0)
    config = getattr(transformers, kind + "Config")(**SIZES | keys, rope_parameters=rope | {"rope_theta": 10_000.0})
    return getattr(transformers, kind + "ForCausalLM")(config).eval()


@torch.no_grad()
def change(decoder, *padding):
    """How far the short text's logits move when the long text is the other row."""
    x = torch.cat([LONG, pad(SHORT, padding)])
    mask = (x != 0).long()
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    alone = decoder(SHORT).logits[0]
    beside = decoder(x, attention_mask=mask, position_ids=positions).logits[1][mask[1].bool()]
    return float((beside - alone).abs().max() / alone.abs().max())


def alike(decoder):
    greedy = dict(attention_mask=torch.ones_like(SHORT), max_new_tokens=30, do_sample=False, eos_token_id=None)
    with_cache, without = (decoder.generate(SHORT, use_cache=cached, **greedy)[0, 10:] for cached in (True, False))
    return int((with_cache == without).sum())


for name, kind in KINDS.items():
    decoder = model(*kind)
    left, right, same = change(decoder, 30, 0), change(decoder, 0, 30), alike(decoder)
    print(f"{name}: padding left {left:.1g}, right {right:.1g}; alike with and without a cache {same} of 30")
    if "longrope" in name or "dynamic" in name:
        assert left > 0.1 and right > 0.1
    else:
        assert left < 1e-5 and right < 1e-5
    assert same < 30 if name in ("Llama, longrope", "Llama, dynamic") else same == 30
EOF
