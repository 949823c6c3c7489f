"""What a vector knows, where it should and where a mistake lets it know less or more."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tformer import reference
from tformer_book.chapters.ch11 import counts, forms, tasks

__all__ = ["Broken", "found"]

SENTENCE = tasks.STORIES[0].split()[: tasks.READ - 1]
GERMAN = tasks.german(tasks.STORIES[0])[1:]
SOURCE = 3


class Broken(NamedTuple):
    """A vector and what becomes of it.

    Attributes
    ----------
    title : str
    words : list of str
        T of them.
    asks : int
        The place of the vector.
    rows : dict
        Name -> the words that it moves with, (T,) boolean; the first is right.
    right : list of float
        For each the best share of right answers, if it has been counted.
    """

    title: str
    words: list[str]
    asks: int
    rows: dict[str, np.ndarray]
    right: list[float]


def found() -> tuple[Broken, Broken, Broken]:
    """The three mistakes, measured in small models with random matrices."""
    return _too_early(), _hidden(), _too_long()


def _moves(
    run: Callable[[np.ndarray], np.ndarray], n_tokens: int, row: int, other: int = 11
) -> np.ndarray:
    moved: np.ndarray = forms.exchanged(run, np.arange(n_tokens), other)[row]
    return moved > 1e-9


def _stack(form: str, n_tokens: int, row: int, n_prefix: int = 0) -> np.ndarray:
    p, mask = forms.model(n_vocab=n_tokens + 1), forms.known(form, n_tokens, n_prefix)
    return _moves(lambda tokens: forms.outputs(tokens, p, mask), n_tokens, row, n_tokens)


def _too_early() -> Broken:
    it, world = tasks.IT - 1, tasks.ALL.split()[1]
    rows = {form: _stack(form, len(SENTENCE), it) for form in ("encoder", "decoder")}
    best = [float(counts.best_guess(world, form, tasks.IT)[0]) for form in rows]
    return Broken("asked at “it”", SENTENCE, it, rows, best)


def _hidden() -> Broken:
    """A source whose last word is to be hidden from a target of two words."""
    pair, c, seen = forms.pair(), forms.PLAIN, np.arange(SOURCE)[None] < SOURCE - 1

    def run(tokens: np.ndarray, mask: np.ndarray | None) -> np.ndarray:
        memory = reference.encoder(tokens[:SOURCE], pair.encoder, c, mask)
        y = reference.decoder(tokens[SOURCE:], pair.decoder, c, memory, None, seen)
        return np.concatenate([np.zeros((SOURCE, y.shape[1])), y])

    masks = {"in the source": seen, "in the memory": None}
    words = [*SENTENCE[-SOURCE:], "start", GERMAN[0]]
    rows = {name: _moves(lambda x, m=m: run(x, m), 5, 4) for name, m in masks.items()}  # type: ignore[misc]
    return Broken(f"“{words[SOURCE - 1]}” hidden", words, 4, rows, [])


def _too_long() -> Broken:
    """A source and a target in one text; the last word of the source is asked for the next."""
    words = [*SENTENCE[-SOURCE:], *GERMAN[:3]]
    rows = {
        f"prefix of {n}": _stack("prefix", len(words), SOURCE - 1, n) for n in (SOURCE, SOURCE + 1)
    }
    return Broken(f"asked for “{GERMAN[0]}”", words, SOURCE - 1, rows, [])
