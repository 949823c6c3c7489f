"""Exam questions of chapter 20: a budget, a floor, what training costs, and related runs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tformer_book.exams import Item, distinct, question, tex

Rng = np.random.Generator


@question("A budget, spent", minutes=12)
def spent(rng: Rng) -> Item:
    """Lagrange's condition with both exponents one half; what sixteen times the budget buys."""
    a, b, j = distinct(rng, 3, 2, 9)
    floor = int(rng.integers(1, 5))
    product = (a * b * j * j) ** 2
    n, d, loss = (a * j) ** 2, (b * j) ** 2, floor + 2 / j
    more = floor + 1 / j
    return Item(
        statement=rf"""
A family of models follows the law $L = {floor} + {a} / \sqrt N + {b} / \sqrt D$, with $N$
parameters and $D$ tokens in units of our own. A budget allows
$N D = ({a} \cdot {b} \cdot {j}^2)^2$.

**(a)** Which condition do both terms meet at the optimum, and why?

**(b)** Give the best $N$ and $D$, and the loss.

**(c)** The budget grows sixteenfold. Give the loss at the new optimum.

**(d)** Instead, all of the new budget goes into $N$, and $D$ stays as in (b). What remains of the
third term, and why is this worse?""",
        answer=rf"""
**(a)** Exchanging a little of one for the other must gain nothing:
$\tfrac12 \cdot {a} / \sqrt N = \tfrac12 \cdot {b} / \sqrt D$, so both terms are equal here.

**(b)** $N = {tex(n)}$ and $D = {tex(d)}$, and the loss is ${tex(loss)}$.

**(c)** Both grow fourfold, so what lies above the floor is halved: ${tex(more)}$.

**(d)** It stays ${tex(1 / j)}$, as much as is left of both terms in (c); so what is left of the
second term is lost.""",
        marking=(
            (3, "the condition with its reason"),
            (4, "size, tokens and loss"),
            (2, "the new loss"),
            (2, "the third term, and the comparison"),
        ),
        given={"a": a, "b": b, "floor": floor, "product": product},
        values={"n": n, "d": d, "loss": loss, "more": more, "stays": 1 / j},
        traps={
            "equal shares of the budget": ("n", a * b * j * j),
            "the constants the wrong way round": ("d", n),
            "the whole loss halved": ("more", loss / 2),
        },
    )


@question("A line where there is a floor", minutes=10, asks="error")
def floored(rng: Rng) -> Item:
    """The slope between logarithms on a curve with a floor, at two sizes; a line beyond them."""
    floor, above = distinct(rng, 2, 1, 9)
    root = int(rng.choice([2, 3, 4]))
    share, later = Fraction(above, floor + above), Fraction(above, root * floor + above)
    first, second = share / 2, later / 2
    loss = floor + Fraction(above, root)
    return Item(
        statement=rf"""
Models of size $N$ have the loss $L = {floor} + A / \sqrt N$. At a first size it is
${floor + above}$.

**(a)** Give the slope of $\log L$ against $\log N$ there, without its sign.

**(b)** Give the loss and this slope for models that are {root * root} times as large.

**(c)** “A straight line through both points, between logarithms, says what a model a million times
as large will reach.” What is wrong, and on which side does the line miss in the end?""",
        answer=rf"""
**(a)** The exponent times the share of the loss that lies above the floor: ${tex(first)}$.

**(b)** What lies above the floor is divided by {root}: the loss is ${tex(loss)}$, and the slope
${tex(second)}$.

**(c)** The curve becomes flatter and never falls below ${tex(floor)}$, while the line goes on with
one slope and falls below every number. In the end it promises too much.""",
        marking=(
            (3, "the share above the floor, times a half"),
            (4, "the loss and the slope"),
            (2, "the line has no floor and ends below the curve"),
        ),
        given={"floor": floor, "above": above, "root": root},
        values={
            "first": float(first),
            "loss": float(loss),
            "second": float(second),
            "least": floor,
        },
        traps={
            "the floor forgotten": ("first", 0.5),
            "the share of the floor": ("first", float((1 - share) / 2)),
            "the whole loss divided": ("loss", (floor + above) / root),
        },
    )


@question("What training costs", minutes=10)
def costs(rng: Rng) -> Item:
    """FLOPs of a token in small numbers; the share of attention, and when it is a half."""
    d, layers = int(rng.integers(3, 9)), int(rng.integers(1, 10))
    n_tokens = int(rng.choice([2, 3, 4, 6, 8, 12])) * d
    n = 12 * layers * d * d
    looks = 12 * layers * n_tokens * d
    share = Fraction(n_tokens, n_tokens + 6 * d)
    return Item(
        statement=rf"""
The blocks of a model hold $12\, d^2$ numbers each, all in matrices that rows are multiplied by. A
model has {layers} of them with $d = {d}$; leave out its unembedding. Attention's heads are together
as wide as the model, and no use is made of the mask.

**(a)** Why does training take $6$ FLOPs for each such number and each token?

**(b)** Each query meets {n_tokens} keys and mixes as many values. How many FLOPs of a token, there
and back, are the products of queries with keys and of weights with values, in one block?

**(c)** Which share of the FLOPs of (a) and (b) together are those of (b)?

**(d)** At which length of the texts is it a half?""",
        answer=rf"""
**(a)** On the way there each number is multiplied and added once, which is 2. On the way back each
product of matrices asks for two more of the same size.

**(b)** Two products of {n_tokens} times {d}, 2 FLOPs each, three times: ${tex(looks // layers)}$.

**(c)** ${tex(float(share))}$, which is $T / (T + 6 d)$.

**(d)** At $T = 6 d = {tex(6 * d)}$.""",
        marking=(
            (3, "two there, twice as many back"),
            (3, "both products, both ways"),
            (2, "the share"),
            (1, "six widths"),
        ),
        given={"d": d, "layers": layers, "T": n_tokens},
        values={"looks": looks // layers, "share": float(share), "half": 6 * d},
        traps={
            "the way there alone": ("looks", looks // layers // 3),
            "a share of the matrices, and not of all": ("share", looks / (6 * n)),
            "the length at which T equals d": ("half", d),
        },
    )


@question("Runs that are related", minutes=12, asks="why")
def related(rng: Rng) -> Item:
    """What related runs are worth, half the range, and runs chosen by their result."""
    m, places = (int(x) for x in rng.integers(2, 10, 2))
    rho = str(rng.choice(["1/2", "1/3", "1/4", "1/5", "2/3", "3/4"]))
    related = Fraction(rho)
    grows = 1 + (m - 1) * related
    worth = Fraction(m) / grows
    return Item(
        statement=rf"""
A line is fitted by least squares to losses between logarithms. The runs stand at {places} sizes,
{m} at each, all with the same scatter. Two runs of one size are correlated with
${tex(float(related))}$, two of different sizes not at all.

**(a)** By which factor is the variance of the slope larger than if all were independent?

**(b)** How many independent runs are the {m} of one size worth?

**(c)** A second study has half the range between logarithms, with as many sizes, evenly spaced as
well. By which factor does the interval of its slope grow?

**(d)** A bootstrap draws single runs. Why is its interval too narrow here, and what should it draw?

**(e)** The two runs of the largest loss are left out “since they do not fit”. Why is this worse
than leaving out the two of the fewest tokens?""",
        answer=rf"""
**(a)** By $1 + (m - 1) \rho = {tex(float(grows))}$.

**(b)** ${tex(float(worth))}$.

**(c)** All distances from the middle are halved, their squares quartered: by ${tex(2)}$.

**(d)** It breaks up what belongs together, and so takes related runs for news. It should draw
sizes, each with all of its runs.

**(e)** Who is left out then depends on the scatter: runs that came out badly go, and those that
came out well stay, so the rest no longer scatter about the law. Tokens are chosen before a run.""",
        marking=(
            (3, "the factor"),
            (1, "what they are worth"),
            (2, "twice, with its reason"),
            (2, "sizes are drawn, not runs"),
            (2, "what is chosen before a run, and what comes out of it"),
        ),
        given={"m": m, "rho": rho, "places": places},
        values={"grows": float(grows), "worth": float(worth), "wider": 2},
        traps={
            "independent": ("grows", 1.0),
            "all count": ("worth", float(m)),
            "the factor itself": ("worth", float(grows)),
            "the variance and not its root": ("wider", 4),
        },
    )
