"""A check as a table: the right function, the cases it is tried on, and its mutants."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import islice, zip_longest
from typing import Any

import numpy as np

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Raised, Settled, Wrong, arrays, fresh
from tformer_book.exercises.kinds import Array, Parts

Function = Callable[..., Any]
Sentence = str | Callable[..., str]
INTEGERS = "Whole numbers may come as integers."
MOST = 10_000  # numbers in an array that is handed over once more as integers


@dataclass(frozen=True)
class Case:
    """Inputs to try an answer on.

    Attributes
    ----------
    inputs : mapping
        The arguments by name, in order.
    want : object
        The right answer, worked out by hand; None to take that of the right function.
    why : str
        Said to an answer that is wrong here and is not explained otherwise.
    said : str
        The inputs in words; made from the inputs when empty.
    dtype : type or None
        What the answer is handed floats as: int, where all of an array are whole, or float32, by
        whose digits it is then judged. Masks stay masks, and our own functions get everything as
        it is.
    own : dict
        What our own functions have been found to give for the inputs, as parts.
    """

    inputs: Mapping[str, Any]
    want: Any = None
    why: str = ""
    said: str = ""
    dtype: Any = None
    own: dict[Function, Parts] = field(default_factory=dict, compare=False, repr=False)

    @property
    def words(self) -> str:
        """The inputs in words."""
        return self.said or describe.inputs(self.inputs)

    @property
    def handed(self) -> dict[str, Any]:
        """The inputs as the answer gets them."""
        return {name: _typed(value, self.dtype) for name, value in self.inputs.items()}

    @property
    def size(self) -> int:
        """How many numbers the largest array among the inputs holds."""
        return max((value.size for value in arrays(list(self.inputs.values()))), default=0)

    @property
    def whole(self) -> frozenset[str]:
        """The names of inputs that can also be handed over as integers."""
        return frozenset(
            name for name, value in self.inputs.items() if _typed(value, int) is not value
        )


def case(
    *,
    want: Any = None,
    why: str = "",
    said: str = "",
    whole: bool = False,
    single: bool = False,
    **inputs: Any,
) -> Case:
    """Return the case of copies of these inputs; lists of numbers become arrays of floats.

    With `whole` the answer is handed integers, with `single` float32.
    """
    given = {name: fresh(_as_array(value)) for name, value in inputs.items()}
    if single:  # what float32 can hold, so that our own functions get the same numbers
        given = {
            n: x.astype(np.float32).astype(float) if _is_float(x) else x for n, x in given.items()
        }
    return Case(given, want, why, said, int if whole else np.float32 if single else None)


def _as_array(value: Any) -> Any:
    if not isinstance(value, list) or not all(isinstance(x, int | float | list) for x in value):
        return value
    array = np.array(value)
    return array if array.dtype == bool else array.astype(float)


def _typed(value: Any, dtype: Any) -> Any:
    """Return floats as another type, and what has none, or none that are whole, as it is."""
    if isinstance(value, list | tuple) and dtype is int:
        parts = [_typed(part, int) for part in value]
        same = all(new is old for new, old in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if dtype is int and isinstance(value, float):
        return int(value) if value.is_integer() else value
    if dtype is None or not _is_float(value) or (dtype is int and not _is_whole(value)):
        return value
    return value.astype(dtype)


def _is_whole(array: Any) -> bool:
    if not _is_float(array):
        return True
    wide = array.astype(float)  # 2^53 is no float16
    with np.errstate(invalid="ignore"):
        return bool(wide.size and (np.abs(wide) < 2**53).all() and (wide % 1 == 0).all())


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def each(family: Function, variants: Mapping[Any, Any]) -> dict[Any, Function]:
    """Return a mutant for each variant; the family takes it, then what an answer takes."""
    return {sentence: partial(family, variant) for sentence, variant in variants.items()}


def memory_test(
    most: float, what: str, why: str, said: str = "", **inputs: Any
) -> Callable[..., None]:
    """Return a test that no call with these inputs, named `what`, holds more bytes than `most`."""

    def test(f: Answer) -> None:
        if (peak := f.peak_bytes(said, **inputs)) > most:
            raise Wrong(
                f"The numbers are right, but for {what} {f.name} holds {peak / 1e6:.0f} MB at "
                f"once: {why}"
            )

    return test


def warning_test(said: str = "", **inputs: Any) -> Callable[[Answer], None]:
    """Return a test that an answer, whose numbers are right, brings about no warning of NumPy."""

    def test(f: Answer) -> None:
        words = said or describe.inputs(inputs)
        try:
            with np.errstate(over="raise", divide="raise", invalid="raise"):
                f.raw(words, **inputs)
        except Raised as raised:
            if not isinstance(raised.error, FloatingPointError):
                raise
            where = describe.at(raised.error, f.function)
            raise Settled(
                f"The numbers are right, but with {words} a warning appears: {raised.error}"
                f"{where}. None may appear here."
            ) from None

    return test


TYPES = {
    "an int": (
        "iu",
        "and an int is asked for: `/` and a product with a float make floats of whole numbers, "
        "`//` and `astype(int)` do not.",
    ),
    "True and False": (
        "b",
        "and True and False are asked for: as an index, 0 and 1 pick the rows 0 and 1, "
        "while True and False say of each row whether it is picked.",
    ),
}


def type_test(asked: str, said: str = "", **inputs: Any) -> Callable[[Answer], None]:
    """Return a test that an answer, whose numbers are right, has the type that is `asked` for."""
    kinds, why = TYPES[asked]

    def test(f: Answer) -> None:
        value = f.raw(said, **inputs).value
        array = f.numbers(value, said or describe.inputs(inputs))
        empty = not array.size and not isinstance(value, np.ndarray)  # an empty list has no type
        if array.dtype.kind not in kinds and not empty:
            raise Wrong(
                f"The numbers are right, but with {said or describe.inputs(inputs)} they are of "
                f"the type {array.dtype}, {why}"
            )

    return test


@dataclass(frozen=True)
class Trial:
    """A case, and what an answer made of it.

    Attributes
    ----------
    got, want : tuple
        The parts of the answer, and the right ones; `got` is empty if the answer raised.
    error : str
        What it raised, "" if nothing.
    place : int or None
        The first part that is wrong; None if all are right, or there is none.
    text : str
        What is wrong, without a reason.
    """

    case: Case
    got: Parts
    want: Parts
    error: str = ""
    place: int | None = None
    text: str = ""


@dataclass(frozen=True)
class Table:
    """A check by cases.

    Attributes
    ----------
    right : callable
        The right function.
    cases : callable
        Returns the cases, simplest first. A function of an `Answer` among them is a test of
        another kind, made in its turn: of memory, say, or of the number of steps.
    mutants : mapping from sentence to callable
        Each mistake as a function with the arguments of the right one, and what is said to it. A
        sentence may be a function of the inputs.
    kind : Array
        What the answer is, and when two answers agree.
    otherwise : str
        Said to an answer that nothing explains.
    integers : bool
        Whether whole numbers may come as integers; where not, the statement says so.
    """

    right: Function
    cases: Callable[[], Iterable[Case | Callable[[Answer], None]]]
    mutants: Mapping[Any, Function]
    kind: Array
    otherwise: str = ""
    integers: bool = True

    def attempt(self, f: Answer, item: Case) -> tuple[Trial, Wrong | None]:
        """Call the answer on a case; return what came, and what is wrong with it."""
        said, want = item.words, self.want(item)
        f.asked = self.kind.asked(want)
        try:
            raw = self.kind.read(f, f.raw(said, **item.handed).value, said)
        except Raised as raised:
            error = raised.error
            return Trial(item, (), want, _named(error), text=str(raised)), raised
        if self.kind.by:
            right = self._right(item)
            self.kind.fit(f, raw, right, said)
            raw = tuple(map(_as_numbers, raw, right))
        if item.dtype is np.float32:
            raw = tuple(x.astype(np.float32) if _is_float(x) else x for x in raw)
        got = self.kind.seen(raw)
        for place, (part, right) in enumerate(zip(got, want, strict=True)):
            if not self.kind.same(part, right):
                text = self.kind.head(f, got, want, said, place)
                why = self.kind.remark(part, right) or self.kind.form(part, right)
                text += f" {item.why}" * (self.kind.weak and not why)
                why = why or self.fallback(item)
                if few := f.few_digits(part, right):
                    return Trial(item, got, want, "", place, text), Settled(f"{text} {few}")
                return Trial(item, got, want, "", place, text), Wrong(f"{text} {why}".strip())
        return Trial(item, got, want), None

    def fallback(self, item: Case) -> str:
        """Return what is said to an answer that nothing explains."""
        return self.otherwise if self.kind.weak else item.why or self.otherwise

    def want(self, item: Case) -> Parts:
        """Return the right parts of a case."""
        return self.kind.seen(self._right(item))

    def _right(self, item: Case) -> Parts:
        return self._own(self.right, item) if item.want is None else self.kind.plain(item.want)

    def _own(self, function: Function, item: Case) -> Parts:
        """Return the parts that one of our own functions gives, found once for all answers."""
        if function not in item.own:
            item.own[function] = self.kind.plain(call(function, item))
        return item.own[function]

    def made(self, mutant: Function, item: Case) -> Parts | str:
        """Return the parts that a mutant gives, or what it raises."""
        try:
            return self.kind.seen(self._own(mutant, item))
        except Exception as error:
            return _named(error)

    def of(self, inputs: Mapping[str, Any]) -> Parts:
        """Return the right parts for inputs that are none of a case."""
        return self.kind.seen(self.kind.plain(call(self.right, Case(inputs))))

    @cached_property
    def _known(self) -> list[Case | Callable[[Answer], None]]:
        known = list(self.cases())
        return [*known, *self._as_integers([item for item in known if isinstance(item, Case)])]

    def _as_integers(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Yield some of the cases once more, with integers: two for each choice of whole inputs.

        Where there is one, the right answer to one of the two has fractions.
        """
        alike: dict[frozenset[str], list[Case]] = {}
        for item in cases if self.integers else ():
            if item.dtype is None and item.whole and item.size <= MOST:
                alike.setdefault(item.whole, []).append(item)
        for group in alike.values():
            fractions = (item for item in group[1:] if not all(map(_is_whole, self.want(item))))
            for item in group[:1] + list(islice(fractions, 1)):
                yield replace(item, dtype=int, why=item.why if self.kind.weak else INTEGERS)

    def items(self) -> Iterator[Case | Callable[[Answer], None]]:
        """Yield the cases, the same ones for all answers, and tests of another kind, made anew.

        What a test hands to an answer may be used up by it.
        """
        again = self._known if len(self.only_cases()) == len(self._known) else self.cases()
        for known, made in zip_longest(self._known, again):
            yield known if isinstance(known, Case) else made

    def only_cases(self) -> list[Case]:
        """Return the cases without the tests of another kind."""
        return [item for item in self._known if isinstance(item, Case)]


def _as_numbers(part: Any, right: Any) -> Any:
    """Return True and False as 1 and 0 where the right part is made of numbers."""
    return part.astype(float) if part.dtype.kind == "b" and right.dtype.kind != "b" else part


def call(function: Function, item: Case) -> Any:
    """Call a function of our own on a case, which it may not change."""
    inputs = [fresh(value) for value in item.inputs.values()]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*inputs)


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
