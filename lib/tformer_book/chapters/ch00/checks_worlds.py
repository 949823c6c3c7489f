"""Exercises 0.5 and 0.6: the floor of a world, and all its stories."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.exercises import describe, kinds
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case
from tformer_book.world import stories as world

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


ADDED = """
    p[p > 0] → p ;; np.log(told) → np.log(told + {size})
        {size} was added in the logarithm, where every rare story feels it.
"""


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
    slips="""
    np.log → np.log2
        That is in bits; a nat has the natural logarithm.
    -(told → (told
        The sign is wrong: a loss is not below zero.
    (told * np.log(told)).sum() → np.log(told).mean()
        That is the plain mean of −log p; a frequent story counts more often.
    = float(np.log(len(p)))
        All stories count alike there; only equal probabilities give log n.
    p[p > 0] → p
        A story that is never told made it NaN: 0 · log 0 counts as 0.
    = float(np.log(np.count_nonzero(p)))
        All stories that are ever told count alike there; a frequent one counts more often.
    .sum() → $ / len(told)
        The weights p make the sum a mean already; you divided once more.
    = float(-np.log(p.max()))
        That is the loss of the likeliest story alone.
    p > 0 → p > 3e-6
        Rare stories were left out: only a story of probability 0 counts for nothing.
    = float(1 - (p**2).sum())
        That is the chance that two stories differ; a loss is made of logarithms.
    told = p[p > 0] → told = np.concatenate([p[p > 0], 1 - p[p < 1]]) ;; -(told → -(told[told > 0]
    np.log(told) → np.log(told[told > 0])
        You counted for each story also that it does not come; its surprise has no part in the loss.
    p > 0 → p > 1e-3
        Rare stories were left out, and there all are rare: only a probability of 0 counts for
        nothing.
    """
    + "".join(ADDED.format(size=size) for size in (1e-6, 1e-7, 1e-8, 1e-9, 1e-10)),
    otherwise="The floor is the mean of −log p over the stories as they come.",
)
def floor(p: Array) -> float:
    """The smallest mean loss of a story."""
    told = p[p > 0]
    return float(-(told * np.log(told)).sum())


# ---- 0.6 ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Texts(kinds.Array):
    """A list of texts in any order, each once."""

    def read(self, f: Answer, value: Any, said: str) -> kinds.Parts:
        """Return the texts in order, or say that they are none."""
        needed = f"With {said}, {f.name} should return a list of texts, and "
        if not isinstance(value, list | tuple | set | frozenset):
            raise Wrong(f"{needed}returns {describe.kind(value)}.")
        if others := [text for text in value if not isinstance(text, str)]:
            raise Wrong(f"{needed}its list holds {describe.kind(others[0])}.")
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
        many = f"{len(got[0])} stories; there are {len(want[0])}, and"
        if len(got[0]) == len(want[0]):
            many = f"as many stories as there are, {len(want[0])}, but"
        return f"With {said}, {f.name} lists {many} {shown}."

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
    yield case(
        **SMALL | {"did": {"eat": ("dog", "cake"), "see": ("dog", "cake")}},
        said="two verbs for the same two kinds",
    )
    yield case(
        who={"M": ("Max", "VICA"), "V": ("AXCNM", "CVA")},
        cures={"M": {"Ill": "Cured"}, "V": {"XL": "MADE"}},
        did={"MeNd": ("M", "V"), "X": ("V", "M")},
        said="nouns, verbs, troubles and cures with capital letters",
        why="The capitals of the pattern may stand in the words too: fill all places in at once.",
    )
    for kinds_of_eat in (("dog", "food"), ("food", "dog")):
        yield case(
            who={"dog": ("dog", "hen"), "food": ("hen", "pie")},
            cures={"dog": {"shy": "praised"}, "food": {"hot": "cooled"}},
            did={"eat": kinds_of_eat},
            said=f"a word of two kinds, and a verb for {' and '.join(kinds_of_eat)}",
        )
    yield case(who=world.WHO, cures=world.CURES, did=world.DID, said="the world of the page")


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
    slips="""
    ((one, a), (other, b)) → [(one, a)]
        The second noun can be the patient too.
    if a != b →
        A noun does nothing to itself: leave out equal nouns.
    cures[kind].items() → list($)[:1]
        Each kind has several troubles; you took the first.
    cures[kind].items() → dict(pair for each in cures.values() for pair in each.items()).items()
        A noun got a trouble of another kind.
    verb, (one, other) in → verb, (other, one) in
        The verb goes one way: its first kind is who, its second is what.
    if a != b → ;; return texts → return list(dict.fromkeys(texts))
        Equal nouns were left in, and told about once each; leave them out altogether.
    if a != b → $ or one != other
        The same word may stand in two kinds, and there too it does nothing to itself.
    if a != b → $ and one != other
        A verb may have one kind twice, with two different nouns of that kind.
    did.items() → {pair: (verb, pair) for verb, pair in did.items()}.values()
        Two verbs may go with the same two kinds, and each of them is told about.
    for a in who[one] → for a, b in zip(who[one], who[other]) ;; for b in who[other] →
        The nouns were paired in step; each noun of one kind goes with each of the other.
    if a != b → $ and (one != other or who[one].index(a) < who[one].index(b))
        Two nouns of one kind were paired in one order only; each of them can come first.
    for why, cure in → for cure, why in
        Trouble and cure have changed places.
    ((one, a), (other, b)) → ((one, b), (other, a))
        The patient got a trouble of the other noun's kind; it is one of its own.
    ((one, a), (other, b)) → ((one, a), (one, b), (other, a), (other, b))
        Both nouns became patients for each trouble; it has to be one of the patient's kind.
    cures[kind].items() → [(x, [c[x] for c in cures.values() if x in c][-1]) for x in cures[kind]]
        Kinds may share a trouble and cure it differently; the last cure served for all.
    return texts → return [text.replace(" .", ".") for text in texts]
        Each full stop has a blank before it.
    return texts → return [text.removesuffix(" .") for text in texts]
        The last full stop is missing; it ends the story.
    ((one, a), (other, b)) → [(other, b)]
        The first noun can be the patient too.
    did.items() → list($)[:1]
        Every verb has its stories; you told those of the first.
    """,
    otherwise="Every choice is made with every other one.",
)
def tell(who: Who, cures: Cures, did: Did) -> list[str]:
    """All stories of a world."""
    texts = [
        f"the {a} did not {verb} the {b} because it was too {why} . so they {cure} the {noun} ."
        for verb, (one, other) in did.items()
        for a in who[one]
        for b in who[other]
        if a != b
        for kind, noun in ((one, a), (other, b))
        for why, cure in cures[kind].items()
    ]
    return texts
