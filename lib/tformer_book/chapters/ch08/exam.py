"""Exam questions of chapter 8: norms by hand, what they forget, orders, depth."""

from __future__ import annotations

import numpy as np

from tformer.reference import layer_norm, layer_norm_vjp
from tformer_book.chapters.ch08.rows import PLAIN
from tformer_book.exams import Item, distinct, question, tex

Rng = np.random.Generator
TINY = 1e-30


@question("A norm by hand", minutes=10)
def by_hand(rng: Rng) -> Item:
    """LayerNorm of four numbers, of a changed vector, and a gradient through it."""
    mean, size = int(rng.integers(-5, 9)), int(rng.integers(2, 7))
    signs = rng.permutation([-1.0, -1.0, 1.0, 1.0])
    x = mean + size * signs
    shift, factor = (int(n) for n in distinct(rng, 2, 2, 9))
    place = int(rng.integers(4))
    dy = 4.0 * size * np.eye(4)[place]
    n = layer_norm(x[None], PLAIN, TINY)[0].round(9)
    dx = layer_norm_vjp(x[None], PLAIN, dy[None], TINY)[0][0].round(9)
    return Item(
        statement=rf"""
LayerNorm has neither gain nor bias, and $\varepsilon = 0$. A vector is $x = {tex(x)}$.

**(a)** Give the mean, the standard deviation and the result $n$.

**(b)** Every number of the vector is multiplied by {factor}, and then {shift} is added. Give the
result, and the reason.

**(c)** The gradient of a loss with respect to $n$ is ${tex(dy)}$. Give the gradient with respect
to $x$.""",
        answer=rf"""
**(a)** Mean ${tex(mean)}$, standard deviation ${tex(size)}$, $n = {tex(n)}$.

**(b)** ${tex(n)}$ again: the mean takes the shift off, and the standard deviation has grown by the
factor.

**(c)** ${tex(dx)}$: the gradient less its mean, less $n$ times the mean of $n$ times the gradient,
divided by the standard deviation.""",
        marking=(
            (3, "mean, standard deviation, the vector"),
            (2, "the same vector, with the reason"),
            (3, "both parts taken off, and divided"),
        ),
        given={"x": x, "dy": dy},
        values={"mean": mean, "size": size, "n": n, "dx": dx},
        traps={
            "divided by the variance": ("n", (x - mean) / size**2),
            "only divided": ("dx", dy / size),
            "only the mean taken off": ("dx", (dy - dy.mean()) / size),
            "not divided": ("dx", dx * size),
        },
    )


@question("Two words become one", minutes=8, asks="why")
def two_words(rng: Rng) -> Item:
    """Vectors of width two after LayerNorm, and what RMSNorm would keep."""
    a, b, c, d = (float(n) for n in distinct(rng, 4, 1, 20))
    first, second = np.array([max(a, b), min(a, b)]), np.array([max(c, d), min(c, d)])
    n = layer_norm(first[None], PLAIN, TINY)[0].round(9)
    lengths = 2.0
    gap = np.array([first[0] - first[1], second[0] - second[1]])
    return Item(
        statement=rf"""
In a model of width two, without masks or positions, two words have the vectors ${tex(first)}$ and
${tex(second)}$. Norms have neither gain nor bias, and $\varepsilon = 0$.

**(a)** Give the results of LayerNorm for both.

**(b)** By how much do the two numbers differ in each of the two vectors? What has become of this?

**(c)** What is the squared length of each vector after RMSNorm? Can a later layer tell the words
apart there, and why could it not after LayerNorm?""",
        answer=rf"""
**(a)** ${tex(n)}$ for both.

**(b)** By ${tex(gap)}$. It is forgotten: with two numbers the mean lies in the middle, and both are
one standard deviation away from it. Only the order is left.

**(c)** ${tex(lengths)}$, the width. RMSNorm keeps the direction, and the directions of the vectors
differ unless one is a multiple of the other. After LayerNorm the vectors are equal, and equal
vectors have equal answers in every layer that treats words alike.""",
        marking=(
            (2, "the vector of signs, twice"),
            (2, "both differences, and that they are forgotten"),
            (3, "the squared length; directions differ; equal vectors stay equal"),
        ),
        given={"first": first, "second": second},
        values={"n": n, "gap": gap, "lengths": lengths},
        traps={"signs exchanged": ("n", -n), "length one": ("lengths", 1.0)},
    )


@question("How large at the end", minutes=10)
def at_the_end(rng: Rng) -> Item:
    """Expected mean squares in three orders, and when the stream is twice as long."""
    m, depth = int(rng.integers(1, 6)), int(rng.integers(2, 5))
    many = int(rng.integers(10, 60))
    none, pre, post = m * 2**depth, m + depth, 1
    twice = 3 * m
    return Item(
        statement=rf"""
Each layer of a stack multiplies vectors by a matrix; all entries of all matrices are independent,
with mean 0 and variance $1/d$. The first vector has the mean square {m}. Norm is RMSNorm, and
$\varepsilon = 0$.

**(a)** What each layer gives is added to the vector. Give the expected mean square after {depth}
layers without a norm, with the norm before each layer, and with the norm after each sum.

**(b)** The same with norms before, after {many} layers.

**(c)** With norms before, after how many layers is the expected mean square four times that of the
first vector, so that vectors are twice as long? Why do later layers turn the vectors less than
early ones?""",
        answer=rf"""
**(a)** ${tex(none)}$, ${tex(pre)}$ and ${tex(post)}$: what is added is uncorrelated with what is
there, so mean squares add up; without a norm a layer adds as much as there is.

**(b)** ${tex(m + many)}$.

**(c)** After ${tex(twice)}$. Each layer adds a vector of the same expected size, and what it is
added to has become longer, so the angle becomes smaller.""",
        marking=(
            (4, "three mean squares, with the reason"),
            (2, "one more for each layer"),
            (3, "three times the first; equal steps on a longer vector"),
        ),
        given={"m": m, "depth": depth, "many": many},
        values={"none": none, "pre": pre, "post": post, "long": m + many, "twice": twice},
        traps={
            "norms before as without": ("pre", none),
            "the first vector is normed": ("pre", 1 + depth),
            "four layers for four times": ("twice", 4 * m),
        },
    )


@question("Which order is it", minutes=10, asks="error")
def which_order(rng: Rng) -> Item:
    """Three programs, one number each, and a vector that is too large for half precision."""
    x, factor = (int(n) for n in distinct(rng, 2, 2, 9))
    large = int(rng.integers(260, 900))
    order = rng.permutation(3)
    lines = (
        ("before", "x = x + w * norm(x)"),
        ("after", "x = norm(x + w * x)"),
        ("neither", "x = norm(x); x = x + w * x"),
    )
    results = np.array([x + factor, 1, 1 + factor], float)
    names = [lines[i][0] for i in order]
    verdict = ", ".join(f"{letter} {name}" for letter, name in zip("ABC", names, strict=True))
    turned = {"before": "after", "after": "before", "neither": "neither"}
    wrong = ", ".join(f"{one} {turned[name]}" for one, name in zip("ABC", names, strict=True))
    listing = "\n\n".join(
        f"{letter}: `{lines[i][1]}`" for letter, i in zip("ABC", order, strict=True)
    )
    found = results[order]
    return Item(
        statement=rf"""
Three programs compute a layer, each in one line:

{listing}

**(a)** Which has the norm before the layer (on the branch), which after the sum, which neither?
Write *before*, *after* and *neither*.

**(b)** The vector is one number, $x = {x}$, the norm is RMSNorm without gain with
$\varepsilon = 0$, and $w = {factor}$. Give the three results.

**(c)** The program that is neither is run for many layers. Which of the two orders is it after all,
but for its first and its last norm? Why?

**(d)** In float16 a coordinate of a vector is {large}. The program computes its mean square in
float16. What comes out of RMSNorm, and what should the program do?""",
        answer=rf"""
**(a)** {verdict}.

**(b)** ${tex(found)}$.

**(c)** Norms after the sums: each norm acts on the stream itself, on what the line before has
summed up.

**(d)** Its square is above the largest number of float16 and becomes infinite, so is the mean, and
each number divided by it is 0: a vector of zeros, without an error. The mean square should be
computed in float32.""",
        marking=(
            (3, "all three named"),
            (3, "three results"),
            (2, "after; the norm is on the stream"),
            (2, "a vector of zeros; wider arithmetic"),
        ),
        given={"x": x, "w": factor, "programs": [lines[i][1] for i in order]},
        values={"verdict": verdict, "found": found},
        traps={
            "before and after exchanged": ("verdict", wrong),
            "the stream is not normed": ("found", np.full(3, x + factor)),
        },
    )
