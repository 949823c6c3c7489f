"""Exercises 7.4 to 7.6 and 7.12: turning rows, pairings, conversion, a diagnosis."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tformer import reference
from tformer.exercises.kinds import Name
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.table import Case, case

Array = np.ndarray
Turn = Callable[[Array, int], Array]


def _turned(x: Array, places: Array, pairing: str = "adjacent", base: float = 10000.0) -> Array:
    return reference.rope(x, reference.sinusoidal(places, x.shape[-1], base=base), pairing=pairing)


def _rows() -> Iterator[Case]:
    x = np.array([[3.0, 4]])
    yield case(x=x, places=np.array([0]), want=x, why="At place 0 nothing is turned.")
    one = np.array([[1.0, 0], [0, 1]])
    want = [[0.540302306, 0.841470985], [-0.841470985, 0.540302306]]
    yield case(x=one, places=np.array([1, 1]), want=want, why="One hand, turned by one radian.")
    apart = "Each row has its own place, and each pair its own hand."
    yield case(x=integers(1, (3, 4)), places=np.array([2, 0, 5]), why=apart)
    yield case(x=integers(1, (3, 4)), places=np.array([2, 0, 5]), why=apart, whole=True)
    yield case(x=integers(2, (3, 6)), places=np.arange(3), why=apart)
    yield case(x=integers(3, (1, 8)), places=np.array([1000]), why="A place far away.")
    yield case(x=integers(3, (2, 8)), places=np.array([-1, 40]), why="A place before the first.")
    for seed, shape in enumerate(((2, 3, 4), (4, 4, 4), (2, 1, 3, 8))):
        heads = "The axis of places is the last but one; what stands in front is turned alike."
        yield case(x=integers(seed, shape), places=np.arange(7, 7 + shape[-2]), why=heads)


def _pairs(
    x: Array, places: Array, make: Callable[[Array, Array, Array], tuple[Array, Array]]
) -> Array:
    angles = places[:, None] * 10000.0 ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
    pair = make(x[..., 0::2], x[..., 1::2], angles)
    return np.stack(pair, axis=-1).reshape(x.shape)


@exercise(
    "7.4",
    praise="Neighbours turned together, for batches and heads, whole numbers, far places and "
    "places before the first.",
    hints=(
        "First the table of angles: one row a place, one column a hand.",
        "Take the even columns and the odd columns apart, turn, and put them together in turn.",
        "The even ones become a cos φ − b sin φ, the odd ones a sin φ + b cos φ, from the old a.",
    ),
    cases=_rows,
    mutants={
        "You paired halves: coordinate i with i + d/2. Here neighbours are a pair.": (
            lambda x, places: _turned(x, places, "half")
        ),
        "The rows are turned the other way round.": lambda x, places: _turned(x, -places),
        "The halves of the answer are pairs taken apart: a's first, then b's. Put each pair back "
        "where it came from.": lambda x, places: _turned(x, places)[
            ..., reference.rope_permutation(x.shape[-1])
        ],
        "All hands turn as fast as the first.": (lambda x, places: _turned(x, places, base=1.0)),
        "The exponent is doubled: a counter of even columns is 2i already.": (
            lambda x, places: _turned(x, places, base=1e8)
        ),
        "Each row is turned by its number in the table; it has a place of its own.": (
            lambda x, places: _turned(x, np.arange(x.shape[-2]))
        ),
        "The new a went into the new b: both are made from the old pair.": (
            lambda x, places: _pairs(
                x,
                places,
                lambda a, b, f: (
                    a * np.cos(f) - b * np.sin(f),
                    (a * np.cos(f) - b * np.sin(f)) * np.sin(f) + b * np.cos(f),
                ),
            )
        ),
        "Both sines have one sign; a rotation takes one off.": (
            lambda x, places: _pairs(
                x,
                places,
                lambda a, b, f: (a * np.cos(f) + b * np.sin(f), a * np.sin(f) + b * np.cos(f)),
            )
        ),
        "The waves are added; the rows should be turned by them.": (
            lambda x, places: x + reference.sinusoidal(places, x.shape[-1])
        ),
        "Only the first pair is turned.": lambda x, places: np.concatenate(
            [_turned(x, places)[..., :2], x[..., 2:]], axis=-1
        ),
        "The numbers were cut to whole ones: the answer was written into an array of integers.": (
            lambda x, places: np.trunc(_turned(x, places))
        ),
    },
)
def turn(x: Array, places: Array) -> Array:
    """Rows turned by their places, neighbours as pairs."""
    return _turned(x, places)


def _function(d: int, order: Array, base: float, sign: int = 1) -> Turn:
    """A function that turns the coordinates order[2i] and order[2i + 1] together."""

    def f(x: Array, t: int) -> Array:
        waves = reference.sinusoidal(np.array([sign * t]), d, base=base)
        answer = np.empty(d)
        answer[order] = reference.rope(np.asarray(x, dtype=float)[order][None], waves)[0]
        return answer

    return f


def _functions() -> Iterator[Case]:
    for d in (4, 6, 16, 64):
        neighbours, halves = np.arange(d), np.argsort(reference.rope_permutation(d))
        ends = np.stack([np.arange(d // 2), d - 1 - np.arange(d // 2)], axis=-1).ravel()
        apart = np.concatenate([[0, 1], 2 + np.argsort(reference.rope_permutation(d - 2))])
        for base, sign in ((10000.0, 1), (10000.0, -1), (500.0, 1)):
            said = f"a function for width {d}, base {base:g}"
            yield from (
                case(
                    f=_function(d, order, base, sign),
                    d=d,
                    want=name,
                    said=f"{said} that pairs {what}",
                    why=f"It pairs {what}.",
                )
                for order, name, what in (
                    (neighbours, "neighbours", "0 with 1, 2 with 3 and so on"),
                    (halves, "halves", f"0 with {d // 2}, 1 with {d // 2 + 1} and so on"),
                    (ends, "neither", f"0 with {d - 1}, 1 with {d - 2} and so on"),
                    *(((apart, "neither", "0 with 1 and the rest in halves"),) if d > 4 else ()),
                )
            )


def _reached(f: Turn, d: int, row: int, t: int = 1) -> set[int]:
    """Where one coordinate goes."""
    return {int(i) for i in np.flatnonzero(abs(f(np.eye(d)[row], t)) > 1e-9)}


def _by_rows(f: Turn, d: int, rows: range, t: int = 1) -> str:
    found = [_reached(f, d, row, t) for row in rows]
    if all(x <= {row, row ^ 1} for row, x in zip(rows, found, strict=True)):
        return "neighbours"
    if all(x <= {row, (row + d // 2) % d} for row, x in zip(rows, found, strict=True)):
        return "halves"
    return "neither"


@exercise(
    "7.5",
    praise="Neighbours, halves and neither told apart at four widths, two bases and in both "
    "directions, and a pairing that begins like one and goes on like the other.",
    hints=(
        "What does f make of a row that is zero but for one coordinate?",
        "Such a row shows which other coordinate belongs to it. Ask all d of them.",
        "With neighbours, coordinate i reaches i and its neighbour; with halves i and i ± d/2.",
    ),
    cases=_functions,
    kind=Name(names=("neighbours", "halves", "neither")),
    mutants={
        "You asked where the first coordinate goes. Another may go elsewhere.": (
            lambda f, d: _by_rows(f, d, range(1))
        ),
        "You looked at place 0, where nothing is turned.": lambda f, d: _by_rows(f, d, range(d), 0),
        "Whatever is not neighbours you called halves.": lambda f, d: (
            "neighbours" if _by_rows(f, d, range(d)) == "neighbours" else "halves"
        ),
        "Whatever is not halves you called neighbours.": lambda f, d: (
            "halves" if _by_rows(f, d, range(d)) == "halves" else "neighbours"
        ),
        "The two names have changed places.": lambda f, d: {
            "neighbours": "halves",
            "halves": "neighbours",
        }.get(_by_rows(f, d, range(d)), "neither"),
        "You compared with one frequency and one direction; any others are allowed.": lambda f, d: (
            next(
                (
                    name
                    for name, pairing in (("neighbours", "adjacent"), ("halves", "half"))
                    if np.allclose(
                        f(np.arange(d), 3),
                        _turned(np.arange(d) * np.ones((1, d)), np.array([3]), pairing)[0],
                    )
                ),
                "neither",
            )
        ),
    },
)
def which_pairing(f: Turn, d: int) -> str:
    """The pairing of a function that turns rows."""
    return _by_rows(f, d, range(d))


def _matrices() -> Iterator[Case]:
    w = np.arange(4.0)[None]
    yield case(w=w, n_heads=1, want=[[0.0, 2, 1, 3]], why="One head: even columns first, then odd.")
    wide = np.arange(16.0).reshape(2, 8)
    each = "Each head is reordered by itself, and the heads stay where they are."
    yield case(w=wide[:, :6], n_heads=1, why="One head: even columns first, then odd.")
    yield case(w=wide, n_heads=2, why=each)
    yield case(w=wide, n_heads=4, want=wide, why="With two coordinates there is one pair only.")
    for seed, (rows, n_heads, width) in enumerate(((3, 2, 6), (5, 3, 8), (12, 2, 6), (16, 4, 16))):
        yield case(w=integers(seed, (rows, n_heads * width)), n_heads=n_heads, why=each)
        yield case(w=integers(seed, (rows, n_heads * width)), n_heads=n_heads, why=each, whole=True)


def _heads(order: Callable[[int], Array]) -> Callable[[Array, int], Array]:
    def change(w: Array, n_heads: int) -> Array:
        heads = w.reshape(len(w), n_heads, -1)
        return heads[..., order(heads.shape[-1])].reshape(w.shape)

    return change


def _even_first(d: int) -> Array:
    return np.concatenate([np.arange(0, d, 2), np.arange(1, d, 2)])


@exercise(
    "7.6",
    praise="Converted head by head, for one head and for four, and for heads with a single pair.",
    hints=(
        "One head first. Where must the columns that were neighbours, 0 and 1, stand for halves?",
        "Of each head, first the even columns and then the odd ones.",
        "Reshape to (d_model, H, d_k), reorder the last axis, and reshape back.",
    ),
    cases=_matrices,
    mutants={
        "All columns are reordered together: that mixes the heads.": (
            lambda w, n_heads: w[:, _even_first(w.shape[1])]
        ),
        "That is the way back, from halves to neighbours.": _heads(
            lambda d: np.argsort(_even_first(d))
        ),
        "Nothing is reordered: the columns stand where they stood.": lambda w, n_heads: w,
        "The odd columns came first.": _heads(lambda d: np.roll(_even_first(d), d // 2)),
        "The columns of a head are turned round.": _heads(lambda d: np.arange(d)[::-1]),
        "The two halves of each head have changed places; the pairs are still neighbours.": _heads(
            lambda d: np.roll(np.arange(d), d // 2)
        ),
        "The columns of the heads were taken in turn: column 0 of each head, then column 1. They "
        "lie head by head.": lambda w, n_heads: w.reshape(len(w), -1, n_heads)[
            :, _even_first(w.shape[1] // n_heads)
        ].reshape(w.shape),
        "The rows are reordered. A head's coordinates are columns here; with PyTorch's `nn.Linear` "
        "they would be rows.": lambda w, n_heads: w[_even_first(len(w))],
    },
)
def converted(w: Array, n_heads: int) -> Array:
    """Columns in the order for halves, head by head."""
    return _heads(reference.rope_permutation)(w, n_heads)


CAUSES = ("right", "not turned", "keys not turned", "queries at 0", "halves", "backwards")


def _scores(q: Array, k: Array, cause: str) -> Array:
    t = np.arange(len(q))
    pairing = "half" if cause == "halves" else "adjacent"
    queries = {"queries at 0": 0 * t, "not turned": 0 * t, "backwards": -t}.get(cause, t)
    keys = 0 * t if cause in ("not turned", "keys not turned") else t
    return _turned(q, queries, pairing) @ _turned(k, keys, pairing).T


def _programs() -> Iterator[Case]:
    for seed, (n, d) in enumerate(((3, 4), (5, 8), (12, 6), (40, 16))):
        q, k = np.random.default_rng(seed).standard_normal((2, n, d)).round(1)
        for cause in CAUSES:
            said = f"{n} queries and keys of width {d} in a program of the kind {cause!r}"
            yield case(
                q=q,
                k=k,
                scores=_scores(q, k, cause),
                want=cause,
                said=said,
                why="Compute the scores of all six programs and compare the whole tables.",
            )


def _nearest(
    causes: tuple[str, ...], where: Callable[[Array], Array] = lambda x: x
) -> Callable[[Array, Array, Array], str]:
    def name(q: Array, k: Array, scores: Array) -> str:
        gaps = {cause: abs(where(_scores(q, k, cause) - scores)).max() for cause in causes}
        return min(gaps, key=lambda cause: gaps[cause])

    return name


@exercise(
    "7.12",
    praise="Six programs told apart at four sizes, by their scores alone.",
    hints=(
        "Write the function `turn` of 7.4 into your answer and compute the scores of each program.",
        "For halves, reorder the coordinates, so that pairs are neighbours, and turn as before.",
        "Return the name of the program whose scores lie nearest to those you were given.",
    ),
    cases=_programs,
    kind=Name(names=CAUSES),
    mutants={
        "You looked at the diagonal, where several programs agree.": _nearest(CAUSES, np.diag),
        "You looked at the first query, at place 0, where several programs agree.": (
            _nearest(CAUSES, lambda x: x[0])
        ),
        "You looked at the first key, at place 0, where several programs agree.": (
            _nearest(CAUSES, lambda x: x[:, 0])
        ),
        "You never say 'halves'.": _nearest(tuple(c for c in CAUSES if c != "halves")),
        "You never say 'backwards'.": _nearest(tuple(c for c in CAUSES if c != "backwards")),
        "You never say 'queries at 0'.": _nearest(tuple(c for c in CAUSES if c != "queries at 0")),
        "Queries and keys have changed places.": lambda q, k, scores: _nearest(CAUSES)(
            k, q, scores
        ),
        "The scores were transposed: a row belongs to a query.": lambda q, k, scores: _nearest(
            CAUSES
        )(q, k, scores.T),
    },
)
def diagnosis(q: Array, k: Array, scores: Array) -> str:
    """What a program does with its places."""
    return _nearest(CAUSES)(q, k, scores)
