"""Exercises 21.1 and 21.2: an image cut into patches, and put together from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.promises import fractions, promised, single
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, each

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


def _one_pixel_on(image: Array, p: int) -> Array:
    """As many squares as there should be, each a pixel after the last."""
    rows, columns = (range(side // p) for side in image.shape)
    return np.stack([image[i : i + p, j : j + p].ravel() for i in rows for j in columns])


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
        "Each square begins one pixel after the last one; it begins p pixels after it.": (
            _one_pixel_on
        ),
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
        = image.T.reshape(-1, p * p)
            Each token is a run of p² pixels along the columns of the image, not a square of it.
        = image.reshape(len(image) // p, p, -1, p).mean(axis=(1, 3))
            You shrank the image by means, in a grid: all pixels are to be kept.
        = image.reshape(len(image) // p, p, -1, p).max(axis=(1, 3))
            You shrank the image to the largest pixel of each square: all pixels are to be kept.
        = image.reshape(p, len(image) // p, p, -1).transpose(0, 2, 1, 3).reshape(p * p, -1)
            You cut into p × p squares; p is the side of a square in pixels.
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


Corner = Callable[[int, int, int, int], tuple[int, int]]


def _by_corners(
    corner: Corner, patches: Array, places: Array, H: int, W: int, guarded: bool = False
) -> Array:
    """Square by square, from the row and column of its corner, by place, rows, columns and p."""
    p = round(np.sqrt(patches.shape[1]))
    image = np.zeros((H, W))
    for square, place in zip(patches, places.tolist(), strict=True):
        top, left = corner(place, H // p, W // p, p)
        if not guarded or (top + p <= H and left + p <= W):
            image[top : top + p, left : left + p] = square.reshape(p, p)
    return image


def _within(corner: Corner, patches: Array, places: Array, H: int, W: int) -> Array:
    """Square by square, without those that do not lie in the image."""
    return _by_corners(corner, patches, places, H, W, guarded=True)


def _fetched(patches: Array, places: Array, H: int, W: int) -> Array:
    """Token places[t] at place t, where there is such a token."""
    tokens = [patches[k] if k < len(patches) else np.zeros(patches.shape[1]) for k in places]
    return image_of(np.stack(tokens), np.arange(len(places)), H, W)


def _by_rows(k: int, rows: int, columns: int, p: int) -> tuple[int, int]:
    """A corner in a row of as many squares as the image has rows of them."""
    return p * (k // rows), p * (k % rows)


def _by_width(k: int, rows: int, columns: int, p: int) -> tuple[int, int]:
    """A corner in a row of as many squares as the image has columns of pixels."""
    return p * (k // (p * columns)), p * (k % (p * columns))


CORNERS = {
    "A place counts squares; counted in pixels it is p times as far.": (
        lambda k, rows, columns, p: divmod(k, columns)
    ),
    "Row and column of each square are exchanged: place 1 lies right of place 0.": (
        lambda k, rows, columns, p: (p * (k % columns), p * (k // columns))
    ),
    "A row of squares has W / p of them, and you divided by H / p.": _by_rows,
    "A row has W / p squares, and you divided by W.": _by_width,
    "Places begin at 0, and you subtracted 1.": (
        lambda k, rows, columns, p: (p * ((k - 1) // columns), p * ((k - 1) % columns))
    ),
    "Your squares are p pixels apart along a row, but one pixel from row to row.": (
        lambda k, rows, columns, p: (k // columns, p * (k % columns))
    ),
}


WITHIN = {
    "You divided by H / p, and left out what fell outside the image: a row of squares has W / p of "
    "them.": _by_rows,
    "You divided by W, and left out what fell outside the image: a row of squares has W / p of "
    "them.": _by_width,
}


@exercise(
    "21.2",
    praise="All squares and few, one pixel each and whole images, in any order.",
    hints=(
        "Each row of `patches` has p² numbers: how wide is a square, and how many of them stand in "
        "one row of the image?",
        "Begin with zeros. In which row of squares does place 5 lie, and in which column?",
        "Put token t to the place that is written beside it; do not fetch a token for each place.",
    ),
    cases=_puzzles,
    otherwise="Token t goes to its place, counted row by row in squares.",
    mutants=each(_by_corners, CORNERS)
    | each(_within, WITHIN)
    | {"You put token places[t] at place t; it is token t that goes to places[t].": _fetched},
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
