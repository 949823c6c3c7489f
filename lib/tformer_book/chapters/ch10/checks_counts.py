"""Exercises 10.2, 10.3, 10.4 and 10.6: the bill, what is reached, how vectors grow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import Case, case, type_test


def _models() -> Iterator[Case | Test]:
    small = "Two words, one place, and a single block of width 1: list its parts."
    yield case(N=2, d=1, L=1, n=1, want=30, why=small)
    yield case(N=5, d=4, L=0, n=3, want=40, why="No block: two tables and the last norm.")
    yield case(N=50257, d=768, L=12, n=1024, want=124439808, why="GPT-2 small.")
    for N, d, L, n in (
        (7, 2, 1, 5),
        (3, 8, 3, 2),
        (100, 16, 4, 64),
        (32003, 1025, 30, 2049),
        (50257, 1600, 48, 1024),
    ):
        yield case(N=N, d=d, L=L, n=n)
    large = "GPT-3: its 175 billion are more than a number of 32 bits holds."
    yield case(N=50257, d=12288, L=96, n=2048, why=large)
    yield type_test("an int", N=2, d=2, L=1, n=1)
    yield case(N=50257, d=10**6 + 1, L=1000, n=2048)


@exercise(
    "10.2",
    praise="GPT-2, small and large, and tiny ones.",
    hints=(
        "List the matrices of a block, then what is small: biases and norms.",
        "Attention: 4 d² and 4 d. The layer: 8 d² and 5 d. Two norms: 4 d.",
        "Outside of the blocks: the embedding, the positions and one norm more.",
    ),
    cases=_models,
    otherwise="Add up both tables, all blocks with their norms and biases, and the last norm.",
    slips="""
        N * d → 2 * N * d
            The unembedding is the embedding: it is counted once.
        + n * d → + 0 * n
            The table of positions is missing.
        13 * d → 9 * d
            4 d are missing in each block: the biases of attention, or both norms, gain and bias.
        13 * d → 11 * d
            2 d are missing in each block: one of the two norms, or the biases of both.
        13 * d → 12 * d
            d numbers are missing in each block. Attention has four biases of d, and the layer one
            of 4 d and one of d.
        13 * d → 10 * d
            3 d are missing in each block: three of the four biases of attention, or a hidden layer
            with a bias for d of its 4 d units.
        13 * d → 11 * d ;; + 2 * d → + d
            The norms have biases too, in the blocks and after the last.
        12 * d * d → 11 * d * d
            Attention has four matrices: one of them is missing.
        12 * d * d → 11 * d * d ;; 13 * d → 12 * d
            Attention has four matrices, each with a bias: one of them is missing.
        N * d → N * d + N
            The unembedding got biases; it is the one that has none.
        13 * d → 0 * d
            The biases and norms of the blocks are missing. Add 13 d for each block.
        13 * d → 0 * d ;; + 2 * d → + 0 * d
            All biases and norms are missing: 13 d in each block, and 2 d after the last.
        13 * d → 9 * d ;; + 2 * d → + 0 * d
            No norm is counted. Each has a gain and a bias, 2 d numbers.
        + 2 * d → + d
            The last norm has a gain and a bias: add 2 d for it, and not d.
        13 * d → 8 * d
            5 d are missing in each block: the biases of the layer, 4 d inside and d outside.
        13 * d → 16 * d
            There are 3 d too many in each block. The layer's second bias has d numbers, not 4 d.
        12 * d * d → 16 * d * d ;; 13 * d → 17 * d
            You counted a third matrix in the layer, a gate. It has two, in and out: 8 d² and 5 d.
        13 * d → 15 * d ;; + 2 * d → + 0 * d
            You counted the last norm in every block. It stands once, after the last block: take it
            out of the product with L.
        13 * d → 9 * d + 4 ;; + 2 * d → + 2
            You gave each norm one gain and one bias. It has one of each for every coordinate: 2 d.
        N * d → 0 * N
            The embedding is missing: a row of d numbers for each of the N words.
        n * d → L * n * d
            You counted the table of positions in every block. It stands once, before the first.
        n * d → n
            You counted a position as one number. It is a vector: n rows of d.
        12 * d * d → 20 * d * d
            There are 8 d² too many in each block. A matrix of attention has d² numbers, all heads
            together, and a matrix of the layer 4 d².
        N * d → N * d + d
            You gave the embedding a bias. It is a table and nothing else: N d.
        N * d → 2 * N * d + N
            The unembedding is tied and has no bias. It adds nothing to the count.
        12 * d * d → 8 * d * d ;; 13 * d → 12 * d
            You counted one matrix of the layer, with one bias. It has two: in, and out again.
        12 * d * d → 4 * d * d ;; 13 * d → 8 * d
            The layer is missing in each block: 8 d² and 5 d.
        + 2 * d → + 0 * d
            The norm after the last block is missing.
        12 * d * d → 8 * d * d
            A block has 4 d² in attention and 8 d² in the layer.
        13 * d → 4 * d
            The biases of the blocks are missing: 9 d in each block.
        2 * d → 4 * d
            There is one norm too many: two in each block, one after the last.
        = int(np.float32(N * d + n * d + L * (12 * d * d + 13 * d) + 2 * d))
            The number went through float32, and a large one loses its last digits there.
    """,
)
def parameters(N: int, d: int, L: int, n: int) -> int:
    """Parameters of a model of GPT-2's form."""
    return N * d + n * d + L * (12 * d * d + 13 * d) + 2 * d


def _passes() -> Iterator[Case | Test]:
    one: dict[str, Any] = {"T": 1, "N": 1, "d": 1, "L": 1, "H": 1, "G": 1, "d_k": 1, "d_ff": 1}
    tiny = "Seven entries in the block and one in E, two operations each, and 4 for attention."
    yield case(**one, want=20, why=tiny)
    yield case(
        **one | {"T": 2}, want=48, why="Two words, and each attends to two: 16 for attention."
    )
    base: dict[str, Any] = {"T": 3, "N": 5, "d": 8, "L": 2, "H": 4, "G": 2, "d_k": 2, "d_ff": 12}
    yield case(**base)
    yield case(**base | {"d_k": 3}, why="Here d_k is not d / H.")
    for change in ({"L": 0}, {"G": 1}, {"T": 64}, {"N": 1000}):
        yield case(**base | change)
    large = zip(one, (101, 32001, 1001, 31, 5, 3, 99, 2801), strict=True)
    yield case(**dict[str, Any](large), why="What is counted is exact: every digit counts.")
    yield type_test("an int", **one)
    huge = zip(one, (99999, 128257, 16385, 127, 128, 8, 129, 53249), strict=True)
    yield case(**dict[str, Any](huge))


@exercise(
    "10.3",
    praise="Heads in groups and alone, short texts and longer ones.",
    hints=(
        "Two operations for each entry of a matrix and each word. Which matrices are there?",
        "A block has d d_k (2 H + 2 G) entries in attention and 3 d d_ff in the layer.",
        "Attention takes 4 T d_k for each word and head. The logits of a word are N dot products.",
    ),
    cases=_passes,
    otherwise="Two operations for each entry of a matrix and word, and scores and weighted sums.",
    slips="""
        2 * d * d_k * (H + G) → 4 * d * d_k * H
            Keys and values have G heads only.
        3 * d * d_ff → 2 * d * d_ff
            With gates there are three matrices.
        2 * entries → entries
            An entry takes a multiplication and an addition.
        4 * T * d_k * H → 2 * T * d_k * H
            Both the scores and the mixture take operations; nothing is halved for the mask.
        4 * T * d_k * H → 0 * T
            The scores and the weighted sums are missing.
        + 2 * d * N → + 0 * N
            The dot products with the N rows of E are missing.
        return T * each → return each
            That is one word; T words were asked for.
        4 * T * d_k * H → 4 * T * T * d_k * H
            Attention is counted for all words already; here it is for one.
        4 * T * d_k * H → 4 * T * d_k * G
            All H heads compute scores; they only share keys and values.
        L * (2 * entries + 4 * T * d_k * H) → (2 * entries + 4 * T * d_k * H)
            There are L blocks.
        + 2 * d * N → + 0 * N ;; T * each → T * each + 2 * d * N
            Every word gets logits, not only the last.
        2 * d * N → 4 * d * N
            The table was counted twice. A lookup is no product; only the logits are.
        4 * T * d_k * H → 2 * (T + 1) * d_k * H
            The pairs under the mask were left out; here they are computed as well.
        2 * d * d_k * (H + G) → d * d_k * (H + 2 * G) + d * d
            The last matrix of attention was counted with d² entries; it leads from H · d_k numbers
            to d.
        entries = → d_k = d // H; entries =
            d / H was taken for the width of a head; d_k is given, and need not be that.
        return T * each → return T * each - T * N
            Two operations count for each entry of a matrix; one addition less a dot product is not
            counted.
    """,
)
def operations(T: int, N: int, d: int, L: int, H: int, G: int, d_k: int, d_ff: int) -> int:
    """Operations of the matrix products of a forward pass."""
    entries = 2 * d * d_k * (H + G) + 3 * d * d_ff
    each = L * (2 * entries + 4 * T * d_k * H) + 2 * d * N
    return T * each


def _windows() -> Iterator[Case | Test]:
    yield case(L=1, w=1, t=5, want=1, why="A window of one word: each sees itself alone.")
    yield case(L=1, w=3, t=9, want=3, why="One block: the window itself.")
    yield case(L=2, w=3, t=9, want=5, why="Word 7 has seen 5 and 6; word 9 sees 7.")
    yield case(L=4, w=3, t=2, want=2, why="There are only two words so far.")
    for L, w, t in ((3, 2, 4), (3, 2, 3), (30, 128, 5000), (6, 10, 55), (6, 10, 54), (0, 4, 3)):
        yield case(L=L, w=w, t=t)
    yield type_test("an int", L=2, w=3, t=9)


@exercise(
    "10.4",
    praise="Windows of one word and more, deep stacks, beginnings of texts.",
    hints=(
        "What does the first word of a window bring that it has seen itself?",
        "Each block reaches w − 1 words farther back.",
        "L (w − 1) + 1, but no more words than there are.",
    ),
    cases=_windows,
    otherwise="The window moves back once in each block, and never before the first word.",
    slips="""
        L * (w - 1) + 1 → L * w
            The windows overlap in one word: each block reaches w − 1 farther.
        L * (w - 1) + 1 → w
            A word of the window has seen words before it, and brings them.
        L * (w - 1) + 1 → w**L
            Windows lie one after the other; they do not multiply.
        min(t, L * (w - 1) + 1) → L * (w - 1) + 1
            There are only t words so far.
        L * (w - 1) + 1 → L * (w - 1)
            The word itself counts as well.
        L * (w - 1) + 1 → max(L, 1) * (w - 1) + 1
            Without blocks no word sees another.
        min(t, → min(t + 1,
            Positions count from 1: there are t words up to position t.
    """,
)
def reached(L: int, w: int, t: int) -> int:
    """How many words may count for the logits at place t."""
    return min(t, L * (w - 1) + 1)


def _growth() -> Iterator[Case]:
    yield case(m=1.0, a=0.5, L=1, narrow=False, want=2, why="Two sublayers, each adds one half.")
    yield case(m=1.0, a=0.5, L=8, narrow=True, want=1.5, why="Sixteen add 1/16 of one half each.")
    for m, a, L in ((2.0, 1.0, 3), (0.25, 4.0, 12), (1.0, 0.125, 64), (3.0, 2.0, 0), (1.5, 0.5, 0)):
        for narrow in (False, True):
            yield case(m=m, a=a, L=L, narrow=narrow)


@exercise(
    "10.6",
    praise="Drawn smaller and not, and a stack without blocks.",
    hints=(
        "Mean squares of what is drawn independently add up. How many times is something added?",
        "A block has two sublayers.",
        "Without the factor 2 L a; with it each adds a / (2 L), together a if there are any.",
    ),
    cases=_growth,
    otherwise="Each sublayer adds a mean square of its own to what is there.",
    slips="""
        2 * L * a → L * a
            A block adds twice.
        (a if L else 0.0) if narrow → a / 2 if narrow
            There are 2 L sublayers, and each adds a / (2 L).
        (a if L else 0.0) if narrow → (a / (2 * L) if L else 0.0) if narrow
            That is what one sublayer adds; there are 2 L.
        (a if L else 0.0) if narrow → a if narrow
            Without blocks nothing is added.
        (a if L else 0.0) if narrow → 2 * L * (a / (2 * L)) if narrow
            L may be 0, and then nothing is divided by it.
        (a if L else 0.0) if narrow → (2 * a if L else 0.0) if narrow
            That is for a factor of √L; two sublayers a block make 2 L.
        = (m**0.5 + ((2 * L * a) ** 0.5 if narrow else 2 * L * a**0.5)) ** 2
            Lengths were added up; of what is drawn independently the mean squares add up.
        = m * (1 + (a / (2 * L or 1) if narrow else a)) ** (2 * L)
            What is added does not grow with what is there: sublayers read normed vectors.
        m + → 0 * m +
            The first vectors are still there.
        if narrow else → if not narrow else
            The two cases are exchanged.
        2 * L * a) → m * ((1 + a) ** (2 * L) - 1))
            What a sublayer adds does not depend on how long the vectors are: it reads normed ones.
        2 * L * a) → 2 * L * a * m) ;; (a if L else 0.0) → (a * m if L else 0.0)
            What is added does not depend on m: sublayers read normed vectors.
        (a if L else 0.0) → a * (2 * L) ** 0.5
            A factor divides a mean square by its own square: here by 2 L, not by √(2 L).
        2 * L * a) → L * a) ;; (a if L else 0.0) → (a / 2 if L else 0.0)
            One sublayer was counted a block; there are two, also where their matrices are drawn
            smaller.
        m + → 1 + 0 * m +
            The first vectors have the mean square m; they are not normed before they are added to.
    """,
)
def at_the_end(m: float, a: float, L: int, narrow: bool) -> float:
    """Expected mean square of the vectors."""
    return m + ((a if L else 0.0) if narrow else 2 * L * a)
