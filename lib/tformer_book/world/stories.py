"""A small world of stories: a trouble, its cause and a remedy. All of them can be listed.

*The animal did not cross the street because it was too tired. So they woke the animal.* Nothing
before the adjective says which noun "it" is; the last noun must be found, for nobody can guess it.
Since every story can be listed, every entropy is exact, and no model can do better than it.

`stories()` lists the world as the book's opening page has it. Its options make other worlds of the
same form: words of no kind, frequent and rare words, an adverb that moves the places, and troubles
that leave open who is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

__all__ = ["ASKED", "CURES", "DID", "FAULTS", "WHO", "Stories", "fault", "patient", "stories"]

WHO: dict[str, tuple[str, ...]] = {
    "animal": (
        *("animal", "horse", "dog", "cow", "cat", "lion"),
        *("mouse", "elephant", "penguin", "donkey", "goose", "bear"),
    ),
    "wall": ("wall", "fence", "gate", "hedge", "tower", "ladder"),
    "road": ("street", "river", "bridge", "road", "lake", "field"),
    "food": ("cake", "soup", "pie", "stew", "bread", "apple"),
    "load": ("piano", "sofa", "bed", "wardrobe", "table", "harp"),
    "hole": ("door", "window", "hall", "tunnel", "cellar", "lift"),
}
"""The nouns, by what kind of thing they are."""

CURES = {
    "animal": {"tired": "woke", "lazy": "tickled", "shy": "praised", "sad": "kissed"},
    "wall": {"high": "lowered", "rusty": "painted"},
    "road": {"wide": "narrowed", "icy": "salted"},
    "food": {"hot": "cooled", "dry": "watered"},
    "load": {"fat": "squeezed", "heavy": "lightened"},
    "hole": {"narrow": "widened", "low": "raised"},
}
"""What a thing of each kind may be too much of, and what helps."""

DID = {
    "climb": ("animal", "wall"),
    "cross": ("animal", "road"),
    "eat": ("animal", "food"),
    "enter": ("load", "hole"),
    "stop": ("wall", "animal"),
    "tempt": ("road", "animal"),
    "please": ("food", "animal"),
    "admit": ("hole", "load"),
}
"""Who could have done what to whom."""

ANYBODY = {"dirty": "washed"}
"""The trouble of the ambiguous world, which everything can have."""
NONCE = ("wug", "dax", "blick", "fep", "toma", "zup")
ADVERB = "quite"
START = "."
"""Each story is read after the full stop of the one before it."""
ASKED = re.compile(
    rf"the (\w+) did not (?:{ADVERB} )?(\w+) the (\w+) because it was too (\w+) "
    r"\. so they (\w+) the (\w+) \."
)
"""What every story looks like: noun, verb, noun, trouble, cure, patient."""
FAULTS = ("no sentence", "wrong cure", "wrong patient", "wrong noun")


@dataclass(frozen=True, eq=False)
class Stories:
    """A world: all its stories, and how likely each is.

    Parameters
    ----------
    texts : sequence of str
        The stories, words parted by spaces.
    p : (n,) array
        Their probabilities.
    words : sequence of str
        Every word; a word's number is its place here. By default those of the stories, in
        alphabetical order.
    """

    texts: tuple[str, ...]
    p: np.ndarray
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.words:
            found = sorted({word for text in self.texts for word in text.split()})
            object.__setattr__(self, "words", tuple(found))

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def tokens(self, texts: Iterable[str] | None = None) -> np.ndarray:
        """Stories as numbers of words, each after the full stop of the story before it.

        Returns
        -------
        (n, T + 1) integer array
            A shorter story is filled up with -1.

        Raises
        ------
        ValueError
            If a word is none of this world.
        """
        number = {word: i for i, word in enumerate(self.words)}
        rows = []
        for text in self.texts if texts is None else texts:
            row = f"{START} {text}".split()
            for word in row:
                if word not in number:
                    raise ValueError(f"tokens: {word!r} is no word of this world, in {text!r}")
            rows.append([number[word] for word in row])
        longest = max(map(len, rows), default=1)
        return np.array([row + [-1] * (longest - len(row)) for row in rows], dtype=int)

    def entropies(self) -> np.ndarray:
        """The exact uncertainty of each word given all words before it, in nats.

        Returns
        -------
        (T,) array
            It adds up to the entropy of a story: no model has a smaller mean loss a story.
        """
        rows = self.tokens()
        found = [_entropy(rows[:, :t], self.p) for t in range(1, rows.shape[1] + 1)]
        return np.diff(found)

    def split(self, share: int = 6, seed: int = 0) -> tuple[Stories, Stories]:
        """Part the world by its pairs of nouns, in either order: to learn from, and to be asked.

        Parameters
        ----------
        share : int
            One pair in so many is held out, and *animal* with *street* as well.
        seed : int
            Which ones.

        Returns
        -------
        Two worlds without a common pair, whose words have the numbers that they have here. The
        probabilities of each add up to one.
        """
        pair = [tuple(sorted(_parts(text)[:3:2])) for text in self.texts]
        pairs = sorted(set(pair))
        order = np.random.default_rng(seed).permutation(len(pairs))
        held = {pairs[i] for i in order[: len(pairs) // share]} | {("animal", "street")}
        out = np.array([one in held for one in pair])
        return self._only(~out), self._only(out)

    def _only(self, kept: np.ndarray) -> Stories:
        texts = tuple(text for text, keep in zip(self.texts, kept, strict=True) if keep)
        return Stories(texts, self.p[kept] / self.p[kept].sum(), self.words)


def stories(
    ambiguous: bool = False, nonce: int = 0, zipf: float = 0.0, adverb: bool = False
) -> Stories:
    """List a world.

    Parameters
    ----------
    ambiguous : bool
        Everything can also be too *dirty*, and is then washed: who it was, no word tells.
    nonce : int
        So many invented nouns, up to six, may be a thing of any kind.
    zipf : float
        A noun, and a trouble, of rank r in its kind is drawn with a weight of r to the power of
        -zipf; by default all stories are alike.
    adverb : bool
        Every story stands there twice, the second time with an adverb after *not*.

    Raises
    ------
    ValueError
        If `nonce` is not 0 to 6, or `zipf` is negative.
    """
    if not 0 <= nonce <= len(NONCE):
        raise ValueError(f"stories: nonce must be 0 to {len(NONCE)}; got {nonce}")
    if not 0 <= zipf < np.inf:
        raise ValueError(f"stories: zipf must be a finite number, 0 or more; got {zipf}")
    who = {kind: [*nouns, *NONCE[:nonce]] for kind, nouns in WHO.items()}
    texts, weights = [], []
    for verb, kinds in DID.items():
        for nouns in product(*(enumerate(who[kind], 1) for kind in kinds)):
            if nouns[0][1] == nouns[1][1]:
                continue
            for kind, (_, noun) in zip(kinds, nouns, strict=True):
                troubles = CURES[kind] | (ANYBODY if ambiguous else {})
                for rank, (why, cure) in enumerate(troubles.items(), 1):
                    for extra in ("", f"{ADVERB} ")[: 1 + adverb]:
                        texts.append(
                            f"the {nouns[0][1]} did not {extra}{verb} the {nouns[1][1]} because "
                            f"it was too {why} . so they {cure} the {noun} ."
                        )
                        weights.append(float(nouns[0][0] * nouns[1][0] * rank) ** -zipf)
    p = np.array(weights)
    return Stories(tuple(texts), p / p.sum())


def patient(text: str) -> str:
    """Return the last noun of a story: who is helped."""
    return _parts(text)[5]


def fault(text: str) -> str:
    """Return what is wrong with a text, "" if it is a story of the opening page's world.

    Returns
    -------
    "no sentence": a word stands where no word of its sort can.
    "wrong cure": the cure does not help against the trouble.
    "wrong patient": who is helped has not that trouble, or is not in the story.
    "wrong noun": all that is right, and a noun does not suit the verb.
    """
    found = ASKED.fullmatch(text)
    kind_of = {noun: kind for kind, nouns in WHO.items() for noun in nouns}
    cures = [(why, cure) for troubles in CURES.values() for why, cure in troubles.items()]
    if not found:
        return FAULTS[0]
    one, verb, other, why, cure, helped = found.groups()
    troubles, remedies = zip(*cures, strict=True)
    known = {one, other, helped} <= kind_of.keys() and verb in DID
    if not known or why not in troubles or cure not in remedies:
        return FAULTS[0]
    if (why, cure) not in cures:
        return FAULTS[1]
    if helped not in (one, other) or why not in CURES[kind_of[helped]]:
        return FAULTS[2]
    return "" if DID[verb] == (kind_of[one], kind_of[other]) else FAULTS[3]


def _parts(text: str) -> Sequence[str]:
    found = ASKED.fullmatch(text)
    if not found:
        raise ValueError(f"{text!r} is no story")
    return found.groups()


def _entropy(rows: np.ndarray, p: np.ndarray) -> float:
    """The entropy, in nats, of the rows of a table that are drawn with probabilities p."""
    _, which = np.unique(rows, axis=0, return_inverse=True)
    total = np.bincount(which.ravel(), weights=p)
    total = total[total > 0]
    return float(-(total * np.log(total)).sum())
