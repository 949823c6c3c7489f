r"""Exam questions: a function of a random generator to a statement, an answer and its marking.

How to write a question
-----------------------
A chapter brings six in `exam.py` (or several files whose names begin with `exam`), the page before
chapter 1 brings four, and they are numbered in the order in which they stand there::

    @question("Only differences count", minutes=8)
    def shifted(rng):
        a, b = distinct(rng, 2, 1, 9)
        weights = softmax(np.log([a, b]))
        return Item(
            statement=rf"A row has the scores $(\log {a}, \log {b})$. **(a)** Give its weights. …",
            answer=f"**(a)** ${tex(weights)}$. …",
            marking=((2, "both weights"), (1, "they add up to one")),
            given={"scores": (a, b)},
            values={"weights": weights},
            traps={"shares of the scores": ("weights", np.log([a, b]) / np.log([a, b]).sum())},
        )

- The statement asks for what a student can do on paper with closed book and no calculator; `tex`
  refuses a number that would not fit there. Two of six at least ask why, or for an error; mark
  them with ``asks="why"`` or ``"error"``, a proof with ``"proof"``.
- The answer is computed by the library, from what was drawn. A function of the same name in
  ``tests/chapters/chNN/exam_answers.py`` computes the `values` again by another way.
- `traps` are the common wrong answers. If one of them equals the right one, the numbers are drawn
  again. Other conditions are yours: `draw` tries until what it gets fits.
- Statement, answer and marking are Markdown with $TeX$. Nothing of them is shown in the book.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from zlib import crc32

import numpy as np

from tformer_book.chapters import load
from tformer_book.exams.describe import choices, same, tex

__all__ = [
    "Item",
    "Question",
    "choices",
    "distinct",
    "draw",
    "question",
    "questions",
    "same",
    "tex",
]

ASKS = ("compute", "why", "error", "proof")
TRIES = 10_000
T = TypeVar("T")


@dataclass(frozen=True)
class Item:
    """A question with its numbers drawn. Texts are Markdown.

    Attributes
    ----------
    statement : what the student reads.
    answer : what is right, in full.
    marking : points, and what they are for; the whole points of a question are their sum.
    given : what was drawn, enough to compute the values again.
    values : the answers as numbers, arrays or words; each stands in `answer` as `tex` writes it.
    traps : by what a student would have done, the value concerned and what would come out.
    """

    statement: str
    answer: str
    marking: tuple[tuple[int, str], ...]
    given: Mapping[str, Any]
    values: Mapping[str, Any]
    traps: Mapping[str, tuple[str, Any]]

    @property
    def points(self) -> int:
        """What a full answer earns."""
        return sum(points for points, _ in self.marking)

    @property
    def caught(self) -> list[str]:
        """The traps whose answer is the right one by accident."""
        return [why for why, (name, wrong) in self.traps.items() if same(self.values[name], wrong)]


@dataclass(frozen=True)
class Question:
    """A question whose numbers are not drawn yet."""

    number: str
    title: str
    minutes: int
    asks: str
    make: Callable[[np.random.Generator], Item]

    @property
    def chapter(self) -> int:
        """The chapter that brings it, the first part of its number."""
        return int(self.number.partition(".")[0])

    def item(self, seed: int) -> Item:
        """Draw it. The draw depends on the seed and on this question, not on its neighbours."""
        key = crc32(f"{self.make.__module__} {self.make.__name__}".encode())
        rng = np.random.default_rng([seed, key])
        return draw(lambda: self.make(rng), lambda item: not item.caught)


_ALL: dict[int, list[Question]] = {}


def question(
    title: str, *, minutes: int, asks: str = "compute"
) -> Callable[[Callable[[np.random.Generator], Item]], Callable[[np.random.Generator], Item]]:
    """Register a question of the chapter in whose folder the function stands."""

    def register(
        make: Callable[[np.random.Generator], Item],
    ) -> Callable[[np.random.Generator], Item]:
        if asks not in ASKS:
            raise ValueError(f"{make.__name__}: asks must be one of {', '.join(ASKS)}; got {asks}")
        chapter = int(make.__module__.split(".")[-2].removeprefix("ch"))
        before = _ALL.setdefault(chapter, [])
        before.append(Question(f"{chapter}.{len(before) + 1}", title, minutes, asks, make))
        return make

    return register


def questions(chapter: int) -> list[Question]:
    """The questions of a chapter, in order; none if it has no exam."""
    load("exam", chapter)
    return list(_ALL.get(chapter, []))


def draw(make: Callable[[], T], fits: Callable[[T], bool]) -> T:
    """Call `make` until what it gives fits.

    Raises
    ------
    RuntimeError
        If nothing fits in ten thousand tries: the condition asks too much.
    """
    for _ in range(TRIES):
        if fits(made := make()):
            return made
    raise RuntimeError(f"nothing drawn in {TRIES} tries fits")


def distinct(rng: np.random.Generator, n: int, low: int, high: int) -> list[int]:
    """Draw n different whole numbers from low to high, both included, in random order."""
    return [int(x) for x in rng.choice(np.arange(low, high + 1), size=n, replace=False)]
