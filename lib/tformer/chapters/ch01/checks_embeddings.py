"""Exercises 1.9 to 1.11: from counts to information, from a table to vectors."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.exercises.answer import Answer
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers


@exercise(
    "1.9",
    praise="Checked by hand-sized tables, on words never seen, and on counts ten times as large, "
    "which change nothing.",
    hints=(
        "Three tables of probabilities are needed: of pairs, of first words, of second words. Each "
        "is a count divided by the same total.",
        "What would a pair's probability be if the two words had nothing to do with each other? "
        "The logarithm compares the true one with that.",
        "A count of zero gives log 0 = −∞, which the last step turns into 0 anyway. A word that "
        "was never seen gives 0/0: give those places a harmless number before you divide.",
    ),
)
def positive_pmi(f: Answer) -> None:
    """PPMI of a table of counts, in nats."""
    counts = np.array([[0.0, 3], [1, 1]])
    want = np.log([[1, 5 / 4], [5 / 2, 1]])
    f.expect(want, _pmi_mistakes(counts, np.array([[0, 5 / 4], [5 / 2, 5 / 8]])), counts=counts)
    f.expect(want, why=_TENFOLD, counts=10 * counts)
    unseen = np.array([[1.0, 0], [0, 0]])
    nothing = {"Word 1 was never seen, so its row is 0/0; it tells nothing: 0.": _nan(unseen)}
    f.expect(np.zeros((2, 2)), nothing, _UNSEEN, counts=unseen)
    for seed in range(5):
        counts = np.abs(integers(seed, (3, 3)))
        counts[0, 0] += 1
        f.expect(reference.ppmi(counts), why=_UNSEEN, counts=counts)


def _pmi_mistakes(counts: np.ndarray, ratio: np.ndarray) -> dict[str, np.ndarray]:
    """Return the wrong answers for `counts`; `ratio` is p(i, j) / (p(i) p(j))."""
    rows, total = counts.sum(-1), counts.sum()
    with np.errstate(all="ignore"):
        information = np.log(ratio)
        sideways = np.log(counts * total / (rows * counts.sum(0)))
    clipped = np.maximum(information, 0)
    return {
        "The positive part is missing: a pair rarer than chance gets 0.": information,
        "−∞ has become 0, and other negative values should too: a pair rarer than chance gets "
        "0.": np.where(counts == 0, 0, information),
        "−∞ has become the most negative number there is; a pair that was never seen gets "
        "0.": np.nan_to_num(information),
        "The row sums were laid along the columns. Keep their axis, so that row i is divided by "
        "the sum of row i.": np.maximum(sideways, 0),
        "Those are bits: the book takes natural logarithms.": clipped / np.log(2),
        "You took log(1 + ratio); the ratio itself is compared with 1.": np.log1p(ratio),
        "The logarithm is missing.": ratio,
        "Every pair has become rarer than chance. Two mistakes do that: sums of counts in place "
        "of probabilities, and dividing by one of the two words only.": np.zeros((2, 2)),
        "Take the magnitude away: a negative value becomes 0, not positive.": np.abs(information),
    }


def _nan(counts: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        product = counts.sum(-1, keepdims=True) * counts.sum(0)
        return np.maximum(np.log(counts * counts.sum() / product), 0)


@exercise(
    "1.10",
    praise="The dot products of your vectors are those of the best table of that rank, whatever "
    "signs the columns have.",
    hints=(
        "NumPy's SVD returns three things, singular values in falling order. Which of the three "
        "has one row for each word?",
        "Keep the first columns, one for each dimension of the embedding.",
        "A direction along which the table hardly varies should hardly count: scale each column by "
        "its singular value.",
    ),
)
def embed(f: Answer) -> None:
    """Rows of U Σ cut to `width` columns, up to the sign of each column."""
    _check_embedding(f, np.array([[1.0, 2], [2, 1]]), 1)
    _check_embedding(f, np.array([[0.0, 2], [1, 0]]), 1)
    _check_embedding(f, np.array([[3.0, 0, 0], [0, 0, 1], [0, 2, 0]]), 2)
    for seed in (3, 4, 5):
        matrix = integers(seed, (4, 4)) + np.diag([5.0, 3, 2, 1])
        for width in (1, 2, 4):
            _check_embedding(f, matrix, width)


def _check_embedding(f: Answer, matrix: np.ndarray, width: int) -> None:
    """Compare tables of dot products: they do not see the signs."""
    said = f.said(matrix=matrix, width=width)
    got = f.array(matrix=matrix, width=width)
    u, sigma, vt = np.linalg.svd(matrix)
    want = u[:, :width] * sigma[:width]
    if got.shape != want.shape:
        f.judge(got, want, {"One row a word, one column a dimension.": got}, _FORM, said)
    wrong = {
        "The directions are right but not scaled: each column is multiplied by its singular "
        "value.": u[:, :width],
        "Each column is scaled by the square root of its singular value; the chapter scales by the "
        "value itself.": u[:, :width] * np.sqrt(sigma[:width]),
        "Those are the right singular vectors, which describe the columns of the table; the words "
        "are its rows.": vt[:width].T * sigma[:width],
        "You took rows of V as if they were its columns.": vt[:, :width] * sigma[:width],
        "The last dimensions are the weakest ones: keep the first.": u[:, -width:] * sigma[-width:],
        "Those are the columns of the table cut off, not the directions in which its rows "
        "vary most.": matrix[:, :width],
    }
    mistakes = {sentence: e @ e.T for sentence, e in wrong.items()}
    f.judge(got @ got.T, want @ want.T, mistakes, _FORM, said, "the table of your dot products")


@exercise(
    "1.11",
    praise="Your vectors have exactly the dot products asked for, in tables of full and of lower "
    "rank. Any rotation of them has too, and that is all the freedom there is.",
    hints=(
        "The table is symmetric. A symmetric matrix is a rotation, a stretch along the axes, and "
        "the rotation back. What has to be split in two halves?",
        "If table = W diag(λ) Wᵀ, then each half takes √λ.",
        "`eigh` returns eigenvalues in rising order, and rounding can leave one that should be 0 "
        "at −10⁻¹⁷. Keep the largest ones, and stop them at zero before the root.",
    ),
)
def vectors_behind(f: Answer) -> None:
    """X (S, width) with X Xᵀ = table."""
    for seed, (rows, rank, width) in enumerate(
        [(1, 1, 1), (2, 1, 1), (2, 2, 2), (3, 2, 2), (3, 2, 3), (4, 2, 3), (5, 3, 3), (6, 3, 6)]
    ):
        points = integers(seed + 20, (rows, rank))
        points[0, 0] = 2.0
        _check_points(f, points @ points.T, width)


def _check_points(f: Answer, table: np.ndarray, width: int) -> None:
    said = f.said(table=table, width=width)
    got = f.array(table=table, width=width)
    f.shaped(got, (len(table), width), said, "One row a vector.")
    value, vector = np.linalg.eigh(table)
    value = np.maximum(value, 0)
    wrong = {
        "You kept the smallest eigenvalues: `eigh` lists them in rising order.": vector[:, :width]
        * np.sqrt(value[:width]),
        "The eigenvectors are not stretched yet: each needs the root of its eigenvalue.": vector[
            :, -width:
        ],
        "You stretched by the eigenvalue. It is shared between X and Xᵀ, so each takes the "
        "root.": vector[:, -width:] * value[-width:],
        "A square root of an eigenvalue that should be 0 and was rounded below it is nan: stop at "
        "zero first.": np.full((1, 1), np.nan),
    }
    mistakes = {sentence: x @ x.T for sentence, x in wrong.items()}
    if np.isnan(got).any():
        mistakes = {list(wrong)[-1]: got @ got.T}
    f.judge(got @ got.T, table, mistakes, said=said, part="the table of your dot products")


_TENFOLD = "Only proportions matter: all counts were multiplied by 10."
_UNSEEN = "A pair that was never seen gets 0, and so does one that is rarer than chance."
_FORM = "The rows are those of U Σ, cut to the first columns."
