"""Claims of chapter 17's deeper page on the real model: what is stored, held to the statements."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch17 import agreeing, left_out, parked, patterns
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
        "weight above 0.48; hidden below 0.04, the second has 0.35; norms below 900, then 17,000; "
        "unwritten 0.05 and 0.6; controls 0.02 and 0.46; moved 0.47 and 0.26"
    )


@claim(
    "exm-patterns",
    "empirical",
    mutants={
        "in all blocks at once means save something": {"saved": (0.0, 0.5)},
        "means save nothing in blocks 10 to 19 either": {"middle": ("even", "mean of other texts")},
        "means save nothing in blocks 20 to 29 either": {"late": ("even", "mean of other texts")},
        "later blocks need their own patterns as much": {"least": 1.2},
    },
    scope="the real model, four passages, as they were measured",
)
def replaced_patterns(
    saved: tuple[float, float] = (-0.5, 0.0),
    middle: tuple[str, str] = patterns.KINDS,
    late: tuple[str, str] = patterns.KINDS,
    least: float = 0.3,
) -> str:
    """The stored losses with patterns replaced, in all blocks and in a third of them."""
    mean, even = (patterns.costs(kind, "all blocks") for kind in patterns.KINDS)
    require(len(mean) == 4, f"{len(mean)} passages")
    lowest = min(mean.min(), even.min())
    require(lowest > 4.3, f"all blocks: from {lowest:.3f}")
    gain = even - mean
    require(saved[0] < gain.min() and gain.max() < saved[1], f"means save {gain}")
    for places, kinds, bounds in (
        ("blocks 10 to 19", middle, (1.0, 1.5)),
        ("blocks 20 to 29", late, (0.6, 0.8)),
    ):
        one, other = (patterns.costs(kind, places) for kind in kinds)
        require(one.max() < bounds[0], f"{places}, {kinds[0]}: {one.max():.3f}")
        require(other.min() > bounds[1], f"{places}, {kinds[1]}: {other.min():.3f}")
        require(one.min() > least, f"{places}, {kinds[0]}: from {one.min():.3f}")
    early = min(patterns.costs(kind, "blocks 0 to 9").min() for kind in patterns.KINDS)
    require(early > 3.2, f"blocks 0 to 9: {early:.3f}")
    return (
        "all blocks above 4.3, even weights below means by less than 0.5; blocks 0 to 9 above 3.2; "
        "10 to 19: 1.0 against 1.5; 20 to 29: 0.3 to 0.6 against 0.8"
    )


@claim(
    "exm-agreeing",
    "empirical",
    mutants={
        "one token that agrees is enough": {"any_tokens": (0, 17, 17, 17)},
        "ordinary words need no more": {"kind": "any tokens"},
        "the loss falls no further after one token": {"falls": 1},
    },
    scope="the real model, 24 repeats of each kind, as measured",
)
def tokens_that_agree(
    any_tokens: tuple[int, ...] = (0, 2, 7, 17),
    kind: str = "ordinary words",
    falls: int = 3,
) -> str:
    """How often the stored runs name the next token of a repeat first, by the tokens that agree."""
    found = agreeing.stored()
    counts = np.sum(found["any tokens"]["named"], axis=0).tolist()
    require(len(found["any tokens"]["named"]) == 24, f"{len(found['any tokens']['named'])} repeats")
    require(tuple(counts[:4]) == any_tokens, f"any tokens: {counts} of 24")
    words = np.sum(found[kind]["named"], axis=0).tolist()
    require(words[:4] == [0, 0, 0, 0] and words[5] == 5, f"{kind}: {words} of 24")
    loss = np.mean(found["any tokens"]["loss"], axis=0)
    steps = np.diff(loss)
    require(int((steps < -1.5).sum()) == falls, f"losses {loss.round(2)}")
    return f"any tokens: {counts} of 24 after 0 to 5 that agree; ordinary words: {words}"


@claim(
    "exm-left-out",
    "empirical",
    mutants={
        "all blocks but the ends are cheap": {"dear": 14},
        "the middle block is the cheapest": {"cheapest": 15},
        "nearly every block costs half a nat": {"cheap": 10},
        "the last block only sharpens what is there": {"renamed": 0.0, "most": 0.1},
    },
    scope="the real model, four passages, as they were measured",
)
def one_block_left_out(
    dear: int = 11, cheapest: int = 17, cheap: int = 22, renamed: float = 0.36, most: float = 0.45
) -> str:
    """The stored losses without each block, and the names before the last block and after it."""
    costs = left_out.costs()
    mean = costs.mean(axis=0)
    require(costs.shape == (4, 30), f"costs of {costs.shape}")
    for block, least in ((0, 7.0), (29, 1.3), (dear, 1.5)):
        require(costs[:, block].min() > least, f"block {block}: {costs[:, block].min():.3f}")
    require(int((mean < 0.4).sum()) == cheap, f"{int((mean < 0.4).sum())} cost less than 0.4")
    require(int(mean.argmin()) == cheapest, f"the cheapest is block {mean.argmin()}")
    require(abs(mean[cheapest] - 0.08) < 5e-3, f"block {cheapest}: {mean[cheapest]:.4f}")
    shares = left_out.stored()["renamed"]
    require(renamed < min(shares), f"renamed: {shares}")
    require(max(shares) <= most, f"renamed: {shares}")
    return (
        "blocks 0, 11 and 29 cost above 7, 1.5 and 1.3; 22 below 0.4, block 17 0.08; the last "
        f"block renames {min(shares):.2f} to {max(shares):.2f}"
    )
