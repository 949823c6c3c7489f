"""The claims of the page: the floor, the stories that were held out, what each cut does."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from tformer_book.chapters.ch00.engine import trained, untrained
from tformer_book.chapters.ch00.listing import results
from tformer_book.chapters.ch00.measure import (
    CURE_AT,
    CUTS,
    DEAF,
    FIRST,
    IT,
    LAST,
    NOT,
    PATIENT_AT,
    SECOND,
    SILENT,
    TROUBLE,
    answers,
    loud,
)
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, near, show
from tformer_book.world.stories import Stories, stories

PARTS = (3.62, 0.48, 1.92, 1.75)
PLACES = [1, 4, 6, 11]


@cache
def _split() -> tuple[Stories, Stories]:
    return stories().split()


def _chances(world: Stories, before: bool = False) -> Array:
    """Return the probability that the machine gives each next word of each story, (n, T)."""
    rows = world.tokens()
    p, _ = (untrained() if before else trained()).guesses(rows[:, :-1])
    return np.take_along_axis(p, rows[:, 1:, None], axis=-1)[..., 0]


@claim(
    "prop-story-floor",
    "exhaustive",
    mutants={
        "all stories are told": {"everything": True},
        "a loss in bits": {"base": 2.0},
        "the patient is a matter of luck": {"parts": (3.62, 0.48, 1.92, 1.06, 0.69)},
    },
    scope="all 2,376 stories; the machine before and after",
)
def story_floor(
    everything: bool = False, base: float = np.e, parts: Sequence[float] = PARTS
) -> str:
    """Beyond the statement, the loss of the machine of the page before and after its training, and
    of mixtures of its guesses with the truth, down to the floor itself.
    """
    world = stories() if everything else _split()[0]
    entropies = world.entropies() / np.log(base)
    floor = float(entropies.sum())
    require(near(floor, np.log(2376), 1e-9), f"{len(world)} stories, floor {floor:.4f}")
    found = entropies[entropies > 1e-9]
    require(len(found) == len(parts) and near(found, parts, 6e-3), f"parts {show(found)}")
    require(np.flatnonzero(entropies > 1e-9).tolist() == PLACES, "another word bears a part")
    truth, losses = np.exp(-floor), []
    for chances in (_chances(world, before=True), _chances(world)):
        whole = chances.prod(axis=1)
        for share in (0.0, 0.5, 0.9, 1.0):
            losses.append(float(-np.log(share * truth + (1 - share) * whole).mean()))
            require(losses[-1] >= floor - 1e-12, f"a loss of {losses[-1]:.4f} below {floor:.4f}")
    return (
        f"exact entropies of {len(world)} stories add up to log 2376 = {floor:.4f}; the machine's "
        f"loss is {losses[0]:.2f} before training and {losses[4]:.3f} after, and no mixture of its "
        "guesses with the truth is below the floor"
    )


@claim(
    "exm-never-told",
    "empirical",
    mutants={
        "before training": {"before": True},
        "without the first layer's arcs": {"cut": ("first noun to not", "second noun to it")},
        "with other dice as well": {"least": 1.0},
    },
    scope="all 504 stories held out, one machine; six stored runs",
)
def never_told(before: bool = False, cut: Sequence[str] = (), least: float = 0.742) -> str:
    """All 504, the likeliest word each time; the shares of six stored trainings. Beyond the
    statement, all 2,880 stories: how likely the machine is to write one of the world, and one that
    it was not told.
    """
    told, held = _split()
    machine, rows = untrained() if before else trained(), held.tokens()
    p, _ = machine.guesses(rows[:, :-1], [CUTS[name] for name in cut])
    right = p.argmax(axis=-1) == rows[:, 1:]
    for name, place in (("cure", CURE_AT), ("patient", PATIENT_AT)):
        hits = int(right[:, place - 1].sum())
        require(hits == len(held) == 504, f"{name}: {hits} of {len(held)}")
    runs = results()["as it is"]
    shares = [runs[seed]["patient"] for seed in sorted(runs, key=int)]
    said = ", ".join(f"{share:.3f}" for share in shares)
    require(
        near(shares, (1, 0.966, least, 0.990, 1, 0.986), 6e-4), f"patients in six trainings: {said}"
    )
    new, old = (float(_chances(world).prod(axis=1).sum()) for world in (held, told))
    require(near((old + new, new), (0.937, 0.072), 5e-4), f"it writes them with {old + new:.4f}")
    return (
        f"504 cures and 504 patients of 504; patients in six trainings: {said}; "
        f"it writes a story of the world with probability {old + new:.3f}, one never told with "
        f"{new:.3f}"
    )


EXPECTED = {
    "nothing": (1.0, 1.0),
    "second noun to it": (1.0, 0.246),
    "first noun to not": (0.246, 0.873),
    "it to the last the": (1.0, 0.198),
    "not to the last the": (0.266, 1.0),
}
"""Shares of right patients that are first nouns and second nouns, after each cut."""
HEARD = {"loud": (0.018, 0.018), "other": (1.0, 1.0)}
"""The same after the trouble is hidden from the last "the" in layer 1, by what trouble it is."""


@claim(
    "exm-cuts",
    "empirical",
    mutants={
        "nothing is cut": {"second_noun": ()},
        "another arc of “it” is cut": {"second_noun": ((0, IT, FIRST),)},
        "the noun is cut from the last word": {"second_noun": ((0, LAST, SECOND),)},
        "the first noun is cut from “it” too": {"second_noun": ((0, IT, SECOND), (0, NOT, FIRST))},
        "the cure is hidden, not the trouble": {"trouble": CURE_AT},
        "the trouble is hidden in layer 2": {"layer": 1},
        "all troubles are alike": {"alike": True},
        "high and rusty can do without the cure": {"silent": ("high", "rusty")},
    },
    scope="all 504 stories held out, one machine",
)
def every_cut(
    second_noun: Sequence[tuple[int, int, int]] = (CUTS["second noun to it"],),
    trouble: int = TROUBLE,
    layer: int = 0,
    alike: bool = False,
    silent: Sequence[str] = SILENT,
) -> str:
    """All 504 stories after each of the cuts; a word whose arc is cut shares its weight among the
    others. Beyond the statement: the eight troubles that are not loud survive the same cut, and of
    these *high* and *rusty* have no right answer when all words after *too* are hidden.
    """
    held, said = _split()[1], []
    arcs = {"nothing": (), **{name: (place,) for name, place in CUTS.items()}}
    for name, places in (arcs | {"second noun to it": tuple(second_noun)}).items():
        right, second = answers(trained(), held, places)
        found = (float(right[~second].mean()), float(right[second].mean()))
        require(near(found, EXPECTED[name], 5e-4), f"{name}: {show(found)}")
        said.append(f"{name} {found[0]:.3g}/{found[1]:.3g}")
    right, second = answers(trained(), held, [(layer, LAST, trouble)])
    heard = loud(held)
    for name, some in (("loud", heard | alike), ("other", ~heard | alike)):
        found = (float(right[some & ~second].mean()), float(right[some & second].mean()))
        require(near(found, HEARD[name], 5e-4), f"{name} troubles: {show(found)}")
        said.append(f"{name} {found[0]:.2g}/{found[1]:.2g}")
    right, _ = answers(trained(), held, DEAF)
    for troubles, share in ((tuple(silent), 1), (("high", "rusty"), 0)):
        now = float(right[loud(held, troubles)].mean())
        require(now == share, f"{', '.join(troubles)}: {now:.3f} right, all words after too hidden")
    text = ", ".join(said).replace(" the last", "").replace("second noun to", "noun to")
    return (
        f"right first/second nouns: {text.replace('first noun to', 'noun to')}; all after too: "
        f"{', '.join(silent)} 1, high, rusty 0"
    )
