#!/usr/bin/env bash
# The operator Attention (opset 24) can return its scores: with qk_matmul_output_mode=0 "the output of
# qk matmul", with 1 the same after the soft cap. With softcap=1 the reference evaluator of onnx 1.23.2
# returns the capped scores for both; onnxruntime 1.32.0 returns plain ones for 0.
# Seen: the reference's mode 0 is tanh of onnxruntime's mode 0, and equal to mode 1 of both.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet onnx==1.23.2 onnxruntime==1.32.0
"$folder/env/bin/python" - <<'EOF'
import numpy as np
import onnx.helper as helper
import onnxruntime
from onnx.reference import ReferenceEvaluator

rng = np.random.default_rng(0)
feeds = {name: rng.normal(size=(1, 1, 2, 4)).astype(np.float32) for name in "qkv"}


def scores(mode):
    """What the reference and what the runtime return as scores."""
    tensors = {name: helper.make_tensor_value_info(name, 1, None) for name in "qkvys"}
    tensors["s"] = helper.make_tensor_value_info("s", 1, [1, 1, 2, 2])
    node = helper.make_node(
        "Attention", [*"qkv"], ["y", "", "", "s"], softcap=1.0, qk_matmul_output_mode=mode
    )
    graph = helper.make_graph(
        [node], "attention", [tensors[x] for x in "qkv"], [tensors[x] for x in "ys"]
    )
    opset = helper.make_opsetid("", 24)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=11)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return ReferenceEvaluator(model).run(None, feeds)[1], session.run(None, feeds)[1]


plain = feeds["q"] @ feeds["k"].swapaxes(-1, -2) / 2
(reference, runtime), (capped, capped_too) = scores(0), scores(1)
print("reference, mode 0:", reference.ravel(), "runtime, mode 0:", runtime.ravel())
np.testing.assert_allclose(runtime, plain, atol=1e-6)
np.testing.assert_allclose(reference, np.tanh(plain), atol=1e-6)
np.testing.assert_allclose(capped, capped_too, atol=1e-6)
np.testing.assert_allclose(reference, capped, atol=1e-6)
assert abs(reference - plain).max() > 0.01
EOF
