"""The claim of chapter 7's deeper page on a real model that is loaded wrongly."""

from __future__ import annotations

from tformer_book.chapters.ch07 import loading
from tformer_book.claims.registry import claim, require

CHEAP = 4
"""So many mistakes, the first of the list, cost less than `LITTLE` on average."""
LITTLE, MUCH = 0.1, 0.8
ROUNDING, MOVED = 1e-4, 0.01
"""No right logit differs from transformers' by more; every mistake moves one by more."""


@claim(
    "exm-loading-mistakes",
    "empirical",
    mutants={
        "a wrong base costs more than 0.8 nats": {"cheap": 3},
        "five mistakes cost less than a tenth of a nat": {"cheap": 5},
        "the loss of a text alone tells a wrong base": {"times": 10.0},
        "a mistake never lowers the loss": {"lower": -0.02},
        "a tolerance of 1 for logits finds every mistake": {"moved": 1.0},
        "rounding moves logits as much": {"rounding": 1e-5},
        "five mistakes change the next token": {"paris": 3},
    },
    scope="one model of four bits, four passages, eight mistakes",
)
def loading_mistakes(
    cheap: int = CHEAP,
    times: float = 5.0,
    lower: float = -0.003,
    moved: float = MOVED,
    rounding: float = ROUNDING,
    paris: int = 7,
) -> str:
    """The order of the costs, the logits beside transformers', and the next token, as stored."""
    found = loading.stored()
    require(tuple(found) == (loading.RIGHT, *loading.HARMLESS, *loading.MISTAKES), f"{len(found)}")
    mean = {name: float(loading.costs(name).mean()) for name in found}
    order = sorted(loading.MISTAKES, key=mean.__getitem__)
    require(order == list(loading.MISTAKES), f"in the order of costs: {order}, {mean}")
    for i, name in enumerate(loading.MISTAKES):
        require(mean[name] < LITTLE or i >= cheap, f"{name} costs {mean[name]:.3f}")
        require(mean[name] > MUCH or i < cheap, f"{name} costs {mean[name]:.3f}")
        least = min(found[name]["apart"])
        require(least > moved, f"{name} moves no logit by more than {least:.2g}")
    right = found[loading.RIGHT]["loss"]
    base = loading.costs("base 10,000 for 100,000").max()
    require(max(right) - min(right) > times * base, f"passages: {right}; the base costs {base:.3f}")
    other = sum(found["base 10,000 for 100,000"]["other"]) / len(right)
    require(1 / 7 < other < 1 / 5, f"the base changes {other:.3f} of the likeliest tokens")
    gain = loading.costs("scores times 1.1").min()
    require(gain < lower, f"scores times 1.1 cost {gain:.4f} or more")
    for name in (loading.RIGHT, *loading.HARMLESS):
        most = max(found[name]["apart"])
        require(most < rounding, f"{name}: a logit differs by {most:.2g}")
        require(abs(loading.costs(name)).max() < 2e-4, f"{name}: costs {loading.costs(name)}")
    same = [name for name in loading.MISTAKES if found[name]["next"][0] == " Paris"]
    require(len(same) == paris, f"{len(same)} mistakes name Paris")
    require(found[loading.RIGHT]["next"][0] == " Paris", f"says {found[loading.RIGHT]['next']}")
    return (
        "costs in the stated order, four below 0.1, four above 0.8; rounding moves logits by less "
        "than 0.0001, each mistake by more than 0.01; seven still name Paris"
    )
