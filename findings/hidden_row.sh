#!/usr/bin/env bash
# A boolean mask that hides all keys from the first of two queries.
# onnx 1.23.2 gives that query zeros (its Attention operator promises it), jax 0.10.2 and mlx 0.32.4 give
# it the mean of all values, hidden ones included, and tinygrad 0.14.0 gives NaN.
# Seen for four keys: onnx 0, jax and mlx .25 each, tinygrad nan; the second query agrees everywhere.
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
mask = np.array([[False] * 4, [True] * 4])  # True = may look, in all four libraries

tensors = [helper.make_tensor_value_info(name, 1, None) for name in "qkvy"]
tensors.insert(3, helper.make_tensor_value_info("mask", 9, None))
node = helper.make_node("Attention", ["q", "k", "v", "mask"], ["y"])
graph = helper.make_graph([node], "attention", tensors[:4], tensors[4:])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 24)])


def swapped(x):
    return np.swapaxes(x, 1, 2)


found = {
    "onnx": ReferenceEvaluator(model).run(None, {"q": q, "k": k, "v": v, "mask": mask})[0],
    "jax": swapped(jax.nn.dot_product_attention(*map(swapped, (q, k, v)), mask=mask[None, None])),
    "mlx": np.array(
        mx.fast.scaled_dot_product_attention(
            *map(mx.array, (q, k, v)), scale=0.5, mask=mx.array(mask)
        )
    ),
    "tinygrad": Tensor(q)
    .scaled_dot_product_attention(Tensor(k), Tensor(v), attn_mask=Tensor(mask))
    .numpy(),
}
hidden = {name: weights[0, 0, 0].tolist() for name, weights in found.items()}
print(hidden)
for weights in found.values():
    np.testing.assert_allclose(weights[0, 0, 1], found["onnx"][0, 0, 1], atol=1e-6)
assert hidden["onnx"] == [0] * 4
np.testing.assert_allclose(hidden["jax"], [0.25] * 4, atol=1e-6)
np.testing.assert_allclose(hidden["mlx"], [0.25] * 4, atol=1e-6)
assert np.isnan(hidden["tinygrad"]).all()
EOF
