"""Eight passages of ordinary prose, and what the real model loses on them when it is changed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.hooks import Hook, run_with_hooks
from tformer.models.pretrained import PretrainedModel

__all__ = ["LENGTH", "PASSAGES", "again", "everywhere", "losses", "read", "tokens", "weights"]

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


def weights(model: PretrainedModel, text: np.ndarray) -> np.ndarray:
    """The weights of all blocks, (L, H, T, T); no token outside the text gets a logit."""
    _, p, c = model
    kinds, numbers = np.unique(text, return_inverse=True)
    run = run_with_hooks(numbers, replace(p, embedding=p.embedding[kinds], unembedding=None), c)
    return np.array([run[f"blocks.{i}.weights"] for i in range(len(p.blocks))])


def again(
    model: PretrainedModel,
    text: np.ndarray,
    run: Mapping[str, Any],
    hooks: Mapping[str, Hook],
) -> dict[str, Any]:
    """All activations with hooks in blocks, from a run of the model on the same text without any.

    Up to the first block that a hook changes they are those of `run`, and not computed again.
    """
    if not hooks:
        return dict(run)
    _, p, c = model
    first = min(int(name.split(".")[1]) for name in hooks)
    before = run[f"blocks.{first - 1}.after"] if first else run["embedded"]
    later = {_moved(name, -first): hook for name, hook in hooks.items()}
    found = run_with_hooks(
        text, replace(p, blocks=p.blocks[first:]), c, {"embedded": lambda _: before} | later
    )
    return {**run, **{_moved(name, first): x for name, x in found.items() if name != "embedded"}}


def _moved(name: str, by: int) -> str:
    """The name of the same activation so many blocks later."""
    return re.sub(r"\d+", lambda number: str(int(number[0]) + by), name)


def losses(logits: np.ndarray, text: np.ndarray) -> np.ndarray:
    """The loss at each token but the first: (T - 1,)."""
    found: np.ndarray = reference.cross_entropy(logits[:-1], text[1:])
    return found


def everywhere(model: PretrainedModel, **parts: Hook) -> dict[str, Hook]:
    """The same hook in each block, by the part that it changes, such as k=..."""
    layers = range(len(model.parameters.blocks))
    return {f"blocks.{i}.{part}": hook for part, hook in parts.items() for i in layers}
