"""The exercises that `check` and `hint` know: one entry each, filled by the chapters.

How to write a check
--------------------
A check is a table: the right function, the cases it is tried on, and *mutants*, which are the
mistakes people make. Most are *slips*, edits of the right function, each with its sentence::

    def _vectors() -> Iterator[Case]:
        yield case(q=[3.0, 4], k=[8.0, 6], want=48.0)  # lists are arrays of floats
        for q, k in stacks(1, shape=(2, 3, 2)):
            yield case(q=q, k=k)
        yield from promised(whole, zeros("q"), q=integers(2, (3, 4)), k=integers(3, (3, 4)))

    @exercise(
        "1.1",
        praise="Checked on single vectors and on stacks.",
        hints=("…", "…", "…"),
        cases=_vectors,
        slips='''
            .sum(axis=-1) →
                The products are not added up yet.
            axis=-1 →
                You added up everything; each row keeps its own sum.
        ''',
        mutants={"A mistake that no edit says.": lambda q, k: np.dot(q, k.T)},
        otherwise="Coordinates lie along the last axis.",
    )
    def row_dots(q, k):
        return (q * k).sum(axis=-1)

The answer of a reader is tried on the cases in turn. At the first that goes wrong, its mistake is
that of the one mutant which agrees with it there and wherever it was right before; if several do,
later cases decide, and the example is shown that tells them apart. The one that is left has to
agree on a second case that it gets wrong, and on most others, so let no mutant differ from what is
right in a single small case. Before anything else is said, nan and ∞ are traced to the operation
and the line that made them. An answer that no mutant explains is compared with what is right in
general ways (`resemblance`: a sign, a factor, a shift, an input handed back, few digits, whole
numbers alone, which no mutant shows, since mutants get floats); else it is told where it is wrong
(`whereabouts`), and the `why` of the case or `otherwise`, which is no diagnosis: where blind
answers end there, a mutant is missing. The tests hand every mutant to `check`, and ask for its own
sentence.

**Whole numbers come as integers as well**: of the cases whose inputs are whole, some are tried once
more so, without being asked for; `integers=False` where the statement says that none come. Where no
case mixes whole numbers and fractions, `promises.whole` makes such.

**Whatever a statement promises is tried at its limit.** Read it word by word: each size, type and
bound that it names, and each "any", is a promise, and what it does not name is not tried. Makers of
cases stand in `promises`: whole numbers, alone and beside fractions, float32, axes in front, ties,
zeros, huge numbers, and sizes of 0 and 1; `table.warning_test` where no warning may appear. Think
of nearly equal places and keys, visible scores far below 0, ids at their limit, rows of one stack
far apart. A promise of another kind ("a leak below 1e-6", "a favourite beyond ten") gets cases on
both sides of its bound, by hand. Where many answers are right, try what separates them from near
misses: another column, one row of many, a sum that cancels, a comparison that needs a tolerance, an
absolute value or all coordinates.

- Simplest case first, small enough to redo on paper, with the result by hand as `want`: the tests
  hold the right function to it. On a good first example no two mutants coincide, so take sizes
  that differ (T, S, d_k, d_v), lengths that differ, and no symmetric tables. Where slips need the
  right function written out, take some `want` from `reference`, which stays its judge.
- A mutant should be what people write, also where it raises. Its sentence says what is wrong and
  why, not the code of the solution and no sentence of a hint.
- Slips (the rules stand in `slips`): ``old → new``, joined by ``;;``; ``$`` in new stands for old;
  ``= expression`` is a whole answer. Old stands exactly once in the body; if not, loading the
  chapter fails and names the exercise. Mutants of the library are written alike, in the tests.
- Mutants that differ in one thing are a family: `each(family, {sentence: variant})` hands it the
  variant before the inputs. Those of many exercises stand in the engine: `scales.SCALE_MUTANTS`,
  `softmaxes.SOFTMAX_MUTANTS`, `softmaxes.MASK_MUTANTS`; `table.memory_test` is a test of memory.
- `kind` says what an answer is: `Array()`, `Number(within=…)`, `Several(names=…)`, `Name(names=…)`;
  `Array(by=…, called=…)` where many answers are right and a function of them is compared. Another
  rule is a kind of its own, made from one of these.
- Answers may come as integers, lists or single numbers. They are compared by the digits of what was
  handed over: float32 is enough where float32 was. A function `by` gets floats. Masks stay masks,
  on the way in and out: True and False are handed over as such even where `whole=True` makes
  integers of floats.
- An answer that draws gets a seeded generator among its inputs, a copy for every call; judge the
  result by `Number(relative=…)`, several standard errors wide. An iterator is copied likewise.
- A marked answer runs in another process. What can be handed to it: numbers, strings, None, arrays,
  lists, tuples, dicts, sets, and what can only be asked for: functions, iterators, generators.
- Among the cases may stand a function of an `Answer`: a test of memory (`f.peak_bytes`), of steps
  (`f.steps`), or of whatever else no case can show. Cases do not ask whether 3 came as an int or a
  float; where the statement names the type, `type_test` stands last among them. Without `cases`
  the whole check is such a function, and raises `Wrong`; the tests plant its `mutants` all the
  same.
- Answers that raise, hang, print, return strings or change their inputs, and other ways to make the
  same mistake, are planted in ``tests/chapters/chNN/planted_answers.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from tformer_book.chapters import load
from tformer_book.exercises.answer import Answer
from tformer_book.exercises.diagnosis import check_by_table
from tformer_book.exercises.kinds import Array
from tformer_book.exercises.slips import mutants_of
from tformer_book.exercises.table import Case, Function, Table

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
        The mistakes that are told by name, each as an answer that makes it: slips among them.
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
    integers: bool = True,
) -> Callable[[Decorated], Decorated]:
    """Register the decorated function for exercise `number`.

    With `cases` it is the right answer, and the check is a `Table`; `slips` are mutants that are
    edits of it. Cases of whole numbers are tried with integers as well, if `integers` are allowed.
    Without `cases`, it is itself the test of an `Answer`, written by hand, and the tests hold
    it to its `mutants`.

    Raises
    ------
    ValueError
        A slip cannot be made from the right answer; the message names the exercise and the slip.
    """

    def register(function: Decorated) -> Decorated:
        known = dict(mutants or {})
        if slips:
            if not cases:
                raise ValueError(
                    f"exercise {number}: slips are edits of a right answer, with cases"
                )
            known |= mutants_of(slips, function, f"exercise {number}")
        table = Table(function, cases, known, kind, otherwise, integers) if cases else None
        test = partial(check_by_table, table) if table else function
        _exercises[number] = Exercise(number, test, praise, hints, known, table)
        return function

    return register
