"""Exercises 13.3 and 13.7: one merge, and spans that leave marks."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Pair = tuple[int, int]


# ---- 13.3 ---------------------------------------------------------------------------------


def _texts() -> Iterator[Case]:
    for tokens, new, want, why in (
        ([1, 2, 1, 2, 3], 9, [9, 9, 3], "1 2 stands twice, 2 1 and 2 3 once."),
        ([7, 7, 7, -1, 7, 7], 8, [8, 7, -1, 8], "7 7 stands three times; merge from the left."),
        ([3, 1, -1, 3, 1, -1, 1, 4, 4, 1], 5, [5, -1, 5, -1, 1, 4, 4, 1], "3 1 stands twice."),
        ([6, 2, -1, 3, 9, -1, 3, 4], 10, [6, 2, -1, 3, 9, -1, 10], "A tie: 3 4 is smallest."),
        ([5, 1, -1, 4, 2, -1, 2, 6], 7, [5, 1, -1, 4, 2, -1, 7], "A tie: 2 6 is smallest."),
        ([4, 2, -1, 1, 3, -1, 5, 0], 6, [4, 2, -1, 6, -1, 5, 0], "A tie: 1 3 is smallest."),
        ([10, 1, -1, 9, 1], 11, [10, 1, -1, 11], "A tie: 9 1 is smaller than 10 1."),
        ([5, 100, -1, 5, 20, -1, 5, 3], 6, [5, 100, -1, 5, 20, -1, 6], "A tie: 5 3 is smallest."),
        (
            [0, 50_000, -1, 1, 0],
            2,
            [2, -1, 1, 0],
            "A tie: 0 50000 comes before 1 0. To base 50000 they are one number, and two pairs.",
        ),
        (
            [50_000, 50_000, -1, 1, 2],
            50_001,
            [50_000, 50_000, -1, 50_001],
            "A tie: 1 2 is smallest. As one number, the other pair is beyond 31 bits.",
        ),
        ([1, 0, -1, 0, 1000, -1, 0, 999], 2, None, "A tie: 0 999 is smallest."),
        ([1, 0, -1, 0, 50_000, -1, 1, 0], 2, None, "1 0 stands twice, and 0 50000 once."),
        ([11, 1, -1, 1, 11, -1, 11, 1], 2, None, "11 1 stands twice, and 1 11 once."),
        ([1, -1, 2, 5, -1, 1, -1, 2, 5, -1, 1, -1, 2], 8, None, "No pair reaches over a −1."),
        ([0, 2, -1, 9, 9, 9], 3, [0, 2, -1, 3, 9], "9 9 stands twice: places may overlap."),
        ([4, 0, 0, 0, 0, 0, -1, 4, 0], 1, None, "0 0 stands four times, and is merged twice."),
        ([2, 8, -1, 2, 8, -1, 2, 8, -1, 5, 6, 5, 6], 4, None, "Words that come again count again."),
        ([2, 1, 4, -1, 1, 2, -1, 1, 4, 1], 3, None, "1 2 and 2 1 are two pairs."),
        ([1, 3, -1, 3, -1, 1, 3], 4, [4, -1, 3, -1, 4], "1 3 stands twice; −1 3 is no pair."),
        ([4], 5, [4], "One token has no neighbour."),
        ([4, -1, 5, -1, 4], 6, [4, -1, 5, -1, 4], "Words of one token have no pairs."),
        ([50_000, 3, 49_999, 50_000, 3], 50_001, None, "Tokens may be as large as 50 000."),
        (
            [3, 50_000, -1, 3, 50_000, -1, 7],
            50_001,
            [50_001, -1, 50_001, -1, 7],
            "3 50000 is a pair.",
        ),
        ([3, 1500, -1, 3, 1500, -1, 7], 1501, [1501, -1, 1501, -1, 7], "3 1500 stands twice."),
        ([], 0, [], "A text may be empty."),
    ):
        result = None if want is None else np.array(want, dtype=int)
        yield case(tokens=np.array(tokens, dtype=int), new=new, want=result, why=why)
    for seed in range(10):
        rng = np.random.default_rng(seed)
        row: list[int] = []
        for _ in range(3 + seed):
            row += [-1] * bool(row) + rng.integers(0, 2 + seed // 3, rng.integers(1, 5)).tolist()
        yield case(tokens=np.array(row), new=9)


def _seldom(row: list[int], pair: Pair) -> int:
    """How many places of a pair can be merged."""
    return len(row) - len(merged(row, pair, -2))


def merged(row: list[int], pair: Pair, new: int) -> list[int]:
    """The pair made one token wherever it stands, from the left."""
    found: list[int] = []
    for token in row:
        found.append(token)
        if tuple(found[-2:]) == pair:
            found[-2:] = [new]
    return found


def _each_word_once(row: list[int]) -> list[Pair]:
    words = {tuple(word) for inside, word in groupby(row, key=lambda x: x >= 0) if inside}
    return [pair for word in words for pair in pairwise(word)]


def _all_places(row: list[int], pair: Pair | None, new: int) -> list[int]:
    """What is left if overlapping places are merged as well."""
    at = [tuple(row[i : i + 2]) == pair for i in range(len(row))]
    kept = enumerate(zip(row, at, strict=True))
    return [new if here else one for i, (one, here) in kept if here or not (i and at[i - 1])]


def _pair_alone(tokens: Array, new: int) -> Array:
    """The pair, and the text if there is none."""
    pairs = [pair for pair in pairwise(tokens.tolist()) if -1 not in pair]
    best = min({*pairs}, key=lambda pair: (-pairs.count(pair), pair), default=tokens)
    return np.array(best)


def _until_none(tokens: Array, new: int) -> Array:
    """One merge after another, as long as a pair stands twice."""
    while True:
        pairs = [pair for pair in pairwise(tokens.tolist()) if -1 not in pair]
        if len(pairs) == len({*pairs}):
            return tokens
        best = min({*pairs}, key=lambda pair: (-pairs.count(pair), pair))
        tokens, new = np.array(merged(tokens.tolist(), best, new)), new + 1


@exercise(
    "13.3",
    praise="Ties, overlapping places, words that come again, words of one token, empty texts.",
    hints=(
        "Make a list of all pairs of neighbours, and leave out those with a −1 in them.",
        "Count each pair in it. Which order puts the commonest first, and of equals the smaller?",
        "Sort by (−count, pair). Then go through the text from the left: where the last two tokens "
        "that you wrote are the pair, put the new one in their place.",
    ),
    cases=_texts,
    mutants={
        "That is the pair; return the text in which it has been merged.": _pair_alone,
        "After the merge you went on to the next one; make one.": _until_none,
    },
    slips="""
        if tuple(found[-2:]) == best → if pairs.count(best) > 1 and tuple(found[-2:]) == best
            A pair that stands once was not merged; it is, if no other one is commoner.
        if -1 not in pair → if pair[0] >= 0
            A pair that ends in −1 was counted; there a word ends.
        np.array(found → np.array(found if found[-1:] == [new] else found[:-1]
            The last token is missing, where it is in no merge.
        for pair in pairwise(row) if -1 not in pair → for pair in pairwise(row)
            A pair with −1 was counted; there a word ends.
        [pair for pair in pairwise(row) if -1 not in pair] → [*pairwise([x for x in row if x >= 0])]
            The ends of the words were left out, so that a pair reaches from word to word.
        (-pairs.count(pair), pair) → (-pairs.count(pair), str(pair))
            Equally common pairs were ordered as texts, where 10 comes before 9; compare numbers.
        (-pairs.count(pair), pair) → (-pairs.count(pair), pair[::-1])
            Of equally common pairs the first tokens are compared first.
        (-pairs.count(pair), pair) → (-pairs.count(pair), pairs.index(pair))
            Of equally common pairs you took the one that comes first in the text.
        (-pairs.count(pair), pair) → (-pairs.count(pair), -pairs.index(pair))
            Of equally common pairs you took the one that comes last in the text.
        (-pairs.count(pair), pair) → (-pairs.count(pair), [-token for token in pair])
            Of equally common pairs you took the largest; take the smallest.
        (-pairs.count(pair), pair) → (-pairs.count(pair), sum(pair), pair)
            Of equally common pairs the first tokens are compared, not the sums.
        -pairs.count(pair) → -pairs.count(pair) / row.count(pair[0]) / row.count(pair[1])
            You divided by how often the two tokens stand; the count of the pair decides.
        -pairs.count(pair) → pairs.count(pair)
            You took the rarest pair.
        -pairs.count(pair) → -_seldom(row, pair)
            Places that overlap were counted once; in 7 7 7 the pair 7 7 stands twice.
        -pairs.count(pair) → -len([one for one in pairs if {*one} == {*pair}])
            You counted a pair together with the same tokens in the other order.
        pairs = [pair for pair in pairwise(row) if -1 not in pair] → pairs = _each_word_once(row)
            A word that comes again was counted once; all its places count.
        for token in row: → for token in row[::-1]:
        tuple(found[-2:]) == best → tuple(found[:-3:-1]) == best
        np.array(found → np.array(found[::-1]
            Overlapping places were merged from the right.
        tuple(found[-2:]) == best → $ and new not in found
            Only the first place was merged.
        tuple(found[-2:]) == best → {*found[-2:]} == {*(best or ())} and len(found) > 1
            The same tokens in the other order were merged as well.
        found[-2:] = [new] → found[-2] = new
            The second token of each place is still there.
        found[-2:] = [new] → found[-1] = new
            The first token of each place is still there.
        np.array(found → np.array([token for token in found if token >= 0]
            The −1 are gone; the next merge needs them.
        np.array(found → np.array(_all_places(row, best, new)
            Places that overlap were both merged; a token goes into one merge only.
        (-pairs.count(pair), pair) → (-pairs.count(pair), 50000 * pair[0] + pair[1])
            Pairs were made one number with too small a base: some pairs then are equal.
    """,
    otherwise="Count all pairs without −1, take the commonest, and merge it from the left.",
)
def one_merge(tokens: Array, new: int) -> Array:
    """The text after one merge."""
    row = tokens.tolist()
    pairs = [pair for pair in pairwise(row) if -1 not in pair]
    best = min({*pairs}, key=lambda pair: (-pairs.count(pair), pair), default=None)
    found: list[int] = []
    for token in row:
        found.append(token)
        if tuple(found[-2:]) == best:
            found[-2:] = [new]
    return np.array(found, dtype=int)


# ---- 13.7 ---------------------------------------------------------------------------------


def _spans() -> Iterator[Case]:
    for n, spans, why in (
        (5, [(1, 3)], "Tokens 1 and 2 are taken."),
        (7, [(1, 2), (4, 6)], "Each span leaves its own mark."),
        (6, [(0, 2), (5, 6)], "A span may begin the text, and one may end it."),
        (6, [(1, 3), (3, 4)], "Spans may touch: two marks, side by side."),
        (4, [(0, 4)], "All may be taken."),
        (3, [], "No span: the text as it is, and one mark to end the target."),
        (1, [(0, 1)], "One token."),
        (6, [(0, 1), (1, 2), (2, 4)], "Three spans that touch."),
        (9, [(2, 3), (4, 5), (6, 8)], ""),
        (12, [(0, 3), (4, 5), (5, 6), (9, 11)], ""),
    ):
        rng = np.random.default_rng(n)
        if not why:  # a vocabulary may be large, and marks stand anywhere in it
            tokens, marks = 10**5 + rng.integers(0, 40, n), 7 * rng.permutation(len(spans) + 1)
            pairs, why = np.array(spans), "Tokens may be larger than marks, and beyond 16 bits."
            yield case(tokens=tokens, spans=pairs, marks=marks, why=why)
        marks = 100 + rng.permutation(9)[: len(spans) + 1]
        pairs = np.array(spans, dtype=int).reshape(-1, 2)
        yield case(tokens=10 + rng.integers(0, 40, n), spans=pairs, marks=marks, why=why)


@exercise(
    "13.7",
    kind=Several(names=("source", "target")),
    praise="Spans at both ends, spans that touch, all tokens taken and none.",
    hints=(
        "Take five tokens and one span, and write down both lists.",
        "Go from span to span: what stays before it, what does it leave, what is written?",
        "Before a span, from where the last one ended: source. Its mark: both. Its tokens: target. "
        "At the end: what is left of the text, and the last mark.",
    ),
    cases=_spans,
    slips="""
        source += [*tokens[place:]] →
            What stands after the last span is missing in the source.
        target += [marks[-1]] →
            The mark that ends the target is missing.
        target += [marks[-1]] → target += [marks[max(len(spans) - 1, 0)]]
            The end has a mark of its own, the last one.
        source += [*tokens[place:]] → source += [*tokens[place:], marks[-1]]
            The mark for the end stands in the target only.
        place = end → place = start
            The spans are still in the source.
        np.array(source) → np.array(_by_value(tokens, spans, source))
            A token outside the spans is gone: it is equal to one inside. Take places, not values.
        tokens[start:end] → tokens[start : end + 1] ;; place = end → place = end + 1
            One token too many was taken: the end of a span is not in it.
        tokens[start:end] → tokens[start : start + end] ;; place = end → place = start + end
            You read the second number as a length; it is the end.
        [mark, *tokens[start:end]] → [*tokens[start:end], mark]
            In the target a mark stands before its span.
        [mark, *tokens[start:end]] → [*tokens[start:end]]
            The marks are missing in the target: which span is which?
        [mark, *tokens[start:end]] → [*tokens[start:end]] ;; target += [marks[-1]] →
            The target has no marks at all, before its spans and at its end.
        [*tokens[place:start], mark] → [*tokens[place:start]]
            The marks are missing in the source: the spans left nothing where they stood.
        [*tokens[place:start], mark] → [*tokens[place:start], *[mark] * (end - start)]
            A span leaves one mark, however long it is.
        zip(spans, marks, strict=False) → zip(spans, marks[:1].repeat(len(spans)), strict=True)
            Each span has a mark of its own.
        zip(spans, marks, strict=False) → zip(_joined(spans), marks, strict=False)
            Spans that touch were made one; each leaves its own mark.
        [mark, *tokens[start:end]] → [mark, *tokens[start:end], mark]
        target += [marks[-1]] →
            Each mark closes its span as well; a mark stands before its span, and the last at the
            end.
        target += [marks[-1]] → target += [marks[0]]
            The end has the last mark, not the first.
        target += [marks[-1]] → return _deleted(tokens, spans, marks)
            Spans were taken out one by one, and the places after them moved; the numbers of the
            spans are places in the whole text.
        np.array(source), np.array(target) → np.array(target), np.array(source)
            The two are exchanged: source first.
        zip(spans, marks, strict=False) → zip(spans, marks[1:], strict=True)
            The first mark was left out: span i leaves marks[i].
        zip(spans, marks, strict=False) → zip(spans, marks[::-1], strict=False)
            The marks were taken from the last one on; begin with the first.
        zip(spans, marks, strict=False) → zip(spans, np.sort(marks), strict=False)
            The marks were sorted; they are used as they come.
        source: list[int] = [] → source = [*tokens]
        source += [*tokens[place:start], mark] → source[start:end] = [mark]
        source += [*tokens[place:]] → pass
            A mark is shorter than its span: after it all tokens have moved, and places are those of
            before.
        zip(spans, marks, strict=False) → zip(spans, np.sort(marks), strict=False)
        marks[-1] → np.sort(marks)[-1]
            The marks were put in order of their numbers; they are used in the order in which they
            are given.
    """,
    otherwise="The source keeps what is not taken, with a mark for each span.",
)
def corrupt(tokens: Array, spans: Array, marks: Array) -> tuple[Array, Array]:
    """Source and target of span corruption."""
    source: list[int] = []
    target: list[int] = []
    place = 0
    for (start, end), mark in zip(spans, marks, strict=False):
        source += [*tokens[place:start], mark]
        target += [mark, *tokens[start:end]]
        place = end
    source += [*tokens[place:]]
    target += [marks[-1]]
    return np.array(source), np.array(target)


def _joined(spans: Array) -> list[list[int]]:
    found: list[list[int]] = []
    for start, end in spans.tolist():
        if found and found[-1][1] == start:
            found[-1][1] = end
        else:
            found.append([start, end])
    return found


def _by_value(tokens: Array, spans: Array, source: list[int]) -> list[int]:
    """Whatever is equal to a token of a span is taken out as well."""
    gone = {token for start, end in spans for token in tokens[start:end].tolist()}
    return [token for token in source if token not in gone]


def _deleted(tokens: Array, spans: Array, marks: Array) -> tuple[Array, Array]:
    source, target = tokens.tolist(), []
    for (start, end), mark in zip(spans, marks, strict=False):
        target += [mark, *source[start:end]]
        source[start:end] = [mark]
    return np.array(source), np.array([*target, marks[-1]])
