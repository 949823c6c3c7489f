"""Say what a wrong answer looks like beside the right one, where that holds in every trial.

Two trials at least must show it, so that no lucky number is taken for a reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from typing import Any

import numpy as np

from tformer_book.exercises import describe
from tformer_book.exercises.compare import same
from tformer_book.exercises.describe import show
from tformer_book.exercises.kinds import Array, Several
from tformer_book.exercises.table import Trial

Pair = tuple[np.ndarray, np.ndarray]

TURNED: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "The sign is reversed.": np.negative,
    "The table is transposed: rows and columns are exchanged.": lambda right: (
        right.mT if right.ndim > 1 else right
    ),
    "The numbers are cut to whole ones. `//` and `int` do that, and an array of whole numbers that "
    "is written into.": np.trunc,
}
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "0, whatever is asked": np.zeros_like,
    "the square of what it should be": np.square,
    "the root of what it should be": np.sqrt,
    "exp of what it should be": np.exp,
    "the logarithm of what it should be": np.log,
    "one over what it should be": np.reciprocal,
    "1 minus what it should be": lambda right: 1 - right,
    "what it should be without its sign": np.abs,
}
MADE: dict[str, Callable[[np.ndarray], np.ndarray]] = {  # of arrays: what was made of the right one
    "Every row is the right first row.": lambda y: y * 0 + y[..., :1, :],
    "Every entry of a row is its right first entry.": lambda y: y * 0 + y[..., :1],
    "Each row is the right one divided by its sum.": lambda y: y / y.sum(axis=-1, keepdims=True),
    "Each row is the right one divided by its length.": lambda y: (
        y / np.linalg.norm(y, axis=-1, keepdims=True)
    ),
    "In each row, the right entries are added up one after another.": lambda y: y.cumsum(axis=-1),
    "What should be below 0 is 0.": lambda y: np.maximum(y, 0),
    "What should be above 1 is 1.": lambda y: np.minimum(y, 1),
    "That is the sum of all that should be returned.": np.sum,
    "That is the mean of all that should be returned.": np.mean,
    "That is the largest of all that should be returned.": np.max,
    "That is the sum of each row that should be returned.": lambda y: y.sum(axis=-1),
    "That is the mean of each row that should be returned.": lambda y: y.mean(axis=-1),
    "That is the place of the largest in each row that should be returned.": lambda y: y.argmax(
        axis=-1
    ),
    "The last axis is missing: of each row only the first entry came.": lambda y: y[..., 0],
}
FACTORS = {
    "2": 2.0,
    "3": 3.0,
    "4": 4.0,
    "5": 5.0,
    "6": 6.0,
    "8": 8.0,
    "10": 10.0,
    "100": 100.0,
    "1000": 1000.0,
    "√2": 2**0.5,
    "π": math.pi,
    "2π": 2 * math.pi,
    "ln 2": math.log(2),
    "ln 10": math.log(10),
    "log₂ 10": math.log2(10),
}
UNITS = {  # what a factor or its inverse is commonly the sign of
    "100": "A share and its per cent differ so.",
    "ln 2": "Bits and nats differ so, as logarithms to base 2 and natural ones do.",
    "ln 10": "Logarithms to base 10 and natural ones differ so.",
    "log₂ 10": "Logarithms to base 10 and to base 2 differ so.",
}
FEW = 2e-3  # the largest error, beside the largest number, of an answer that is right but coarse
SIZES: dict[str, Callable[[Any], float | None]] = {  # of an input; None if it has no such size
    "{}": lambda x: x if type(x) is int and x > 0 else None,
    "the size of the last axis of {}": lambda x: _length(x, -1),
    "the size of the last axis but one of {}": lambda x: _length(x, -2),
    "how many numbers are in {}": lambda x: x.size if _length(x, -2) else None,
    "how many characters are in {}": lambda x: len(x) if isinstance(x, str) else None,
    "how many bytes are in {}": lambda x: len(x.encode()) if isinstance(x, str) else None,
    "how many words are in {}": lambda x: len(x.split()) if isinstance(x, str) else None,
    "how many are in {}": lambda x: len(x) if isinstance(x, list | tuple) else None,
}
POWERS = {"n": 1.0, "1/n": -1.0, "√n": 0.5, "1/√n": -0.5}


def resemblance(trials: Sequence[Trial], place: int) -> str:
    """Return a sentence that holds in all trials for one part of the answer, or ""."""
    if _only_stacks_are_wrong(trials):
        return (
            "One example alone comes out right, and every stack goes wrong. Leading axes only "
            "stack examples: each example has its own answer."
        )
    if any(trial.error for trial in trials):
        return ""
    pairs = [(trial.got[place], trial.want[place]) for trial in trials]
    if not all(isinstance(x, np.ndarray) and x.dtype.kind in "iuf" for pair in pairs for x in pair):
        return ""
    for sentence, turned in TURNED.items():
        if _always(pairs, partial(_same_turned, turned)):
            return sentence
    negative = any((right < 0).any() for _, right in pairs)
    for words, function in FUNCTIONS.items():
        if (function is not np.abs or negative) and _always(
            pairs, partial(_same_turned, _of_floats(function))
        ):
            return f"{_every(pairs)} {words}."
    for sentence, made in MADE.items():
        if _always(pairs, partial(_made_of, made)):
            return sentence
    return (
        _rounded(pairs)
        or _factor(trials, pairs)
        or _offset(pairs)
        or _given(trials, pairs)
        or _order(pairs)
    )


def exchanged(trials: Sequence[Trial], kind: Array) -> str:
    """Say that all parts of the answer are right, and stand in another order; "" if not."""
    wrong = sum(bool(trial.text) for trial in trials)
    if (
        not isinstance(kind, Several)
        or kind.by
        or wrong < 2
        or any(trial.error for trial in trials)
    ):
        return ""
    for order in permutations(range(len(kind.names))):
        if all(kind.same(t.got[i], t.want[j]) for t in trials for j, i in enumerate(order)):
            first, *others = kind.names
            return f"All are right, and stand in another order: {first} first, then {_and(others)}."
    return ""


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _every(pairs: list[Pair]) -> str:
    """Begin a sentence on all numbers, or on the only one of each trial."""
    return "Every number is" if any(right.ndim for _, right in pairs) else "It is always"


def _always(pairs: list[Pair], alike: Callable[[np.ndarray, np.ndarray], bool]) -> bool:
    """Tell whether all answers are like the right one in some way, and two or more are wrong."""
    wrong = sum(not same(got, right) for got, right in pairs)
    return wrong > 1 and all(alike(got, right) for got, right in pairs)


def _same_turned(
    turned: Callable[[np.ndarray], np.ndarray], got: np.ndarray, right: np.ndarray
) -> bool:
    return same(got, turned(right))


def _made_of(made: Callable[[np.ndarray], np.ndarray], got: np.ndarray, right: np.ndarray) -> bool:
    """Tell whether an answer is made of an array that is right; a single number is made of none."""
    if right.ndim < 1 or not right.size:
        return same(got, right)
    try:
        with np.errstate(all="ignore"):
            return same(got, np.asarray(made(right.astype(float))))
    except IndexError:  # it has too few axes
        return False


def _of_floats(function: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray]:
    def turned(right: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return function(right.astype(float))

    return turned


def _rounded(pairs: list[Pair]) -> str:
    """Say that all numbers are right and rounded, in every trial."""
    for digits in range(7):
        if _always(pairs, partial(_same_turned, partial(_round, digits))):
            places = f"{digits} digits after the point" if digits else "whole numbers"
            return f"The numbers are right, and rounded to {places}."
    return ""


def _round(digits: int, right: np.ndarray) -> np.ndarray:
    return right.round(digits)


def _offset(pairs: list[Pair]) -> str:
    """Say that all numbers are off by one and the same number, in every trial."""
    got, right = next((pair for pair in pairs if pair[0].size and pair[1].size), pairs[0])
    if got.shape != right.shape or not got.size:
        return ""
    off = float(got.flat[0]) - float(right.flat[0])
    if not math.isfinite(off) or not _always(pairs, partial(_same_turned, lambda y: y + off)):
        return ""
    return f"{_every(pairs)} too {'large' if off > 0 else 'small'} by {show(abs(off))}."


def _given(trials: Sequence[Trial], pairs: list[Pair]) -> str:
    """Say that an input came back as it was given."""
    if sum(not same(got, right) for got, right in pairs) < 2:
        return ""
    for name, value in trials[0].case.inputs.items():
        inputs = [trial.case.inputs[name] for trial in trials]
        if isinstance(value, np.ndarray) and all(
            same(got, x) for (got, _), x in zip(pairs, inputs, strict=True)
        ):
            return f"That is {name} as it was given."
    return ""


def _factor(trials: Sequence[Trial], pairs: list[Pair]) -> str:
    rights = [right.astype(float) for _, right in pairs]
    gots = [got for got, _ in pairs]

    def times(factors: Sequence[float]) -> bool:
        made = [factor * right for factor, right in zip(factors, rights, strict=True)]
        return all(same(got, m) for got, m in zip(gots, made, strict=True))

    if sum(not same(got, right) for got, right in pairs) < 2:
        return ""
    for words, factor in FACTORS.items():
        for one, sign in ((words, 1), (f"1/{words}", -1)):
            for minus in (1, -1):
                if times([minus * factor**sign] * len(pairs)):
                    unit = f" {UNITS[words]}" if words in UNITS else ""
                    less = "−" * (minus < 0)
                    return f"{_every(pairs)} {less}{one} times what it should be.{unit}"
    for words, sizes in _sizes(trials):
        for name, power in POWERS.items():
            if times([float(n) ** power for n in sizes]):
                return f"{_every(pairs)} {_times(name, words)}"
        for name, step in {"(n − 1)/n": 1.0, "(n + 1)/n": -1.0}.items():
            if times([(n - step) / n for n in sizes]):
                return f"{_every(pairs)} {_times(name, words)}"
            if min(sizes) > step and times([n / (n - step) for n in sizes]):
                return f"{_every(pairs)} {_times('/'.join(reversed(name.split('/'))), words)}"
    return ""


def _times(name: str, words: str) -> str:
    """End a sentence on a factor made of a size n; an input has its own name."""
    if words.isidentifier():
        return f"{name.replace('n', words)} times what it should be."
    return f"{name} times what it should be, where n is {words}."


def _sizes(trials: Sequence[Trial]) -> Iterator[tuple[str, list[float]]]:
    """Yield what is a size in every trial, in words, and its values, if they are not all equal.

    Two lengths make another: how many bytes of a text, say, fall on each token.
    """
    lengths: dict[str, list[float]] = {}
    for name in trials[0].case.inputs:
        values = [trial.case.inputs[name] for trial in trials]
        for words, size in SIZES.items():
            found = [size(value) for value in values]
            if all(found):
                lengths[words.format(name)] = [float(n) for n in found if n]
    pairs = {
        f"{one} over {other}": [a / b for a, b in zip(lengths[one], lengths[other], strict=True)]
        for one, other in permutations(lengths, 2)
    }
    yield from ((words, n) for words, n in (lengths | pairs).items() if len(set(n)) > 1)


def _length(value: Any, axis: int) -> int | None:
    """Return the size of an axis of an array, None if there is none."""
    array = isinstance(value, np.ndarray) and value.ndim >= -axis
    return value.shape[axis] if array else None


def _order(pairs: list[Pair]) -> str:
    for axis, words in {-1: "entries", -2: "rows"}.items():
        for step, where in {1: "later", -1: "earlier"}.items():
            if _always(pairs, partial(_same_but_shifted, axis, step)):
                along = " along the last axis" if axis == -1 else ""
                return f"The {words}{along} are right, and stand one place {where}."
        if _always(pairs, partial(_same_turned, partial(_reversed, axis))):
            return f"The {words} are right, and stand in reverse order."
    for axis, words in {-2: "rows", 0: "entries along the first axis"}.items():
        if _always(pairs, partial(_same_in_any_order, axis)):
            return f"The {words} are right, and stand in another order."
    return ""


def _same_but_shifted(axis: int, step: int, got: np.ndarray, right: np.ndarray) -> bool:
    """Tell whether entries along an axis stand one place later, or earlier; two have to show it."""
    if got.shape != right.shape or right.ndim < -axis or right.shape[axis] < 3:
        return False
    got, right = (np.moveaxis(array, axis, 0)[::step] for array in (got, right))
    return same(got[1:], right[:-1])


def _reversed(axis: int, right: np.ndarray) -> np.ndarray:
    return np.flip(right, axis) if right.ndim >= -axis else right


def _same_in_any_order(axis: int, got: np.ndarray, right: np.ndarray) -> bool:
    if got.shape != right.shape or right.ndim <= (1 if axis else 0) or not right.size:
        return same(got, right)
    return same(*(_sorted(np.moveaxis(array, axis, 0)) for array in (got, right)))


def _sorted(slices: np.ndarray) -> np.ndarray:
    """Return slices along the first axis in the order of their numbers, rounded."""
    return slices[np.lexsort(slices.reshape(len(slices), -1).T.round(6))]


def _only_stacks_are_wrong(trials: Sequence[Trial]) -> bool:
    """Tell whether all inputs of fewest axes went right, and all with more went wrong."""
    axes = [_axes(trial) for trial in trials]
    if len({len(a) for a in axes}) != 1 or not axes[0]:
        return False
    fewest = [min(a) for a in zip(*axes, strict=True)]
    wrong = [bool(trial.text) for trial in trials]
    return [a != fewest for a in axes] == wrong and 1 < sum(wrong) < len(wrong) - 1


def few_digits(trials: Sequence[Trial], place: int, most: float = FEW) -> str:
    """Return a sentence on numbers that are right to some digits, or "".

    They are so, up to an error of `most` beside the largest number, in the first wrong trial and
    in most: far beyond the usual, what is lost may grow.
    """
    errors = [_error(trial, place) for trial in trials if trial.text]
    small = [error for error in errors if error <= most]
    if errors[0] > most or len(small) < 2 or 2 * len(small) < len(errors):
        return ""
    only = "and no more" if len(small) == len(errors) else "here, and to fewer elsewhere"
    return (
        f"The numbers are right to about {describe.count(int(-math.log10(max(small))))} digits "
        f"{only}. Do they pass through numbers of fewer digits, such as float32, or is something "
        f"small added?{' A difference quotient leaves such errors, too.' * (max(small) < 1e-5)}"
    )


def _error(trial: Trial, place: int) -> float:
    """Return the largest error of a part beside its largest number; ∞ where none can be told."""
    if trial.error:
        return math.inf
    got, right = trial.got[place], trial.want[place]
    if not all(isinstance(x, np.ndarray) and x.dtype.kind in "iuf" for x in (got, right)):
        return math.inf
    if got.dtype.kind != "f" or got.shape != right.shape or not got.size:
        return math.inf
    if not np.isfinite(got).all() or not np.isfinite(right).all():
        return math.inf
    return float(np.abs(got - right).max()) / (float(np.abs(right).max()) or 1.0)


def limit(trials: Sequence[Trial], place: int) -> str:
    """Say that a single number is never above, or never below, one that is the same in all trials.

    Five trials at least came out right.
    """
    if any(trial.error for trial in trials):
        return ""
    pairs = [(trial.got[place], trial.want[place], bool(trial.text)) for trial in trials]
    if not all(isinstance(x, np.ndarray) and x.shape == () for *pair, _ in pairs for x in pair):
        return ""
    wrong = [(float(got), float(right)) for got, right, text in pairs if text]
    ends = {got for got, _ in wrong}
    if len(ends) != 1 or not math.isfinite(end := ends.pop()) or len(pairs) < len(wrong) + 5:
        return ""
    sides = {math.copysign(1, right - end) for _, right in wrong}
    if len(sides) != 1:
        return ""
    side = sides.pop()
    if any((float(right) - end) * side > 0 for _, right, text in pairs if not text):
        return ""
    word = "more" if side > 0 else "less"
    return (
        f"It is never {word} than {show(end)}, and right as long as it should not be: a bound, a "
        "search that ends there, or a number that is put in for another."
    )


def _axes(trial: Trial) -> list[int]:
    return [v.ndim for v in trial.case.inputs.values() if isinstance(v, np.ndarray)]
