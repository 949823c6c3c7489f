#!/usr/bin/env bash
# Attention in training, with dropout of 0.5, on a batch of eight copies of one example. Are the eight outputs different?
# In PyTorch 2.13.0 and Keras 3.15.1 they are: each example and head loses other weights. Flax 0.12.8 draws one pattern for all
# examples and all heads, in both of its interfaces, so all outputs are equal, and a mean over the batch does not average over
# dropout. The argument broadcast_dropout does this, and it is on: "use a broadcasted dropout along batch dims".
# Seen: different outputs of eight: torch 8, keras 8, flax.linen 1, flax.nnx 1, both with broadcast_dropout=False 8;
# different patterns in eight examples and four heads: torch 32, flax.linen 1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 jax==0.10.2 flax==0.12.8 keras==3.15.1 numpy==2.4.6
KERAS_BACKEND=jax "$folder/env/bin/python" - <<'EOF'
import flax.linen
import flax.nnx
import jax
import keras
import numpy as np
import torch

WIDTH, HEADS = 32, 4
example = np.random.default_rng(0).normal(size=(1, 16, WIDTH)).astype(np.float32)
batch = np.repeat(example, 8, axis=0)


def by_torch():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(WIDTH, HEADS, dropout=0.5, batch_first=True)
    x = torch.tensor(batch)
    output, weights = layer(x, x, x, average_attn_weights=False)
    return output.detach().numpy(), weights.detach().numpy()


def by_keras():
    layer = keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=0.5)
    return np.array(layer(batch, batch, training=True))


def by_linen(**options):
    layer = flax.linen.MultiHeadDotProductAttention(HEADS, dropout_rate=0.5, deterministic=False, **options)
    keys = {"params": jax.random.key(0), "dropout": jax.random.key(1)}
    variables = layer.init(keys, batch)
    output, sown = layer.apply(variables, batch, rngs=keys, sow_weights=True, mutable=["intermediates"])
    return np.array(output), np.array(sown["intermediates"]["attention_weights"][0])


def by_nnx(**options):
    layer = flax.nnx.MultiHeadAttention(
        HEADS, WIDTH, dropout_rate=0.5, deterministic=False, decode=False, rngs=flax.nnx.Rngs(0), **options
    )
    return np.array(layer(batch))


def different(arrays):
    return len({x.tobytes() for x in arrays})


(torch_output, torch_weights), (linen_output, linen_weights) = by_torch(), by_linen()
seen = {
    "torch": different(torch_output),
    "keras": different(by_keras()),
    "linen": different(linen_output),
    "nnx": different(by_nnx()),
    "linen, not broadcast": different(by_linen(broadcast_dropout=False)[0]),
    "nnx, not broadcast": different(by_nnx(broadcast_dropout=False)),
}
patterns = [different((w == 0).reshape(32, -1)) for w in (torch_weights, linen_weights)]
print(seen, patterns)
assert seen == {"torch": 8, "keras": 8, "linen": 1, "nnx": 1, "linen, not broadcast": 8, "nnx, not broadcast": 8}
assert patterns == [32, 1]
EOF
