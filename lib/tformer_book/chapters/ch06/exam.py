"""Exam questions of chapter 6: what heads add up to, what they cost, what one cannot do."""

from __future__ import annotations

from math import comb

import numpy as np

from tformer.parameters import HeadParameters, leaves
from tformer.reference import multi_head_attention
from tformer_book.exams import Item, draw, question, tex

Rng = np.random.Generator


@question("Two heads, one output", minutes=10)
def two_heads(rng: Rng) -> Item:
    """Concatenate and project; switch a head off; turn the heads round without their blocks."""
    y = rng.integers(-3, 5, (2, 2)).astype(float)
    w_o = rng.integers(-2, 4, (2, 2, 3)).astype(float)
    word, nothing = np.eye(1, 3), np.zeros((2, 3, 1))

    def layer(y: np.ndarray, w_o: np.ndarray) -> np.ndarray:
        """A single word has the weight 1, so each head returns its value."""
        return multi_head_attention(
            word, HeadParameters(nothing, nothing, word.T * y[:, None], w_o)
        )[0]

    output = layer(y, w_o)
    off = layer(y * [[1], [0]], w_o)
    turned = layer(y[::-1], w_o)
    return Item(
        statement=rf"""
For one word, two heads of $d_v = 2$ have the outputs $y_1 = {tex(y[0])}$ and
$y_2 = {tex(y[1])}$. They are concatenated in this order and multiplied by

$$W_O = {tex(w_o.reshape(4, 3))} .$$

**(a)** Give the output of the layer.

**(b)** The second head is switched off: its output is $(0, 0)$. Give the output of the layer. Can
it be computed from the output in (a) and $y_2$, if $y_1$ is not known?

**(c)** A program concatenates the heads in the wrong order, with $W_O$ as it is. Give the output.
How must $W_O$ be changed so that the order does not matter?

**(d)** “The projection can let one head decide what becomes of another's output.” Show that it
cannot, and say where in a transformer that can happen.""",
        answer=rf"""
**(a)** ${tex(output)}$.

**(b)** ${tex(off)}$. Yes: the layer is a sum over heads, so it is the output in (a) less
$y_2$ times the last two rows of $W_O$, which is ${tex(output - off)}$.

**(c)** ${tex(turned)}$. Its blocks of rows must be exchanged as the heads are.

**(d)** An entry of the product is a sum of four terms, and each has one number of one head times
one entry of $W_O$. No term contains numbers of both heads, so what a head adds does not depend on
the other's output. In a second layer queries, keys and values are made from the sum, so there it
can.""",
        marking=(
            (2, "the product"),
            (3, "the output without the head; subtract its own block's part"),
            (3, "each head through the other's block; the blocks must move too"),
            (2, "the sum splits by heads; later layers see the sum"),
        ),
        given={"y": y, "w_o": w_o},
        values={"output": output, "off": off, "turned": turned},
        traps={
            "half of a layer with half of its heads": ("off", output / 2),
            "the second head says nothing at all": ("off", output),
            "the order does not matter": ("turned", output),
            "every head through the first block": ("output", y.sum(axis=0) @ w_o[0]),
        },
    )


@question("The bill", minutes=12, asks="why")
def the_bill(rng: Rng) -> Item:
    """Parameters, cache and rank of many heads, of groups and of a single table of keys."""

    def sizes() -> tuple[int, int, int, int]:
        heads = int(rng.choice([4, 6, 8, 9, 12, 16, 32]))
        groups = int(rng.choice([g for g in range(2, heads) if heads % g == 0]))
        return heads, groups, int(rng.choice([8, 16, 32, 64])), int(rng.integers(2, 13))

    heads, groups, width, layers = draw(
        sizes, lambda x: x[0] * x[2] <= 1024 and 2 * x[0] * x[2] * x[3] <= 9999
    )
    d = heads * width

    def parts(g: int) -> HeadParameters:
        shapes = ((heads, d, width), (g, d, width), (g, d, width), (heads, width, d))
        return HeadParameters(*(np.broadcast_to(0.0, shape) for shape in shapes))

    tables = [parts(g) for g in (heads, groups, 1)]
    bill = np.array([sum(w.size for w in leaves(x)) for x in tables]) / d**2
    cache = np.array([2 * layers * x.w_k.shape[0] * x.w_k.shape[2] for x in tables])
    narrow = int(rng.choice([w for w in (1, 2, 3) if groups * w < heads]))
    rank = np.minimum(heads, narrow * np.array([heads, groups, 1]))
    return Item(
        statement=rf"""
A model has {layers} layers of {heads} heads with $d_k = d_v = {width}$, on rows of width
$d = {d}$, without biases. There are three kinds of it. In the first, each head has its own keys
and values. In the second, groups of heads share {groups} tables of them. In the third, one table
serves all heads.

**(a)** Give the number of parameters of one layer for the three kinds, as multiples of $d^2$.

**(b)** How many numbers does the cache of the model keep for each word, for the three kinds?

**(c)** With its own keys and values, each head is cut into two of half the width. Which of these
change, and how: parameters, cache, multiplications, number of attention weights, the largest rank
of a head's $W_Q W_K^\top$?

**(d)** All heads share one table. Do they all attend to the same words? Now keys have the width
{narrow} in all three kinds. The scores that one query gives in all heads are a table of {heads}
rows, one a head, with one column for each of many keys. Give the largest rank that it can have, for
the three kinds, and prove it for the last.""",
        answer=rf"""
**(a)** ${tex(bill)}$: $d^2$ each for $W_Q$ and $W_O$, and for keys and values together twice the
share of tables that is left.

**(b)** ${tex(cache)}$: a key and a value of width {width} for each table and layer.

**(c)** Parameters, cache and multiplications stay, because twice as many heads have half the
width. There are twice as many weights. The largest rank is halved.

**(d)** No: each head has its own query. The ranks are ${tex(rank)}$. With one table all rows are
$c\, q K^\top$ with the same $K$, so they lie in the span of the rows of $K^\top$, of which
there are as many as the key is wide, {narrow}.""",
        marking=(
            (3, "parameters; one point each"),
            (2, "key and value, times tables, times layers"),
            (3, "what stays; twice the weights; half the rank"),
            (3, "own queries; the three ranks; the span of the rows of $K^\\top$"),
        ),
        given={"heads": heads, "groups": groups, "width": width, "layers": layers}
        | {"narrow": narrow},
        values={"bill": bill, "cache": cache, "rank": rank},
        traps={
            "queries are shared too": ("bill", 4 * np.array([heads, groups, 1]) / heads),
            "only keys are kept": ("cache", cache / 2),
            "one layer": ("cache", cache / layers),
            "the rank is the width": ("rank", np.full(3, narrow)),
            "own queries, so nothing is lost": ("rank", np.full(3, heads)),
        },
    )


FAMILY = "PQRST"


@question("Sets of heads", minutes=15, asks="proof")
def sets_of_heads(rng: Rng) -> Item:
    """How many heads kinds need, which kinds get into each other's way, and why."""
    kinds = int(rng.integers(4, 127))
    enough = next(h for h in range(1, 20) if comb(h, h // 2) >= kinds)
    n = int(rng.integers(4, 6))

    def family() -> list[int]:
        return [int(x) for x in rng.choice(np.arange(1, 15), n, replace=False)]

    def inside(sets: list[int]) -> list[str]:
        return [
            f"{FAMILY[i]} in {FAMILY[j]}"
            for i in range(n)
            for j in range(n)
            if i != j and sets[i] & sets[j] == sets[i]
        ]

    sets = draw(family, lambda sets: 1 <= len(inside(sets)) <= 3)
    wrong = ", ".join(inside(sets))
    members = [[h + 1 for h in range(4) if x >> h & 1] for x in sets]
    listed = "; ".join(
        rf"{FAMILY[i]}: $\{{{', '.join(map(str, x))}\}}$" for i, x in enumerate(members)
    )
    return Item(
        statement=rf"""
In each of several heads the nouns of a kind have one of two scores, as far apart as you like. A
kind *belongs* to a head in which its nouns have the higher one. The adjective of a kind may have
any score in each head. A family of kinds *works* if for every two of its kinds, and the adjective
of either, the noun that fits gets more weight than the other, averaged over the heads.

**(a)** How many heads do {kinds} kinds need at least, and how many kinds can so many heads serve?

**(b)** Four heads are numbered from 1 to 4. The kinds belong to these:

{listed}.

Which pairs of kinds make the family fail, and with the adjective of which of the two?

**(c)** Prove: a family fails in which one kind belongs to all the heads to which another belongs.

**(d)** “So with fewer heads a model has no way to let the noun that fits win.” Which assumption
of (c) need not hold in a model?""",
        answer=rf"""
**(a)** {enough} heads, and these can serve up to {comb(enough, enough // 2)} kinds: sets of
heads none of which contains another, at most $\binom{{H}}{{\lfloor H/2 \rfloor}}$ of them.

**(b)** {wrong}; it fails with the adjective of the kind that is named first, whose set is inside
the other's.

**(c)** Let $j$ belong to all heads of $i$. Compare a noun of either, after the adjective of $i$.
In a head
to which $i$ belongs, so does $j$, and both nouns have the same score. In any other head the noun of
kind $i$ has the lower score, and the other at least that. The weights of both are divided by the
same sum. So in every head the noun that fits has at most the weight of the other, and on average
too. What the adjective does to the sum does not matter.

**(d)** That there are two scores in a head. With more of them a head can grade the kinds, and two
heads are enough for any number of kinds, though with a small lead.""",
        marking=(
            (3, "the least number of heads, and its middle binomial coefficient"),
            (4, "all pairs, and no others; for each the adjective of the smaller set"),
            (4, "heads of $i$: equal; other heads: at most; same sum; the average"),
            (1, "only two scores a head"),
        ),
        given={"kinds": kinds, "members": members},
        values={"enough": enough, "most": comb(enough, enough // 2), "wrong": wrong},
        traps={
            "a head for each kind": ("enough", kinds),
            "any different sets will do": ("enough", next(h for h in range(9) if 2**h >= kinds)),
            "all subsets": ("most", 2**enough),
            "turned round": (
                "wrong",
                ", ".join(" in ".join(x.split(" in ")[::-1]) for x in inside(sets)),
            ),
            "all sets differ, so the family works": ("wrong", ""),
        },
    )
