"""A reader's function under test: call it, judge what comes back, say what is wrong."""

from __future__ import annotations

import inspect
import time
import tracemalloc
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from tformer.exercises import guard, say

CALL_SECONDS = 5.0
CHECK_SECONDS = 20.0
Array = np.ndarray
Mistakes = Mapping[str, Any]


class Wrong(Exception):  # noqa: N818  (a judgement, not an error)
    """An answer is wrong; the message is what its author is told."""


class Answer:
    """A function handed to `check`, called with care.

    Parameters
    ----------
    function : callable
        The reader's function.
    seconds : float
        Time limit of one call, in seconds; the whole check may take four times as long.
    kind : type
        What arrays are handed to the function as: NumPy's own, or a kind that behaves otherwise.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        seconds: float = CALL_SECONDS,
        kind: type[Array] = Array,
    ) -> None:
        self.function = function
        self.kind = kind
        self.name = getattr(function, "__name__", "your function")
        if self.name == "<lambda>":
            self.name = "your function"
        self.seconds = seconds
        self.end = time.monotonic() + seconds * CHECK_SECONDS / CALL_SECONDS
        self.printed = False
        self.progress = 0  # calls begun and calls that have come to an end
        self.hung = False

    def again(self, kind: type[Array]) -> Answer:
        """Return the same answer untested, for arrays of another kind and the time that is left."""
        other = Answer(self.function, self.seconds, kind)
        other.end = self.end
        return other

    def raw(self, said: str = "", count_steps: bool = False, **inputs: Any) -> guard.Outcome:
        """Call the function with `inputs`, in order; raise Wrong if no usable value comes back."""
        said = said or say.inputs(inputs)
        handed = [v.copy().view(self.kind) if isinstance(v, Array) else v for v in inputs.values()]
        self._check_signature(handed)
        self.progress += 1
        limit = max(min(self.seconds, self.end - time.monotonic()), 0.01)
        outcome = guard.run(lambda: self.function(*handed), limit, count_steps)
        self.printed = self.printed or bool(outcome.printed)
        self._check_ended(outcome, said, limit, handed)
        self._check_untouched(inputs, handed)
        if outcome.value is None:
            why = "It printed something instead; p" if outcome.printed else "P"
            raise Wrong(f"{self.name} returned nothing (None). {why}ut `return` before its result.")
        return outcome

    def array(self, said: str = "", **inputs: Any) -> Array:
        """Call the function and return its answer as an array of numbers."""
        said = said or say.inputs(inputs)
        return self.numbers(self.raw(said, **inputs).value, said)

    def numbers(self, value: Any, said: str) -> Array:
        """Turn one returned value into an array, or say why it is none."""
        needed = "Return a number, a list or an array."
        try:
            array = np.asarray(value)
        except Exception:
            array = np.empty(0, dtype=object)
            needed = "Its parts have different shapes; one array is needed."
        if array.dtype.kind == "c":
            raise Wrong(f"With {said}, {self.name} returns complex numbers; real ones are needed.")
        if array.dtype.kind not in "biuf":
            raise Wrong(
                f"With {said}, {self.name} returns {say.kind(value)}, which cannot be read as "
                f"an array of numbers. {needed}"
            )
        return array

    def named(self, names: Collection[str], said: str, **inputs: Any) -> str:
        """Call the function and return its answer, which must be one of the `names`."""
        got = self.raw(said, **inputs).value
        if not isinstance(got, str) or got not in names:
            shown = say.show(got) if isinstance(got, str) else "its answer"
            count = {3: "three", 5: "five"}[len(names)]
            raise Wrong(
                f"With {said}, {self.name} returns {shown}, {say.kind(got)} and none of the "
                f"{count} names {', '.join(map(repr, names))}."
            )
        return got

    def expect(
        self,
        want: Any,
        mistakes: Mistakes | None = None,
        why: str = "",
        said: str = "",
        **inputs: Any,
    ) -> Array:
        """Call the function; raise Wrong unless it returns `want`.

        Parameters
        ----------
        want : array_like
            The right answer.
        mistakes : mapping from sentence to array_like
            What is said to an answer that equals this known wrong one.
        why : str
            What is said to any other wrong answer.
        said : str
            The inputs in words; made from `inputs` when empty.
        """
        said = said or say.inputs(inputs)
        got = self.array(said, **inputs)
        self.judge(got, want, mistakes, why, said)
        return got

    def judge(
        self,
        got: Array,
        want: Any,
        mistakes: Mistakes | None = None,
        why: str = "",
        said: str = "",
        part: str = "",
    ) -> None:
        """Raise Wrong unless the array `got`, or this `part` of an answer, equals `want`."""
        right = np.asarray(want)
        if same(got, right):
            return
        head = self._difference(got, right, said, part or f"the answer of {self.name}")
        if got.ndim != right.ndim and same(got.squeeze(), right.squeeze()):
            raise Wrong(f"{head} {_axis_of_one(got.ndim, right.ndim)}")
        for sentence, wrong in (mistakes or {}).items():
            if same(got, np.asarray(wrong)) and not same(right, np.asarray(wrong)):
                raise Wrong(f"{head} {sentence}")
        raise Wrong(f"{head} {why}".strip())

    def steps(self, **inputs: Any) -> int:
        """Return how many Python instructions a call executes."""
        return self.raw(count_steps=True, **inputs).steps

    def peak_bytes(self, **inputs: Any) -> int:
        """Return the most memory that a call holds at once, in bytes, beyond its inputs."""
        already = tracemalloc.is_tracing()
        if not already:
            tracemalloc.start()
        try:
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            self.raw(**inputs)
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            if not already:
                tracemalloc.stop()

    @staticmethod
    def said(**inputs: Any) -> str:
        """Write inputs in words."""
        return say.inputs(inputs)

    @staticmethod
    def _difference(got: Array, want: Array, said: str, part: str) -> str:
        if got.shape != want.shape:
            if max(got.size, want.size) <= say.FEW:
                return f"With {said}, {part} is {say.show(got)}; it should be {say.show(want)}."
            return f"With {said}, {part} is {_form(got.shape)}; it should be {_form(want.shape)}."
        if got.size <= say.FEW:
            texts = say.pair(got, want)
            return f"With {said}, {part} is {texts[0]}; it should be {texts[1]}."
        first = tuple(np.argwhere(~_close(got, want))[0].tolist())
        texts = say.pair(got[first], want[first])
        place = ", ".join(str(i) for i in first)
        return f"With {said}, entry [{place}] of {part} is {texts[0]}; it should be {texts[1]}."

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

    def _check_ended(
        self, outcome: guard.Outcome, said: str, limit: float, handed: list[Any]
    ) -> None:
        self.hung = outcome.timed_out
        if outcome.timed_out:
            raise Wrong(
                f"With {said}, {self.name} was still running after {limit:.2g} seconds and "
                "was stopped. Look at the condition that should end its loop."
            )
        if isinstance(outcome.error, NotImplementedError):
            raise Wrong(
                f"{self.name} is still the empty template. Write your code in place of the line "
                "`raise NotImplementedError()`."
            )
        if isinstance(outcome.error, Wrong):  # a function handed in as input had a complaint
            raise Wrong(str(outcome.error))
        if outcome.error is not None:
            what = say.error(outcome.error, self.function)
            vector = any(isinstance(v, Array) and v.ndim == 1 for v in handed)
            counted = vector and isinstance(outcome.error, np.exceptions.AxisError)
            advice = " A single vector has only one axis; count from the end: −1." * counted
            raise Wrong(f"With {said}, {self.name} stopped with {what}.{advice}")
        self.progress += 1

    def _check_untouched(self, inputs: Mapping[str, Any], handed: list[Any]) -> None:
        for (name, before), after in zip(inputs.items(), handed, strict=True):
            if isinstance(before, Array) and not np.array_equal(before, after, equal_nan=True):
                raise Wrong(
                    f"{self.name} changes the {name} it was given, from {say.show(before)} to "
                    f"{say.show(after)}, and its caller still needs it. Compute in a new array."
                )


def same(got: Array, want: Array) -> bool:
    """Tell whether two arrays agree in shape and, to the precision of `got`, in value."""
    return got.shape == want.shape and bool(_close(got, want).all())


def _close(got: Array, want: Array) -> Array:
    half, single = (got.dtype.kind == "f" and got.dtype.itemsize == size for size in (2, 4))
    tolerance = 2e-2 if half else 1e-4 if single else 1e-8
    with np.errstate(all="ignore"):
        return np.isclose(
            got.astype(float), want.astype(float), rtol=tolerance, atol=tolerance, equal_nan=True
        )


def _axis_of_one(got: int, want: int) -> str:
    if got < want:
        return "The numbers are right; an axis of length one is missing."
    alone = "; the answer is a single number." if want == 0 else "."
    return f"An axis of length one is left over{alone}"


def _form(shape: tuple[int, ...]) -> str:
    return f"an array of shape {shape}" if shape else "a single number"
