"""Claims of chapter 17's deeper page on the real model: what is stored, held to the statements."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch17 import parked
from tformer_book.claims.registry import claim, require


@claim(
    "exm-parked",
    "empirical",
    mutants={
        "hiding the first token costs a tenth of a nat": {"hidden": (0.1, 0.3)},
        "no other token takes its place": {"place": "7"},
        "the vector grows block by block": {"before": 200.0},
        "any token of block 11 matters as much": {"name": parked.CHANGES[2]},
        "any block matters as much": {"name": parked.CHANGES[3]},
        "only the first token can be a sink": {"moved": "0"},
    },
    scope="the real model, eight passages, as they were measured",
)
def parked_weight(
    hidden: tuple[float, float] = (-0.02, 0.04),
    place: str = "1",
    before: float = 900.0,
    name: str = parked.UNWRITTEN,
    moved: str = "7",
) -> str:
    """The stored losses and weights, whole and with five changes."""
    found = parked.stored()
    whole = found[parked.WHOLE]
    require(len(whole["loss"]) == 8, f"{len(whole['loss'])} passages")
    require(min(whole["0"]) > 0.48, f"the first token has {min(whole['0']):.3f}")
    least, most = parked.costs(parked.HIDDEN).min(), parked.costs(parked.HIDDEN).max()
    require(hidden[0] < least and most < hidden[1], f"hidden, it costs {least:.3f} to {most:.3f}")
    taken = min(found[parked.HIDDEN][place])
    require(taken > 0.35, f"token {place} has {taken:.3f}")
    norms = np.array(whole["norms"])[:, :, 0]  # (passages, blocks)
    early, late = norms[:, : parked.WRITER].max(), norms[:, parked.WRITER].min()
    require(early < before and late > 17_000, f"norms to {early:.0f}, then from {late:.0f}")
    others = np.array(whole["norms"])[:, parked.WRITER, 1].max()
    require(others < 150, f"other tokens have norms to {others:.0f}")
    require(max(found[name]["0"]) < 0.05, f"the first token keeps {max(found[name]['0']):.3f}")
    least = parked.costs(name).min()
    require(least > 0.6, f"it costs {least:.3f}")
    for control in parked.CHANGES[2:4]:
        most = abs(parked.costs(control)).max()
        require(most < 0.02, f"{control}: {most:.3f}")
        weight = min(found[control]["0"])
        require(weight > 0.46, f"{control}: the first token has {weight:.3f}")
    least, most = min(found[parked.MOVED][moved]), parked.costs(parked.MOVED).max()
    require(least > 0.47, f"token {moved} has {least:.3f}")
    require(most < 0.26, f"moved, it costs {most:.3f}")
    return (
        f"hidden, the first token costs {parked.costs(parked.HIDDEN).mean():.3f} nats; not written,"
        f" its vector {parked.costs(name).mean():.2f}; moved to token 7, "
        f"{parked.costs(parked.MOVED).mean():.2f}"
    )
