"""What is new in a longer text: places, distances, the number of keys. Each is tried by itself.

Layers that were trained on 32 letters read 256. A window leaves nothing new but the places. Then
some distances are told otherwise than they are: new ones to a window of keys, or old ones to all.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer_book.chapters.ch07.extrapolation import (
    D_K,
    FARTHEST,
    LENGTHS,
    LETTERS,
    N_HEADS,
    N_LETTERS,
    POSITION_ENCODINGS,
    Trained,
    latest_capital,
    projected,
    train,
)
from tformer_book.chapters.ch07.scores import BASE, TRAINED
from tformer_book.experiments.threads import one_thread

FAR, NEAR = LENGTHS[-1], TRAINED // 2
"""Letters of a long text; nearer keys are always told the truth."""
BY_PLACE = ("learned", "sinusoidal")
"""Schemes whose scores are made of two places, so that no distance can be told by itself."""


def counts(window: int, times: float = 1.0) -> Tensor:
    """How often each key counts for each query, (256, 256): none outside a window of keys.

    The keys of the window that are not near count so many times.
    """
    distance = _distances()
    seen = (distance >= 0) & (distance < window)
    return torch.where(distance < NEAR, 1.0, times).double() * seen


def told(low: int, high: int) -> Tensor:
    """Distances, (256, 256), those of keys that are not near drawn from low to high - 1."""
    drawn = torch.randint(low, high, (FAR, FAR), generator=torch.Generator().manual_seed(0))
    distance = _distances()
    return torch.where(distance < NEAR, distance, drawn)


def _distances() -> Tensor:
    places = torch.arange(FAR)
    return places[:, None] - places


@one_thread()
@torch.no_grad()
def right(layer: Trained, counts: Tensor, told: Tensor | None = None) -> Tensor:
    """Share of right letters of each seed, (6,), in the second halves of long texts.

    Parameters
    ----------
    layer : of a scheme that is not `BY_PLACE`.
    counts : (256, 256), how often each key counts for each query; 0 hides it.
    told : (256, 256), the distance that goes into each score; by default the true one.
    """
    tokens, letters = layer.texts(FAR)
    told = _distances() if told is None else told
    late = slice(FAR // 2, FAR)
    guess = [logits(layer, one, late, counts, told).argmax(dim=-1) for one in tokens.split(1)]
    return (torch.cat(guess, dim=1) == letters[:, late]).double().mean(dim=(-2, -1))


def logits(layer: Trained, tokens: Tensor, late: slice, counts: Tensor, told: Tensor) -> Tensor:
    """What six layers say of texts (B, S) at late places: (6, B, T, letters).

    A key that counts n times has a score that is greater by log n.
    """
    x = layer.parameters["letters"][:, tokens]
    q, k, v = projected(x, layer.parameters)
    table = scores(layer, q[..., late, :], k, told[late]) + counts[late].log()
    y = fast.attention(q[..., late, :0], k[..., :0], v, bias=table)
    logits: Tensor = (x[..., late, :] + y.sum(dim=2)) @ layer.parameters["read"][:, None]
    return logits


def scores(layer: Trained, q: Tensor, k: Tensor, told: Tensor) -> Tensor:
    """Scores (..., T, S) of queries and keys (..., T, d_k) that stand as far apart as is told."""
    if layer.scheme == "RoPE":
        return _turned(q, k, told) / math.sqrt(D_K)
    table = q @ k.mT / math.sqrt(D_K)
    if layer.scheme == "relative":
        clipped = FARTHEST - told.clamp(0, FARTHEST)
        return table + layer.parameters["bias"][:, None, :, clipped]
    if layer.scheme == "ALiBi":
        return table - fast.alibi_slopes(N_HEADS)[:, None, None] * told
    return table


def _turned(q: Tensor, k: Tensor, told: Tensor) -> Tensor:
    """Dot products of q turned by the distance that is told, and k: hand by hand."""
    q, k = (torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous()) for x in (q, k))
    speeds = BASE ** (-torch.arange(0, D_K, 2, dtype=torch.float64) / D_K)
    turns = torch.polar(
        torch.ones(len(speeds), *told.shape, dtype=speeds.dtype), speeds[:, None, None] * told
    )
    found = torch.zeros(())
    for one, two, turn in zip(q.unbind(-1), k.conj().unbind(-1), turns, strict=True):
        found = found + (one[..., :, None] * two[..., None, :] * turn).real
    return found


def measured(task: str) -> dict[str, np.ndarray]:
    """Share of right letters of each scheme under each of `NEW`, (5, 6); NaN where untold."""
    found = {}
    for scheme in POSITION_ENCODINGS:
        layer = train(scheme, task)
        untold = torch.full_like(short := layer.right(TRAINED), math.nan)
        farther, more = untold, untold
        if scheme not in BY_PLACE:
            farther = right(layer, counts(TRAINED), told(TRAINED, FAR))
            more = right(layer, counts(FAR), told(NEAR, TRAINED))
        window, whole = layer.right(FAR, window=TRAINED), layer.right(FAR)
        found[scheme] = torch.stack([short, window, farther, more, whole]).numpy()
    return found


def ways() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """How the last of 256 letters is read in long texts: keys that count, and told distances."""
    window, whole, true = counts(TRAINED), counts(FAR), _distances()
    read = {
        "positions": (window, true),
        "positions and distances": (window, told(TRAINED, FAR)),
        "positions and more keys": (whole, told(NEAR, TRAINED)),
        "all three": (whole, true),
    }
    return {name: (seen[-1].numpy(), at[-1].numpy()) for name, (seen, at) in read.items()}


@torch.no_grad()
def spread(layer: Trained) -> np.ndarray:
    """By how much the scores of the last query of a short text differ, mean over texts: (6, H)."""
    x = layer.parameters["letters"][:, layer.texts(TRAINED)[0]]
    q, k, _ = projected(x, layer.parameters)
    found = scores(layer, q[..., -1:, :], k, torch.arange(TRAINED).flip(0)[None])[..., 0, :]
    means: np.ndarray = (found.amax(dim=-1) - found.amin(dim=-1)).mean(dim=1).numpy()
    return means


def sharpened(layer: Trained, factor: float) -> Trained:
    """The same layers with all scores multiplied by a number; of RoPE or of a relative bias."""
    turned = {"w_q", "b_q", "bias"}
    return replace(
        layer,
        parameters={
            name: factor * x if name in turned else x for name, x in layer.parameters.items()
        },
    )


def best_from_a_bag(length: int, texts: int = 100 * LETTERS) -> float:
    """Share of latest capitals, in second halves, guessed right by one who knows a bag of letters.

    A letter that is a capital knows the answer. To another the capitals before it may have come in
    any order, so the commonest is the best guess, and right as often as it is common.
    """
    draw = torch.Generator().manual_seed(0)
    letters, _ = latest_capital(draw, texts // length, length)
    seen = torch.nn.functional.one_hot(letters, 2 * N_LETTERS).cumsum(dim=1)[..., N_LETTERS:]
    share = torch.where(letters < N_LETTERS, seen.amax(dim=-1) / seen.sum(dim=-1), 1.0)
    return share[:, length // 2 :].mean().item()
