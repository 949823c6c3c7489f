"""The real model's tokenizer, and its loss on the corpus. Measured once, kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.pretrained import PretrainedModel
from tformer_book.chapters.ch13.cut import corpus_text, pieces

__all__ = ["FILE", "SHOWN", "measured", "stored"]

FILE = Path(__file__).with_name("real.json")
SHOWN = (
    "The animal did not cross the street because it was too tired.",
    "The wug did not touch the dax.",
    "backpropagation",
    "1999 + 1 = 2000",
    "Die Straße war zu breit.",
    "道は広すぎた。",
)
"""Texts whose tokens are shown."""
SENTENCES = 60


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measured(model: PretrainedModel) -> dict[str, Any]:
    """How the tokenizer cuts, and what the model makes of the corpus.

    Returns
    -------
    dict
        "n_vocab". "pieces": for each of `SHOWN` its tokens, each decoded by itself. "corpus":
        tokens of the whole corpus. "read": [tokens, bytes, nats] of its first sentences, all but
        the first token, which is not asked.
    """
    tokenizer, parameters, configuration = model
    text = "\n".join(corpus_text().splitlines()[:SENTENCES]) + "\n"
    tokens = np.array(tokenizer.encode(text))
    logits = reference.decoder(tokens[:-1], parameters, configuration)
    nats = float(reference.cross_entropy(logits, tokens[1:]).sum())
    asked = len(text.encode()) - len(tokenizer.decode([int(tokens[0])]).encode())
    return {
        "n_vocab": tokenizer.n_vocab,
        "pieces": {text: pieces(tokenizer, text) for text in SHOWN},
        "corpus": len(tokenizer.encode(corpus_text())),
        "read": [len(tokens) - 1, asked, round(nats, 2)],
    }


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    found = json.dumps(measured(from_pretrained()), indent=1, ensure_ascii=False)
    FILE.write_text(found + "\n", encoding="utf-8")
