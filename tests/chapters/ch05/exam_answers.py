"""The exam questions of chapter 5, answered again by other ways than the library's."""

import itertools
import re
from fractions import Fraction
from functools import cache
from math import prod

import numpy as np
import torch

from tformer.exams import Item


def known(word: int, layers: list[set[tuple[int, int]]]) -> set[int]:
    """The words that a word can know: from the last layer down, stay or take one of its steps."""
    there = {word}
    for steps in reversed(layers):
        there |= {s for t, s in steps if t in there}
    return there


def two_conversations(item: Item) -> dict[str, object]:
    """Pair by pair, from the sentence of the question."""
    who, w, later, old, new = (item.given[x] for x in ("who", "window", "later", "old", "new"))
    every = list(itertools.product(range(6), repeat=2))
    steps = {(t, s) for t, s in every if t - w < s <= t and who[t] == who[s]}
    mask = np.array([pair in steps for pair in every]).reshape(6, 6)
    cached = [
        [s in range(old + t - later + 1, old + t + 1) for s in range(old + new)] for t in range(new)
    ]
    shifted = [s + 1 for s in range(new) if new - later <= s]
    return {
        "mask": mask,
        "known": sorted(s + 1 for s in known(5, [steps, steps])),
        "cached": cached,
        "shifted": shifted,
    }


def before_or_after(item: Item) -> dict[str, object]:
    """In fractions: the weights of logarithms are their arguments."""
    a, v, seen, changed = (
        [int(x) for x in item.given[name]] for name in ("a", "v", "seen", "changed")
    )

    def mixed(parts: list[int], whole: int) -> tuple[list[float], float]:
        weights = [Fraction(x * see, whole) for x, see in zip(parts, seen, strict=True)]
        return [float(w) for w in weights], float(
            sum(w * x for w, x in zip(weights, v, strict=True))
        )

    before, output = mixed(a, sum(x for x, see in zip(a, seen, strict=True) if see))
    after, late = mixed(a, sum(a))
    moved = mixed(changed, sum(changed))[1]
    return {"before": before, "after": after, "output": output, "late": late, "moved": moved}


def who_can_know(item: Item) -> dict[str, object]:
    """Walk along the steps, word by word."""
    n, w, layers = (item.given[name] for name in ("words", "window", "layers"))
    steps = {(t, s) for t in range(1, n + 1) for s in range(max(1, t - w + 1), t + 1)}
    holed = steps | {item.given["hole"]}

    def leaks(lower: set[tuple[int, int]], upper: set[tuple[int, int]]) -> str:
        pairs = [(u, s) for u in range(1, n + 1) for s in sorted(known(u, [lower, upper])) if s > u]
        return ", ".join(map(str, pairs))

    return {
        "first": min(known(n, [steps] * layers)),
        "needed": next(k for k in itertools.count() if 1 in known(n, [steps] * k)),
        "both": leaks(holed, holed),
        "upper": leaks(steps, holed),
    }


def one_pass(item: Item) -> dict[str, object]:
    """Every text, in fractions."""
    start, *after = item.given["shares"]

    def chance(text: tuple[int, ...]) -> Fraction:
        shares = [start, *(after[word] for word in text[:-1])]
        return prod(1 - p if word else p for p, word in zip(shares, text, strict=True))

    thirds = [chance(text) for text in itertools.product((0, 1), repeat=3) if text[2] == 0]
    every = itertools.product("ab", repeat=item.given["length"])
    return {
        "chance": float(chance(tuple(int(word) for word in item.given["text"]))),
        "third": float(sum(thirds)),
        "total": float(sum(prod(item.given["sure"] for _ in text) for text in every)),
    }


def four_layers(item: Item) -> dict[str, object]:
    """Run the programs as they are printed, and differentiate."""
    programs = re.findall(r"\*\* `(.*)`", item.statement)
    return {"count": [leaks_of(program, item.given["rows"]) for program in programs]}


@cache
def leaks_of(program: str, n: int) -> int:
    """Blocks above the diagonal of the Jacobian of a program that are not zero."""
    t, s = torch.arange(n)[:, None], torch.arange(n)

    def softmax(scores: torch.Tensor, axis: int = 1) -> torch.Tensor:
        powers = scores.exp()
        sums = powers.sum(axis, keepdim=True)
        return powers / torch.where(sums > 0, sums, 1.0)

    names = {"softmax": softmax, "where": torch.where, "HIDE": -torch.inf, "t": t, "s": s}
    x = torch.randn(n, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda X: eval(program, {**names, "X": X}), x)
    return int((jacobian.abs().amax(dim=(1, 3)).triu(1) > 1e-9).sum())


def minus_how_much(item: Item) -> dict[str, object]:
    """In fractions, and rounded as on paper."""
    visible, hidden, scores = (
        [int(x) for x in item.given[name]] for name in ("visible", "hidden", "scores")
    )
    small, fill, gap, one = (item.given[name] for name in ("small", "fill", "gap", "one"))
    kept = sum(Fraction(2) ** (z - small) for z in hidden)
    rounded = [round(Fraction(z - fill, gap)) * gap for z in scores]
    powers = [2 ** (z + fill) for z in rounded]
    least = next(z for z in itertools.count() if z - fill >= -one)
    return {
        "share": float(kept / (kept + sum(2**z for z in visible))),
        "least": least,
        "rounded": rounded,
        "weights": [power / sum(powers) for power in powers],
    }
