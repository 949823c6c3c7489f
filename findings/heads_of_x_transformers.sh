#!/usr/bin/env bash
# Four query heads share two key and value heads: which of them reads which?
# In the paper on grouped queries (arXiv 2305.13245), in PyTorch and in JAX the heads 0 and 1 read the first, 2 and 3 the second. In
# x-transformers 2.31.10 the heads 0 and 2 read the first, 1 and 3 the second. A checkpoint whose query heads are copied in order
# from another library runs without an error and mixes the groups up.
# Seen: heads that read the second group: PyTorch [2, 3], JAX [2, 3], x-transformers [1, 3]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 jax==0.10.2 x-transformers==2.31.10 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import jax
import numpy as np
import torch
from x_transformers import Attention

rng = np.random.default_rng(0)
q, k = rng.normal(size=(1, 4, 5, 8)), rng.normal(size=(1, 2, 5, 8))
v = np.stack([np.zeros((1, 5, 8)), np.ones((1, 5, 8))], axis=1)

torch_y = torch.nn.functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), enable_gqa=True).numpy()
jax_y = np.array(jax.nn.dot_product_attention(*(x.transpose(0, 2, 1, 3) for x in (q, k, v)))).transpose(0, 2, 1, 3)

attention = Attention(dim=32, heads=4, kv_heads=2, dim_head=8)
attention.to_out = torch.nn.Identity()
with torch.no_grad():
    attention.to_v.weight[:8] = 0
    y = attention(torch.randn(1, 5, 32))
y = (y[0] if isinstance(y, tuple) else y).view(1, 5, 4, 8).transpose(1, 2).numpy()

found = {"PyTorch": torch_y, "JAX": jax_y, "x-transformers": y}
seen = {name: np.flatnonzero(np.abs(x).sum((0, 2, 3))).tolist() for name, x in found.items()}
print(seen)
assert seen == {"PyTorch": [2, 3], "JAX": [2, 3], "x-transformers": [1, 3]}
EOF
