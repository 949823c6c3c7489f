"""Exercise 13.4: a new text cut by merges that were learnt."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise, product

import numpy as np

from tformer.tokens import train_bpe
from tformer.tokens.bpe import BYTES
from tformer_book.chapters.ch13.checks_tokens import Pair, merged
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
SHOWN = 9  # as many merges are written out


def _cuts() -> Iterator[Case]:
    bc_first = [(98, 99), (97, 98)]
    ab_first = bc_first[::-1]
    for text, merges, want, why in (
        ("abc", bc_first, [97, 256], "The merge b c is older: it comes first."),
        ("aaa", [(97, 97)], [256, 97], "A token goes into one merge; begin at the left."),
        ("abab", [(97, 98), (256, 256)], [257], "What was merged can be merged again."),
        ("ba", [(97, 98)], [98, 97], "b a is not a b."),
        ("ß", [], [195, 159], "ß has two bytes, and no merge is known."),
        ("ß so ß", [(195, 159), (32, 256)], None, "A letter beyond ASCII has several bytes."),
        ("", [(97, 98)], [], "A text may be empty."),
        ("t\nth", [(116, 10)], [256, 116, 104], "t h is another pair than t and a line's end."),
        ("cabc abcb", [*bc_first, (97, 256)], None, ""),
        ("abcd", [(98, 99), (97, 98), (99, 100)], [97, 256, 100], "b c takes both neighbours."),
        ("bababa", [(97, 98), (98, 256)], None, ""),
        ("a b a b", [(97, 32), (256, 98)], [257, 32, 257], "A merge may have a space in it."),
        (
            "ab ba ab",
            [(98, 32), (97, 256)],
            None,
            "A merge may join the end of a word and a space.",
        ),
        ("ababcabab", [*ab_first, (256, 256)], [258, 99, 258], "a b is oldest, and takes each b."),
        ("abcbcbcd", [*ab_first, (99, 100)], [256, 99, 257, 257, 100], "a b is oldest."),
        (" Ab ab \n", [(97, 98)], [32, 65, 98, 32, 256, 32, 10], "Every letter and space counts."),
        ("\tBA ba ", [(98, 97), (256, 32)], [9, 66, 65, 32, 257], "Every letter and space counts."),
        ("aaaaaaa", [(97, 97), (256, 256), (256, 97)], None, "Six of the seven go in pairs."),
    ):
        yield _cut(text, merges, why, want)
    why = "Merges may be so many that 16 bits do not hold their numbers."
    yield _cut("abba", [*_merges_of_others(), (97, 98), (98, 97)], why)
    learnt_from = "abba bab aab abab bbaa abba babb aabb"
    for text, n in (("abbabab", 3), ("bbaabba", 5), ("abab babb aab", 9), ("baab abba bb", 12)):
        yield _cut(text, _merges(learnt_from, n))
    story = "the animal did not cross the street because it was too tired . " * 2
    for text, n in (("the tired street", 12), ("it was not the cat", 25), ("dort träumt er", 8)):
        yield _cut(text, _merges(story, n))


def _merges_of_others() -> list[Pair]:
    """Merges, 36928 of them, of bytes that no text in UTF-8 has."""
    some, more, last = range(248, 256), range(256, 320), range(320, 4416)
    return [*product(some, some), *product(more, more), *product(last, some)]


def _cut(text: str, merges: list[Pair], why: str = "", want: list[int] | None = None) -> Case:
    spelt = _spelt(merges)
    shown = [
        f"{a} {b} → {256 + i} ({spelt[256 + i].decode(errors='replace')!r})"
        for i, (a, b) in enumerate(merges[:SHOWN])
    ]
    shown += ["…"] * (len(merges) > SHOWN)
    said = f"text = {text!r} and {'merges ' + ', '.join(shown) if merges else 'no merges'}"
    pairs = np.array(merges, dtype=int).reshape(-1, 2)
    result = None if want is None else np.array(want, dtype=int)
    return case(text=text, merges=pairs, want=result, why=why, said=said)


def _spelt(merges: list[Pair]) -> list[bytes]:
    """The bytes of each token."""
    found = [bytes([i]) for i in range(256)]
    for one, other in merges:
        found.append(found[one] + found[other])
    return found


def _merges(text: str, n: int) -> list[Pair]:
    """Merges learnt from a text, in the numbers of the exercise."""
    numbers, found = dict(BYTES), []
    for i, one in enumerate(train_bpe(text, n)):
        found.append((numbers[one.left], numbers[one.right]))
        numbers[one.left + one.right] = 256 + i
    return found


def _longest(text: str, merges: Array) -> list[int]:
    """The longest token that fits, at each place."""
    spelt, data = _spelt(merges.tolist()), text.encode()
    row, place = [], 0
    while place < len(data):
        fits = [i for i, token in enumerate(spelt) if data.startswith(token, place)]
        row.append(max(fits, key=lambda i: len(spelt[i])))
        place += len(spelt[row[-1]])
    return row


def _chosen(text: str, merges: Array, by: str) -> list[int]:
    """Of the pairs that are merges the first, the commonest or the newest, again and again."""
    known = {tuple(pair): 256 + i for i, pair in enumerate(merges.tolist())}
    row = list(text.encode())
    while pairs := [pair for pair in pairwise(row) if pair in known]:
        best = pairs[0]
        if by != "first":
            best = max(pairs, key=known.__getitem__ if by == "newest" else pairs.count)
        at = 0 if by == "commonest" else [*pairwise(row)].index(best)
        end = len(row) if by == "commonest" else at + 2
        row = row[:at] + merged(row[at:end], best, known[best]) + row[end:]
    return row


def _passed(text: str, merges: Array, once: bool) -> list[int]:
    """All merges in one pass from the left, once or until nothing changes."""
    known = {tuple(pair): 256 + i for i, pair in enumerate(merges.tolist())}
    row = list(text.encode())
    while True:
        found, i = [], 0
        while i < len(row):
            pair = tuple(row[i : i + 2])
            found.append(known.get(pair, row[i]))
            i += 1 + (pair in known)
        if once or found == row:
            return found
        row = found


def _skipping(text: str, merges: Array) -> list[int]:
    """After each merge one token is passed over."""
    row = list(text.encode())
    for new, pair in enumerate(merges.tolist(), 256):
        i = 0
        while i < len(row):
            if row[i : i + 2] == pair:
                row[i : i + 2] = [new]
                i += 1
            i += 1
    return row


def _both(row: list[int], pair: Pair, new: int) -> list[int]:
    """Places that overlap are both merged."""
    at = [False, *(one == pair for one in pairwise(row)), False]
    return [new if at[i + 1] else one for i, one in enumerate(row) if at[i + 1] or not at[i]]


def _until_missing(text: str, merges: Array) -> list[int]:
    """Merges up to the first whose pair is not there."""
    row = list(text.encode())
    for i, (one, other) in enumerate(merges.tolist()):
        if (one, other) not in pairwise(row):
            break
        row = merged(row, (one, other), 256 + i)
    return row


def _numbered(text: str, merges: Array) -> list[int]:
    """Only merges that are made are numbered."""
    row, new = list(text.encode()), 256
    for one, other in merges.tolist():
        there = (one, other) in pairwise(row)
        row, new = merged(row, (one, other), new), new + there
    return row


def _overlapping(text: str, merges: Array) -> list[int]:
    row = list(text.encode())
    for i, (one, other) in enumerate(merges.tolist()):
        row = _both(row, (one, other), 256 + i)
    return row


def _plain(text: str, merges: Array) -> Array:
    return encode(text, merges)


def _by_words(text: str, merges: Array, pattern: str) -> list[int]:
    return [n for word in re.findall(pattern, text) for n in encode(word, merges).tolist()]


@exercise(
    "13.4",
    praise="Older merges before newer ones, merges of merges, runs, letters of several bytes, and "
    "no text at all.",
    hints=(
        "Begin with the bytes, as a list. What does the first merge make of them?",
        "Make one merge after another, each in the whole text, before you come to the next one.",
        "For each merge go through the text from the left; where the last two tokens that you "
        "wrote are its pair, put its number in their place.",
    ),
    cases=_cuts,
    mutants={
        "You took the longest token that fits at each place; merges are made in their order.": (
            _longest
        ),
        "You took the leftmost pair that any merge knows; the oldest merge comes first.": (
            lambda text, merges: _chosen(text, merges, "first")
        ),
        "You merged the pair that is commonest in this text; the order is that of learning.": (
            lambda text, merges: _chosen(text, merges, "commonest")
        ),
        "Of the pairs in the text you took the newest merge, again and again; take the oldest.": (
            lambda text, merges: _chosen(text, merges, "newest")
        ),
        "You went through the text once, with all merges; go through it for each merge.": (
            lambda text, merges: _passed(text, merges, once=True)
        ),
        "You went through the text with all merges at once; older ones come before newer ones.": (
            lambda text, merges: _passed(text, merges, once=False)
        ),
        "The spaces at the ends are gone; they are bytes too, and so is a line end.": (
            lambda text, merges: _plain(text.strip(), merges)
        ),
        "Capitals became small letters; their bytes differ.": (
            lambda text, merges: _plain(text.lower(), merges)
        ),
        "After a merge you passed over a token.": _skipping,
        "You stopped at a merge whose pair is not there; later ones may find theirs.": (
            _until_missing
        ),
        "You numbered the merges that were made; the number of merge i is 256 + i always.": (
            _numbered
        ),
        "Places that overlap were both merged; a token goes into one merge only.": _overlapping,
        "The spaces are gone; they are bytes too.": (
            lambda text, merges: _by_words(text, merges, "[^ ]+")
        ),
        "Each word was cut by itself; here a merge may join a word and a space.": (
            lambda text, merges: _by_words(text, merges, "[^ ]+| +")
        ),
        "Each word was cut with the space before it; here it may also join the one after it.": (
            lambda text, merges: _by_words(text, merges, " ?[^ ]+| +")
        ),
    },
    slips="""
        in enumerate(merges.tolist()) → in reversed([*enumerate(merges.tolist())])
            The newest merge was made first; begin with the oldest.
        in enumerate(merges.tolist()) → in enumerate(merges.tolist()[:1])
            Only the first merge was made.
        found[-2:] == pair → $ and 256 + i not in found
            Each merge was made once; it is made wherever its pair stands.
        found[-2:] == pair → $ and max(pair) < 256
            What a merge has made can be merged again.
        found[-2:] == pair → sorted(found[-2:]) == sorted(pair)
            A pair has an order: b a is not a b.
        row = found → last = found ;; np.array(row → np.array(last if len(merges) else row
            Each merge began with the bytes again; go on with what those before it have made.
        [256 + i] → [i]
            Merges are numbered from 256 on; below are the bytes.
        [256 + i] → [257 + i]
            The first merge makes token 256.
        found[-2:] = [256 + i] → found[-2] = 256 + i
            The second token of the pair is still there.
        list(text.encode()) → [ord(letter) for letter in text]
            You began with characters; a letter beyond ASCII has several bytes.
        for token in row: → for token in row[::-1]:
        found[-2:] == pair → found[:-3:-1] == pair
        row = found → row = found[::-1]
            In a run of equal tokens you began at the right.
        np.array(row, dtype=int) → np.array(row, dtype=int).astype(np.uint8)
            The type uint8 ends at 255, and new tokens begin at 256.
    """,
    otherwise="Each merge in turn, in the whole text, from the left.",
)
def encode(text: str, merges: Array) -> Array:
    """The tokens of a text."""
    row = list(text.encode())
    for i, pair in enumerate(merges.tolist()):
        found: list[int] = []
        for token in row:
            found.append(token)
            if found[-2:] == pair:
                found[-2:] = [256 + i]
        row = found
    return np.array(row, dtype=int)
