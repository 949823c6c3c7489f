#!/usr/bin/env bash
# A GGUF file of a tiny Llama says how RoPE is stretched for longer texts: by llama.rope.scaling.type = linear and a factor of 4, or,
# as files of Llama 3.1 do, by a tensor rope_freqs.weight that divides each frequency. transformers 5.24.0 opens both files without
# a word and computes plain RoPE. A Llama with the stretched RoPE, made in transformers from the same weights, gives other logits.
# Seen: largest difference over the largest logit: from plain RoPE 0 for both files, from what they say more than 0.3
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 accelerate==1.15.0 gguf==0.19.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - "$folder" <<'EOF'
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM

FOLDER = Path(sys.argv[1])
WIDTH, HIDDEN, LAYERS, HEADS, WORDS, BASE = 64, 96, 2, 2, 64, 10_000.0
PLAIN = {"rope_type": "default", "rope_theta": BASE}
LINEAR = PLAIN | {"rope_type": "linear", "factor": 4.0}
LLAMA3 = PLAIN | {
    "rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 16, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
}
NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}


def llama(rope):
    torch.manual_seed(0)
    config = LlamaConfig(
        hidden_size=WIDTH, intermediate_size=HIDDEN, num_hidden_layers=LAYERS, num_attention_heads=HEADS, num_key_value_heads=HEADS,
        vocab_size=WORDS, max_position_embeddings=64, initializer_range=0.15, rope_parameters=rope,
    )
    return LlamaForCausalLM(config).eval()


def adjacent(x):
    """Rows in the order of GGUF, where RoPE turns neighbours."""
    return np.ascontiguousarray(x.reshape(HEADS, 2, -1, WIDTH).swapaxes(1, 2).reshape(x.shape))


def write(name, arrays, stretch):
    file = gguf.GGUFWriter(FOLDER / name, "llama")
    file.add_context_length(64)
    file.add_embedding_length(WIDTH)
    file.add_block_count(LAYERS)
    file.add_feed_forward_length(HIDDEN)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_layer_norm_rms_eps(1e-6)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_rope_freq_base(BASE)
    file.add_vocab_size(WORDS)
    stretch(file)
    for theirs, ours in (("embed_tokens", "token_embd"), ("norm", "output_norm")):
        file.add_tensor(f"{ours}.weight", arrays[f"model.{theirs}.weight"])
    file.add_tensor("output.weight", arrays["lm_head.weight"])
    for i in range(LAYERS):
        for theirs, ours in NAMES.items():
            x = arrays[f"model.layers.{i}.{theirs}.weight"]
            file.add_tensor(f"blk.{i}.{ours}.weight", adjacent(x) if ours in ("attn_q", "attn_k") else x)
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def by_keys(file):
    file.add_rope_scaling_type(gguf.RopeScalingType.LINEAR)
    file.add_rope_scaling_factor(LINEAR["factor"])


def by_tensor(file):
    frequencies = [llama(rope).model.rotary_emb.inv_freq.numpy() for rope in (PLAIN, LLAMA3)]
    file.add_tensor("rope_freqs.weight", frequencies[0] / frequencies[1])


def logits(model):
    with torch.no_grad():
        return model(5 * torch.arange(1, 25)[None] % WORDS).logits.numpy()


arrays = {name: x.numpy() for name, x in llama(PLAIN).state_dict().items()}
plain = logits(llama(PLAIN))
for name, stretch, rope in (("keys.gguf", by_keys, LINEAR), ("tensor.gguf", by_tensor, LLAMA3)):
    write(name, arrays, stretch)
    found = logits(AutoModelForCausalLM.from_pretrained(FOLDER, gguf_file=name, dtype=torch.float32).eval())
    away = [float(np.abs(found - x).max() / np.abs(x).max()) for x in (plain, logits(llama(rope)))]
    print(f"{name}: from plain RoPE {away[0]:.0e}, from what the file says {away[1]:.2f}")
    assert away[0] < 1e-6 and away[1] > 0.3
EOF
