"""The claims of chapter 17: votes, a coin, cuts and patches."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.hooks import Hook, patch, run_with_hooks
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch17 import circuits, moved, veto
from tformer_book.chapters.ch17 import votes as voting
from tformer_book.chapters.ch17.circuits import IT, NOUNS
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, show

MEANT = {"tired": 0, "wide": 1}
"""Which of the two nouns a trouble means."""


def _drawn(seed: int, layers: int, heads: int, alone: bool = True) -> ModelParameters:
    """A model of random parameters, wide enough that weights are far from equal."""
    sizes = replace(Sizes(11, 8, layers, heads, 16, n_positions=7, d_k=5), biased=False)
    sizes = replace(sizes, tied=False)
    rng = np.random.default_rng(seed)
    model = initialise(sizes, circuits.CONFIGURATION, rng, std=1.0)
    if not alone:
        return model
    blocks = (replace(one, feed_forward=None, feed_forward_norm=None) for one in model.blocks)
    return replace(model, blocks=(*blocks,))


@claim(
    "prop-votes",
    "numeric",
    mutants={
        "the own vector has no vote": {"own": 0.0},
        "gains are left out": {"gains": False},
        "each answer has a factor of its own": {"common": False},
    },
    scope="30 random models of one layer, 1 to 3 heads, all places",
)
def votes(own: float = 1.0, gains: bool = True, common: bool = True) -> str:
    """Logits against the sums of votes, computed head by head and word by word."""
    c = circuits.CONFIGURATION
    for seed in range(30):
        rng = np.random.default_rng(seed)
        model = _drawn(seed, 1, 1 + seed % 3)
        gain = rng.uniform(0.5, 2, 8)
        model = replace(model, norm=replace(model.norm, gain=gain))  # type: ignore[type-var]
        found = run_with_hooks(rng.integers(11, size=7), model, c, causal=False)
        says = (gain[:, None] if gains else 1.0) * np.asarray(model.unembedding)
        added = ref.head_outputs(found["blocks.0.v"], model.blocks[0].heads) @ says
        summed = np.einsum("hts,hsn->tn", found["blocks.0.weights"], added)
        summed = summed + own * found["embedded"] @ says
        size = np.sqrt((found["blocks.0.after"] ** 2).mean(axis=-1, keepdims=True) + c.eps)
        size = size if common else np.abs(summed)
        require(near(found["logits"], summed / size, 1e-9), f"model {seed}: sums are not logits")
    return "logits are sums of votes over one number for each place, to 1e-9"


@claim(
    "exm-votes",
    "empirical",
    mutants={
        "the answer follows the key": {"part": "k"},
        "the looks follow the trouble": {"looks": (0.325, 0.253)},
    },
    scope="one trained model, two sentences",
)
def votes_example(part: str = "v", looks: tuple[float, float] = (0.253, 0.325)) -> str:
    """Looks and answers of the model that votes; key or value of one word exchanged."""
    want = {"tired": ((0.255, 0.327), 0.939), "wide": (looks, 0.967)}
    for trouble, (seen, p) in want.items():
        text = voting.ROW.format(trouble)
        found = voting.read(text, "votes")
        row = found["blocks.0.weights"][0, IT, list(NOUNS)]
        require(near(row, seen, 6e-4), f"{trouble}: weights {row.round(4)}")
        got = voting.chances(found, text)[MEANT[trouble]]
        require(near(got, p, 6e-4), f"{trouble}: probability {got:.4f}")
    turned = voting.exchanged(part)
    require(near(turned[1], 0.968, 6e-4), f"after the exchange street has {turned[1]:.4f}")
    kept = voting.exchanged("k")
    require(near(kept[0], 0.932, 6e-4), f"with the other key animal has {kept[0]:.4f}")
    return "weights .255 and .327, .253 and .325; the answer turns with the value of one word"


@claim(
    "thm-coin",
    "numeric",
    mutants={
        "two heads, whose weights are averaged": {"heads": 2},
        "two layers": {"layers": 2},
        "the noun is another one": {"noun": True},
    },
    scope="200 random models, three places each; 8 trained ones",
)
def coin(heads: int = 1, layers: int = 1, noun: bool = False) -> str:
    """Ratios of two weights while other words change; the loss of a pair; trained models."""
    c, rng = circuits.CONFIGURATION, np.random.default_rng(0)
    for seed in range(200):
        model = _drawn(seed, layers, heads, alone=layers == 1)
        one = rng.integers(11, size=7)
        t, i, j = rng.permutation(7)[:3]
        other = rng.integers(11, size=7)
        other[[t, i, j]] = one[[t, i, j]]
        if noun:
            other[i] = (one[i] + 1) % 11
        tables = [_last(run_with_hooks(x, model, c, causal=False), layers) for x in (one, other)]
        first, second = (np.log(w[t, i] / w[t, j]) for w in tables)
        require(near(first, second, 1e-9), f"log-ratios {show(first)} and {show(second)}")
        right, wrong = (np.exp(x) / (1 + np.exp(x)) for x in (first, -second))
        loss = -(np.log(right) + np.log(wrong)) / 2
        require(loss >= np.log(2) - 1e-12, f"a mean loss of {loss:.6f}")
    for found in circuits.stored()["one head, weights"]:
        require(found["right"] == 0.5, f"a trained head is right in {found['right']}")
    return "the ratio stays, to 1e-9; mean losses from log 2 on; trained heads are right in a half"


def _last(found: dict[str, Any], layers: int) -> np.ndarray:
    table: np.ndarray = found[f"blocks.{layers - 1}.weights"].mean(axis=0)
    return table


@claim(
    "exm-storyteller-veto",
    "empirical",
    mutants={
        "head 2 looks at the animal in both": {"forbidden": 0.904},
        "without head 2 the answer stays": {"zeros": -12.85},
        "the mean turns the answer as zeros do": {"averaged": 0.48},
        "the mean is over the tale itself alone": {"others": False},
        "food makes head 2 look at the trouble, as a road does": {"food": 0.992},
        "over all tales zeros harm no more than the mean": {"left": 0.908},
    },
    scope="two heads of the storyteller, two tales and 504 held out",
)
def veto_example(
    forbidden: float = 0.008,
    zeros: float = 0.48,
    averaged: float = -6.08,
    others: bool = True,
    food: float = 0.009,
    left: float = 0.685,
) -> str:
    """Looks of the last word; log-odds with zeros, a mean or other tales for head 2."""
    want = {
        ("tired", 2): (0.904, 0.085, 0.002),
        ("wide", 2): (forbidden, 0.001, 0.991),
        ("tired", 3): (0.000, 0.002, 0.998),
        ("wide", 3): (0.013, 0.850, 0.127),
    }
    for (trouble, head), stated in want.items():
        got = [*veto.looks(trouble, head).values()]
        require(near(got, stated, 6e-4), f"head {head}, {trouble}: {np.round(got, 4)}")
    runs = veto.tales()
    require(len(runs) == 504, f"{len(runs)} tales")
    every = np.array([run["blocks.0.heads"][2, 0] for _, run in runs])
    for trouble, stated in (("tired", (13.13, 6.55, 5.85)), ("wide", (-12.85, zeros, averaged))):
        found = veto.read(trouble)
        own = found["blocks.0.heads"][2, -1]
        odds = [veto.odds(found)]
        for put in (0 * own, every.mean(axis=0) if others else own):
            odds.append(veto.odds(veto.read(trouble, {"blocks.0.heads": _said(2, put)})))
            gap = np.linalg.norm(every - put, axis=-1).min()
            require(gap > 1.8, f"{trouble}: head 2 says it, up to {gap:.3f}")
        require(near(odds, stated, 6e-3), f"{trouble}: log-odds {np.round(odds, 3)}")
        found_left = [*odds[1:], veto.left(trouble, 2).others.mean()]
        most = max(x / odds[0] for x in found_left)
        require(most < 2 / 3, f"{trouble}: {most:.2f} is left without head 2")
    said = max(veto.chances(veto.read("wide", veto.silent(2))))
    require(said < 0.01, f"without head 2 one of the nouns has {said:.3f} with wide")
    _turned(runs)
    _over_tales(food, left)
    return (
        "head 2: animal .904, or wide .991; log-odds 13.13 and −12.85, with zeros 6.55 and .48, "
        "with its mean 5.85 and −6.08; over 504 tales looks, and what three ablations leave"
    )


def _over_tales(food: float, left: float) -> None:
    """Looks of heads 2 and 3 over the held-out tales, and what three ablations of head 2 leave."""
    told = veto.told()
    looked = {
        "the animal": (320, (0.959, 0.010), (0.009, 0.987)),
        "a wall or a road": (112, (0.007, 0.992), (0.865, 0.082)),
        "food": (48, (0.003, food), (0.733, 0.071)),
    }
    for fits, (n, *heads) in looked.items():
        require(sum(t.fits == fits for t in told) == n, f"{fits}: not {n} tales")
        for head, stated in zip(veto.HEADS, heads, strict=True):
            mean = veto.looks_over(fits, head)
            got = mean[[int((fits == "the animal") != (head == 2)), 2]]
            require(near(got, stated, 6e-4), f"head {head}, {fits}: {np.round(got, 4)}")
    animals = np.array([t.fits == "the animal" for t in told])
    rows = {
        "whole": (13.58, 1.0, 12.90, 1.0),
        "zero": (4.67, 0.969, 0.84, left),
        "mean": (4.15, 0.969, 5.08, 0.908),
        "resample": (2.18, 0.759, 4.91, 0.821),
    }
    for way, stated_row in rows.items():
        odds = veto.ablated(way)
        found = [f(x) for x in (odds[animals], odds[~animals]) for f in (np.mean, _right)]
        require(near(found, stated_row, 6e-3), f"{way}: {np.round(found, 3)}")
        lost = max(found[0] / 13.58, found[2] / 12.90) < 0.5
        require(lost or way == "whole", f"{way}: more than half of the log-odds is left")


def _right(odds: np.ndarray) -> float:
    return float((odds > 0).mean())


def _said(head: int, put: np.ndarray) -> Hook:
    """Puts this into a head's output at the last word, written out apart from `models.inside`."""

    def change(y: np.ndarray) -> np.ndarray:
        rows = [y[h] if h != head else np.vstack([y[h][:-1], put]) for h in range(len(y))]
        return np.stack(rows)

    return change


def _turned(runs: tuple[tuple[str, dict[str, Any]], ...]) -> None:
    """Which other tales turn the answer with *wide*."""
    turns = [name for (name, _), z in zip(runs, veto.left("wide", 2).others, strict=True) if z > 0]
    require(len(turns) == 186, f"{len(turns)} of {len(runs)} turn it")
    fits = {"lazy", "sad", "shy", "tired"}
    require({*turns} == fits, f"they have {sorted({*turns})}")


@claim(
    "exm-eight",
    "empirical",
    mutants={
        "all show the picture": {"shown": 8},
        "all need their last looks": {"needed": 8},
    },
    scope="8 trainings that differ in their seed, 504 sentences each",
)
def eight(shown: int = 1, needed: int = 4) -> str:
    """What the stored trainings came to, counted."""
    rows = circuits.stored()["two layers, noun"]
    require(min(x["right"] for x in rows) >= 0.976, "one is right in less than .976")
    found = sum(x["meant"] > 0.88 for x in rows)
    require(found == shown, f"{found} put .89 on the noun that is meant")
    others = sorted(x["meant"] for x in rows)[: len(rows) - shown]
    require(max(others, default=0) < 0.6, f"others put up to {max(others, default=0):.2f} there")
    for share in (0.9, 0.98):
        found = sum(x["last looks"] < share * x["right"] for x in rows)
        require(found == needed, f"{found} keep less than {share} by the cut of their last looks")
    keys = [x["nouns ask"] < 0.9 for x in circuits.stored()["two layers, weights"]]
    query = [x["it asks"] < 0.9 for x in circuits.stored()["two layers, weights"]]
    require((sum(keys), sum(query)) == (5, 1), f"{sum(keys)} by keys, {sum(query)} by the query")
    return "8 of 8 right in 0.976 or more; 1 shows the picture; 4 need their last looks"


@claim(
    "thm-patch",
    "numeric",
    mutants={
        "no mask": {"causal": False},
        "what comes after it stays as well": {"after": True},
    },
    scope="40 random decoders, 1 to 3 layers, all intermediates",
)
def patching(causal: bool = True, after: bool = False) -> str:
    """One word exchanged: what changes in each intermediate, place by place."""
    c = Configuration(norm="rms", positions="learned")
    for seed in range(40):
        rng = np.random.default_rng(seed)
        model = _drawn(seed, 1 + seed % 3, 2, alone=False)
        one = rng.integers(11, size=7)
        other, p = one.copy(), int(rng.integers(7))
        other[p] = (one[p] + 1 + rng.integers(10)) % 11
        first, second = (run_with_hooks(x, model, c, causal=causal) for x in (one, other))
        off = np.abs(first["logits"] - plain.logits(one, model, c, causal)).max()
        require(off < 1e-9, f"the logits are {off:.2g} away from those in loops")
        for name, x in first.items():
            same = slice(p + 1, None) if after else slice(0, p)
            axis = 1 if x.ndim == 3 else 0
            gap = np.take(np.abs(x - second[name]), range(7)[same], axis=axis)
            require(not gap.size or gap.max() == 0, f"place {p} of {name} reaches another")
        if p:
            changes = patch(second, "blocks.0.after", np.s_[:p, :])
            logits = run_with_hooks(one, model, c, changes, causal=causal)["logits"]
            require(bool((logits == first["logits"]).all()), "a patch before the place changes")
    return "before the exchanged word nothing changes, to the last bit; patches there give nothing"


@claim(
    "exm-moved",
    "numeric",
    mutants={
        "the name stays with its word": {"stays": 0.81},
        "the last word looks at the noun": {"look": 0.755},
    },
    scope="the decoder of chapter 10, one story and its twin",
)
def moved_example(stays: float = -0.014, look: float = 0.019) -> str:
    """Shares that patches recover, and the looks of the last word."""
    runs = moved.runs("wide")
    street, too = 7, 11
    after = moved.recovered("wide", "blocks.0.after")
    require(near(after[too], 0.81, 6e-3), f"at too {after[too]:.3f}")
    require(near(after[street], stays, 6e-3), f"at street {after[street]:.3f}")
    got = moved.said("wide", "blocks.0.after", too)
    require(near(got["river"], 0.84, 6e-3), f"river has {got['river']:.3f}")
    row = runs.clean["blocks.1.weights"][0, -1]
    require(near([row[too], row[street]], [0.755, look], 6e-4), f"{row[[too, street]].round(4)}")
    first = moved.recovered("wide", "embedded")
    require(near(first[street], 1.0, 1e-9), f"before the first block {first[street]:.3f}")
    return "patched at too: .81 of the way, river .84; at street −.01; looks .755, .019"


@claim(
    "exm-colour",
    "empirical",
    mutants={
        "one layer is enough": {"layers": "one head, colour"},
        "all need their looks at the nouns": {"kept": 0},
    },
    scope="8 trainings each, 504 sentences with colours",
)
def colour(layers: str = "two layers, colour", kept: int = 5) -> str:
    """The stored trainings that were asked for a colour, whole and cut."""
    found = circuits.stored()[layers]
    right = [x["right"] for x in found]
    require(min(right) >= 0.99, f"right in {min(right):.3f} to {max(right):.3f}")
    without = [x for x in found if x["last looks"] >= 0.99]
    require(len(without) == kept, f"{len(without)} do without looks at the nouns")
    back = sum(x["trouble asks"] <= 0.65 for x in without)
    require(back == 4, f"{back} of them need the trouble to look back")
    alone = max(x["right"] for x in circuits.stored()["one head, colour"])
    require(alone <= 0.6, f"one head is right in {alone:.3f}")
    return f"two layers {min(right):.2f} or more, one head {alone:.2f}; {back} look back"
