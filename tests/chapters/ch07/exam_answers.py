"""The exam questions of chapter 7, answered again by other ways than the library's."""

import cmath
import itertools
from fractions import Fraction
from math import isqrt

import numpy as np

from tformer_book.exams import Item

UNITS = (1, 1j, -1, -1j)


def turned(x: list[float], place: int, pairs: list[tuple[int, int]]) -> list[float]:
    """Half a turn a place for the first pair and a quarter for the second, as complex numbers."""
    found = list(x)
    for quarters, (i, j) in zip((2, 1), pairs, strict=True):
        z = complex(x[i], x[j]) * UNITS[quarters * place % 4]
        found[i], found[j] = z.real, z.imag
    return found


NEIGHBOURS, HALVES = [(0, 1), (2, 3)], [(0, 2), (1, 3)]


def meet(x: list[float], y: list[float]) -> float:
    """A dot product."""
    return sum(a * b for a, b in zip(x, y, strict=True))


def quarter_turns(item: Item) -> dict[str, object]:
    """By complex numbers, in whole turns."""
    q, k, (t, s), factor = (item.given[name] for name in ("q", "k", "places", "factor"))
    query, key = turned(q, t, NEIGHBOURS), turned(k, s, NEIGHBOURS)
    scores = [meet(turned(q, 7 + n, NEIGHBOURS), turned(k, 7, NEIGHBOURS)) for n in range(4)]
    far = next(n for n in itertools.count() if Fraction(n, factor) == item.given["near"])
    return {
        "query": query,
        "key": key,
        "score": meet(query, key),
        "scores": scores,
        "best": scores.index(max(scores)),
        "far": far,
    }


def which_pair(item: Item) -> dict[str, object]:
    """By complex numbers; what is converted, coordinate by coordinate."""
    x, t, row = (item.given[name] for name in ("x", "place", "row"))
    words = []
    for result in item.given["results"].copy():
        pairs = {"neighbours": NEIGHBOURS, "halves": HALVES}
        fits = [name for name, pair in pairs.items() if np.allclose(turned(x, t, pair), result)]
        words.append(fits[0] if fits else "neither")
    assert sorted(words) == ["halves", "neighbours", "neither"]

    def converted(row: list[float]) -> list[float]:
        halves = [0.0] * 6
        for pair, half in itertools.product(range(3), range(2)):
            halves[pair + 3 * half] = row[2 * pair + half]
        return halves

    return {
        "verdict": ", ".join(f"{x} {word}" for x, word in zip("ABC", words, strict=True)),
        "once": converted(row),
        "twice": converted(converted(row)),
    }


SPEEDS = np.array([1.0, 0.3])
ROWS = np.random.default_rng(0).standard_normal((2, 2)) + 1j
N = np.random.default_rng(1).standard_normal((4, 4))


def wave(t: int) -> np.ndarray:
    """The waves of a place as complex numbers, sine first."""
    return 1j * np.exp(-1j * SPEEDS * t)


def flat(z: np.ndarray) -> np.ndarray:
    """Pairs of coordinates from complex numbers."""
    return np.stack([z.real, z.imag], axis=-1).ravel()


def score(name: str, t: int, s: int) -> float:
    """A score of the list, for two random rows."""
    q, k = ROWS
    x, y = q, k
    if name in ("rope", "query", "against"):
        x = q * np.exp(1j * SPEEDS * t)
        y = k * np.exp(1j * SPEEDS * {"rope": s, "query": 0, "against": -s}[name])
    elif name in ("waves", "ahead", "matrix"):
        x, y = wave(t) * (np.exp(3j * SPEEDS) if name == "ahead" else 1), wave(s)
        if name == "matrix":
            return float(flat(x) @ N @ flat(y))
    elif name == "added":
        x, y = q + wave(t), k + wave(s)
    extra = {"slope": -0.4 * abs(t - s), "place": 0.4 * s}.get(name, 0.0)
    return float((x * y.conj()).real.sum()) + extra


def nothing_but_distance(item: Item) -> dict[str, object]:
    """Scores of random rows at moved places, and roots of unity for the hands."""
    names, turns, (t, s) = (item.given[name] for name in ("names", "turns", "places"))
    moved = [
        [score(name, a, b) - score(name, a + n, b + n) for a, b, n in ((3, 1, 2), (1, 6, 5))]
        for name in names
    ]
    letters = [x for x, gap in zip("ABCDE", moved, strict=True) if np.allclose(gap, 0, atol=1e-9)]
    hands = [[cmath.exp(2j * cmath.pi * place / n) for n in turns] for place in (t, s)]
    products = sum((x * y.conjugate()).real for x, y in zip(*hands, strict=True))
    gap = sum(abs(x - y) ** 2 for x, y in zip(*hands, strict=True))
    again = next(n for n in itertools.count(1) if not any(n % turn for turn in turns))
    return {"letters": " and ".join(letters), "meet": products, "gap": gap, "again": again}


def a_slope(item: Item) -> dict[str, object]:
    """Slopes by their ratio, weights in fractions, and a long text added up key by key."""
    heads, head, at, base, small, t = (
        item.given[name] for name in ("heads", "head", "at", "base", "small", "t")
    )
    ratio = Fraction(1, 2 ** (8 // heads))
    slopes = [ratio ** (h + 1) for h in range(heads)]
    parts = [Fraction(1, base ** (t - s)) for s in range(t + 1)]
    long = [base**n for n in range(40)]
    enough = next(n for n in range(40) if small * sum(long[: 40 - n]) <= sum(long))
    return {
        "slopes": [float(x) for x in slopes],
        "row": [float(-slopes[head - 1] * (at - s)) for s in range(at + 1)],
        "weights": [float(x / sum(parts)) for x in parts],
        "enough": enough,
    }


def table_of_distances(item: Item) -> dict[str, object]:
    """Cell by cell, by a dictionary of distances."""
    m, old, words = (item.given[name] for name in ("m", "old", "words"))
    numbers = dict(zip(range(-m, m + 1), item.given["table"].tolist(), strict=True))

    def near(t: int, s: int) -> int:
        return max(-m, min(m, s - t))

    pairs = [near(t, s) for t in range(words) for s in range(t + 1)]
    return {
        "square": [[numbers[near(t, s)] for s in range(4)] for t in range(4)],
        "new": [numbers[near(old, s)] for s in range(old + 1)],
        "wrong": [numbers[near(0, s)] for s in range(old + 1)],
        "shares": [pairs.count(n) for n in range(-m, 1)],
    }


def counting(item: Item) -> dict[str, object]:
    """In fractions; the number of a word by trying, the last one by solving."""
    a, at, told, words, fine = (item.given[x] for x in ("a", "at", "told", "words", "fine"))

    def share(n: int) -> Fraction:
        return Fraction(a) / sum([a, *[1] * (n - 1)])

    which = next(n for n in range(1, 100) if abs(float(share(n)) - told) < 1e-9)
    last = (isqrt(4 * fine + 1) - 1) // 2
    return {"here": float(share(at)), "which": which, "seen": float(share(words)), "last": last}
