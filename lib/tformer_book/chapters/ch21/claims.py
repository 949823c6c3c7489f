"""The claims of chapter 21 on graphs and boards."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import tree_map
from tformer_book.chapters.ch21 import graphs, life_learnt
from tformer_book.chapters.ch21.grids import CONFIGURATION, hidden, life_parameters, torus_mask
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near, stirred

Array = np.ndarray
SIDE, SEED, GENERATIONS = 16, 8, 1000
"""The board of the long run: its side, the seed that draws it, and how long it is played."""


@claim(
    "prop-graph-hops",
    "exhaustive",
    mutants={
        "a layer carries over two edges": {"edges": 2},
        "one layer more than that is needed": {"extra": 1},
    },
    scope="all 1,156 pairs of the karate club, one to five layers",
)
def graph_hops(edges: int = 1, extra: int = 0) -> str:
    """A node's vector is changed; whose output changes is held against breadth-first search."""
    n, pairs = graphs.karate()
    mask, apart = graphs.graph_mask(n, pairs), graphs.distances(n, pairs)
    x = np.random.default_rng(0).normal(size=(n, 4))
    moved = np.repeat(x[None], n, axis=0)
    moved[np.arange(n), np.arange(n)] += np.random.default_rng(1).normal(size=(n, 4))
    same: Any = Configuration(positions="none")
    start = initialise(Sizes(1, 4, 5, 2, 8), same, np.random.default_rng(2), std=0.5)
    for layers in range(1, 6):
        found = []
        for given in (x, moved):
            h = given
            for block in stirred(start).blocks[:layers]:
                h = reference.block(h, block, same, mask=mask)
            found.append(h)
        change = abs(found[1] - found[0]).max(axis=-1)
        reached = apart <= layers * edges - extra
        require(
            (change[~reached] < 1e-13).all(),
            f"k = {layers}: {int((change[~reached] >= 1e-13).sum())} more pairs are reached",
        )
        require(
            (change[reached] > 1e-9).all(),
            f"k = {layers}: {int((change[reached] <= 1e-9).sum())} pairs are not reached",
        )
    require(apart.max() == 5, f"the longest of the shortest paths has {apart.max():.0f} edges")
    return "a change of one node, 34 times: below 1e-13 beyond k edges, above 1e-9 within k"


def counted(board: Array) -> Array:
    """The next generation on a torus: each living cell counts for the eight around it."""
    h, w = board.shape
    alive = {(int(r), int(c)) for r, c in np.argwhere(board)}
    steps = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]
    n = Counter(((r + i) % h, (c + j) % w) for r, c in alive for i, j in steps)
    found = np.zeros_like(board)
    for cell, count in n.items():
        found[cell] = count == 3 or (count == 2 and cell in alive)
    return found


@claim(
    "exm-life",
    "exhaustive",
    mutants={
        "a mask of five times five cells": {"radius": 2},
        "the mask leaves out the cell itself": {"itself": False},
        "the rule falls at 6 and not at 7": {"kinks": (4.25, 4.75, 6.25, 6.75)},
    },
    scope="512 of 512 neighbourhoods; one board, 1,000 generations",
)
def life(
    radius: int = 1,
    itself: bool = True,
    kinks: tuple[float, ...] = (4.25, 4.75, 7.25, 7.75),
) -> str:
    """Both libraries against counts by cell, every cell of 512 boards of 5 × 5, then 16 × 16."""
    import torch

    from tformer import fast

    boards = np.zeros((512, 5, 5), dtype=int)
    boards[:, 1:4, 1:4] = np.array(list(product((0, 1), repeat=9))).reshape(-1, 3, 3)
    parameters = life_parameters(kinks)

    def mask(side: int) -> Array:
        seen = torus_mask(side, side, radius)
        return seen if itself else seen & ~np.eye(side * side, dtype=bool)

    want = np.array([counted(board) for board in boards])
    there = tree_map(torch.from_numpy, parameters)
    for found in (
        reference.block(hidden(boards), parameters, CONFIGURATION, mask=mask(5)),
        fast.block(
            torch.from_numpy(hidden(boards)), there, CONFIGURATION, mask=torch.from_numpy(mask(5))
        ).numpy(),
    ):
        wrong = abs(found[..., 0] - want.reshape(512, -1)) > 1e-12
        require(not wrong.any(), f"{wrong[:, 12].sum()} of 512 neighbourhoods are wrong")
        require(near(found[..., 1], 0), "the mean is not cleared")
    board = np.random.default_rng(SEED).integers(0, 2, (SIDE, SIDE))
    x, seen = hidden(board), mask(SIDE)
    for generation in range(1, GENERATIONS + 1):
        board = counted(board)
        x = reference.block(x, parameters, CONFIGURATION, mask=seen)
        miss = float(abs(x[:, 0] - board.ravel()).max())
        require(miss < 1e-12, f"after {generation} generations a cell is off by {miss:.2g}")
    return "counts by cell, to 1e-12: 512 boards of 5 × 5 in both libraries, 1,000 blocks in one"


@claim(
    "exm-life-learnt",
    "empirical",
    mutants={
        "the cell itself weighs as much as a neighbour": {"centre": (0.1, 0.12)},
        "cells outside weigh nothing": {"outside": (0.0, 0.01)},
        "six of the offsets are neighbours": {"neighbours": 6},
        "new offsets do no harm on a larger board": {"wider": (0.0, 0.01)},
    },
    scope="three trainings of 800 steps; boards of two sizes",
)
def life_learnt_(
    centre: tuple[float, float] = (0.01, 0.02),
    outside: tuple[float, float] = (0.08, 0.11),
    neighbours: int = 8,
    wider: tuple[float, float] = (0.05, 0.08),
) -> str:
    """The stored weights by offset, sorted; and how many cells the models get wrong."""
    for seed, run in enumerate(life_learnt.stored()):
        weights = np.roll(np.array(run["weights"]).reshape(8, 8), (1, 1), (0, 1))
        block, itself = weights[:3, :3], float(weights[1, 1])
        ring = np.sort(np.delete(block.ravel(), 4))
        rest = 1 - block.sum()
        largest = set(np.argsort(weights.ravel())[-neighbours:].tolist())
        where = {r * 8 + c for r, c in product(range(3), repeat=2)} - {9}
        require(largest == where, f"seed {seed}: the {neighbours} largest are {sorted(largest)}")
        require(ring[0] > 0.105 and ring[-1] < 0.115, f"seed {seed}: neighbours from {ring[0]:.4f}")
        require(
            centre[0] <= itself <= centre[1], f"seed {seed}: the cell itself weighs {itself:.4f}"
        )
        require(
            outside[0] <= rest <= outside[1], f"seed {seed}: all cells outside weigh {rest:.4f}"
        )
        others = np.delete(weights.ravel(), [r * 8 + c for r, c in product(range(3), repeat=2)])
        require(others.max() < 0.0025, f"seed {seed}: a cell outside weighs {others.max():.4f}")
        told = ("wrong of 512", "wrong of 12800", "wider, new offsets hidden")
        wrong = [run[name] for name in told]
        require(not any(wrong), f"seed {seed}: {wrong} cells are wrong")
        missed = run["wider, new offsets like the others"] / 12800
        require(wider[0] <= missed <= wider[1], f"seed {seed}: {missed:.3f} of a larger board")
    return "the eight largest weights are the neighbours, .105 to .115; the others below .0025"
