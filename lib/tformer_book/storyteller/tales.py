"""Tales: a story of the small world, told of somebody who comes by and helps.

*Mia came by. The dog did not cross the river because it was too tired. The sun shone. So Mia woke
the dog.* A tale has three places that only reading settles: the name, which was said at the start;
the cure, which the trouble asks for; and who is helped, for which trouble and nouns must be put
together. Idle sentences stand now and then between, so that counting words finds none of them.

All choices are independent, and the tale shows them: its entropy is the sum of theirs.
"""

from functools import cache
from typing import NamedTuple

import numpy as np

from tformer.tokens import BPE
from tformer_book.world.stories import Stories, stories

__all__ = [
    *("IDLE", "IDLE_SHARE", "KINDS", "NAMES", "Tale", "Tales"),
    *("an_idle", "entropy", "parted", "tale", "text_of"),
]

NAMES = (
    *("Ada", "Ali", "Amir", "Bo", "Dana", "Eva", "Finn", "Hana", "Ines", "Ivo", "Jun", "Kofi"),
    *("Lea", "Mia", "Nils", "Omar", "Pia", "Ravi", "Sara", "Tara", "Tom", "Uma", "Yuki", "Zoe"),
)
IDLE = (
    " The sun shone.",
    " A bird sang.",
    " Some rain fell.",
    " A bell rang.",
    " Nobody spoke.",
)
"""Sentences that change nothing."""
IDLE_SHARE = 0.2
"""How often one stands after the first sentence, and as often after the second."""
KINDS = (
    *("name", "grammar", "noun", "verb", "second noun", "trouble"),
    *("name again", "cure", "patient"),
)
"""What can be asked of a tale. "grammar": words that no choice decides, and the idle ones."""


class Tale(NamedTuple):
    """A tale, in pieces.

    Attributes
    ----------
    pieces : tuple of str
        Words with the space before them; together they are the tale, with a new line at its end.
    kinds : tuple of str
        For each piece what is asked there, one of `KINDS`.
    """

    pieces: tuple[str, ...]
    kinds: tuple[str, ...]

    def __str__(self) -> str:
        return "".join(self.pieces)


def tale(story: str, name: str, first: str = "", second: str = "") -> Tale:
    """A story of `tformer_book.world.stories`, told of somebody.

    Parameters
    ----------
    story : str
        Such as those of `stories()`, words parted by spaces.
    name : str
        Who comes by.
    first, second : str
        Of `IDLE`, or nothing: what stands after the first sentence, and after the second.
    """
    trouble, cure = story.split(" . so they ")
    told = [*trouble.split(), "."]
    kinds = ["grammar"] * len(told)
    kinds[1], kinds[4], kinds[6], kinds[-2] = "noun", "verb", "second noun", "trouble"
    helped = cure.split()
    parts = [
        ([name], ["name"]),
        ([" came", " by", "."], None),
        (_cut(first), None),
        ([" The", *(f" {word}" for word in told[1:-1]), "."], kinds),
        (_cut(second), None),
        ([" So"], None),
        ([f" {name}"], ["name again"]),
        ([f" {helped[0]}", " the", f" {helped[2]}"], ["cure", "grammar", "patient"]),
        ([".", "\n"], None),
    ]
    return Tale(
        tuple(piece for pieces, _ in parts for piece in pieces),
        tuple(kind for some, kinds in parts for kind in kinds or ["grammar"] * len(some)),
    )


def an_idle(rng: np.random.Generator) -> str:
    """An idle sentence, or nothing, as often as tales have them."""
    return IDLE[rng.integers(len(IDLE))] if rng.random() < IDLE_SHARE else ""


def entropy(world: Stories) -> float:
    """What must be known to know a tale, in nats: no model has a smaller mean loss a tale."""
    choices = float(-(world.p * np.log(world.p)).sum())
    return choices + float(np.log(len(NAMES))) + 2 * _idle_entropy()


def _idle_entropy() -> float:
    s = IDLE_SHARE
    return float(-s * np.log(s / len(IDLE)) - (1 - s) * np.log(1 - s))


def text_of(world: Stories) -> str:
    """Every story of a world once, told of each name in turn, every second with idle sentences."""
    idle = (*IDLE, *[""] * len(IDLE))
    return "".join(
        str(tale(story, NAMES[i % len(NAMES)], idle[i % 10], idle[(i + 3) % 10]))
        for i, story in enumerate(world)
    )


class Tales:
    """Tales without end, as tokens: what a model reads while it is trained.

    Parameters
    ----------
    tokens : BPE
    world : Stories
        Whose stories are told.
    """

    def __init__(self, tokens: BPE, world: Stories) -> None:
        self.tokens, self.world = tokens, world
        self.start, self.so = tokens.encode("\n"), tokens.encode(" So")
        self.names = [
            (tokens.encode(f"{name} came by."), tokens.encode(f" {name}")) for name in NAMES
        ]
        self.idle = {sentence: tokens.encode(sentence) for sentence in ("", *IDLE)}
        self.told = [self._halves(story) for story in world]

    def _halves(self, story: str) -> tuple[list[int], list[int]]:
        """What stands before the second idle sentence, and what after the second name."""
        whole = str(tale(story, "\0"))
        before, after = whole.removeprefix("\0 came by.").split(" So \0")
        return self.tokens.encode(before), self.tokens.encode(after)

    def rows(self, rng: np.random.Generator, n: int, length: int) -> np.ndarray:
        """Rows of tokens, each a new line and then tales until it is full.

        Parameters
        ----------
        rng : numpy.random.Generator
        n, length : int
            How many rows, of how many tokens.

        Returns
        -------
        (n, length) integer array
        """
        return np.array([self._row(rng, length) for _ in range(n)])

    def _row(self, rng: np.random.Generator, length: int) -> list[int]:
        row = list(self.start)
        while len(row) < length:
            came, again = self.names[rng.integers(len(NAMES))]
            trouble, helped = self.told[rng.choice(len(self.world), p=self.world.p)]
            one, two = (self.idle[an_idle(rng)] for _ in range(2))
            for part in (came, one, trouble, two, self.so, again, helped):
                row += part
        return row[:length]


def _cut(sentence: str) -> list[str]:
    """An idle sentence as pieces."""
    words = sentence.removesuffix(".").split()
    return [*(f" {word}" for word in words), "."] if words else []


@cache
def parted() -> tuple[Stories, Stories]:
    """The world to learn from, and the one that is held out: no pair of nouns is in both."""
    return stories().split()
