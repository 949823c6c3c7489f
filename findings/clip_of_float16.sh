#!/usr/bin/env bash
# A gradient of four entries of 300 in float16 is clipped to the norm 1. Its norm is 600, which float16 can hold; 300² it cannot.
# PyTorch 2.13.0 and MLX 0.32.4 return a gradient of norm 1. Optax 0.2.8 adds the squares in float16, finds an infinite norm
# and returns zeros: the step is lost without a word. The same happens for 70,000 entries of 1, whose norm is 265. Such gradients
# are usual, because a loss in float16 is multiplied by thousands to keep small gradients. Keras 3.15.1 on JAX returns NaN.
# The documentation of optax.clip_by_global_norm says "Clips updates using their global norm".
# Seen: norm after clipping in float16: torch 1, mlx 1, optax 0, keras nan, for both gradients; in float32 all 1
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


def by_torch(gradient):
    w = torch.nn.Parameter(torch.zeros(gradient.shape, dtype=torch.tensor(gradient).dtype))
    w.grad = torch.tensor(gradient)
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    return w.grad.numpy()


def by_mlx(gradient):
    return mlx.optimizers.clip_grad_norm({"w": mx.array(gradient)}, 1.0)[0]["w"]


def by_optax(gradient):
    clip = optax.clip_by_global_norm(1.0)
    return clip.update(jnp.array(gradient), clip.init(None))[0]


def by_keras(gradient):
    w = keras.Variable(np.zeros(gradient.shape, gradient.dtype), dtype=str(gradient.dtype))
    sgd = keras.optimizers.SGD(1.0, global_clipnorm=1.0)
    sgd.build([w])
    sgd.apply([jnp.array(gradient)], [w])
    return w.value


def norms(entry, n, dtype):
    clipped = {f.__name__[3:]: f(np.full(n, entry, dtype)) for f in (by_torch, by_mlx, by_optax, by_keras)}
    return {name: round(float(np.linalg.norm(np.array(x, np.float64))), 1) for name, x in clipped.items()}


seen = {(entry, dtype): norms(entry, n, dtype) for entry, n in ((300, 4), (1, 70000)) for dtype in ("float32", "float16")}
for key, value in seen.items():
    print(*key, value)
for (_, dtype), value in seen.items():
    assert value["torch"] == value["mlx"] == 1
    assert value["optax"] == (0 if dtype == "float16" else 1)
    assert np.isnan(value["keras"]) if dtype == "float16" else value["keras"] == 1
EOF
