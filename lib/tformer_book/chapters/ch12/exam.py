"""Exam questions of chapter 12: a linear step, a row of attention, a table, checks and memory."""

from __future__ import annotations

import numpy as np

from tformer_book.exams import Item, distinct, question, tex

Rng = np.random.Generator


@question("A linear step by hand", minutes=10)
def linear_step(rng: Rng) -> Item:
    """The three gradients of a linear step with two words, and its cost."""
    x, w, dy = (rng.integers(-3, 4, (2, 2)).astype(float) for _ in range(3))
    x[0, 1], w[0, 1], dy[0, 1] = (float(n) for n in distinct(rng, 3, 4, 9))
    dx, dw, db = dy @ w.T, x.T @ dy, dy.sum(axis=0)
    n, d, m = (int(n) for n in distinct(rng, 3, 2, 15))
    return Item(
        statement=rf"""
A step computes $Y = X W + b$, with

$$X = {tex(x)}, \quad W = {tex(w)}, \quad \mathrm{{d}}Y = {tex(dy)} .$$

**(a)** Give $\mathrm{{d}}X$.

**(b)** Give $\mathrm{{d}}W$ and $\mathrm{{d}}b$. Why are they sums over the words?

**(c)** Another step maps {n} vectors of width {d} to width {m}. How many multiplications do the
matrix products take in the forward pass, and how many in the backward pass?""",
        answer=rf"""
**(a)** $\mathrm{{d}}Y\, W^\top = {tex(dx)}$.

**(b)** $X^\top \mathrm{{d}}Y = {tex(dw)}$ and ${tex(db)}$. Every word uses both once, so
each gradient is a sum over the words.

**(c)** ${n * d * m}$ there and ${2 * n * d * m}$ back: one product for each factor.""",
        marking=(
            (2, "the product with the transposed matrix"),
            (4, "both gradients, with the reason"),
            (2, "both counts"),
        ),
        given={"x": x, "w": w, "dy": dy, "sizes": (n, d, m)},
        values={"dx": dx, "dw": dw, "db": db, "there": n * d * m, "back": 2 * n * d * m},
        traps={
            "the matrix not transposed": ("dx", dy @ w),
            "the rows not transposed": ("dw", x @ dy),
            "as much back as there": ("back", n * d * m),
        },
    )


@question("A row of weights and its gradient", minutes=10, asks="why")
def blamed_row(rng: Rng) -> Item:
    """Gradient of the scores for minus the logarithm of one weight, and for a linear loss."""
    parts = rng.permutation([1.0, 2.0, 5.0, 2.0])
    a = parts / 10
    right = int(rng.integers(4))
    first = (a - np.eye(4)[right]).round(9)
    da = np.array([float(n) for n in distinct(rng, 4, 0, 9)])
    mean = float((a * da).sum().round(9))
    second = (a * (da - mean)).round(9)
    return Item(
        statement=rf"""
The weights of a query on four keys are $a = {tex(a)}$.

**(a)** The loss is minus the logarithm of the weight of key {right + 1}. Give the gradient with
respect to the four scores.

**(b)** Another loss has the gradient ${tex(da)}$ with respect to the weights. Give the gradient
with respect to the scores.

**(c)** Both results add up to 0. Why must they, whatever the loss is?""",
        answer=rf"""
**(a)** ${tex(first)}$: the weights, less 1 at the right key.

**(b)** The mean of the gradient by the weights is ${tex(mean)}$; each weight times what is left
gives ${tex(second)}$.

**(c)** If all scores grow by the same number the weights stay, and so does the loss. Its derivative
in this direction is the sum of the gradient.""",
        marking=(
            (3, "weights less one"),
            (4, "the mean by the weights, taken off, times the weights"),
            (2, "a shift of all scores changes nothing"),
        ),
        given={"a": a, "right": right, "da": da},
        values={"first": first, "mean": mean, "second": second},
        traps={
            "the sign turned": ("first", -first),
            "the second part of the Jacobian forgotten": ("second", (a * da).round(9)),
            "the plain mean": ("mean", float(da.mean())),
        },
    )


@question("A table that is used twice", minutes=10)
def used_twice(rng: Rng) -> Item:
    """A tied table of width one: what lookup and head pass back."""
    words = [0, 1, 0] if rng.random() < 0.5 else [1, 0, 1]
    dx = np.array([float(n) for n in distinct(rng, 3, 1, 9)])
    x = np.array([float(n) for n in distinct(rng, 3, 1, 6)])
    dz = rng.integers(-4, 5, (3, 3)).astype(float)
    dz[:, 2] = [float(n) for n in distinct(rng, 3, 1, 5)]
    lookup, head = np.zeros(3), dz.T @ x
    np.add.at(lookup, words, dx)
    names = ", ".join("ABC"[one] for one in words)
    last = np.zeros(3)
    last[words] = dx
    return Item(
        statement=rf"""
A model with the words A, B and C has a tied table of width 1. It reads {names}. The vectors that
were looked up receive the gradients ${tex(dx)}$. The head was given the vectors ${tex(x)}$, one
for each place, and the gradients of its logits are (a line for each place, columns A, B, C)

$$\mathrm{{d}}z = {tex(dz)} .$$

**(a)** Give the part of the table's gradient that comes by the lookup.

**(b)** Give the part that comes by the head, and the gradient.

**(c)** C was not read. Why does its vector learn?""",
        answer=rf"""
**(a)** ${tex(lookup)}$: a word that was read twice gathers both.

**(b)** ${tex(head)}$, and in all ${tex(lookup + head)}$.

**(c)** The head compares each vector with those of all words, so C was used at every place.""",
        marking=(
            (3, "gathered by words"),
            (4, "transposed logits' gradient times vectors; the sum"),
            (2, "the head uses all words"),
        ),
        given={"words": words, "dx": dx, "x": x, "dz": dz},
        values={"lookup": lookup, "head": head, "total": lookup + head},
        traps={
            "the last use overwrites": ("lookup", last),
            "only the lookup": ("total", lookup),
            "the wrong vectors at the head": ("head", dz.T @ dx),
        },
    )


@question("A check, and what is kept", minutes=12, asks="error")
def checked(rng: Rng) -> Item:
    """The best step of a central quotient; errors in three sentences; memory of a stack."""
    eps, k = 1 / 200, int(rng.choice([2, 5, 10, 20]))
    m = 3 * k**3 / 200
    best, bound = 1 / k, 3 * k / 400
    n_tokens, d, n_heads = int(rng.integers(3, 9)), int(rng.integers(2, 7)), 2
    n_layers = int(rng.integers(3, 6))
    rows = n_tokens * d
    block = 16 * rows + n_heads * n_tokens**2
    everything, least = n_layers * block, n_layers * rows + block
    return Item(
        statement=rf"""
**(a)** Values of a function are rounded to hundredths, so that they are off by at most
$\epsilon = \tfrac{{1}}{{200}}$, and its third derivative is at most ${m:g}$. For which step is the
bound of a central difference quotient least, and what is the bound there?

**(b)** “I took a step of $10^{{-14}}$ in float64, to be on the safe side.” What is wrong?

**(c)** “My loss falls from 3 to 0.5, so I need no check.” What is wrong?

**(d)** A stack has {n_layers} blocks of width {d} with {n_heads} heads, and a block keeps
$16\, T d + H T^2$ numbers of a text of $T = {n_tokens}$ words. How many are kept in all; and how
many at most, if only the vectors before each block are kept and the block is run again? (Count
those before the block at work twice: as vectors that are kept, and among its numbers.)""",
        answer=rf"""
**(a)** $h = (3 \epsilon / M)^{{1/3}} = {tex(best)}$, where the bound is
$M h^2 / 6 + \epsilon / h = {tex(bound)}$.

**(b)** Both losses agree in nearly all digits, so their difference is mostly rounding, and dividing
by a tiny step makes it large.

**(c)** A small step against the gradient makes the loss fall, and so does one in any direction with
a negative dot product with it. Terms may be missing.

**(d)** ${everything}$, and ${least}$: a table of vectors a block, and one block's numbers.""",
        marking=(
            (3, "two for the step and one for the bound, each with its formula"),
            (2, "the rounding of both losses, divided by a step that is tiny"),
            (2, "a falling loss shows one of many directions that lead downhill"),
            (3, "two for all that is kept, and one for what recomputation leaves"),
        ),
        given={"eps": eps, "m": m, "T": n_tokens, "d": d, "H": n_heads, "L": n_layers},
        values={"best": best, "bound": bound, "everything": everything, "least": least},
        traps={
            "both parts equal": ("best", (6 * eps / m) ** (1 / 3)),
            "half of the bound": ("bound", bound / 1.5),
            "without the block that runs": ("least", n_layers * rows),
            "one table of weights": ("everything", n_layers * (16 * rows + n_tokens**2)),
        },
    )
