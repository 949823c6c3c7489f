"""The claims of chapter 15: the cache, and speculative decoding."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import prod
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.configuration import CHOICES, Configuration
from tformer.models import speculative as library
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, tree_map
from tformer_book.chapters.ch15 import speculation
from tformer_book.chapters.ch15.exactly import distribution
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, show, simplex_grid


def _model(positions: str) -> tuple[ModelParameters, Configuration]:
    c = Configuration(positions=positions)
    sizes = Sizes(7, 8, 2, 2, 12, n_groups=1, n_positions=37 if positions == "relative" else 20)
    p = initialise(sizes, c, np.random.default_rng(0))
    return tree_map(lambda x: x + np.random.default_rng(1).standard_normal(x.shape) / 4, p), c


@claim(
    "thm-cache",
    "numeric",
    mutants={
        "positions begin at 0 again": {"restart": True},
        "the last word's keys are not kept": {"kept": -1},
        "without a cache, twice as many scores": {"without": 342},
    },
    scope="6 schemes of positions, 18 words in all pairs of parts",
)
def cached(restart: bool = False, kept: int = 0, without: int = 2109) -> str:
    """A text in two parts and word by word; and the scores, counted where they are made.

    The whole text is read in loops as well, by code that the library does not share.
    """
    text = np.random.default_rng(2).integers(0, 7, 18)
    for positions in CHOICES["positions"]:
        p, c = _model(positions)
        whole = ref.decoder(text, p, c)
        off = float(np.abs(whole - plain.logits(text, p, c)).max())
        require(off < 1e-9, f"{positions}: {off:.2g} from the pass in loops")
        for n in range(1, 18):
            _, caches = ref.cached_decoder(text[:n], p, c)
            caches = tuple(cache.first(n + kept) for cache in caches)
            again = p
            if restart and positions == "learned":
                again = replace(p, positions=np.roll(p.positions, n, axis=0))
            rows, _ = ref.cached_decoder(text[n:], again, c, caches)
            off = float(np.abs(rows - whole[n:]).max())
            require(off < 1e-9, f"{positions}, {n} words kept: off by {off:.2g}")
    p, c = _model("rope")
    so_far: Any = None
    with_cache = by_full = 0
    for n in range(1, 19):
        rows, so_far = ref.cached_decoder(text[n - 1 : n], p, c, so_far)
        require(near(rows[-1], ref.decoder(text[:n], p, c)[-1], 1e-9), f"word {n} differs")
        with_cache += len(rows) * so_far[0].length
        by_full += ref.attention_weights(np.ones((n, 1)), np.ones((n, 1))).size
    require(with_cache == 171, f"{with_cache} scores with the cache")
    require(by_full == without, f"{by_full} scores without it, not {without}")
    last, t = sp.symbols("n t", positive=True, integer=True)
    sums = last * (last + 1) / 2, last * (last + 1) * (2 * last + 1) / 6
    identity(sp.summation(t, (t, 1, last)), sums[0], "the sum of t")
    identity(sp.summation(t**2, (t, 1, last)), sums[1], "the sum of t²")
    return "every split, word by word and in loops, within 1e-9; both sums for symbols, and counted"


@claim(
    "thm-speculative",
    "numeric",
    mutants={
        "a rejected word is replaced by the target's": {"rest": "target"},
        "a rejected word is replaced by the draft's": {"rest": "draft"},
        "accepted if the target likes it as well": {"rest": "greedily"},
        "accepted as often as the likeliest word says": {"most": True},
        "the texts are the draft's": {"whose": 1},
    },
    scope="all pairs of rows of quarters, N = 2, 3; 24 pairs of models",
)
def speculative(rest: str = "", most: bool = False, whose: int = 0) -> str:
    """The library under every course of chance, in fractions; rows, then models of two words."""
    pairs = 0
    for n in (2, 3):
        rows = simplex_grid(n, 4)
        for p, q in product(rows, rows):
            write = speculation.mistaken(rest) if rest else library.speculative_decoding

            def begin(uniform: Any, p: Any = p, q: Any = q, write: Any = write) -> Any:
                given = (speculation.rows_of(p), speculation.rows_of(q), np.array([0]))
                return [next(write(*given, 2, 1, uniform))]

            found, says = distribution(begin), f"p = {show(p)}, q = {show(q)}"
            got = [sum(w for text, w in found.items() if text[0] == x) for x in range(n)]
            require(got == [Fraction(x) for x in p], f"{says}: written with {show(got)}")
            pairs += 1
            if rest:  # it writes the first word alone
                continue
            accepted = sum(w for text, w in found.items() if len(text) == 2)
            want = Fraction(p.max() if most else 1 - np.abs(p - q).sum() / 2)
            require(accepted == want, f"{says}: accepted with {accepted}, not {want}")
    texts = 0
    for seed, length in product(range(8), (1, 2, 3)):
        tables = _tables(seed)
        target, draft = (_reader(table) for table in tables)
        found = distribution(
            partial(library.speculative_decoding, target, draft, np.array([0]), 3, length)
        )
        for words in product((0, 1), repeat=3):
            steps = [tables[whose][(0, *words[:t])][word] for t, word in enumerate(words)]
            share, chance = found.get(words, Fraction(0)), prod(Fraction(x) for x in steps)
            says = f"models {seed + 1}, {length} proposed: {words} has {share}, not {chance}"
            require(share == chance, says)
            texts += 1
    return (
        f"{pairs} pairs of rows, and {texts} texts of models that look at all words before: the "
        "library's probabilities in fractions, over every course of chance, are the target's"
    )


def _tables(seed: int) -> list[dict[tuple[int, ...], np.ndarray]]:
    """Target and draft: for all that may stand before, a row of eighths, some with a zero."""
    rng = np.random.default_rng(seed)
    before = [(0, *x) for t in range(4) for x in product((0, 1), repeat=t)]
    firsts = rng.integers(0, 9, (2, len(before))) / 8
    rows = np.stack([firsts, 1 - firsts], axis=-1)
    return [dict(zip(before, each, strict=True)) for each in rows]


class _Seen(tuple[int, ...]):
    """Words that were read, as a cache."""

    def first(self, n: int) -> _Seen:
        return _Seen(self[:n])


def _reader(table: dict[tuple[int, ...], np.ndarray]) -> Any:
    """A model with a cache, that gives the row which the table has for all words so far."""

    def read(tokens: np.ndarray, cache: Any) -> Any:
        words = [*(cache[0] if cache else ()), *map(int, tokens)]
        n = len(words) - len(tokens)
        require(len(words) <= 4, f"{len(words)} words are read, where 4 is the most")
        rows = [table[tuple(words[: t + 1])] for t in range(n, len(words))]
        return np.array(rows), (_Seen(words),)

    return read


@claim(
    "prop-accepted",
    "statistical",
    mutants={
        "the word of the target is not counted": {"extra": 0},
        "each proposed word counts alike": {"falling": False},
    },
    scope="proposals ≤ 5, symbols; 4,000 passes, 5 standard errors",
)
def accepted(extra: int = 1, falling: bool = True) -> str:
    """The sum for symbols, and passes of the library."""
    a = sp.Symbol("a", positive=True)
    for length in range(6):
        total = extra + sum(a ** (i if falling else 1) for i in range(1, length + 1))
        identity(sp.expand(total * (1 - a)), sp.expand(1 - a ** (length + 1)), f"length {length}")
    share = float(speculation.accepted(speculation.TARGET, speculation.DRAFT))
    for length in (1, 3, 5):
        found = speculation.lengths(speculation.TARGET, speculation.DRAFT, length, 4000)
        want = (1 - share ** (length + 1)) / (1 - share)
        error = found.std() / np.sqrt(len(found))
        require(
            abs(found.mean() - want) < 5 * error,
            f"length {length}: {found.mean():.3f} words a pass, not {want:.3f} ± {error:.3f}",
        )
    return "the sum for symbols; words a pass of the library within 5 standard errors"
