"""Claims of the deeper page of chapter 17: sums of parts, early answers, parked weight."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.hooks import run_with_hooks
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, tree_map
from tformer_book.chapters.ch17 import induction, own, real, veto
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


def _drawn(seed: int, layers: int, heads: int, c: Configuration) -> ModelParameters:
    """A model all of whose numbers are random, biases and gains as well."""
    rng = np.random.default_rng(seed)
    sizes = replace(Sizes(11, 8, layers, heads, 16, n_positions=7, d_k=5), tied=seed % 2 == 0)
    model: ModelParameters = tree_map(
        lambda x: x + 0.5 * rng.standard_normal(x.shape), initialise(sizes, c, rng)
    )
    return model


@claim(
    "prop-head-sum",
    "numeric",
    mutants={
        "the bias of the outputs is left out": {"bias": 0.0},
        "the norm stands after each layer": {"order": "post"},
        "feed-forward layers add nothing": {"fed": 0.0},
        "gains are left out": {"gains": False},
    },
    scope="30 random models, 1 to 3 blocks of 1 to 3 heads, all places",
)
def head_sum(
    bias: float = 1.0,
    order: Literal["pre", "post"] = "pre",
    fed: float = 1.0,
    gains: bool = True,
) -> str:
    """Vectors before the last norm, and log-odds of all pairs of answers, part by part."""
    c = Configuration(norm="rms", positions="learned", order=order)
    for seed in range(30):
        model = _drawn(seed, 1 + seed % 3, 1 + seed // 3 % 3, c)
        found = run_with_hooks(np.random.default_rng(seed).integers(11, size=7), model, c)
        parts = [found["embedded"]]
        for i, one in enumerate(model.blocks):
            bias_o: Any = one.heads.b_o
            parts += [*ref.head_outputs(found[f"blocks.{i}.heads"], one.heads)]
            parts += [
                bias * np.broadcast_to(bias_o, (7, 8)),
                fed * found[f"blocks.{i}.feed_forward"],
            ]
        x = found[f"blocks.{len(model.blocks) - 1}.after"]
        require(near(sum(parts), x, 1e-9), f"model {seed}: the parts do not add up")
        norm: Any = model.norm
        ends = model.embedding.T if model.unembedding is None else model.unembedding
        says = (norm.gain[:, None] if gains else 1.0) * ends
        votes = sum(part @ says for part in parts)
        votes = votes / np.sqrt((x**2).mean(axis=-1, keepdims=True) + c.eps)
        odds, want = (z[:, :, None] - z[:, None, :] for z in (votes, found["logits"]))
        require(near(odds, want, 1e-9), f"model {seed}: the log-odds are no such sum")
    return "parts add up to the vectors and, over one number, to all log-odds, within 1e-9"


@claim(
    "exm-own-part",
    "empirical",
    mutants={
        "silence takes away the own part": {"left": (11.82, -10.31)},
        "head 2 brings most of it itself": {"own_part": (6.59, -13.33)},
        "a mean for head 0 leaves what zeros leave": {"averaged": 4.93},
    },
    scope="the storyteller, two tales, eleven parts each",
)
def own_part(
    left: tuple[float, float] = (6.55, 0.48),
    own_part: tuple[float, float] = (1.31, -2.54),
    averaged: float = 12.41,
) -> str:
    """Own parts of heads and layers, and the log-odds that are left without them."""
    whole, fed = (13.13, -12.85), (11.40, -7.81)
    for i, name in enumerate(veto.TALES):
        parts = {part.name: part for part in own.parts(name)}
        odds = veto.odds(veto.read(name))
        total = sum(part.own for part in parts.values())
        require(near(total, odds, 1e-9), f"{name}: the parts add up to {total:.4f}")
        require(near(odds, whole[i], 6e-3), f"{name}: log-odds {odds:.3f}")
        head, last = parts["first block, head 2"], parts["second feed-forward"]
        require(near(head.own, own_part[i], 6e-3), f"{name}: head 2 adds {head.own:.3f}")
        require(near(odds - head.lost, left[i], 6e-3), f"{name}: {odds - head.lost:.3f} is left")
        require(near(last.own, fed[i], 6e-3), f"{name}: the last layer adds {last.own:.3f}")
        if name == "tired":
            head = parts["first block, head 0"]
            require(near(head.own, 0.11, 6e-3), f"head 0 adds {head.own:.3f}")
            require(near(odds - head.lost, 4.93, 6e-3), f"{odds - head.lost:.3f} is left")
            found = veto.left(name, 0).mean
            require(near(found, averaged, 6e-3), f"with its mean {found:.3f} is left")
    return (
        "own parts 1.31, −2.54, 0.11; left 6.55, 0.48, 4.93, with a mean 12.41; the last layer "
        "11.40, −7.81"
    )


@claim(
    "exm-lens",
    "empirical",
    mutants={
        "after block 1 the lens has the answer": {"early": ("animal", 0.999)},
        "the second layer must look for it": {"unfed": 0.5},
    },
    scope="the storyteller's last word in two tales, five points",
)
def lens_example(early: tuple[str, float] = ("shone", 0.777), unfed: float = 0.999) -> str:
    """The likeliest token at the points; the answer without the second layer's heads."""
    want = {"tired": ("animal", early), "wide": ("street", ("street", 0.288))}
    for i, (name, (answer, first)) in enumerate(want.items()):
        word, p = own.likeliest(name, "blocks.0.after")
        require(word == first[0] and near(p, first[1], 6e-4), f"{name}: {word} {p:.4f}")
        word, p = own.likeliest(name, "blocks.1.after")
        require(word == answer and near(p, 0.999, 6e-4), f"{name}: {word} {p:.4f}")
        p = veto.chances(own.unfed(name))[i]
        require(near(p, unfed, 6e-4), f"{name}: {p:.4f} without the heads of layer 2")
        if name == "tired":
            scores = own.lens(name, "blocks.0.after")
            p = veto.chances({"logits": scores[None]})[i]
            require(p < 1e-4, f"{name}: {answer} has {p:.2g} after block 1")
    return "first shone 0.777, animal < 0.0001, street 0.288; from there 0.999 without more looks"


@claim(
    "exm-sink",
    "empirical",
    mutants={
        "the weight stays with the token": {"moved": "no longer first"},
        "it is parked from the first block on": {"block": 0},
    },
    scope="the real model, three texts, as they were measured",
)
def sink(moved: str = "in front", block: int = 12) -> str:
    """The stored weights on the first token, and on it with a word in front."""
    found = {name: np.array(rows) for name, rows in real.stored()["sinks"].items()}
    evenly = found["evenly"].max()
    require(evenly < 0.12, f"an even share is {evenly:.3f}")
    for name in ("first", moved):
        least = found[name][:, block:].min()
        require(least > 0.35, f"{name}: {least:.3f} in one block")
    most = found["no longer first"][:, 12:].max()
    require(most < 0.07, f"the token that was first has still {most:.4f}")
    return "from block 12 on more than 0.35, in second place less than 0.07; evenly less than 0.12"


@claim(
    "exm-scores",
    "numeric",
    mutants={
        "the first word counts as well": {"first": 0},
        "the same word, and not the one after it": {"after": 0},
    },
    scope="even weights, and heads made to look; 100 words",
)
def scores(first: int = 1, after: int = 1, n: int = 50) -> str:
    """Both scores of even weights by harmonic sums, and of heads that do nothing else."""
    even = np.tri(2 * n) / np.arange(1, 2 * n + 1)[:, None]
    before = np.eye(2 * n, k=-1)
    copied = np.eye(2 * n, k=after - n)
    tables = np.stack([even, before, copied])
    got = ref.previous_token_scores(tables)
    steps = [1 / (t + 1) for t in range(first, 2 * n)]
    require(near(got, [sum(steps) / len(steps), 1, 0], 1e-12), f"word before: {got.round(4)}")
    got = ref.induction_scores(tables, n)
    half = [1 / (t + 1) for t in range(n, 2 * n)]
    require(near(got, [sum(half) / n, 0, 1], 1e-12), f"induction: {got.round(4)}")
    told = sum(steps) / len(steps), sum(half) / n
    require(near(told, (0.0423, 0.0138), 6e-5), f"{told[0]:.4f}, {told[1]:.4f}")
    return "even weights 0.0423 and 0.0138; heads that look there alone 1"


@claim(
    "exm-repeat",
    "empirical",
    mutants={
        "one layer learns it as well": {"layers": "1"},
        "the word before is not needed": {"cut": "again"},
    },
    scope="3 trainings each, 100 texts",
)
def repeat(layers: str = "2", cut: str = "cut") -> str:
    """The stored trainings of decoders that repeat, at their ends and when their scores rise."""
    ends = [told[-1] for told in induction.stored()[layers]]
    most = max(x["again"] for x in ends)
    require(most <= 0.18, f"words met again cost {most:.3f}")
    least = min(x[cut] for x in ends)
    require(least >= 8, f"without the word before {least:.3f}")
    alone = min(told[-1]["again"] for told in induction.stored()["1"])
    require(alone >= 3.1, f"one layer comes to {alone:.3f}")
    for told in induction.stored()["2"]:
        at = {step * induction.EVERY: x for step, x in enumerate(told)}
        require(at[200]["induction 1"] <= 0.15, f"at 200 {at[200]['induction 1']:.3f}")
        require(at[300]["induction 1"] >= 0.85, f"at 300 {at[300]['induction 1']:.3f}")
        require(at[200]["again"] >= 3.2, f"at 200 a loss of {at[200]['again']:.3f}")
        require(at[300]["again"] <= 0.5, f"at 300 a loss of {at[300]['again']:.3f}")
    return f"two layers {most:.2f}, cut {least:.1f}, one {alone:.1f}; score 0.15, then 0.85"
