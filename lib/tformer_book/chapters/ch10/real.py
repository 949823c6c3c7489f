"""The real model reads the sentences of this chapter. Measured once, kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.generate import generate
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import leaves

__all__ = ["CURED", "FILE", "LISTS", "PAIRS", "measured", "stored"]

FILE = Path(__file__).with_name("real.json")
SHOWN, WRITTEN = 5, 16
LISTS = ("Buy milk and", "Pack laptop and", "Pack laptop and a")
ASKED = ("eggs", "charger")
"""The two examples, one of them once more with an article, and the words that they ask for."""
PAIRS = {
    "The animal did not cross the street because it was too {}. It was the": (
        ("animal", "street"),
        ("tired", "wide"),
    ),
    "The box did not fit in the bag because it was too {}. It was the": (
        ("box", "bag"),
        ("large", "small"),
    ),
    "The piano did not go through the door because it was too {}. It was the": (
        ("piano", "door"),
        ("wide", "narrow"),
    ),
}
"""Sentence -> its two nouns, and the two adjectives, of which the first means the first noun."""
CLAUSE = " because it was too {}"
CURED = {
    "woke": "The animal did not cross the street because it was too tired. So they woke the",
    "narrowed": "The animal did not cross the street because it was too wide. So they narrowed the",
}
"""Cure -> what the small model was asked."""


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measured(model: PretrainedModel) -> dict[str, Any]:
    """What the model expects next, and the log-odds of two nouns.

    Returns
    -------
    dict
        "parameters": how many numbers it has. "next": for each of `LISTS`, the likeliest tokens
        with their probabilities, and for `ASKED` [probability, rank]. "odds": for each of `PAIRS`,
        log p(first noun) − log p(second) under both adjectives, and without their clause. "cured":
        the same for animal and street after both of `CURED`, with the clause and without it.
        "written": what it writes after "Buy milk and".

    Raises
    ------
    ValueError
        If a word that is asked for is not one token.
    """
    tokenizer, parameters, configuration = model

    def token(word: str) -> int:
        tokens = tokenizer.encode(f" {word}")
        if len(tokens) != 1:
            raise ValueError(f"measured: {word!r} must be one token; got {len(tokens)}")
        return tokens[0]

    def guess(text: str) -> np.ndarray:
        tokens = np.array(tokenizer.encode(text))
        return reference.softmax(reference.decoder(tokens, parameters, configuration)[-1])

    def odds(text: str, nouns: tuple[str, str]) -> float:
        p = guess(text)
        return round(float(np.log(p[token(nouns[0])] / p[token(nouns[1])])), 3)

    nexts = {}
    for text in LISTS:
        p = guess(text)
        order = np.argsort(-p).tolist()
        nexts[text] = {
            "likeliest": [[tokenizer.decode([i]), round(float(p[i]), 4)] for i in order[:SHOWN]],
            "asked": [[round(float(p[i]), 6), order.index(i) + 1] for i in map(token, ASKED)],
        }
    pairs = {}
    for text, (nouns, adjectives) in PAIRS.items():
        texts = [*map(text.format, adjectives), text.replace(CLAUSE, "")]
        pairs[text] = [odds(one, nouns) for one in texts]
    cured = {}
    for cure, text in CURED.items():
        bare = text[: text.index(" because")] + text[text.index(".") :]
        cured[cure] = [odds(one, ("animal", "street")) for one in (text, bare)]
    tokens = np.array(tokenizer.encode("Buy milk and", control=False))
    given = (reference.cached_decoder, tokens, parameters, configuration, WRITTEN)
    return {
        "parameters": sum(leaf.size for leaf in leaves(parameters)),
        "next": nexts,
        "odds": pairs,
        "cured": cured,
        "written": tokenizer.decode(list(generate(*given))),
    }


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    text = json.dumps(measured(from_pretrained()), indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
