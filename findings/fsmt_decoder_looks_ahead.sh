#!/usr/bin/env bash
# FSMT is the encoder-decoder of the WMT19 translation models in transformers. Given a source and a whole target (decoder_input_ids), as when
# one scores a translation, a decoder must not look ahead: change the end of the target, and the logits before it should stay.
# In transformers 5.24.0 they change, without a word. A call makes a cache by default, and with a cache FSMT makes no causal mask,
# as if the target were one new token; it drops decoder_attention_mask too. With use_cache=False, and with labels=, it is causal, and
# generation gives one token at a time. Bart, Marian, T5 and PEGASUS are causal in all these calls.
# Seen: largest change over the largest logit before the changed end: FSMT by default 0.15, with use_cache=False and with labels 0; the others 0.
# Mean log-probability of a token of the target: FSMT by default -5.05, with use_cache=False -4.95; the others alike in both
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet torch==2.13.0 transformers==5.24.0 numpy==2.4.6
HF_HUB_OFFLINE=1 "$folder/env/bin/python" - <<'EOF'
import torch
import transformers

transformers.utils.logging.set_verbosity_error()

SOURCE, TARGET = torch.arange(4, 16)[None], torch.arange(2, 12)[None] * 5 % 61 + 3
OTHER = torch.cat([TARGET[:, :6], torch.full((1, 4), 20)], 1)
SIZES = dict(
    d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
    decoder_ffn_dim=48, max_position_embeddings=64, init_std=0.3,
)  # fmt: skip
KINDS = {
    "FSMT": dict(SIZES, src_vocab_size=64, tgt_vocab_size=64, langs=["en", "de"]),
    "Bart": dict(SIZES, vocab_size=64),
    "Marian": dict(SIZES, vocab_size=64, pad_token_id=0, decoder_start_token_id=0),
    "Pegasus": dict(SIZES, vocab_size=64),
    "T5": dict(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=0),
}
CALLS = {
    "by default": {},
    "with a mask of ones": dict(decoder_attention_mask=torch.ones_like(TARGET)),
    "use_cache=False": dict(use_cache=False),
    "labels": dict(labels=TARGET),
}


@torch.no_grad()
def logits(model, target, **call):
    return model(SOURCE, attention_mask=torch.ones_like(SOURCE), decoder_input_ids=target, **call).logits


def change(model, call):
    first, second = logits(model, TARGET, **call)[:, :6], logits(model, OTHER, **call)[:, :6]
    return float((first - second).abs().max() / first.abs().max())


def score(model, **call):
    return float(-torch.nn.functional.cross_entropy(logits(model, TARGET, **call)[0, :-1], TARGET[0, 1:]))


for name, keys in KINDS.items():
    torch.manual_seed(0)
    kind = "ForConditionalGeneration" if name != "Marian" else "MTModel"
    model = getattr(transformers, name + kind)(getattr(transformers, name + "Config")(**keys)).eval()
    seen = {call: change(model, keys) for call, keys in CALLS.items()}
    scores = score(model), score(model, use_cache=False)
    print(f"{name}:", ", ".join(f"{call} {x:.2g}" for call, x in seen.items()), "scores {:.3f} and {:.3f}".format(*scores))
    ahead = name == "FSMT"
    for call, moved in seen.items():
        assert moved > 0.05 if ahead and call in ("by default", "with a mask of ones") else moved < 1e-5
    assert (abs(scores[0] - scores[1]) > 1e-3) == ahead
EOF
