#!/usr/bin/env bash
# One row of probabilities (.5, .25, .125, .0625, .0625), temperature 3 and top_p .7: which tokens can be drawn?
# transformers 5.24.0 divides by the temperature first and keeps three. mlx-lm 0.32.2, and the wrapper of
# x-transformers 2.31.10, cut at top_p first and divide what is left: they keep two, at any temperature.
# Seen: transformers [0, 1, 2]; mlx-lm and x-transformers [0, 1].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 'mlx[cpu]==0.32.4' mlx-lm==0.32.2 \
  x-transformers==2.31.10
"$folder/env/bin/python" - <<'EOF'
import mlx.core as mx
import numpy as np
import torch
from mlx_lm.sample_utils import make_sampler
from transformers import TemperatureLogitsWarper, TopPLogitsWarper
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

TEMPERATURE, TOP_P = 3.0, 0.7
logits = np.log([0.5, 0.25, 0.125, 0.0625, 0.0625]).astype(np.float32)


def by_mlx():
    draw = make_sampler(temp=TEMPERATURE, top_p=TOP_P)
    mx.random.seed(0)
    return {int(draw(mx.array(logits)[None])[0]) for _ in range(500)}


def by_transformers():
    row = TemperatureLogitsWarper(TEMPERATURE)(None, torch.tensor(logits)[None])
    row = TopPLogitsWarper(TOP_P)(None, row)
    return row.isfinite()[0].nonzero().flatten().tolist()


def by_x_transformers():
    decoder = Decoder(dim=8, depth=1, heads=1, attn_dim_head=8)
    model = AutoregressiveWrapper(TransformerWrapper(num_tokens=5, max_seq_len=4, attn_layers=decoder))
    model.net.to_logits = torch.nn.Linear(8, 5)  # gives the row above, whatever stands before it
    torch.nn.init.zeros_(model.net.to_logits.weight)
    model.net.to_logits.bias.data = torch.tensor(logits)
    torch.manual_seed(0)
    prompts = torch.zeros(500, 1, dtype=torch.long)
    drawn = model.generate(
        prompts, 1, temperature=TEMPERATURE, filter_logits_fn="top_p", filter_kwargs={"thres": TOP_P}
    )
    return drawn.flatten().tolist()


seen = {
    "transformers": sorted(by_transformers()),
    "mlx-lm": sorted(by_mlx()),
    "x-transformers": sorted(set(by_x_transformers())),
}
print(seen)
assert seen == {"transformers": [0, 1, 2], "mlx-lm": [0, 1], "x-transformers": [0, 1]}
EOF
