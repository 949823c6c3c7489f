"""Exercises 7.4 to 7.6: turning rows, pairings, conversion."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Name
from tformer_book.exercises.promises import fractions, promised, single, stacked, whole, zeros
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Turn = Callable[[Array, int], Array]
BASE = 10000.0


def _turned(x: Array, places: Array, pairing: str = "adjacent") -> Array:
    return reference.rope(x, reference.sinusoidal(places, x.shape[-1]), pairing=pairing)


def _rows() -> Iterator[Case]:
    x = np.array([[3.0, 4]])
    yield case(x=x, places=np.array([0]), want=x, why="At position 0 nothing is turned.")
    one = np.array([[1.0, 0], [0, 1]])
    want = [[0.540302306, 0.841470985], [-0.841470985, 0.540302306]]
    yield case(x=one, places=np.array([1, 1]), want=want, why="One hand, turned by one radian.")
    far, before = "A position far away.", "A position before the first."
    for seed, (width, places, why) in enumerate(
        (
            (4, [2, 0, 5], "Each row has its own position, and each pair its own hand."),
            (6, [0, 3], "Each row has its own position, and each pair its own hand."),
            (8, [1000], far),
            (8, [-1, 40], before),
            (10, [7, 7, -100000, 3], f"{far[:-1]}, and {before[2:]}"),
        ),
        1,
    ):
        rows, at = integers(seed, (len(places), width)), np.array(places)
        yield case(x=rows, places=at, want=_turned(rows, at), why=why)
    for seed, shape in enumerate(((2, 3, 4), (4, 4, 4), (2, 1, 3, 8))):
        heads = "The axis of positions is the last but one; what stands in front is turned alike."
        yield case(x=integers(seed, shape), places=np.arange(7, 7 + shape[-2]), why=heads)
    like = {"x": integers(4, (3, 6)), "places": np.array([2, 0, 5])}
    yield from promised(whole, single, stacked, zeros("x"), **like)
    yield from promised(whole, x=integers(5, (2, 4)), places=np.array([1, -3]))


@exercise(
    "7.4",
    praise="Neighbours turned together, for batches and heads, whole numbers, far positions and "
    "positions before the first.",
    hints=(
        "First the table of angles: one row for each position, one column for each hand.",
        "Take the even columns and the odd columns apart, turn, and put them together in turn.",
        "The even ones become a cos φ − b sin φ, the odd ones a sin φ + b cos φ, from the old a.",
    ),
    cases=_rows,
    otherwise="Each pair is turned by the position times its frequency.",
    slips="""
        np.arange(0, d, 2) / d → $[::-1]
            The frequencies stand in reverse order: the first pair turns fastest.
        x[..., 0::2], x[..., 1::2] → np.split(x, 2, axis=-1) ;; np.stack → np.concatenate
            You paired halves: coordinate i with i + d/2. Here neighbours are a pair.
        places → -places
            The rows are turned the other way round.
        np.stack → np.concatenate
            The halves of the answer are pairs taken apart: a's first, then b's. Put each pair back
            where it came from.
        BASE → 1.0
            All hands turn as fast as the first.
        / d → / d * 2
            The exponent is doubled: a counter of even columns is 2i already.
        / d → / d / 2
            The exponent is halved: hand i has −2i/d, and there are d/2 hands.
        -np.arange → np.arange
            The hands become faster from pair to pair; the exponent is negative.
        / d → // d
            The exponents are cut to whole numbers: `//` drops what lies after the point.
        places → np.arange(x.shape[-2])
            Each row is turned by its number in the table; it has a position of its own.
        places → abs(places)
            The sign of a position has no effect: before the first one rows turn the other way.
        places → (places - places[0])
            Positions are counted from that of the first row; each row turns by its own.
        places → np.sort(places)
            The positions are sorted, and the rows are not: each row has the position beside it.
        places → np.ones(x.shape[-2])
            The positions have no effect: every row is turned as at position 1.
        places[:, None] → places.reshape(-1, *[1] * (x.ndim - 1))
            The positions belong to the first axis only if it is the only one in front: the axis of
            positions is the last but one.
        places[:, None] → places
            Positions and hands lie along one axis; the table of angles needs a row for each
            position.
        a * s + b * c → (a * c - b * s) * s + b * c
            The new a went into the new b: both are made from the old pair.
        a * c - b * s → a * c + b * s
            Both sines have one sign; a rotation takes one off.
        np.cos(angles), np.sin(angles) → np.sin(angles), np.cos(angles)
            Sine and cosine have changed places: at position 0 a row would not stay what it is.
        np.cos(angles), np.sin(angles) → np.cos(np.radians(angles)), np.sin(np.radians(angles))
            Sine and cosine took the angle in degrees; it is in radians.
        = x + reference.sinusoidal(places, x.shape[-1])
            The waves are added; the rows should be turned by them.
        angles = → angles = np.eye(1, d // 2) *
            Only the first pair is turned.
        = np.trunc(_turned(x, places))
            The numbers were cut to whole ones: the answer was written into an array of integers.
        = turn(x, places.astype(np.int64).astype(np.uint8))
            Positions went through 8 bits, and larger and negative ones become others.
    """,
)
def turn(x: Array, places: Array) -> Array:
    """Rows turned by their positions, neighbours as pairs."""
    d = x.shape[-1]
    angles = places[:, None] * BASE ** (-np.arange(0, d, 2) / d)
    (a, b), (c, s) = (x[..., 0::2], x[..., 1::2]), (np.cos(angles), np.sin(angles))
    return np.stack([a * c - b * s, a * s + b * c], axis=-1).reshape(x.shape)


def _function(order: Array, base: float, sign: int = 1) -> Turn:
    """A function that turns the coordinates order[2i] and order[2i + 1] together."""

    def f(x: Array, t: int) -> Array:
        waves = reference.sinusoidal(np.array([sign * t]), len(order), base=base)
        answer = np.empty(len(order))
        answer[order] = reference.rope(np.asarray(x, dtype=float)[order][None], waves)[0]
        return np.fft.irfft(np.fft.rfft(answer))  # what is 0 is 0 up to rounding

    return f


def _pairings(d: int) -> Iterator[tuple[Array, str, str]]:
    """Orders of coordinates in which pairs are neighbours, what they are, and in words."""
    i, half = np.arange(d), d // 2
    halves = i.reshape(2, half).T.ravel()
    yield i, "neighbours", "0 with 1, 2 with 3 and so on"
    yield halves, "halves", f"0 with {half}, 1 with {half + 1} and so on"
    ends = np.stack([i[:half], i[::-1][:half]], axis=-1).ravel()
    yield ends, "neither", f"0 with {d - 1}, 1 with {d - 2} and so on"
    for one in sorted({0, half // 4, half - 2} if d > 4 else ()):  # two pairs exchange partners
        for order, name in ((i, "neighbours"), (halves, "halves")):
            other = order.copy()
            other[[2 * one + 1, 2 * one + 3]] = order[[2 * one + 3, 2 * one + 1]]
            (a, b), (c, e) = other[2 * one : 2 * one + 4].reshape(2, 2)
            yield other, "neither", f"{name}, but {a} with {b} and {c} with {e}"
    for one in (0, 1) if d % 4 == 0 and d > 4 else ():  # the even, or the odd pairs of halves
        pairs = halves.reshape(half, 2).copy()
        pairs[one::2] = pairs[one::2].ravel().reshape(2, -1).T
        (a, b), (c, e) = pairs[one], pairs[one + 2]
        yield pairs.ravel(), "neither", f"halves, but {a} with {b}, {c} with {e} and so on"


def _functions() -> Iterator[Case]:
    for d in (4, 6, 16, 32):
        for base, sign in ((BASE, 1), (18000.0, -1), (1.0, 1)):
            for order, name, what in list(_pairings(d))[: None if base > 1 else 3]:
                said = f"a function for width {d}, base {base:g}, that pairs {what}"
                f = _function(order, base, sign)
                why = f"It pairs {what}." + " Each coordinate has to be asked." * ("but" in what)
                yield case(f=f, d=d, want=name, said=said, why=why)


def _by_one_frequency(f: Turn, d: int) -> str:
    x, places = np.arange(1.0, d + 1), np.array([3])
    for name, pairing in (("neighbours", "adjacent"), ("halves", "half")):
        if np.allclose(f(x, 3), _turned(x[None], places, pairing)[0]):
            return name
    return "neither"


@exercise(
    "7.5",
    praise="Neighbours, halves and neither told apart at four widths, by hands fast and slow, in "
    "both directions, also where two pairs alone are others, and past what rounding leaves.",
    hints=(
        "What does f make of a row that is zero but for one coordinate?",
        "Such a row shows which other coordinate belongs to it. Ask all d of them.",
        "With neighbours, coordinate i reaches i and its neighbour; with halves i and i ± d/2.",
    ),
    cases=_functions,
    kind=Name(names=("neighbours", "halves", "neither")),
    slips="""
        reached[~allowed] → reached[0, ~allowed[0]]
            You asked where the first coordinate goes. Another may go elsewhere.
        reached[~allowed] → reached[-1, ~allowed[-1]]
            You asked where the last coordinate goes. Another may go elsewhere.
        reached[~allowed] → reached[[0, -1]][~allowed[[0, -1]]]
            You asked where the first and the last coordinate go. Another may go elsewhere.
        reached[~allowed] → reached[0, ~allowed[0]] ;; "neither" → "halves"
            You never say 'neither'; every coordinate has to be asked where it goes.
        reached[~allowed] → reached[:2][~allowed[:2]]
            You asked where the first two coordinates go. Another may go elsewhere.
        reached[~allowed] → reached[: d // 2][~allowed[: d // 2]]
            You asked where the first half of the coordinates goes. Another may go elsewhere.
        f(row, 1) → f(row, 0)
            You looked at position 0, where nothing is turned.
        = "neither"
            You always say 'neither'. At position 0, say, nothing is turned, and no pair shows.
        "neither" → "halves"
            Whatever is not neighbours you called halves.
        "neither" → "neighbours"
            Whatever is not halves you called neighbours.
        i ^ 1, "halves": (i + d // 2) % d → (i + d // 2) % d, "halves": i ^ 1
            The two names have changed places.
        > 1e-9 → != 0
            What rounding leaves you took for a coordinate that is reached: 0 may come as 1e-17.
        > 1e-9 → > 1e-3
            A slow hand leaves less than you asked for: it may turn by 0.0001 per position.
        > 1e-9 → > 1e-3 ;; not reached[~allowed].any() → np.array_equal(reached, allowed)
            A slow hand looks as if it did not move: it may turn by 0.0001 per position.
        > 1e-9 → > 1e-2 ;; not reached[~allowed].any() → np.array_equal(reached, allowed)
            A slow hand looks as if it stood still: it may turn by less than a hundredth per
            position.
        i ^ 1 → i ^ (i < 2)
            You gave only the first pair of neighbours its partner.
        reached[~allowed] → reached[::2][~allowed[::2]]
            You asked where the even coordinates go. An odd one may go elsewhere.
        reached[~allowed] → reached[1::2][~allowed[1::2]]
            You asked where the odd coordinates go. An even one may go elsewhere.
    """,
    mutants={
        "You compared with one frequency and one direction; any others are allowed.": (
            _by_one_frequency
        ),
    },
)
def which_pairing(f: Turn, d: int) -> str:
    """The pairing of a function that turns rows."""
    i = np.arange(d)
    reached = abs(np.array([f(row, 1) for row in np.eye(d)])) > 1e-9
    for name, partner in {"neighbours": i ^ 1, "halves": (i + d // 2) % d}.items():
        allowed = (i == i[:, None]) | (i == partner[:, None])
        if not reached[~allowed].any():
            return name
    return "neither"


def _matrices() -> Iterator[Case]:
    w = np.arange(4.0)[None]
    first = "One head: even columns first, then odd."
    yield case(w=w, n_heads=1, want=[[0.0, 2, 1, 3]], why=first)
    wide = np.arange(16.0).reshape(2, 8)
    each = "Each head is reordered by itself, and the heads stay where they are."
    yield case(w=wide[:, :6], n_heads=1, want=wide[:, [0, 2, 4, 1, 3, 5]], why=first)
    yield case(w=wide, n_heads=2, want=wide[:, [0, 2, 1, 3, 4, 6, 5, 7]], why=each)
    yield case(w=wide, n_heads=4, want=wide, why="With two coordinates there is one pair only.")
    sizes = ((3, 2, 6), (5, 3, 8), (12, 2, 6), (16, 4, 16), (1, 6, 4), (40, 1, 10))
    for seed, (rows, n_heads, width) in enumerate(sizes):
        of_heads = integers(seed, (rows, n_heads, width))
        want = of_heads[..., reference.rope_permutation(width)].reshape(rows, -1)
        yield case(w=of_heads.reshape(rows, -1), n_heads=n_heads, want=want, why=each)
    yield from promised(whole, fractions, single, w=integers(7, (3, 12)) / 4, n_heads=2)


@exercise(
    "7.6",
    praise="Converted head by head, for one head and for six, and for heads with a single pair.",
    hints=(
        "One head first. Where must the columns that were neighbours, 0 and 1, stand for halves?",
        "In each head, take first the even columns and then the odd ones.",
        "Reshape to (d_model, H, d_k), reorder the last axis, and reshape back.",
    ),
    cases=_matrices,
    otherwise="Only the order of columns inside a head changes.",
    slips="""
        w.reshape(len(w), n_heads, -1) → w
            All columns are reordered together: that mixes the heads.
        np.concatenate → np.stack ;; heads[..., 0::2], heads[..., 1::2] → *np.split(heads, 2, -1)
            That is the way back, from halves to neighbours.
        = w
            Nothing is reordered: the columns stand where they stood.
        heads[..., 0::2], heads[..., 1::2] → heads[..., 1::2], heads[..., 0::2]
            The odd columns came first.
        = np.flip(w.reshape(len(w), n_heads, -1), axis=-1).reshape(w.shape)
            The columns of a head are turned round.
        = np.roll(w.reshape(len(w), n_heads, 2, -1), 1, axis=2).reshape(w.shape)
            The two halves of each head have changed places; the pairs are still neighbours.
        = w.reshape(len(w), -1, n_heads)[:, _even_first(w.shape[1] // n_heads)].reshape(w.shape)
            The columns of the heads were taken in turn: column 0 of each head, then column 1. They
            lie head by head.
        = np.hstack([converted(w[:, : w.shape[1] // n_heads], 1), w[:, w.shape[1] // n_heads :]])
            Only the first head is converted.
        heads[..., 0::2], heads[..., 1::2] → heads[:, ::-1, 0::2], heads[:, ::-1, 1::2]
            The heads stand in reverse order.
        n_heads, -1 → n_heads, len(w) // n_heads
            The width of a head need not be d_model/H: the columns tell it.
        = w[_even_first(len(w))]
            The rows are reordered. A head's coordinates are columns here; with PyTorch's
            `nn.Linear` they would be rows.
        heads[..., 1::2] → heads[..., :0:-2]
            The odd columns came in reverse order: the partner of the first even one is the first.
        len(w), n_heads, -1 → len(w), -1, 2 * n_heads
            That took 2 · n_heads for the width of a head.
        = np.concatenate([w.reshape(len(w), n_heads, -1)[..., 0::2][..., ::-1], w.reshape(len(w),
        n_heads, -1)[..., 1::2][..., ::-1]], axis=-1).reshape(w.shape)
            Each half is in reverse order; pairs keep theirs.
        = converted(w, w.shape[1] // n_heads) if n_heads % 2 == 0 else converted(w, 1)
            The number of heads was taken for their width.
    """,
)
def converted(w: Array, n_heads: int) -> Array:
    """Columns in the order for halves, head by head."""
    heads = w.reshape(len(w), n_heads, -1)
    return np.concatenate([heads[..., 0::2], heads[..., 1::2]], axis=-1).reshape(w.shape)


def _even_first(d: int) -> Array:
    return np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])
