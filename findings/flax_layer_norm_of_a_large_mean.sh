#!/usr/bin/env bash
# LayerNorm in float32 of three rows with mean 1000 and standard deviation 0.1: what is the standard deviation of the result?
# It should be 1. Flax 0.12.8 computes the variance as the mean square less the squared mean, unless use_fast_variance=False:
# the difference of two numbers near a million keeps no digit, so one row gets 0.36 and two get 99. Haiku, Equinox and
# PyTorch subtract the mean first and stay within 1 % of 1.
# Seen: flax.linen and flax.nnx [0.36, 98.87, 98.05]; flax without the fast variance, haiku, equinox, torch [1.0, 1.0, 1.0]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet jax==0.10.2 jaxlib==0.10.2 flax==0.12.8 dm-haiku==0.0.17 equinox==0.13.8 \
  torch==2.13.0 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import equinox
import flax.linen
import haiku
import jax
import numpy as np
import torch
from flax import nnx

rows = (1000 + 0.1 * np.random.default_rng(0).normal(size=(3, 64))).astype(np.float32)


def by_linen(**choice):
    norm = flax.linen.LayerNorm(**choice)
    return norm.apply(norm.init(jax.random.key(0), rows), rows)


def by_haiku():
    norm = haiku.without_apply_rng(haiku.transform(lambda x: haiku.LayerNorm(-1, True, True)(x)))
    return norm.apply(norm.init(None, rows), rows)


results = {
    "flax.linen": by_linen(),
    "flax.nnx": nnx.LayerNorm(64, rngs=nnx.Rngs(0))(rows),
    "flax.linen, use_fast_variance=False": by_linen(use_fast_variance=False),
    "haiku": by_haiku(),
    "equinox": jax.vmap(equinox.nn.LayerNorm(64))(rows),
    "torch": torch.nn.LayerNorm(64)(torch.tensor(rows)).detach(),
}
spread = {name: np.asarray(result).std(axis=1).round(2).tolist() for name, result in results.items()}
print(spread)
for name, found in spread.items():
    fast = name in ("flax.linen", "flax.nnx")
    assert fast == any(abs(one - 1) > 0.5 for one in found), (name, found)
EOF
