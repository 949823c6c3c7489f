"""The exam questions of chapter 5, answered again by other ways than the library's."""

import itertools
import re
from fractions import Fraction

import numpy as np

from tformer_book.exams import Item


def before_and_after(item: Item) -> dict[str, object]:
    """Fractions; the derivative by the quotient rule."""
    odds, hidden = item.given["odds"], item.given["hidden"]
    total = sum(odds)
    visible = [x for i, x in enumerate(odds) if i != hidden]
    shares = [0 if i == hidden else x for i, x in enumerate(odds)]
    return {
        "before": np.array([float(Fraction(x, sum(visible))) for x in shares]),
        "after": np.array([float(Fraction(x, total)) for x in shares]),
        "sum": float(Fraction(sum(visible), total)),
        "slope": float(-Fraction(visible[0] * odds[hidden], total**2)),
    }


def given_away(item: Item) -> dict[str, object]:
    """The whole sum is the odds of the first key over its weight."""
    late, odds = item.given["late"], item.given["odds"]
    whole = odds[0] / late[0]
    return {"hidden": round(whole - sum(odds)), "missing": (whole - sum(odds)) / whole}


def who_knows(item: Item) -> dict[str, object]:
    """Walk the sets of words, one layer after the other."""
    window, n = item.given["window"], item.given["n"]

    def known(word: int, layers: int) -> set[int]:
        words = {word}
        for _ in range(layers):
            words = {s for t in words for s in range(max(1, t - window + 1), t + 1)}
        return words

    return {
        "known": len(known(n, item.given["layers"])),
        "needed": next(i for i in itertools.count(1) if 1 in known(n, i)),
        "earliest": min(known(item.given["place"], item.given["layers"])),
    }


def four_masks(item: Item) -> dict[str, object]:
    """Run the programs as they are printed, pair by pair."""
    n = item.given["n"]
    programs = re.findall(r"\*\* `(.*)`", item.statement)

    def sees(program: str, t: int, s: int) -> bool:
        return bool(eval(program, {"t": t, "s": s, "n": n}))

    ahead = [sum(sees(one, t, s) for t in range(n) for s in range(t + 1, n)) for one in programs]
    blind = [sum(not any(sees(one, t, s) for s in range(n)) for t in range(n)) for one in programs]
    behind = [
        all(sees(one, t, s) == (s <= t) for t in range(n) for s in range(n)) for one in programs
    ]
    return {
        "leaks": np.array(ahead),
        "blind": np.array(blind),
        "right": "ABCD"[behind.index(True)],
    }


def finite_fill(item: Item) -> dict[str, object]:
    """The factor e to the fill cancels in fractions."""
    odds = item.given["odds"]
    return {
        "added": np.array([float(Fraction(x, sum(odds))) for x in odds]),
        "written": np.array([1 / 3] * 3),
        "contract": np.zeros(3),
    }


def one_pass(item: Item) -> dict[str, object]:
    """All eight texts by fractions; rows counted one by one."""
    table = [Fraction(x).limit_denominator(8) for x in item.given["table"]]
    names = ["", "a", "b", "aa", "ab", "ba", "bb"]
    chances = {}
    for letters in itertools.product("ab", repeat=3):
        chance = Fraction(1)
        for t in range(3):
            p = table[names.index("".join(letters[:t]))]
            chance *= p if letters[t] == "a" else 1 - p
        chances["".join(letters)] = chance
    assert sum(chances.values()) == 1
    length = item.given["length"]
    text = "".join("ab"[letter] for letter in item.given["text"])
    return {
        "chance": float(chances[text]),
        "rows": sum(1 for end in range(1, length + 1) for _ in range(end)),
        "once": length,
    }
