#!/usr/bin/env bash
# A Decoder of x-transformers 2.31.10 is causal, and takes many options. Does each leave it causal? Change the later half of a text, and
# with four of them the logits of the earlier half change, without a word. attn_orthog_projected_values, the same with _per_head, and
# orthog_residual take from one vector its part along another; all tokens of a text, and all heads, are one vector there, so _per_head
# changes nothing. mv_split_residual subtracts a mean over all tokens, from the first step of training on. Such a model can read what it
# should predict. A cache of keys and values (can_cache_kv is true for all four) then gives another text.
# Seen: largest change over the largest logit of the earlier half: plain, RMSNorm, gated values, Laser, scaled residual 0; orthogonal values
# 0.07, per head the same, orthogonal residual 0.13, split residual 0.34, and at its initial weights 0.005
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 x-transformers==2.31.10 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

TEXT = torch.randint(0, 64, (1, 24), generator=torch.Generator().manual_seed(0))
OTHER = torch.cat([TEXT[:, :12], TEXT[:, 12:] ^ 1], 1)
CAUSAL = {
    "plain": {},
    "RMSNorm": dict(use_rmsnorm=True),
    "gated values": dict(attn_gate_values=True),
    "Laser": dict(attn_laser=True),
    "scaled residual": dict(scale_residual=True),
}
NOT = {
    "orthogonal values": dict(attn_orthog_projected_values=True),
    "per head": dict(attn_orthog_projected_values_per_head=True),
    "orthogonal residual": dict(orthog_residual=True),
    "split residual": dict(mv_split_residual=True),
}


def model(options, noise=0.2):
    torch.manual_seed(1)
    layers = Decoder(dim=32, depth=2, heads=4, attn_dim_head=32, **options)
    model = TransformerWrapper(num_tokens=64, max_seq_len=64, attn_layers=layers).eval()
    for weights in model.parameters():
        weights.data.add_(torch.randn_like(weights), alpha=noise)
    return model


@torch.no_grad()
def change(model):
    first, second = model(TEXT)[:, :12], model(OTHER)[:, :12]
    return float((first - second).abs().max() / first.abs().max())


for name, options in (CAUSAL | NOT).items():
    decoder = model(options)
    writer = AutoregressiveWrapper(decoder)
    texts = [writer.generate(TEXT[:, :8], 16, temperature=0.0, cache_kv=cached) for cached in (True, False)]
    moved, same = change(decoder), int((texts[0] == texts[1]).sum())
    print(f"{name}: {moved:.2f}; alike with and without the cache, which it {'allows' if decoder.can_cache_kv else 'forbids'}: {same} of 16")
    assert decoder.can_cache_kv
    assert moved > 0.05 and same < 16 if name in NOT else moved < 1e-5 and same == 16

fresh = change(model(NOT["split residual"], noise=0.0))
print(f"split residual at its initial weights: {fresh:.3f}")
assert fresh > 1e-3
with torch.no_grad():
    assert torch.equal(model(NOT["orthogonal values"])(TEXT), model(NOT["per head"])(TEXT))
EOF
