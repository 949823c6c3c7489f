#!/usr/bin/env bash
# Adam's first step of rate 1 for a gradient of 1e-7, with ε = 1e-8 everywhere. With the formula of the paper's algorithm 1
# it is 1 / (1 + 0.1) = 0.909. Keras 3.15.1 adds ε before the correction of the bias (the paper's "ε hat"), so that at the first step
# its ε counts as 1 / √0.001 = 32 times as large, and less with each step.
# Seen: PyTorch 0.909, Optax 0.909, MLX with its bias correction on 0.909, Keras 0.240
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 jax==0.10.2 optax==0.2.8 keras==3.15.1 'mlx[cpu]==0.32.4' numpy==2.4.6
KERAS_BACKEND=jax "$folder/env/bin/python" - <<'EOF'
import jax.numpy as jnp
import keras
import mlx.core as mx
import mlx.optimizers
import numpy as np
import optax
import torch

SMALL, EPS = 1e-7, 1e-8


def by_torch():
    x = torch.nn.Parameter(torch.zeros(1))
    x.grad = torch.tensor([SMALL])
    torch.optim.Adam([x], lr=1.0, eps=EPS).step()
    return x.item()


def by_optax():
    adam = optax.adam(1.0, eps=EPS)
    return adam.update(jnp.array([SMALL]), adam.init(jnp.zeros(1)))[0].item()


def by_mlx():
    adam = mlx.optimizers.Adam(1.0, eps=EPS, bias_correction=True)
    return adam.apply_gradients({"x": mx.array([SMALL])}, {"x": mx.zeros(1)})["x"].item()


def by_keras():
    x = keras.Variable(np.zeros(1, np.float32))
    adam = keras.optimizers.Adam(1.0, epsilon=EPS)
    adam.build([x])
    adam.apply([jnp.array([SMALL])], [x])
    return np.array(x.value).item()


seen = {f.__name__[3:]: round(-f(), 3) for f in (by_torch, by_optax, by_mlx, by_keras)}
print(seen)
assert seen == {"torch": 0.909, "optax": 0.909, "mlx": 0.909, "keras": 0.24}
EOF
