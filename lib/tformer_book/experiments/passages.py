"""Eight passages of ordinary prose, and what the real model loses on them when it is changed."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.hooks import Hook, run_with_hooks
from tformer.models.pretrained import PretrainedModel

__all__ = ["LENGTH", "PASSAGES", "everywhere", "losses", "read", "tokens"]

PASSAGES: dict[str, str] = tomllib.loads(
    Path(__file__).with_name("passages.toml").read_text(encoding="utf-8")
)
"""Texts by their kind."""
LENGTH = 200
"""Tokens of each passage that are read."""


def tokens(model: PretrainedModel, kinds: Iterable[str] = tuple(PASSAGES)) -> np.ndarray:
    """The first tokens of each passage: (texts, `LENGTH`)."""
    return np.array([model.tokenizer.encode(PASSAGES[kind])[:LENGTH] for kind in kinds])


def read(
    model: PretrainedModel,
    text: np.ndarray,
    hooks: Mapping[str, Hook] | None = None,
    mask: np.ndarray | None = None,
) -> dict[str, Any]:
    """All activations of the model on one text, as `run_with_hooks` returns them."""
    _, parameters, configuration = model
    return run_with_hooks(text, parameters, configuration, hooks, mask=mask)


def losses(logits: np.ndarray, text: np.ndarray) -> np.ndarray:
    """The loss at each token but the first: (T - 1,)."""
    found: np.ndarray = reference.cross_entropy(logits[:-1], text[1:])
    return found


def everywhere(model: PretrainedModel, **parts: Hook) -> dict[str, Hook]:
    """The same hook in each block, by the part that it changes, such as k=..."""
    layers = range(len(model.parameters.blocks))
    return {f"blocks.{i}.{part}": hook for part, hook in parts.items() for i in layers}
