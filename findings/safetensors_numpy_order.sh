#!/usr/bin/env bash
# safetensors.numpy.save asks for contiguous arrays in its docstring and does not look: safetensors 0.8.0
# writes a transposed array in the order of memory under the transposed shape, so what is loaded has the
# right shape, the right numbers and the wrong places. (Its functions for PyTorch raise an error instead.)
# Seen: [[0, 3], [1, 4], [2, 5]] comes back as [[0, 1], [2, 3], [4, 5]].
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 safetensors==0.8.0
"$folder/env/bin/python" - <<'EOF'
import numpy as np
from safetensors.numpy import load, save

weights = np.arange(6, dtype=np.float32).reshape(2, 3).T
back = load(save({"weights": weights}))["weights"]
print(weights.tolist(), "comes back as", back.tolist())
assert back.shape == weights.shape
assert back.tolist() == [[0, 1], [2, 3], [4, 5]]
assert load(save({"weights": np.ascontiguousarray(weights)}))["weights"].tolist() == weights.tolist()
EOF
