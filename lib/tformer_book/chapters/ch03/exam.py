"""Exam questions of chapter 3: what attention mixes, what a head can want, what it cannot."""

from __future__ import annotations

import numpy as np

from tformer.reference import attention, attention_weights, norm, softmax
from tformer_book.exams import Item, choices, distinct, draw, question, tex
from tformer_book.exams.describe import exact

Rng = np.random.Generator


@question("Two queries, three pairs", minutes=10)
def two_queries(rng: Rng) -> Item:
    """Attention by hand, with a mask, and with the pairs in another order."""
    a, b = draw(lambda: rng.integers(1, 7, (2, 3)), lambda x: 4 < (x[0] * x[1]).sum() <= 30)
    v = draw(lambda: rng.integers(-3, 7, (3, 2)), lambda v: len({*map(tuple, v)}) == 3).astype(
        float
    )
    q, k = np.array([[1.0, 0], [1, 1]]), np.log(np.stack([a, b], axis=-1))
    seen = np.array([[True, True, True], [True, True, False]])
    y = attention(q, k, v, scale=1.0)
    hidden = attention(q, k, v, mask=seen, scale=1.0)[1]
    late = (attention_weights(q, k, scale=1.0) * seen @ v)[1]
    keys = ", ".join(rf"(\log {i}, \log {j})" for i, j in zip(a, b, strict=True))
    return Item(
        statement=rf"""
A memory holds three keys and their values, and the scale is 1:

$$k_1, k_2, k_3 = {keys}, \qquad v_1, v_2, v_3 = {", ".join(map(tex, v))} .$$

**(a)** Give the outputs of the queries $q_1 = (1, 0)$ and $q_2 = (1, 1)$.

**(b)** A mask hides the third key from $q_2$. Give its output now.

**(c)** Somebody sorts the memory into another order. What happens to the outputs if keys and
values move together? And if the keys move alone?

**(d)** May there be more queries than keys? May values be wider than keys? Which sizes have to
agree?""",
        answer=rf"""
**(a)** The scores are logarithms, so the weights are in proportion to ${tex(a)}$ and to
${tex(a * b)}$, and the outputs are ${tex(y[0])}$ and ${tex(y[1])}$.

**(b)** The weights of the first two keys keep their ratio and share everything:
${tex(hidden)}$.

**(c)** Together: nothing, since a sum does not depend on the order of its terms. Alone: each
weight meets another key's value, and the outputs are in general wrong, though still means of
the values, so that nothing looks amiss.

**(d)** Yes, and yes. Queries are as wide as keys, and there are as many values as keys.""",
        marking=(
            (4, "two outputs; for each a point for the weights, and one for the mixture"),
            (2, "renormalised weights, and the output"),
            (2, "pairs may move, keys alone may not; with reasons"),
            (1, "the two sizes that agree"),
        ),
        given={"a": a, "b": b, "v": v},
        values={"first": y[0], "second": y[1], "hidden": hidden},
        traps={
            "masked after the softmax": ("hidden", late),
            "the mask forgotten": ("hidden", y[1]),
            "one query for the other": ("second", y[0]),
            "products of logarithms added up by their arguments": (
                "second",
                (a + b) @ v / (a + b).sum(),
            ),
            "the weights all equal": ("first", v.mean(axis=0)),
        },
    )


@question("What can come out", minutes=12, asks="error")
def what_can_come_out(rng: Rng) -> Item:
    """One output inside the triangle of the values, one on its edge, one outside in its box."""
    kinds: list[np.ndarray] = []
    while not kinds or not all(map(len, kinds)):
        corners = rng.integers(0, 8, (3, 2)).astype(float)
        columns = np.vstack([corners.T, np.ones(3)])
        if not 6 <= abs(np.linalg.det(columns)) <= 24:
            continue
        low, high = corners.min(axis=0), corners.max(axis=0)
        box = np.stack(np.meshgrid(*map(np.arange, low, high + 1)), axis=-1).reshape(-1, 2)
        mix: np.ndarray = np.linalg.solve(columns, np.column_stack([box, np.ones(len(box))]).T).T
        mix = np.round(mix, 12) + 0.0
        near = norm(box) < norm(corners).max()
        edges = (mix.min(axis=1) == 0) & ((mix > 0).sum(axis=1) == 2)
        kinds = [box[mix.min(axis=1) > 0], box[edges], box[(mix.min(axis=1) < 0) & near]]
    inside, edge, out = (rng.choice(points) for points in kinds)
    weights = [mix[(box == point).all(axis=1)][0] for point in (inside, edge)]
    order = rng.permutation(3)
    points = [(inside, edge, out)[i] for i in order]
    words = [("possible", "only as a limit", "impossible")[i] for i in order]
    verdict = ", ".join(f"{letter} {word}" for letter, word in zip("ABC", words, strict=True))
    naive = ", ".join(f"{letter} possible" for letter in "ABC")
    wrong = "ABC"[words.index("impossible")]
    return Item(
        statement=rf"""
A query attends to three keys without a mask. Their values are $v_1 = {tex(corners[0])}$,
$v_2 = {tex(corners[1])}$ and $v_3 = {tex(corners[2])}$. The query and the keys are yours to
choose, as long as all scores are finite.

{choices([f"$y = {tex(p)}$" for p in points])}

**(a)** Which of these can be the output? Which can be approached as closely as you like, but
not reached? Which neither? Draw a sketch.

**(b)** Give the weights of the one that is possible, and of the one that is a limit. Give
scores for the first.

**(c)** A student writes: “Each coordinate of {wrong} lies between the smallest and the largest
of that coordinate among the values, and {wrong} is shorter than the longest value. So {wrong}
is possible.” Both observations are true. Where is the error?

**(d)** How could a mask make the limit an output?""",
        answer=rf"""
**(a)** {verdict}.

**(b)** Possible: ${tex(weights[0])}$, by scores that are the logarithms of these. Limit:
${tex(weights[1])}$; a weight of zero would need a score of $-\infty$.

**(c)** The two observations are *consequences* of lying in the convex hull of the values, and
not enough for it. {wrong} lies outside the triangle: written with weights that add up to one,
one of them is negative.

**(d)** Hide the key whose weight is zero. Its score then counts as $-\infty$, and the other
two share the weight.""",
        marking=(
            (3, "verdicts; one point each"),
            (4, "weights of both; one of the points for scores, any constant may be added"),
            (2, "necessary is not sufficient; the hull decides"),
            (1, "the right key is hidden"),
        ),
        given={"corners": corners, "points": points},
        values={"verdict": verdict, "inside": weights[0], "edge": weights[1]},
        traps={
            "whatever lies in the box is possible": ("verdict", naive),
            "the edge is possible": ("verdict", verdict.replace("only as a limit", "possible")),
            "all weights equal": ("inside", np.full(3, 1 / 3)),
        },
    )


@question("The last word changes", minutes=12, asks="why")
def the_last_word(rng: Rng) -> Item:
    """A row of one head in two sentences: what is kept, which rows are possible, how to turn."""

    def row(last: float) -> np.ndarray:
        """The row after another last word, given its weight."""
        score = np.log(last / (1 - last) * others.sum())
        return softmax(np.append(np.log(others), score))

    def added(last: float) -> np.ndarray:
        return np.append(first[:3] + (first[3] - last) / 3, last)

    while True:
        others = np.array(distinct(rng, 3, 1, 8), dtype=float)
        first = softmax(np.log([*others, rng.integers(1, 9)]))
        times, more = rng.integers(1, 4, 2), rng.integers(1, 9, 2)
        lasts = more / (times * others.sum() + more)
        lost = added(lasts[1])
        short = lost.min() > 0 and max(exact(x).denominator for x in [*lost, *lasts]) <= 60
        if short and len({round(x, 9) for x in (first[3], *lasts)}) == 3:
            break
    second, third = row(lasts[0]), row(lasts[1])
    order = rng.permutation(3)
    swapped = third[[1, 0, 2, 3]]
    rows = [(third, swapped, lost)[i] for i in order]
    letter = "ABC"[list(order).index(0)]
    return Item(
        statement=rf"""
In one head of a first layer, without positions, “it” gives the words *animal*, *street*,
*because* and *tired* of a sentence the weights ${tex(first)}$, in this order. These are all
the words that it attends to.

**(a)** In place of *tired* the sentence ends in *wide*, and *wide* gets ${tex(lasts[0])}$.
Give the whole row.

**(b)** It ends in *old*, and *old* gets ${tex(lasts[1])}$. Which of these can the row be? Why
can the others not?

{choices([f"${tex(x)}$" for x in rows])}

**(c)** Prove from the softmax that in this head the last word cannot make “it” prefer the
other noun.

**(d)** Name two ways in which a transformer can do it all the same, and say for each which
assumption of (c) it gives up.""",
        answer=rf"""
**(a)** ${tex(second)}$: the other weights keep their ratios and share what is left.

**(b)** {letter}. In the others the ratio of two of the first three words has changed.

**(c)** The ratio of the weights of *animal* and *street* is $e^{{s_1 - s_2}}$, because both
exponentials are divided by the same sum. In a first layer each score is made from the rows of
“it” and of the one noun, and these are the same in both sentences.

**(d)** Several heads: an adjective silences the heads that prefer the other noun, and the
*mean* of their weights turns (not one head). Two layers: “it” takes up the adjective first, so
that its query in the second layer has met the last word (not a first layer). Values that vote
change the answer without turning a weight; that too is a way to be right (not weights), and
counts.""",
        marking=(
            (2, "the row: ratios kept, sum one"),
            (2, "the letter, and the reason"),
            (3, "the ratio as a difference of scores; where the first layer is used"),
            (4, "two ways, each with the assumption that it gives up"),
        ),
        given={"first": first, "lasts": lasts, "rows": rows},
        values={"second": second, "letter": letter},
        traps={
            "each of the others loses equally much": ("second", added(lasts[0])),
            "the others stay": ("second", np.append(first[:3], lasts[0])),
            "the nouns change places": ("letter", "ABC"[list(order).index(1)]),
            "an equal loss": ("letter", "ABC"[list(order).index(2)]),
        },
    )
