"""Exam questions of chapter 1, continued: means and spreads, company, many dimensions."""

from __future__ import annotations

from math import comb

import numpy as np

from tformer.reference import cosine_similarity, dot, ppmi
from tformer_book.exams import Item, draw, question, tex

Rng = np.random.Generator


@question("Which step is wrong?", minutes=14, asks="error")
def wrong_step(rng: Rng) -> Item:
    """Mean and variance of a dot product whose coordinates have means."""
    halves = [x / 2 for x in (-4, -3, -2, -1, 1, 2, 3, 4)]
    mu, nu = (float(x) for x in rng.choice(halves, 2))
    d = int(rng.choice([4, 9, 16, 25, 36, 48, 64, 80, 100, 144]))
    mean = float(dot(np.full(d, mu), np.full(d, nu)))
    variance, noticed = d * (1 + mu**2 + nu**2), d * (1 + mu**2)
    sign = "positive" if mean > 0 else "negative"
    return Item(
        statement=rf"""
A report on a layer of width $d = {d}$ says: “All coordinates of queries and keys are
independent and have variance 1. **(1)** Therefore
$\operatorname{{E}}[q_i k_i] = \operatorname{{E}}[q_i] \operatorname{{E}}[k_i]$. **(2)**
Products of either sign cancel, so $\operatorname{{E}}[q \cdot k] = 0$. **(3)** The products
$q_i k_i$ are independent of each other, so their variances add up. **(4)** Each has variance
1, so $\operatorname{{Var}}[q \cdot k] = d$.” In truth the coordinates of the queries have mean
${tex(mu)}$, and those of the keys have mean ${tex(nu)}$.

**(a)** Which of the four steps are right as they stand? Say of each wrong one what it takes
for granted.

**(b)** Give the true mean and variance of $q \cdot k$. Derive the variance of one product.

**(c)** The layer is made wider and wider. What happens to the share of scores that are {sign}?
Why?

**(d)** In one row of scores the query is the same for all keys. Which part of the variance in (b)
belongs to a number that all scores of a row share, so that the softmax of the row does not
notice it? Which part is left?""",
        answer=rf"""
**(a)** (1) and (3) are right. (2) and (4) take means of zero for granted.

**(b)** Let the means be $\mu$ and $\nu$. The mean of $q \cdot k$ is $\mu \nu d = {tex(mean)}$.
One product has the variance $\operatorname{{E}}[q_i^2] \operatorname{{E}}[k_i^2] - \mu^2 \nu^2 =
(1 + \mu^2)(1 + \nu^2) - \mu^2 \nu^2 = 1 + \mu^2 + \nu^2 = {tex(variance / d)}$. There are $d$ of
them: ${tex(variance)}$.

**(c)** It tends to one: the mean grows like $d$, the standard deviation only like $\sqrt d$.

**(d)** Given the query, the scores have the mean $\nu \sum_i q_i$, which all keys share; it
varies from query to query with the variance $\nu^2 d = {tex(variance - noticed)}$, and is a mere
shift of the row. Left is the variance among the keys, $\sum_i q_i^2$, on average
$(1 + \mu^2) d = {tex(noticed)}$.""",
        marking=(
            (3, "two right, two wrong, and what these take for granted"),
            (4, "mean; the variance of a product; the sum"),
            (2, "mean against spread, with their rates"),
            (3, "the mean given the query; its variance; what is left"),
        ),
        given={"mu": mu, "nu": nu, "d": d},
        values={"mean": mean, "variance": variance, "noticed": noticed},
        traps={
            "the report": ("variance", float(d)),
            "product of second moments": ("variance", d * (1 + mu**2) * (1 + nu**2)),
            "means added": ("mean", d * (mu + nu)),
            "one mean forgotten": ("variance", noticed),
            "all of it is noticed": ("noticed", variance),
            "the keys' mean in place of the queries'": ("noticed", d * (1 + nu**2)),
        },
    )


WORDS = ("the", "milk", "bread", "road")


@question("Company", minutes=12, asks="why")
def company(rng: Rng) -> Item:
    """Two pairs of words: the more frequent one is below chance, the rarer one above."""

    def made() -> np.ndarray:
        upper = np.triu(rng.integers(0, 9, (4, 4)), 1)
        upper[0, 2:] += 7
        return (upper + upper.T).astype(float)

    def fits(counts: np.ndarray) -> bool:
        often, seldom = counts[0, 1], counts[1, 2]
        row = counts.sum(axis=1)
        chance = np.outer(row, row) / row.sum()
        small = row.sum() <= 90 and 0 < seldom < often
        return bool(small and often <= 0.9 * chance[0, 1] and seldom >= 1.1 * chance[1, 2])

    counts = draw(made, fits)
    found = ppmi(counts)
    ratio = float(np.exp(found[1, 2]))
    row = counts.sum(axis=1)
    below = float(counts[0, 1] * row.sum() / (row[0] * row[1]))
    lines = "\n".join(
        f"| *{word}* | " + " | ".join(tex(x) for x in line) + " |"
        for word, line in zip(WORDS, counts, strict=True)
    )
    return Item(
        statement=rf"""
How often two words of a small corpus stand near each other:

| | {" | ".join(f"*{word}*" for word in WORDS)} |
|---|---|---|---|---|
{lines}

**(a)** For *the* with *milk*, and for *milk* with *bread*: divide the count by what chance
would give, if words were drawn independently with these totals. Which pair meets more often,
which more often than by chance?

**(b)** Give the PPMI of both pairs (a logarithm may stand).

**(c)** Every count is doubled. What becomes of the PPMI, and why?

**(d)** Why is the count itself a poor measure of company? And why are negative values dropped
in a small corpus? Say what a count of zero would otherwise give.""",
        answer=rf"""
The totals of the rows are ${tex(row)}$, the whole is ${tex(row.sum())}$.

**(a)** *the* with *milk*: ${tex(below)}$ of what chance would give; *milk* with *bread*:
${tex(ratio)}$. The first pair meets more often, only the second more often than by chance.

**(b)** ${tex(found[0, 1])}$ for the first, and $\log {tex(ratio)}$ for the second.

**(c)** Nothing: the fraction has two counts above and two below.

**(d)** A frequent word is near everything, so its counts say how frequent it is. Below chance
a small corpus cannot tell rare from never; a zero would give minus infinity.""",
        marking=(
            (2, "totals of rows and of the table"),
            (4, "both ratios; who meets more often, who more than by chance"),
            (2, "zero, and the logarithm"),
            (1, "factors cancel"),
            (2, "frequency is no company; rare and never; minus infinity"),
        ),
        given={"counts": counts},
        values={"ratio": ratio, "below": below, "first": found[0, 1]},
        traps={
            "share of the row": ("ratio", counts[1, 2] / row[1]),
            "negative values kept": ("first", float(np.log(below))),
            "the whole forgotten": ("ratio", counts[1, 2] / (row[1] * row[2])),
            "the whole counted once for each pair": ("ratio", ratio / 2),
        },
    )


@question("Signs", minutes=15, asks="proof")
def signs(rng: Rng) -> Item:
    """Cosines of sign vectors: which are possible, how small, how likely zero."""
    odd, agree = draw(
        lambda: (2 * int(rng.integers(3, 17)) + 1, int(rng.integers(2, 31))),
        lambda x: x[1] < x[0] and 2 * x[1] != x[0] + 1,
    )
    even, far = 2 * int(rng.integers(2, 6)), int(rng.choice([100, 400, 900, 2500]))
    k = np.where(np.arange(odd) < agree, 1.0, -1.0)
    cosine = float(cosine_similarity(np.ones(odd), k))
    possible = [abs(2 * m - odd) / odd for m in range(odd + 1)]
    chance = comb(even, even // 2) / 2**even
    return Item(
        statement=rf"""
A *sign vector* has coordinates $1$ and $-1$ only.

**(a)** Two sign vectors of width {odd} agree in {agree} places. Give their cosine.

**(b)** Prove that no two sign vectors of width {odd} are orthogonal. How small can the cosine
be, apart from its sign?

**(c)** Two sign vectors of width {even} are drawn independently, each coordinate by the toss
of a fair coin. With which probability are they orthogonal?

**(d)** Prove that the cosine of two random sign vectors of width $d$ has mean 0 and standard
deviation $1/\sqrt d$. What is it at $d = {far}$?

**(e)** By (b) and (c) exact right angles are rare or impossible; by (d) nearly right angles
are the rule in wide spaces. What does a model gain from that?""",
        answer=rf"""
**(a)** Both lengths are $\sqrt{{{odd}}}$, and the dot product is the number of agreements less
that of disagreements: ${tex(cosine)}$.

**(b)** With $m$ agreements the dot product is $2m - {odd}$, an odd number, so never zero. The
cosine is at least ${tex(min(possible))}$ in absolute value.

**(c)** They agree in exactly {even // 2} of {even} places:
$\tbinom{{{even}}}{{{even // 2}}} / 2^{{{even}}} = {tex(chance)}$.

**(d)** The products of matching coordinates are independent with mean 0 and variance 1, so
their sum has mean 0 and variance $d$; the product of the lengths is $d$. At $d = {far}$ it is
${tex(far**-0.5)}$.

**(e)** Room: far more directions than coordinates, exponentially many, with small overlaps. It
can name more things than it has coordinates, as long as few are named at once.""",
        marking=(
            (2, "lengths, and agreements less disagreements"),
            (3, "parity; the least value"),
            (2, "half of the places; the count of ways"),
            (4, "independence, mean, variance, and the lengths; the number"),
            (2, "room for more directions than coordinates; overlaps add up"),
        ),
        given={"odd": odd, "agree": agree, "even": even, "far": far},
        values={"cosine": cosine, "least": min(possible), "chance": chance, "typical": far**-0.5},
        traps={
            "the share that agrees": ("cosine", agree / odd),
            "a fair coin": ("chance", 0.5),
            "one case of as many as there are places": ("chance", 1 / (even + 1)),
            "variance for standard deviation": ("typical", 1 / far),
        },
    )
