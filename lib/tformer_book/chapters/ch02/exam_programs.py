"""An exam question of chapter 2: a program that runs, and is wrong in one of four ways."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tformer.reference import softmax
from tformer_book.exams import Item, distinct, question, tex


class Fault(NamedTuple):
    """A program, what is wrong with it, a cure, inputs that hide it, and what finds it."""

    code: str
    why: str
    cure: str
    unseen: str
    found: str


FAULTS = {
    "late": Fault(
        code="""
def weights(x, mask):  # a row of scores; mask is True where the query may look, once at least
    e = np.exp(x - x.max())
    return mask * e / e.sum()""",
        why="The hidden exponential is still in the sum, so the weights do not add up to one.",
        cure="set the hidden scores to $-\\infty$ first",
        unseen="nothing is hidden",
        found="The first does: what is hidden is missing from the sum. The second does not.",
    ),
    "zero": Fault(
        code="""
def weights(x, mask):  # a row of scores; mask is True where the query may look, once at least
    e = np.exp(np.where(mask, x, 0))
    return e / e.sum()""",
        why="A score of 0 is a score: $e^0 = 1$ joins the sum, and the hidden key gets weight.",
        cure="put minus infinity in place of 0",
        unseen="nothing is hidden",
        found="The second does: the scores rise and the zero does not. The first does not.",
    ),
    "columns": Fault(
        code="""
def weights(x):  # row t holds the scores of query t
    e = np.exp(x - x.max())
    return e / e.sum(axis=0)""",
        why="The sum runs over the queries, so that columns add up to one and rows need not.",
        cure="divide by `e.sum(axis=1, keepdims=True)`",
        unseen="all rows and all columns of exponentials add up to the same, as for equal scores",
        found="Neither. The first finds it often, but not always: two equal rows of two scores "
        "each give weights of a half, whatever the scores. The second never does.",
    ),
    "upside": Fault(
        code="""
def weights(x, temperature):  # a row of scores
    e = np.exp((x - x.max()) * temperature)
    return e / e.sum()""",
        why="A high temperature should make the weights more even; here it sharpens them.",
        cure="divide by the temperature",
        unseen="the temperature is 1, or all scores are equal",
        found="Neither: the weights are a softmax, and one of another temperature only.",
    ),
}


@question("A program that runs", minutes=12, asks="error")
def a_program_that_runs(rng: np.random.Generator) -> Item:
    """Find the fault, mend it, and say what hides it and what would find it."""
    name = str(rng.choice(list(FAULTS)))
    fault, a = FAULTS[name], np.array(distinct(rng, 4, 2, 9))
    if name == "columns":
        a = a.reshape(2, 2)
        returned, wanted, more = a / a.sum(axis=0), softmax(np.log(a)), ""
    elif name == "upside":
        a = a[:2] ** 2
        returned, wanted = a**2 / (a**2).sum(), softmax(np.log(a), beta=0.5)
        more = " and the temperature 2"
    else:
        a = a[:3]
        put = a * [1, 1, 0] + (0 if name == "late" else np.array([0, 0, 1]))
        returned = put / (a if name == "late" else put).sum()
        wanted = softmax(np.where([True, True, False], np.log(a), -np.inf))
        more = ", of which the third is hidden"
    scores = tex(np.char.add(r"\log ", a.astype(str)))
    return Item(
        statement=f"""
The function below shall compute softmax weights. It runs without an error and returns numbers
from 0 to 1.

```python{fault.code}
```

**(a)** What does it return for the scores ${scores}${more}? What should it return?

**(b)** Say in a sentence what is wrong, and mend it.

**(c)** A test of this function has passed. Describe the inputs for which the fault does not
show.

**(d)** Which of these two checks finds the fault for every input for which it shows: “each row
of the result adds up to one”, “nothing changes if all scores are raised by 3”?""",
        answer=f"""
**(a)** It returns ${tex(returned)}$. It should return ${tex(wanted)}$.

**(b)** {fault.why} To mend it, {fault.cure}.

**(c)** Inputs for which {fault.unseen}.

**(d)** {fault.found}""",
        marking=(
            (4, "what comes out, and what should; two points each"),
            (2, "the fault, and a line that mends it"),
            (2, "inputs that hide it"),
            (2, "both checks judged, with reasons"),
        ),
        given={"fault": name, "a": a},
        values={"returned": returned, "wanted": wanted},
        traps={"the fault is not seen": ("returned", wanted)},
    )
