"""Boards of cells on a torus, the masks of their neighbourhoods, and a block that plays Life."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import BlockParameters, FeedForwardParameters, HeadParameters

Array = np.ndarray
CONFIGURATION = Configuration(activation="relu", positions="none")
GLIDER = np.array([[0, 1, 0], [0, 0, 1], [1, 1, 1]])


def torus_mask(height: int, width: int, radius: int = 1) -> Array:
    """Which cell of a torus sees which: all cells at most `radius` rows and columns away.

    Parameters
    ----------
    height, width : int
        Cells are numbered row by row.
    radius : int
        0: each cell sees itself alone.

    Returns
    -------
    (h w, h w) boolean array
        True where cell t sees cell s.
    """
    row, column = np.divmod(np.arange(height * width), width)

    def close(place: Array, size: int) -> Array:
        apart = abs(place[:, None] - place)
        return np.minimum(apart, size - apart) <= radius

    return close(row, height) & close(column, width)


def life_step(
    board: Array, births: Collection[int] = (3,), survivals: Collection[int] = (2, 3)
) -> Array:
    """One generation of a game like Life on a torus, by counting neighbours.

    Parameters
    ----------
    board : (..., h, w) array of 0 and 1
    births, survivals : numbers of living neighbours
        With which a dead cell is born and a living cell stays alive.

    Returns
    -------
    (..., h, w) integer array of 0 and 1
    """
    around = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    n = sum(np.roll(board, shift, (-2, -1)) for shift in around)
    return np.where(board == 1, np.isin(n, list(survivals)), np.isin(n, list(births))).astype(int)


def life_parameters(kinks: tuple[float, ...] = (4.25, 4.75, 7.25, 7.75)) -> BlockParameters:
    """The block that makes one generation of Life, where the mask is the 3 × 3 neighbourhood.

    Hidden states are (alive, mean of the neighbourhood), the mean being 0 between blocks.

    Parameters
    ----------
    kinks : four numbers, or several times four
        Where the rule rises from 0 to 1 and falls back, on the scale of u = 18 mean - alive.
    """
    zero, at = np.zeros((1, 2, 1)), np.reshape(kinks, (-1, 4)).astype(float)
    slope = 1 / np.diff(at)[:, [0, 0, 2, 2]] * (1, -1, -1, 1)
    hidden, n = np.array([[-1.0], [18.0]]), at.size
    heads = HeadParameters(zero, zero, np.array([[[1.0], [0.0]]]), np.array([[[0.0, 1.0]]]))
    return BlockParameters(
        heads,
        FeedForwardParameters(
            w_in=np.concatenate([np.tile(hidden, n), np.eye(2)], axis=1),
            b_in=np.concatenate([-at.ravel(), np.ones(2)]),  # a + 1 and m + 1 are above 0
            w_out=np.concatenate([np.stack([slope.ravel(), np.zeros(n)], axis=1), -np.eye(2)]),
            b_out=np.ones(2),
        ),
    )


def rule_kinks(births: Collection[int], survivals: Collection[int]) -> tuple[float, ...]:
    """The kinks of another rule: four for each run of whole numbers u that live on.

    Parameters
    ----------
    births, survivals : numbers of living neighbours, 0 to 8
    """
    living = sorted({2 * n for n in births} | {2 * n + 1 for n in survivals})
    found: list[float] = []
    for u in living:
        if u - 1 not in living:
            found += [u - 0.75, u - 0.25]
        if u + 1 not in living:
            found += [u + 0.25, u + 0.75]
    return tuple(found)


def hidden(board: Array) -> Array:
    """Boards (..., h, w) as hidden states (..., h w, 2): alive, and 0."""
    alive = board.reshape(*board.shape[:-2], -1).astype(float)
    return np.stack([alive, 0 * alive], axis=-1)


def play(
    board: Array,
    steps: int = 1,
    mask: Array | None = None,
    parameters: BlockParameters | None = None,
    library: Any = reference,
) -> Array:
    """What a stack of `steps` equal blocks makes of a board; nothing is rounded between them.

    Parameters
    ----------
    board : (..., h, w) array of 0 and 1
    steps : int
    mask : (h w, h w) boolean array, optional
        The 3 × 3 neighbourhood on a torus if omitted.
    parameters : BlockParameters, optional
        Those of Life if omitted.
    library : module
        `tformer.reference`.

    Returns
    -------
    (..., h, w) array
        The first coordinate of each hidden state.
    """
    mask = torus_mask(*board.shape[-2:]) if mask is None else mask
    x, parameters = hidden(board), parameters or life_parameters()
    for _ in range(steps):
        x = library.block(x, parameters, CONFIGURATION, mask=mask)
    return x[..., 0].reshape(board.shape)
