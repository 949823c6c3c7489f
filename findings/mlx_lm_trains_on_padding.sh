#!/usr/bin/env bash
# Fine-tuning on texts of n tokens has n - 1 targets each. How many does the loss of mlx-lm 0.32.2 count, and which?
# It pads rows with token 0 and counts one target too many, the first token of the padding. So a model learns to write
# token 0, often "!" or an end of text, after each text, and the losses reported for training and validation contain it. If
# the prompt is masked and one target is left, half of the loss is padding.
# Seen: targets and loss of a model that predicts each true target with certainty, so that its loss should be 0:
# 5 tokens: 5 targets, 4.0; 32 tokens: 32, 0.62; 7 tokens of a prompt, then 1: 2, 10.0
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet 'mlx[cpu]==0.32.4' mlx-lm==0.32.2
"$folder/env/bin/python" - <<'EOF'
import mlx.core as mx
from mlx_lm.tuner.trainer import default_loss, iterate_batches

N_VOCAB, SURE = 100, 20.0


def next_number(tokens):
    """A model that is sure that each token is followed by the next number."""
    return SURE * (tokens[..., None] + 1 == mx.arange(N_VOCAB))


def loss_of(n_tokens, n_prompt=0):
    text = list(range(3, 3 + n_tokens))
    batch, lengths = next(iterate_batches([(text, n_prompt)], batch_size=1, max_seq_length=2048))
    loss, n_targets = default_loss(next_number, batch, lengths)
    return n_targets.item(), round(loss.item(), 2)


seen = {"5 tokens": loss_of(5), "32 tokens": loss_of(32), "7 tokens of a prompt, then 1": loss_of(8, n_prompt=7)}
print(seen)
assert seen == {"5 tokens": (5, 4.0), "32 tokens": (32, 0.62), "7 tokens of a prompt, then 1": (2, 10.0)}
EOF
