#!/usr/bin/env bash
# Normal weights with a given standard deviation, converted to GGUF's eight bits (Q8_0), to its four (Q4_0), and back by gguf 0.19.0. Both
# give a block of 32 weights one scale, so one would bet that eight bits lose half a percent at any size, and always less than four.
# But the scale is a float16, and below 0.00006 a float16 has ever fewer bits. The scale of Q8_0 is the largest weight / 127, that of
# Q4_0 the largest / 8, so Q8_0 gets there first. At 0.00001 four bits are better than eight, and at 0.000001, where Q4_0 loses 10 %, all
# weights of Q8_0 are zero. The second factor of a LoRA, which begins at zero, passes through these sizes.
# MLX 0.32.4 in eight bits keeps the scale in the type of the weights.
# Seen: the error over the norm at 0.001, 0.0001, 0.00001, 0.000001: Q8_0 0.005 0.012 0.092 1; Q4_0 0.087 0.081 0.086 0.104;
# MLX 0.005 0.005 0.005 0.027
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet gguf==0.19.0 'mlx[cpu]==0.32.4' numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import mlx.core as mx
import numpy as np
from gguf import GGMLQuantizationType as Kind
from gguf import quants

rng = np.random.default_rng(0)
sizes = [1e-3, 1e-4, 1e-5, 1e-6]


def by_gguf(weights, kind):
    return quants.dequantize(quants.quantize(weights, kind), kind)


def by_mlx(weights):
    return np.array(mx.dequantize(*mx.quantize(mx.array(weights), group_size=32, bits=8), group_size=32, bits=8))


errors = {"Q8_0": [], "Q4_0": [], "MLX": []}
for size in sizes:
    weights = (size * rng.normal(size=(8, 256))).astype(np.float32)
    back = {
        "Q8_0": by_gguf(weights, Kind.Q8_0),
        "Q4_0": by_gguf(weights, Kind.Q4_0),
        "MLX": by_mlx(weights),
    }
    for name, found in back.items():
        errors[name].append(float(np.linalg.norm(found - weights) / np.linalg.norm(weights)))
for name, found in errors.items():
    print(name, np.round(found, 3).tolist())
assert errors["Q8_0"][0] < 0.006 and errors["Q8_0"][2] > errors["Q4_0"][2] and errors["Q8_0"][3] == 1
assert all(0.08 < error < 0.12 for error in errors["Q4_0"])
assert max(errors["MLX"]) < 0.03
EOF
