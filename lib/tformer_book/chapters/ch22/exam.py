"""Exam questions of chapter 22."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer_book.exams import Item, question, tex


@question("Keys with equal scores", minutes=8, asks="why")
def equal_scores(rng: np.random.Generator) -> Item:
    """The weight of each key, the output, and what a shift of all scores changes."""
    keys, shift = int(rng.choice([2, 4, 5])), int(rng.integers(1, 10))
    v = rng.integers(-9, 10, size=(keys, 2)).astype(float)
    weights = reference.softmax(np.zeros(keys))
    output = reference.attention(np.zeros((1, 2)), np.zeros((keys, 2)), v)[0].round(9)
    return Item(
        statement=rf"""
A query has the score 0 with each of {keys} keys. Their values are the rows of ${tex(v)}$.

**(a)** Give the weight of each key. **(b)** Give the output.

**(c)** All scores become {shift}. How does the output change, and why?""",
        answer=rf"""
**(a)** ${tex(weights[0])}$. **(b)** ${tex(output)}$, the mean of the values.

**(c)** Not at all: equal scores have equal weights, whatever they are.""",
        marking=((2, "the weight"), (2, "the output"), (2, "no change, with the reason")),
        given={"v": v},
        values={"weight": weights[0], "output": output},
        traps={"added up": ("output", v.sum(axis=0)), "one value": ("output", v[0])},
    )
