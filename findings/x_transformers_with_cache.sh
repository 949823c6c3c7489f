#!/usr/bin/env bash
# x-transformers 2.31.10 generates with a cache of keys and values unless told otherwise, and asks each model whether it can
# (can_cache_kv). A cache should change the time and not the text. Three options say that they can, and compute the new token without
# what came before: shift_tokens takes a part of each token from the one before it, and takes zeros; the bias of the Forgetting
# Transformer (attn_data_dependent_alibi, and by rows) is a sum over the tokens, and sums over the new one alone. ALiBi, rotary
# embeddings and T5's bias are as they should be, and attn_selective rightly says that it cannot.
# Seen: tokens of 24 that greedy decoding chooses alike with and without the cache: plain 24, ALiBi 24, rotary 24, T5's bias 24,
# selective 24; shift_tokens 2, Forgetting 7, Forgetting by rows 4
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 x-transformers==2.31.10 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

PROMPT = torch.randint(0, 64, (1, 8), generator=torch.Generator().manual_seed(0))
OPTIONS = {
    "plain": {},
    "ALiBi": dict(alibi_pos_bias=True),
    "rotary": dict(rotary_pos_emb=True),
    "T5's bias": dict(rel_pos_bias=True),
    "selective": dict(attn_selective=True),
    "shift_tokens": dict(shift_tokens=1),
    "Forgetting": dict(attn_data_dependent_alibi=True),
    "Forgetting by rows": dict(attn_data_dependent_alibi=True, attn_data_dependent_alibi_per_row=True),
}


def alike(options):
    """Of 24 tokens, how many greedy decoding chooses alike with the cache and without; and whether the model says that it can."""
    torch.manual_seed(1)
    layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=32, **options)
    model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=layers).eval()
    for weights in model.parameters():
        weights.data.add_(torch.randn_like(weights), alpha=0.2)
    writer = AutoregressiveWrapper(model)
    with_cache = writer.generate(PROMPT, 24, temperature=0.0)
    without = writer.generate(PROMPT, 24, temperature=0.0, cache_kv=False)
    return int((with_cache == without).sum()), model.can_cache_kv


found = {name: alike(options) for name, options in OPTIONS.items()}
print(", ".join(f"{name} {same} ({'can' if can else 'cannot'})" for name, (same, can) in found.items()))
for name, (same, can) in found.items():
    assert can == (name != "selective")
    wrong = name in ("shift_tokens", "Forgetting", "Forgetting by rows")
    assert same < 24 if wrong else same == 24
EOF
