#!/usr/bin/env bash
# PyTorch 2.13.0 has a product of four-bit weights for CPUs, and takes inputs in bfloat16, float16 and float32. Which is fast?
# Only bfloat16 is. The same product in float32 is slower than the plain one with float32 weights, which reads eight times as much.
# Seen on an x86 processor with AVX-512, one thread, 576 inputs and 1,536 outputs: bfloat16 61 µs, float16 2,809, float32 2,121;
# float32 weights 141. No warning says so. All three dtypes give the same numbers, up to their rounding.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import time

import torch

torch.set_num_threads(1)
generator = torch.Generator().manual_seed(0)
q = torch.randint(0, 16, (1536, 576), generator=generator, dtype=torch.int32)
packed = torch._convert_weight_to_int4pack_for_cpu(q, 1)
x = torch.randint(-4, 5, (1, 576), generator=generator).float()
scales_and_zeros = torch.ones(18, 1536, 2)
right = x @ (q.float() - 8 + 1).T


def microseconds(call):
    times = []
    for _ in range(50):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * min(times)


seen = {}
weights = torch.randn(1536, 576)
seen["float32 weights"] = microseconds(lambda: torch.nn.functional.linear(x, weights))
for dtype in (torch.bfloat16, torch.float16, torch.float32):
    given = x.to(dtype), packed, 32, scales_and_zeros.to(dtype)
    y = torch._weight_int4pack_mm_for_cpu(*given)
    assert ((y.float() - right).abs() <= right.abs() / 64 + 1).all()
    seen[str(dtype)] = microseconds(lambda: torch._weight_int4pack_mm_for_cpu(*given))
print({name: round(value) for name, value in seen.items()})
fast = seen["torch.bfloat16"]
assert fast < seen["float32 weights"]
assert all(seen[f"torch.{name}"] > 5 * fast for name in ("float16", "float32"))
assert all(seen[f"torch.{name}"] > 2 * seen["float32 weights"] for name in ("float16", "float32"))
EOF
