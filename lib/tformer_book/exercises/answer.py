"""A reader's function under test: call it, judge what comes back, say what is wrong."""

from __future__ import annotations

import copy
import inspect
import numbers
import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from typing import Any

import numpy as np

from tformer_book.exercises import describe, guard
from tformer_book.exercises.compare import axis_of_one, coarser, coarsest, difference, misfit, same
from tformer_book.exercises.describe import show

CALL_SECONDS = 5.0
CHECK_SECONDS = 20.0
PLAIN = {str, int, float, bool}  # what holds nothing else and cannot change: most of a long list
Array = np.ndarray


class Wrong(Exception):  # noqa: N818  (a judgement, not an error)
    """An answer is wrong; the message is what its author is told.

    Attributes
    ----------
    explain : callable or None
        Looks for the reason, which may take more calls of the answer. Returns the better message,
        and whether it names the mistake.
    """

    explain: Callable[[], tuple[str, bool]] | None = None


class Settled(Wrong):
    """An answer is wrong for a reason that is known, so that none is looked for."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.explain = lambda: (message, True)


class Untouched(Wrong):
    """An answer is still the template, which is no mistake yet."""


class Overdue(Wrong):
    """An answer was stopped when its time was up; the machine may have been busy."""


class Raised(Wrong):
    """An answer raised an error of its own, kept as `error`."""

    def __init__(self, message: str, error: BaseException) -> None:
        super().__init__(message)
        self.error = error


def nothing(**told: Any) -> None:
    """Report to nobody."""


class Answer:
    """A function handed to `check`, called with care.

    Parameters
    ----------
    function : callable
        The reader's function.
    seconds : float
        Time limit of one call, in seconds of computing; the whole check may take four times as
        long.
    kind : type
        What arrays are handed to the function as: NumPy's own, or a kind that behaves otherwise.
    report : callable
        Told before each call what is about to be tried, and after it that the call came back.
    call : callable
        Makes one guarded call, in a thread or in this place.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        seconds: float = CALL_SECONDS,
        kind: type[Array] = Array,
        report: Callable[..., None] = nothing,
        call: Callable[..., guard.Outcome] = guard.in_thread,
    ) -> None:
        self.function = function
        self.kind = kind
        self.report = report
        self.call = call
        self.name = getattr(function, "__name__", "your function")
        if self.name == "<lambda>":
            self.name = "your function"
        self.seconds = seconds
        self.left = seconds * CHECK_SECONDS / CALL_SECONDS  # seconds for all calls together
        self.printed = False
        self.progress = 0  # calls begun and calls that have come to an end
        self.hung = False
        self.arrays = False  # whether it has been handed any
        self.asked = ""  # what form an answer should have, in words
        self.digits = np.dtype(float)  # of what it was handed last, and so of what it returns
        self.coarse: np.dtype[Any] | None = None  # what it returned of fewer digits than those

    def again(self, kind: type[Array]) -> Answer:
        """Return the same answer untested, for arrays of another kind and the time that is left."""
        other = Answer(self.function, self.seconds, kind, self.report, self.call)
        other.left = self.left
        return other

    def raw(self, said: str = "", measure: str = "", **inputs: Any) -> guard.Outcome:
        """Call the function with `inputs`, in order; raise Wrong if no usable value comes back."""
        said = said or describe.inputs(inputs)
        handed = [self._copied(value) for value in inputs.values()]
        self.digits, self.coarse = coarsest(arrays(handed)), None
        first = [(list(arrays(value)), outline(value)) for value in handed]
        self._check_signature(handed)
        self.progress += 1
        limit = max(min(self.seconds, self.left), 0.01)
        now = {"name": self.name, "said": said, "limit": limit, "cut": self.left < self.seconds}
        self.report(call=now)
        begin = time.monotonic()
        outcome = self.call(lambda: self.function(*handed), limit, measure)
        self.report(call=None)
        self.left -= outcome.seconds or time.monotonic() - begin
        self.printed = self.printed or bool(outcome.printed)
        self._check_ended(outcome, now, handed)
        self._check_untouched(inputs, handed, first)
        if outcome.value is None:
            why = "It printed something instead; p" if outcome.printed else "P"
            raise Wrong(f"{self.name} returned nothing (None). {why}ut `return` before its result.")
        return outcome

    def array(self, said: str = "", **inputs: Any) -> Array:
        """Call the function and return its answer as an array of numbers."""
        said = said or describe.inputs(inputs)
        return self.numbers(self.raw(said, **inputs).value, said)

    def numbers(self, value: Any, said: str) -> Array:
        """Turn one returned value into an array, or say why it is none.

        Exact fractions count as the numbers that they are. What has fewer digits than what was
        handed over earns no larger tolerance: it becomes an array of as many digits, and is
        remembered as coarse.
        """
        needed = "Return a number, a list or an array."
        if self.asked:
            needed = f"{self.asked[0].upper()}{self.asked[1:]} is asked for."
        try:
            array = without_fractions(np.asarray(value))
        except Exception:
            array = np.empty(0, dtype=object)
            needed = "Its parts have different shapes; one array is needed."
        if array.dtype.kind == "c":
            raise Wrong(f"With {said}, {self.name} returns complex numbers; real ones are needed.")
        if array.dtype.kind not in "biuf":
            if would_be_numbers(array):
                needed = "float() makes plain numbers of such ones."
            raise Wrong(
                f"With {said}, {self.name} returns {describe.kind(value)}, which cannot be read as "
                f"an array of numbers. {needed}"
            )
        if array.dtype.kind == "f" and array.dtype.itemsize < self.digits.itemsize:
            self.coarse = coarsest([array], self.coarse or array.dtype)
            array = array.astype(self.digits)
        return array

    def few_digits(self, got: Any, want: Any) -> str:
        """Say that a part is wrong for want of digits, those of a coarser type; "" if not."""
        return coarser(got, want, self.coarse, self.digits) if self.coarse else ""

    def name_among(self, value: Any, names: Collection[str], said: str) -> str:
        """Return one returned value, which must be one of the `names`."""
        if not isinstance(value, str) or value not in names:
            shown = show(value) if isinstance(value, str) else "its answer"
            raise Wrong(
                f"With {said}, {self.name} returns {shown}, {describe.kind(value)} and none of the "
                f"{describe.count(len(names))} names {', '.join(map(repr, names))}."
            )
        return value

    def expect(
        self,
        want: Any,
        why: str = "",
        said: str = "",
        **inputs: Any,
    ) -> Array:
        """Call the function; raise Wrong unless it returns `want`.

        Parameters
        ----------
        want : array_like
            The right answer.
        why : str
            What is said to a wrong answer.
        said : str
            The inputs in words; made from `inputs` when empty.
        """
        said = said or describe.inputs(inputs)
        got = self.array(said, **inputs)
        self.judge(got, want, why, said)
        return got

    def judge(
        self,
        got: Array,
        want: Any,
        why: str = "",
        said: str = "",
        part: str = "",
    ) -> None:
        """Raise Wrong unless the array `got`, or this `part` of an answer, equals `want`."""
        right = np.asarray(want)
        if same(got, right):
            return
        head = difference(got, right, said, part or f"the answer of {self.name}")
        if one := axis_of_one(got, right) or self.few_digits(got, right):
            raise Settled(f"{head} {one}")
        raise Wrong(f"{head} {why}".strip())

    def shaped(self, got: Array, shape: tuple[int, ...], said: str, why: str = "") -> None:
        """Raise Wrong unless the array `got` has this shape; no numbers are shown."""
        if got.shape != shape:
            head = misfit(got.shape, shape, said, f"the answer of {self.name}")
            raise Wrong(f"{head} {why}".strip())

    def sound(
        self,
        array: Array,
        shape: tuple[int, ...],
        said: str,
        name: str = "",
        has: str = "returns the shape",
    ) -> Array:
        """Return an array, or this part of an answer; raise Wrong unless it fits and is finite."""
        name = name or self.name
        if array.shape != shape:
            side = " It is transposed." * (array.shape == shape[::-1])
            raise Wrong(f"With {said}, {name} {has} {array.shape}; it should be {shape}.{side}")
        if not np.isfinite(array).all():
            raise Wrong(f"With {said}, {name} holds numbers that are not finite.")
        return array.astype(float)

    def steps(self, **inputs: Any) -> int:
        """Return how many Python instructions a call executes."""
        return self.raw(measure="steps", **inputs).measured

    def peak_bytes(self, said: str = "", **inputs: Any) -> int:
        """Return the most memory that a call holds at once, in bytes, beyond its inputs."""
        return self.raw(said, measure="bytes", **inputs).measured

    @staticmethod
    def said(**inputs: Any) -> str:
        """Write inputs in words."""
        return describe.inputs(inputs)

    def _copied(self, value: Any) -> Any:
        if isinstance(value, Array):
            self.arrays = True
            return value.copy().view(self.kind)
        return fresh(value)

    def _check_signature(self, handed: list[Any]) -> None:
        try:
            signature = inspect.signature(self.function)
        except (TypeError, ValueError):
            return
        try:
            signature.bind(*handed)
        except TypeError:
            count = f"{len(handed)} argument{'s' if len(handed) != 1 else ''}"
            line = f"def {self.name}{signature}"
            if getattr(self.function, "__name__", "") == "<lambda>":
                line = f"lambda {str(signature)[1:-1]}: …"
            raise Wrong(
                f"{self.name} is called with {count}, but its first line reads `{line}`. "
                "Keep the arguments of the template."
            ) from None

    def _check_ended(self, outcome: guard.Outcome, now: dict[str, Any], handed: list[Any]) -> None:
        said = now["said"]
        self.hung = outcome.timed_out
        if outcome.timed_out:
            raise Overdue(overdue(**now))
        if outcome.died:
            raise Wrong(died(self.name, said, outcome.died))
        if isinstance(outcome.error, NotImplementedError) and not outcome.error.args:
            raise Untouched(
                f"{self.name} is still the empty template. Write your code in place of the line "
                "`raise NotImplementedError()`."
            )
        if isinstance(outcome.error, Wrong):  # a function handed in as input had a complaint
            raise Wrong(str(outcome.error))
        if outcome.error is not None:
            what = describe.error(outcome.error, self.function)
            vector = any(isinstance(v, Array) and v.ndim == 1 for v in handed)
            counted = vector and isinstance(outcome.error, np.exceptions.AxisError)
            advice = " A single vector has only one axis; count from the end: −1." * counted
            text = f"With {said}, {self.name} stopped with {what}.{advice}"
            raise Raised(text, outcome.error)
        self.progress += 1

    def _check_untouched(
        self, inputs: Mapping[str, Any], handed: list[Any], first: list[tuple[list[Array], Any]]
    ) -> None:
        """Refuse a call that left another array or another container than it was handed."""
        for (name, value), now, (held, shape) in zip(inputs.items(), handed, first, strict=True):
            changes = f"{self.name} changes the {name} it was given"
            for before, after in zip(arrays(value), held, strict=True):
                if not np.array_equal(before, after, equal_nan=True):
                    raise Wrong(
                        f"{changes}, from {show(before)} to {show(after)}, and its caller still "
                        "needs it. Compute in a new array."
                    )
            if outline(now) != shape:
                raise Wrong(f"{changes}, and its caller still needs it. Work on a copy.")


def without_fractions(array: Array) -> Array:
    """Return objects that are fractions and whole numbers as numbers; all else as it is."""
    if array.dtype.kind != "O" or not array.size:
        return array
    if not all(isinstance(one, numbers.Rational | float | np.floating) for one in array.flat):
        return array
    rational = [one for one in array.flat if isinstance(one, numbers.Rational)]
    whole = len(rational) == array.size and all(one.denominator == 1 for one in rational)
    try:
        return array.astype(np.int64 if whole else float)
    except OverflowError:
        return array


def would_be_numbers(array: Array) -> bool:
    """Tell whether objects, such as decimals, can be made numbers one by one."""
    if array.dtype.kind != "O" or not array.size or any(one is None for one in array.flat):
        return False
    try:
        array.astype(float)
    except Exception:
        return False
    return True


def fresh(value: Any) -> Any:
    """Return a copy of what one call uses up or may change, and anything else as it is."""
    if type(value) in PLAIN:
        return value
    if isinstance(value, list | tuple | set):
        return type(value)(map(fresh, value))
    if isinstance(value, dict):
        return {key: fresh(part) for key, part in value.items()}
    used = isinstance(value, Array | np.random.Generator | Iterator)
    return copy.deepcopy(value) if used and not isinstance(value, Generator) else value


def arrays(value: Any) -> Iterator[Array]:
    """Yield the arrays that a value is or holds, in lists, tuples and dicts, in their order."""
    if isinstance(value, Array):
        yield value
    elif isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            if type(part) not in PLAIN:
                yield from arrays(part)


def outline(value: Any) -> Any:
    """Return what lists, dicts and sets hold, to be compared later; of arrays only that they are.

    What is no data, such as a function, stands for itself by its type.
    """
    if type(value) in PLAIN:
        return repr(value)
    if isinstance(value, dict):
        return {key: outline(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [outline(part) for part in value]
    plain = isinstance(value, str | int | float | set | frozenset)
    return repr(value) if plain else type(value)


def overdue(name: str, said: str, limit: float, cut: bool) -> str:
    """Say that a call was ended at its limit, or at the end of the time for all calls (`cut`)."""
    all_calls = " All calls of a check share four times the time of one." * cut
    return (
        f"With {said}, {name} was still running after {limit:.2g} seconds and was stopped: it is "
        f"slow or endless.{all_calls} Look at the condition that should end its loop, and at how "
        "much is done again in each round."
    )


def died(name: str, said: str, how: str) -> str:
    """Say that a call took the whole process with it."""
    return f"With {said}, {name} ended the whole process of Python ({how}) and returned nothing."
