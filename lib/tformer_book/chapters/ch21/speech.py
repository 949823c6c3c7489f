"""Spoken digits: transformers on frames, simpler methods, and speakers that nobody has heard.

`python -m tformer_book.chapters.ch21.speech` trains all models and writes what it measures.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tformer import reference
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch21.speech_frames import BANDS, MOST, SPEAKERS, recordings
from tformer_book.chapters.ch21.stack import hidden_states, start, tensors, train

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

Array = np.ndarray
FILE = Path(__file__).with_name("speech.json")
P, WIDTH, STEPS, BATCH, SEEDS = 5, 48, 300, 32, 3
T = MOST // P
"""Frames of a token (50 ms), and tokens of the longest recording."""
TESTED, HEARD, OTHERS = 5, 20, 23
"""Takes 0 to 4 are for the test; 5 to 19 of six speakers, or 5 to 22 of five, are for training."""
KINDS = {"positions": T, "no positions": 0}
"""Rows of the table of positions."""


def split(speaker: int | None = None) -> tuple[Array, Array]:
    """Which recordings are for training (900), and which for the test.

    Parameters
    ----------
    speaker : int, optional
        Who is heard in the test alone. Without one, all six are in both.
    """
    _, _, _, said_by, take = recordings()
    tested = take < TESTED
    if speaker is None:
        return np.flatnonzero(~tested & (take < HEARD)), np.flatnonzero(tested)
    own = said_by == speaker
    return np.flatnonzero(~tested & ~own), np.flatnonzero(tested & own)


def tokens(frames: Array) -> Array:
    """Five frames a token: (..., 80, 20) to (..., 16, 100)."""
    return frames.reshape(*frames.shape[:-2], T, P * BANDS)


def seen(length: Array) -> tuple[Array, Array]:
    """Which tokens are of the recording: (n, 16, 1), and the mask that hides the others.

    The mask is (n, 16, 16). A token that fills up sees itself, as some key must be seen.
    """
    real = np.arange(T) < -(-length[:, None] // P)
    return real[..., None], real[:, None, :] | np.eye(T, dtype=bool)


def logits(x: Any, real: Any, mask: Any, model: ModelParameters, library: Any = reference) -> Any:
    """Logits of the ten digits, from the mean of the last hidden states of real tokens.

    Parameters
    ----------
    x : (n, 16, 100) array or tensor
    real : (n, 16, 1) array or tensor
        1 for a token of the recording, 0 for one that fills up.
    mask : (n, 16, 16) array or tensor
    """
    h = hidden_states(x @ model.embedding, model, mask, library) * real
    return h.sum(-2) / real.sum(-2) @ model.unembedding


def given(
    rows: Array, order: Array | None = None
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What `logits` takes of some recordings, as tensors.

    Parameters
    ----------
    rows : (n,) array
    order : (n, 16) array, optional
        An order of the tokens of each recording.
    """
    import torch

    frames, length = recordings()[:2]
    x, (real, mask) = tokens(frames[rows]), seen(length[rows])
    if order is not None:
        x = np.take_along_axis(x, order[..., None], axis=1)
    return (
        torch.tensor(x, dtype=torch.float32),
        torch.tensor(real, dtype=torch.float32),
        torch.tensor(mask),
    )


def shuffled(rows: Array, seed: int = 5) -> Array:
    """An order for the tokens of each recording; those that fill up stay behind: (n, 16)."""
    drawn = np.random.default_rng(seed).random((len(rows), T))
    real = seen(recordings().length[rows])[0][..., 0]
    return np.asarray(np.where(real, drawn, 1 + np.arange(T)).argsort(axis=1))


def trained(
    seed: int, speaker: int | None = None, kind: str = "positions", until: int | None = None
) -> Any:
    """Parameters after training, as tensors."""
    import torch

    from tformer import fast

    chosen = split(speaker)[0]
    heard, said = given(chosen), torch.tensor(recordings().digit[chosen])
    model = tensors(start(P * BANDS, WIDTH, 10, KINDS[kind], seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        i = rng.choice(len(chosen), BATCH, replace=False)
        x, real, mask = (part[i] for part in heard)
        found = logits(x, real, mask, model, fast)
        return fast.cross_entropy(found, said[i]).mean()

    train(model, loss, STEPS, seed, until=until, decay=0.05)
    return model


def right(model: Any, speaker: int | None = None, shuffle: bool = False) -> list[int]:
    """How many of the 50 test recordings of each speaker of the test are recognised."""
    import torch

    from tformer import fast

    rows = split(speaker)[1]
    asked = given(rows, shuffled(rows) if shuffle else None)
    with torch.no_grad():
        found = logits(*asked, model, fast).argmax(-1).numpy()
    return counted(found, rows)


def counted(found: Array, rows: Array) -> list[int]:
    """How many answers are right, by speaker."""
    _, _, digit, said_by, _ = recordings()
    good = found == digit[rows]
    return [int(good[said_by[rows] == one].sum()) for one in np.unique(said_by[rows])]


@cache
def parts(count: int) -> Array:
    """The mean frames of so many equal parts of each recording: (n, 20 count)."""
    frames, length = recordings()[:2]
    found = []
    for one, n in zip(frames, length, strict=True):
        edges = np.linspace(0, n, count + 1)
        pairs = zip(np.floor(edges[:-1]), np.ceil(edges[1:]), strict=True)
        each = [one[int(a) : int(b)].mean(0) for a, b in pairs]
        found.append(np.concatenate(each))
    return np.array(found)


def linear(count: int, speaker: int | None = None, ridge: float = 1.0) -> list[int]:
    """How many a ridge regression of the parts on the ten digits gets right, by speaker."""
    chosen, asked = split(speaker)
    x = np.pad(parts(count), ((0, 0), (0, 1)), constant_values=1)
    a, y = x[chosen], np.eye(10)[recordings().digit[chosen]]
    w = np.linalg.solve(a.T @ a + ridge * np.eye(x.shape[1]), a.T @ y)
    return counted((x[asked] @ w).argmax(1), asked)


def warped(x: Array, n: int, others: Array, lengths: Array) -> Array:
    """Distances by dynamic time warping of one row of tokens from many.

    Both rows may be stretched: a path of pairs of tokens leads from the first pair to the last,
    each step by one token in one row or in both; its cost is the sum of the pairs' distances,
    divided by the sum of both lengths.

    Parameters
    ----------
    x : (T, d) array
        The first n tokens count.
    others : (m, T, d) array
    lengths : (m,) array
        How many tokens of each count.

    Returns
    -------
    (m,) array
    """
    apart = np.sqrt(reference.pairwise_squared_distance(others, x[:n]).clip(0))
    best = np.full((len(others), others.shape[1] + 1, n + 1), np.inf)
    best[:, 0, 0] = 0
    for i in range(others.shape[1]):
        for j in range(n):
            before = np.minimum(best[:, i, j], np.minimum(best[:, i, j + 1], best[:, i + 1, j]))
            best[:, i + 1, j + 1] = before + apart[:, i, j]
    return np.asarray(best[np.arange(len(others)), lengths, n] / (lengths + n))


def nearest(speaker: int | None = None) -> list[int]:
    """How many the nearest recording of the training, by `warped`, gets right, by speaker."""
    frames, length, digit, _, _ = recordings()
    x = frames.reshape(-1, T, P, BANDS).mean(2)
    n = -(-length // P)
    chosen, asked = split(speaker)
    found = [digit[chosen][warped(x[i], n[i], x[chosen], n[chosen]).argmin()] for i in asked]
    return counted(np.array(found), asked)


def everyone(count: Callable[[int], list[int]]) -> list[int]:
    """What `count` says of each speaker, if it has not been heard."""
    return [count(speaker)[0] for speaker in range(SPEAKERS)]


def stored() -> dict[str, Any]:
    """What was measured."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))


def measure() -> dict[str, Any]:
    """Train every model: for each seed, how many are right, by speaker."""
    told: dict[str, Any] = {}
    for kind in KINDS:
        known = [trained(seed, None, kind) for seed in range(SEEDS)]
        told[kind] = {
            "known": [right(one) for one in known],
            "shuffled in the test": [right(one, shuffle=True) for one in known],
            "new": [
                [right(trained(seed, who, kind), who)[0] for who in range(SPEAKERS)]
                for seed in range(SEEDS)
            ],
        }
    return told


if __name__ == "__main__":
    FILE.write_text(json.dumps(measure()) + "\n", encoding="utf-8")
