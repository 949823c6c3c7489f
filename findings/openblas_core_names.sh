#!/usr/bin/env bash
# OPENBLAS_CORETYPE chooses the kernels of OpenBLAS by the name of a processor. The wheel of numpy 2.4.6
# for x86-64 accepts names that it has no kernels for and says nothing: Zen gives those of Haswell, and
# Sapphirerapids those of SkylakeX (Haswell without AVX-512). So a test on "four processors" is one on two.
# Seen: Zen -> Haswell, Sapphirerapids -> as SkylakeX, Nehalem -> Nehalem. Needs x86-64 with AVX2.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet numpy==2.4.6 threadpoolctl==3.8.0
"$folder/env/bin/python" - <<'EOF'
import os
import subprocess
import sys

ASK = "import numpy, threadpoolctl; print(threadpoolctl.threadpool_info()[0]['architecture'])"


def core(name):
    """The kernels that a process has which asks for these."""
    surroundings = os.environ | {"OPENBLAS_CORETYPE": name}
    return subprocess.check_output([sys.executable, "-c", ASK], env=surroundings, text=True).strip()


found = {name: core(name) for name in ("Nehalem", "Haswell", "Zen", "SkylakeX", "Sapphirerapids")}
print(found)
assert found["Nehalem"] == "Nehalem"
assert found["Zen"] == found["Haswell"] == "Haswell"
assert found["Sapphirerapids"] == found["SkylakeX"]
EOF
