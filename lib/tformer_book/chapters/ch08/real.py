"""The real model: one coordinate of one word holds it up. Measured once, kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import BlockParameters, ModelParameters, tree_map
from tformer_book.chapters.ch08.rows import PLAIN, alike
from tformer_book.experiments.storing import short
from tformer_book.world import corpus

__all__ = [
    *("AFTER", "CONTROLS", "FILE", "LEFT_OUT", "OTHER_WORDS", "SHRUNK", "WORDS", "measured"),
    "stored",
]

FILE = Path(__file__).with_name("real.json")
WORDS = 128
"""Tokens of the text: the beginning of the book's corpus."""
AFTER = 12
"""After this block the coordinate is changed."""
CONTROLS = 5
"""Other coordinates of the same vector, the next largest, that are changed in the same way."""
OTHER_WORDS = (1, 5, 20, 64, 100)
"""Places of other words whose same coordinate is changed by as much."""
SHRUNK = (0.5, 0.1)
"""What the coordinate is multiplied by, to tell its size from its being there."""
LEFT_OUT = 3
"""So many coordinates, those of largest mean square, are left out of a second mean cosine."""


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measured(model: PretrainedModel) -> dict[str, Any]:
    """Lengths of the vectors after each block, and the loss with one number changed.

    Returns
    -------
    dict
        "first", "others": length of the first token's vector and median of the others', after 0 to
        L blocks. "coordinate", "value", "median", "share": the largest coordinate of the first
        vector after block `AFTER`, what stands there, the others' median there, its share of the
        vector's square. "loss", "changed": without a change, and with that number set to the
        median; "controls": likewise for the next largest coordinates, one at a time; "shrunk": with
        that number multiplied by each of `SHRUNK`, "turned": by −1. What was taken off it is taken
        off elsewhere instead in "as large": off these next largest coordinates, and "other words":
        off the same coordinate of `OTHER_WORDS`; "moved": it is taken off there, and put into each
        of these coordinates. "alike": the mean cosine of two vectors other
        than the first, after 0 to L blocks; "alike_less": without `LEFT_OUT` coordinates.
        "looked_at": the weight that the first token gets from later ones in each block, mean over
        heads and tokens. "common": the loss where the last norm divides all vectors by one number,
        the root of the mean square of all. "mistakes": the loss of the model with its norms
        computed wrongly, by what is wrong.
    """
    tokenizer, parameters, configuration = model
    tokens = np.array(tokenizer.encode(" ".join(corpus.sentences()))[:WORDS])
    waves = reference.sinusoidal(
        np.arange(WORDS), parameters.blocks[0].heads.w_q.shape[-1], configuration.base
    )

    def blocks(x: np.ndarray, first: int = 0) -> list[np.ndarray]:
        rows = [x]
        for one in parameters.blocks[first:]:
            rows.append(reference.block(rows[-1], one, configuration, sinusoids=waves, causal=True))
        return rows

    def loss(x: np.ndarray) -> float:
        x = reference.rms_norm(x, parameters.norm or PLAIN, configuration.eps)
        logits = reference.unembed(x[:-1], parameters)
        return float(reference.cross_entropy(logits, tokens[1:]).mean())

    def changed(x: np.ndarray, coordinate: int, share: float | None = None) -> float:
        x, median = x.copy(), np.median(x[1:, coordinate])
        x[0, coordinate] = median if share is None else share * x[0, coordinate]
        return loss(blocks(x, AFTER)[-1])

    def taken(word: int, coordinate: int, much: float, put: int | None = None) -> float:
        x = here.copy()
        x[word, coordinate] -= much
        if put is not None:
            x[word, put] += much
        return loss(blocks(x, AFTER)[-1])

    def looked_at(x: np.ndarray, one: BlockParameters) -> float:
        x = reference.rms_norm(x, one.heads_norm or PLAIN, configuration.eps)
        q, k, _ = reference.project(x, one.heads)
        q, k = (reference.rope(each, waves, configuration.pairing) for each in (q, k))
        weights = reference.grouped_attention_weights(q, k, causal=True)
        return float(weights[:, 1:, 0].mean())

    rows = blocks(reference.embedding(tokens, parameters.embedding))
    unchanged = short(loss(rows[-1]))
    lengths = np.linalg.norm(rows, axis=-1)
    here = rows[AFTER]
    coordinate, *others = np.argsort(-abs(here[0]))[: 1 + CONTROLS].tolist()
    much = here[0, coordinate] - np.median(here[1:, coordinate])
    return {
        "first": short(lengths[:, 0]),
        "others": short(np.median(lengths[:, 1:], axis=1)),
        "coordinate": coordinate,
        "value": short(here[0, coordinate]),
        "median": short(np.median(here[1:, coordinate])),
        "share": short(here[0, coordinate] ** 2 / (here[0] @ here[0])),
        "loss": unchanged,
        "changed": short(changed(here, coordinate)),
        "controls": short([changed(here, one) for one in others]),
        "shrunk": short([changed(here, coordinate, share) for share in SHRUNK]),
        "turned": short(changed(here, coordinate, -1)),
        "as large": short([taken(0, one, much) for one in others]),
        "other words": short([taken(word, coordinate, much) for word in OTHER_WORDS]),
        "moved": short([taken(0, coordinate, much, put=one) for one in others]),
        "alike": short([alike(one[1:]) for one in rows]),
        "alike_less": short([alike(_less(one[1:])) for one in rows]),
        "looked_at": short(
            [looked_at(*each) for each in zip(rows[:-1], parameters.blocks, strict=True)]
        ),
        "common": short(
            _loss(tokens, _divided_by(np.sqrt(np.mean(rows[-1] ** 2)), parameters), configuration)
        ),
        "mistakes": {
            "as it is": unchanged,
            **{
                name: short(_loss(tokens, *wrong))
                for name, wrong in _mistakes(parameters, configuration).items()
            },
        },
    }


def _less(x: np.ndarray) -> np.ndarray:
    """The vectors without the coordinates of largest mean square."""
    return np.delete(x, np.argsort(-np.square(x).mean(axis=0))[:LEFT_OUT], axis=1)


def _divided_by(size: float, parameters: ModelParameters) -> ModelParameters:
    """The model with one number in the place of the last norm's sizes; the gain stays."""
    if parameters.norm is None or parameters.norm.gain is None:
        raise ValueError("_divided_by: the model must have a last norm with a gain")
    scores = (parameters.norm.gain / size)[:, None] * parameters.embedding.T
    return replace(parameters, norm=None, unembedding=scores)


def _loss(tokens: np.ndarray, parameters: ModelParameters, configuration: Configuration) -> float:
    logits = reference.decoder(tokens, parameters, configuration)[:-1]
    return float(reference.cross_entropy(logits, tokens[1:]).mean())


def _mistakes(
    parameters: ModelParameters, configuration: Configuration
) -> dict[str, tuple[ModelParameters, Configuration]]:
    """The model with each mistake, by its name on the page."""

    def gains(change: Callable[[np.ndarray], np.ndarray]) -> ModelParameters:
        blocks = tuple(
            replace(
                one,
                heads_norm=tree_map(change, one.heads_norm),
                feed_forward_norm=tree_map(change, one.feed_forward_norm),
            )
            for one in parameters.blocks
        )
        return replace(parameters, blocks=blocks, norm=tree_map(change, parameters.norm))

    d = parameters.embedding.shape[-1]
    return {
        "d − 1": (gains(lambda gain: gain * np.float32((1 - 1 / d) ** 0.5)), configuration),
        "LayerNorm": (parameters, replace(configuration, norm="layer")),
        "ε = 0.01": (parameters, replace(configuration, eps=0.01)),
        "no gains": (gains(np.ones_like), configuration),
        "norms after": (parameters, replace(configuration, order="post")),
        "none at the end": (_divided_by(1.0, parameters), configuration),
    }


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    text = json.dumps(measured(from_pretrained()), indent=1, ensure_ascii=False)
    FILE.write_text(text + "\n", encoding="utf-8")
