"""The claims of the deeper page of chapter 11."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import BlockParameters, ModelParameters, NormParameters
from tformer_book.chapters.ch11 import forms
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, near, show, stirred


@claim(
    "thm-joint-stack",
    "numeric",
    mutants={
        "with feed-forward layers": {"feeds": True},
        "with output biases": {"biased": True},
        "the encoder has a last norm of its own": {"gain": 2.0},
        "norms after the sublayers": {"order": "post"},
        "positions turn queries and keys": {"positions": "rope"},
        "the cross-attention is left out": {"crosses": False},
    },
    scope="1 to 3 words on each side, both norms, 1 to 2 layers",
)
def joint_stack(
    feeds: bool = False,
    biased: bool = False,
    gain: float = 1.0,
    order: str = "pre",
    positions: str = "sinusoidal",
    crosses: bool = True,
) -> str:
    """The library's encoder and decoder against one stack of blocks with three masks."""
    tried = 0
    for s, t, norm, layers in product((1, 2, 3), (1, 2, 3), ("layer", "rms"), (1, 2)):
        c = Configuration(norm=norm, order=order, positions=positions)
        sizes = Sizes(7, 8, layers, 2, 8, biased=biased)
        rng = np.random.default_rng(s)
        p, q = (
            initialise(replace(sizes, has_cross_attention=x), c, rng, std=0.6)
            for x in (False, True)
        )
        p, q = (_changed(stirred(one), feeds, biased, rng) for one in (p, q))
        if order == "pre":
            p = replace(p, norm=NormParameters(gain * GAIN))
        source, target = rng.integers(0, 7, s), rng.integers(0, 7, t)
        memory = ref.encoder(source, p, c)
        want = ref.decoder(target, q, c, memory)
        got = ref.unembed(_one_stack(source, target, p, q, c, crosses), q)
        said = f"{s} and {t} words: {show(got[0, :2])}, not {show(want[0, :2])}"
        require(near(got, want, 1e-10), said)
        tried += 1
    return f"{tried} encoder–decoders without feed-forward layers, within 1e-10"


GAIN = np.linspace(0.5, 1.5, 8)
"""Of the norms before cross-attention, and of the encoder's last."""


def _changed(
    p: ModelParameters, feeds: bool, biased: bool, rng: np.random.Generator
) -> ModelParameters:
    """Blocks without feed-forward layers, or with output biases."""
    blocks = []
    for one in p.blocks:
        heads = replace(one.heads, b_o=rng.standard_normal(8)) if biased else one.heads
        feed = one.feed_forward if feeds else None
        cross = None if one.cross is None else NormParameters(GAIN)
        blocks.append(replace(one, heads=heads, feed_forward=feed, cross_norm=cross))
    return replace(p, blocks=tuple(blocks))


def _one_stack(
    source: Array,
    target: Array,
    p: ModelParameters,
    q: ModelParameters,
    c: Configuration,
    crosses: bool,
) -> Array:
    """Vectors of the target after one stack over both texts, in which some words see nobody."""
    s, t = len(source), len(target)
    x = np.concatenate([plain.looked_up(source, p, c), plain.looked_up(target, q, c)])
    within, own, across = (np.zeros((s + t, s + t), dtype=bool) for _ in range(3))
    within[:s, :s], across[s:, :s] = True, True
    own[s:, s:] = ref.causal_mask(t, t)
    steps = [(replace(one), within) for one in p.blocks]
    for one in q.blocks:
        if one.cross is None:
            continue
        steps.append((replace(one, feed_forward=None, cross=None, cross_norm=None), own))
        if crosses:
            cross = BlockParameters(one.cross, heads_norm=one.cross_norm)
            steps.append((cross, across))
        if one.feed_forward is not None:
            feed = replace(one, feed_forward_norm=one.feed_forward_norm, cross=None)
            steps.append((replace(feed, cross_norm=None), own))
    places = np.concatenate([np.arange(s), np.arange(t)])
    turns = ref.sinusoidal(places, 4, c.base) if c.positions == "rope" else None
    for one, mask in steps:
        x = ref.block(x, one, c, mask=mask, sinusoids=turns)
    last = replace(q, blocks=())
    return ref.blocks.apply_norm(x[s:], last.norm, c)


@claim(
    "prop-closed",
    "exhaustive",
    mutants={
        "seeing itself is enough": {"transitive": False},
        "seeing what is seen is enough": {"reflexive": False},
        "there are thirty for three words": {"count": 30},
    },
    scope="all 530 masks of up to 3 words; 65,536 of 4 counted",
)
def closed_masks(transitive: bool = True, reflexive: bool = True, count: int = 29) -> str:
    """Every mask: whether words learn of more words in one block, in two and in three."""
    found = []
    for n in (1, 2, 3):
        alike = 0
        for cells in grid(n * n, (0, 1)).astype(bool):
            mask = cells.reshape(n, n)
            step = mask | np.eye(n, dtype=bool)
            two = (step.astype(int) @ step.astype(int)) > 0
            three = (two.astype(int) @ step.astype(int)) > 0
            same = bool((mask == two).all() and (mask == three).all())
            own, seen = bool(mask.diagonal().all()), bool(((mask @ mask) <= mask).all())
            stated = (own or not reflexive) and (seen or not transitive)
            require(stated == same, f"mask {cells.astype(int).tolist()}: {same}")
            require(forms.closed(mask) == (own and seen), "the library disagrees")
            alike += same
        found.append(alike)
    require(found == [1, 4, count], f"of 1, 2 and 3 words there are {found}")
    four = grid(16, (0, 1)).astype(bool).reshape(-1, 4, 4)
    four = four[four[:, range(4), range(4)].all(axis=1)]
    steps = (four.astype(int) @ four.astype(int)) > 0
    many = int((steps == four).all(axis=(1, 2)).sum())
    require(many == 355, f"of 4 words there are {many}")
    return "the masks that depth cannot widen are 1, 4, 29 and 355 for 1 to 4 words"
