"""Exercises 6.9, 6.10 and 6.11: sets of heads, two slots, two graded heads."""

from __future__ import annotations

from itertools import combinations, permutations, product
from math import comb
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import show
from tformer_book.exercises.kinds import parts
from tformer_book.exercises.registry import exercise

_SMALL = "Different sets are not enough: this one can never win."
_SIDE = "It is transposed: a row belongs to a head, and a column to a kind."
_MANY = "There is a way with fewer heads."
_NONE = "The empty set lies in every other, so this one can never win."


def fewest(n: int) -> int:
    """Return the least number of heads for n kinds."""
    return next(h for h in range(1, n + 1) if comb(h, h // 2) >= n)


def _halves(n: int) -> np.ndarray:
    sets = list(combinations(range(fewest(n)), fewest(n) // 2))[:n]
    return np.array([[h in chosen for chosen in sets] for h in range(fewest(n))])


def _binary(n: int) -> np.ndarray:
    return (np.arange(n) >> np.arange(fewest(n))[:, None] & 1).astype(bool)


@exercise(
    "6.9",
    praise="For every number of kinds from 2 to 40: no kind belongs to all heads of "
    "another, and no layer with fewer heads could do it.",
    hints=(
        "Which families of sets contain no two sets of which one lies in the other?",
        "Sets of equal size, for example. For which size are there the most?",
        "The most subsets of a set of H elements have half its size: comb(H, H // 2) of them.",
    ),
    mutants={
        _SMALL: lambda n: np.arange(n) < np.arange(1, fewest(n) + 1)[:, None],
        _NONE: _binary,
        _MANY: lambda n: np.eye(n, dtype=bool),
        _SIDE: lambda n: _halves(n).T,
    },
)
def belongs(f: Answer) -> None:
    """A table of True and False, a row for each head and a column for each kind."""
    for n in range(2, 41):
        said = f.said(n=n)
        table = f.numbers(f.raw(said, n=n).value, said)
        if table.ndim != 2 or table.shape[1] != n:
            side = f" {_SIDE}" * (table.ndim == 2 and table.shape[0] == n)
            raise Wrong(
                f"With {said}, {f.name} returns the shape {table.shape}; it should have a row for "
                f"each head and {n} columns.{side}"
            )
        if not np.isin(table, (0, 1)).all():
            raise Wrong(f"With {said}, {f.name} holds something beside True and False.")
        for i, j in permutations(range(n), 2):
            if np.all(table[:, i] <= table[:, j]):
                why = _SMALL if table[:, i].any() else _NONE
                why = _SIDE if len(table) == n and not _lost(table.T) else why
                own = np.flatnonzero(table[:, i])
                heads = f"head{'s' * (len(own) > 1)} {' and '.join(map(str, own))}"
                where = f"to {heads}, and so does kind {j}" if len(own) else "to no head"
                raise Wrong(f"With {said}, kind {i} belongs {where}. {why}")
        if len(table) > fewest(n):
            raise Wrong(
                f"With {said}, {f.name} uses {describe.count(len(table))} heads. {_MANY}"
                + _enough(table)
            )


def _lost(table: np.ndarray) -> bool:
    """Tell whether some kind belongs to all the heads of another."""
    pairs = permutations(range(table.shape[1]), 2)
    return any(np.all(table[:, i] <= table[:, j]) for i, j in pairs)


def _enough(table: np.ndarray) -> str:
    """Say, where all sets have one size, whether fewer heads or another size would do."""
    n_heads, n = table.shape
    sizes = set(table.sum(axis=0).astype(int).tolist())
    if len(sizes) > 1:
        return ""
    (size,) = sizes
    of = f" All your sets have {describe.count(size)} head{'s' * (size > 1)}"
    if (sets := comb(n_heads - 1, size)) >= n:
        return f"{of}, and {describe.count(n_heads - 1)} heads have {sets} such sets."
    return (
        ""
        if size in (n_heads // 2, -(-n_heads // 2))
        else f"{of}; there are more sets of another size."
    )


NAMES = ("w_q", "w_k", "w_v", "w_o")


def collected(
    m: int, beta: float = 20.0, turned: bool = False, everywhere: bool = False, marks: bool = False
) -> tuple[np.ndarray, ...]:
    """Return the two heads that collect who and whom; or two that make a mistake."""
    d = 3 * m + 3
    w_q, w_k = np.zeros((2, 2, d, 1))
    w_v, w_o = np.zeros((2, d, m)), np.zeros((2, m, d))
    w_q[:, : d if everywhere else 0], w_q[:, m + 2] = beta, beta
    w_v[:, :m] = np.eye(m)
    for h in (0, 1):
        w_k[h, m + (1 - h if turned else h)] = 1
        if marks:
            w_k[:, m + 1 - h] = 1
        slot = m + 3 + h * m
        w_o[h, :, slot : slot + m] = np.eye(m)
    return w_q, w_k, w_v, w_o


def _sentence(rng: np.random.Generator, m: int, n: int) -> np.ndarray:
    x = np.zeros((n, 3 * m + 3))
    x[:, :m] = rng.uniform(-1, 1, (n, m))
    places = rng.permutation(n)[:3]
    x[places, m + np.arange(3)] = 1
    return np.concatenate([x[places], np.delete(x, places, axis=0)])


_EXCHANGED = "Who and whom are exchanged."
_MIXED = "Both slots hold the mean of the two nouns: the heads attend to both alike."
_SOFT = "The right words, but others get some weight too."
_NAIVE = "The slots hold a mixture of other words as well."


@exercise(
    "6.10",
    praise="Contents of one to six numbers, all of them 1 or −1 too, and sentences of three to "
    "twenty words.",
    hints=(
        "One head for each slot. By which column does the first head find the nominative?",
        "The query reads the mark of the verb, the key the mark of a noun, the value the content.",
        "The content is copied by an identity, once into the values, once into the slot.",
    ),
    mutants={
        _EXCHANGED: lambda m: collected(m, turned=True),
        _MIXED: lambda m: collected(m, marks=True),
        _SOFT: lambda m: collected(m, beta=6.0),
        _NAIVE: lambda m: collected(m, beta=1.0),
    },
)
def collect(f: Answer) -> None:
    """Weights of two heads, judged by what arrives in the verb's row."""
    rng = np.random.default_rng(0)
    for m in (1, 2, 4, 6):
        said, d = f.said(m=m), 3 * m + 3
        tables = [x.astype(float) for x in parts(f, f.raw(said, m=m).value, said, NAMES)]
        _fit(f, said, tables, d)
        for n in (3, 3, 4, 12, 20, 20):
            x = _sentence(rng, m, n)
            _judge(f"{said}, and a sentence of {describe.count(n)} words", x, m, tables)
        for nouns, verb, others in product((1, -1), repeat=3):
            x = _sentence(rng, m, 20)
            x[:2, :m], x[2, :m], x[3:, :m] = [[nouns], [-nouns]], verb, others
            _judge(
                f"{said}, and 20 words with contents {nouns} and {-nouns} of the nouns, {verb} of "
                f"the verb and {others} of the others",
                x,
                m,
                tables,
            )
            x[1, :m] = nouns
            _judge(
                f"{said}, and 20 words with contents {nouns} of the nouns, {verb} of the verb and "
                f"{others} of the others",
                x,
                m,
                tables,
            )


def _fit(f: Answer, said: str, tables: list[np.ndarray], d: int) -> None:
    """Require four tables of two heads that fit each other."""
    d_k, d_v = tables[0].shape[-1], tables[2].shape[-1]
    wanted = ((2, d, d_k), (2, d, d_k), (2, d, d_v), (2, d_v, d))
    for name, table, shape in zip(NAMES, tables, wanted, strict=True):
        if table.shape != shape:
            raise Wrong(f"With {said}, your {name} has the shape {table.shape}, not {shape}.")
        if not np.isfinite(table).all():
            raise Wrong(f"With {said}, your {name} holds numbers that are not finite.")


def _verb(x: np.ndarray, tables: list[np.ndarray]) -> np.ndarray:
    heads = zip(*tables, strict=True)
    return np.asarray(
        sum(reference.attention(x[2:3] @ q, x @ k, x @ v)[0] @ o for q, k, v, o in heads)
    )


def _judge(said: str, x: np.ndarray, m: int, tables: list[np.ndarray]) -> None:
    got, who, whom = _verb(x, tables), x[0, :m], x[1, :m]
    want = np.concatenate([np.zeros(m + 3), who, whom])
    error = float(np.abs(got - want).max())
    if error <= 1e-3:
        return
    told: Any = f"With {said}, the verb's slots are off by {show(error)}. "
    if np.abs(got[: m + 3]).max() > 1e-3:
        raise Wrong(told + "Something is written into columns that should stay as they are.")
    if _reads_contents(tables, m):
        raise Wrong(told + "Contents take part in the scores, and they may have any sign.")
    if not tables[0][:, m + 2].any():
        raise Wrong(told + "No query reads the mark of the verb, and it is the verb that asks.")
    verb, none = x[2, :m], np.zeros(m)
    looks = {
        "Both heads attend to the verb itself.": (verb, verb),
        "Both heads write into the first slot.": (who + whom, none),
        "Both heads write into the second slot.": (none, who + whom),
        "The contents arrive with the other sign.": (-who, -whom),
        "Half of each content arrives.": (who / 2, whom / 2),
        "The numbers of a content arrive in reverse order.": (who[::-1], whom[::-1]),
        _EXCHANGED: (whom, who),
        _MIXED: ((who + whom) / 2, (who + whom) / 2),
        "Both heads attend to the nominative.": (who, who),
        "Both heads attend to the accusative.": (whom, whom),
        "Each head writes into both slots, which hold the sum of the two nouns.": (
            who + whom,
            who + whom,
        ),
        "The numbers of the two contents are dealt out in turn; one slot follows the other.": tuple(
            np.stack([who, whom], axis=-1).reshape(2, m)
        ),
    }
    slots = got[m + 3 :].reshape(2, m)
    alike = [
        words
        for words, seen in looks.items()
        if np.abs(slots - seen).max() <= 0.1 < np.abs(np.subtract(seen, [who, whom])).max() / 2
    ]
    if len(alike) == 1:
        raise Wrong(told + alike[0])
    raise Wrong(told + (_SOFT if error < 0.2 else _NAIVE))


def _reads_contents(tables: list[np.ndarray], m: int) -> bool:
    """Tell whether a score depends on the content of a word."""
    forms = tables[0] @ tables[1].mT
    return bool(np.abs(forms[:, :m]).max() > 1e-9 or np.abs(forms[:, :, :m]).max() > 1e-9)


LENGTHS, LEAST = (3, 9, 15), 1.01
_SAME = "All adjectives turn the two heads down alike, so that none says which kind it means."
_ALIKE = "The two heads have the same scores: the second should rank the kinds the other way round."
_OTHERS = "With more words it fails: the other words must not matter beside the adjective."
_CLOSE = "The two kinds are too close together in your scores."
_INSIDE = (
    "No adjective can make this kind win beside all others: the points of the kinds, e to their "
    "two scores, lie on a straight line here, or on a curve that bends inwards."
)
_LOSES = "Here the other noun wins. Which head should the adjective turn down?"


def graded_scores(
    n: int, level: float = 12.0, kind: str = "circle", adjective: str = "opposite"
) -> np.ndarray:
    """Return scores (2, 2 n) of nouns and adjectives; or some that fail."""
    angle = np.pi / 2 * (np.arange(n) + 0.5) / n
    if kind == "short":
        angle = np.pi / 4 + (angle - np.pi / 4) / 8
    line = (np.arange(n) + 0.5) / n
    nouns = np.log([line, 1 - line] if kind == "line" else [np.sin(angle), np.cos(angle)])
    said = {"opposite": level - nouns, "same": level + nouns, "none": 0 * nouns + level}[adjective]
    return np.concatenate([nouns, said], axis=1)


@exercise(
    "6.11",
    praise="For two to eight kinds, in every sentence with two nouns and an adjective, of three to "
    "fifteen words.",
    hints=(
        "Put the kinds on a curve: what a noun weighs in the first head, and in the second. An "
        "adjective of high score turns both weights down, each by a factor of its own, and they "
        "are added up. When does the kind that is meant win?",
        "When its own point has the largest dot product with the two factors, of all points of the "
        "curve. On a quarter of a circle a point has the largest dot product with itself.",
        "A weight of e^(a − b) beside an adjective of score b is as if the head counted e^(−b). So "
        "b is a large number minus the noun's own score.",
    ),
    mutants={
        _SAME: lambda n: graded_scores(n, adjective="none"),
        _OTHERS: lambda n: graded_scores(n, level=3.2),
        _CLOSE: lambda n: graded_scores(n, kind="short"),
        _INSIDE: lambda n: graded_scores(n, kind="line"),
        _LOSES: lambda n: graded_scores(n, adjective="same"),
    },
)
def graded(f: Answer) -> None:
    """Scores of nouns, then of adjectives, in two heads."""
    for n in range(2, 9):
        said = f.said(n=n)
        scores = f.sound(f.array(said, n=n), (2, 2 * n), said)
        for length in LENGTHS:
            for right, wrong in permutations(range(n), 2):
                both = _both(scores, right, wrong, length)
                if both[0] < LEAST * both[1]:
                    raise Wrong(
                        f"With {said}, in a sentence of {describe.count(length)} words, nouns of "
                        f"the kinds {right} and {wrong} and an adjective that says {right}, the "
                        f"mean gives them {show(both[0])} and {show(both[1])}. "
                        + _why(scores, right, wrong, length)
                    )


def _fine(scores: np.ndarray) -> bool:
    """Tell whether the noun that fits wins in every sentence."""
    pairs = permutations(range(scores.shape[1] // 2), 2)
    wins = (_both(scores, *pair, length) for pair in pairs for length in LENGTHS)
    return all(right >= LEAST * wrong for right, wrong in wins)


def _can_win(nouns: np.ndarray, right: int) -> bool:
    """Tell whether heads turned down by some factors would give a kind the largest weight."""
    points = np.exp(nouns - nouns.max(axis=1, keepdims=True))
    angle = np.linspace(0, np.pi / 2, 4001)
    values = np.stack([np.sin(angle), np.cos(angle)], axis=1) @ points
    others = np.delete(values, right, axis=1).max(axis=1)
    return bool((values[:, right] > (1 + 1e-6) * others).any())


def _both(scores: np.ndarray, right: int, wrong: int, length: int) -> np.ndarray:
    n = scores.shape[1] // 2
    chosen = scores[:, [right, wrong, n + right]]
    full = np.concatenate([chosen, np.zeros((2, length - 3))], axis=1)
    return np.asarray(reference.softmax(full)[:, :2].mean(axis=0))


def _why(scores: np.ndarray, right: int, wrong: int, length: int) -> str:
    n = scores.shape[1] // 2
    said = scores[:, n:]
    if _fine(np.roll(scores, n, axis=1)):
        return "The scores of the adjectives stand first; those of the nouns belong there."
    if _fine(np.concatenate([scores[:, ::2], scores[:, 1::2]], axis=1)):
        return "Nouns and adjectives stand in turn; all nouns come first."
    if np.ptp(scores[0] - scores[1]) < 1e-9:
        return _ALIKE
    if np.ptp(said[0] - said[1]) < 1e-9:
        return _SAME
    if n > 2 and not _can_win(scores[:, :n], right):
        return _INSIDE
    short = _both(scores, right, wrong, LENGTHS[0])
    if length > LENGTHS[0] and short[0] >= LEAST * short[1]:
        return _OTHERS
    mean = _both(scores, right, wrong, length)
    if mean[0] > 0.97 * mean[1]:
        return _CLOSE
    gap = scores[:, right] - scores[:, wrong]
    if gap[0] * gap[1] >= 0:
        return f"{_LOSES} One noun leads in both heads, and then no adjective helps."
    high, low = ("first", "second") if gap[0] < 0 else ("second", "first")
    return (
        f"{_LOSES} The other noun leads in the {high} one, where the adjective that says {right} "
        f"has the score {show(said[int(gap[1] < 0), right])}; in the {low} one it has "
        f"{show(said[int(gap[0] < 0), right])}. What the adjective weighs, the nouns lose."
    )
