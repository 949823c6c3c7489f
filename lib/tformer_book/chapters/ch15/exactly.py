"""What a way of writing gives, exactly: every course that chance can take, with its probability."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

__all__ = ["distribution"]

ZERO, ONE = Fraction(0), Fraction(1)


class Undecided:
    """A number from 0 to below 1, all alike, that is decided only as far as it is compared.

    It stands in for what a generator gives. Each comparison whose answer is open takes the next
    answer of a script; the probability of the script is the product of what each answer leaves.
    """

    def __init__(self, script: Script, low: Fraction = ZERO, high: Fraction = ONE) -> None:
        self.script, self.low, self.high = script, low, high

    def __mul__(self, factor: Any) -> _Times:
        return _Times(self, Fraction(float(factor)))

    __rmul__ = __mul__

    def __lt__(self, other: Any) -> bool:
        return self.below(Fraction(float(other)))

    def __ge__(self, other: Any) -> bool:
        return not self < other

    __le__, __gt__ = __lt__, __ge__  # a border has the probability 0

    def below(self, border: Fraction) -> bool:
        """Whether it is below a border, by the script where both may be."""
        if not self.low < border < self.high:
            return border >= self.high
        share = (border - self.low) / (self.high - self.low)
        if self.script.asks(share):
            self.high = border
            return True
        self.low = border
        return False


class _Times:
    """The product of such a number and a float."""

    def __init__(self, number: Undecided, factor: Fraction) -> None:
        self.number, self.factor = number, factor

    def __lt__(self, other: Any) -> bool:
        other = Fraction(float(other))
        return self.number.below(other / self.factor) if self.factor else other > 0

    def __ge__(self, other: Any) -> bool:
        return not self < other

    def __le__(self, other: Any) -> bool:
        return self < other if self.factor else float(other) >= 0

    def __gt__(self, other: Any) -> bool:
        return not self <= other


class Script:
    """Answers that were given before, then Yes to all; and how probable they are."""

    def __init__(self, answers: list[bool]) -> None:
        self.answers, self.asked, self.p = answers, 0, ONE

    def asks(self, share: Fraction) -> bool:
        """The next answer, where Yes has this probability."""
        if self.asked == len(self.answers):
            self.answers.append(True)
        answer = self.answers[self.asked]
        self.asked += 1
        self.p *= share if answer else 1 - share
        return answer


def distribution(write: Callable[..., Any]) -> dict[tuple[int, ...], Fraction]:
    """The exact probabilities of the texts that a way of writing gives: all scripts are tried.

    `write` takes what gives the next uniform number, and yields lists of words.
    """
    found: dict[tuple[int, ...], Fraction] = {}
    answers: list[bool] = []
    while True:
        script = Script(answers)
        text = tuple(word for words in write(partial(Undecided, script)) for word in words)
        found[text] = found.get(text, ZERO) + script.p
        answers = script.answers
        while answers and not answers[-1]:
            answers.pop()
        if not answers:
            return found
        answers[-1] = False
