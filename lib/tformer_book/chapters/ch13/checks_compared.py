"""Exercise 13.8: a smaller perplexity, and a smaller probability of the text."""

from __future__ import annotations

import numpy as np

from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import pair, show
from tformer_book.exercises.kinds import parts
from tformer_book.exercises.registry import exercise

Array = np.ndarray
LEAST = 0.01
"""By which share two numbers have to differ."""
TEXTS = (
    "so it",
    "a b",
    "The animal did not cross the street because it was too wide.",
    "Die Straße war zu breit.",
    "I a m w i d e .",
    "道 は広すぎた",
    "it was 1999 " * 200 + "and so on",
)

_EXCHANGED = "The two are exchanged: the losses of the words come first."
_SPACES = "Spaces are characters as well: each has a loss."
_BYTES = "You counted bytes; a character may have several."
_NEGATIVE = "A loss is −ln of a probability, so it is never below 0."
_AGREE = "Here the model of words is better, and shows it by the smaller perplexity."
_BETTER = (
    "Then the model of characters is really better, whatever the perplexities: a small loss a "
    "token is not enough, the losses of all characters have to add up to more."
)
_SAME = (
    "The two give the text the same probability, or nearly so, and neither is worse: let the "
    "characters lose more in all, by more than one in a hundred."
)
_EQUAL = (
    "The perplexities are equal, or nearly so, and mislead nobody: let that of the characters be "
    "smaller by more than one in a hundred."
)


def _losses(text: str, factor: float = 0.5, spaces: bool = True) -> tuple[Array, Array]:
    """A model that loses 1 a word, and one between 1 and that share of it (0 to 1) a character."""
    n, size = len(text.split()), len(text) if spaces else len(text.replace(" ", ""))
    least = n / size
    return np.ones(n), np.full(size, least + factor * (1 - least))


@exercise(
    "13.8",
    praise="In seven texts, of German and Japanese too, the worse model has the smaller "
    "perplexity.",
    hints=(
        "What belongs to one token, and what to the whole text? Of which are there more, words or "
        "characters?",
        "Let each of n words cost 1. What may one of m characters cost at most, if its perplexity "
        "is to be smaller? What must it cost at least, if all of them are to cost more than n?",
        "Less than 1 and more than n / m: take something between the two.",
    ),
    mutants={
        _EXCHANGED: lambda text: _losses(text)[::-1],
        _SPACES: lambda text: _losses(text, spaces=False),
        _BYTES: lambda text: (
            np.ones(len(text.split())),
            np.full(len(text.encode()), (1 + len(text.split()) / len(text.encode())) / 2),
        ),
        _NEGATIVE: lambda text: tuple(-part for part in _losses(text)),
        _AGREE: lambda text: _losses(text, factor=1.5),
        _BETTER: lambda text: _losses(text, factor=-0.5),
        _SAME: lambda text: _losses(text, factor=0),
        _EQUAL: lambda text: _losses(text, factor=1),
    },
)
def mislead(f: Answer) -> None:
    """Losses of the words and of the characters of a text."""
    for text in TEXTS:
        said = f.said(text=text)
        got = parts(f, f.raw(said, text=text).value, said, ("words", "characters"))
        _check_shapes(f, got, text, said)
        words, characters = (part.astype(float) for part in got)
        for name, losses in (("word", words), ("character", characters)):
            if not (np.isfinite(losses).all() and (losses >= 0).all()):
                bad = losses[~(losses >= 0) | ~np.isfinite(losses)][0]
                why = _NEGATIVE if bad < 0 else "It should be a finite number."
                raise Wrong(f"With {said}, {f.name} gives a {name} the loss {show(bad)}. {why}")
        _judge(words, characters, said)


def _check_shapes(f: Answer, got: list[Array], text: str, said: str) -> None:
    shapes = [(len(text.split()),), (len(text),)]
    found = [part.shape for part in got]
    if found == shapes:
        return
    why = ""
    if found == shapes[::-1]:
        why = f" {_EXCHANGED}"
    elif found[1] == (len(text.replace(" ", "")),):
        why = f" {_SPACES}"
    elif found[1] == (len(text.encode()),):
        why = f" {_BYTES}"
    raise Wrong(
        f"With {said}, {f.name} returns arrays of the shapes {found[0]} and {found[1]}. The text "
        f"has {shapes[0][0]} words and {shapes[1][0]} characters.{why}"
    )


def _judge(words: Array, characters: Array, said: str) -> None:
    """Compare what is said of a token, and what of the text."""
    with np.errstate(over="ignore"):
        a, b = (float(np.exp(losses.mean())) for losses in (words, characters))
    p, q = float(words.sum()), float(characters.sum())
    head = (
        f"With {said}, the words lose {show(p)} nats in all and have the perplexity {show(a)}; "
        f"the characters lose {_beside(q, p)} and have {_beside(b, a)}."
    )
    apart = float(characters.mean() - words.mean())  # of the logarithms, which never overflow
    smaller, worse = apart < np.log(1 - LEAST), q > p * (1 + LEAST)
    if smaller and worse:
        return
    if smaller:
        raise Wrong(f"{head} {_SAME if q > p * (1 - LEAST) else _BETTER}")
    if worse:
        raise Wrong(f"{head} {_EQUAL if apart < np.log(1 + LEAST) else _AGREE}")
    raise Wrong(f"{head} The perplexity should be smaller, and the loss of the text larger.")


def _beside(one: float, other: float) -> str:
    """A number with enough digits to tell it from another, unless they are the same."""
    return show(one) if np.isclose(one, other) else pair(one, other)[0]
