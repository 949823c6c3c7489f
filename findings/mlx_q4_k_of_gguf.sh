#!/usr/bin/env bash
# A GGUF file with one tensor in Q4_K, the commonest format of models in four bits, and one in BF16. The README of mlx-examples says
# that "MLX is able to read most quantization formats from GGUF directly" and that it casts those it does not support to float16.
# Q4_K has 8 groups of 32 weights in a block, each with a scale and a minimum of its own. mlx 0.32.4 gives each second group the scale
# and the minimum of the group before it. gguf 0.19.0 and tinygrad 0.14.0 agree on the file to the last bit.
# BF16 is no quantization, and MLX has the type: it loads such a tensor as float16 all the same, so 100,000 becomes infinity.
# Seen: largest error of the 8 groups of MLX 0 4.91 0 3.05 0 3.08 0 1.59, where the largest weight is 8.29; [100000, 1] loads as [inf, 1]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet gguf==0.19.0 'mlx[cpu]==0.32.4' tinygrad==0.14.0 numpy==2.4.6
DEV=PYTHON "$folder/env/bin/python" - "$folder/model.gguf" <<'EOF'
import sys
from pathlib import Path

import gguf
import mlx.core as mx
import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import quants
from tinygrad import Tensor
from tinygrad.llm.gguf import gguf_load

# A block of Q4_K: two float16, the factors of all scales and of all minima; 12 bytes of scales and minima; 128 bytes of codes.
factors = np.array([0.01, 0.02], np.float16).view(np.uint8)
block = np.concatenate([factors, np.random.default_rng(0).integers(0, 256, 140, dtype=np.uint8)])[None]
large = np.array([[1e5, 1] + [0] * 30], np.float32)

writer = gguf.GGUFWriter(sys.argv[1], "llama")
writer.add_tensor("block", block, raw_dtype=Kind.Q4_K)
writer.add_tensor("large", quants.quantize(large, Kind.BF16), raw_dtype=Kind.BF16)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

expected = quants.dequantize(block, Kind.Q4_K)
np.testing.assert_array_equal(gguf_load(Tensor(Path(sys.argv[1])))[1]["block"].cast("float32").numpy(), expected)
loaded = {name: np.array(x.astype(mx.float32)) for name, x in mx.load(sys.argv[1]).items()}
error = np.abs(loaded["block"] - expected).reshape(8, 32).max(axis=1)
print("errors of the groups", error.round(2), "largest weight", np.abs(expected).max().round(2))
print("BF16", large[0, :2], "loads as", loaded["large"][0, :2])
assert (error[::2] < 0.004).all() and (error[1::2] > 0.8).all()
assert loaded["large"][0, :2].tolist() == [np.inf, 1]
EOF
