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
from tformer.models.real import RealModel
from tformer.parameters import leaves

__all__ = ["FILE", "LISTS", "PAIRS", "measured", "stored"]

FILE = Path(__file__).with_name("real.json")
SHOWN, WRITTEN = 5, 16
LISTS = {"Buy milk and": (" eggs", " charger"), "Pack laptop and": (" eggs", " charger")}
"""The two examples, and the words that they ask for."""
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


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measured(model: RealModel) -> dict[str, Any]:
    """What the model expects next, and the log-odds of two nouns.

    Returns
    -------
    dict
        "parameters": how many numbers it has. "next": for each of `LISTS`, the likeliest tokens
        with their probabilities, and for the words asked for [probability, rank]. "odds": for each
        of `PAIRS`, log p(first noun) − log p(second) under both adjectives. "written": what it
        writes after "Buy milk and".
    """
    tokenizer, parameters, configuration = model

    def guess(text: str) -> np.ndarray:
        tokens = np.array(tokenizer.encode(text))
        return reference.softmax(reference.decoder(tokens, parameters, configuration)[-1])

    nexts = {}
    for text, asked in LISTS.items():
        p = guess(text)
        order = np.argsort(-p).tolist()
        numbers = [tokenizer.encode(word)[0] for word in asked]
        nexts[text] = {
            "likeliest": [[tokenizer.decode([i]), round(float(p[i]), 4)] for i in order[:SHOWN]],
            "asked": [[round(float(p[i]), 6), order.index(i) + 1] for i in numbers],
        }
    odds = {}
    for text, (nouns, adjectives) in PAIRS.items():
        first, second = (tokenizer.encode(f" {noun}")[0] for noun in nouns)
        found = [guess(text.format(adjective)) for adjective in adjectives]
        odds[text] = [round(float(np.log(p[first] / p[second])), 3) for p in found]
    tokens = np.array(tokenizer.encode("Buy milk and"))
    given = (reference.cached_decoder, tokens, parameters, configuration, WRITTEN)
    return {
        "parameters": sum(leaf.size for leaf in leaves(parameters)),
        "next": nexts,
        "odds": odds,
        "written": tokenizer.decode(list(generate(*given))),
    }


if __name__ == "__main__":
    from tformer.models.real import real_model

    text = json.dumps(measured(real_model()), indent=1)
    FILE.write_text(text + "\n", encoding="utf-8")
