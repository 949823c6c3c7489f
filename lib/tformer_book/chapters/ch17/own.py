"""What each part of the storyteller adds to its answer by itself, and what it would say earlier."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.models.hooks import zero_ablation
from tformer_book.chapters.ch17 import veto
from tformer_book.chapters.ch17.circuits import ORDER
from tformer_book.storyteller import load

__all__ = ["POINTS", "Part", "lens", "likeliest", "parts", "unfed"]

POINTS = {
    "embedded": "before first block",
    "blocks.0.between": "after first attention",
    "blocks.0.after": "after first block",
    "blocks.1.between": "after second attention",
    "blocks.1.after": "after second block",
}
"""Where the vector of the last word is read, and how a picture calls it."""


class Part(NamedTuple):
    """A part of the sum before the last norm, at the last word.

    Attributes
    ----------
    name : str
    own : float
        What it adds to the log-odds of *animal* against *street* by itself.
    lost : float
        By how much the log-odds fall if it is silent at the last word, and all after it is computed
        anew; NaN for the embedding, which is never silent.
    """

    name: str
    own: float
    lost: float


def parts(name: str) -> tuple[Part, ...]:
    """The embedding, and of each layer its heads and its feed-forward layer, for one of the tales.

    Parameters
    ----------
    name : "tired" or "wide"
    """
    found, p, c = veto.read(name), veto.parameters(), load().configuration
    norm: Any = p.norm
    first, second = (load().tokens.encode(noun)[0] for noun in veto.NOUNS)
    ends = reference.unembed(np.eye(len(norm.gain)), p)
    says = norm.gain * (ends[:, first] - ends[:, second])
    says = says / np.sqrt((found["blocks.1.after"][-1] ** 2).mean() + c.eps)

    def lost(where: str, at: tuple[Any, ...]) -> float:
        return veto.odds(found) - veto.odds(veto.read(name, zero_ablation(where, at)))

    told = [Part("embedding", float(found["embedded"][-1] @ says), float("nan"))]
    for i, block in enumerate(p.blocks):
        added = reference.head_outputs(found[f"blocks.{i}.heads"], block.heads)[:, -1] @ says
        for h, own in enumerate(added):
            gone = lost(f"blocks.{i}.heads", (..., h, -1, slice(None)))
            told.append(Part(f"{ORDER[i]} block, head {h}", float(own), gone))
        fed, where = found[f"blocks.{i}.feed_forward"][-1], f"blocks.{i}.feed_forward"
        told.append(
            Part(f"{ORDER[i]} feed-forward", float(fed @ says), lost(where, (..., -1, slice(None))))
        )
    return tuple(told)


def lens(name: str, point: str) -> np.ndarray:
    """What the last word's vector says at one of `POINTS`, as logits of all tokens, (N,)."""
    x = veto.read(name)[point][-1]
    return reference.logit_lens(x, veto.parameters(), load().configuration)


def likeliest(name: str, point: str) -> tuple[str, float]:
    """The token that the lens deems likeliest, and its probability."""
    p = reference.softmax(lens(name, point))
    best = int(p.argmax())
    return load().tokens.decode([best]).strip(), float(p[best])


def unfed(name: str) -> dict[str, Any]:
    """What `inside` finds if the last word gets nothing from the heads of the second layer."""
    return veto.read(name, zero_ablation("blocks.1.heads", (..., -1, slice(None))))
