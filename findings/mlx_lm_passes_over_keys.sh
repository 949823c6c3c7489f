#!/usr/bin/env bash
# Tiny random models, saved by transformers 5.24.0 and opened by mlx-lm 0.32.2. Which keys of config.json change nothing there?
# A window of 4 tokens of Mistral, Mixtral and Phi-3 (from the fifth token on the logits differ by more than the half of the
# largest), and the activation GELU of a Llama. With no window, or with SiLU, the logits agree.
# (rope_theta is written as transformers 4 did, so that RoPE is not what differs.)
# Seen: Mistral, Mixtral, Phi-3 with a window: first different token 4; Llama with GELU: 0; all four without: none
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 'mlx[cpu]==0.32.4' mlx-lm==0.32.2 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder/model" <<'EOF'
import json
import shutil
import sys
from pathlib import Path

import mlx.core as mx
import numpy as np
import torch
import transformers
from mlx_lm.utils import load_model

folder = Path(sys.argv[1])
SIZES = dict(
    hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, vocab_size=64,
    max_position_embeddings=64, initializer_range=0.3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
)


def first_different(family, **keys):
    config = getattr(transformers, f"{family}Config")(**SIZES, **keys)
    torch.manual_seed(0)
    model = getattr(transformers, f"{family}ForCausalLM")(config).eval()
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    path = folder / "config.json"
    written = json.loads(path.read_text())
    path.write_text(json.dumps(written | {"rope_theta": written["rope_parameters"]["rope_theta"]}))
    tokens = 5 * torch.arange(1, 25)[None] % 64
    with torch.no_grad():
        expected = model(tokens).logits[0].numpy()
    found = np.array(load_model(folder)[0](mx.array(tokens.numpy())))[0]
    away = np.abs(found - expected).max(axis=-1) / np.abs(expected).max()
    return next((i for i, x in enumerate(away) if x > 1e-3), None)


experts = dict(num_local_experts=4)
seen = {
    "Mistral": [first_different("Mistral", sliding_window=n) for n in (4, None)],
    "Mixtral": [first_different("Mixtral", sliding_window=n, **experts) for n in (4, None)],
    "Phi3": [first_different("Phi3", sliding_window=n) for n in (4, None)],
    "Llama": [first_different("Llama", hidden_act=name) for name in ("gelu", "silu")],
}
print(seen)
assert seen == {"Mistral": [4, None], "Mixtral": [4, None], "Phi3": [4, None], "Llama": [0, None]}
EOF
