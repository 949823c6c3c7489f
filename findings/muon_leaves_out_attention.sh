#!/usr/bin/env bash
# Which matrices of a transformer block does Muon train? It leaves the others to Adam, whose rate is 0 here, so what moves is Muon's.
# Optax 0.2.8 and Keras 3.15.1 give Muon the parameters of two axes, and say so. But the attention layers of Flax 0.12.8
# and of Keras keep their matrices with an axis for heads, so these have three. So Adam trains queries, keys, values and the
# output of attention, without a word. Optax gives Muon the embedding too, which should be Adam's. In PyTorch and MLX the
# matrices of attention have two axes.
# Seen: moved in Flax and Optax: embedding, up, down; in Keras: up, down; in neither: query, key, value, output
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet jax==0.10.2 optax==0.2.8 flax==0.12.8 keras==3.15.1 numpy==2.4.6
KERAS_BACKEND=jax "$folder/env/bin/python" - <<'EOF'
import flax.linen as nn
import jax
import jax.numpy as jnp
import keras
import numpy as np
import optax

WIDTH, HEADS, TOKENS = 32, 4, jnp.array([[1, 2, 3, 4]])


class Block(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(10, WIDTH, name="embedding")(tokens)
        x = x + nn.MultiHeadDotProductAttention(HEADS, use_bias=False, name="attention")(x, x)
        hidden = nn.gelu(nn.Dense(4 * WIDTH, use_bias=False, name="up")(x))
        return (x + nn.Dense(WIDTH, use_bias=False, name="down")(hidden)).sum()


def by_flax():
    block = Block()
    before = block.init(jax.random.key(0), TOKENS)
    muon = optax.contrib.muon(0.1, adam_learning_rate=0.0)
    updates, _ = muon.update(jax.grad(block.apply)(before, TOKENS), muon.init(before), before)
    paths = jax.tree_util.tree_leaves_with_path(updates["params"])
    return {jax.tree_util.keystr(path, simple=True, separator="/"): bool(u.any()) for path, u in paths}


def by_keras():
    tokens = keras.Input((4,), dtype="int32")
    x = keras.layers.Embedding(10, WIDTH, name="embedding")(tokens)
    x = x + keras.layers.MultiHeadAttention(HEADS, WIDTH // HEADS, use_bias=False, name="attention")(x, x)
    hidden = keras.layers.Dense(4 * WIDTH, activation="gelu", use_bias=False, name="up")(x)
    block = keras.Model(tokens, x + keras.layers.Dense(WIDTH, use_bias=False, name="down")(hidden))
    before = [np.array(w.value) for w in block.weights]
    muon = keras.optimizers.Muon(0.1, adam_lr_ratio=0.0, weight_decay=0.0, adam_weight_decay=0.0)
    block.compile(muon, "mse")
    block.fit(np.array(TOKENS), np.zeros((1, 4, WIDTH)), verbose=0)
    return {w.path: bool((np.array(w.value) != b).any()) for w, b in zip(block.weights, before)}


attention = {f"attention/{name}/kernel": False for name in ("query", "key", "value")}
feed_forward = {"up/kernel": True, "down/kernel": True}
seen = {"flax and optax": by_flax(), "keras": by_keras()}
for name, moved in seen.items():
    print(name, moved)
assert seen == {
    "flax and optax": {"embedding/embedding": True, **attention, "attention/out/kernel": False, **feed_forward},
    "keras": {"embedding/embeddings": False, **attention, "attention/attention_output/kernel": False, **feed_forward},
}
EOF
