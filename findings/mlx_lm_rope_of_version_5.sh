#!/usr/bin/env bash
# A tiny Llama with RoPE's base 500,000, saved by transformers 5.24.0, opened by mlx-lm 0.32.2: are the logits the same?
# transformers 5 writes the base under rope_parameters. mlx-lm reads rope_theta and rope_scaling, as transformers 4 wrote them,
# and takes its default of 10,000 without a word. With the old keys in the same file the logits agree.
# Seen: largest difference over the largest logit: as written more than 0.3, with the old keys less than 0.00001
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 'mlx[cpu]==0.32.4' mlx-lm==0.32.2 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder/model" <<'EOF'
import json
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
from mlx_lm.utils import load_model
from transformers import LlamaConfig, LlamaForCausalLM

folder = Path(sys.argv[1])
BASE = 500_000.0
config = LlamaConfig(
    hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=64,
    max_position_embeddings=64, initializer_range=0.3, rope_parameters={"rope_type": "default", "rope_theta": BASE},
)
torch.manual_seed(0)
model = LlamaForCausalLM(config).eval()
model.save_pretrained(folder)
tokens = 5 * torch.arange(1, 25)[None] % 64
with torch.no_grad():
    expected = model(tokens).logits[0].numpy()


def difference():
    found = np.array(load_model(folder)[0](mx.array(tokens.numpy())))[0]
    return float(np.abs(found - expected).max() / np.abs(expected).max())


as_written = difference()
path = folder / "config.json"
written = json.loads(path.read_text())
assert written.pop("rope_parameters")["rope_theta"] == BASE and "rope_theta" not in written
path.write_text(json.dumps(written | {"rope_theta": BASE}))
with_old_keys = difference()
print(f"as written {as_written:.2f}, with the old keys {with_old_keys:.0e}")
assert as_written > 0.3 and with_old_keys < 1e-5
EOF
