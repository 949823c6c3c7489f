"""The exam questions of chapter 6, answered again by other ways than the library's."""

import itertools
import re
from fractions import Fraction
from functools import cache

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

from tformer_book.exams import Item


def two_heads(item: Item) -> dict[str, object]:
    """Number by number, from the concatenated row."""
    (a, b), (upper, lower) = item.given["y"].tolist(), item.given["w_o"].tolist()

    def product(row: list[float]) -> list[float]:
        return [sum(x * w[j] for x, w in zip(row, upper + lower, strict=True)) for j in range(3)]

    return {"output": product(a + b), "off": product([*a, 0, 0]), "turned": product(b + a)}


def the_bill(item: Item) -> dict[str, object]:
    """By formulas, and by the rank of random tables of scores."""
    heads, groups, width, layers, narrow = (
        item.given[name] for name in ("heads", "groups", "width", "layers", "narrow")
    )
    kinds = (heads, groups, 1)
    return {
        "bill": [float(2 + Fraction(2 * g, heads)) for g in kinds],
        "cache": [sum(2 * width for _ in range(g * layers)) for g in kinds],
        "rank": [rank_of_scores(heads, g, narrow) for g in kinds],
    }


@cache
def rank_of_scores(heads: int, groups: int, width: int) -> int:
    """The rank of what one query scores with 40 random keys in all heads."""
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((heads, width)), rng.standard_normal((groups, 40, width))
    rows = [k[h * groups // heads] @ q[h] for h in range(heads)]
    return int(np.linalg.matrix_rank(np.array(rows)))


def sets_of_heads(item: Item) -> dict[str, object]:
    """The largest families without containment by matching, and containment by Python's sets."""
    enough = next(h for h in itertools.count(1) if largest_family(h) >= item.given["kinds"])
    sets = dict(zip("PQRST", map(set, item.given["members"]), strict=False))
    wrong = [f"{i} in {j}" for i in sets for j in sets if i != j and sets[i] <= sets[j]]
    return {"enough": enough, "most": largest_family(enough), "wrong": ", ".join(wrong)}


@cache
def largest_family(heads: int) -> int:
    """How many subsets none of which contains another: all, less a largest matching (Dilworth)."""
    subsets = np.arange(2**heads)
    inside = (subsets[:, None] & subsets == subsets[:, None]) & (subsets[:, None] != subsets)
    return int((maximum_bipartite_matching(csr_array(inside)) < 0).sum())


def cut_into_heads(item: Item) -> dict[str, object]:
    """Run the programs as they are printed; the right cut number by number."""
    T, H, d = (item.given[name] for name in ("words", "heads", "width"))
    q = np.array([[10 * a + b for b in range(1, H * d + 1)] for a in range(1, T + 1)])
    programs = re.findall(r"\*\* `(.*)`", item.statement)
    found = dict(zip("ABCD", (eval(program, {"q": q}) for program in programs), strict=True))
    cut = [[[10 * a + h * d + b + 1 for b in range(d)] for a in range(1, T + 1)] for h in range(H)]
    at_once, combed = re.findall(r"as\s+(\w)\s+makes it", item.statement)
    return {
        "right": cut[-1],
        "mixed": found[at_once][-1],
        "combed": found[combed][-1],
        "good": " and ".join(x for x in "ABCD" if found[x].tolist() == cut),
        "first": int(str(found[at_once][-1][0, 0])[0]),
    }


def read_a_head(item: Item) -> dict[str, object]:
    """In fractions; the other heads are tried on random sentences."""
    q, k, v, o = item.given["parts"].tolist()
    words = {"cat": (1, 0, 0), "mice": (1, 0, 1), "tired": (0, 1, 0), "they": (0, 0, 1)}
    counts = [Fraction(2) ** (q[2] * sum(map(int.__mul__, x, k))) for x in words.values()]
    weights = [count / sum(counts) for count in counts]
    value = sum(
        w * sum(map(int.__mul__, x, v)) for w, x in zip(weights, words.values(), strict=True)
    )
    same = [added(option, item.given["parts"]) for option in ("", *item.given["options"])]
    letters = [x for x, y in zip("ABCD", same[1:], strict=True) if np.allclose(y, same[0])]
    return {
        "M": [[x * y for y in k] for x in q],
        "U": [[x * y for y in o] for x in v],
        "weights": [float(w) for w in weights],
        "added": [float(value * x) for x in o],
        "letters": " and ".join(letters),
    }


FACTORS = {"": 1.0, "-": -1.0, "2 ": 2.0, r"\tfrac12 ": 0.5}


def added(option: str, parts: np.ndarray) -> np.ndarray:
    """What a head that is changed as the text of an option says adds to ten random sentences."""
    w = dict(zip("QKVO", parts.astype(float), strict=True))
    for factor, name in re.findall(r"\$(\S+? ?)W_(.)\$ in place", option):
        w[name] = w[name] * FACTORS[factor]
    if "opposite" in option or "doubled" in option:
        w = {name: x * (2.0 if "doubled" in option else -1.0) for name, x in w.items()}
    if "exchanged" in option:
        w["Q"], w["K"] = w["K"], w["Q"]
    x = np.random.default_rng(0).standard_normal((10, 4, 3)) / 4
    counts = np.exp((x @ w["Q"])[..., None] * (x @ w["K"])[:, None])
    weights = counts / counts.sum(axis=-1, keepdims=True)
    return (weights @ (x @ w["V"])[..., None]) * w["O"]


def two_answers(item: Item) -> dict[str, object]:
    """All four pairs of signs, least squares, and the room that the heads leave."""
    a, b = item.given["scores"]
    heads, more, width = (item.given[name] for name in ("heads", "more", "width"))
    pairs = list(itertools.product((1, -1), repeat=2))
    mixed = [Fraction(a * z + b * other, a + b) for z, other in pairs]
    errors = [(w - z) ** 2 + (w - other) ** 2 for w, (z, other) in zip(mixed, pairs, strict=True)]
    best = np.linalg.lstsq(np.array([[float(w)] for w in mixed]), np.array(pairs, float))[0][0]
    asked = (heads + more) * width
    span = np.random.default_rng(0).standard_normal((heads * width, asked))
    reached = int(np.linalg.matrix_rank(span))
    return {
        "plain": float(sum(errors) / 4),
        "best": best,
        "bound": asked - reached,
        "share": reached / asked,
    }
