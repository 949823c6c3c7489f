"""How exam papers write numbers: exactly, and only such as fit on paper."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

LARGEST = 9999
CLOSE = 1e-12


def exact(x: Any) -> Fraction:
    """The fraction that a number is, up to rounding.

    Raises
    ------
    ValueError
        If it is none with numerator and denominator of four digits at most.
    """
    nearest = Fraction(float(x)).limit_denominator(LARGEST)
    error = abs(float(x) - float(nearest))
    if error > CLOSE * max(1.0, abs(float(x))) or abs(nearest.numerator) > LARGEST:
        raise ValueError(f"{x} does not fit on paper")
    return nearest


def tex(value: Any) -> str:
    r"""A value as TeX: 5, \tfrac{1}{6}, (2, 3), a matrix; words as they are.

    Raises
    ------
    ValueError
        If a number does not fit on paper.
    """
    if isinstance(value, str):
        return value
    array = np.asarray(value)
    if array.ndim == 0:
        fraction = exact(array)
        if fraction.denominator == 1:
            return str(fraction.numerator)
        sign = "-" if fraction < 0 else ""
        return rf"{sign}\tfrac{{{abs(fraction.numerator)}}}{{{fraction.denominator}}}"
    if array.ndim == 1:
        return f"({', '.join(map(tex, array))})"
    rows = r" \\ ".join(" & ".join(map(tex, row)) for row in array)
    return rf"\begin{{bmatrix}} {rows} \end{{bmatrix}}"


def same(x: Any, y: Any) -> bool:
    """Whether two answers are the same: words word by word, numbers up to rounding."""
    if isinstance(x, str) or isinstance(y, str):
        return bool(x == y)
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=CLOSE, atol=CLOSE))


def choices(texts: Sequence[str]) -> str:
    """Things to choose from, lettered A, B, C, … in a list."""
    return "\n".join(
        f"- **{letter}** {text}" for letter, text in zip("ABCDEFGH", texts, strict=False)
    )
