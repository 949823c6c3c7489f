"""The real model's heads: induction, sinks, lens. Measured once, kept in `real.json`.

The page reads the file, so it needs no model; the tests measure again where there is one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.hooks import Hook, run_with_hooks, zero_ablation
from tformer.models.pretrained import PretrainedModel
from tformer.parameters import ModelParameters
from tformer.tokens import BPE
from tformer_book import storyteller
from tformer_book.chapters.ch17 import real_looks
from tformer_book.experiments import passages
from tformer_book.experiments.storing import short
from tformer_book.storyteller.tales import parted, text_of
from tformer_book.world import corpus

__all__ = [
    "CHOSEN",
    "DRAWS",
    "FILE",
    "FRESH",
    "IN_FRONT",
    "PERIOD",
    "TEXTS",
    "averaged",
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
PREVIOUS = 3
"""So many previous-token heads are cut, each alone."""
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


def cut(heads: Iterable[Head]) -> dict[str, Hook]:
    """Changes for `inside` with which these heads put out zeros."""
    changes: dict[str, Hook] = {}
    for i, numbers in _by_layer(heads).items():
        changes |= zero_ablation(f"blocks.{i}.heads", np.s_[..., numbers, :, :])
    return changes


def averaged(heads: Iterable[Head], run: Mapping[str, np.ndarray]) -> dict[str, Hook]:
    """Changes with which these heads put out, everywhere, their mean over the words of a run."""
    changes: dict[str, Hook] = {}
    for i, numbers in _by_layer(heads).items():
        name = f"blocks.{i}.heads"
        one = run[name].mean(axis=1, keepdims=True)  # (H, 1, d_v)
        changes[name] = partial(_with_heads, one[numbers], numbers)
    return changes


def _with_heads(one: np.ndarray, numbers: list[int], y: np.ndarray) -> np.ndarray:
    y = y + 0
    y[..., numbers, :, :] = one
    return y


def _by_layer(heads: Iterable[Head]) -> dict[int, list[int]]:
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        by_layer.setdefault(layer, []).append(head)
    return by_layer


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


def found(model: PretrainedModel) -> dict[str, list[tuple[Head, float]]]:
    """The heads by their scores on seed 0, largest first.

    Returns
    -------
    dict
        "induction" and "previous": the first ten, each with its score.
    """
    tokens = repeated(model.tokenizer, 0)
    weights = passages.weights(model, tokens)
    scores = {
        "induction": reference.induction_scores(weights, PERIOD),
        "previous": reference.previous_token_scores(weights),
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


def induced(
    model: PretrainedModel, draws: int = DRAWS, seeds: tuple[int, ...] = FRESH
) -> dict[str, Any]:
    """The loss on the repeat of fresh texts, and on plain text, with some heads cut.

    Returns
    -------
    dict
        "found": what `found` returns. "whole", "induction": "heads" that were cut, "repeat" and
        "first", the mean loss on either half of each fresh text, "plain" that on plain text. The
        first word of a half is not asked for. "previous": the same for each of the strongest
        previous-token heads alone; "others": for each draw of other heads. "means": the same for
        the induction heads, and then for each of the previous-token heads alone, with their means
        over the plain text in the place of zeros.
    """
    ranked = found(model)
    chosen = [head for head, _ in ranked["induction"][:CHOSEN]]
    previous = [head for head, _ in ranked["previous"][:PREVIOUS]]
    texts = np.array([repeated(model.tokenizer, seed) for seed in seeds])
    prose = plain(model.tokenizer, PLAIN)

    told = passages.read(model, prose)
    runs = [passages.read(model, text) for text in texts]

    def losses(text: np.ndarray, run: dict[str, Any], changes: Mapping[str, Hook]) -> np.ndarray:
        return passages.losses(passages.again(model, text, run, changes)["logits"], text)

    def with_cut(heads: list[Head], means: bool = False) -> dict[str, Any]:
        changes = averaged(heads, told) if means else cut(heads)
        loss = np.array([losses(*each, changes) for each in zip(texts, runs, strict=True)])
        return {
            "heads": heads,
            "repeat": short(loss[:, PERIOD:].mean(axis=1), 4),
            "first": short(loss[:, : PERIOD - 1].mean(axis=1), 4),
            "plain": short(losses(prose, told, changes).mean(), 4),
        }

    drawn = others(chosen, len(model.parameters.blocks[0].heads.w_q), draws)
    return {
        "found": {name: [[*one, short(x, 3)] for one, x in row] for name, row in ranked.items()},
        "whole": with_cut([]),
        "induction": with_cut(chosen),
        "previous": [with_cut([head]) for head in previous],
        "others": [with_cut(heads) for heads in drawn],
        "means": [with_cut(heads, means=True) for heads in (chosen, *([one] for one in previous))],
    }


def sinks(model: PretrainedModel) -> dict[str, list[list[float]]]:
    """The mean weight on one token by layer, over all heads and all later tokens, for each text.

    Returns
    -------
    dict
        "first": on the first token of `TEXTS`. "in front" and "no longer first": with a word in
        front, on that word, and on the token that was the first before. "evenly": the weight that
        each would have if all words shared theirs evenly, by text.
    """

    def tables(texts: Iterable[str]) -> list[np.ndarray]:
        return [passages.weights(model, np.array(model.tokenizer.encode(text))) for text in texts]

    def on(place: int, texts: list[np.ndarray]) -> list[list[float]]:
        return [[float(one[:, place + 1 :, place].mean()) for one in text] for text in texts]

    alone = tables(TEXTS)
    front = tables(f"{IN_FRONT} {text[0].lower()}{text[1:]}" for text in TEXTS)
    lengths = [each.shape[-1] for each in alone]
    return {
        "first": short(on(0, alone), 3),
        "in front": short(on(0, front), 3),
        "no longer first": short(on(1, front), 3),
        "evenly": short([[np.mean(1 / np.arange(2, n + 1))] for n in lengths], 3),
    }


def lens(model: PretrainedModel) -> dict[str, list[float]]:
    """The loss by layer, if the vectors after 0 to L blocks are read as if they were the last.

    Returns
    -------
    dict
        "real": on the beginning of the corpus. "storyteller": on tales that it has not read.
    """
    teller = storyteller.load()
    tales = np.array(teller.tokens.encode(text_of(parted()[1]))[:LENS])
    return {
        "real": _lens(plain(model.tokenizer, LENS), model.parameters, model.configuration),
        "storyteller": _lens(tales, teller.parameters, teller.configuration),
    }


def _lens(tokens: np.ndarray, p: ModelParameters, c: Configuration) -> list[float]:
    seen = run_with_hooks(tokens, p, c)
    names = ["embedded", *(f"blocks.{i}.after" for i in range(len(p.blocks)))]
    scores = (reference.logit_lens(seen[name][:-1], p, c) for name in names)
    return short([reference.cross_entropy(one, tokens[1:]).mean() for one in scores], 4)


def measured(model: PretrainedModel) -> dict[str, Any]:
    """Everything that is stored.

    Returns
    -------
    dict
        "induction", "sinks", "lens": what `induced`, `sinks` and `lens` return. "looks": for each
        of the endings, what `real_looks.looked` returns for each pair, the anecdote first.
        "patched": what `real_looks.patched` returns. "weights": what `real_looks.weights`
        returns, for each of the endings.
    """
    pairs = (real_looks.ANECDOTE, *real_looks.PAIRS)
    return {
        "induction": induced(model),
        "sinks": sinks(model),
        "lens": lens(model),
        "looks": {
            ending: {pair.name: real_looks.looked(model, pair, ending) for pair in pairs}
            for ending in real_looks.ENDINGS
        },
        "patched": real_looks.patched(model),
        "weights": {
            ending: short(real_looks.weights(model, ending), 3) for ending in real_looks.ENDINGS
        },
    }


if __name__ == "__main__":
    from tformer.models.pretrained import from_pretrained

    text = json.dumps(measured(from_pretrained()), indent=1, ensure_ascii=False)
    text = re.sub(r"\[[^][]*\]", lambda row: " ".join(row[0].split()), text)
    FILE.write_text(text + "\n", encoding="utf-8")
