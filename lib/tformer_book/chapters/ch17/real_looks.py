"""The real model names one of two nouns: what its last word looks at, and what decides.

A pair is one sentence with two adjectives, of which the first means the first noun and the second
the second. The shift is the change of log p(first noun) − log p(second noun) between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tformer.models.hooks import Hook, patch, run_with_hooks
from tformer.models.pretrained import PretrainedModel
from tformer_book.experiments import passages

__all__ = [
    "ANECDOTE",
    "ENDINGS",
    "LAYERS",
    "PAIRS",
    "PLACES",
    "Pair",
    "changed",
    "looked",
    "patched",
    "tokens_of",
    "weights",
]

SENTENCE = "The {} did not {} the {} because it was too {}."
ENDINGS = {"statement": " It was the", "question": " What was too {}? The"}
"""What asks for the noun. The question was added after the statement had been measured."""
LAYERS = range(20, 26)
"""The blocks in which the last word's look at the nouns is cut, as it was first tried."""


TOGETHER = 8
"""So many pairs are read in one row, each of which sees itself alone."""


class Pair(NamedTuple):
    """Two nouns with what the first did not do to the second, and two adjectives."""

    first: str
    did_not: str
    second: str
    means_first: str
    means_second: str

    @property
    def name(self) -> str:
        """The two nouns."""
        return f"{self.first}, {self.second}"


ANECDOTE = Pair("horse", "jump over", "wall", "old", "high")
"""Picked after looking: of some pairs, one whose answer flips. It is in no mean."""
PAIRS = (
    Pair("truck", "cross", "bridge", "heavy", "weak"),
    Pair("bus", "go through", "tunnel", "tall", "low"),
    Pair("ball", "go through", "hole", "large", "small"),
    Pair("boat", "pass under", "bridge", "tall", "low"),
    Pair("car", "fit into", "garage", "long", "short"),
    Pair("bird", "go into", "cage", "big", "small"),
    Pair("dog", "jump over", "fence", "old", "high"),
    Pair("cat", "climb", "tree", "lazy", "tall"),
    Pair("child", "reach", "shelf", "small", "high"),
    Pair("key", "fit into", "lock", "big", "small"),
    Pair("letter", "fit into", "envelope", "large", "small"),
    Pair("ship", "enter", "harbor", "large", "shallow"),
    Pair("knife", "cut", "bread", "dull", "hard"),
    Pair("nail", "go into", "wall", "soft", "hard"),
    Pair("rope", "reach", "roof", "short", "high"),
    Pair("ladder", "reach", "window", "short", "high"),
    Pair("lamp", "light", "room", "weak", "large"),
    Pair("soldier", "climb", "hill", "tired", "steep"),
    Pair("bear", "enter", "cave", "big", "narrow"),
    Pair("goat", "climb", "cliff", "weak", "steep"),
    Pair("cow", "cross", "river", "weak", "deep"),
    Pair("sheep", "enter", "barn", "scared", "dark"),
    Pair("frog", "cross", "road", "slow", "wide"),
    Pair("desk", "go through", "gate", "wide", "narrow"),
    Pair("statue", "stand on", "table", "heavy", "weak"),
    Pair("plane", "land on", "runway", "heavy", "short"),
    Pair("train", "stop at", "station", "long", "short"),
    Pair("picture", "fit into", "frame", "large", "small"),
    Pair("hammer", "break", "rock", "light", "hard"),
    Pair("crane", "lift", "stone", "weak", "heavy"),
    Pair("pot", "stand on", "stove", "large", "small"),
    Pair("engine", "pull", "trailer", "weak", "heavy"),
)
"""Written before the model read any of them, and none left out after."""
PLACES = ("it", "adjective", ".", "It", "was", "the")
"""Where the vectors of another run are put in: *it* of the first sentence, and all that follows."""


def tokens_of(model: PretrainedModel, pair: Pair, ending: str = "statement") -> np.ndarray:
    """(2, T): the sentence with either adjective, and one of `ENDINGS`.

    Raises
    ------
    ValueError
        If the two are not equally long.
    """
    nouns = (pair.first, pair.did_not, pair.second)
    texts = [
        SENTENCE.format(*nouns, word) + ENDINGS[ending].format(word)
        for word in (pair.means_first, pair.means_second)
    ]
    one, other = (model.tokenizer.encode(text) for text in texts)
    if len(one) != len(other):
        raise ValueError(f"tokens_of: {pair} must give as many tokens twice")
    return np.array([one, other])


def odds(model: PretrainedModel, pair: Pair, logits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-odds of the first noun against the second, and the probability of either, last of T."""
    nouns = [_token(model, noun) for noun in (pair.first, pair.second)]
    last = logits[..., -1, :].astype(float)
    last = last - last.max(axis=-1, keepdims=True)
    logs = last[..., nouns] - np.log(np.exp(last).sum(axis=-1))[..., None]
    return logs[..., 0] - logs[..., 1], np.exp(logs).sum(axis=-1)


def looked(model: PretrainedModel, pair: Pair, ending: str = "statement") -> dict[str, list[float]]:
    """Probability of the nouns and their log-odds, as it is and with looks of the last word cut.

    Returns
    -------
    dict
        Of lists [odds with the first adjective, with the second, probability of the nouns with the
        first, with the second]. "whole"; "nouns": in `LAYERS` the last word's weights on both nouns
        are 0 in all heads; "nouns, scaled": the other weights are then scaled up to add up to one;
        "others": the same for the two words *did* and *not*; "adjective": for the adjective,
        wherever it stands.
    """
    tokens = tokens_of(model, pair, ending)
    places = _looked_at(model, pair, tokens)
    cuts: dict[str, Mapping[str, Hook]] = {"whole": {}}
    cuts |= {name: _unseen(at) for name, at in places.items()}
    cuts["nouns, scaled"] = _unseen(places["nouns"], scaled=True)
    run = run_with_hooks(tokens, model.parameters, model.configuration)
    return {name: _read(model, pair, tokens, run, changes) for name, changes in cuts.items()}


def weights(model: PretrainedModel, ending: str = "statement") -> list[float]:
    """The last word's weight in `LAYERS` on the nouns, on *did* and *not*, and on the adjective.

    Of each the sum over its places, as the mean over heads, blocks and `PAIRS`.
    """
    p, found = model.parameters, []
    for first in range(0, len(PAIRS), TOGETHER):
        pairs = PAIRS[first : first + TOGETHER]
        texts = [tokens_of(model, pair, ending) for pair in pairs]
        lengths = [tokens.shape[-1] for tokens in texts]
        own = np.repeat(np.arange(len(pairs)), lengths)
        # No logits are asked for, nor later blocks: the vocabulary of the sentences is enough.
        kinds, numbers = np.unique(np.concatenate(texts, axis=-1), return_inverse=True)
        run = run_with_hooks(
            numbers.reshape(2, -1),
            replace(p, embedding=p.embedding[kinds], blocks=p.blocks[: LAYERS.stop]),
            model.configuration,
            mask=own[:, None] == own,
            positions=np.concatenate([np.arange(length) for length in lengths]),
        )
        looks = [run[f"blocks.{i}.weights"] for i in LAYERS]
        for pair, tokens, end in zip(pairs, texts, np.cumsum(lengths), strict=True):
            there = np.s_[..., end - 1, end - tokens.shape[-1] : end]
            rows = np.mean([weights[there] for weights in looks], axis=(0, 1, 2))
            found.append([rows[at].sum() for at in _looked_at(model, pair, tokens).values()])
    return np.mean(found, axis=0).tolist()


def _looked_at(model: PretrainedModel, pair: Pair, tokens: np.ndarray) -> dict[str, list[int]]:
    return {
        "nouns": [_place(model, tokens[0], noun) for noun in (pair.first, pair.second)],
        "others": [_place(model, tokens[0], word) for word in ("did", "not")],
        "adjective": _adjectives(tokens),
    }


def changed(rows: Mapping[str, Mapping[str, list[float]]], cut: str) -> np.ndarray:
    """By how much a cut changes the shift of each of `PAIRS`: of what `looked` returned, (32,)."""
    kept = [rows[pair.name] for pair in PAIRS]
    whole, x = (np.array([row[name] for row in kept]) for name in ("whole", cut))
    return x[:, 0] - x[:, 1] - (whole[:, 0] - whole[:, 1])


def summary(rows: Mapping[str, Mapping[str, list[float]]]) -> dict[str, dict[str, Any]]:
    """What the pairs say together, without the anecdote: of what `looked` returned for each.

    Returns
    -------
    dict
        For each cut [mean, half of its 95 % interval] over the pairs of "p", the probability of
        the nouns, mean of both sentences; "shift"; "lost", by how much the shift is smaller than
        in the whole model. "changed": by how much it changes, up or down, as a mean; "turned": in
        how many pairs its sign does. "right way": in how many pairs the shift is above 0. "right":
        in how many of twice as many sentences the right noun is likelier. "flips": in how many
        pairs both.
    """
    kept = [rows[pair.name] for pair in PAIRS]
    whole = np.array([row["whole"] for row in kept])
    sums = {}
    for name in kept[0]:
        x = np.array([row[name] for row in kept])
        shift = x[:, 0] - x[:, 1]
        right = np.array([x[:, 0] > 0, x[:, 1] < 0])
        sums[name] = {
            "p": _interval(x[:, 2:].mean(axis=1)),
            "shift": _interval(shift),
            "lost": _interval(-changed(rows, name)),
            "changed": float(abs(changed(rows, name)).mean()),
            "turned": int(((shift > 0) != (whole[:, 0] > whole[:, 1])).sum()),
            "right way": int((shift > 0).sum()),
            "right": int(right.sum()),
            "flips": int(right.all(axis=0).sum()),
        }
    return sums


def _interval(x: np.ndarray) -> list[float]:
    """The mean and 1.96 standard errors."""
    return [float(x.mean()), float(1.96 * x.std(ddof=1) / np.sqrt(len(x)))]


def patched(
    model: PretrainedModel, pair: Pair = ANECDOTE, layers: range | None = None
) -> dict[str, list[float]]:
    """The share of the shift that one vector of the other run brings along.

    The run with the first adjective is given, at one place after one block, the vector that the
    run with the second found there.

    Returns
    -------
    dict
        For each of `PLACES` the share after each of these blocks, all of them if None: 0 if nothing
        has changed, 1 if the log-odds are those of the run with the second adjective.
    """
    first, second = tokens_of(model, pair)
    places = _places(model, first, second)
    given = (model.parameters, model.configuration)
    here, there = run_with_hooks(first, *given), run_with_hooks(second, *given)
    before = odds(model, pair, here["logits"])[0]
    shift = odds(model, pair, there["logits"])[0] - before
    shares: dict[str, list[float]] = {name: [] for name in PLACES}
    for i in layers or range(len(model.parameters.blocks)):
        for name in PLACES:
            change = patch(there, f"blocks.{i}.after", np.s_[..., places[name], :])
            after = odds(model, pair, passages.again(model, first, here, change)["logits"])[0]
            shares[name].append(round(float((after - before) / shift), 3) + 0.0)
    return shares


def _places(model: PretrainedModel, first: np.ndarray, second: np.ndarray) -> dict[str, int]:
    """Where `PLACES` stand: those after the adjective are the last ones."""
    (adjective,) = _adjectives(np.array([first, second]))
    found = {"it": _place(model, first, "it"), "adjective": adjective}
    return found | {name: adjective + i for i, name in enumerate(PLACES[2:], 1)}


def _read(
    model: PretrainedModel,
    pair: Pair,
    tokens: np.ndarray,
    run: Mapping[str, Any],
    changes: Mapping[str, Hook],
) -> list[float]:
    logits = passages.again(model, tokens, run, changes)["logits"]
    shift, p = odds(model, pair, logits)
    return [round(float(x), 3) for x in shift] + [round(float(x), 4) for x in p]


def _unseen(places: list[int], scaled: bool = False) -> dict[str, Hook]:
    """The last word's weights on these places set to 0 in `LAYERS`, in all heads."""

    def change(weights: Any) -> Any:
        weights = weights + 0
        weights[..., -1, places] = 0
        if scaled:
            weights[..., -1, :] /= weights[..., -1, :].sum(axis=-1, keepdims=True)
        return weights

    return {f"blocks.{i}.weights": change for i in LAYERS}


def _adjectives(tokens: np.ndarray) -> list[int]:
    """The places where the two sentences differ."""
    return np.flatnonzero(tokens[0] != tokens[1]).tolist()


def _place(model: PretrainedModel, tokens: np.ndarray, word: str) -> int:
    """Where a word of one token stands for the first time."""
    return tokens.tolist().index(_token(model, word))


def _token(model: PretrainedModel, word: str) -> int:
    (token,) = model.tokenizer.encode(f" {word}")
    return token
