#!/usr/bin/env bash
# Adafactor with rate 0.001, weight decay 0.1, a weight of 1 and a gradient of 0: how much does the weight lose in a step?
# PyTorch 2.13.0, Keras 3.15.1 and MLX 0.32.4 subtract rate · decay = 0.0001. Optax 0.2.8 subtracts the decay itself, 0.1,
# a thousand times as much, even when a schedule has brought the rate to 0. Optax's own AdamW subtracts 0.0001. The
# documentation of optax.adafactor says "Optional rate at which to decay weights". After 100 steps a weight is 0.99, or 0.00003.
# Seen: torch 0.0001, keras 0.0001, mlx 0.0001, optax AdamW 0.0001, optax Adafactor 0.1, with rate 0 also 0.1
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

RATE, DECAY, SHAPE = 0.001, 0.1, (4, 4)


def by_torch():
    w = torch.nn.Parameter(torch.ones(SHAPE))
    w.grad = torch.zeros(SHAPE)
    torch.optim.Adafactor([w], lr=RATE, weight_decay=DECAY).step()
    return w.detach().numpy()


def by_keras():
    w = keras.Variable(np.ones(SHAPE, np.float32))
    adafactor = keras.optimizers.Adafactor(RATE, weight_decay=DECAY)
    adafactor.build([w])
    adafactor.apply([jnp.zeros(SHAPE)], [w])
    return np.array(w.value)


def by_mlx():
    adafactor = mlx.optimizers.Adafactor(RATE, weight_decay=DECAY, relative_step=False)
    return np.array(adafactor.apply_gradients({"w": mx.zeros(SHAPE)}, {"w": mx.ones(SHAPE)})["w"])


def by_optax(optimizer):
    w = jnp.ones(SHAPE)
    update, _ = optimizer.update(jnp.zeros(SHAPE), optimizer.init(w), w)
    return optax.apply_updates(w, update)


after = {
    "torch": by_torch(),
    "keras": by_keras(),
    "mlx": by_mlx(),
    "optax AdamW": by_optax(optax.adamw(RATE, weight_decay=DECAY)),
    "optax Adafactor": by_optax(optax.adafactor(RATE, weight_decay_rate=DECAY)),
    "optax Adafactor, rate 0": by_optax(optax.adafactor(0.0, weight_decay_rate=DECAY)),
}
seen = {name: round(1 - float(w[0, 0]), 5) for name, w in after.items()}
print(seen)
assert seen == {
    "torch": 0.0001,
    "keras": 0.0001,
    "mlx": 0.0001,
    "optax AdamW": 0.0001,
    "optax Adafactor": 0.1,
    "optax Adafactor, rate 0": 0.1,
}
EOF
