#!/usr/bin/env bash
# A tiny random Falcon with ALiBi, as in Falcon-RW. transformers 5.24.0 computes it with SDPA, and eagerly as soon as one asks for the
# attention weights. The eager path adds ALiBi to the scores and to the mask, so its slopes are twice those of the other path: to look at
# a model changes what it says. Bloom, the other family with ALiBi in the library, does not change.
# Seen: with output_attentions=True Falcon's logits change by 0.68 (the largest is 6.0), as much as with attn_implementation="eager";
# with the slopes halved inside the eager path by 0.000002. Bloom's by 0.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import torch
from transformers import BloomConfig, BloomForCausalLM, FalconConfig, FalconForCausalLM
from transformers.models.falcon import modeling_falcon

TOKENS = torch.arange(5, 29)[None]
SLOPES = modeling_falcon.build_alibi_tensor
SIZES = dict(vocab_size=64, hidden_size=32, initializer_range=0.3, bos_token_id=1, eos_token_id=2)


@torch.no_grad()
def falcon(kind="sdpa", **asked):
    torch.manual_seed(0)
    config = FalconConfig(**SIZES, num_hidden_layers=2, num_attention_heads=4, alibi=True)
    model = FalconForCausalLM._from_config(config, attn_implementation=kind).eval()
    return model(TOKENS, **asked).logits


def change(logits):
    return float((logits - plain).abs().max())


plain = falcon()
watched, eager = change(falcon(output_attentions=True)), change(falcon("eager"))
modeling_falcon.build_alibi_tensor = lambda *arguments, **keys: SLOPES(*arguments, **keys) / 2
halved = change(falcon("eager"))
torch.manual_seed(0)
bloom = BloomForCausalLM(BloomConfig(**SIZES, n_layer=2, n_head=4)).eval()
with torch.no_grad():
    other = float((bloom(TOKENS).logits - bloom(TOKENS, output_attentions=True).logits).abs().max())
print(f"largest logit {plain.abs().max():.1f}; watched {watched:.2f}, eager {eager:.2f}, halved {halved:.0e}; Bloom {other:.0e}")
assert watched > 0.5 and eager > 0.5
assert halved < 1e-5 and other < 1e-5
EOF
