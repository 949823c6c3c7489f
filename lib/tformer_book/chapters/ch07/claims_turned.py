"""The claims of chapter 7, position: places as rotations of queries and keys."""

from __future__ import annotations

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch07 import places
from tformer_book.chapters.ch07.claims import LARGE, turn
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, identity, near, row, show
from tformer_book.world import lexicon


def turned(x: Array, positions: Array, pairing: str = "adjacent") -> Array:
    """Return rows (..., T, d) turned by their places, by the library."""
    return ref.rope(x, ref.sinusoidal(positions, x.shape[-1]), pairing=pairing)


@claim(
    "thm-rope",
    "symbolic",
    mutants={"only the query is turned": {"key": 0}, "the key is turned back": {"key": -1}},
    scope="widths up to 6; the library, both pairings",
)
def rope(key: int = 1) -> str:
    """Any frequencies and real places, for symbols; the library in both pairings, in batches."""
    t, s = sp.symbols("t s", real=True)
    for half in (1, 2, 3):
        q, k, omega = row("q", 2 * half), row("k", 2 * half), row("omega", half, positive=True)
        query, other = sp.Matrix([q]) * turn(t, omega), sp.Matrix([k]) * turn(key * s, omega)
        identity((query * query.T)[0], q @ q, "‖q R_t‖² = ‖q‖²")
        relative = (sp.Matrix([q]) * turn(t - s, omega) * sp.Matrix([k]).T)[0]
        difference = sp.expand(sp.expand_trig((query * other.T)[0].expand() - relative.expand()))
        identity(difference, 0, "(q R_t)·(k R_s) = q R_{t−s} kᵀ")
    places_ = np.arange(-3, 60)
    for pairing in ("adjacent", "half"):
        for d in (2, 6, 64):
            q, k = np.random.default_rng(d).standard_normal((2, 2, len(places_), d))
            q, k = (np.broadcast_to(x[:, :1], x.shape) for x in (q, k))
            after = turned(q, places_, pairing) @ turned(k, key * places_, pairing).mT
            for delta in range(-62, 63):
                line = np.diagonal(after, delta, axis1=-2, axis2=-1)
                spread = np.ptp(line, axis=-1).max()
                require(spread < 1e-10, f"{pairing}, d = {d}: scores {-delta} back: {spread:.3f}")
            lengths = np.linalg.norm(q, axis=-1)
            require(near(ref.norm(turned(q, places_, pairing)), lengths, 1e-12), "norms")
    return (
        f"symbol by symbol for d ≤ {2 * half}, any frequencies and places; the library at 63 "
        "places, two pairings, three widths: one score for each of 125 distances, within 1e-10"
    )


@claim(
    "exm-turned-row",
    "exhaustive",
    mutants={"no hand": {"strength": 0.0}, "a hand that overrules": {"strength": 16.0}},
    scope="ten sentences, and each begun at place 100",
)
def turned_row(strength: float = 6.0) -> str:
    """All ten sentences, with the first word at place 0 and at place 100."""
    right = dict.fromkeys((places.FIT, LARGE[1]), "bag") | dict.fromkeys(
        (places.SWAPPED, LARGE[0]), "box"
    )
    nouns = set(lexicon.SENTENCES.values())
    least = np.inf
    for sentence, noun in {**right, **lexicon.SENTENCES}.items():
        tokens = lexicon.tokenise(sentence)
        a = places.read(sentence, strength=strength)
        other = max(a[i] for i, x in enumerate(tokens) if x in {*nouns, *places.NOUNS} - {noun})
        least = min(least, a[tokens.index(noun)] / other)
        says = f"{noun} {a[tokens.index(noun)]:.3f}, the other {other:.3f} in “{sentence}”"
        require(least > 2, says)
        require(near(a, places.read(sentence, 100, strength), 1e-12), "place 100 is told from 0")
    first, second = (places.read(s, strength=strength) for s in (places.FIT, places.SWAPPED))
    require(near(first[[6, 1]], [0.781, 0.197], 5e-4), f"bag and box {show(first[[6, 1]])}")
    require(near(second[[6, 1]], first[[6, 1]], 1e-12), "the exchange is felt otherwise")
    shown = " and ".join(f"{weight:.3f}" for weight in first[[6, 1]])
    return (
        f"{shown} twice; in all ten the right noun at least {least:.1f} times the other; "
        "place 100 within 1e-12"
    )


@claim(
    "prop-pairings",
    "symbolic",
    mutants={
        "only queries are converted": {"keys": False},
        "converted the wrong way round": {"inverse": True},
    },
    scope="widths up to 8; the library, up to 64",
)
def pairings(keys: bool = True, inverse: bool = False) -> str:
    """Scores for symbols at all widths to 8; the library with projections and a batch."""
    t = sp.Symbol("t", real=True)
    for d in (2, 4, 6, 8):
        order = _order(d, inverse)
        omega, permutation = row("omega", d // 2, positive=True), sp.eye(d)[:, order]
        halves = [i // 2 + (i % 2) * (d // 2) for i in range(d)]
        in_halves = turn(t, omega)[_back(halves), _back(halves)]
        identity(
            _plain(permutation.T * turn(t, omega) * permutation),
            _plain(in_halves),
            "Πᵀ R_t Π turns coordinates i and i + d/2",
        )
    for d in (2, 6, 16, 64):
        x = np.random.default_rng(d).standard_normal((2, 9, 5))
        w_q, w_k = np.random.default_rng(d + 1).standard_normal((2, 5, d))
        order, place = _order(d, inverse), np.arange(9)
        one = turned(x @ w_q, place) @ turned(x @ w_k, place).mT
        q, k = x @ w_q[:, order], x @ (w_k[:, order] if keys else w_k)
        two = turned(q, place, "half") @ turned(k, place, "half").mT
        loops = [
            np.array([plain.turned(y, t) for t, y in enumerate(rows)])
            for rows in (x[0] @ w_q, x[0] @ w_k)
        ]
        gap = abs(one[0] - loops[0] @ loops[1].T).max()
        require(gap < 1e-11 * abs(one).max(), f"d = {d}: {gap:.3f} from the scores in loops")
        gap = abs(one - two).max()
        require(gap < 1e-11 * abs(one).max(), f"d = {d}: scores differ by up to {gap:.3f}")
    return "ΠᵀRΠ for symbols, d ≤ 8; scores from converted matrices, d up to 64, within 1e-11"


def _order(d: int, inverse: bool) -> list[int]:
    order = np.asarray(ref.rope_permutation(d))
    return [int(i) for i in (np.argsort(order) if inverse else order)]


def _back(order: list[int]) -> list[int]:
    return [int(i) for i in np.argsort(order)]


def _plain(matrix: sp.Matrix) -> Array:
    return np.array(matrix.tolist(), dtype=object)
