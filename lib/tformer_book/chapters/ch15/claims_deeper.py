"""The claims of the deeper page of chapter 15: order, chance, repetition, and what is possible."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product
from typing import Any, cast

import numpy as np
from scipy.optimize import linprog

from tformer import reference as ref
from tformer.models.generate import generate
from tformer_book.chapters.ch15 import speculation
from tformer_book.chapters.ch15.wider import WIDER, found
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show


@claim(
    "prop-exchange",
    "numeric",
    mutants={
        "the nucleus does not depend on the temperature": {"nucleus": True},
        "the share of min-p stays": {"share": 0},
        "the k likeliest change": {"swapped": True},
    },
    scope="rows in {0, …, 4}, N = 4; three temperatures, three cuts",
)
def order(nucleus: bool = False, share: int = 1, swapped: bool = False) -> str:
    """Which words stay, with the temperature first and last; the library, on all small rows."""
    z, differ = np.array(list(product(range(5), repeat=4)), dtype=float), 0
    unlike = np.array([len(set(row)) == 4 for row in z])
    for tau in (0.5, 1.3, 3.0):
        warm = ref.temperature(z, tau)
        for k in (1, 2, 3):
            other = z if not swapped else -z
            _same(ref.top_k(warm, k), ref.top_k(other, k), z, f"τ = {tau}, k = {k}")
        for p in (0.2, 0.37, 0.9):
            later = min(1.0, p ** (tau if share else 1))
            _same(ref.min_p(warm, p), ref.min_p(z, later), z, f"τ = {tau}, min-p of {p}")
            one, other = ref.top_p(warm, p), ref.top_p(z, p)
            same = np.isfinite(one)[unlike] == _nucleus(warm[unlike], p)
            require(same.all(), f"τ = {tau}, top-p of {p}: {(~same).sum()} words differ")
            if nucleus:
                _same(one, other, z, f"τ = {tau}, top-p of {p}")
            differ += int(np.any(np.isfinite(one) != np.isfinite(other), axis=-1).sum())
    require(differ > 0, f"{differ} nuclei differ")
    return f"{len(z)} rows; top-p keeps other words in {differ} of {9 * len(z)} cases"


def _nucleus(rows: np.ndarray, share: float) -> np.ndarray:
    """The likeliest words up to the one that reaches the share, word by word."""
    found = np.zeros(rows.shape, dtype=bool)
    for row, stay in zip(rows, found, strict=True):
        p, total = plain.softmax(row), 0.0
        for word in np.argsort(-row):
            stay[word] = total < share
            total += p[word]
    return found


def _same(one: np.ndarray, other: np.ndarray, z: np.ndarray, says: str) -> None:
    """Require that the same words stay in all rows."""
    off = np.any(np.isfinite(one) != np.isfinite(other), axis=-1)
    if off.any():
        i = int(off.argmax())
        stay = [np.flatnonzero(np.isfinite(x[i])).tolist() for x in (one, other)]
        require(False, f"{show(z[i])}, {says}: {stay[0]} stay, or {stay[1]}")


@claim(
    "prop-draw",
    "numeric",
    mutants={
        "the order of words matters": {"order": True},
        "the first word that reaches it": {"border": -1},
    },
    scope="rows of sixteenths, N = 4: numbers m/16 and those between",
)
def drawn(order: bool = False, border: int = 0) -> str:
    """Each row of sixteenths: as many of 16 numbers draw a word as it has sixteenths."""
    rows = 0
    for parts in product((0, 1, 3, 4, 8, 12, 16), repeat=4):
        if sum(parts) != 16:
            continue
        with np.errstate(divide="ignore"):
            z = np.log(np.array(parts) / 16)
        u = (np.arange(16) + 0.5) / 16
        words = ref.sample(np.tile(z, (16, 1)), u)
        seen = np.bincount(words, minlength=4)
        require(seen.tolist() == list(parts), f"{parts}/16: {seen.tolist()}")
        if order:
            turned = ref.sample(np.tile(z[::-1], (16, 1)), u)
            require(bool(np.all(3 - turned == words)), f"{parts}/16 turned: {turned.tolist()}")
        rows += 1
    half = np.log(np.array([0.5, 0.5]))
    got = int(ref.sample(half, np.array(0.5)))
    require(got == 1 + border, f"1/2 of (1/2, 1/2) draws word {got}")
    return f"{rows} rows: every word is drawn by as many numbers as it has sixteenths"


@claim(
    "prop-repeat",
    "exhaustive",
    mutants={
        "it repeats after N words": {"power": 1},
        "chance repeats as well": {"by_chance": True},
    },
    scope="all functions of two words of N = 2; 200 random of N = 3",
)
def repeats(power: int = 2, by_chance: bool = False) -> str:
    """Greedy texts of models that see two words: when the first pair of words comes again."""
    tables = [np.array(x).reshape(2, 2) for x in product((0, 1), repeat=4)]
    rng = np.random.default_rng(0)
    tables += [rng.integers(0, 3, (3, 3)) for _ in range(200)]
    longest, nothing = 0, (cast(Any, None), cast(Any, None))
    for table in tables:
        n = len(table)

        def read(tokens: np.ndarray, *rest: Any, table: np.ndarray = table) -> Any:
            before, last = rest[-1] or 0, int(tokens[-1])
            return np.eye(len(table))[[table[before, last]]], last

        choose = (lambda row: int(rng.integers(len(row)))) if by_chance else None
        words = [0, *generate(read, np.array([0]), *nothing, 40, choose)]
        pairs = list(pairwise(words))
        first = next(i for i, pair in enumerate(pairs) if pair in pairs[:i])
        require(first <= n**power, f"N = {n}: the first pair that comes again is the {first}th")
        period = first - pairs.index(pairs[first])
        again = all(a == b for a, b in zip(pairs[first:], pairs[first - period :], strict=False))
        require(again, f"N = {n}: no period of {period} after {first} words")
        longest = max(longest, first)
    return f"{len(tables)} models; the longest way to the first repetition is {longest} pairs"


@claim(
    "prop-coupling",
    "numeric",
    mutants={
        "one could accept more": {"more": Fraction(1, 12)},
        "the distance is not halved": {"factor": 2},
    },
    scope="pairs of rows of thirds, N = 3: linear programs",
)
def coupling(more: Fraction = Fraction(0), factor: int = 1) -> str:
    """The best rule for each pair of rows, by a linear program over all joint distributions."""
    rows = [x for x in product(range(4), repeat=3) if sum(x) == 3]
    for a, b in product(rows, rows):
        p, q = np.array(a) / 3, np.array(b) / 3
        equal = [np.kron(np.eye(3), np.ones(3)), np.kron(np.ones(3), np.eye(3))]
        found = linprog(-np.eye(3).ravel(), A_eq=np.concatenate(equal), b_eq=[*q, *p])
        want = float(speculation.accepted(p, q)) + float(more)
        require(near(-found.fun, want, 1e-9), f"p = {a}/3, q = {b}/3: {-found.fun:.4f}")
        far = factor * np.abs(p - q).sum() / 2
        require(near(want, 1 - far + float(more), 1e-9), f"p = {a}/3, q = {b}/3: 1 - {far:.4f}")
    return f"{len(rows) ** 2} linear programs: none accepts more than the sum of the smaller ones"


@claim(
    "exm-wider-beam",
    "exhaustive",
    mutants={
        "a wider beam is at least as good": {"worse": 0.130},
        "three are as bad": {"wide": 3},
    },
    scope="all 27 texts",
)
def wider(worse: float = 0.0612, wide: int = 2) -> str:
    """Beams of widths 1 to 3 against all texts of three words."""
    logs = {x: np.log(p) for x, p in WIDER.items()}
    texts = {
        x: float(np.exp(sum(logs[x[:t]][word] for t, word in enumerate(x))))
        for x in product(range(3), repeat=3)
    }
    best = max(texts, key=texts.__getitem__)
    got = float(np.exp(found(1).log_probability))
    require(near(got, texts[best], 1e-12), f"greedy finds {got:.4f} of {texts[best]:.4f}")
    require(near(got, 0.1368, 5e-5), f"greedy finds {got:.4f}")
    got = float(np.exp(found(wide).log_probability))
    require(near(got, worse, 5e-5), f"a beam of {wide} finds {got:.4f}, not {worse:.4f}")
    return f"the likeliest of 27 texts has {texts[best]:.4f}: greedy finds it, two at a time do not"
