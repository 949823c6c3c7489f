"""Exam questions of chapter 3, continued: order, taste, influence."""

from __future__ import annotations

import numpy as np

from tformer.reference import attention, attention_weights, norm, softmax
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("Shuffled words", minutes=10, asks="error")
def shuffled_words(rng: Rng) -> Item:
    """The table of weights after a cycle of three words; equivariant, not invariant."""

    def row() -> np.ndarray:
        return draw(lambda: rng.integers(1, 11, 3), lambda row: row.sum() == 12)

    table = draw(lambda: np.array([row(), row(), row()]), lambda x: len({*x.ravel()}) >= 6)
    step = int(rng.integers(1, 3))
    order = np.array([step, (step + 1) % 3, (step + 2) % 3])
    words = [str(word) for word in rng.permutation(["dog", "bites", "man"])]
    q, k = np.log(table), np.eye(3)
    before = attention_weights(q, k, scale=1.0)
    after = attention_weights(q[order], k[order], scale=1.0)
    moved = ", ".join(words[i] for i in order)
    return Item(
        statement=rf"""
Self-attention without mask and positions reads the words *{", ".join(words)}*, in this order.
Row $t$ of its weights holds what word $t$ gives to each word:

$$A = \tfrac{{1}}{{12}} {tex(table)} .$$

**(a)** The words come in the order *{moved}*. Write down the table of weights.

**(b)** Lecture notes say: “Self-attention is permutation invariant: its output does not depend
on the order of the words.” Correct this sentence, and say what *is* invariant.

**(c)** The layer shall tell who bit whom. Why can no choice of its three matrices do it, even
with any function applied afterwards to each row alone? Name two changes that would help.""",
        answer=rf"""
**(a)** Each weight moves with its row and its column:
$\tfrac{{1}}{{12}} {tex(np.round(after * 12, 9))}$.

**(b)** The output is *equivariant*: if the words are shuffled, its rows are shuffled in the
same way. Invariant is the output of one query when the memory is shuffled, keys and values
together.

**(c)** *Dog bites man* and *man bites dog* are the same rows in another order, so each word
gets the same output in both, and so does any function of that row: *dog* cannot know whether
it bit. Rows that know their place (positions) help, and a mask that hides later words from
earlier ones.""",
        marking=(
            (3, "the table; one point if only the rows or only the columns have moved"),
            (3, "equivariant in its place; what is invariant, with keys and values together"),
            (2, "the same outputs for the same words"),
            (2, "two changes"),
        ),
        given={"before": before, "order": order},
        values={"after": np.round(after * 12, 9)},
        traps={
            "only the rows moved": ("after", table[order]),
            "only the columns moved": ("after", table[:, order]),
            "moved the other way": ("after", table[np.argsort(order)][:, np.argsort(order)]),
            "nothing moved": ("after", table),
        },
    )


@question("What a head can want", minutes=15, asks="proof")
def what_a_head_can_want(rng: Rng) -> Item:
    """The least key width for a taste, and what one matrix in place of two costs."""
    rank = int(rng.integers(1, 3))

    def pair() -> np.ndarray:
        return rng.integers(-2, 4, (2, 3, rank)).astype(float)

    def fits(wanted: np.ndarray) -> bool:
        M = wanted[0] @ wanted[1].T
        enough = np.linalg.matrix_rank(M) == rank and np.abs(M).max() <= 12
        return bool(enough and (M != 0).sum() >= 6 and not np.allclose(M, M.T))

    w_q, w_k = draw(pair, fits)
    M = w_q @ w_k.T
    a, c, b = draw(lambda: rng.integers(1, 6, 3), lambda x: x[0] * x[1] < x[2] ** 2)
    tied = np.array([[a, b], [b, c]])
    x = np.array([float(b), -float(a)])
    loss = float(x @ tied @ x)
    return Item(
        statement=rf"""
Rows say what kind of word stands there: $(1, 0, 0)$ for a noun, $(0, 1, 0)$ for a verb,
$(0, 0, 1)$ for a pronoun. A head is to pair them by the scores $x_t M x_i^\top$ (scale 1) with

$$M = {tex(M)} .$$

**(a)** How narrow can the keys be? Prove that they cannot be narrower, and give $W_Q$ and
$W_K$.

**(b)** To save a matrix, somebody sets $W_Q = W_K$. Which property must $M$ have then, so that
ours is lost? Show that $N = {tex(tied)}$, which has that property, is lost as well, whatever
the width: look at $x N x^\top$ for $x = {tex(x)}$.

**(c)** Prove that with $W_Q = W_K$, of any two words the one with the longer query scores
itself at least as high as it scores the other.""",
        answer=rf"""
**(a)** The keys need width ${rank}$, the rank of $M$. The rows of $M = W_Q W_K^\top$ are
combinations of the rows of $W_K^\top$, of which there are as many as the keys are wide; so the
width is at least the rank. For example $W_Q = {tex(w_q)}$ and $W_K = {tex(w_k)}$.

**(b)** $M = W W^\top$ is symmetric, and ours is not. Moreover
$x W W^\top x^\top = \lVert x W \rVert^2 \ge 0$ for every $x$, but $x N x^\top = {tex(loss)}$.

**(c)** Let $q_t = x_t W$ be the longer one. The score of the other is
$q_t \cdot q_i \le \lVert q_t \rVert \lVert q_i \rVert$ by Cauchy–Schwarz, and that is at most
$\lVert q_t \rVert^2 = q_t \cdot q_t$, its own.""",
        marking=(
            (4, "the rank; why it is a lower bound; two matrices whose product is $M$, checked"),
            (1, "symmetric"),
            (3, "a squared length is not negative; the number"),
            (3, "Cauchy–Schwarz, and that the other is not longer"),
        ),
        given={"M": M, "tied": tied, "x": x},
        values={"rank": rank, "loss": loss},
        traps={
            "the size of the matrix": ("rank", 3),
            "the determinant alone": ("loss", float(a * c - b * b)),
            "the sign of the mixed term lost": ("loss", float(np.abs(x) @ tied @ np.abs(x))),
        },
    )


LENGTHS = [(3, 4), (4, 3), (6, 8), (8, 6), (5, 12), (12, 5), (0, 2), (1, 0), (0, 3), (2, 0), (0, 1)]


@question("Weight and influence", minutes=10, asks="error")
def weight_and_influence(rng: Rng) -> Item:
    """The largest weight is not the largest contribution, and neither is the last word."""

    def made() -> tuple[np.ndarray, np.ndarray]:
        signs = rng.choice([-1.0, 1.0], (3, 2))
        rows = [LENGTHS[i] for i in rng.choice(len(LENGTHS), 3, replace=False)]
        return np.array(distinct(rng, 3, 1, 7), dtype=float), signs * np.array(rows, dtype=float)

    def fits(drawn: tuple[np.ndarray, np.ndarray]) -> bool:
        weights, v = drawn
        parts = np.sort(weights * norm(v))
        return bool(np.argmax(weights) != np.argmax(weights * norm(v)) and parts[1] < parts[2])

    counts, v = draw(made, fits)
    weights = softmax(np.log(counts))
    parts = weights * norm(v)
    y = attention(np.ones((1, 1)), np.log(counts)[:, None], v, scale=1.0)[0]
    top, most = (["Buy", "milk", "and"][int(np.argmax(x))] for x in (weights, parts))
    u = -v[int(np.argmax(parts))]
    moved = attention(np.ones((1, 1)), np.log(counts)[:, None], v + u, scale=1.0)[0]
    return Item(
        statement=rf"""
A query gives the words *Buy*, *milk* and *and* the weights ${tex(weights)}$; their values are
${tex(v[0])}$, ${tex(v[1])}$ and ${tex(v[2])}$. Lecture notes conclude: “The largest weight is
on *{top}*, so the output is mainly about *{top}*.”

**(a)** Give the output, and for each word the length of what it contributes,
$a_i \lVert v_i \rVert$. Which word contributes most?

**(b)** The row $u = {tex(u)}$ is added to all three values. What happens to the weights, to
the output, and to the contribution of *{most}*? Give the new output.

**(c)** The next part of the model takes off $u$ again, so that nothing has changed for
anybody. What do (a) and (b) say about the conclusion of the notes, and about replacing
“weight” by “length of the contribution” in it?""",
        answer=rf"""
**(a)** The output is ${tex(y)}$, the lengths are ${tex(parts)}$. *{most}* contributes most.

**(b)** The weights stay, since they are made of queries and keys. They add up to one, so the
output moves by $u$, to ${tex(moved)}$. What *{most}* contributes is now zero.

**(c)** The notes read a weight as an influence; the lengths of the values matter as much. But
the length of a contribution is no safe measure either: it depends on a constant that could be
added to all values and taken off again. Both say where the output was mixed from, and neither
what the output is used for.""",
        marking=(
            (3, "output, lengths, and the word that contributes most"),
            (
                3,
                "weights unchanged; output moved by $u$, because weights add up to one; "
                "contribution zero",
            ),
            (1, "a weight is no influence, as a value can be short"),
            (2, "the length of a contribution depends on an arbitrary constant"),
        ),
        given={"weights": weights, "v": v, "u": u},
        values={"output": y, "lengths": parts, "most": most, "moved": moved},
        traps={
            "the largest weight contributes most": ("most", top),
            "the output stays": ("moved", y),
            "u is added for each word": ("moved", y + 3 * u),
            "lengths without weights": ("lengths", norm(v)),
        },
    )
