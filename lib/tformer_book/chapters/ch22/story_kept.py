"""What was measured of the trainings of `story`, as the page reads it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer_book.experiments.intervals import mean_interval

__all__ = [
    *("FILE", "carrier", "carriers", "expert_lines", "guessed", "kept", "lines", "loads", "nats"),
    *("ratio", "right", "seeds", "sink_lines"),
]

FILE = Path(__file__).with_name("story.json")
SHOWN = {
    "whole": "",
    "last word cut": "the end, on the nouns",
    "others cut": "all others, on the nouns",
}
"""The cuts of the page, by their names there."""


@cache
def kept() -> dict[str, list[dict[str, Any]]]:
    """What was measured, by version, with an entry for each seed."""
    found: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text("utf-8"))
    return found


def seeds(version: str, *path: Any) -> np.ndarray:
    """A number that was measured of each seed, by the names and places that lead to it."""
    found = []
    for one in kept()[version]:
        for step in path:
            one = one[step]
        found.append(one)
    return np.array(found)


def right(version: str, cut: str = "whole") -> np.ndarray:
    """The share of held-out tales with the right patient, for each seed."""
    name = SHOWN[cut]
    return seeds(version, *(("cuts", name) if name else ("unread", "right", "patient")))


def nats(version: str, kind: str = "patient") -> np.ndarray:
    """Mean loss on a kind of word in held-out tales, in nats, for each seed."""
    return seeds(version, "unread", "nats", kind)


def ratio(version: str) -> tuple[float, float, float]:
    """Loss on the patient over that of the control: geometric mean, and Student's interval.

    Of logarithms, seed by seed, for both read the same tales. All four intervals of the versions
    that reach the nouns hold together with 95 % (Bonferroni), if logarithms are Gaussian.
    """
    logs = np.log(nats(version)) - np.log(nats("as it is"))
    mean, half = mean_interval(logs, 0.95, points=4)
    return tuple(float(np.exp(x)) for x in (mean, mean - half, mean + half))  # type: ignore[return-value]


def loads(layer: int) -> np.ndarray:
    """The share of the words that choose each expert, (seeds, experts)."""
    return seeds("experts", "experts", layer, "all")


def guessed(layer: int) -> tuple[np.ndarray, np.ndarray]:
    """How often one guesses right, for each seed, whether a word chooses an expert.

    First from the expert's load alone, then from the kind of the word; a mean over experts and the
    kinds that are not grammar.
    """
    found = []
    for one, load in zip(kept()["experts"], loads(layer), strict=True):
        kinds = one["experts"][layer]["kinds"]
        shares = np.array([x for kind, x in kinds.items() if kind != "grammar"])
        usual = np.where(load > 0.5, shares, 1 - shares)
        found.append((usual.mean(), np.maximum(shares, 1 - shares).mean()))
    alone, known = np.transpose(found)
    return alone, known


def lines() -> list[str]:
    """For each version: right patients, losses, what two cuts leave, and the ratio of losses."""
    found = []
    for version in kept():
        shares = "; ".join(_joined(right(version, cut)) for cut in SHOWN)
        thousandths = " ".join(f"{1000 * x:.1f}" for x in nats(version))
        last = max(map(int, kept()[version][0]["curve"]))
        found += [f"{version}, {last} steps:", f"    {shares}", f"    loss {thousandths} / 1000"]
        if version not in ("as it is", "too short a window"):
            mean, low, high = ratio(version)
            found.append(f"    losses {mean:.2g} times, from {low:.2g} to {high:.2g}")
    return found


def sink_lines() -> list[str]:
    """What the sinks became: least and most over heads and seeds, in each layer."""
    found = []
    for layer in (0, 1):
        for name in ("sink", "log sum", "weight", "at the end"):
            x = seeds("sinks", "sinks", layer, name)
            found.append(f"layer {layer}, {name}: {x.min():.2f} to {x.max():.2f}")
    return found


def carrier(version: str) -> list[tuple[str, float]]:
    """For each seed the word whose loss costs the last word most, and what is right without it."""
    cuts = [name for name in kept()[version][0]["cuts"] if name.endswith(", second layer")]
    left = np.array([seeds(version, "cuts", name) for name in cuts])
    words = [name.removeprefix("the end, on ").removesuffix(", second layer") for name in cuts]
    return [(words[i], float(row[i])) for row in left.T for i in [int(row.argmin())]]


def carriers() -> list[str]:
    """The words that carry the nouns to the last word, with a window."""
    told = ", ".join(f"without {word} {left:.2f}" for word, left in carrier("window"))
    return [f"window: {told}"]


def expert_lines() -> list[str]:
    """Loads of the experts, least and most, and how often their choice is guessed right."""
    found = []
    for layer in (0, 1):
        load, (alone, known) = loads(layer), guessed(layer)
        told = f"loads {load.min():.2f} to {load.max():.2f}"
        found.append(f"layer {layer}: {told}; guessed {_joined(alone)}, by kind {_joined(known)}")
    return found


def _joined(values: np.ndarray) -> str:
    return " ".join(f"{x:.2f}" for x in values)
