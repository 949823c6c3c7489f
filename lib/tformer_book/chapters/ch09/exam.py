"""Exam questions of chapter 9: a layer by hand, who learns of whom, the bill, folds."""

from __future__ import annotations

import numpy as np

from tformer.parameters import FeedForwardParameters
from tformer.reference import feed_forward
from tformer_book.chapters.ch09 import folds
from tformer_book.chapters.ch09.rows import RELU
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("A layer that says AND", minutes=12)
def says_and(rng: Rng) -> Item:
    """Two hidden units over three facts; a threshold that is too low; no matrix does it."""

    def facts() -> tuple[list[float], list[float]]:
        one, two = rng.integers(1, 8, (2, 3)) / 8
        return one.tolist(), two.tolist()

    def fits(found: tuple[list[float], list[float]]) -> bool:
        one, two = found
        sums = [one[0] + one[1], one[1] + one[2], two[0] + two[1], two[1] + two[2]]
        return sums[0] > 1 > sums[1] and sums[2] < 1 < sums[3]

    one, two = draw(facts, fits)
    w_in = np.array([[1.0, 0], [1, 1], [0, 1]])
    w_out = np.array(distinct(rng, 2, 2, 9), dtype=float) * 8
    out = np.stack([w_out, 0 * w_out], axis=1)

    def layer(x: list[float], taken: float) -> float:
        bias = np.full(2, -float(taken))
        parameters = FeedForwardParameters(w_in, np.pad(out, ((0, 0), (0, 1))), bias)
        return float(feed_forward(np.array(x, dtype=float), parameters, RELU)[0])

    return Item(
        statement=rf"""
A vector has three coordinates $(p, q, r)$, facts between 0 and 1. A layer of two ReLUs makes of it
the number

$$y = {tex(w_out[0])} \operatorname{{relu}}(p + q - c)
    + {tex(w_out[1])} \operatorname{{relu}}(q + r - c) .$$

**(a)** Let $c = 1$. Give $y$ for the vectors ${tex(np.array(one))}$ and ${tex(np.array(two))}$.

**(b)** Somebody takes $c = \tfrac12$. Give $y$ for $(0, 1, 0)$. Why is that not what was wanted?

**(c)** Show that no map $\alpha p + \beta q + \gamma$ is 0 at $(0, 0)$, $(1, 0)$ and $(0, 1)$ and 1
at $(1, 1)$.""",
        answer=rf"""
**(a)** ${tex(layer(one, 1))}$ and ${tex(layer(two, 1))}$: in each vector one of the units is off.

**(b)** ${tex(layer([0, 1, 0], 0.5))}$. Each unit was to answer only if both of its facts hold, and
here one of them alone turns it on.

**(c)** The value at $(1, 1)$ is the sum of those at $(1, 0)$ and $(0, 1)$ less that at $(0, 0)$,
and that is 0.""",
        marking=(
            (4, "two for each vector; one if a unit below 0 was counted"),
            (3, "the number, and that one fact suffices"),
            (3, "the value at the fourth corner"),
        ),
        given={"one": one, "two": two, "factors": w_out},
        values={
            "first": layer(one, 1),
            "second": layer(two, 1),
            "loose": layer([0, 1, 0], 0.5),
        },
        traps={
            "the bend is forgotten": (
                "first",
                float(w_out @ (np.array(one) @ w_in - 1)),
            ),
            "both units answer": ("second", float(w_out @ np.abs(np.array(two) @ w_in - 1))),
            "c is not taken off": ("loose", float(w_out.sum())),
            "one vector for the other": ("second", layer(one, 1)),
        },
    )


@question("Who learns of whom", minutes=10, asks="why")
def who_learns(rng: Rng) -> Item:
    """Vectors that may change with a word, in three stacks; why; a norm over words."""
    n = int(rng.integers(6, 40))
    s = int(rng.integers(2, n - 1))
    after = n - s + 1
    return Item(
        statement=rf"""
A text has ${n}$ words. Word ${s}$, counted from 1, is exchanged for another. How many vectors may
be others than before

**(a)** after ten feed-forward layers with norms of single vectors and residual sums,

**(b)** after the same with one layer of causal attention among them,

**(c)** after the same with one layer of attention without a mask?

**(d)** Justify (a). Then say what becomes of it if the norm of a layer is taken over the words of
the text, coordinate by coordinate.""",
        answer=rf"""
**(a)** $1$. **(b)** ${after}$: the word and all after it. **(c)** ${n}$.

**(d)** Each part computes a word's new vector from its old one alone, by the same function for each
word, and so does one part after another: vector $t$ becomes $f(x_t)$, which does not change if
another word does. A mean over the words changes with each of them, so all ${n}$ vectors may change,
earlier ones too.""",
        marking=(
            (3, "three numbers"),
            (4, "every part works on single vectors, and so does what is made of them"),
            (2, "the mean over words carries every word to every other"),
        ),
        given={"n": n, "s": s},
        values={"alone": 1, "causal": after, "all": n},
        traps={
            "the word itself is not counted": ("causal", n - s),
            "the words before it are counted": ("causal", s),
        },
    )


@question("What the layer costs", minutes=10)
def what_it_costs(rng: Rng) -> Item:
    """Parameters and share, with gates; the width that makes the bill the same."""
    d = 6 * int(rng.integers(2, 50))
    times = int(rng.choice([2, 3, 5, 6, 8]))
    plain = 2 * times
    gated = 3 * times
    width = 2 * times * d // 3
    return Item(
        statement=rf"""
A block has vectors of width $d = {d}$, attention with $4 d^2$ parameters and a feed-forward layer
with ${times} d$ hidden units, no gates and no biases.

**(a)** How many parameters has the layer, in units of $d^2$, and what is its share of the block?

**(b)** The layer gets gates, and keeps its number of hidden units. What is its share now?

**(c)** How many hidden units must it have with gates so that it has as many parameters as before?

**(d)** A paper compares the layers of (a) and (b), finds (b) a little better, and says that gates
help. What is missing?""",
        answer=rf"""
**(a)** ${tex(plain)}\, d^2$, a share of ${tex(plain / (plain + 4))}$.

**(b)** ${tex(gated / (gated + 4))}$, for three matrices instead of two.

**(c)** Two thirds of ${times} d$: ${width}$.

**(d)** The layer of (b) is larger by half, and a larger layer may be better without gates. Compare
at the same number of parameters, that is with ${width}$ hidden units.""",
        marking=(
            (3, "two matrices; the share of layer and attention together"),
            (2, "three matrices"),
            (2, "two thirds"),
            (2, "unequal size"),
        ),
        given={"d": d, "times": times},
        values={
            "units": plain,
            "share": plain / (plain + 4),
            "gated": gated / (gated + 4),
            "width": width,
        },
        traps={
            "against attention": ("share", plain / 4),
            "two matrices with gates": ("gated", plain / (plain + 4)),
            "half of the width": ("width", times * d / 2),
        },
    )


@question("Pieces and dead units", minutes=12, asks="error")
def pieces_and_deaths(rng: Rng) -> Item:
    """Pieces of a graph with two bends at one place; regions; an error about patterns."""
    at, other = distinct(rng, 2, 1, 6)
    slope = int(rng.integers(2, 6))
    extra = int(rng.integers(1, 5))
    n = int(rng.integers(5, 9))
    w = np.array([1.0, slope, 1.0])
    b = np.array([-at, -slope * at, -other], dtype=float)
    v = np.array([float(slope), -1.0, float(extra)])
    layer = FeedForwardParameters(w[None], v[:, None], b)
    found = folds.pieces(layer)
    return Item(
        statement=rf"""
**(a)** How many straight pieces has the graph of

$$y = {slope} \operatorname{{relu}}(x - {at}) - \operatorname{{relu}}({slope} x - {slope * at})
    + {extra} \operatorname{{relu}}(x - {other}) \; ?$$

**(b)** How many regions of the plane can a layer of ${n}$ ReLUs have at most?

**(c)** “Each of the ${n}$ units is on or off, so there are $2^{{{n}}} = {2**n}$ regions.” What is
wrong with this sentence, and for vectors of which width is the number right?

**(d)** Vectors have length at most 2. A unit has a key of length 3 and the bias $-6$. Show that it
is dead, and say why training by gradients does not change that.""",
        answer=rf"""
**(a)** ${found}$: the first two units bend at the same place and take each other away.

**(b)** ${folds.bound(n, 2)}$.

**(c)** Not every pattern occurs: the plane has no point for most of them, as (b) says. In vectors
of width ${n}$ or more all of them can occur.

**(d)** By Cauchy and Schwarz $x \cdot k \le 6$, so $x \cdot k - 6 \le 0$ and the unit is 0. Its
slope is 0 at every vector as well, so the gradients of its key, its bias and its value are 0.""",
        marking=(
            (3, "the number; two for seeing the common place"),
            (2, "one and n and the pairs"),
            (3, "patterns that do not occur; width at least the number of units"),
            (3, "the bound, the slope"),
        ),
        given={"at": at, "other": other, "slope": slope, "extra": extra, "n": n},
        values={"pieces": found, "regions": folds.bound(n, 2)},
        traps={
            "one more than the units": ("pieces", 4),
            "one more than the places": ("pieces", 3),
            "all patterns": ("regions", 2**n),
            "one more than the units, in the plane": ("regions", n + 1),
        },
    )
