"""Exam questions of chapter 21: patches, a rule in ReLUs, one among many, a graph in layers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tformer import reference
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


def _turn(rng: Rng) -> np.ndarray:
    """An order of four that is not its own inverse."""
    return draw(lambda: rng.permutation(4), lambda x: (x[x] != np.arange(4)).any())


@question("Patches of an image", minutes=11)
def patches(rng: Rng) -> Item:
    """Sizes of tokens and tables of scores, and a table of positions for another order."""
    p, (rows, columns) = int(rng.choice([4, 6, 8])), distinct(rng, 2, 2, 5)
    order, table = _turn(rng), np.array(distinct(rng, 4, 1, 9))
    tokens, width = rows * columns, 3 * p * p
    scores = tokens**2
    return Item(
        statement=rf"""
A colour image has ${rows * p}$ rows and ${columns * p}$ columns of pixels, and three numbers in
each pixel. It is cut into squares of ${p} \times {p}$ pixels.

**(a)** How many tokens come out, and how many numbers are in each?

**(b)** How many scores does one head compute for this image? How many with squares of
${p // 2} \times {p // 2}$?

**(c)** A smaller image has four patches and vectors of width $1$. Row $t$ of the table
${tex(table)}$ is added to the patch at place $t$. At the end the model takes the mean of all
vectors. Now the patches come in the order ${tex(order)}$: at place $t$ stands the patch that stood
at place $o_t$, counted from $0$. Which table leaves the logits as they were?

**(d)** Another model has no table and takes the same mean. Describe two different images that it
cannot tell apart, and say why.""",
        answer=rf"""
**(a)** ${rows} \cdot {columns}$ squares: ${tex(tokens)}$ tokens of $3 p^2 = {tex(width)}$ numbers.

**(b)** One for each pair: ${tex(scores)}$. Half the side makes four times the tokens and $16$ times
the pairs: ${tex(16 * scores)}$.

**(c)** Row $t$ of the new table is row $o_t$ of the old one: ${tex(table[order])}$.

**(d)** An image, and the same with two unequal patches exchanged. Without positions the vectors
of the layers change places with their patches, and a mean does not see the order.""",
        marking=(
            (2, "the number of squares, and three numbers for each pixel of one"),
            (2, "pairs of tokens, and the factor 16"),
            (2, "each row of the table goes with its patch, not with the inverse order"),
            (2, "two patches exchanged, with the reason for the layers and for the mean"),
        ),
        given={"p": p, "rows": rows, "columns": columns, "order": order, "table": table},
        values={
            "tokens": tokens,
            "width": width,
            "scores": scores,
            "finer": 16 * scores,
            "moved": table[order],
        },
        traps={
            "one number a pixel": ("width", p * p),
            "each pair once": ("scores", tokens * (tokens + 1) // 2),
            "four times the pairs": ("finer", 4 * scores),
            "the inverse order": ("moved", table[np.argsort(order)]),
            "a table that stays": ("moved", table),
        },
    )


@question("A rule in four ReLUs", minutes=12, asks="why")
def rule(rng: Rng) -> Item:
    """Numbers of a mask, of cells and of ReLUs, and what a sum over nine cells cannot tell."""
    k, (h, w) = int(rng.integers(2, 8)), distinct(rng, 2, 4, 20)
    alive, n = int(rng.integers(2)), int(rng.integers(0, 9))
    m, u = Fraction(n + alive, 9), 2 * n + alive
    lives, starts = np.arange(2 * k - 1, 2 * k + 2), np.array([-2, -1, 1, 2]) + 2 * k
    kind = "living" if alive else "dead"
    return Item(
        statement=rf"""
On a torus of ${h} \times {w}$ cells a dead cell comes to life if it has ${k}$ living neighbours of
eight, and a living one survives if it has ${k - 1}$ or ${k}$. A head averages each $3 \times 3$
square, the cell in the middle among the nine. The feed-forward layer sees $a$, which is $1$ for a
living cell and $0$ for a dead one, and this mean $m$.

**(a)** How many entries of the head's mask are True?

**(b)** Give $m$ and $u = 18 m - a$ for a {kind} cell with ${n}$ living neighbours.

**(c)** Which three numbers $u$ lead to life?

**(d)** Four ReLUs of $u$ with the weights $1, -1, -1, 1$ return $1$ for these three numbers and $0$
for all others. Where does each of them start?

**(e)** The residual connection is cut, so the layer sees $m$ alone. Why can it not follow the rule?
Name two cells that it confuses.""",
        answer=rf"""
**(a)** Nine for each cell: ${tex(9 * h * w)}$.

**(b)** $m = {tex(float(m))}$ and $u = {tex(u)}$, which is twice the number of neighbours, and $a$.

**(c)** ${tex(lives)}$: the one in the middle for a dead cell, the others for living ones.

**(d)** At ${tex(starts)}$: the sum rises from $0$ to $1$, stays, and falls from $1$ to $0$.

**(e)** $9 m$ counts the cell with its neighbours. A living cell with ${k}$ living neighbours
survives, and a dead one with ${k + 1}$ stays dead, but $9 m$ is ${tex(k + 1)}$ for both.""",
        marking=(
            (1, "nine for each cell"),
            (2, "mean and number, with the cell itself in the mean"),
            (2, "the three numbers"),
            (2, "starts one step before and after"),
            (3, "two cells with the same mean and different fates"),
        ),
        given={"k": k, "h": h, "w": w, "alive": alive, "n": n},
        values={
            "entries": 9 * h * w,
            "m": float(m),
            "u": u,
            "lives": lives,
            "starts": starts,
            "confused": k + 1,
        },
        traps={
            "eight neighbours without the cell": ("entries", 8 * h * w),
            "the cell counted once more": ("u", 2 * (n + alive) + alive + 1),
            "numbers of neighbours": ("lives", np.array([k - 1, k, k])),
            "starts at the numbers themselves": ("starts", np.array([-1, 0, 1, 2]) + 2 * k),
        },
    )


@question("One among many", minutes=10, asks="why")
def among_many(rng: Rng) -> Item:
    """Weights of the largest score, the size from which all are small, and why heads disperse."""
    a, b, m = int(rng.integers(2, 13)), int(rng.integers(2, 6)), int(rng.integers(2, 7))
    few, many = int(rng.integers(3, 9)), 10 * int(rng.integers(2, 9))
    first, second = (
        float(reference.softmax(np.log([a, *[1.0] * (n - 1)]))[0]) for n in (few, many)
    )
    least = (m - 1) * b * b + 2
    return Item(
        statement=rf"""
In a set one token has the score $\log {a}$, and all others have the score $0$.

**(a)** Give its weight in a set of ${few}$ tokens, and in a set of ${many}$.

**(b)** Another head has learnt scores that lie from $-\log {b}$ to $\log {b}$, whatever the tokens
are. What is the least number of tokens with which every weight must be below $\tfrac{{1}}{{{m}}}$?

**(c)** A head was trained to return the largest number of a set of ${few}$. Why does it become
worse on sets of ${many}$, although it still gives the largest weight to the right token?

**(d)** Name one change that helps, and say why.""",
        answer=rf"""
**(a)** ${tex(first)}$ and ${tex(second)}$.

**(b)** The largest weight is that of a score $\log {b}$ among others of $-\log {b}$,
$1 / (1 + (n - 1) / {b * b})$. It is below $\tfrac{{1}}{{{m}}}$ if $n - 1$ is more than
${(m - 1) * b * b}$: from ${tex(least)}$ tokens on.

**(c)** Its scores are bounded, so the weight of that token falls like one over the number of
tokens. The output is a mean in which all others together count more and more.

**(d)** For instance scores that grow with the logarithm of the number of tokens, which keeps the
weight. Or a maximum over tokens in place of softmax, which has no denominator.""",
        marking=(
            (2, "both weights"),
            (3, "the extreme scores, twice the logarithm, and the strict bound"),
            (2, "bounded scores, and all others together"),
            (2, "a change with its reason"),
        ),
        given={"a": a, "b": b, "m": m, "few": few, "many": many},
        values={"first": first, "second": second, "least": least},
        traps={
            "the token among the others": ("first", a / (a + few)),
            "a share of the scores": ("second", 1 / many),
            "one logarithm for two": ("least", (m - 1) * b + 2),
            "where it is reached": ("least", least - 1),
            "its own exponential left out below the line": ("least", m * b * b + 1),
        },
    )


@question("A graph in layers", minutes=10)
def layers(rng: Rng) -> Item:
    """Entries of masks and numbers of layers, for a path, a ring and a path with a hub."""
    n = int(rng.integers(9, 41))
    k = int(rng.integers(2, min(10, (n - 1) // 2)))
    entries = n + 2 * (n - 1)
    return Item(
        statement=rf"""
The ${n}$ nodes of a graph are tokens. In each layer a node attends to itself and to the nodes that
it has an edge with, and layers add to the residual stream.

**(a)** The graph is a path. How many entries of its mask are True?

**(b)** After how many layers can the vector at one end of the path first depend on the input at
the other end?

**(c)** ${k}$ layers are used. On the inputs of how many nodes does the vector of a node depend
that is at least ${k}$ edges away from both ends?

**(d)** One more edge makes a ring of the path. How many layers are needed now until each vector can
depend on all inputs?

**(e)** Instead, a token is added to the path that attends to all and that all attend to. How many
entries of the mask are True, and how many layers are needed?

**(f)** Graphs of different sizes stand in one batch, filled up with empty nodes. What must the mask
do with these, and what happens to a mean over all rows if it is forgotten there?""",
        answer=rf"""
**(a)** ${n}$ on the diagonal, and two for each edge: ${tex(entries)}$.

**(b)** One layer for each edge: ${tex(n - 1)}$.

**(c)** ${k}$ on either side and itself: ${tex(2 * k + 1)}$.

**(d)** The farthest node is half of the ring away: ${tex(n // 2)}$.

**(e)** Two for each node and one for the token itself: ${tex(5 * n - 1)}$. Two layers are enough.

**(f)** No node may attend to an empty one. Empty rows have vectors too, so a mean over all rows
depends on how much was filled up: it has to leave them out.""",
        marking=(
            (1, "the diagonal and both directions of each edge"),
            (1, "one layer for each edge"),
            (1, "both sides and the node itself"),
            (1, "half of the ring"),
            (2, "entries with the new row and column, and two layers"),
            (2, "the mask hides empty nodes, and the mean leaves them out"),
        ),
        given={"n": n, "k": k},
        values={
            "entries": entries,
            "ends": n - 1,
            "known": 2 * k + 1,
            "ring": n // 2,
            "hub": 5 * n - 1,
        },
        traps={
            "one direction": ("entries", 2 * n - 1),
            "nodes counted for edges": ("ends", n),
            "one side": ("known", k + 1),
            "the node left out": ("known", 2 * k),
            "as on the path": ("ring", n - 1),
            "one direction to the token": ("hub", 4 * n - 1),
        },
    )
