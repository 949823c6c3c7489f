"""Exercise 17.5: what an induction head says."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import Case, case, type_test

Array = np.ndarray


def _texts() -> Iterator[Case | Test]:
    text = np.array([5, 3, 8, 5, 3, 7, 5])
    why = (
        "At the 5 of position 3, the 5 of position 0 was followed by 3; at the last, by 3 as well."
    )
    yield case(tokens=text, n=1, want=np.array([-1, -1, -1, 3, 8, -1, 3]), why=why)
    why = "Only “5 3” at positions 3 and 4 has stood before, and 8 came next."
    yield case(tokens=text, n=2, want=np.array([-1, -1, -1, -1, 8, -1, -1]), why=why)
    text = np.array([1, 2, 1, 3, 1, 0, 1, 2])
    why = "The latest 1 counts: 2, 3 and 0 came next."
    yield case(tokens=text, n=1, want=np.array([-1, -1, 2, -1, 3, -1, 0, 1]), why=why)
    text = np.array([4, 4, 4, 9, 4, 4])
    why = "After a 4 came the next 4, which stands where the text stands now."
    yield case(tokens=text, n=1, want=np.array([-1, 4, 4, -1, 9, 4]), why=why)
    why = "The two stretches “4 4” of positions 0 to 1 and 1 to 2 overlap."
    yield case(tokens=text, n=2, want=np.array([-1, -1, 4, -1, -1, 9]), why=why)
    text = np.array([2, 6, 6, 2, 6, 2])
    why = "“6 2” has not stood before until position 5, and “2 6” is not “6 2”."
    yield case(tokens=text, n=2, want=np.array([-1, -1, -1, -1, 6, 6]), why=why)
    text = np.array([1, 9, 2, 5, 1, 8, 2, 6])
    why = "The 2 of position 6 came after an 8, and the earlier one after a 9."
    yield case(tokens=text, n=2, want=np.full(8, -1), why=why)
    yield case(tokens=text, n=3, want=np.full(8, -1), why="No three tokens stand twice.")
    yield case(tokens=text, n=9, want=np.full(8, -1), why="n may be larger than T.")
    yield case(tokens=text, n=8, want=np.full(8, -1), why="n may be T.")
    alike = np.array([1, 12, 2, 2, 11, 2])
    why = "“1 12”, “2 2” and “11 2” are three stretches, though their digits may look alike."
    yield case(tokens=alike, n=2, want=np.full(6, -1), why=why)
    again = np.array([11, 2, 7, 1, 12, 7, 11, 2])
    yield case(tokens=again, n=2, want=np.array([-1, -1, -1, -1, -1, -1, -1, 7]), why=why)
    bases = (10, 50, 64, 100, 128, 256, 500, 512, 1000, 1024, 10_000, 50_257, 65_536, 10**5, 10**6)
    made = np.array([x for i, b in enumerate(bases) for x in (2 * i + 1, b, 2 * i + 2, 0)])
    why = "In base b the stretches “k b” and “k + 1, 0” make one number, and they are two."
    yield case(tokens=made, n=2, want=np.full(len(made), -1), why=why)
    bits = np.array([5, 6, 5 + 2**8, 7, 5 + 2**15, 8, 5 + 2**16, 9, 5 + 2**19, 5 + 10**5])
    why = "All tokens differ, though their last 8 or 16 bits may not."
    yield case(tokens=bits, n=1, want=np.full(10, -1), why=why)
    inner = np.random.default_rng(12).integers(0, 9, 70)
    long = np.array([1, *inner, 3, 2, *inner, 4])
    why = "The stretches of 71 differ in their first token, or in their last."
    yield case(tokens=long, n=71, want=np.full(144, -1), why=why)
    yield case(tokens=text[:1], n=1, want=np.array([-1]), why="One token: nothing came before.")
    yield case(tokens=text[:0], n=1, want=np.full(0, -1), why="T may be 0.")
    yield case(tokens=text[:0], n=3, want=np.full(0, -1), why="T may be 0.")
    twice = np.tile(np.array([11, 0, 12, 0, 13]), 2)
    want = np.array([-1, -1, -1, 12, -1, 0, 13, 0, 12, 11])
    why = "A token may be 0; of the two zeros the latest counts."
    yield case(tokens=twice, n=1, want=want, why=why)
    want = np.array([-1, -1, -1, -1, -1, -1, 12, 0, 13, 11])
    yield case(tokens=twice, n=2, want=want, why="With two tokens the repeat is copied whole.")
    for seed, (T, N, n) in enumerate(
        ((30, 3, 1), (40, 3, 2), (60, 2, 3), (200, 50, 1), (50, 1, 4), (80, 4, 2))
    ):
        tokens = np.random.default_rng(seed).integers(0, N, T)
        yield case(tokens=tokens, n=n, why=f"{T} tokens of {N} kinds, matched by {n}.")
    tokens = np.random.default_rng(9).integers(0, 49_152, 200)
    yield case(tokens=np.tile(tokens, 2), n=1, why="200 tokens, twice.")
    yield case(tokens=np.tile(tokens, 2), n=5, why="200 tokens, twice.")
    yield type_test("an int", tokens=text, n=1)


def _in_base(base: int, stretch: list[int]) -> int:
    key = 0
    for token in stretch:
        key = key * base + token
    return key


def _most_often(tokens: Array, n: int, step: int = -1) -> Array:
    out = np.full(len(tokens), -1)
    for t in range(n - 1, len(tokens)):
        now = tokens[t - n + 1 : t + 1]
        found = [
            tokens[s + 1] for s in range(n - 1, t) if np.array_equal(tokens[s - n + 1 : s + 1], now)
        ]
        if found:
            out[t] = max(found[::step], key=found.count)
    return out


@exercise(
    "17.5",
    praise="Texts that repeat themselves and others, stretches that overlap, one token, none, and "
    "a stretch longer than the text.",
    hints=(
        "For one position t: write down the last n tokens. Where did they stand before?",
        "Go through all s from n − 1 to t − 1, compare the two stretches, and keep the latest.",
        "What is said is tokens[s + 1]. s may be t − 1, and then that is the token at t. Fill an "
        "array of whole numbers with −1 first.",
    ),
    cases=_texts,
    slips="""
        last[key] = t → last.setdefault(key, t)
            You took the token that followed there at first; what followed the latest such position
            counts.
        tokens[last[key] + 1] → tokens[last[key]]
            That is the token that was found again; the exercise asks for the one that came next.
        tokens[last[key] + 1] → last[key] + 1
            That is a position; the exercise asks for the token that stands there.
        tokens[last[key] + 1] → last[key]
            That is the position of the match; the exercise asks for the token that came next.
        tokens[last[key] + 1] → tokens[max(last[key] - 1, 0)]
            That is the token that came before the match; the exercise asks for the one that came
            next.
        tokens[last[key] + 1] → tokens[last[key] - n + 1]
            That is the first token of the stretch; the exercise asks for the one after its last.
        tokens[last[key] + 1] → tokens[last[key] - n + 2]
            You took the token after the first of the stretch; it comes after the last.
        np.full(len(tokens), -1) → np.full(len(tokens), 0)
        if key in last else -1 → if key in last else 0
            You said 0 where nothing was found. 0 is a token; −1 is asked for.
        if key in last else -1 → if key in last else tokens[t]
            Where nothing was found you repeated the token itself; −1 is asked for.
        range(n - 1, len(tokens)) → range(len(tokens))
            At the first positions fewer than n tokens stand, and your stretch is cut short, or
            begins at the end of the text.
        tokens[t - n + 1 : t + 1].tolist() → tokens[t : t + 1].tolist()
        range(n - 1, len(tokens)) → range(len(tokens))
            n has no effect in your answer: one token was compared.
        tokens[t - n + 1 : t + 1].tolist() → tokens[max(t - n, 0) : t + 1].tolist()
            You compared n + 1 tokens; the last n are those up to t, itself included.
        tokens[t - n + 1 : t + 1].tolist() → tokens[t - n + 1 : t].tolist()
            You compared n − 1 tokens: the token at t counts itself.
        tokens[t - n + 1 : t + 1].tolist() → sorted($)
            You compared without order. The same tokens have to stand in the same order.
        tokens[t - n + 1 : t + 1].tolist() → [tokens[t], tokens[t - n + 1]]
            You compared the first token of the stretch and its last; those between count as well.
        tokens[t - n + 1 : t + 1].tolist() → [_in_base(10, $)]
            You made one number of a stretch, in base 10, where tokens above 9 run into others.
        tokens[t - n + 1 : t + 1].tolist() → ["".join(map(str, $))]
            You joined the digits of a stretch; nothing shows where one token ends.
        tokens[t - n + 1 : t + 1].tolist() → [tokens[t - n + 1]]
            You compared the first token of the stretch alone.
        last[key] = t → last[tuple(tokens[t - n : t].tolist())] = t - 1
            You left out the position just before, whose next token is the one that stands at t.
        tokens[last[key] + 1] if key in last else -1 → tokens[t + 1] if t + 1 < len(tokens) else -1
            That is the token that really comes next, which nobody knows at position t.
        return out → return out[n - 1 :]
            The first n − 1 positions are missing; nothing can be found there, which is −1.
        tokens[last[key] + 1] → tokens[last[key] + 2]
            You took the second token after the match. Take the one right after it.
        tokens[t - n + 1 : t + 1].tolist() → tokens[t : t + 1].tolist()
            You compared the last token alone, from position n − 1 on. Compare all n.
        tokens[last[key] + 1] → t - last[key]
            That is how far back the match lies. Return the token that came after it.
        return out → return np.where(out < 0, tokens, out)
            Where nothing was found you wrote the token itself, at the first positions too. Write −1
            there.
    """,
    mutants={
        "You compared the stretch at t with itself, too. Let s end at t − 1.": (
            lambda tokens, n: _searched(tokens, n, n - 1, 1)
        ),
        "Your search begins at s = n. The first n tokens end at s = n − 1: begin there.": (
            lambda tokens, n: _searched(tokens, n, n, 0)
        ),
        "One equal token was enough for you; all n have to be the same.": (
            lambda tokens, n: _any(tokens, n)
        ),
        "Before position n − 1 there are no n tokens: the slice begins at the end of the text, or "
        "is empty.": lambda tokens, n: _from_the_start(tokens, n),
        "You let the two stretches not overlap; they may.": lambda tokens, n: _apart(tokens, n),
        "You took the token that came next most often; the one after the latest match counts.": (
            _most_often
        ),
        "You took the token that came next most often, of several the first; the one after the "
        "latest match counts.": lambda tokens, n: _most_often(tokens, n, 1),
        "What you say at t stands at the position after it.": lambda tokens, n: _later(tokens, n),
        "You looked through the whole text, the later positions too; at t only earlier ones are "
        "known.": lambda tokens, n: _in_the_whole(tokens, n),
        "You found the stretch at t itself, and so the token that comes next; only earlier "
        "positions count.": lambda tokens, n: _itself(tokens, n),
    },
    otherwise="The token after the latest earlier position that ends the same n tokens.",
)
def induced(tokens: Array, n: int) -> Array:
    """The token that a perfect induction head says at each position."""
    out = np.full(len(tokens), -1)
    last: dict[tuple[int, ...], int] = {}
    for t in range(n - 1, len(tokens)):
        key = tuple(tokens[t - n + 1 : t + 1].tolist())
        out[t] = tokens[last[key] + 1] if key in last else -1
        last[key] = t
    return out


def _any(tokens: Array, n: int) -> Array:
    out = np.full(len(tokens), -1)
    for t in range(n - 1, len(tokens)):
        for s in range(n - 1, t):
            if (tokens[s - n + 1 : s + 1] == tokens[t - n + 1 : t + 1]).any():
                out[t] = tokens[s + 1]
    return out


def _from_the_start(tokens: Array, n: int) -> Array:
    out = np.full(len(tokens), -1)
    for t in range(len(tokens)):
        for s in range(t):
            if (tokens[s - n + 1 : s + 1] == tokens[t - n + 1 : t + 1]).all():
                out[t] = tokens[s + 1]
    return out


def _searched(tokens: Array, n: int, first: int, more: int) -> Array:
    """The latest match of those from `first` to t − 1 + `more` that has a next token."""
    out = np.full(len(tokens), -1)
    for t in range(n - 1, len(tokens)):
        for s in range(first, min(t + more, len(tokens) - 1)):
            if (tokens[s - n + 1 : s + 1] == tokens[t - n + 1 : t + 1]).all():
                out[t] = tokens[s + 1]
    return out


def _apart(tokens: Array, n: int) -> Array:
    out = np.full(len(tokens), -1)
    for t in range(n - 1, len(tokens)):
        for s in range(n - 1, t - n + 1):
            if (tokens[s - n + 1 : s + 1] == tokens[t - n + 1 : t + 1]).all():
                out[t] = tokens[s + 1]
    return out


def _later(tokens: Array, n: int) -> Array:
    return np.concatenate([tokens[:1] * 0 - 1, induced(tokens, n)[:-1]])


def _in_the_whole(tokens: Array, n: int) -> Array:
    """The last match anywhere, later positions too, that has a next token."""
    out = np.full(len(tokens), -1)
    for t in range(n - 1, len(tokens)):
        for s in range(n - 1, len(tokens) - 1):
            if s != t and (tokens[s - n + 1 : s + 1] == tokens[t - n + 1 : t + 1]).all():
                out[t] = tokens[s + 1]
    return out


def _itself(tokens: Array, n: int) -> Array:
    out = np.full(len(tokens), -1)
    for t in range(n - 1, len(tokens)):
        for s in range(n - 1, t + 1):
            if (tokens[s - n + 1 : s + 1] == tokens[t - n + 1 : t + 1]).all():
                out[t] = tokens[s + 1]
    return out
