"""The exercises that `check` and `hint` know: one entry each, filled by the chapters.

How to write a check
--------------------
A check is a table: the right function, the cases it is tried on, and the mistakes people make, as
functions with the same arguments (*mutants*), each by the sentence that is said to it::

    def _vectors() -> Iterator[Case]:
        yield case(q=[3.0, 4], k=[8.0, 6], want=48.0)  # lists are arrays of floats
        for q, k in stacks(1, shape=(2, 3, 2)):
            yield case(q=q, k=k)

    @exercise(
        "1.1",
        praise="Checked on single vectors and on stacks.",
        hints=("…", "…", "…"),
        cases=_vectors,
        mutants={
            "The products are not added up yet.": lambda q, k: q * k,
            "You added up everything; each row keeps its own sum.": lambda q, k: (q * k).sum(),
        },
        otherwise="Coordinates lie along the last axis.",
    )
    def row_dots(q, k):
        return reference.dot(q, k)

The answer of a reader is tried on the cases in turn. At the first that goes wrong, its mistake is
that of the one mutant which agrees with it there and wherever it was right before; if several do,
later cases decide, and the example is shown that tells them apart. An answer that no mutant
explains is compared with what is right in general ways (`resemblance`), and is else told the `why`
of the case or `otherwise`. The tests hand every mutant to `check`, and ask for its own sentence.

- Simplest case first, small enough to redo on paper, with the result by hand as `want`: the tests
  hold the right function to it. On a good first example no two mistakes coincide, so take sizes
  that differ (T, S, d_k, d_v), lengths that differ, and no symmetric tables.
- Then the classes that hide mistakes: stacks of every depth, sizes of one, tables that are not
  square, ties, zeros, extremes (scores of ±1000, −∞ where it is allowed), integers (`whole=True`:
  the answer gets them, `reference` does not), several seeds. Promise in the exercise what is tried.
- A mutant should be what people write, also where it raises. Its sentence says what is wrong and
  why, not the code of the solution and no sentence of a hint.
- Mistakes that differ in one thing are a family: `each(family, {sentence: variant})` hands it the
  variant before the inputs. Those of many exercises stand in the engine: `scales.SCALE_MUTANTS`,
  `softmaxes.SOFTMAX_MUTANTS`, `softmaxes.MASK_MUTANTS`; `table.memory_test` is a test of memory.
- `kind` says what an answer is: `Array()`, `Number(within=…)`, `Several(names=…)`, `Name(names=…)`;
  `Array(by=…, called=…)` where many answers are right and a function of them is compared. Another
  rule is a kind of its own, made from one of these.
- An answer that draws gets a seeded generator among its inputs, a copy for every call; judge the
  result by `Number(relative=…)`, several standard errors wide. An iterator is copied likewise.
- A marked answer runs in another process. What can be handed to it: numbers, strings, None, arrays,
  lists, tuples, dicts, sets, and what can only be asked for: functions, iterators, generators.
- Among the cases may stand a function of an `Answer`: a test of memory (`f.peak_bytes`), of steps
  (`f.steps`), or of whatever else no case can show. Without `cases` the whole check is such a
  function, and raises `Wrong`; the tests plant its `mutants` all the same.
- Answers that raise, hang, print, return strings or change their inputs, and other ways to make the
  same mistake, are planted in ``tests/chapters/chNN/planted_answers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tformer.chapters import load
from tformer.exercises.answer import Answer
from tformer.exercises.diagnosis import check_by_table
from tformer.exercises.kinds import Array
from tformer.exercises.slips import mutants_of
from tformer.exercises.table import Case, Function, Table

Test = Callable[[Answer], None]
Decorated = TypeVar("Decorated", bound=Callable[..., Any])
ARRAY = Array()


@dataclass(frozen=True)
class Exercise:
    """What stands behind one exercise number.

    Attributes
    ----------
    number : str
        Chapter and place, such as ``"1.2"``.
    test : callable
        Raises `Wrong` at the first thing that an answer gets wrong.
    praise : str
        What was verified, said to a right answer.
    hints : tuple of str
        From a nudge to nearly the answer.
    mutants : mapping from sentence to callable
        The mistakes that are told by name, each as an answer that makes it.
    table : Table or None
        What the test is made from, if it is made from a table.
    """

    number: str
    test: Test
    praise: str
    hints: tuple[str, ...]
    mutants: Mapping[Any, Function]
    table: Table | None = None


_exercises: dict[str, Exercise] = {}


def exercises() -> dict[str, Exercise]:
    """Return all exercises of the book by their numbers, in order."""
    load("checks")
    in_order = sorted(_exercises, key=lambda number: [int(part) for part in number.split(".")])
    return {number: _exercises[number] for number in in_order}


def find(number: str) -> Exercise | None:
    """Return the exercise of that number, if there is one; loads its chapter alone."""
    chapter = number.partition(".")[0]
    if number not in _exercises and chapter.isdecimal():
        load("checks", int(chapter))
    return _exercises.get(number)


def exercise(
    number: str,
    praise: str,
    hints: tuple[str, ...],
    *,
    cases: Callable[[], Iterable[Case | Test]] | None = None,
    mutants: Mapping[Any, Function] | None = None,
    slips: str = "",
    kind: Array = ARRAY,
    otherwise: str = "",
) -> Callable[[Decorated], Decorated]:
    """Register the decorated function for exercise `number`.

    With `cases` it is the right answer, and the check is a `Table`; `slips` are mutants that are
    edits of it. Without, it is itself the test of an `Answer`, written by hand, and the tests hold
    it to its `mutants`.

    Raises
    ------
    ValueError
        A slip cannot be made from the right answer; the message names the exercise and the slip.
    """

    def register(function: Decorated) -> Decorated:
        known = dict(mutants or {})
        if slips:
            known |= mutants_of(slips, function, f"exercise {number}")
        table = Table(function, cases, known, kind, otherwise) if cases else None
        test = partial(check_by_table, table) if table else function
        _exercises[number] = Exercise(number, test, praise, hints, known, table)
        return function

    return register
