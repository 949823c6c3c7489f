#!/usr/bin/env bash
# A causal window of 3 over six tokens: how many keys does the last token attend to, itself included?
# transformers 5.24.0 (sliding_window=3 of Mistral) and mlx-lm 0.32.2 (window_size=3) say three. JAX 0.10.2
# (local_window_size=3 of dot_product_attention, with is_causal) says four: it counts the tokens before the query.
# Seen: transformers 3, mlx-lm 3, jax 4
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 'mlx[cpu]==0.32.4' mlx-lm==0.32.2 \
  jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import jax
import jax.numpy as jnp
import numpy as np
import torch
from mlx_lm.models.base import create_causal_mask
from transformers import MistralConfig, MistralModel

WINDOW, TOKENS = 3, 6


def by_transformers():
    config = MistralConfig(
        vocab_size=10,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        sliding_window=WINDOW,
        attn_implementation="eager",
    )
    torch.manual_seed(0)
    seen = MistralModel(config)(torch.arange(TOKENS)[None], output_attentions=True)
    return int((seen.attentions[0][0, 0, -1] > 0).sum())


def by_jax():
    same = jnp.zeros((1, TOKENS, 1, TOKENS))  # all scores 0, and values that name their token
    values = jnp.eye(TOKENS)[None, :, None]
    out = jax.nn.dot_product_attention(same, same, values, is_causal=True, local_window_size=WINDOW)
    return int((out[0, -1, 0] > 0).sum())


seen = {
    "transformers": by_transformers(),
    "mlx-lm": int(np.array(create_causal_mask(TOKENS, window_size=WINDOW))[-1].sum()),
    "jax": by_jax(),
}
print(seen)
assert seen == {"transformers": 3, "mlx-lm": 3, "jax": 4}
EOF
