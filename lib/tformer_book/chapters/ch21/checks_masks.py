"""Exercises 21.3 and 21.7: masks of a torus, and of words among patches."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray

# ---- 21.3 ---------------------------------------------------------------------------------


def _boards() -> Iterator[Case]:
    why = "In a ring of four each cell attends to itself and to two others, not to the one across."
    want = [
        [True, True, False, True],
        [True, True, True, False],
        [False, True, True, True],
        [True, False, True, True],
    ]
    yield case(h=1, w=4, r=1, want=want, why=why)
    for h, w, r, why in (
        (4, 1, 1, "A ring of four, now along a column."),
        (4, 5, 1, "Nine cells each; at the edge the square goes on at the opposite edge."),
        (5, 4, 1, "Nine cells each; five rows of four."),
        (3, 7, 1, "In rows all are neighbours, in columns three of seven."),
        (7, 3, 1, "In columns all are neighbours, in rows three of seven."),
        (3, 4, 0, "With r = 0 each cell attends to itself alone."),
        (6, 7, 2, "Squares of five by five: two steps each way, also round the edge."),
        (8, 9, 3, "Squares of seven by seven."),
        (7, 8, 2, "Squares of five by five: corners belong to them."),
        (2, 5, 1, "Up and down lead to the same cell: two rows are all neighbours."),
        (4, 4, 2, "Two steps each way reach all four: everybody attends to everybody."),
        (3, 3, 9, "r may be larger than the board: everybody attends to everybody."),
        (5, 9, 3, "Along columns all five are reached, along rows seven of nine."),
        (1, 1, 0, "One cell, which attends to itself."),
        (1, 1, 4, "One cell, which attends to itself."),
        (9, 4, 1, "Nine cells each; nine rows of four."),
    ):
        yield case(h=h, w=w, r=r, why=why)


def _by_index(h: int, w: int, r: int) -> Array:
    """Offsets added to the index of a cell, which leaves a row at its end."""
    mask = np.zeros((h * w, h * w), dtype=bool)
    steps = np.arange(-r, r + 1)
    offsets = (steps[:, None] * w + steps).ravel()
    for t in range(h * w):
        mask[t, (t + offsets) % (h * w)] = True
    return mask


def _in_one_ring(h: int, w: int, r: int) -> Array:
    """All tokens in one ring."""
    apart = (np.arange(h * w)[:, None] - np.arange(h * w)) % (h * w)
    return np.asarray(np.minimum(apart, h * w - apart) <= r)


@exercise(
    "21.3",
    praise="Tall boards and wide ones, rows of one cell, r = 0, and squares wider than the board.",
    hints=(
        "Which row and which column has the cell with index t?",
        "On a ring of n cells, two cells are d apart on one way round. And on the other?",
        "Take the shorter way for rows and for columns, and ask of both whether it is at most r.",
    ),
    cases=_boards,
    kind=Marks(),
    otherwise="The shorter way round, for rows and for columns: both at most r.",
    mutants={
        "You added steps to the index. One step to the right of the last cell of a row then leads "
        "to the next row, and not back to the beginning of its own.": _by_index,
        "You measured along the row of tokens, its ends joined; a board has two directions.": (
            _in_one_ring
        ),
    },
    slips="""
        down = np.minimum(down, h - down) →
        across = np.minimum(across, w - across) →
            Your board ends at its edges; on a torus it goes on at the opposite edge.
        across = np.minimum(across, w - across) →
            Up and down your board goes round, but not left and right.
        down = np.minimum(down, h - down) →
            Left and right your board goes round, but not up and down.
        (down <= r) & (across <= r) → (down <= r) | (across <= r)
            One short distance is not enough: a cell of the square is near in its row and in its
            column.
        (down <= r) & (across <= r) → down + across <= r
            That is a diamond: rows and columns are not added up in a square.
        (down <= r) & (across <= r) → down**2 + across**2 <= r**2
            That is a disc: the corners of the square are missing.
        (down <= r) & (across <= r) → (down < r) & (across < r)
            The square is too small: cells at a distance of r belong to it.
        (down <= r) & (across <= r) → (down <= r // 2) & (across <= r // 2)
            You took r for the side of the square; its side is 2 r + 1.
        (down <= r) & (across <= r) → (down <= 2 * r + 1) & (across <= 2 * r + 1)
            You went 2 r + 1 cells each way; that is the side of the whole square.
        (down <= r) & (across <= r) → (down <= r) & (across <= r) & (down + across > 0)
            A cell attends to itself as well.
        (down <= r) & (across <= r) → np.maximum(down, across) == r
            Those are the cells at the edge of the square; the inner ones belong to it too.
        (down <= r) & (across <= r) → (down <= r) & (across == 0) | (down == 0) & (across <= r)
            That is a cross: cells beside its arms belong to the square as well.
        np.divmod(np.arange(h * w), w) → np.divmod(np.arange(h * w), h)
            A row has w cells, and you divided by h.
        np.divmod(np.arange(h * w), w) → np.divmod(np.arange(h * w), h)[::-1]
            You counted the cells column by column; they are counted row by row.
        np.minimum(down, h - down) → np.minimum(down, w - down)
        np.minimum(across, w - across) → np.minimum(across, h - across)
            Height and width are exchanged where you go round.
        np.abs(row[:, None] - row) → (row[:, None] - row) % h
        np.abs(column[:, None] - column) → (column[:, None] - column) % w
        down = np.minimum(down, h - down) →
        across = np.minimum(across, w - across) →
            You went one way round only, up and left; the square lies on all sides.
        np.abs(row[:, None] - row) → (row - row[:, None]) % h
        np.abs(column[:, None] - column) → (column - column[:, None]) % w
        down = np.minimum(down, h - down) →
        across = np.minimum(across, w - across) →
            You went one way round only, down and right; the square lies on all sides.
        np.abs(row[:, None] - row) → (row - row[:, None] + r) % h
        np.abs(column[:, None] - column) → (column - column[:, None] + r) % w
        down = np.minimum(down, h - down) →
        across = np.minimum(across, w - across) →
        (down <= r) & (across <= r) → (down < 2 * r) & (across < 2 * r)
            On one side your square reaches r cells, on the other r − 1.
        np.minimum(down, h - down) → np.minimum(down, h - 1 - down)
        np.minimum(across, w - across) → np.minimum(across, w - 1 - across)
            The way round is one cell too short: from the last cell to the first one is a step.
        (down <= r) & (across <= r) → ~((down <= r) & (across <= r))
            True and False are exchanged: True is where a cell attends.
        (down <= r) & (across <= r) → (down <= r) & (across <= r)[:, ::-1]
            The columns are reversed.
        = neighbourhood(h, w, r).reshape(h, w, h, w)
            Rows and columns of the board have axes of their own: flatten them into one axis of
            tokens, twice.
        = neighbourhood(h, w, r).reshape([n for n in (h, w, h, w) if n > 1])
            Where the board has rows and columns your answer has four axes: flatten both into one
            axis of tokens, twice.
        = np.where(neighbourhood(h, w, r), 0, -np.inf)
            0 and −∞ are numbers to add to scores; True and False are asked for.
        = np.ones((h * w, h * w), dtype=bool)
            Nothing is hidden: the square of most boards is smaller than the board.
        = np.eye(h * w, dtype=bool)
            Each cell attends to itself alone; r has no effect.
    """,
)
def neighbourhood(h: int, w: int, r: int) -> Array:
    """Squares on a torus."""
    row, column = np.divmod(np.arange(h * w), w)
    down = np.abs(row[:, None] - row)
    across = np.abs(column[:, None] - column)
    down = np.minimum(down, h - down)
    across = np.minimum(across, w - across)
    return np.asarray((down <= r) & (across <= r))


# ---- 21.7 ---------------------------------------------------------------------------------


def _articles() -> Iterator[Case]:
    why = "Two patches see each other; the words see them, and what stands before."
    want = [
        [
            [True, True, False, False],
            [True, True, False, False],
            [True, True, True, False],
            [True, True, True, True],
        ]
    ]
    yield case(which=_rows([1, 1, 0, 0]), want=want, why=why)
    why = "The first word comes before the image and does not see it; padding sees itself alone."
    want = [
        [
            [True, False, False, False, False],
            [True, True, True, False, False],
            [True, True, True, False, False],
            [True, True, True, True, False],
            [False, False, False, False, True],
        ]
    ]
    yield case(which=_rows([0, 4, 4, 0, -1]), want=want, why=why)
    for rows, why in (
        ([[1, 1, 0, 2, 2, 2, 0]], "Patches of image 1 do not see image 2, which comes later."),
        ([[-1, -1, 3, 3, 0, 0]], "Padding may stand at the beginning: nobody sees it."),
        ([[0, -1, 2, 2, -1, 0]], "Padding may stand in between: nobody sees it."),
        ([[0, 0, 0, 0, 0]], "Words alone: a text."),
        ([[5, 5, 5, 5]], "Patches alone: all see one another."),
        ([[1, 2, 1 + 2**8, 1 + 2**8]], "Any whole number may name an image, and these are four."),
        ([[3, 3 + 2**32, 3 + 2**32, 0]], "A number may need more than 32 bits."),
        ([[-1, -1, -1]], "Padding alone: each sees itself."),
        ([[0]], "One word."),
        ([[1, 1, 0, -1], [0, 1, 1, 1]], "Each row has a mask of its own."),
        ([[2, 2, 1, 1, 0], [0, 0, 0, 7, 7], [-1, 0, 9, 9, 0]], "Images may have any numbers."),
        (
            [[1, 1, 2, 2]],
            "Two images side by side: the second one sees the first, not the reverse.",
        ),
        ([[0, 0, 1, 1, 1, 0, -1, -1], [6, 6, 6, 0, 0, 0, 0, 0]], "Rows of different lengths."),
        ([[0, 1, 0, 2, 0, 3]], "Images of one patch are ordered like words."),
    ):
        yield case(which=np.array(rows), why=why)


def _rows(row: list[int]) -> Array:
    return np.array([row])


def _with_padding_last(which: Array) -> Array:
    """As many tokens of padding as there are, all at the end."""
    real = np.arange(which.shape[1]) < (which >= 0).sum(axis=1, keepdims=True)
    return np.where(real, np.maximum(which, 0), -1)


@exercise(
    "21.7",
    praise="One image and several, words before and after them, and padding anywhere.",
    hints=(
        "Make a table of truth values for each condition: earlier, same image, padding.",
        "When may t see an s that comes later? Both are patches, and of which image?",
        "Neither is padding, and s is earlier, or itself, or of the same image; then put the "
        "diagonal back.",
    ),
    cases=_articles,
    kind=Marks(),
    otherwise="Ask of each pair: s before t, s = t, patches of one image? And is one padding?",
    slips="""
        (earlier | own) & → earlier &
            Every token is treated as a word. Patches of one image see one another.
        & (asks > 0) →
            All words see one another, also later ones: 0 is not the number of an image.
        (asks == asked) & (asks > 0) → (asks > 0) & (asked > 0)
            Patches of different images see one another; later images are hidden.
        (asks == asked) & (asks > 0) → (asked > 0) & (asks >= 0)
            Words and patches see all images, also those that come later.
        (asks == asked) & (asks > 0) → $ | (asks == 0) & (asked > 0)
            A word does not see an image that comes later.
        (asks == asked) & (asks > 0) → asks > 0
            Patches see all that comes after them, words as well: what is to be predicted gets out.
        (asks == asked) & (asks > 0) → (asks > 0) | (asked > 0)
            A patch and a word see each other in either order; later words have to stay hidden.
        (earlier | own) & → (earlier & (asks == 0) | own) &
            Patches see only their own image; what stands before it is to be seen as well.
        (earlier | own) & → (earlier & (asked == 0) | own) &
            Nobody sees the patches of another image; all that stands before is to be seen.
        (earlier | own) & → (earlier & ((asks > 0) | (asked == 0)) | own) &
            A word attends to the patches before it as well.
        (earlier | own) & → np.where(asks > 0, asked > 0, earlier) &
            Your patches see all images and no words: what they see is what stands before them, and
            the whole of their own image.
        (earlier | own) & → (earlier & ((asks == 0) == (asked == 0)) | own) &
            Words and patches do not see each other; both see all that stands before them.
        (earlier | own) & → (earlier & ((asks == 0) | (asked > 0)) | own) &
            Patches do not see the words before them.
        (earlier | own) & → (earlier & (asks == asked) | own) &
            A token sees only tokens of its own number; all that comes before is to be seen.
        (earlier | own) & →
            All tokens see one another, but for padding: later words have to stay hidden.
        & (asks > 0) → & (asks != 0)
        (asks >= 0) & (asked >= 0) → True
            You took −1 for the number of an image; it is padding.
        (asks >= 0) & → ;; | np.eye(T, dtype=bool) →
            Padding sees the tokens before it, and not itself; only itself is right.
        (earlier | own) & → own &
            Only patches of one image see something: order has no effect.
        & (asked >= 0) →
            Padding is seen; nobody attends to it.
        (asks >= 0) & →
            Padding sees the tokens before it; it attends to itself alone.
        (asks >= 0) & (asked >= 0) → True
            Padding is treated as words; nobody attends to it, and it attends to itself alone.
        (asks >= 0) & (asked >= 0) → (asks > 0) & (asked > 0)
            Words were taken for padding: −1 is padding, and 0 is a word.
        | np.eye(T, dtype=bool) →
            The rows of padding are empty, and softmax over nothing is nan; padding sees itself.
        | np.eye(T, dtype=bool) → | ((asks < 0) & (asked < 0))
            Padding sees other padding; each sees itself alone.
        | np.eye(T, dtype=bool) → | (asks < 0)
            Padding sees everything; it attends to itself alone.
        return np.asarray(seen → return np.asarray(seen.mT
            Rows and columns are exchanged, or the triangle lies on the wrong side: tokens see what
            comes later.
        return np.asarray(seen → return ~np.asarray(seen
            True and False are exchanged: True is where a token attends.
        = np.where(article_mask(which), 0, -np.inf)
            0 and −∞ are numbers to add to scores; True and False are asked for.
        np.tri(T, dtype=bool) → np.tri(T, k=-1, dtype=bool) ;; | np.eye(T, dtype=bool) →
            Words do not see themselves, nor does padding.
        = article_mask(which) & ~np.eye(which.shape[1], dtype=bool)
            Nobody sees itself; every token attends to itself, padding too.
        = article_mask(np.where(which > 1, 0, which))
            Every number from 1 on is an image, also 4.
        = article_mask(_with_padding_last(which))
            Padding may stand anywhere: ask `which`, do not count.
        = article_mask(np.where(which > 0, which % 256, which))
            Images 1 and 257 are two: eight bits do not hold every number.
        = article_mask(np.where(which > 0, which % 2**32, which))
            Numbers of images may need more than 32 bits.
        = article_mask(np.tile(which[:1], (len(which), 1)))
            You took the first row of `which` for all.
    """,
)
def article_mask(which: Array) -> Array:
    """Words see what is before, patches their image as well, padding itself."""
    T = which.shape[1]
    asks, asked = which[:, :, None], which[:, None, :]
    earlier = np.tri(T, dtype=bool)
    own = (asks == asked) & (asks > 0)
    seen = (earlier | own) & (asks >= 0) & (asked >= 0)
    return np.asarray(seen | np.eye(T, dtype=bool))
