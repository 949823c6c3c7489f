"""One line of a document: what stands there, what it claims, and what comes out when it is run."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, partial
from importlib import import_module
from importlib.resources import files
from typing import Any

import numpy as np

__all__ = ["VERDICTS", "Document", "Line", "Number", "read"]

VERDICTS = ("agrees", "rounded", "loose", "wrong")
"""From the best to the worst; what is given, such as a table to start from, has none."""
WRITTEN = re.compile(r"(?<![\w.])[-+−]?\d+(?:\.\d+)?(?:[eE]-?\d+)?")
Cases = Mapping[str, bool]


@dataclass(frozen=True)
class Number:
    """A printed number beside the one that comes out."""

    printed: str
    right: float

    @property
    def verdict(self) -> str:
        """Whether all printed digits are right; if not, whether the last is off by one at most.

        A number without a point is not rounded: it is right or wrong.
        """
        text = self.printed.replace("−", "-")
        unit = 10.0 ** int(Decimal(text).as_tuple().exponent)
        error = abs(float(text) - self.right)
        if "." not in text:
            return "agrees" if error < 1e-9 else "wrong"
        slack = 1e-9 * unit
        return (
            "agrees"
            if error <= unit / 2 + slack
            else "rounded"
            if error <= unit + slack
            else "wrong"
        )

    def __str__(self) -> str:
        """The right number, with as many digits as are printed; one more where those do not do."""
        text = self.printed.replace("−", "-")
        digits = max(0, -int(Decimal(text).as_tuple().exponent))
        if self.verdict == "wrong" and abs(self.right - round(self.right)) > 1e-9:
            digits = max(digits, 4)
        return f"{self.right:.{digits}f}".replace("-", "−")


@dataclass(frozen=True, eq=False)
class Line:
    """One line of a document.

    Attributes
    ----------
    found : a few words, or numbers as they are printed, by which a reader finds the line.
    says : what is claimed, in our words.
    see : labels of the book where the reason stands, or a chapter: "21".
    why : the reason, or what goes wrong.
    right : gives the numbers that come out, in the order in which they are printed.
    printed : the numbers to be compared; all in `found`, if left out.
    cases : gives what was tried, and whether the claim held.
    stated : the verdict on what cannot be run; `why` then names a source.
    """

    found: str
    says: str = ""
    see: str = ""
    why: str = ""
    right: Callable[[], Any] | None = None
    printed: str = ""
    cases: Callable[[], Cases] | None = None
    stated: str = ""

    @cached_property
    def numbers(self) -> list[Number]:
        """The printed numbers, each with the right one; none unless there is something to compare.

        Raises
        ------
        ValueError
            If not as many come out as are printed.
        """
        if self.right is None:
            return []
        texts = WRITTEN.findall(self.printed or self.found)
        found = np.ravel(np.asarray(self.right(), dtype=float)).tolist()
        if len(texts) != len(found):
            raise ValueError(f"{self.found}: {len(texts)} numbers printed, {len(found)} computed")
        return [Number(text, value) for text, value in zip(texts, found, strict=True)]

    @cached_property
    def tried(self) -> Cases:
        """What was tried, and whether the claim held."""
        return self.cases() if self.cases else {}

    @property
    def verdict(self) -> str:
        """The worst of its numbers; or whether the claim held in all cases, in some, or in none."""
        if self.numbers:
            return max((number.verdict for number in self.numbers), key=VERDICTS.index)
        if self.tried:
            held = set(self.tried.values())
            return "loose" if len(held) > 1 else "agrees" if held == {True} else "wrong"
        return self.stated

    @property
    def kind(self) -> str:
        """How it was judged: numbers compared, run, or by a source; or not, because it is given."""
        if self.right or self.cases:
            return "compared" if self.right else "run"
        return "given" if self.stated == "given" else "by a source"


@dataclass(frozen=True, eq=False)
class Document:
    """One explanation in circulation: its title, what it is, and its lines by section."""

    title: str
    about: str
    sections: Mapping[str, Sequence[Line]]
    names: tuple[str, ...] = ()
    """Printed numbers that claim nothing: dates, and numbers of things."""

    @property
    def lines(self) -> list[Line]:
        """All lines, in their order."""
        return [line for section in self.sections.values() for line in section]


@cache
def read(name: str) -> Document:
    """Return a document by the name of its file in `documents/`.

    `compare` and `runs` name a function of this package that gives the numbers, or what was tried;
    `at` holds the arguments of the first.

    Raises
    ------
    ValueError
        If a line has another key, or if it is not judged in just one way.
    """
    text = (files(__package__) / "documents" / f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    sections = {s["title"]: [_line(**row) for row in s["line"]] for s in table["section"]}
    return Document(table["title"], table["about"], sections, tuple(table.get("names", ())))


def _line(
    compare: str = "",
    at: Sequence[Any] = (),
    runs: str = "",
    verdict: str = "",
    **text: str,
) -> Line:
    if [bool(compare), bool(runs), bool(verdict)].count(True) != 1:
        raise ValueError(f"{text['found']}: not judged in just one of three ways")
    right = partial(_demonstration(compare), *at) if compare else None
    return Line(**text, right=right, cases=_demonstration(runs) if runs else None, stated=verdict)


def _demonstration(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(".")
    found: Callable[..., Any] = getattr(import_module(f"{__package__}.{module}"), function)
    return found
