#!/usr/bin/env bash
# A tiny random GPT-Neo, whose second layer sees a window of 4 tokens, generates by transformers 5.24.0 with its usual cache and with
# cache_implementation="static", which reserves the place of all tokens at once. The text should be the same. It is not: the layer
# counts its window back from the last place reserved, not from the last token. Mistral, Gemma 3 and GPT-2 do not change,
# nor does GPT-Neo with a window as long as the text.
# Seen: tokens of 16 that greedy decoding chooses alike: GPT-Neo 5, with a window of 64 16, Mistral 16, Gemma 3 16, GPT-2 16
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import torch
import transformers

transformers.utils.logging.set_verbosity_error()
PROMPT = torch.arange(2, 12)[None] * 5 % 61 + 3
SIZES = dict(vocab_size=64, hidden_size=32, initializer_range=0.3, max_position_embeddings=64, bos_token_id=1, eos_token_id=2)
LAYERS = dict(num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=8, intermediate_size=48)
NEO = dict(num_layers=2, num_heads=4, attention_types=[[["global", "local"], 1]])
KINDS = {
    "GPT-Neo": ("GPTNeo", dict(**NEO, window_size=4)),
    "GPT-Neo, wide": ("GPTNeo", dict(**NEO, window_size=64)),
    "Mistral": ("Mistral", dict(**LAYERS, sliding_window=4)),
    "Gemma 3": ("Gemma3Text", dict(**LAYERS, sliding_window=4, pad_token_id=0)),
    "GPT-2": ("GPT2", dict(n_layer=2, n_head=4)),
}


def alike(kind, keys):
    torch.manual_seed(0)
    config = getattr(transformers, kind + "Config")(**SIZES, **keys)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    choice = dict(do_sample=False, max_new_tokens=16, pad_token_id=0, eos_token_id=None)
    usual = model.generate(PROMPT, **choice)
    static = model.generate(PROMPT, **choice, cache_implementation="static", disable_compile=True)
    return int((usual == static)[0, 10:].sum())


found = {name: alike(*each) for name, each in KINDS.items()}
print(found)
assert found.pop("GPT-Neo") < 16
assert set(found.values()) == {16}
EOF
