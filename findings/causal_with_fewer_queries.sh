#!/usr/bin/env bash
# Two queries, four keys, causal attention, no cache argument (as in decoding with keys kept by hand).
# jax 0.10.2, tinygrad 0.14.0 and the Attention operator of onnx 1.23.2 align the triangle at the top left:
# the first query sees one key. mlx 0.32.4 aligns it at the bottom right: the first query sees three.
# Seen: keys in view of the two queries are 1, 2 for jax, tinygrad and onnx; 3, 4 for mlx.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet jax==0.10.2 'mlx[cpu]==0.32.4' onnx==1.23.2 tinygrad==0.14.0
DEV=PYTHON "$folder/env/bin/python" - <<'EOF'
import jax
import mlx.core as mx
import numpy as np
import onnx.helper as helper
from onnx.reference import ReferenceEvaluator
from tinygrad import Tensor

rng = np.random.default_rng(0)
q = rng.normal(size=(1, 1, 2, 4)).astype(np.float32)  # batch, heads, queries, width
k = rng.normal(size=(1, 1, 4, 4)).astype(np.float32)
v = np.eye(4, dtype=np.float32)[None, None]  # the output is the row of weights

tensors = [helper.make_tensor_value_info(name, 1, None) for name in "qkvy"]
node = helper.make_node("Attention", ["q", "k", "v"], ["y"], is_causal=1)
graph = helper.make_graph([node], "attention", tensors[:3], tensors[3:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])


def swapped(x):
    return np.swapaxes(x, 1, 2)


found = {
    "jax": swapped(jax.nn.dot_product_attention(*map(swapped, (q, k, v)), is_causal=True)),
    "tinygrad": Tensor(q).scaled_dot_product_attention(Tensor(k), Tensor(v), is_causal=True).numpy(),
    "onnx": ReferenceEvaluator(model).run(None, {"q": q, "k": k, "v": v})[0],
    "mlx": np.array(
        mx.fast.scaled_dot_product_attention(*map(mx.array, (q, k, v)), scale=0.5, mask="causal")
    ),
}
seen = {name: (weights[0, 0] > 0).sum(axis=-1).tolist() for name, weights in found.items()}
print(seen)
assert seen == {"jax": [1, 2], "tinygrad": [1, 2], "onnx": [1, 2], "mlx": [3, 4]}
EOF
