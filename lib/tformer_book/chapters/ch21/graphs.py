"""Graphs as masks, and the karate club."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

Array = np.ndarray
KARATE = Path(__file__).with_name("karate.txt")


def graph_mask(n_nodes: int, edges: Iterable[tuple[int, int]]) -> Array:
    """The mask of an undirected graph: each node sees its neighbours and itself.

    Parameters
    ----------
    n_nodes : int
    edges : pairs of nodes, from 0 to n_nodes - 1

    Returns
    -------
    (n_nodes, n_nodes) boolean array
        True where node t sees node s.
    """
    mask = np.eye(n_nodes, dtype=bool)
    for u, v in edges:
        mask[u, v] = mask[v, u] = True
    return mask


def distances(n_nodes: int, edges: Iterable[tuple[int, int]]) -> Array:
    """The lengths of shortest paths, by breadth-first search.

    Returns
    -------
    (n_nodes, n_nodes) array of floats
        Infinite where no path leads.
    """
    around: list[set[int]] = [set() for _ in range(n_nodes)]
    for u, v in edges:
        around[u].add(v)
        around[v].add(u)
    found = np.full((n_nodes, n_nodes), np.inf)
    for start in range(n_nodes):
        seen, border, steps = {start}, {start}, 0
        while border:
            found[start, list(border)] = steps
            border = {v for u in border for v in around[u]} - seen
            seen, steps = seen | border, steps + 1
    return found


@cache
def karate() -> tuple[int, tuple[tuple[int, int], ...]]:
    """The karate club: the number of members, and who met whom outside of it."""
    lines = KARATE.read_text(encoding="utf-8").splitlines()
    edges = tuple((int(u), int(v)) for u, v in map(str.split, lines))
    return 1 + max(map(max, edges)), edges
