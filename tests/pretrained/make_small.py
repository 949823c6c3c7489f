"""Write small.gguf with the package gguf, and what it decodes it to: python make_small.py.

The package is no part of the book's environment; 0.19.0 wrote what is here, in one of its own.
"""

import json
from pathlib import Path

import gguf
import numpy as np
from gguf.quants import dequantize, quantize

HERE = Path(__file__).parent
FILE = HERE / "small.gguf"
KINDS = [gguf.GGMLQuantizationType[name] for name in ("F32", "F16", "Q4_0", "Q4_1", "Q8_0")]

writer = gguf.GGUFWriter(str(FILE), "llama")
writer.add_uint64("a.count", 2**40)
writer.add_float64("a.float", 0.1)
writer.add_bool("a.flag", True)
writer.add_string("a.text", "naïve, 中")
writer.add_array("a.words", ["Ġt", "", "é"])
writer.add_array("a.numbers", [3, -1, 2**31 - 1])
writer.add_array("a.flags", [True, False])
rng = np.random.default_rng(0)
for kind in KINDS:
    numbers = rng.standard_normal((3, 64)).astype(np.float32)
    stored = quantize(numbers, kind)
    writer.add_tensor(f"x.{kind.name}", stored, raw_dtype=kind)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()

found = gguf.GGUFReader(FILE)
metadata = {
    key: field.contents() for key, field in found.fields.items() if not key.startswith("GGUF.")
}
tensors = {}
for one in found.tensors:
    numbers = np.asarray(dequantize(one.data, one.tensor_type), dtype="<f4")
    tensors[one.name] = [list(numbers.shape), numbers.tobytes().hex()]
told = {"metadata": metadata, "tensors": tensors}
text = json.dumps(told, indent=1, ensure_ascii=False)
(HERE / "small.json").write_text(text + "\n", encoding="utf-8")
