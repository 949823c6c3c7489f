#!/usr/bin/env bash
# Three copies of "ba ab dc cd": four pairs of letters are equally frequent. Which is merged first?
# tokenizers 0.23.3 and sentencepiece 0.2.3 take them in the order of the alphabet, tiktoken's teaching module takes the one that is
# met first in the text. On "low lower lowest newer newest wide wider" they agree on two merges and then part.
# Seen: tokenizers ab, ba, cd, dc; sentencepiece ab, ba, cd, dc; tiktoken ba, ab, dc, cd;
# and from the third merge on: tokenizers de, tiktoken lowe
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/pip" install --quiet tokenizers==0.23.3 sentencepiece==0.2.3 tiktoken==0.14.0
"$folder/env/bin/python" - <<'EOF'
import contextlib
import io
import json

import sentencepiece
from tiktoken._educational import bpe_train
from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def by_tokenizers(text, n):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    size = len(set(text) - {" "}) + n
    tokenizer.train_from_iterator([text], trainers.BpeTrainer(vocab_size=size, show_progress=False))
    return ["".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def by_sentencepiece(text, n):
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([text]), model_writer=file, model_type="bpe", vocab_size=30,
        hard_vocab_limit=False, minloglevel=5, add_dummy_prefix=False,
    )
    model = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
    return [model.id_to_piece(i) for i in range(3, 3 + n)]


def by_tiktoken(text, n):
    with contextlib.redirect_stdout(io.StringIO()):
        ranks = bpe_train(text, 256 + n, r"\w+| ")
    return [token.decode() for token in ranks if len(token) > 1]


text = " ".join(["ba ab dc cd"] * 3)
seen = {f.__name__[3:]: f(text, 4) for f in (by_tokenizers, by_sentencepiece, by_tiktoken)}
print(seen)
alphabet = ["ab", "ba", "cd", "dc"]
assert seen == {"tokenizers": alphabet, "sentencepiece": alphabet, "tiktoken": ["ba", "ab", "dc", "cd"]}
text = "low lower lowest newer newest wide wider"
seen = {f.__name__[3:]: f(text, 3) for f in (by_tokenizers, by_tiktoken)}
print(seen)
assert seen == {"tokenizers": ["we", "lo", "de"], "tiktoken": ["we", "lo", "lowe"]}
EOF
