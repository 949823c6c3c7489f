#!/usr/bin/env bash
# Two documents of five and four tokens stand in one row, and position_ids start at 0 again for the second. Are its logits
# those of the second document alone? transformers 5.24.0 finds the boundary in position_ids, with "eager" and "sdpa", but only with
# use_cache=False. By default a model makes a cache, even in training, and then the second document sees the first, without
# a word: a flag for a cache decides what a token attends to. The Trainer turns it off; a loop of one's own does not.
# An attention_mask of ones hides the boundary too.
# Seen: largest difference of the logits: use_cache=False 0.0; by default, in training and with a mask of ones 2.8
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0
"$folder/env/bin/python" - <<'EOF'
import torch
from transformers import LlamaConfig, LlamaForCausalLM

SIZES = dict(
    vocab_size=20, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2, initializer_range=0.2,
)  # fmt: skip
first, second = torch.tensor([[1, 2, 3, 4, 5]]), torch.tensor([[6, 7, 8, 9]])
packed, positions = torch.cat([first, second], 1), torch.tensor([[0, 1, 2, 3, 4, 0, 1, 2, 3]])


@torch.no_grad()
def differences(attention):
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**SIZES, attn_implementation=attention)).eval()
    alone = model(second).logits

    def difference(**options):
        logits = model(packed, position_ids=positions, **options).logits[:, 5:]
        return round((logits - alone).abs().max().item(), 3)

    seen = {
        "use_cache=False": difference(use_cache=False),
        "default": difference(),
        "mask of ones": difference(use_cache=False, attention_mask=torch.ones_like(packed)),
    }
    model.train()  # has no dropout
    return seen | {"training": difference()}


for attention in ("eager", "sdpa"):
    seen = differences(attention)
    print(attention, seen)
    assert seen.pop("use_cache=False") == 0
    assert all(difference > 0.1 for difference in seen.values())
EOF
