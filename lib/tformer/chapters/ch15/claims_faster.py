"""The claims of chapter 15: the cache, and speculative decoding."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy as sp
from scipy import stats

from tformer import reference as ref
from tformer.chapters.ch15 import speculation
from tformer.claims.registry import claim, require
from tformer.claims.tools import identity, near
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, tree_map

SCHEMES = ("none", "learned", "sinusoidal", "rope", "alibi")


def _model(positions: str) -> tuple[ModelParameters, Configuration]:
    c = Configuration(positions=positions)
    sizes = Sizes(7, 8, 2, 2, 12, n_groups=1, n_positions=20)
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
    scope="5 schemes of positions, 18 words in all pairs of parts",
)
def cached(restart: bool = False, kept: int = 0, without: int = 2109) -> str:
    """A text in two parts and word by word; and the scores, counted where they are made."""
    text = np.random.default_rng(2).integers(0, 7, 18)
    for positions in SCHEMES:
        p, c = _model(positions)
        whole = ref.decoder(text, p, c)
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
    return "every split and word by word, within 1e-9; both sums for symbols, and counted"


@claim(
    "thm-speculative",
    "exhaustive",
    mutants={
        "a rejected word is replaced by the target's": {"rest": "target"},
        "a rejected word is replaced by the draft's": {"rest": "draft"},
        "accepted if the target likes it as well": {"greedily": True},
    },
    scope="all pairs of rows of sixths, N = 2, 3; 6,000 texts",
)
def speculative(rest: str = "", greedily: bool = False) -> str:
    """Fractions for every pair of rows; then a χ² test of what the library writes."""
    pairs = 0
    for n in (2, 3):
        rows = [x for x in product(range(7), repeat=n) if sum(x) == 6]
        for a, b in product(rows, rows):
            p, q = ([Fraction(i, 6) for i in x] for x in (a, b))
            kept, replaced = speculation.split(p, q)
            if greedily:
                kept = [y if x >= y else Fraction(0) for x, y in zip(p, q, strict=True)]
            if rest or greedily:
                over = [max(x - y, Fraction(0)) for x, y in zip(p, q, strict=True)]
                whole = sum(over) or Fraction(1)
                new = {"target": p, "draft": q}.get(rest, [x / whole for x in over])
                replaced = [(1 - sum(kept)) * x for x in new]
            got = [x + y for x, y in zip(kept, replaced, strict=True)]
            says = f"p = {a}/6, q = {b}/6"
            require(got == p, f"{says}: written with {', '.join(map(str, got))}")
            far = sum((abs(x - y) for x, y in zip(p, q, strict=True)), Fraction(0)) / 2
            require(sum(kept) == 1 - far, f"{says}: accepted {sum(kept)}, not {1 - far}")
            pairs += 1
    rule = "greedily" if greedily else rest
    write = {"write": speculation.mistaken(rule)} if rule else {}
    seen = speculation.counts(6000, 0, **write)
    chance = float(stats.chisquare(seen, 6000 * speculation.TARGET).pvalue)
    require(chance > 1e-3, f"χ² of {seen.tolist()}: p-value {chance:.2g}")
    return f"{pairs} pairs of rows exactly; χ² of 6,000 texts of the library: p-value {chance:.2f}"


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
