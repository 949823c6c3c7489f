#!/usr/bin/env bash
# Sinusoidal positions at width 8: the paper of 2017 has the frequencies 1, .1, .01 and .001, sine beside cosine.
# In transformers 5.24.0, Marian has these frequencies, with all sines before all cosines. Whisper and M2M-100 divide the
# exponent by 3 in place of 4: their frequencies are 1, .0464, .0022 and .0001. Tables of one kind cannot stand in for
# the other, and no shape tells them apart.
# Seen: marian [1, .1, .01, .001]; whisper and m2m_100 [1, .0464, .0022, .0001]
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
"$folder/env/bin/python" - <<'EOF'
import numpy as np
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding
from transformers.models.marian.modeling_marian import MarianSinusoidalPositionalEmbedding
from transformers.models.whisper.modeling_whisper import sinusoids

WIDTH = 8
tables = {
    "marian": MarianSinusoidalPositionalEmbedding(2, WIDTH).create_weight(),
    "whisper": sinusoids(2, WIDTH),
    "m2m_100": M2M100SinusoidalPositionalEmbedding.get_embedding(2, WIDTH, None),
}
seen = {}
for name, table in tables.items():
    sines, cosines = np.asarray(table[1]).reshape(2, -1)  # of position 1: halves, not pairs
    assert np.allclose(sines**2 + cosines**2, 1, atol=1e-6), name
    seen[name] = np.arcsin(sines).round(4).tolist()
print(seen)
paper = (10000.0 ** -(np.arange(0, WIDTH, 2) / WIDTH)).tolist()
assert np.allclose(seen["marian"], paper, atol=1e-4)
for name in ("whisper", "m2m_100"):
    assert np.allclose(seen[name], 10000.0 ** -(np.arange(4) / 3), atol=1e-4), name
EOF
