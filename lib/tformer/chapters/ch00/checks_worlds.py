"""Exercise 0.6: all stories of a world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tformer.exercises import describe, kinds
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.registry import exercise
from tformer.exercises.table import Case, case
from tformer.world import stories as world


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
            shown = f"{missing[0]!r} is missing" if missing else f"{extra[0]!r} is none of them"
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
        who={"cat": ("tom", "kit")},
        cures={"cat": {"shy": "praised"}},
        did={"chase": ("cat", "cat")},
        said="two cats that may chase each other",
    )
    yield case(
        **SMALL | {"did": {"eat": ("dog", "cake"), "please": ("cake", "dog")}},
        said="one dog, two cakes and two verbs",
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
    in cures[kind].items() → in [one for each in cures.values() for one in each.items()]
        A noun got a trouble of another kind.
    for verb, (one, other) in → for verb, (other, one) in
        The verb goes one way: its first kind is who, its second is what.
    {noun} ." → {noun}"
        The last full stop is missing; it ends the story.
    """,
    otherwise="Every choice is made with every other one.",
)
def tell(who: Who, cures: Cures, did: Did) -> list[str]:
    """All stories of a world."""
    return [
        f"the {a} did not {verb} the {b} because it was too {why} . so they {cure} the {noun} ."
        for verb, (one, other) in did.items()
        for a in who[one]
        for b in who[other]
        if a != b
        for kind, noun in ((one, a), (other, b))
        for why, cure in cures[kind].items()
    ]
