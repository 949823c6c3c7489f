#!/usr/bin/env bash
# The cross-entropy of four tokens, of which three are padding, with all logits 0 over eight tokens: it is ln 8 = 2.079 for the one token
# that counts. tinygrad 0.14.0 (sparse_categorical_crossentropy) gives this if padding is marked by -100 or by 7. Marked by -1,
# with ignore_index=-1, padding adds nothing to the sum but counts in the mean: the loss is a quarter.
# In tinygrad -1 is also the default of ignore_index. With label smoothing padding adds to the sum as well.
# Seen: marked by -100 2.079, by 7 2.079, by -1 0.520; with label smoothing of 0.1: 2.079, 2.079, 0.676
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet tinygrad==0.14.0 numpy==2.4.6
DEV=PYTHON "$folder/env/bin/python" - <<'EOF'
from tinygrad import Tensor


def loss(mark, smoothing):
    targets = Tensor([2, mark, mark, mark])
    logits = Tensor.zeros(4, 8)
    found = logits.sparse_categorical_crossentropy(targets, ignore_index=mark, label_smoothing=smoothing)
    return round(found.item(), 3)


seen = {smoothing: [loss(mark, smoothing) for mark in (-100, 7, -1)] for smoothing in (0.0, 0.1)}
print(seen)
assert seen == {0.0: [2.079, 2.079, 0.52], 0.1: [2.079, 2.079, 0.676]}
EOF
