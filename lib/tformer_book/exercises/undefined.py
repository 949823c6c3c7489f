"""Say of nan and ∞ in an answer where they come from, before anything else is said of it."""

from __future__ import annotations

import re

import numpy as np

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Raised, Wrong
from tformer_book.exercises.table import Trial

KNOWN = ("nan", "∞", "0/0", "overflow", "underflow", "more than a float", "divi", "log", "are 0")
NO_NUMBER = {
    True: "nan is what 0/0, 0 · ∞, ∞ − ∞, ∞/∞ and roots of negative numbers give.",
    False: "A finite number is asked for. ∞ comes from an overflow or a division by 0, unless it "
    "was written.",
}
READ = "The inputs hold nan, and what is computed from nan is nan: leave those numbers out."
BEGAN = {  # what NumPy says, and what a reader is told
    r"overflow encountered in (.*)": r"an overflow: \1 gives more than the type can hold",
    r"divide by zero encountered in log.*": "the logarithm of 0, which is −∞",
    r"divide by zero encountered in .*": "a division by 0, which gives ∞",
    r"invalid value encountered in .*divide": "0/0 or ∞/∞, which has no value",
    r"invalid value encountered in (log.*|sqrt)": r"the \1 of a negative number",
    r"invalid value encountered in .*": "∞ − ∞ or 0 · ∞, which has no value",
}


def undefined(f: Answer, trial: Trial, sentence: str = "") -> str:
    """Say how nan or ∞ came into a part that should be finite; "" if none did.

    The answer is called once more, and stopped where the first of them arises. Nothing is said if
    the `sentence` that follows speaks of it.
    """
    if trial.place is None:
        return ""
    got, want = trial.got[trial.place], trial.want[trial.place]
    if not all(isinstance(x, np.ndarray) and x.dtype.kind in "biuf" for x in (got, want)):
        return ""
    if np.isfinite(got).all() or not np.isfinite(want).all() or want.dtype.kind == "b":
        return ""
    if any(word in sentence for word in KNOWN):
        return ""
    if np.isnan(got).any() and any(map(_holds_nan, trial.case.inputs.values())):
        return READ
    return _beginning(f, trial) or NO_NUMBER[bool(np.isnan(got).any())]


def _holds_nan(value: object) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind == "f" and bool(np.isnan(value).any())


def _beginning(f: Answer, trial: Trial) -> str:
    """Name the first operation with an undefined result, and its line."""
    try:
        with np.errstate(over="raise", divide="raise", invalid="raise"):
            f.raw(trial.case.words, **trial.case.handed)
    except Raised as raised:
        if isinstance(raised.error, FloatingPointError):
            for pattern, told in BEGAN.items():
                if found := re.fullmatch(pattern, str(raised.error)):
                    began = found.expand(told) + describe.at(raised.error, f.function)
                    return f"It begins with {began}."
    except Wrong:
        pass
    return ""
