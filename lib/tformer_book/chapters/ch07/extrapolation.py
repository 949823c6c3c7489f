"""One attention layer is trained on short texts of letters and tried on longer ones.

Two tasks. *Five back*: at each place, say which letter stood five places before. *Latest capital*:
say which letter was the last to come as a capital. Each scheme of positions gets the same layer,
six seeds at once, the same texts and the same number of steps; only the scheme differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tformer import fast
from tformer.parameters import HeadParameters
from tformer_book.chapters.ch07.scores import TRAINED, changed_base
from tformer_book.experiments.threads import one_thread
from tformer_book.experiments.training import Adam, training

N_LETTERS, BACK, CAPITALS = 16, 5, 1 / 6
LENGTHS = (32, 64, 128, 256)
D_MODEL, N_HEADS, D_K, FARTHEST = 16, 4, 16, 15
SEEDS, TEXTS, STEPS, RATE = 6, 8, 150, 0.03
POSITION_ENCODINGS = ("none", "learned", "sinusoidal", "relative", "ALiBi", "RoPE")
LETTERS = 2048
"""Letters in the texts that a trained layer is tried on, at each length."""

Parameters = Mapping[str, Tensor]
CHANGES: Mapping[str, Callable[[int], Mapping[str, Any]]] = {
    "as it is": lambda length: {},
    "window": lambda length: {"window": TRAINED},
    "interpolated": lambda length: {"interpolation": length / TRAINED},
    "base changed": lambda length: {"base": changed_base(length / TRAINED, D_K)},
}
"""What is tried on RoPE without further training: from a length to what is changed there."""


def five_back(draw: torch.Generator, texts: int, length: int) -> tuple[Tensor, Tensor]:
    """Random letters, and for each place the letter five before; -1 where there is none."""
    letters = torch.randint(N_LETTERS, (texts, length), generator=draw)
    right = torch.full_like(letters, -1)
    right[:, BACK:] = letters[:, :-BACK]
    return letters, right


def latest_capital(draw: torch.Generator, texts: int, length: int) -> tuple[Tensor, Tensor]:
    """Random letters, the first and a sixth of the others capitals; the last capital so far."""
    letters = torch.randint(N_LETTERS, (texts, length), generator=draw)
    capital = torch.rand(texts, length, generator=draw) < CAPITALS
    capital[:, 0] = True
    latest = torch.where(capital, torch.arange(length), -1).cummax(dim=-1).values
    return letters + N_LETTERS * capital, letters.gather(-1, latest)


TASKS = {"five back": five_back, "latest capital": latest_capital}


@dataclass(frozen=True)
class Trained:
    """Six trained layers of one scheme.

    Attributes
    ----------
    scheme : one of `POSITION_ENCODINGS`.
    task : one of `TASKS`.
    parameters : name -> (6, ...) tensor.
    """

    scheme: str
    task: str
    parameters: Parameters

    def texts(self, length: int) -> tuple[Tensor, Tensor]:
        """New texts (B, T) of a length, and what is right at each place, (B, T)."""
        draw = torch.Generator().manual_seed(length)
        return TASKS[self.task](draw, LETTERS // length, length)

    @one_thread()
    @torch.no_grad()
    def right(self, length: int, **changed: Any) -> Tensor:
        """Share of right letters of each seed, (6,), in the second halves of new texts.

        Changed may be the `base` and the `interpolation` of the waves, and a `window` of keys.
        """
        tokens, right = self.texts(length)
        guess = _logits(self.scheme, self.parameters, tokens, **changed).argmax(dim=-1)
        late = slice(length // 2, length)
        return (guess == right)[..., late].double().mean(dim=(-2, -1))


@one_thread()
def train(scheme: str, task: str) -> Trained:
    """Train six layers at once by Adam [kingma2015], on texts of 32 letters.

    One thread computes, so that sums are taken in the same order on every machine.
    """
    draw = torch.Generator().manual_seed(0)
    start = _start(scheme, draw)
    tuned = [x.requires_grad_() for x in start.values()]

    def gradients() -> Sequence[Tensor]:
        tokens, right = TASKS[task](draw, TEXTS, TRAINED)
        log_p = _logits(scheme, start, tokens).log_softmax(dim=-1)
        asked = right >= 0
        found = log_p[:, asked].gather(-1, right[asked].expand(SEEDS, -1)[..., None])
        return torch.autograd.grad(-found.sum() / asked.sum(), tuned)

    def rate(step: int) -> float:
        return RATE * min(1, step / 20) * (1 if step < 0.7 * STEPS else 0.2)

    for _ in training(Adam(tuned, betas=(0.9, 0.98)), gradients, STEPS, rate):
        pass
    return Trained(scheme, task, {name: x.detach() for name, x in start.items()})


def _start(scheme: str, draw: torch.Generator) -> dict[str, Tensor]:
    """First parameters, the same for every scheme; a scheme's own come last."""

    def normal(*shape: int, variance: float = 1.0) -> Tensor:
        drawn = torch.randn(SEEDS, *shape, generator=draw, dtype=torch.float64)
        return drawn * math.sqrt(variance)

    found = {"letters": normal(2 * N_LETTERS, D_MODEL)}
    found["read"] = normal(D_MODEL, N_LETTERS, variance=1 / D_MODEL)
    found["w_v"] = normal(N_HEADS, D_MODEL, D_MODEL, variance=1 / D_MODEL / N_HEADS)
    for name in "qk":
        found[f"w_{name}"] = normal(N_HEADS, D_MODEL, D_K, variance=1 / D_MODEL)
        found[f"b_{name}"] = normal(N_HEADS, D_K, variance=0.25)
    if scheme == "learned":  # rows beyond the trained length stay as they are drawn here
        found["places"] = normal(max(LENGTHS), D_MODEL)
    if scheme == "relative":
        found["bias"] = normal(N_HEADS, 2 * FARTHEST + 1, variance=0.01)
    return found


def _logits(
    scheme: str, p: Parameters, tokens: Tensor, window: int = max(LENGTHS), **waves: float
) -> Tensor:
    """What six layers say of some texts (B, T), each place at once: (6, B, T, letters)."""
    length = tokens.shape[-1]
    places = torch.arange(length)
    x = p["letters"][:, tokens]
    if scheme == "sinusoidal":
        x = x + fast.sinusoidal(places, D_MODEL).to(x)
    if scheme == "learned":
        x = x + p["places"][:, None, :length]
    q, k, v = projected(x, p)
    if scheme == "RoPE":
        turn = fast.sinusoidal(places, D_K, **waves).to(x)
        q, k = fast.rope(q, turn), fast.rope(k, turn)
    mask, bias = fast.sliding_window_mask(length, length, window), _bias(scheme, p, length)
    y = fast.grouped_attention(q, k, v, mask=mask, bias=bias)
    logits: Tensor = (x + y.sum(dim=-3)) @ p["read"][:, None]
    return logits


def projected(x: Tensor, p: Parameters) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values of six layers, (6, B, H, T, width), from words (6, B, T, D)."""
    outputs = torch.empty_like(
        p["w_v"]
    ).mT  # values are as wide as words, and are added as they are
    heads = HeadParameters(p["w_q"], p["w_k"], p["w_v"], outputs, p["b_q"], p["b_k"])
    found: tuple[Tensor, Tensor, Tensor] = torch.func.vmap(fast.project)(x, heads)
    return found


def _bias(scheme: str, p: Parameters, length: int) -> Tensor | None:
    if scheme == "ALiBi":
        return fast.alibi_bias(N_HEADS, length, length).double()
    if scheme == "relative":
        return torch.stack([fast.relative_bias(one, length, length) for one in p["bias"]])[:, None]
    return None


def changed(layer: Trained) -> dict[str, np.ndarray]:
    """Share of right letters under each of `CHANGES`, (lengths, 6)."""
    return {
        name: torch.stack([layer.right(n, **change(n)) for n in LENGTHS]).numpy()
        for name, change in CHANGES.items()
    }


@torch.no_grad()
def hills(layer: Trained, reach: int) -> np.ndarray:
    """Mean score of the small letters with each other at each distance, (6, H, reach); RoPE's.

    Letters are drawn alike and independently, so it is the score of the mean query and key.
    """
    p = layer.parameters
    x = p["letters"][:, None, :N_LETTERS].mean(dim=2, keepdim=True)
    q, k, _ = (part.squeeze(1) for part in projected(x, p))
    turn = fast.sinusoidal(torch.arange(reach), D_K)
    found: np.ndarray = (fast.rope(q.expand(-1, -1, reach, -1), turn) @ k.mT)[..., 0].numpy()
    return found / math.sqrt(D_K)
