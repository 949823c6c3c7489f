#!/usr/bin/env bash
# A tiny random Gemma 2, saved by transformers 5.24.0 and converted by CTranslate2 4.8.5. Without soft caps, with a window that is
# longer than the text and the usual scale of the scores, the log-probabilities agree. What does each of Gemma 2's own keys change?
# Nothing: the converted model has no soft cap on the scores, none on the logits, no window, and always the scale 1 / √(head size).
# A soft cap on the logits leaves their order, so greedy decoding does not show it; sampling does.
# Seen: largest difference over the largest log-probability: plain below 0.00001; each of the four keys above 0.1
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 ctranslate2==4.8.5 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder" <<'EOF'
import shutil
import sys
from pathlib import Path

import ctranslate2
import numpy as np
import torch
from tokenizers import Tokenizer, models
from transformers import Gemma2Config, Gemma2ForCausalLM, PreTrainedTokenizerFast

FOLDER = Path(sys.argv[1])
SAVED, CONVERTED = FOLDER / "saved", FOLDER / "converted"
WORDS = {f"t{i}": i for i in range(64)}
PLAIN = dict(sliding_window=64, final_logit_softcapping=None, attn_logit_softcapping=None, query_pre_attn_scalar=8)
KEYS = dict(sliding_window=4, final_logit_softcapping=5.0, attn_logit_softcapping=2.0, query_pre_attn_scalar=256)


def difference(**keys):
    config = Gemma2Config(
        hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8,
        vocab_size=64, max_position_embeddings=64, initializer_range=0.3, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        **PLAIN | keys,
    )
    torch.manual_seed(0)
    model = Gemma2ForCausalLM(config).eval()
    for folder in (SAVED, CONVERTED):
        shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(SAVED)
    tokenizer = Tokenizer(models.WordLevel(WORDS, unk_token="t3"))
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="t3", bos_token="t1", eos_token="t2", pad_token="t0"
    ).save_pretrained(SAVED)
    ctranslate2.converters.TransformersConverter(str(SAVED)).convert(str(CONVERTED))
    text = 5 * torch.arange(1, 25)[None] % 64
    with torch.no_grad():
        expected = torch.log_softmax(model(text).logits, -1)[0].numpy()
    generator = ctranslate2.Generator(str(CONVERTED))
    found = np.array(generator.forward_batch([text[0].tolist()], return_log_probs=True))[0]
    return float(np.abs(found - expected).max() / np.abs(expected).max())


plain = difference()
changed = {key: difference(**{key: value}) for key, value in KEYS.items()}
print(f"plain {plain:.0e};", ", ".join(f"{key} {x:.2f}" for key, x in changed.items()))
assert plain < 1e-5 and all(x > 0.1 for x in changed.values())
EOF
