"""Why does an answer fail? Change one habit of NumPy under it, and see whether it gets further."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tformer_book.exercises.answer import Answer

Options = dict[str, Any]


class Habit(np.ndarray):
    """An array that does what an author may have meant where NumPy does something else.

    Attributes
    ----------
    because : str
        What NumPy does, said to an author who meant this.
    used : bool
        The difference has come into play.
    """

    because = ""
    used = False

    def _differs(self) -> None:
        type(self).used = True

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        result = super().__array_function__(func, types, args, kwargs)
        return result.view(type(self)) if type(result) is np.ndarray else result


class LastTwo(Habit):
    """In a stack of tables, `.T` exchanges the last two axes."""

    because = (
        "`.T`, like `transpose` without axes, reverses all axes, the leading ones too; `.mT` "
        "exchanges the last two."
    )

    @property
    def T(self) -> Any:
        return self.transpose()

    def transpose(self, *axes: Any) -> Any:
        if self.ndim > 2 and axes in ((), (None,)):
            self._differs()
            return self.mT
        return super().transpose(*axes)


class SideBySide(Habit):
    """`dot` takes two stacks of tables side by side, as `@` does."""

    because = (
        "`dot` multiplies every table of one stack with every table of the other; `@` takes the "
        "two stacks side by side."
    )

    def dot(self, other: Any, out: Any = None) -> Any:
        if self.ndim > 2 and np.ndim(other) > 2:
            self._differs()
            return self @ other
        return super().dot(other)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.dot and isinstance(args[0], SideBySide):
            return args[0].dot(args[1])
        return super().__array_function__(func, types, args, kwargs)


class Along(Habit):
    """Sums, maxima and norms go along the axis, with the options, that `_meant` returns."""

    def _meant(self, options: Options) -> Options:
        return options

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if func is np.linalg.norm and isinstance(args[0], Along):
            kwargs = args[0]._meant(kwargs)
        return super().__array_function__(func, types, args, kwargs)


def _along(name: str) -> Callable[..., Any]:
    plain = getattr(np.ndarray, name)

    def method(self: Along, axis: Any = None, **options: Any) -> Any:
        return plain(self, **self._meant({"axis": axis, **options}))

    return method


for _name in ("max", "mean", "min", "std", "sum", "var"):
    setattr(Along, _name, _along(_name))


class FromTheEnd(Along):
    """In a stack of tables, axis 0 is that of the rows, and any other from the front the last."""

    because = (
        "Counted from the front, an axis is another one as soon as more axes stand before it. "
        "Counted from the end, −1 is the last in every stack."
    )

    def _meant(self, options: Options) -> Options:
        axis = options.get("axis")
        if self.ndim > 2 and isinstance(axis, int) and axis >= 0:
            self._differs()
            return options | {"axis": -1 if axis else -2}
        return options

    def swapaxes(self, *axes: Any) -> Any:
        if self.ndim > 2 and set(axes) == {0, 1}:
            self._differs()
            return self.mT
        return super().swapaxes(*axes)

    def transpose(self, *axes: Any) -> Any:
        if self.ndim > 2 and axes in ((1, 0), ((1, 0),)):
            self._differs()
            return self.mT
        return super().transpose(*axes)


class Kept(Along):
    """An axis along which a sum is taken stays, with length one."""

    because = (
        "A sum, a maximum or a norm along an axis drops that axis; `keepdims=True` keeps it, with "
        "length one."
    )

    def _meant(self, options: Options) -> Options:
        if self.ndim > 1 and options.get("axis") is not None and "keepdims" not in options:
            self._differs()
            return options | {"keepdims": True}
        return options


HABITS: tuple[type[Habit], ...] = (LastTwo, SideBySide, FromTheEnd, Kept)


class AnyHabit(LastTwo, SideBySide, FromTheEnd, Kept):
    """All of them at once: until one comes into play, everything is as with NumPy's own arrays."""

    def _meant(self, options: Options) -> Options:
        return Kept._meant(self, FromTheEnd._meant(self, options))


TRIED: tuple[type[Habit], ...] = (AnyHabit, *HABITS)
"""The kinds of arrays that an answer may be handed."""


def because(test: Callable[[Answer], None], failed: Answer, progress: int) -> str:
    """Say which habit of NumPy made an answer fail after so much progress; "" if none did.

    A habit is to blame if the answer relies on it, and gets further in the test without it. Most
    answers rely on none of them, and are tried once more only; not at all without any array.
    """
    if failed.hung or not failed.arrays or not _retried(AnyHabit, test, failed, progress)[0]:
        return ""
    for habit in HABITS:
        if all(_retried(habit, test, failed, progress)):
            return habit.because
    return ""


def _retried(
    habit: type[Habit], test: Callable[[Answer], None], failed: Answer, progress: int
) -> tuple[bool, bool]:
    """Return whether a habit comes into play, and whether the answer gets further without it."""
    habit.used = False
    other = failed.again(habit)
    further = True
    try:
        test(other)
    except Exception:  # also a fault of the book, which the answer did not meet
        further = other.progress > progress
    return habit.used, further
