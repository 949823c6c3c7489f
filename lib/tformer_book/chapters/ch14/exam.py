"""Exam questions of chapter 14: two steps of Adam, parts of a batch, plateaus, killed runs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import isqrt

import numpy as np

from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator

PAIRS = [
    (g1, g2, isqrt((g1 * g1 + 2 * g2 * g2) // 3))
    for g1, g2 in product(range(1, 24), repeat=2)
    if g1 != g2 and (g1 * g1 + 2 * g2 * g2) % 3 == 0
    if 3 * isqrt((g1 * g1 + 2 * g2 * g2) // 3) ** 2 == g1 * g1 + 2 * g2 * g2
]
"""Two gradients for which the corrected mean of squares, with β₂ = 1/2, is a square."""


@question("Two steps of AdamW", minutes=12, asks="why")
def two_steps(rng: Rng) -> Item:
    """Both betas one half: the first move is the rate, the second one is a fraction."""
    g1, g2, size = PAIRS[int(rng.integers(len(PAIRS)))]
    g1 *= int(rng.choice([-1, 1]))
    x, decay = draw(
        lambda: (int(rng.integers(2, 9)), Fraction(1, int(rng.choice([2, 4, 5])))),
        lambda found: g1 + found[0] * found[1] != 0,
    )
    sign = 1 if g1 > 0 else -1
    first = x - sign - decay * x
    move = Fraction(g1 + 2 * g2, 3 * size)
    second = first - move - decay * first
    penalty = x - (1 if g1 + decay * x > 0 else -1)
    return Item(
        statement=rf"""
AdamW has $\beta_1 = \beta_2 = \tfrac12$, $\epsilon = 0$, the rate $1$ and the
decay ${tex(float(decay))}$. A parameter starts at ${x}$. Its first two gradients are ${g1}$ and
${g2}$.

**(a)** Give the parameter after the first step.

**(b)** Give the quotient of corrected means at the second step, and the parameter after it.

**(c)** Why does the size of the first gradient not matter in (a), and what is this to a training
whose first gradients are mostly noise?

**(d)** Somebody adds decay times parameter to the gradient instead, and runs Adam. Where is the
parameter after the first step, and what has become of the decay?""",
        answer=rf"""
**(a)** The corrected means are the gradient and its square, so the move is the rate with the sign
of the gradient, and the decay takes its share: ${tex(float(first))}$.

**(b)** The means are $({g1} + 2 \cdot {g2}) / 3$ and ${tex(size * size)}$, so the quotient is
${tex(float(move))}$, and the parameter comes to ${tex(float(second))}$.

**(c)** The gradient is divided by its own size. So a first step of full length is made in a
direction that one batch has chosen; a warm-up makes it short until the means hold several batches.

**(d)** At ${tex(float(penalty))}$: the sum is divided by its own size as well, so that the decay
changes a sign at most.""",
        marking=(
            (3, "a step as long as the rate, and the decay beside it"),
            (4, "both corrections, the quotient, and the decay of the new parameter"),
            (2, "division by its own size, and why the first steps should be short"),
            (2, "the penalty goes through the quotient"),
        ),
        given={"g1": g1, "g2": g2, "x": x, "decay": float(decay)},
        values={
            "first": float(first),
            "move": float(move),
            "second": float(second),
            "penalty": float(penalty),
        },
        traps={
            "the decay forgotten": ("first", float(x - sign)),
            "a decay that grows": ("first", float(x - sign + decay * x)),
            "decay inside is decay outside": ("penalty", float(first)),
            "the last gradient in place of the mean": ("move", g2 / size),
            "the decay of the first parameter": (
                "second",
                float(first - move - decay * x),
            ),
        },
    )


@question("Parts of a batch, and their norm", minutes=12, asks="error")
def parts(rng: Rng) -> Item:
    """Two parts with unequal numbers of targets; one norm; what clipping each part does."""
    n1, n2 = distinct(rng, 2, 1, 7)
    k = int(rng.integers(1, 5))
    way = draw(
        lambda: rng.integers(-3, 4, 2),
        lambda found: bool(found.any()) and (4 * found[0] != 3 * found[1]),
    )
    whole = k * np.array([3, 4])
    one, other = whole - n2 * way, whole + n1 * way
    plain = (one + other) / 2
    limit = int(rng.integers(1, 5))
    short = whole * limit / (5 * k)
    return Item(
        statement=rf"""
A batch is read in two parts. The first has {n1} targets, and the gradient of *its* mean loss is
${tex(one)}$; the second has {n2} targets, and the gradient of its mean loss is ${tex(other)}$.

**(a)** Give the gradient of the mean loss over all targets.

**(b)** A program averages the two gradients. What does it get, and which loss does it make small?

**(c)** Give the norm of the gradient of (a), and the gradient that a step uses if norms above
${tex(limit * k)}$ are clipped.

**(d)** “To save memory I clip the gradient of each part before I add it.” What is wrong?""",
        answer=rf"""
**(a)** Each part counts as its share of the targets: ${tex(whole)}$.

**(b)** ${tex(plain)}$, which belongs to the mean of the parts' means: there a target of the part
with fewer targets counts more.

**(c)** ${tex(5 * k)}$, and ${tex(short * k)}$, in the same direction.

**(d)** Each part is then shortened by a factor of its own, or not at all, so that the sum points
elsewhere. Its norm can be up to twice the limit, and it depends on how the batch was cut.""",
        marking=(
            (3, "the shares of the targets"),
            (3, "the mean of means, and whom it favours"),
            (3, "the norm and one factor for both coordinates"),
            (2, "clipping by parts turns the direction and depends on the cut"),
        ),
        given={"n1": n1, "n2": n2, "one": one, "other": other, "limit": limit * k},
        values={"whole": whole, "plain": plain, "norm": 5 * k, "short": short * k},
        traps={
            "the shares exchanged": ("whole", (n2 * one + n1 * other) / (n1 + n2)),
            "added and not averaged": ("plain", one + other),
            "each coordinate cut": ("short", np.minimum(whole, limit * k)),
        },
    )


@question("Where the loss stands still", minutes=12, asks="why")
def stands(rng: Rng) -> Item:
    """Tokens of five kinds, losses in bits: the floor, and two plateaus above it."""
    names, nouns = distinct(rng, 2, 3, 7)
    copies, asked = (int(x) for x in rng.integers(2, 6, 2))
    n_tokens = int(rng.choice([32, 64]))
    sure = n_tokens - 3 - copies - 2 * asked
    known = Fraction(names + 2 * nouns + asked, n_tokens)
    coin = known + Fraction(asked, n_tokens)
    start = known + Fraction(copies * names + asked * (nouns + 1), n_tokens)
    return Item(
        statement=rf"""
Each text has {n_tokens} tokens, and the same kind of token at each place. First comes one of
{2**names} names; after it come an animal, one of {2**nouns}, and a street, one of {2**nouns}
others. Later the name is repeated {copies} times. The text ends with {asked} questions of two
tokens: *tired* or *wide*, and then the animal after *tired* and the street after *wide*. All that
is drawn is drawn independently, with equal probabilities. The other {sure} tokens follow with
certainty from the place that they stand at. Count in bits.

**(a)** Give the least mean loss a token of any model.

**(b)** A model has learnt how often each token comes at each place, and attends to no other token.
Give its least mean loss.

**(c)** Then it learns to repeat names, and to answer with the animal or the street of its text,
without a look at *tired* or *wide*. Give the least mean loss now.

**(d)** The loss of a run stands still at the value of (c). Why does this alone not show that the
run has learnt what (c) says, and what would you measure?""",
        answer=rf"""
**(a)** The name takes {names} bits, animal and street {nouns} each, and each *tired* or *wide* one;
the mean over all tokens is ${tex(float(known))}$.

**(b)** Each repeated name costs {names} bits again, and each answer {nouns + 1}, as it is one of
{2 ** (nouns + 1)} nouns: ${tex(float(start))}$.

**(c)** Of the answers one bit each is left: ${tex(float(coin))}$.

**(d)** Other shares of the kinds give the same mean: a model may still miss some names and know
some answers. Measure the loss of each kind of token by itself: it should be 0 for repeated names
and one bit for answers.""",
        marking=(
            (3, "what is drawn, once, over all tokens"),
            (3, "repeated names, and answers out of both lists"),
            (2, "one bit for each answer"),
            (3, "a mean has many causes; the kinds are measured apart"),
        ),
        given={
            "names": names,
            "nouns": nouns,
            "copies": copies,
            "asked": asked,
            "n": n_tokens,
        },
        values={"floor": float(known), "start": float(start), "coin": float(coin)},
        traps={
            "tired and wide forgotten": ("floor", float(known - Fraction(asked, n_tokens))),
            "answers out of one list": ("start", float(start - Fraction(asked, n_tokens))),
            "the names still unknown": ("coin", float(coin + Fraction(copies * names, n_tokens))),
        },
    )


@question("Killed and gone on with", minutes=10, asks="error")
def killed(rng: Rng) -> Item:
    """Checkpoints, two kills, what is made again, and a scale that doubles and halves."""
    every = int(rng.choice([20, 25, 40, 50]))
    steps = every * int(rng.integers(7, 12))
    one = every * int(rng.integers(1, 4)) + int(rng.integers(1, every))
    two = every * int(rng.integers(1, 3)) + int(rng.integers(1, every))
    back = one // every * every
    again = (back + two) // every * every
    made = one + two + steps - again
    calm = int(rng.choice([100, 200, 400]))
    power = int(rng.integers(8, 14))
    return Item(
        statement=rf"""
A training of {steps} steps writes a checkpoint after every {every} steps. It is killed after its
step {one} and started again; this second run makes {two} steps and is killed; the third one goes on
to the end.

**(a)** Which is the first step of the second run, and which that of the third?

**(b)** How many steps are made in all?

**(c)** Another training is long and is never killed. Its losses are scaled by $2^{{{power}}}$. The
scale is halved and the step left out whenever a gradient is infinite, and doubled after {calm}
finite steps in a row. Gradients are infinite from the scale $2^{{{power + 2}}}$ on. After how many
steps is the first one left out?

**(d)** “The checkpoint holds the parameters and the step. Nothing else matters, as the rate and the
batch are functions of the step.” What does the run lose, and why does nobody notice at once?""",
        answer=rf"""
**(a)** Step {tex(back + 1)}, and step {tex(again + 1)}.

**(b)** ${tex(made)}$: {one} and {two}, and then what is left after step {again}.

**(c)** After ${tex(2 * calm)}$: the scale is doubled twice.

**(d)** It loses Adam's two means, their count of steps for the corrections, and the scale. The run
goes on and its loss falls, yet it is another run: Adam begins anew, and its first moves are as
long as the rate, now without a warm-up.""",
        marking=(
            (3, "both runs begin after the last whole checkpoint"),
            (2, "all steps, those made twice among them"),
            (2, "two doublings"),
            (3, "the means, their count and the scale; no error is raised"),
        ),
        given={"every": every, "steps": steps, "one": one, "two": two, "calm": calm},
        values={
            "back": back + 1,
            "again": again + 1,
            "made": made,
            "calm": 2 * calm,
        },
        traps={
            "gone on where it was killed": ("back", one + 1),
            "the second run counted from the start": ("again", two // every * every + 1),
            "nothing made twice": ("made", steps),
            "one doubling": ("calm", calm),
        },
    )
