"""The claims of chapter 7, position: when order decides, places added, places as rotations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch07 import listings, places
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, identity, near, row, show
from tformer_book.world import corpus, lexicon

LARGE = tuple(sentence.replace("small", "large") for sentence in (places.FIT, places.SWAPPED))
BASES = (10.0, 10_000.0, 500_000.0)


def turn(delta: sp.Expr, frequencies: Array) -> sp.Matrix:
    """Return R_δ for symbols: the blocks of the rotations by δ times each frequency."""
    blocks = [
        sp.Matrix([[sp.cos(angle), sp.sin(angle)], [-sp.sin(angle), sp.cos(angle)]])
        for angle in delta * frequencies
    ]
    return sp.diag(*blocks)


def rotation(delta: float, d: int, base: float = 10_000.0) -> Array:
    """Return R_δ as numbers, (d, d)."""
    matrix = np.zeros((d, d))
    for i in range(0, d, 2):
        angle = delta * base ** (-i / d)
        c, s = np.cos(angle), np.sin(angle)
        matrix[i : i + 2, i : i + 2] = [[c, s], [-s, c]]
    return matrix


@claim(
    "exm-box-and-bag",
    "exhaustive",
    mutants={"with places": {"first": 0}, "a box is cargo, a bag an opening": {"both": ()}},
    scope="every exchange of two words, three sentences",
)
def box_and_bag(first: int | None = None, both: tuple[str, ...] = places.NOUNS) -> str:
    """Beyond the statement, all exchanges of two words: the row of *it* takes its weights along."""
    for sentence in (places.FIT, places.SWAPPED):
        found = places.read(sentence, first, both=both)[[1, 6]]
        require(near(found, 0.464, 5e-4), f"the two nouns get {show(found)} in “{sentence}”")
    tried = 0
    for sentence in (places.FIT, places.SWAPPED, next(iter(lexicon.SENTENCES))):
        tokens, before = lexicon.tokenise(sentence), places.read(sentence, first)
        for i, j in combinations(range(len(tokens)), 2):
            order = list(range(len(tokens)))
            order[i], order[j] = j, i
            after = places.read(" ".join(tokens[n] for n in order), first)
            numbers = f"{show(after)} is not {show(before[order])}"
            require(near(after, before[order]), f"{tokens[i]} and {tokens[j]} exchanged: {numbers}")
            tried += 1
    tired = lexicon.read(next(iter(lexicon.SENTENCES)))
    animal, street = tired.weight("it", "animal"), tired.weight("it", "street")
    require(near([animal, street], [0.764, 0.116], 5e-4), f"{animal:.3f} and {street:.3f}")
    return (
        f"0.464 four times, {animal:.3f} and {street:.3f}; {tried} exchanges of two words, each "
        "weight moved with its word within 1e-12"
    )


@claim(
    "thm-sinusoidal-shift",
    "symbolic",
    mutants={
        "turned forwards": {"sign": 1},
        "the cosine has a frequency of its own": {"own": True},
    },
    scope="widths up to 6; the library, up to 64",
)
def sinusoidal_shift(sign: int = -1, own: bool = False) -> str:
    """Any frequencies and any real places, for symbols; the library's, for whole places."""
    t, s, delta = sp.symbols("t s delta", real=True)
    for half in (1, 2, 3):
        omega = row("omega", half, positive=True)
        other = row("nu", half, positive=True) if own else omega

        def at(place: sp.Expr, omega: Array = omega, other: Array = other) -> sp.Matrix:
            pairs = zip(omega, other, strict=True)
            return sp.Matrix(
                [[f for w, v in pairs for f in (sp.sin(place * w), sp.cos(place * v))]]
            )

        moved = (at(t) * turn(sign * delta, omega)).applyfunc(sp.expand_trig)
        expanded = at(t + delta).applyfunc(lambda x: sp.expand_trig(sp.expand(x)))
        identity(_plain(expanded), _plain(moved), "p_{t+δ} = p_t R_{−δ}")
        product = (at(t) * at(s).T)[0]
        cosines = sum(sp.expand_trig(sp.cos(sp.expand((t - s) * w))) for w in omega)
        identity(product, cosines, "p_t·p_s = Σ cos((t − s) ω_i)")
    reach = np.arange(-40, 200)
    for d in (2, 6, 16, 64):
        for base in BASES:
            p = ref.sinusoidal(reach, d, base=base)
            for delta in (-40, -1, 0, 1, 7, 100):
                want = ref.sinusoidal(reach + delta, d, base=base)
                got = p @ rotation(sign * delta, d, base)
                require(near(got, want, 1e-11), f"d = {d}, δ = {delta}: {show(got[0][:2])}")
            same = np.subtract.outer(reach, reach)[..., None] * base ** (-np.arange(0, d, 2) / d)
            require(near(p @ p.T, np.cos(same).sum(axis=-1), 1e-11), f"dot products, d = {d}")
    return (
        f"symbol by symbol for d ≤ {2 * half}, any frequencies; the library's for d up to {d}, "
        f"three bases, places −40 to 199, six shifts, within 1e-11"
    )


def _plain(matrix: sp.Matrix) -> Array:
    return np.array(matrix.tolist(), dtype=object)


@claim(
    "exm-two-the",
    "numeric",
    mutants={"no places": {"strength": 0.0}, "both at the first place": {"second": 0}},
    scope="all its numbers",
)
def two_the(strength: float = 1.0, second: int = 5) -> str:
    """The vectors of chapter 1 and the waves of the library, to the decimals that are printed."""
    x = corpus.vectors(next(iter(lexicon.SENTENCES)).lower().split())
    require(near(x[0], x[5], 0), "the two rows differ before places are added")
    p = strength * ref.sinusoidal(np.arange(12), 16)
    one, two = x[0] + p[0], x[5] + p[second]
    before, found = x[0] @ x[0], [one @ two, one @ one, two @ two]
    require(near(before, 6.5, 0.05), f"x·x = {before:.2f}")
    require(near(found, [9.4, 12.5, 10.0], 0.05), f"with places {show(found)}")
    return f"{before:.1f} before, {show(np.round(found, 1))} after, to one decimal"


@claim(
    "exm-position-listings",
    "numeric",
    mutants={"the exponent doubled": {"power": 2}, "places from 1": {"first": 1}},
    scope="widths 2 to 64, up to 512 places",
)
def position_listings(power: int = 1, first: int = 0) -> str:
    """Both listings, entry by entry, against the library; the sums that the examples print."""
    for d, n in ((2, 5), (8, 4), (16, 512), (64, 100)):
        ours = ref.sinusoidal(np.arange(first, first + n), d, base=10_000.0**power)
        for name, listing in (("NumPy", listings.in_numpy), ("C++", listings.in_cpp)):
            theirs = listing(n, d)
            i, j = np.unravel_index(abs(ours - theirs).argmax(), ours.shape)
            numbers = f"{theirs[i, j]:.4f} in {name}, {ours[i, j]:.4f} here"
            require(near(ours, theirs, 1e-12), f"d = {d}, place {i}, column {j}: {numbers}")
    want = listings.BUY_MILK_AND + listings.SHIFTS
    require(near(listings.PRINTED, want), f"Buy milk and: {show(want)}")
    summed = listings.TOY + ref.sinusoidal(np.arange(4), 8)
    require(near(summed[0], listings.TOY[0] + [0, 1] * 4), "place 0 adds 0 and 1 in turn")
    return "NumPy and C++ listings at four sizes within 1e-12; the sums printed in *Buy milk and*"
