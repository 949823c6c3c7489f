"""Exercises 21.1, 21.2 and 21.8: an image cut into patches, put together, and patches moved."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import fractions, promised, single
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray

# ---- 21.1 ---------------------------------------------------------------------------------


def _pictures() -> Iterator[Case]:
    small = [[1, 2, 3, 4], [5, 6, 7, 8]]
    why = "Two squares side by side: the left one holds 1, 2 of the first row and 5, 6 below."
    yield case(image=small, p=2, want=[[1, 2, 5, 6], [3, 4, 7, 8]], why=why)
    tall = np.arange(24.0).reshape(6, 4)
    why = "Three rows of two squares: the second token is the upper right square."
    yield case(image=tall, p=2, want=_cut(tall, 2), why=why)
    wide = np.arange(54.0).reshape(6, 9) ** 2
    yield case(image=wide, p=3, want=_cut(wide, 3), why="Two rows of three squares of 3 × 3.")
    one = "Squares of one pixel: all pixels, row by row."
    yield case(image=small, p=1, want=[[1], [2], [3], [4], [5], [6], [7], [8]], why=one)
    single_square = "The image is one square."
    yield case(image=integers(3, (4, 4)), p=4, why=single_square)
    column = np.arange(12.0)[::-1].reshape(6, 2)
    yield case(image=column, p=2, want=_cut(column, 2), why="One square below the other.")
    large = np.random.default_rng(0).normal(size=(40, 24))
    yield case(image=large, p=8, want=_cut(large, 8), why="Five rows of three squares.")
    yield from promised(fractions, single, image=np.arange(1.0, 25).reshape(4, 6), p=2)


def _cut(image: Array, p: int) -> list[list[float]]:
    """The squares, by two loops."""
    return [
        image[i : i + p, j : j + p].ravel().tolist()
        for i in range(0, image.shape[0], p)
        for j in range(0, image.shape[1], p)
    ]


def _as_if_square(image: Array, p: int) -> Array:
    """As many columns of squares as there are rows of them."""
    starts = range(0, len(image), p)
    return np.stack([image[i : i + p, j : j + p].ravel() for i in starts for j in starts])


@exercise(
    "21.1",
    praise="Tall and wide images, squares of one pixel, and one square as large as the image.",
    hints=(
        "Where in the image do the p² pixels of one token lie?",
        "Name four axes by a reshape: which row of squares, which row within, and the same for "
        "columns.",
        "Bring the two axes within a square to the end, and then flatten twice.",
    ),
    cases=_pictures,
    otherwise="Squares row by row, and the pixels of each square row by row.",
    mutants={
        "You cut as many columns of squares as rows; an image may be wide or tall.": _as_if_square,
    },
    slips="""
        transpose(0, 2, 1, 3) → transpose(0, 1, 2, 3)
            Each token is a run of p² pixels along the rows of the image. A square holds pixels of
            p different rows.
        transpose(0, 2, 1, 3) → transpose(2, 0, 1, 3)
            The squares come column by column, and row by row is asked for.
        transpose(0, 2, 1, 3) → transpose(0, 2, 3, 1)
            The squares stand in the right order, but the pixels of each come column by column.
        transpose(0, 2, 1, 3) → transpose(2, 0, 3, 1)
            The squares come column by column, and so do the pixels of each.
        reshape(rows, p, columns, p) → reshape(p, rows, p, columns)
        transpose(0, 2, 1, 3) → transpose(1, 3, 0, 2)
            The pixels of one token lie far apart in the image; those of a square are neighbours.
        reshape(rows, p, columns, p) → reshape(p, rows, p, columns)
            The image was split into p parts along each side; it is to be split into parts of p
            pixels.
        = np.lib.stride_tricks.sliding_window_view(image, (p, p)).reshape(-1, p * p)
            Your squares overlap: each pixel belongs to one square only.
        .reshape(rows * columns, p * p) → .reshape(rows * columns, p * p).mean(axis=1)
            You took the mean of each square: a token keeps all its pixels.
        .reshape(rows * columns, p * p) → .reshape(rows * columns, p * p).mean(1, keepdims=True)
            You took the mean of each square and kept an axis for it: all pixels are to be kept.
        .reshape(rows * columns, p * p) → .reshape(rows, columns, p * p)
            The tokens still stand in a grid; a list of them is asked for.
        .reshape(rows * columns, p * p) → .reshape(rows, columns, p, p)
            Grid and squares have still two axes each; one each is asked for.
        .reshape(rows * columns, p * p) → .reshape(rows * columns, p, p)
            Each token is still a square; its pixels are to stand in one row.
        .reshape(rows * columns, p * p) → .reshape(rows * columns, p * p).T
            Tokens are the rows of the answer, and yours are its columns.
        .reshape(rows * columns, p * p) → .reshape(rows * columns, p * p)[::-1]
            The order of the squares is reversed: it begins at the lower right.
        image.shape[0] // p, image.shape[1] // p → image.shape[1] // p, image.shape[0] // p
            Height and width have changed places: the first axis of an image is its height.
        .reshape(rows * columns, p * p) → .reshape(rows, columns, p * p)[::-1].reshape(-1, p * p)
            The lowest row of squares comes first; begin at the top.
        blocks.transpose → (blocks / blocks.max()).transpose
            The pixels were divided by the largest; nothing is to happen to the numbers.
        blocks.transpose → (blocks - blocks.mean()).transpose
            The mean was subtracted; nothing is to happen to the numbers.
    """,
)
def patches(image: Array, p: int) -> Array:
    """Squares of an image as rows."""
    rows, columns = image.shape[0] // p, image.shape[1] // p
    blocks = image.reshape(rows, p, columns, p)
    return blocks.transpose(0, 2, 1, 3).reshape(rows * columns, p * p)


# ---- 21.2 ---------------------------------------------------------------------------------


def _puzzles() -> Iterator[Case]:
    halves = [[1, 2, 5, 6], [3, 4, 7, 8]]
    why = "The first token belongs to place 1, on the right, and the second one to place 0."
    places = np.array([1, 0])
    yield case(patches=halves, places=places, H=2, W=4, want=[[3, 4, 1, 2], [7, 8, 5, 6]], why=why)
    three = [[1, 1, 2, 2], [3, 3, 4, 4], [5, 6, 7, 8]]
    why = "The first token goes to place 2, the second one to place 0, the third one to place 1."
    want = [[3, 3, 5, 6, 1, 1], [4, 4, 7, 8, 2, 2]]
    yield case(patches=three, places=np.array([2, 0, 1]), H=2, W=6, want=want, why=why)
    why = "Place 3 of three squares a row is the first one of the second row."
    want = [[0, 0, 0, 0, 1, 1], [0, 0, 0, 0, 2, 2], [5, 6, 3, 3, 0, 0], [7, 8, 4, 4, 0, 0]]
    yield case(patches=three, places=np.array([2, 4, 3]), H=4, W=6, want=want, why=why)
    alone = "One square is there, at place 3 of six, and the others are missing."
    want = [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 5, 6], [0, 0, 7, 8], [0, 0, 0, 0], [0, 0, 0, 0]]
    yield case(patches=[[5, 6, 7, 8]], places=np.array([3]), H=6, W=4, want=want, why=alone)
    pixels = "Squares of one pixel: place and pixel are the same."
    want = [[0, 20, 40], [30, 0, 10]]
    some = np.array([5, 1, 3, 2])
    yield case(patches=[[10], [20], [30], [40]], places=some, H=2, W=3, want=want, why=pixels)
    whole = "One square is the whole image."
    yield case(patches=np.arange(9.0)[None], places=np.array([0]), H=3, W=3, why=whole)
    for seed, (p, rows, columns, T) in enumerate(((3, 2, 4, 8), (2, 5, 3, 9), (4, 3, 2, 6))):
        rng = np.random.default_rng(seed)
        tokens = rng.integers(1, 99, (T, p * p)).astype(float)
        places = rng.permutation(rows * columns)[:T]
        why = f"{T} tokens of {p} × {p} pixels, for {rows} rows of {columns} squares."
        yield case(patches=tokens, places=places, H=p * rows, W=p * columns, why=why)
    few: dict[str, Any] = {
        "patches": np.arange(1.0, 13).reshape(3, 4),
        "places": np.array([3, 0, 2]),
    }
    yield from promised(fractions, single, **few, H=4, W=4)


@exercise(
    "21.2",
    praise="All squares and few, one pixel each and whole images, in any order.",
    hints=(
        "How wide is a square, and how many of them stand in one row of the image?",
        "Begin with zeros. In which row of squares does place 5 lie, and in which column?",
        "Put token t to the place that is written beside it; do not fetch a token for each place.",
    ),
    cases=_puzzles,
    otherwise="Token t goes to its place, counted row by row in squares.",
    slips="""
        grid[places] → grid[np.argsort(places)]
            You read the places the other way round: token t goes to places[t].
        grid[places] = patches.reshape(-1, p, p) → grid[: len(places)] = squares[places]
        grid = np.zeros → squares = patches.reshape(-1, p, p); grid = np.zeros
            You fetch token places[t] for place t; token t is to be put there.
        grid[places] → grid[: len(places)]
            The places have no effect: your squares stand in the order in which they came.
        grid[places] → grid[np.sort(places)]
            The places are filled in rising order; each square has a place of its own.
        grid[places] → grid[places - 1]
            You counted places from 1; the square at the upper left has place 0.
        grid[places] → grid[::-1][places]
            You counted places from the end; the square at the upper left has place 0.
        np.zeros((rows * columns, p, p)) → np.full((rows * columns, p, p), patches.mean())
            Where a square is missing you put a mean; 0 is asked for.
        np.zeros((rows * columns, p, p)) → np.full((rows * columns, p, p), np.nan)
            Where a square is missing nan is left; 0 is asked for.
        np.zeros((rows * columns, p, p)) → np.ones((rows * columns, p, p))
            Where a square is missing you left 1; 0 is asked for.
        transpose(0, 2, 1, 3) → transpose(0, 1, 2, 3)
            You wrote each token along the rows of the image, as a strip: its pixels belong to p
            rows.
        transpose(0, 2, 1, 3) → transpose(0, 3, 1, 2)
            Each square is turned over: its pixels come row by row, and you took them by columns.
        reshape(rows, columns, p, p) → reshape(columns, rows, p, p)
        transpose(0, 2, 1, 3) → transpose(1, 2, 0, 3)
            You counted places column by column; they are counted row by row.
        reshape(rows, columns, p, p) → reshape(columns, rows, p, p)
        transpose(0, 2, 1, 3) → transpose(1, 3, 0, 2)
            You counted places and pixels column by column; both are counted row by row.
        rows, columns = H // p, W // p → rows, columns = W // p, H // p
            The grid has as many rows of squares as p fits into the height, not into the width.
        round(np.sqrt(patches.shape[1])) → patches.shape[1] // 2
            You took half of the number of pixels for the side of a square; the side is its root.
        round(np.sqrt(patches.shape[1])) → patches.shape[1]
            A token has p² pixels, and you took their number for p.
        round(np.sqrt(patches.shape[1])) → round(np.sqrt(H * W / len(patches)))
            You found p from the size of the image and the number of tokens; some may be missing.
        round(np.sqrt(patches.shape[1])) → 2
            You took p = 2; the number of pixels of a token says what p is.
        .reshape(H, W) → [::-1].reshape(H, W)
            The rows of squares come in reversed order: place 0 is at the top.
        .reshape(H, W) →
            The image is still cut into squares, with four axes; two are asked for.
        patches.reshape(-1, p, p) → patches.reshape(-1, p, p)[:, ::-1]
            Each square stands on its head.
    """,
)
def image_of(patches: Array, places: Array, H: int, W: int) -> Array:
    """An image, from squares and their places."""
    p = round(np.sqrt(patches.shape[1]))
    rows, columns = H // p, W // p
    grid = np.zeros((rows * columns, p, p))
    grid[places] = patches.reshape(-1, p, p)
    return grid.reshape(rows, columns, p, p).transpose(0, 2, 1, 3).reshape(H, W)


# ---- 21.8 ---------------------------------------------------------------------------------


def _orders() -> Iterator[Case]:
    turn = np.array([2, 0, 1])
    table, read = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([0.5, 0.25, 0.25])
    bias, causal = np.arange(9.0).reshape(3, 3), np.tri(3, dtype=bool)
    why = "At place 0 stands the patch that was at place 2, and all that belonged to place 2."
    want = (
        [[5, 6], [1, 2], [3, 4]],
        [[8, 6, 7], [2, 0, 1], [5, 3, 4]],
        [[True, True, True], [False, True, False], [False, True, True]],
        [0.25, 0.5, 0.25],
        [True, True, True, True],
    )
    given: dict[str, Any] = {"table": table, "bias": bias, "mask": causal, "read": read}
    yield case(order=turn, **given, want=want, why=why)
    ring = np.array([[0.0, 1, 2], [2, 0, 1], [1, 2, 0]])
    none: dict[str, Any] = {"table": np.ones((3, 2)), "bias": ring, "mask": ring < 2}
    none |= {"read": np.full(3, 0.25)}
    why = (
        "All rows of the table are equal, and so are all weights; on a ring that is turned no "
        "distance changes, in scores and mask. No model notices."
    )
    yield case(order=turn, **none, why=why)
    why = "Two patches change places, so the ring is not only turned."
    yield case(order=np.array([1, 0, 2]), **none, why=why)
    why = "Place 0 keeps its patch, and the others change places."
    yield case(order=np.array([0, 2, 1]), **given, why=why)
    why = "The order has not changed, so nothing has to."
    yield case(order=np.arange(3), **given, why=why)
    sums = "A mean of all places has equal weights; an order changes nothing there."
    for seed, T in enumerate((4, 5, 7)):
        rng = np.random.default_rng(seed)
        table, bias = rng.integers(-9, 10, (T, 3)).astype(float), rng.normal(size=(T, T))
        some: dict[str, Any] = {"table": table, "bias": bias, "mask": rng.random((T, T)) < 0.5}
        order = np.roll(rng.permutation(T), 1)
        mixed = "All four are tables without any order."
        yield case(order=order, **some, read=rng.dirichlet(np.ones(T)), why=mixed)
        yield case(order=order, **some, read=np.full(T, 1 / T), why=sums)
        free = some | {"mask": np.ones((T, T), dtype=bool)}
        why = "A mask that hides nothing stays as it is."
        yield case(order=order, **free, read=rng.dirichlet(np.ones(T)), why=why)
        rows = "A bias and a mask that depend on the key alone move along with it all the same."
        by_key = some | {"bias": np.tile(bias[0], (T, 1)), "mask": np.tile(bias[1] > 0, (T, 1))}
        yield case(order=order, **by_key, read=np.arange(T) / 8, why=rows)
        two = some | {"table": np.repeat(table[:1], T, axis=0)}
        why = "Equal rows of the table: the first model never knew a place."
        yield case(order=order, **two, read=np.arange(T) / 8, why=why)


@exercise(
    "21.8",
    praise="Turns of a ring, exchanges, orders that are not their own inverse, and no change.",
    hints=(
        "Which row of the table did the patch get that now stands at place 0?",
        "A table over pairs of places has two axes. Which of them move?",
        "Row t of the new table is row order[t] of the old one. Then compare entry by entry.",
    ),
    cases=_orders,
    kind=Several(names=("table", "bias", "mask", "weights", "array of four")),
    otherwise="What belonged to place order[t] belongs to place t now, along every axis of places.",
    slips="""
        new = order → new = np.argsort(order)
            You used the inverse of the order everywhere: place t gets what was at order[t].
        table[new] → table[np.argsort(new)]
            The table is moved by the inverse order: row t is to be what row order[t] was.
        read[new] → read[np.argsort(new)]
            The weights are moved by the inverse order: weight t is to be what weight order[t] was.
        both = np.ix_(new, new) → both = np.ix_(np.argsort(new), np.argsort(new))
            Bias and mask are moved by the inverse order.
        both = np.ix_(new, new) → both = new
            Of bias and mask only the rows are moved. Columns belong to places as well.
        both = np.ix_(new, new) → both = new[new]
            Of bias and mask the rows are moved twice and the columns not at all: a second pair of
            brackets takes rows again.
        both = np.ix_(new, new) → both = (slice(None), new)
            Of bias and mask only the columns are moved. Rows belong to places as well.
        both = np.ix_(new, new) → both = np.ix_(np.argsort(new), new)
            Rows and columns of bias and mask are moved by opposite orders; both follow the patches.
        both = np.ix_(new, new) → both = np.ix_(new, np.argsort(new))
            The columns of bias and mask are moved by the inverse order, and the rows by the order.
        both = np.ix_(new, new) → both = (new, new)
            With one pair of indices for each t you get T entries; each row is to meet each column.
        bias[both], → bias[both].T,
            The bias is transposed: row t still belongs to the patch that attends.
        mask[both] → mask[both].T
            The mask is transposed: row t still belongs to the patch that attends.
        bias[both], → bias,
            The bias belongs to pairs of places, so it moves too.
        mask[both] → mask
            The mask belongs to pairs of places, so it moves too.
        table[new], → table,
            The table has to move: row t is added to whatever patch stands at place t.
        read[new] → read
            The weights have to move: each belongs to a place.
        changed = [not np.array_equal(a, b) → changed = [np.array_equal(a, b)
            Your four answers are turned round: True where something differs.
        changed = [not np.array_equal(a, b) → changed = [True
            You say that every model has to be changed. Some arrays are the same after the move.
        changed = [not np.array_equal(a, b) → changed = [(new != np.arange(len(new))).any()
            You looked at the order alone. Equal entries, or distances on a ring, may not notice it.
        changed = [not np.array_equal(a, b) → changed = [a.sum() != b.sum()
            You compared sums; a move leaves every sum as it is.
        changed = [not np.array_equal(a, b) → changed = [not np.array_equal(np.sort(a), np.sort(b))
            You compared sorted entries; what counts is where each of them stands.
        changed = [not np.array_equal(a, b) → changed = [a.std() > 0
            You asked whether an array has different entries; some moves leave such an array as it
            is.
        changed = [not np.array_equal(a, b) → changed = [not np.array_equal(a[0], b[0])
            You compared the first rows alone.
        changed = [not np.array_equal(a, b) → changed = [(a != b).all()
            You ask whether all entries differ; one is enough.
        np.array(changed) → np.array([*changed[:3], False])
            The fourth model does not always take the mean: its weights may differ.
        np.array(changed) → np.flatnonzero(changed)
            Those are the numbers of the models that changed; True or False is asked for each.
    """,
)
def repaired(
    order: Array, table: Array, bias: Array, mask: Array, read: Array
) -> tuple[Array, Array, Array, Array, Array]:
    """Four arrays in a new order, and whether each is another one."""
    new = order
    both = np.ix_(new, new)
    moved = table[new], bias[both], mask[both], read[new]
    old = table, bias, mask, read
    changed = [not np.array_equal(a, b) for a, b in zip(old, moved, strict=True)]
    return *moved, np.array(changed)
