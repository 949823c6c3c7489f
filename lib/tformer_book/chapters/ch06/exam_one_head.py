"""Exam questions of chapter 6 about a single head: cut out, read, and asked for too much."""

from __future__ import annotations

import numpy as np

from tformer.parameters import HeadParameters
from tformer.reference import (
    attention,
    multi_head_attention,
    multi_head_weights,
    ov_circuit,
    qk_circuit,
)
from tformer_book.exams import Item, choices, distinct, draw, question, tex

Rng = np.random.Generator

CUTS = {
    "split": "q.reshape({T}, {H}, {d}).swapaxes(0, 1)",
    "columns first": "q.T.reshape({H}, {d}, {T}).swapaxes(1, 2)",
    "at once": "q.reshape({H}, {T}, {d})",
    "combed": "q.reshape({T}, {d}, {H}).transpose(2, 0, 1)",
    "turned": "q.T.reshape({H}, {T}, {d})",
}
RIGHT = ("split", "columns first")


@question("Cut into heads", minutes=12, asks="error")
def cut_into_heads(rng: Rng) -> Item:
    """Four ways to cut a table of queries into heads, by the numbers that end up in one."""
    T = int(rng.integers(2, 5))
    H, d = [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2)][int(rng.integers(0, 6))]
    others = [str(x) for x in rng.choice([*RIGHT, "turned"], 2, replace=False)]
    names = [str(x) for x in rng.permutation(["at once", "combed", *others])]
    q = 10 * np.arange(1, T + 1)[:, None] + np.arange(1, H * d + 1)
    right = HeadParameters.from_fused(q, q, q, q.T, n_heads=H).w_q[-1]
    mixed = q.reshape(H, T, d)[-1]
    combed = q[:, H - 1 :: H]
    letter = dict(zip(names, "ABCD", strict=True))
    good = " and ".join(sorted(letter[name] for name in RIGHT if name in letter))
    first = int(mixed[0, 0] // 10)
    return Item(
        statement=rf"""
The queries of {H} heads of width {d}, for {T} words, come out of one product as a table `q` of
shape $({T}, {H * d})$. Let the number in its row $a$ and column $b$ be $10a + b$, counted from 1,
so that a number tells its word and its column. Head 1 should get the first {d} columns, and so on.
Four programs cut the table into an array of shape $({H}, {T}, {d})$.

{choices([f"`{CUTS[name].format(T=T, H=H, d=d)}`" for name in names])}

**(a)** Give the table of the *last* head as it should be, as {letter["at once"]} makes it, and as
{letter["combed"]} makes it.

**(b)** Which programs are right?

**(c)** A model is trained from scratch with {letter["combed"]} for queries, keys and values, and
puts the outputs of its heads together in the same order of columns. Does it learn as well as one
with the right cut? What happens to weights that were trained with the right cut?

**(d)** Another model cuts queries, keys and values with {letter["at once"]}. A causal mask
is laid on the {T} rows of each head, and the output of word $t$ is made of the rows $t$ of all
heads. From which word is the first query of the last head? Show that a later word leaks.""",
        answer=rf"""
**(a)** Right: ${tex(right)}$. {letter["at once"]}: ${tex(mixed)}$. {letter["combed"]}:
${tex(combed)}$.

**(b)** {good}.

**(c)** It does. Each head gets {d} whole columns, only others, and the columns of $W_Q$, $W_K$,
$W_V$ and the rows of $W_O$ are there to be learned: their order means nothing. Weights trained with
the right cut are read in the wrong order, and their heads are taken apart.

**(d)** From word {first}, and so are the key and the value in the same row, the only ones to which
this query may attend. What it finds goes into the output of word 1. The mask compares row numbers,
and here row $t$ of a head is not word $t$.""",
        marking=(
            (3, "the three tables"),
            (2, "the right programs, and no other"),
            (3, "a consistent order can be learned; loaded weights need the old one"),
            (2, "the word; its value reaches word 1"),
        ),
        given={"words": T, "heads": H, "width": d},
        values={"right": right, "mixed": mixed, "combed": combed, "good": good, "first": first},
        traps={
            "the shape is right": ("mixed", right),
            "the order of columns is kept": ("combed", right),
            "row 1 is word 1": ("first", 1),
            "every shape is right": ("good", "A and B and C and D"),
        },
    )


SAME = (
    r"$2 W_Q$ in place of $W_Q$, and $\tfrac12 W_K$ in place of $W_K$",
    r"$-W_V$ in place of $W_V$, and $-W_O$ in place of $W_O$",
    "all four matrices with the opposite sign",
)
OTHER = (
    r"$2 W_Q$ in place of $W_Q$, and $\tfrac12 W_O$ in place of $W_O$",
    "$W_Q$ and $W_K$ exchanged",
    r"$-W_Q$ in place of $W_Q$, and $-W_V$ in place of $W_V$",
    r"$W_Q$, $W_K$, $W_V$ and $W_O$ all doubled",
)
WORDS = np.array([[1, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]], dtype=float)


@question("Where it attends, what it writes", minutes=15)
def read_a_head(rng: Rng) -> Item:
    """The two circuits of a head of width 1, its weights, and heads that are the same."""

    def scores(parts: np.ndarray) -> np.ndarray:
        return WORDS[3] @ parts[0] * (WORDS @ parts[1])

    def fits(parts: np.ndarray) -> bool:
        asks, asked = parts[:2]
        symmetric = np.array_equal(np.outer(asks, asked), np.outer(asked, asks))
        return bool(
            np.ptp(scores(parts)) in range(2, 7) and not symmetric and parts[2:].any(1).all()
        )

    parts = draw(lambda: rng.integers(-2, 4, (4, 3)), fits)
    w_q, w_k, w_v, w_o = parts.astype(float)
    head = HeadParameters(
        w_q[None, :, None], w_k[None, :, None], w_v[None, :, None], w_o[None, None]
    )
    reads, writes = qk_circuit(head)[0], ov_circuit(head)[0]
    scale = float(np.log(2))
    weights = multi_head_weights(WORDS, head, scale=scale)[0, 3]
    added = multi_head_attention(WORDS, head, scale=scale)[3]
    n_same = int(rng.integers(1, 3))
    options = [
        *rng.choice(SAME, n_same, replace=False),
        *rng.choice(OTHER, 4 - n_same, replace=False),
    ]
    order = rng.permutation(4)
    letters = " and ".join("ABCD"[i] for i in range(4) if order[i] < n_same)
    exchanged = " and ".join("ABCD"[i] for i in range(4) if order[i] >= n_same)
    columns = [tex(x[:, None]) for x in (w_q, w_k, w_v)]
    return Item(
        statement=rf"""
Rows have three features: *noun*, *adjective*, *plural*. The words *cat*, *mice*, *tired* and *they*
are $(1, 0, 0)$, $(1, 0, 1)$, $(0, 1, 0)$ and $(0, 0, 1)$. A head of width 1 has

$$W_Q = {columns[0]}, \quad W_K = {columns[1]}, \quad W_V = {columns[2]}, \quad
W_O = {tex(w_o[None])} ,$$

and its scale is $\log 2$, so that a word with the dot product $n$ counts $2^n$ times.

**(a)** Give $M = W_Q W_K^\top$ and $U = W_V W_O$.

**(b)** The sentence has these four words, all in view. Give the four weights of *they*, and the row
that the head adds to it.

**(c)** Which of these heads add the same to every sentence?

{choices([str(options[i]) for i in order])}

**(d)** Can a head of width 1 have $M = {tex(np.diag([1, 1, 0]))}$? Somebody hides the four matrices
and shows you what the head adds to sentences of your choice. Which ones tell you $U$?""",
        answer=rf"""
**(a)** $M = {tex(reads)}$, $U = {tex(writes)}$.

**(b)** The row of *they* in $M$ gives the dot products ${tex(scores(parts))}$, so the weights are
${tex(weights)}$. The head adds ${tex(added)}$: the mean of the words by these weights, times $U$.

**(c)** {letters}: a head acts through $M$ and $U$ alone, and in the others one of them has changed.

**(d)** No: its rank is 2, and that of $W_Q W_K^\top$ is at most the width. Three sentences of one
word each tell $U$, with rows that are linearly independent: a single word has the weight 1, so the
head adds $x U$, whatever $M$ is.""",
        marking=(
            (2, "both products"),
            (4, "dot products, weights, mean, and the row that is added; one point each"),
            (3, "the heads that keep $M$ and $U$, with the reason"),
            (3, "rank; sentences of one word, as many as the rows are wide"),
        ),
        given={"parts": parts, "options": [str(options[i]) for i in order]},
        values={"M": reads, "U": writes, "weights": weights, "added": added, "letters": letters},
        traps={
            "keys ask": ("M", reads.T),
            "what is read is written": ("U", np.outer(w_o, w_v)),
            "the dot products are the weights": ("weights", scores(parts)),
            "the values are not written": ("added", weights @ WORDS),
            "the opposite": ("letters", exchanged),
        },
    )


@question("Two answers from one head", minutes=15, asks="why")
def two_answers(rng: Rng) -> Item:
    """The error of a head with fixed weights, the best that it can write, and the bound."""
    a, b = distinct(rng, 2, 1, 7)
    heads, more, width = (int(rng.integers(*ends)) for ends in ((2, 7), (1, 6), (2, 9)))
    signs = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=float)
    keys = np.broadcast_to(np.log([[a], [b]]), (4, 2, 1))
    mixed = attention(np.ones((4, 1, 1)), keys, signs[..., None])[:, 0]
    plain = float(((mixed * np.ones(2) - signs) ** 2).sum(axis=1).mean())
    best = (mixed * signs).mean(axis=0) / (mixed**2).mean()
    share = heads / (heads + more)
    return Item(
        statement=rf"""
Two places hold the numbers $z_1$ and $z_2$, independent, each $1$ or $-1$ with equal chances. A
verb should receive both, as the row $(z_1, z_2)$. A head attends by the endings: its
scores are $\log {a}$ and $\log {b}$, whatever the contents are. Its values are the contents, so it
makes the number $w = a_1 z_1 + a_2 z_2$ and writes $(u_1 w, u_2 w)$.

**(a)** Let $u_1 = u_2 = 1$. Give the mean squared error
$\operatorname{{E}}[(w - z_1)^2 + (w - z_2)^2]$.

**(b)** Which $u_1$ and $u_2$ make the mean squared error smallest? How large is it then?

**(c)** Prove that no weights $a_1$, $a_2$, of any sign and size, and no $u_1$, $u_2$ do better.
Does it help to make the head ten times as wide?

**(d)** A layer of {heads} heads of this kind should deliver {heads + more} contents of width
{width} from as many positions; all coordinates are independent, with mean 0 and variance 1. How
large is its mean squared error at least, and which share of what was asked can it deliver at most?

**(e)** Now the *scores* of one head are made of the contents too. Which step of (c) fails?""",
        answer=rf"""
**(a)** The weights are ${tex(np.array([a, b]) / (a + b))}$, and the error is
$2 a_2^2 + 2 a_1^2 = {tex(plain)}$.

**(b)** $(u_1, u_2) = {tex(best)}$, which is $(a_1, a_2) / (a_1^2 + a_2^2)$. The error is 1, half of
what was asked.

**(c)** With $s = a_1^2 + a_2^2$ the error is
$(u_1^2 + u_2^2) s - 2 (u_1 a_1 + u_2 a_2) + 2 = s\, \lVert u - a / s \rVert^2 + 1$ if $s > 0$, and
2 if $s = 0$. Width does not help: with one row of weights all contents are mixed into one number
before anything else is done to them, however many copies of it are made. (The bound is for what is
written. $w$ has a value of its own for each pair of signs, so a reader with ReLUs can tell both.)

**(d)** At least ${tex(more * width)}$, one for each coordinate of the contents that have no head of
their own. The share ${tex(share)}$ can be delivered.

**(e)** The weights are no longer fixed numbers: $\operatorname{{E}}[w z_1] = a_1$ and
$\operatorname{{E}}[w^2] = s$ fail when $a_1$ and $a_2$ depend on $z_1$ and $z_2$. The weights
themselves can then carry a part of the answer.""",
        marking=(
            (2, "weights, and the error"),
            (2, "the best numbers, and the error 1"),
            (4, "the error as a function of $u$; its least value; one mixture, however wide"),
            (2, "the bound, and the share"),
            (2, "expectations in which the weights were taken for constants"),
        ),
        given={"scores": (a, b), "heads": heads, "more": more, "width": width},
        values={"plain": plain, "best": best, "bound": more * width, "share": share},
        traps={
            "each slot counts once": ("plain", plain / 2),
            "write by the weights": ("best", np.array([a, b]) / (a + b)),
            "write the mixture as it is": ("best", np.ones(2)),
            "one for each content": ("bound", more),
            "all contents lose": ("bound", (heads + more) * width),
        },
    )
