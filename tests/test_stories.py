"""The world of stories: exact counts, exact entropies, and who is who."""

import math
import re
from collections import Counter

import numpy as np
import pytest

from tformer_book.world.stories import FAULTS, NONCE, START, Stories, fault, patient, stories

WORLD = stories()
TOLD, HELD_OUT = WORLD.split()
TIRED = "the animal did not cross the street because it was too tired . so they woke the animal ."


def by_hand(world: Stories) -> list[float]:
    """Each word's entropy given all before it, in a dictionary, by counting."""
    rows = [[START, *text.split()] for text in world]
    found = []
    for t in range(1, max(map(len, rows))):
        prefixes: dict[tuple, Counter] = {}
        for row, p in zip(rows, world.p, strict=True):
            prefixes.setdefault(tuple(row[:t]), Counter())[" ".join(row[t : t + 1])] += p
        found.append(0.0)
        for counts in prefixes.values():
            total = sum(counts.values())
            found[-1] -= sum(c * math.log(c / total) for c in counts.values() if c)
    return found


def test_the_world_of_the_opening_page_is_counted() -> None:
    assert len(WORLD) == len(set(WORLD)) == 2880
    assert (len(TOLD), len(HELD_OUT), len(TOLD.words)) == (2376, 504, 88)
    assert TOLD.words == HELD_OUT.words == WORLD.words
    assert TOLD.words == tuple(sorted({word for text in TOLD for word in text.split()}))
    assert set(TOLD).isdisjoint(HELD_OUT)
    assert set(TOLD) | set(HELD_OUT) == set(WORLD)
    assert TOLD.tokens().shape == (2376, 20)
    assert (TOLD.tokens()[:, 0] == TOLD.words.index(START)).all()


def test_the_floor_is_the_logarithm_of_their_number_and_four_words_bear_it() -> None:
    h = TOLD.entropies()
    assert h.sum() == pytest.approx(math.log(2376), abs=1e-12)
    assert np.flatnonzero(h > 1e-12).tolist() == [1, 4, 6, 11]
    assert h[[1, 4, 6, 11]] == pytest.approx([3.62, 0.48, 1.92, 1.75], abs=5e-3)
    assert h[15:].max() < 1e-12  # the cure and the patient follow from what stands before


def test_pairs_that_are_held_out_are_told_in_neither_order() -> None:
    def pairs(world: Stories) -> set[frozenset[str]]:
        return {frozenset(re.findall(r"the (\w+)", text)[:2]) for text in world}

    assert pairs(TOLD).isdisjoint(pairs(HELD_OUT))
    assert frozenset(("animal", "street")) in pairs(HELD_OUT)
    assert {patient(text) for text in HELD_OUT} <= {patient(text) for text in TOLD}
    assert WORLD.split(seed=1)[1].texts != HELD_OUT.texts


@pytest.mark.parametrize(
    ("options", "count", "words"),
    [
        ({}, 2880, 88),
        ({"ambiguous": True}, 3888, 90),
        ({"nonce": 2}, 4456, 90),
        ({"adverb": True}, 5760, 89),
        ({"zipf": 1.0}, 2880, 88),
        ({"ambiguous": True, "nonce": 6, "zipf": 0.5, "adverb": True}, 23472, 97),
    ],
    ids=str,
)
def test_every_world_is_listed_and_its_entropies_are_exact(options, count, words) -> None:
    """The counts are those of noun, verb, noun and trouble, multiplied out on paper."""
    world = stories(**options)
    assert (len(world), len(set(world)), len(world.words)) == (count, count, words)
    assert world.p.sum() == pytest.approx(1)
    h = world.entropies()
    assert h == pytest.approx(by_hand(world), abs=1e-9)
    assert h.sum() == pytest.approx(-(world.p * np.log(world.p)).sum())
    assert (world.p == world.p[0]).all() == ("zipf" not in options)


def test_who_was_dirty_is_left_open_by_exactly_a_bit() -> None:
    world = stories(ambiguous=True)
    dirty = sum(p for text, p in zip(world, world.p, strict=True) if " dirty " in text)
    assert world.entropies()[17] == pytest.approx(dirty * math.log(2))
    assert stories().entropies()[17] == pytest.approx(0, abs=1e-12)


def test_with_ranks_the_odds_of_who_was_dirty_are_five_to_three() -> None:
    """The trouble is the fifth of animals and the third of roads."""
    world = stories(ambiguous=True, zipf=1.0)
    start = "the animal did not cross the street because it was too dirty"
    found = {patient(x): p for x, p in zip(world, world.p, strict=True) if x.startswith(start)}
    assert found["street"] / found["animal"] == pytest.approx(5 / 3)


def test_invented_nouns_are_of_any_kind_and_frequent_ones_come_first() -> None:
    roles = Counter(text.split()[1] for text in stories(nonce=6) if text.split()[4] == "cross")
    assert set(NONCE) < set(roles)
    world = stories(zipf=1.0)
    first = dict.fromkeys(("animal", "horse", "bear"), 0.0)
    for text, p in zip(world, world.p, strict=True):
        if text.split()[1] in first:
            first[text.split()[1]] += p
    assert first["animal"] / first["horse"] == pytest.approx(2)
    assert first["animal"] / first["bear"] == pytest.approx(12)


def test_shorter_stories_are_filled_up() -> None:
    rows = stories(adverb=True).tokens()
    assert rows.shape == (5760, 21)
    assert set((rows == -1).sum(axis=1)) == {0, 1}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("", ""), ""),
        (("because it", "it because"), FAULTS[0]),
        (("street", "was"), FAULTS[0]),
        (("tired", "woke"), FAULTS[0]),
        (("woke", "tired"), FAULTS[0]),
        (("cross", "animal"), FAULTS[0]),
        (("woke", "salted"), FAULTS[1]),
        (("woke the animal", "woke the goose"), FAULTS[2]),
        (("woke the animal", "woke the street"), FAULTS[2]),
        (("tired . so they woke", "wide . so they narrowed"), FAULTS[2]),
        (("street", "cake"), FAULTS[3]),
        (("cross", "eat"), FAULTS[3]),
        ((" .", ""), FAULTS[0]),
    ],
    ids=str,
)
def test_what_is_wrong_with_a_text_is_named(change: tuple[str, str], said: str) -> None:
    assert fault(TIRED.replace(*change) if change[0] else TIRED) == said


def test_all_stories_are_right_and_no_others() -> None:
    assert not any(map(fault, WORLD))
    nouns = ("animal", "street", "cake", "piano")
    texts = {
        f"the {a} did not {verb} the {b} because it was too {why} . so they {cure} the {c} ."
        for a in nouns
        for b in nouns
        for c in nouns
        for verb in ("cross", "eat", "enter")
        for why, cure in (("tired", "woke"), ("wide", "narrowed"), ("tired", "narrowed"))
    }
    assert {text for text in texts if not fault(text)} == texts & set(WORLD)


def test_what_cannot_be_is_refused_in_words() -> None:
    with pytest.raises(ValueError, match="nonce must be 0 to 6; got 7"):
        stories(nonce=7)
    with pytest.raises(ValueError, match="zipf must be a finite number, 0 or more; got -1"):
        stories(zipf=-1)
    with pytest.raises(ValueError, match="'wug' is no word of this world"):
        WORLD.tokens(["the wug"])
    with pytest.raises(ValueError, match="'the end' is no story"):
        patient("the end")
