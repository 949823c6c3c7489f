#!/usr/bin/env bash
# Three ways to count the FLOPs of a transformer, each against the products by hand. PyTorch 2.13.0: on a CPU FlopCounterMode counts no
# FLOPs in scaled_dot_product_attention of arrays with four axes, forwards or backwards, and none at all in nn.TransformerEncoderLayer in
# evaluation without gradients, which is one operation there. With the backend MATH it counts all of attention. JAX 0.10.2:
# cost_analysis counts the body of lax.scan once, so eight layers in a scan count as one; in a Python loop as eight. transformers 5.24.0: the
# Trainer's FLOPs (total_flos) leave out the product with the vocabulary if its weights are tied to the embedding, and count every
# expert of a mixture, chosen or not.
# Seen: counted over true: attention 0, by MATH 1; encoder layer with gradients 0.86, without 0; scan 0.125, loop 1.
# Counted with one expert of four over all four: 1. Tied over untied weights: 0.88
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 accelerate==1.15.0 jax==0.10.2 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder" <<'EOF'
import sys

import jax
import jax.numpy as jnp
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.flop_counter import FlopCounterMode
from transformers import LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM, Trainer, TrainingArguments

LENGTH, WIDTH, HEADS, LAYERS = 128, 128, 4, 8
ATTENTION = 2 * 2 * LENGTH**2 * WIDTH
LAYER = ATTENTION + 12 * 2 * LENGTH * WIDTH**2


def counted(run):
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()


q = torch.randn(1, HEADS, LENGTH, WIDTH // HEADS, requires_grad=True)
plain = counted(lambda: scaled_dot_product_attention(q, q, q).sum().backward())
with sdpa_kernel(SDPBackend.MATH):
    split = counted(lambda: scaled_dot_product_attention(q, q, q))
layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, batch_first=True).eval()
x = torch.randn(1, LENGTH, WIDTH)
with_gradients = counted(lambda: layer(x))
with torch.no_grad():
    without = counted(lambda: layer(x))
print(f"PyTorch: attention {plain}, by MATH {split / ATTENTION:g}, layer {with_gradients / LAYER:.2f}, without gradients {without}")
assert plain == without == 0 and split == ATTENTION and with_gradients == LAYER - ATTENTION


def scan(x, weights):
    return jax.lax.scan(lambda h, w: (jnp.tanh(h @ w), None), x, weights)[0]


def loop(x, weights):
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


arrays = jnp.ones((LENGTH, WIDTH)), jnp.ones((LAYERS, WIDTH, WIDTH))
assert jnp.allclose(scan(*arrays), loop(*arrays))
true = LAYERS * 2 * LENGTH * WIDTH**2
ratios = {f.__name__: jax.jit(f).lower(*arrays).compile().cost_analysis()["flops"] / true for f in (scan, loop)}
print("JAX:", ", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()))
assert abs(ratios["scan"] - 1 / LAYERS) < 0.01 and abs(ratios["loop"] - 1) < 0.01

SIZES = dict(vocab_size=64, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2)


def by_trainer(model):
    settings = TrainingArguments(output_dir=sys.argv[1], report_to=[], use_cpu=True)
    return Trainer(model=model, args=settings).floating_point_ops({"input_ids": torch.zeros(1, 24, dtype=torch.long)})


tied, untied = (by_trainer(LlamaForCausalLM(LlamaConfig(**SIZES, tie_word_embeddings=t))) for t in (True, False))
one, four = (by_trainer(MixtralForCausalLM(MixtralConfig(**SIZES, num_local_experts=4, num_experts_per_tok=n))) for n in (1, 4))
print(f"Trainer: tied over untied {tied / untied:.2f}, one expert over four {one / four:g}")
assert untied - tied == 6 * 24 * 64 * 32 and one == four
EOF
