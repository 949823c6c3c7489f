#!/usr/bin/env bash
# Adam with rate 0.01, one parameter of 1.0 and a gradient of 0.3: how long is the first step?
# PyTorch 2.13.0 and Optax 0.2.8 step by the rate, 0.01, whatever the gradient: the bias correction makes its size cancel.
# MLX 0.32.4 leaves the correction out unless bias_correction=True is said, in Adam and in AdamW. Its first step is
# (1 - 0.9) / sqrt(1 - 0.999) = 3.16 times as long.
# Seen: torch 0.01, optax 0.01, mlx Adam 0.0316, mlx AdamW 0.0316, mlx Adam with bias_correction 0.01
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet 'mlx[cpu]==0.32.4' torch==2.13.0 optax==0.2.8 jax==0.10.2 jaxlib==0.10.2 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import jax.numpy as jnp
import mlx.core as mx
import mlx.optimizers
import optax
import torch

RATE, GRADIENT = 0.01, 0.3


def by_mlx(optimizer):
    after = optimizer.apply_gradients({"w": mx.array([GRADIENT])}, {"w": mx.array([1.0])})
    return 1 - after["w"].item()


def by_torch():
    w = torch.ones(1, requires_grad=True)
    w.grad = torch.full((1,), GRADIENT)
    torch.optim.Adam([w], lr=RATE).step()
    return 1 - w.item()


def by_optax():
    adam = optax.adam(RATE)
    step, _ = adam.update(jnp.array([GRADIENT]), adam.init(jnp.ones(1)))
    return -float(step[0])


seen = {
    "torch": by_torch(),
    "optax": by_optax(),
    "mlx Adam": by_mlx(mlx.optimizers.Adam(RATE)),
    "mlx AdamW": by_mlx(mlx.optimizers.AdamW(RATE, weight_decay=0.0)),
    "mlx Adam, bias_correction": by_mlx(mlx.optimizers.Adam(RATE, bias_correction=True)),
}
seen = {name: round(step, 4) for name, step in seen.items()}
print(seen)
assert seen == {
    "torch": 0.01,
    "optax": 0.01,
    "mlx Adam": 0.0316,
    "mlx AdamW": 0.0316,
    "mlx Adam, bias_correction": 0.01,
}
EOF
