"""What each scheme of positions makes of the scores of one query over a distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from tformer import reference

REACH, WIDTH = 40, 32
"""Distances that are shown, and the width of the rows of places."""
_AT = np.arange(REACH)
TRAINED, BASE = 32, 10_000.0
"""Places of the texts of training, and the base of the waves."""
NEW = ("nothing", "positions", "positions, distances", "positions, keys", "all three")
"""What is new to a layer in each of five trials: a short text, and a long one read in four ways."""

Profile = Callable[[], list[np.ndarray]]


def changed_base(factor: float, d: int, base: float = BASE) -> float:
    """Base under which the slowest of d/2 waves becomes slower by `factor`; the fastest stays."""
    return float(base * factor ** (d / (d - 2)))


def learned() -> list[np.ndarray]:
    """A table of independent rows, as it is before training: query at the last place."""
    rows = np.random.default_rng(3).standard_normal((REACH, WIDTH)) / WIDTH**0.5
    return [(rows @ rows[-1])[::-1]]


def sinusoidal() -> list[np.ndarray]:
    """Dot products of rows of waves."""
    rows = reference.sinusoidal(_AT, WIDTH)
    return [rows @ rows[0]]


def turned(q: np.ndarray, k: np.ndarray, distances: np.ndarray = _AT) -> np.ndarray:
    """Scores of a query with a key some places before it, both turned; q and k are (d_k,)."""
    waves = reference.sinusoidal(distances, q.shape[-1])
    query = reference.rope(np.broadcast_to(q, waves.shape), waves)
    scores: np.ndarray = query @ k
    return scores


def alike() -> list[np.ndarray]:
    """Query and key the same, all ones."""
    return [turned(np.ones(WIDTH), np.ones(WIDTH))]


def twelve_back() -> list[np.ndarray]:
    """The query is what it would be twelve places earlier."""
    back = reference.rope(np.ones((1, WIDTH)), reference.sinusoidal(np.array([-12]), WIDTH))[0]
    return [turned(back, np.ones(WIDTH))]


def relative() -> list[np.ndarray]:
    """A table of distances up to 8, one number for all that are farther."""
    drawn = np.random.default_rng(5).standard_normal((1, 17))
    return [reference.relative_bias(drawn, 1, REACH, offset=REACH - 1)[0, 0, ::-1]]


def alibi() -> list[np.ndarray]:
    """The first two of eight heads."""
    return [reference.alibi_bias(8, 1, REACH, offset=REACH - 1)[head, 0, ::-1] for head in (0, 1)]


PROFILES: Mapping[str, Profile] = {
    "learned encoding": learned,
    "sinusoidal encoding": sinusoidal,
    "relative bias, clipped at 8": relative,
    "RoPE, query and key alike": alike,
    "RoPE, a query that looks 12 back": twelve_back,
    "ALiBi, slopes 1/2 and 1/4": alibi,
}
