#!/usr/bin/env bash
# Speculative decoding at temperature 1, with a copy of the model as its own draft. By the rule of speculative sampling a drafted token is kept
# with probability min(1, p / q), which is 1 here, so a pass over four drafted tokens should give five, and does in transformers 5.24.0.
# mlx-lm 0.32.2 lets the model draw a token of its own, and keeps the drafted one only if both are the same: with probability sum p q, here
# sum p^2. The text is distributed alike in both, but at temperature 1 mlx-lm's drafts save next to nothing, however good they are.
# Seen: tokens a pass: transformers greedy and at temperature 1 5.0; mlx-lm greedy 5.0, at 0.5 1.5, at 1 1.1. Share of first drafted tokens
# that mlx-lm keeps, and the mean of sum p^2: at 0.5 0.34 and 0.34, at 1 0.07 and 0.09
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 mlx-lm==0.32.2 "mlx[cpu]==0.32.4" numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import mlx.core as mx
import torch
from mlx.utils import tree_map
from mlx_lm.generate import speculative_generate_step
from mlx_lm.models import llama
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

logging.set_verbosity_error()

TOKENS = 400
SIZES = dict(
    hidden_size=32, num_hidden_layers=2, intermediate_size=48, num_attention_heads=4, num_key_value_heads=4, rms_norm_eps=1e-6,
    vocab_size=64,
)  # fmt: skip


def in_mlx(temperature):
    """Tokens a pass, and the mean of the sum of squared probabilities where a pass began."""
    mx.random.seed(0)
    model = llama.Model(llama.ModelArgs(model_type="llama", tie_word_embeddings=False, **SIZES))
    model.update(tree_map(lambda x: mx.random.normal(x.shape) * 0.3 if x.ndim > 1 else x, model.parameters()))

    def sample(x):
        return mx.random.categorical(x / temperature) if temperature else mx.argmax(x, axis=-1)

    steps = list(speculative_generate_step(mx.array([1, 2, 3]), model, model, num_draft_tokens=4, max_tokens=TOKENS, sampler=sample))
    passes = sum(not drafted for _, _, drafted in steps)
    first = [i for i in range(TOKENS) if i == 0 or not steps[i - 1][2]]
    kept = sum(steps[i][2] for i in first) / len(first)
    squares = [float((mx.softmax(steps[i][1] / (temperature or 1)) ** 2).sum()) for i in first]
    return TOKENS / passes, kept, sum(squares) / len(squares)


def in_transformers(**choice):
    """Tokens a pass of the larger model, here a second copy of the model that drafts."""
    models = []
    for _ in range(2):
        torch.manual_seed(0)
        config = LlamaConfig(**SIZES, initializer_range=0.3, max_position_embeddings=512, pad_token_id=None, eos_token_id=None)
        models.append(LlamaForCausalLM(config).eval())
    model, draft = models
    draft.generation_config.num_assistant_tokens = 4
    draft.generation_config.num_assistant_tokens_schedule = "constant"
    draft.generation_config.assistant_confidence_threshold = 0.0
    passes = []
    model.register_forward_hook(lambda *_: passes.append(1))
    prompt = torch.tensor([[1, 2, 3]])
    text = model.generate(prompt, assistant_model=draft, max_new_tokens=TOKENS, **choice)
    return (text.shape[1] - 3) / len(passes)


greedy = in_transformers(do_sample=False)
sampled = in_transformers(do_sample=True, temperature=1.0, top_k=0, top_p=1.0)
print(f"transformers: greedy {greedy:.2f}, at 1 {sampled:.2f}")
assert greedy > 4.9 and sampled > 4.9
for temperature in (0.0, 0.5, 1.0):
    each, kept, squares = in_mlx(temperature)
    print(f"mlx-lm at {temperature:g}: {each:.2f}; kept at first {kept:.2f}, sum p^2 {squares:.2f}")
    assert each > 4.5 if temperature == 0 else each < 2 and abs(kept - squares) < 0.1
EOF
