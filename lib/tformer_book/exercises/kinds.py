"""What an answer may be: an array, one number, several arrays, or a name; and when two are alike.

Each kind reads what an answer returned as a tuple of *parts*, compares part by part, and says how
a part differs. A chapter that needs another rule makes a kind of its own from one of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from tformer_book.exercises import compare, describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.whereabouts import whereabouts

Parts = tuple[Any, ...]


@dataclass(frozen=True)
class Array:
    """An array of numbers or of True and False, or a single one.

    Attributes
    ----------
    by : callable or None
        What is compared, where many answers are right: a function of the parts. The parts
        themselves are then compared by their shapes only.
    called : str
        What is compared, in words, such as "the table of your dot products".
    weak : bool
        An answer of this kind says so little that a mutant has to agree with it on every case, and
        that each case must say itself why its answer is right.
    """

    weak: ClassVar[bool] = False
    by: Callable[..., Any] | None = None
    called: str = ""

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the parts of an answer, or raise Wrong where they cannot be read."""
        return (f.numbers(value, said),)

    def plain(self, value: Any) -> Parts:
        """Return the parts of a value of our own."""
        return (np.asarray(value),)

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong where parts that are compared by a function of them have a wrong shape."""
        for place, (part, right) in enumerate(zip(got, want, strict=True)):
            if part.shape != right.shape:
                raise Wrong(compare.misfit(part.shape, right.shape, said, self.name(f, place)))

    def seen(self, parts: Parts) -> Parts:
        """Return what is compared: the parts, or a function of them, which gets them as floats.

        True and False stay what they are. What is made of few digits counts as of few digits.
        """
        if not self.by:
            return parts
        made = np.asarray(self.by(*map(floats, parts)))
        few = [part.dtype for part in parts if part.dtype.kind == "f"]
        return (made.astype(min([made.dtype, *few], key=lambda d: d.itemsize)),) if few else (made,)

    def name(self, f: Answer, place: int) -> str:
        """Name a part of an answer."""
        return f"the answer of {f.name}"

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether two parts agree."""
        return compare.same(got, want)

    def head(self, f: Answer, got: Parts, want: Parts, said: str, place: int) -> str:
        """Say how a part of an answer differs."""
        called = self.called or self.name(f, place)
        return compare.difference(got[place], want[place], said, called)

    def asked(self, want: Parts) -> str:
        """Say what form an answer should have, by the right parts; "" where that says nothing."""
        return "" if self.by or len(want) > 1 else compare.asked(want[0])

    def form(self, got: Any, want: Any) -> str:
        """Say that a part has another form than is asked for; "" if it has not."""
        return "" if self.by else compare.form(got, want)

    def remark(self, got: Any, want: Any) -> str:
        """Say what the two parts alone show about the mistake; "" if nothing."""
        return compare.axis_of_one(got, want) or compare.last_digits(got, want)

    def where(self, got: Any, want: Any) -> str:
        """Say which entries of a part are wrong; "" if there is nothing to say."""
        return whereabouts(got, want)


@dataclass(frozen=True)
class Number(Array):
    """One number within a tolerance; a near miss is told as such.

    Attributes
    ----------
    within : float
        Largest error allowed, beside `relative`.
    relative : float
        Largest error allowed, as a share of the right number.
    near : float
        Up to which share of the right number an error counts as a near miss.
    """

    within: float = 0.0
    relative: float = 0.0
    near: float = 0.08

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the one number, also from an array of length one."""
        array = f.numbers(value, said)
        return (array.reshape(()) if array.size == 1 else array,)

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether the number lies within the tolerance."""
        if got.shape != want.shape:
            return False
        with np.errstate(invalid="ignore"):
            error = np.abs(got.astype(float) - want)
            allowed = self.within + (self.relative + compare.rounding(got)) * np.abs(want)
        near = (error <= allowed) & np.isfinite(want)  # a share of ∞ would allow everything
        return bool(np.all(near | np.isclose(got, want, 1e-13, 0, equal_nan=True)))

    def remark(self, got: Any, want: Any) -> str:
        """Say that no number came, or that it is close."""
        if got.shape != () or not np.isfinite(got):
            return "One finite number is asked for."
        error, right = abs(float(got) - float(want)), float(want)
        exact = self.within + self.relative * abs(right) < 1e-6 * abs(right)
        if exact or error >= self.near * abs(right):
            return ""
        allowed = describe.show(self.within + self.relative * abs(right), 2)
        return (
            f"That is close, but not close enough: it is off by {describe.show(error, 2)}, and "
            f"{allowed} is allowed. Random draws leave such errors, and so do approximate formulas "
            "and grids that are coarse or end too early."
        )


@dataclass(frozen=True)
class Several(Array):
    """Several arrays, by their names in the order of the answer.

    Attributes
    ----------
    names : tuple of str
        Of the arrays.
    scalars : bool
        Whether all are single numbers, which may come in one array.
    """

    names: tuple[str, ...] = ()
    scalars: bool = False

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the arrays, or raise Wrong where there is another number of them."""
        return tuple(parts(f, value, said, self.names, self.scalars))

    def plain(self, value: Any) -> Parts:
        """Return the arrays of a value of our own."""
        return tuple(np.asarray(part) for part in value)

    def name(self, f: Answer, place: int) -> str:
        """Name an array."""
        return f"your {self.names[place]}"


@dataclass(frozen=True)
class Digits(Several):
    """Several numbers, of which some digits are compared.

    Attributes
    ----------
    near : float
        Up to which share of the right number an error counts as a near miss.
    relative : float
        Largest error allowed, as a share of the right number.
    within : float
        Largest error allowed beside it, where the right number is 0 or nearly so.
    """

    scalars: bool = True
    near: float = 0.0
    relative: float = 1e-6
    within: float = 1e-9

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether the digits agree, whatever the size."""
        if got.shape != want.shape or got.dtype.kind not in "iufb":
            return False
        numbers = got.astype(float), want.astype(float)
        return bool(np.allclose(*numbers, rtol=self.relative, atol=self.within))

    def is_near(self, got: Any, want: Any) -> bool:
        """Tell whether a number is a near miss."""
        return got.shape == () and abs(float(got) - float(want)) < self.near * abs(float(want))


@dataclass(frozen=True)
class Marks(Array):
    """An array of places, or of True and False: so coarse that mistakes coincide by chance."""

    weak: ClassVar[bool] = True

    def remark(self, got: Any, want: Any) -> str:
        """Say that numbers came where True and False are asked for."""
        if want.dtype.kind == "b" and got.shape == want.shape and not np.isin(got, (0, 1)).all():
            return "Numbers came, and True or False is asked for each: compare them with something."
        return super().remark(got, want)


@dataclass(frozen=True)
class Name(Array):
    """One of some names."""

    weak: ClassVar[bool] = True
    names: tuple[str, ...] = ()

    def read(self, f: Answer, value: Any, said: str) -> Parts:
        """Return the name, or raise Wrong where it is none of them."""
        return (f.name_among(value, self.names, said),)

    def plain(self, value: Any) -> Parts:
        """Return a name of our own."""
        return (value,)

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether two names are the same."""
        return bool(got == want)

    def head(self, f: Answer, got: Parts, want: Parts, said: str, place: int) -> str:
        """Say which name was given, and which is right."""
        return f"With {said}, {f.name} says {str(got[0])!r}. It is {want[0]!r}:"

    def remark(self, got: Any, want: Any) -> str:
        """Say nothing: a name shows nothing but itself."""
        return ""


def floats(part: Any) -> Any:
    """Return an array of numbers as float64, and whatever else as it is: a mask stays a mask."""
    numbers = isinstance(part, np.ndarray) and part.dtype.kind in "iuf"
    return part.astype(float) if numbers else part


def parts(
    f: Answer, value: Any, said: str, names: tuple[str, ...], scalars: bool = False
) -> list[np.ndarray]:
    """Return the arrays that `value` holds, or say that they are not there."""
    listed = f"{', '.join(names[:-1])} and {names[-1]}"
    kind = "numbers" if scalars else "arrays"
    needed = f"it should return {describe.count(len(names))} {kind}: {listed}."
    apart = "" if scalars else " Return them one by one, with commas between them."
    if isinstance(value, np.ndarray) and value.ndim < 3 and not (scalars and value.ndim == 1):
        raise Wrong(
            f"With {said}, {f.name} returns one array, of shape {value.shape}; {needed}{apart}"
        )
    if not isinstance(value, tuple | list | np.ndarray):
        raise Wrong(f"With {said}, {f.name} returns {describe.kind(value)}; {needed}")
    if len(value) != len(names):
        raise Wrong(f"With {said}, the answer of {f.name} has length {len(value)}; {needed}")
    return [f.numbers(part, said) for part in value]
