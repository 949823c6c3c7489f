"""Exercise 21.5: a graph as a mask, and the layers that a way in it takes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case, each

Array = np.ndarray


def _graphs() -> Iterator[Case]:
    inf = np.inf
    why = "A path of three nodes: 0 and 2 know of each other after two layers."
    seen = [[True, True, False], [True, True, True], [False, True, True]]
    want = (seen, [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    yield case(n=3, edges=np.array([[0, 1], [1, 2]]), want=want, why=why)
    why = "Node 2 has no edge: it never knows of the others, nor they of it."
    seen = [[True, True, False], [True, True, False], [False, False, True]]
    want = (seen, [[0.0, 1.0, inf], [1.0, 0.0, inf], [inf, inf, 0.0]])
    yield case(n=3, edges=np.array([[1, 0]]), want=want, why=why)
    path = np.stack([np.arange(7), np.arange(1, 8)], axis=1)
    for n, edges, why in (
        (9, path, "A path of eight nodes, its ends seven layers apart, and a node alone."),
        (8, path[::-1, ::-1], "A path of eight nodes, its edges in another order."),
        (8, np.vstack([path, [[7, 0]]]), "A ring of eight: at most four layers."),
        (6, np.array([[0, i] for i in range(1, 6)]), "A star: two layers, through node 0."),
        (6, np.array([[i, 5] for i in range(5)]), "A star: two layers, through node 5."),
        (4, np.zeros((0, 2), dtype=int), "No edges: each node knows itself alone."),
        (1, np.zeros((0, 2), dtype=int), "One node."),
        (4, np.array([[0, 2], [2, 0], [3, 2]]), "The edge of 0 and 2 is named twice."),
        (7, np.array([[0, 3], [3, 5], [1, 6], [6, 2], [2, 1]]), "Two parts and a node alone."),
        (5, np.array([[0, 1], [1, 2], [2, 0], [2, 3], [3, 4]]), "A triangle with a tail."),
        (4, np.array([[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]]), "All know all at once."),
    ):
        yield case(n=n, edges=edges, why=why)
    for seed, (n, m) in enumerate(((9, 10), (12, 13), (20, 24), (30, 28))):
        edges = np.random.default_rng(seed).integers(0, n, (m, 2))
        edges = edges[edges[:, 0] != edges[:, 1]]
        yield case(n=n, edges=edges, why=f"{n} nodes and {len(edges)} edges.")
    for n in (30, 40):
        long = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)
        said = f"n = {n} and edges from each node to the next"
        why = f"A path of {n} nodes: its ends are {n - 1} layers apart."
        yield case(n=n, edges=long, said=said, why=why)


def _counted(n: int, edges: Array) -> Array:
    """How often an edge is named, and 1 on the diagonal."""
    mask = np.eye(n)
    np.add.at(mask, (edges[:, 0], edges[:, 1]), 1)
    np.add.at(mask, (edges[:, 1], edges[:, 0]), 1)
    return mask


def _one_way(n: int, edges: Array) -> Array:
    """The first node of each edge attends to the second one."""
    mask = np.eye(n, dtype=bool)
    mask[edges[:, 0], edges[:, 1]] = True
    return mask


def _toggled(n: int, edges: Array) -> Array:
    """An edge that is named again goes away."""
    return np.asarray(_counted(n, edges) % 2 > 0)


def _stopped(most: int, n: int, edges: Array) -> tuple[Array, Array]:
    """Right up to so many layers, and ∞ beyond."""
    mask, layers = hops(n, edges)
    return mask, np.where(layers > most, np.inf, layers)


STOPPED = {
    f"You stopped after {number} and left ∞ beyond: go on until nothing new becomes known.": most
    for most, number in (
        (1, "one layer"),
        (2, "two layers"),
        (3, "three layers"),
        (4, "four layers"),
        (5, "five layers"),
        *((k, f"{k} layers") for k in (6, 7, 8, 9, 10, 19, 20)),
    )
}


def _there_and_back(mask: Array) -> Array:
    """Two layers for each node with a neighbour, and no number for the others."""
    return np.where(mask.sum(axis=0) > 1, 2, np.inf)


def _walks(n: int, edges: Array, sparse: bool = False) -> Array:
    """How many ways of at most n layers lead from node to node."""
    mask = np.eye(n)
    mask[edges[:, 0], edges[:, 1]] = mask[edges[:, 1], edges[:, 0]] = 1
    return np.asarray(mask @ mask if sparse else np.linalg.matrix_power(mask, n))


@exercise(
    "21.5",
    praise="Paths, rings, stars, parts without a way between them, and edges named twice.",
    hints=(
        "After one layer, what does the vector of t depend on? And after two?",
        "Begin with what each node knows after 0 layers, and apply the mask again and again.",
        "Write down the number of a layer where something becomes known for the first time. After "
        "n rounds whatever is unknown stays so.",
    ),
    cases=_graphs,
    kind=Several(names=("mask", "number of layers")),
    otherwise="One layer adds one edge to how far a node can see.",
    mutants=each(_stopped, STOPPED),
    slips="""
        mask = np.eye(n, dtype=bool) → mask = np.zeros((n, n), dtype=bool)
            In your mask no node attends to itself.
        mask[edges[:, 1], edges[:, 0]] = True →
            An edge has no direction: you let only the first node of each attend to the second one.
        mask[edges[:, 0], edges[:, 1]] = True →
            An edge has no direction: you let only the second node of each attend to the first one.
        return mask, layers → return _one_way(n, edges), layers
            In your mask only the first node of each edge attends to the other: an edge has no
            direction.
        return mask, layers → return _one_way(n, edges[:, ::-1]), layers
            In your mask only the second node of each edge attends to the other: an edge has no
            direction.
        return mask, layers → return _toggled(n, edges), layers
            An edge that is named twice has gone from your mask; to name it again changes nothing.
        return mask, layers → return layers < np.inf, layers
            Your mask holds all that can ever be known; one layer sees an edge far.
        return mask, layers → return layers <= 2, layers
            Your mask holds what two layers tell; one layer sees an edge far.
        return mask, layers → return ~mask, layers
            True and False are exchanged in the mask: True is where a node attends.
        return mask, layers → return np.where(mask, 0, -np.inf), layers
            0 and −∞ are numbers to add to scores; True and False are asked for.
        return mask, layers → return mask / mask.sum(axis=1, keepdims=True), layers
            Those are weights, as equal scores have them; the mask says True or False.
        return mask, layers → return layers, mask
            The two stand in the wrong order: first the mask.
        & np.isinf(layers)] = step → & np.isinf(layers)] = step + 1
            All numbers of layers are one too large: what a node knows of itself takes none.
        & np.isinf(layers)] = step → & np.isinf(layers)] = max(step, 1)
            A node knows its own input before any layer: the diagonal is 0.
        & np.isinf(layers)] = step → & np.isinf(layers)] = max(step - 1, 0)
            You counted the nodes in between; two nodes with an edge need one layer.
        return mask, layers → return mask, layers + (layers > 0)
            Two nodes with an edge need one layer, and you say two.
        layers[known & np.isinf(layers)] → layers[known]
            You wrote the number of the last layer; the first one in which it is known is asked for.
        return mask, layers → return mask, np.where(np.isinf(layers), 0, layers)
            Where nothing is ever known you returned 0, as if it were known from the beginning.
        return mask, layers → return mask, np.where(np.isinf(layers), -1, layers)
            Where nothing is ever known ∞ is asked for, and not −1.
        return mask, layers → return mask, np.where(np.isinf(layers), n, layers)
            Where nothing is ever known you returned n: more layers do not help there.
        return mask, layers → return mask, np.where(np.isinf(layers), np.nan, layers)
            Where nothing is ever known ∞ is asked for, and not nan.
        for step in range(n) → for step in range(n // 2 + 1)
            You stopped at n/2 layers and left ∞ beyond: that is enough for a ring, and not for a
            path.
        for step in range(n) → for step in range(n - 1)
            You stopped one layer too early and left ∞ beyond: the ends of a path of n nodes are
            n − 1 layers apart.
        known = known @ mask → known = known @ known if step else mask
            You doubled the distance with each step: a layer adds one edge.
        return mask, layers → return _counted(n, edges), layers
            You counted how often an edge is named; the mask says True or False.
        return mask, layers → return mask, layers + np.diag(_there_and_back(mask))
            On the diagonal you found the way to a neighbour and back; a node knows itself before.
        return mask, layers → return mask, _walks(n, edges)
            You counted ways; the length of the shortest one is asked for.
        return mask, layers → return mask, _walks(n, edges, sparse=True)
            You counted ways of two layers; the least number of layers is asked for.
        return mask, layers → return mask, np.abs(np.arange(n)[:, None] - np.arange(n)) * 1.0
            You subtracted the numbers of the nodes: these are names, and say nothing of distances.
        return mask, layers → return mask, np.ceil(np.log2(layers + 1))
            One layer adds one edge and does not double the distance.
    """,
)
def hops(n: int, edges: Array) -> tuple[Array, Array]:
    """Mask of a graph, and distances."""
    mask = np.eye(n, dtype=bool)
    mask[edges[:, 0], edges[:, 1]] = True
    mask[edges[:, 1], edges[:, 0]] = True
    layers = np.full((n, n), np.inf)
    known = np.eye(n, dtype=bool)
    for step in range(n):
        layers[known & np.isinf(layers)] = step
        known = known @ mask
    return mask, layers
