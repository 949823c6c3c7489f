"""The exam questions of chapter 17, answered again by other ways than the library's."""

from fractions import Fraction
from functools import cache

import numpy as np

from tformer.configuration import Configuration
from tformer.models.hooks import patch, run_with_hooks
from tformer.models.sizes import Sizes, initialise
from tformer_book.exams import Item


def summed(item: Item) -> dict[str, object]:
    """By exact fractions, a word and an answer at a time."""
    weights, says, troubles = (item.given[name] for name in ("weights", "says", "troubles"))
    found: dict[str, object] = {}
    for key, answer, trouble in (("first", "named", 0), ("second", "then", 1)):
        sums = [Fraction(0), Fraction(0)]
        for w, row in zip(weights, [*says, troubles[trouble]], strict=True):
            for n, x in enumerate(row):
                sums[n] += Fraction(int(w), 10) * int(x)
        found[key] = np.array(sums, dtype=float)
        found[answer] = "dog" if sums[0] > sums[1] else "gate"
    return found


def two_weights(item: Item) -> dict[str, object]:
    """By a softmax of scores, and the losses as they are."""
    a, b, last, others, power = (item.given[x] for x in ("a", "b", "last", "others", "power"))
    scores = np.log([a, b, last, others])

    def weights(more: float) -> np.ndarray:
        exponentials = np.exp(scores + np.array([0, 0, more, 0]))
        return exponentials / exponentials.sum()

    one, other = weights(0.0), weights(power * np.log(2))
    right, then = one[0] / one[:2].sum(), other[1] / other[:2].sum()
    mean = (-np.log(right) - np.log(then)) / 2
    return {
        "weight": float(other[0]),
        "right": float(right),
        "right then": float(then),
        "inside": float(np.exp(2 * mean)),
    }


def patched(item: Item) -> dict[str, object]:
    """By steps along the way; where shares are sure, by patches in a decoder that is drawn."""
    d, e, found, parts = (item.given[name] for name in ("d", "e", "found", "parts"))
    way = np.linspace(d, e, (d - e) * parts + 1)
    at = int(np.abs(way - found).argmin())
    before, last = _sure()
    return {
        "share": at / (len(way) - 1),
        "wanted": float(way[d - e]),
        "before": float(d + before * (e - d)),
        "last": float(d + last * (e - d)),
    }


@cache
def _sure() -> tuple[float, float]:
    """The shares that patches recover before the exchanged word, and at the last one at the end."""
    configuration = Configuration(norm="rms", positions="learned")
    sizes = Sizes(20, 8, 3, 2, 16, n_positions=16)
    model = initialise(sizes, configuration, np.random.default_rng(0), std=1.0)
    tokens, exchanged = np.arange(16), np.arange(16)
    exchanged[6] = 17
    clean, other = (run_with_hooks(x, model, configuration) for x in (tokens, exchanged))

    def odds(found: dict[str, np.ndarray]) -> float:
        return float(found["logits"][-1, 6] - found["logits"][-1, 17])

    def recovered(name: str, place: int) -> float:
        changes = patch(other, name, np.s_[..., place, :])
        after = run_with_hooks(tokens, model, configuration, changes)
        return (odds(after) - odds(clean)) / (odds(other) - odds(clean))

    return recovered("blocks.1.after", 1), recovered("blocks.2.after", -1)


def allowed(item: Item) -> dict[str, object]:
    """By the losses of every sentence, counted."""
    given = item.given
    wrong = {name: given["whole"] - x for name, x in given["right"].items()}
    controls = [int(given["whole"] - x) for x in given["controls"]]
    head = next(name for name, x in wrong.items() if all(x > other for other in controls))
    beyond = Fraction(sum(wrong[head] - x for x in controls), len(controls))
    singles = sum(given["whole"] - given["right"][name] for name in given["quiet"])
    return {
        "head": head,
        "beyond": float(beyond),
        "more": given["whole"] - given["both"] - singles,
    }
