"""The real model's heads: induction, sinks, lens. Measured once, kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.inside import Change, inside
from tformer.models.real import RealModel
from tformer.tokens import BPE
from tformer.world import corpus

__all__ = [
    "CHOSEN",
    "DRAWS",
    "FILE",
    "FRESH",
    "IN_FRONT",
    "PERIOD",
    "TEXTS",
    "cut",
    "found",
    "induced",
    "lens",
    "measured",
    "plain",
    "repeated",
    "sinks",
    "stored",
]

FILE = Path(__file__).with_name("real.json")
PERIOD = 50
"""Random words, then the same words again."""
CHOSEN = 4
"""So many heads are cut, those of largest score on seed 0: fixed before any was cut."""
FRESH = (1, 2, 3, 4, 5, 6)
"""Seeds of the texts on which the cut is measured. No word of one text is in another."""
DRAWS = 8
"""Draws of other heads, as many from each layer as were chosen there."""
PLAIN = 256
"""Tokens of plain text: the beginning of the book's corpus."""
LENS = 128
TEXTS = (
    "The animal did not cross the street because it was too tired. It lay down in the shade of "
    "an old tree and slept until the evening came.",
    "A letter came from the city in the morning. Nobody in the house had asked for it, and "
    "nobody wanted to be the first to read it.",
    "Water boils sooner on a high mountain, since less air presses on it there. So an egg must "
    "stay in the pot for longer.",
)
"""Plain texts whose first token is watched."""
IN_FRONT = "So"
"""A word that is put in front of them."""

Head = tuple[int, int]
"""Layer and number within it, both from 0."""


def stored() -> dict[str, Any]:
    """What `measured` returned when the file was written."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def cut(heads: Iterable[Head]) -> dict[str, Change]:
    """Changes for `inside` with which these heads put out zeros."""
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        by_layer.setdefault(layer, []).append(head)

    def silent(numbers: list[int]) -> Change:
        def change(y: Any) -> Any:
            y = y + 0
            y[..., numbers, :, :] = 0
            return y

        return change

    return {f"blocks.{i}.heads": silent(numbers) for i, numbers in by_layer.items()}


@cache
def ordinary(tokenizer: BPE) -> np.ndarray:
    """The tokens that are a space and four small letters or more, in an order drawn once."""
    numbers = range(tokenizer.n_vocab)
    kept = [i for i in numbers if re.fullmatch(r" [a-z]{4,}", tokenizer.decode([i]))]
    return np.random.default_rng(17).permutation(kept)


def repeated(tokenizer: BPE, seed: int) -> np.ndarray:
    """`PERIOD` different ordinary tokens at random, and once more."""
    words = ordinary(tokenizer)[PERIOD * seed :][:PERIOD]
    return np.concatenate([words, words])


def plain(tokenizer: BPE, length: int) -> np.ndarray:
    """The first tokens of the book's corpus."""
    return np.array(tokenizer.encode(" ".join(corpus.sentences()))[:length])


def losses(model: RealModel, tokens: np.ndarray, heads: Iterable[Head] = ()) -> np.ndarray:
    """The loss at each token but the first, with some heads cut."""
    logits = inside(tokens, model.parameters, model.configuration, cut(heads))["logits"]
    return reference.cross_entropy(logits[..., :-1, :], tokens[..., 1:])


def found(model: RealModel) -> dict[str, list[tuple[Head, float]]]:
    """The heads by their scores on seed 0, largest first.

    Returns
    -------
    dict
        "induction" and "previous": the first ten, each with its score.
    """
    tokens = repeated(model.tokenizer, 0)
    seen = inside(tokens, model.parameters, model.configuration)
    weights = np.array([seen[f"blocks.{i}.weights"] for i in range(len(model.parameters.blocks))])
    scores = {
        "induction": reference.induction_scores(weights, PERIOD),
        "previous": reference.previous_scores(weights),
    }
    ranked = {}
    for name, table in scores.items():
        order = np.argsort(-table, axis=None)[:10]
        places = [divmod(int(i), table.shape[1]) for i in order]
        ranked[name] = [(place, float(table[place])) for place in places]
    return ranked


def others(heads: list[Head], n_heads: int, draws: int) -> list[list[Head]]:
    """Draws of heads that are not among these, as many from each layer."""
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(draws):
        one: list[Head] = []
        for layer in sorted({layer for layer, _ in heads}):
            mine = {head for at, head in heads if at == layer}
            left = [head for head in range(n_heads) if head not in mine]
            picked = rng.choice(left, len(mine), replace=False)
            one += [(layer, int(head)) for head in sorted(picked)]
        drawn.append(one)
    return drawn


def induced(model: RealModel, draws: int = DRAWS, seeds: tuple[int, ...] = FRESH) -> dict[str, Any]:
    """The loss on the repeat of fresh texts, and on plain text, with some heads cut.

    Returns
    -------
    dict
        "found": what `found` returns. For each of "whole", "induction", "previous" and
        "others", a list of draws: "heads" that were cut, "repeat" and "first", the mean loss on
        either half of each fresh text, "plain" that on plain text. The first word of a half is
        not asked for.
    """
    ranked = found(model)
    chosen = [head for head, _ in ranked["induction"][:CHOSEN]]
    previous = ranked["previous"][0][0]
    texts = np.array([repeated(model.tokenizer, seed) for seed in seeds])
    prose = plain(model.tokenizer, PLAIN)

    def with_cut(heads: list[Head]) -> dict[str, Any]:
        loss = np.array([losses(model, text, heads) for text in texts])
        return {
            "heads": heads,
            "repeat": short(loss[:, PERIOD:].mean(axis=1)),
            "first": short(loss[:, : PERIOD - 1].mean(axis=1)),
            "plain": short(losses(model, prose, heads).mean()),
        }

    drawn = others(chosen, len(model.parameters.blocks[0].heads.w_q), draws)
    return {
        "found": {name: [[*one, short(x, 3)] for one, x in row] for name, row in ranked.items()},
        "whole": with_cut([]),
        "induction": with_cut(chosen),
        "previous": with_cut([previous]),
        "others": [with_cut(heads) for heads in drawn],
    }


def short(x: Any, digits: int = 4) -> Any:
    """A few digits of a number, or of each of an array."""
    return np.vectorize(lambda number: float(f"{number:.{digits}g}"))(x).tolist()
