"""Exercise 3.10: several heads that turn by veto."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise

LENGTHS = (12, 20)  # words in a sentence
TIMES, SHARE = 5, 0.9


@dataclass(frozen=True)
class Sentence:
    """Two nouns, and an adjective that fits the first and not the second.

    Attributes
    ----------
    right, wrong : kinds of the nouns, from 0.
    says : kinds that the adjective speaks of; `right` is among them, `wrong` is not.
    length : how many words there are, these three among them; the others have the key 0.
    """

    right: int
    wrong: int
    says: tuple[int, ...]
    length: int

    def weights(self, keys: np.ndarray) -> np.ndarray:
        """Return in each head the weights of both nouns, the adjective and another word, (H, 4)."""
        n = keys.shape[1]
        own = keys[[self.right, self.wrong]]
        adjective = keys[[n + kind for kind in self.says]].sum(axis=0, keepdims=True)
        rest = np.zeros((self.length - 3, n))
        return reference.softmax(np.concatenate([own, adjective, rest]).T)[:, :4]

    def __str__(self) -> str:
        said = " and ".join(map(str, self.says))
        return (
            f"nouns of kinds {self.right} and {self.wrong}, an adjective that says {said}, and "
            f"{self.length - 3} other words"
        )


def _sentences(n: int) -> Iterator[Sentence]:
    for length in LENGTHS:
        for right in range(n):
            for wrong in set(range(n)) - {right}:
                yield Sentence(right, wrong, (right,), length)
                for other in set(range(n)) - {right, wrong}:
                    yield Sentence(right, wrong, (right, other), length)


@exercise(
    "3.10",
    praise="For two to seven kinds, in every sentence with two nouns and an adjective of one or "
    "two kinds, the right noun gets at least five times the weight of the other.",
    hints=(
        "In the head of the right kind the noun has to win, in the head of the wrong kind it has "
        "to lose. To whom? Only the adjective can tell the two sentences apart.",
        "Let an adjective have a larger key than any noun in the heads of which it does not speak. "
        "In the head of which it does, it must not get in the way.",
        "The key of an adjective of two kinds is the sum of two rows. In a head of which it speaks "
        "the sum must be far below the key of the noun, although one of the two is the large one.",
    ),
)
def veto_keys(f: Answer) -> None:
    """W_K of n heads, a column each: nouns of a kind, then adjectives that say it."""
    for n in (2, 3, 4, 7):
        said = f.said(n=n)
        keys = f.numbers(f.raw(said, n=n).value, said)
        if keys.shape != (2 * n, n):
            side = " It lies on its side." * (keys.shape == (n, 2 * n))
            raise Wrong(
                f"With {said}, {f.name} returns the shape {keys.shape}; it should be "
                f"{(2 * n, n)}.{side}"
            )
        if not np.isfinite(keys).all():
            raise Wrong(f"With {said}, {f.name} holds numbers that are not finite.")
        for sentence in _sentences(n):
            _judge(said, sentence, keys.astype(float))


def _judge(said: str, sentence: Sentence, keys: np.ndarray) -> None:
    heads = sentence.weights(keys)
    right, wrong = heads.mean(axis=0)[:2]
    least = SHARE / len(heads)
    if right >= TIMES * wrong and right >= least:
        return
    asked = (
        f"at least {TIMES} times as much is asked for"
        if right < TIMES * wrong
        else f"at least {SHARE}/{len(heads)} is asked for the right one"
    )
    raise Wrong(
        f"With {said}, and a sentence with {sentence}, the right noun gets {say.show(right)} in "
        f"the mean of the heads and the other {say.show(wrong)}; {asked}. "
        f"{_why(sentence, keys, heads)}"
    )


def _why(sentence: Sentence, keys: np.ndarray, heads: np.ndarray) -> str:
    n = keys.shape[1]
    ours, theirs = heads[sentence.right], heads[sentence.wrong]
    if not keys[n:].any():
        return "The adjective has the key 0 in every head, so nothing knows which noun it fits."
    if ours[2] > 0.5:
        return (
            f"In head {sentence.right}, which should point at the right noun, the adjective draws "
            f"{say.show(ours[2])} of the weight."
        )
    if theirs[1] > 0.1:
        return (
            f"Head {sentence.wrong} still gives {say.show(theirs[1])} to the noun of its kind. Who "
            "should draw its weight away?"
        )
    if ours[0] < SHARE:
        return (
            f"In its own head the right noun gets {say.show(ours[0])}. There are "
            f"{sentence.length} words, and each counts."
        )
    return "Which head gives the other noun so much?"
