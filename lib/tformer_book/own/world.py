"""The world of the first page as lessons for a reader's file: stories of nineteen words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.own.samples import gpt2_parameters
from tformer_book.world.stories import START, stories


@dataclass(frozen=True)
class World:
    """Stories to learn from and stories to be asked, as token ids.

    Attributes
    ----------
    words : tuple of str
        The words; a token id is a place here.
    lessons, asked : (n, T) integer array
        The stories of the two halves.
    floor : float
        No model has a smaller mean loss a story, in nats.
    """

    words: tuple[str, ...]
    lessons: np.ndarray
    asked: np.ndarray
    floor: float

    @property
    def length(self) -> int:
        """Tokens a text."""
        return int(self.lessons.shape[1])

    @property
    def start(self) -> list[int]:
        """What a text begins with."""
        return [self.words.index(START)]

    def config(self, my: ModuleType, **changes: Any) -> Any:
        """Return a small configuration of a reader's file: 2 layers of 32, 4 heads in 2 groups."""
        sizes = {"n_vocab": len(self.words), "d_model": 32, "n_layers": 2}
        return my.Config(**(sizes | {"n_heads": 4, "n_groups": 2, "d_ff": 88} | changes))

    def batch(self, step: int) -> torch.Tensor:
        """Return 48 stories, which the number of the step chooses."""
        rng = np.random.default_rng(step)
        return torch.from_numpy(self.lessons[rng.integers(len(self.lessons), size=48)])

    def leaks(self, my: ModuleType, p: Any, c: Any) -> bool:
        """Return whether the logits before the last token depend on it."""
        stories = torch.from_numpy(self.lessons[:1]).repeat(2, 1)
        stories[1, -1] = (stories[1, -1] + 1) % len(self.words)
        with torch.no_grad():
            logits = my.transformer(stories, p, c)[0][:, :-1]
        return not torch.allclose(logits[0], logits[1])

    def gpt2(self, c: Any) -> dict[str, torch.Tensor]:
        """Return parameters in the form of GPT-2 to begin with: gains 1, biases 0."""
        p = gpt2_parameters(c)
        for name, x in p.items():
            if x.ndim == 1:
                x.fill_(float("ln" in name and name.endswith("weight")))
        return {name: x.requires_grad_() for name, x in p.items()}

    def right(self, my: ModuleType, p: Any, c: Any) -> str:
        """Say in how many new stories the last noun is right."""
        with torch.inference_mode():
            logits = my.transformer(torch.from_numpy(self.asked[:, :-1]), p, c)[0][:, -1]
        guess = logits.argmax(-1).where(logits.isfinite().all(-1), -1)  # nan would be the largest
        return f"{int((guess.numpy() == self.asked[:, -1]).sum())} of {len(self.asked)}"

    def text(self, tokens: Iterable[int]) -> str:
        """Return token ids as words."""
        return " ".join(self.words[token] for token in tokens)


@cache
def small_world() -> World:
    """Return the world of the first page."""
    told, held_out = stories().split()
    lessons, asked = (x.tokens() for x in (told, held_out))
    return World(tuple(told.words), lessons, asked, float(told.entropies().sum()))
