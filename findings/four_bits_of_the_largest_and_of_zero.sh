#!/usr/bin/env bash
# A row of 32 weights has 1, −1 and 0 among others between −0.9 and 0.9. What are these three after a conversion to four bits and back?
# GGUF's Q4_0 has the codes −8 to 7 for one scale, and the first of the largest weights gets −8: its opposite loses an eighth.
# GGUF's Q4_1 keeps the least and the largest, and has no code for zero. MLX shifts its minimum so that zero has one, and NF4 has
# 1, −1 and 0 in its table. torchao, asked for one scale and one offset, keeps neither end; HQQ moves all three.
# Seen: Q4_0 1, −0.875, 0; Q4_1 1, −1, −0.067; MLX 1, −1, 0; NF4 1, −1, 0; torchao 0.933, −0.933, 0; HQQ 0.996, −1.004, 0.063
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 gguf==0.19.0 'mlx[cpu]==0.32.4' bitsandbytes==0.50.2 \
  torchao==0.18.0 hqq==0.2.8.post1 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import bitsandbytes.functional as nf4
import mlx.core as mx
import numpy as np
import torch
from gguf import GGMLQuantizationType, quants
from hqq.core.quantize import Quantizer
from torchao.quantization import quant_primitives as ao

row = np.concatenate([[1, -1, 0], np.linspace(-0.9, 0.9, 29)]).astype(np.float32)
tensor = torch.from_numpy(row)[None]


def by_gguf(kind):
    return quants.dequantize(quants.quantize(row[None], kind), kind)[0]


def by_mlx():
    parts = mx.quantize(mx.array(row[None]), group_size=32, bits=4)
    return np.array(mx.dequantize(*parts, group_size=32, bits=4))[0]


def by_nf4():
    parts = nf4.quantize_4bit(torch.tile(tensor, (1, 2)), quant_type="nf4", blocksize=64)
    return nf4.dequantize_4bit(*parts)[0].numpy()


def by_torchao():
    kind = (ao.MappingType.ASYMMETRIC, (1, 32), torch.uint8, 0, 15)
    scale, zero = ao.choose_qparams_affine(tensor, *kind)
    codes = ao.quantize_affine(tensor, (1, 32), scale, zero, torch.uint8, 0, 15)
    return ao.dequantize_affine(codes, (1, 32), scale, zero, torch.uint8, 0, 15)[0].numpy()


def by_hqq():
    parts = Quantizer.quantize(torch.tile(tensor, (4, 1)), nbits=4, group_size=32, axis=1, device="cpu", compute_dtype=torch.float32)
    return Quantizer.dequantize(*parts)[0].numpy()


found = {
    "Q4_0": by_gguf(GGMLQuantizationType.Q4_0),
    "Q4_1": by_gguf(GGMLQuantizationType.Q4_1),
    "MLX": by_mlx(),
    "NF4": by_nf4(),
    "torchao": by_torchao(),
    "HQQ": by_hqq(),
}
expected = {
    "Q4_0": [1, -0.875, 0],
    "Q4_1": [1, -1, -0.067],
    "MLX": [1, -1, 0],
    "NF4": [1, -1, 0],
    "torchao": [0.933, -0.933, 0],
    "HQQ": [0.996, -1.004, 0.063],
}
for name, weights in found.items():
    print(name, weights[:3].round(3).tolist())
    assert np.allclose(weights[:3], expected[name], atol=0.0011), name
EOF
