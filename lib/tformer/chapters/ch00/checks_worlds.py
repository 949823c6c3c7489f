"""Exercises 0.5 and 0.6: the floor of a world, and all its stories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tformer.exercises import describe, kinds
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case
from tformer.world import stories as world

Array = np.ndarray


# ---- 0.5 ----------------------------------------------------------------------------------


def _worlds() -> Iterator[Case]:
    yield case(p=[0.5, 0.25, 0.25], want=np.array(1.5 * np.log(2)))
    yield case(p=[1.0], want=np.array(0.0))
    yield case(p=[0.25] * 4)
    yield case(p=[0.0, 0.5, 0.0, 0.5])
    yield case(p=np.full(2376, 1 / 2376), said="2376 stories alike")
    weights = 1 / np.arange(1, 101)
    yield case(p=weights / weights.sum(), said="a hundred stories with p ∝ 1, 1/2, 1/3, …")
    why = "However rare, a story that may be told counts."
    yield case(p=[1 - 4e-6, *[1e-6] * 4], said="one story, and four of a millionth each", why=why)
    said = "one story, and a hundred of 10⁻⁸ each"
    yield case(p=[1 - 1e-6, *[1e-8] * 100], said=said, why=why)


def _floored(p: Array, log: Any = np.log, mean: bool = False, sign: float = -1) -> float:
    told = p[p > 0]
    return float(sign * (log(told).mean() if mean else (told * log(told)).sum()))


def _with_zeros(p: Array, added: float = 0.0) -> float:
    return float(-(p * np.log(p + added)).sum())


ADDED = {
    f"{size:g} was added in the logarithm, where every rare story feels it.": size
    for size in (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)
}


@exercise(
    "0.5",
    praise="Checked on worlds of 1 to 2376 stories, alike and not, some never told.",
    hints=(
        "What does the best machine lose when a story of probability p comes?",
        "It loses −log p, and that happens with probability p. Add up over all stories.",
        "−Σ p log p, over the stories with p > 0.",
    ),
    cases=_worlds,
    kind=kinds.Number(within=1e-9, relative=1e-9),
    mutants={
        "That is in bits; a nat has the natural logarithm.": partial(_floored, log=np.log2),
        "The sign is wrong: a loss is not below zero.": partial(_floored, sign=1),
        "That is the plain mean of −log p; a frequent story counts more often.": partial(
            _floored, mean=True
        ),
        "All stories count alike there; only equal probabilities give log n.": lambda p: float(
            np.log(len(p))
        ),
        "A story that is never told made it NaN: 0 · log 0 counts as 0.": _with_zeros,
        "All stories that are ever told count alike there; a frequent one counts more often.": (
            lambda p: float(np.log(np.count_nonzero(p)))
        ),
        "The weights p make the sum a mean already; you divided once more.": (
            lambda p: _floored(p) / np.count_nonzero(p)
        ),
        "That is the loss of the likeliest story alone.": lambda p: float(-np.log(p.max())),
        "Rare stories were left out: only a story of probability 0 counts for nothing.": (
            lambda p: _floored(p[p > 3e-6])
        ),
        **{sentence: partial(_with_zeros, added=size) for sentence, size in ADDED.items()},
    },
    otherwise="The floor is the mean of −log p over the stories as they come.",
)
def floor(p: Array) -> float:
    """The smallest mean loss of a story."""
    return _floored(p)


# ---- 0.6 ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts(kinds.Array):
    """A list of texts in any order, each once."""

    def read(self, f: Answer, value: Any, said: str) -> kinds.Parts:
        """Return the texts in order, or say that they are none."""
        if not isinstance(value, list | tuple | set | frozenset) or not all(
            isinstance(text, str) for text in value
        ):
            got = describe.kind(value)
            raise Wrong(f"With {said}, {f.name} should return a list of texts, not {got}.")
        return (tuple(sorted(value)),)

    def plain(self, value: Any) -> kinds.Parts:
        """Return texts of our own in order."""
        return (tuple(sorted(value)),)

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether the lists have the same texts."""
        return bool(got == want)

    def head(self, f: Answer, got: kinds.Parts, want: kinds.Parts, said: str, place: int) -> str:
        """Name a text that is missing, or one too many."""
        missing, extra = sorted(set(want[0]) - set(got[0])), sorted(set(got[0]) - set(want[0]))
        if missing or extra:
            shown = " and ".join(
                [f"{text!r} is missing" for text in missing[:1]]
                + [f"{text!r} is none of them" for text in extra[:1]]
            )
        else:
            shown = "some stories come more than once"
        return f"With {said}, {f.name} lists {len(got[0])} stories, not {len(want[0])}: {shown}."

    def remark(self, got: Any, want: Any) -> str:
        """Say nothing more."""
        return ""


Who = Mapping[str, tuple[str, ...]]
Cures = Mapping[str, Mapping[str, str]]
Did = Mapping[str, tuple[str, str]]
SMALL: dict[str, Any] = {
    "who": {"dog": ("dog",), "cake": ("cake", "pie")},
    "cures": {"dog": {"sad": "kissed"}, "cake": {"hot": "cooled", "dry": "watered"}},
    "did": {"eat": ("dog", "cake")},
}


def _listed() -> Iterator[Case]:
    yield case(**SMALL, said="one dog, two cakes and a verb")
    yield case(
        who={"cat": ("kit", "tom")},
        cures={"cat": {"shy": "praised"}},
        did={"chase": ("cat", "cat")},
        said="two cats that may chase each other",
    )
    yield case(
        **SMALL | {"did": {"eat": ("dog", "cake"), "please": ("cake", "dog")}},
        said="one dog, two cakes and two verbs",
    )
    yield case(
        who={"dog": ("dog",), "cake": ("cake",), "cat": ("kit", "tom")},
        cures={"dog": {"dry": "bathed"}, "cake": {"dry": "watered"}, "cat": {"dry": "stroked"}},
        did={"eat": ("dog", "cake"), "hear": ("cat", "cat"), "see": ("cake", "cat")},
        said="a trouble of three kinds with three cures",
    )
    yield case(
        who={"dog": ("dog", "pup"), "cake": ("cake", "pie")},
        cures={"cake": {"hot": "iced", "dry": "dipped"}, "dog": {"dry": "bathed"}},
        did={"see": ("dog", "dog"), "drop": ("dog", "cake")},
        said="a trouble of two kinds with two cures",
    )
    for kinds_of_eat in (("dog", "food"), ("food", "dog")):
        yield case(
            who={"dog": ("dog", "hen"), "food": ("hen", "pie")},
            cures={"dog": {"shy": "praised"}, "food": {"hot": "cooled"}},
            did={"eat": kinds_of_eat},
            said=f"a word of two kinds, and a verb for {' and '.join(kinds_of_eat)}",
        )
    yield case(who=world.WHO, cures=world.CURES, did=world.DID, said="the world of the page")


def _told(who: Who, cures: Cures, did: Did, both: bool = True, same: bool = False) -> list[str]:
    return [
        f"the {a} did not {verb} the {b} because it was too {why} . so they {cure} the {noun} ."
        for verb, (one, other) in did.items()
        for a in who[one]
        for b in who[other]
        for kind, noun in ((one, a), (other, b))[: 1 + both]
        for why, cure in cures[kind].items()
        if same or a != b
    ]


def _one_trouble(who: Who, cures: Cures, did: Did) -> list[str]:
    first = {kind: dict([next(iter(troubles.items()))]) for kind, troubles in cures.items()}
    return _told(who, first, did)


def _crossed(who: Who, cures: Cures, did: Did) -> list[str]:
    pairs = [pair for troubles in cures.values() for pair in troubles.items()]
    return _told(who, {kind: dict(pairs) for kind in cures}, did)


def _once(who: Who, cures: Cures, did: Did) -> list[str]:
    return list(dict.fromkeys(_told(who, cures, did, same=True)))


def _two_kinds(who: Who, cures: Cures, did: Did) -> list[str]:
    return _told(who, cures, {verb: pair for verb, pair in did.items() if len(set(pair)) > 1})


def _same_in_two_kinds(who: Who, cures: Cures, did: Did) -> list[str]:
    found = []
    for verb, pair in did.items():
        found += _told(who, cures, {verb: pair}, same=len(set(pair)) > 1)
    return found


def _in_step(who: Who, cures: Cures, did: Did) -> list[str]:
    found = []
    for verb, (one, other) in did.items():
        for a, b in zip(who[one], who[other], strict=False):
            found += _told({one: (a,), other: (b,)}, cures, {verb: (one, other)}) * (one != other)
    return found


def _one_way(who: Who, cures: Cures, did: Did) -> list[str]:
    places = {noun: n for nouns in who.values() for n, noun in enumerate(nouns)}
    found = []
    for verb, (one, other) in did.items():
        for text in _told(who, cures, {verb: (one, other)}):
            words = text.split()
            if one != other or places[words[1]] < places[words[6]]:
                found.append(text)
    return found


def _turned(who: Who, cures: Cures, did: Did, both: bool = False) -> list[str]:
    return [
        f"the {a} did not {verb} the {b} because it was too {why} . so they {cure} the {noun} ."
        for verb, (one, other) in did.items()
        for a in who[one]
        for b in who[other]
        for kind, nouns in ((one, (b, a)[: 1 + both]), (other, (a, b)[: 1 + both]))
        for noun in nouns
        for why, cure in cures[kind].items()
        if a != b
    ]


def _last_cure(who: Who, cures: Cures, did: Did) -> list[str]:
    last = {why: cure for troubles in cures.values() for why, cure in troubles.items()}
    return _told(who, {kind: {why: last[why] for why in cures[kind]} for kind in cures}, did)


@exercise(
    "0.6",
    praise="All stories, each once, up to the 2880 of the page's world.",
    hints=(
        "Begin with one verb: which pairs of nouns can stand with it? Then, who is the patient?",
        "Five choices, one inside the other: verb, first noun, second noun, patient, trouble.",
        "for verb, (one, other) in did.items(), then for a in who[one], for b in who[other], for "
        "(kind, noun) in ((one, a), (other, b)), for (why, cure) in cures[kind].items().",
    ),
    cases=_listed,
    kind=Texts(),
    mutants={
        "The second noun can be the patient too.": partial(_told, both=False),
        "A noun does nothing to itself: leave out equal nouns.": partial(_told, same=True),
        "Each kind has several troubles; you took the first.": _one_trouble,
        "A noun got a trouble of another kind.": _crossed,
        "The verb goes one way: its first kind is who, its second is what.": (
            lambda who, cures, did: _told(who, cures, {v: k[::-1] for v, k in did.items()})
        ),
        "Equal nouns were left in, and told about once each; leave them out altogether.": _once,
        "The same word may stand in two kinds, and there too it does nothing to itself.": (
            _same_in_two_kinds
        ),
        "A verb may have one kind twice, with two different nouns of that kind.": _two_kinds,
        "The nouns were paired in step; each noun of one kind goes with each of the other.": (
            _in_step
        ),
        "Two nouns of one kind were paired in one order only; each of them can come first.": (
            _one_way
        ),
        "Trouble and cure have changed places.": lambda who, cures, did: _told(
            who, {k: {y: x for x, y in cures[k].items()} for k in cures}, did
        ),
        "The patient got a trouble of the other noun's kind; it is one of its own.": _turned,
        "Both nouns became patients for each trouble; it has to be one of the patient's kind.": (
            partial(_turned, both=True)
        ),
        "Kinds may share a trouble and cure it differently; the last cure served for all.": (
            _last_cure
        ),
        "Each full stop has a blank before it.": lambda who, cures, did: [
            text.replace(" .", ".") for text in _told(who, cures, did)
        ],
        "The last full stop is missing; it ends the story.": lambda who, cures, did: [
            text.removesuffix(" .") for text in _told(who, cures, did)
        ],
    },
    otherwise="Every choice is made with every other one.",
)
def tell(who: Who, cures: Cures, did: Did) -> list[str]:
    """All stories of a world."""
    return _told(who, cures, did)
