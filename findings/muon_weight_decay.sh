#!/usr/bin/env bash
# The first step of Muon with weight decay 0.01, for weights of N(0, 1) and a gradient of N(0, 0.001²), both of 64×64.
# Decoupled weight decay adds rate · decay · weights to the step, whatever the gradient. PyTorch 2.13.0, Optax 0.2.8 and
# Keras 3.15.1 do so. MLX 0.32.4 adds decay · weights to the gradient before it makes that orthogonal. The result has about the
# same size for any decay; its direction changes. Here decay · weights is ten times as large as the gradient, so the step
# follows the weights and hardly the gradient. With a gradient of 0, decays of 0.01 and 1 give the same step. MLX's documentation
# says that Muon "follows the original implementation", which decouples, and calls its decay "L2 penalty". MLX's AdamW, Lion and
# Adafactor decouple.
# Seen: cosine of the step with the step without decay: torch 1.0, optax 1.0, keras 1.0, mlx 0.1;
# for a gradient of 0, step with decay 1 over step with decay 0.01: torch 100, optax 100, keras 100, mlx 1
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

random = np.random.default_rng(0)
weights = random.normal(size=(64, 64)).astype(np.float32)
gradient = random.normal(scale=0.001, size=(64, 64)).astype(np.float32)
RATE = 0.1


def by_torch(gradient, decay):
    w = torch.nn.Parameter(torch.tensor(weights))
    w.grad = torch.tensor(gradient)
    torch.optim.Muon([w], lr=RATE, weight_decay=decay).step()
    return w.detach().numpy() - weights


def by_optax(gradient, decay):
    w = jnp.array(weights)
    muon = optax.contrib.muon(RATE, weight_decay=decay)
    return np.array(muon.update(jnp.array(gradient), muon.init(w), w)[0])


def by_keras(gradient, decay):
    w = keras.Variable(weights)
    muon = keras.optimizers.Muon(RATE, weight_decay=decay)
    muon.build([w])
    muon.apply([jnp.array(gradient)], [w])
    return np.array(w.value) - weights


def by_mlx(gradient, decay):
    muon = mlx.optimizers.Muon(RATE, weight_decay=decay)
    after = muon.apply_gradients({"w": mx.array(gradient)}, {"w": mx.array(weights)})
    return np.array(after["w"]) - weights


def cosine(a, b):
    return float((a * b).sum() / np.linalg.norm(a) / np.linalg.norm(b))


seen = {}
for f in (by_torch, by_optax, by_keras, by_mlx):
    turned = cosine(f(gradient, 0.01), f(gradient, 0.0))
    small, large = (np.linalg.norm(f(0 * gradient, decay)) for decay in (0.01, 1.0))
    seen[f.__name__[3:]] = round(turned, 1), round(float(large / small))
print(seen)
assert seen == {"torch": (1.0, 100), "optax": (1.0, 100), "keras": (1.0, 100), "mlx": (0.1, 1)}
EOF
