"""The exam questions of chapter 14, answered again by other ways."""

import numpy as np

from tformer_book.exams import Item
from tformer_book.experiments.training import Adam


def two_steps(item: Item) -> dict[str, object]:
    """By the optimiser of the library, with a tiny eps."""
    g1, g2, x, decay = (item.given[name] for name in ("g1", "g2", "x", "decay"))

    def way(gradients: list[float], decay: float) -> list[float]:
        at = np.array([float(x)])
        optimiser = Adam([at], betas=(0.5, 0.5), eps=1e-15, decay=decay)
        found = []
        for gradient in gradients:
            optimiser.step([np.array([gradient])], 1.0)
            found.append(float(at[0]))
        return found

    first, second = way([g1, g2], decay)
    found = {"first": first, "move": first - second - decay * first, "second": second}
    found["penalty"] = way([g1 + decay * x], 0.0)[0]
    return {name: round(value, 12) for name, value in found.items()}


def parts(item: Item) -> dict[str, object]:
    """By a loss of each target: its gradient is that of its part."""
    n1, n2, one, other, limit = (item.given[x] for x in ("n1", "n2", "one", "other", "limit"))
    targets = np.array([one] * n1 + [other] * n2, dtype=float)
    whole = targets.mean(axis=0)
    plain = np.mean([targets[:n1].mean(axis=0), targets[n1:].mean(axis=0)], axis=0)
    norm = np.hypot(*whole)
    short = whole / max(1.0, norm / limit)
    return {
        "whole": whole.round(12),
        "plain": plain.round(12),
        "norm": round(float(norm), 12),
        "short": short.round(12),
    }


def stands(item: Item) -> dict[str, object]:
    """By a list of the bits of every token of a text."""
    names, nouns, copies, asked, n = (
        item.given[x] for x in ("names", "nouns", "copies", "asked", "n")
    )

    def mean(copied: float, answered: float) -> float:
        bits = [names, nouns, nouns] + [copied] * copies + [1, answered] * asked
        bits += [0] * (n - len(bits))
        return float(np.mean(bits))

    share = 2.0**-nouns / 2
    answer = -np.log2([share] * 2 ** (nouns + 1)).mean()
    return {"floor": mean(0, 0), "start": mean(names, answer), "coin": mean(0, np.log2(2))}


def killed(item: Item) -> dict[str, object]:
    """By making every step, with a checkpoint and a scale."""
    every, steps, one, two, calm = (item.given[x] for x in ("every", "steps", "one", "two", "calm"))
    saved, made, begins = 0, 0, []
    for budget in (one, two, steps):
        begins.append(saved + 1)
        at = saved
        for _ in range(budget):
            if at == steps:
                break
            at, made = at + 1, made + 1
            if at % every == 0:
                saved = at
    power, row, step = 0, 0, 0
    while power < 2:
        step, row = step + 1, row + 1
        if row == calm:
            power, row = power + 1, 0
    return {"back": begins[1], "again": begins[2], "made": made, "calm": step}
