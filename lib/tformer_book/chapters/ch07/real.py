"""The real model, read with another pairing, another base, other places. Kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import ModelParameters
from tformer_book.world import corpus

__all__ = ["FILE", "WORDS", "measured", "stored"]

FILE = Path(__file__).with_name("real.json")
WORDS = 128
"""Tokens of the text: the beginning of the book's corpus."""


def stored() -> dict[str, float]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measured(model: PretrainedModel) -> dict[str, float]:
    """The mean loss of the model on a text, in nats, by what is changed when it reads."""
    tokenizer, given, c = model
    tokens = np.array(tokenizer.encode(" ".join(corpus.sentences()))[:WORDS])
    other = {"half": "adjacent", "adjacent": "half"}[c.pairing]

    def loss(parameters: ModelParameters = given, first: int = 0, **changed: object) -> float:
        configuration = replace(c, **changed)  # type: ignore[arg-type]
        x = _rows(tokens, parameters, configuration, np.arange(first, first + WORDS))
        logits = reference.unembed(x[:-1], parameters)
        return float(f"{reference.cross_entropy(logits, tokens[1:]).mean():.5g}")

    return {
        "as it was trained": loss(),
        "the other pairing": loss(pairing=other),
        "the other pairing, coordinates reordered": loss(_reordered(given, other), pairing=other),
        "base 10,000 for 100,000": loss(base=c.base / 10),
        "base 1,000,000": loss(base=c.base * 10),
        "all places 1,000 further on": loss(first=1000),
        "all places 0": loss(positions="none"),
    }


def _rows(
    tokens: np.ndarray, parameters: ModelParameters, c: Configuration, places: np.ndarray
) -> np.ndarray:
    """What the blocks and the last norm make of a text whose words stand at these places."""
    x = reference.embedding(tokens, parameters.embedding)
    width = parameters.blocks[0].heads.w_q.shape[-1]
    waves = None if c.positions == "none" else reference.sinusoidal(places, width, c.base)
    for one in parameters.blocks:
        x = reference.block(x, one, c, sinusoids=waves, causal=True)
    return x if parameters.norm is None else reference.rms_norm(x, parameters.norm, c.eps)


def _reordered(parameters: ModelParameters, pairing: str) -> ModelParameters:
    """The model whose queries and keys have the coordinates of their pairs where `pairing` does."""
    order = reference.rope_permutation(parameters.blocks[0].heads.w_q.shape[-1])
    if pairing == "adjacent":
        order = np.argsort(order)
    blocks = tuple(
        replace(
            one,
            heads=replace(one.heads, w_q=one.heads.w_q[..., order], w_k=one.heads.w_k[..., order]),
        )
        for one in parameters.blocks
    )
    return replace(parameters, blocks=blocks)


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    FILE.write_text(json.dumps(measured(from_pretrained()), indent=1) + "\n", encoding="utf-8")
