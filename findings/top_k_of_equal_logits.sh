#!/usr/bin/env bash
# Five equal logits, top-k with k = 2: how many tokens can be drawn?
# transformers 5.24.0 removes what lies below the second largest logit: nothing does, so all five stay. mlx-lm 0.32.2 and
# x-transformers 2.31.10 keep two by their places. Quantised models and bfloat16 logits tie often.
# Seen: transformers 5, mlx-lm 2, x-transformers 2
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 'mlx[cpu]==0.32.4' mlx-lm==0.32.2 \
  x-transformers==2.31.10 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import mlx.core as mx
import numpy as np
import torch
from mlx_lm.sample_utils import apply_top_k
from transformers import TopKLogitsWarper
from x_transformers.autoregressive_wrapper import top_k

row = torch.zeros(1, 5)
kept = {
    "transformers": TopKLogitsWarper(2)(None, row).numpy(),
    "mlx-lm": np.array(apply_top_k(mx.array(row.numpy()), 2)),
    "x-transformers": top_k(row, k=2).numpy(),
}
seen = {name: int(np.isfinite(logits).sum()) for name, logits in kept.items()}
print(seen)
assert seen == {"transformers": 5, "mlx-lm": 2, "x-transformers": 2}
EOF
