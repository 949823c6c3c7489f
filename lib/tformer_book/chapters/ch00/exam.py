"""Exam questions of the page before chapter 1: a look, a step, a floor, a cut."""

from __future__ import annotations

import numpy as np

from tformer.reference import softmax
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("A word attends to earlier words", minutes=8)
def looks_back(rng: Rng) -> Item:
    """The weights of a word in the middle of a text, and what it takes up."""
    a, b, c, later = draw(
        lambda: [int(x) for x in rng.integers(1, 13, 4)],
        lambda found: sum(found[:3]) == 12 and len({*found}) == 4,
    )
    v = np.array(distinct(rng, 3, 1, 12), dtype=float) * 12
    weights = softmax(np.log(np.array([a, b, c], dtype=float)))
    taken = float(weights @ v)
    return Item(
        statement=rf"""
A text has four words. In one layer the third word has the scores
$\log {a}$, $\log {b}$, $\log {c}$ and $\log {later}$ with the four words, in their order. The
values are
single numbers: ${v[0]:g}$, ${v[1]:g}$, ${v[2]:g}$ and $60$.

**(a)** Which weights does the third word give to the four words?

**(b)** What is its weighted sum of the values?

**(c)** Why is the fourth word treated in this way, although the text is complete while the
machine learns?""",
        answer=rf"""
**(a)** The fourth word comes later and gets $0$. The exponentials of the others are ${a}$,
${b}$ and
${c}$, together $12$: the weights are ${tex(weights)}$.

**(b)** ${tex(taken)}$.

**(c)** While it learns, each word has to guess the next one. If it could see it, the guess would
need nothing to be learned; and when the machine writes, there is no later word to see.""",
        marking=(
            (3, "three weights that add up to one, and a zero; one point without the zero"),
            (2, "the weighted mean of the values"),
            (3, "guessing the next word, and writing"),
        ),
        given={"scores": (a, b, c), "later": later, "v": v},
        values={"weights": weights, "taken": taken},
        traps={
            "the later word is seen": (
                "taken",
                float(softmax(np.log([a, b, c, later])) @ np.append(v, 60.0)),
            ),
            "a plain mean": ("taken", float(v.mean())),
        },
    )


@question("Which words bear the loss", minutes=10)
def bears_the_loss(rng: Rng) -> Item:
    """The entropy of each word of a tiny world; what a report below the floor means."""
    n, m = (2 ** int(x) for x in rng.permutation([1, 2, 3, 4])[:2])
    nouns = rng.permutation(["dog", "cat", "cow", "goose", "bear", "lion", "horse"])
    bits = np.log2(n * m)
    return Item(
        statement=rf"""
In a small world a story is “the A is too B so they C the A .” There are ${n}$ nouns A, among
them *{", ".join(nouns[:2])}*, and each may have ${m}$ troubles B; each trouble has one cure C.
All stories
are equally likely.

**(a)** How many stories are there, and what is the smallest mean loss a story that a machine can
have? Give it in bits, that is, with logarithms to base 2.

**(b)** Which words bear it, and how much does each?

**(c)** Somebody reports a loss a quarter of a bit below your number. Name two mistakes that would
explain it.""",
        answer=rf"""
**(a)** ${tex(n * m)}$ stories, so no mean loss is below $\log_2 {n * m} = {tex(bits)}$ bits.

**(b)** The first A bears ${tex(np.log2(n))}$ bits and B bears ${tex(np.log2(m))}$. All others
can be known:
C follows from B, and the last A from the first.

**(c)** For example: words could see later words; the loss was divided by another number of words
or stories; the logarithm has another base; stories are not equally likely in the test.""",
        marking=(
            (3, "the product, and its logarithm"),
            (4, "two words with their shares, and the others with none"),
            (2, "two mistakes that lower a loss"),
        ),
        given={"n": n, "m": m},
        values={"stories": n * m, "floor": bits, "noun": np.log2(n), "trouble": np.log2(m)},
        traps={
            "choices are added": ("stories", n + m),
            "the last noun counts again": ("floor", np.log2(n * n * m)),
        },
    )


@question("What a cut shows", minutes=10, asks="why")
def a_cut_shows(rng: Rng) -> Item:
    """Shares of right answers after a cut, and what one may conclude."""
    first, second = (10 * int(x) for x in rng.integers(10, 31, 2))
    kept = first
    left = int(rng.integers(2, 5)) * second // 20
    share = (kept + left) / (first + second)
    return Item(
        statement=rf"""
A trained machine answers all of ${first + second}$ questions: in ${first}$ the patient is the
first noun,
in ${second}$ the second. Somebody hides the second noun from “it” in layer 1. Now all of the
${first}$ are
still right, and ${left}$ of the ${second}$.

**(a)** Which share of all questions is right after the cut? Why is this number a poor summary?

**(b)** What does the cut show about this machine?

**(c)** “So transformers find the patient by way of the pronoun.” What is wrong with this sentence,
and what would you do to test it?""",
        answer=rf"""
**(a)** $({kept} + {left}) / {first + second} = {tex(share)}$. It depends on how many questions
of each
kind were asked, and hides that one kind does not suffer at all.

**(b)** In this machine, second nouns reach the answer by way of “it” in layer 1, for the most part;
first nouns have another way.

**(c)** One machine was cut, from one random start. Others may keep the noun on another word
or look
at it directly. Train with several seeds, and cut in each; cut other arcs as a control.""",
        marking=(
            (4, "the share; that it mixes two kinds of questions"),
            (3, "second nouns by way of “it”, first nouns another way"),
            (3, "other seeds, other arcs"),
        ),
        given={"first": first, "second": second, "left": left},
        values={"share": share},
        traps={
            "a mean of two shares": ("share", (1 + left / second) / 2),
            "only what was cut": ("share", left / second),
        },
    )


@question("Downhill", minutes=8, asks="error")
def downhill(rng: Rng) -> Item:
    """Which way two parameters move, and an error about the size of a slope."""
    up, down = (int(x) for x in rng.integers(2, 10, 2))
    rate = 1 / 10
    a, b = (int(x) for x in rng.integers(-6, 7, 2))
    after = np.array([a - rate * up, b + rate * down])
    return Item(
        statement=rf"""
A machine has two parameters, now $a = {a}$ and $b = {b}$. If $a$ grows by a very small $h$,
the loss
rises by ${up}h$; if $b$ grows by $h$, the loss falls by ${down}h$. A step moves each parameter
downhill by
$0.1$ times its slope.

**(a)** Where are $a$ and $b$ after the step?

**(b)** Somebody trains until all slopes are zero and says: “So every answer is right now, also
about
stories that were not told.” What is wrong?

**(c)** In the machine of the page nobody ever said which noun “it” stands for. How can steps
downhill find it?""",
        answer=rf"""
**(a)** $(a, b) = {tex(after)}$: $a$ falls, $b$ grows.

**(b)** Slopes of zero say that no small move helps on the stories that were told. They may
stand on a flat place that is not the lowest; and stories that were not told can be wrong all
the same.

**(c)** The last noun of each story is one of the words to be guessed. Guessing it well needs
the noun
that “it” stands for, so parameters that carry this noun forward have a slope.""",
        marking=(
            (3, "both numbers; one point if a sign is wrong"),
            (2, "told and untold, or flat and low"),
            (3, "the patient has to be guessed"),
        ),
        given={"a": a, "b": b, "up": up, "down": down},
        values={"after": after},
        traps={
            "uphill": ("after", np.array([a + rate * up, b - rate * down])),
            "both fall": ("after", np.array([a - rate * up, b - rate * down])),
        },
    )
