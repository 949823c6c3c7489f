"""A small decoder for documents with nonce words: each gets a fresh random vector by document.

The table of a document is that of the known words and two rows drawn for it. It embeds the words,
and the same rows are what the last vector is compared with. So nothing about a nonce word can be
stored in the parameters: what the model knows of it, it has read in the document.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.files import load
from tformer.models.hooks import run_with_hooks
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import ModelParameters, leaves, named_leaves, tree_map
from tformer_book.chapters.ch18.words import WORDS, Documents, drawn, read
from tformer_book.experiments.training import Adam, training

__all__ = [
    "CONFIGURATION",
    "EDGES",
    "FILE",
    "HEADS",
    "LAYERS",
    "LENGTH",
    "STEPS",
    "WEIGHTS",
    "WIDTH",
    "asked",
    "embedded",
    "fingerprint",
    "fresh",
    "learnt",
    "logits",
    "looks",
    "measured",
    "opened",
    "right_without",
    "shown",
    "stored",
    "table",
]

FILE = Path(__file__).with_name("wug.json")
WEIGHTS = Path(__file__).with_name("wug.safetensors")
WIDTH, LAYERS, HEADS, LENGTH = 64, 2, 4, 27
CONFIGURATION = Configuration(norm="rms", positions="learned")
STEPS, BATCH, RATE, WARM = 1500, 64, 3e-3, 150
FIRST = 900
"""So many steps with both nouns introduced and half of them known; then nine of ten are nonce words
and 0, 1 or 2 are introduced."""


def fresh(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """New vectors for the two nonce words of each document, (..., 2, d)."""
    return rng.standard_normal((*shape, 2, WIDTH)) * WIDTH**-0.5


def table(known: Any, new: Any) -> Any:
    """The embeddings of a document: those of the known words, then those of its nonce words.

    Parameters
    ----------
    known : (N, d) array or tensor
    new : (..., 2, d) array or tensor

    Returns
    -------
    (..., N + 2, d) array or tensor
    """
    if isinstance(known, np.ndarray):
        return np.concatenate([np.broadcast_to(known, (*new.shape[:-2], *known.shape)), new], -2)
    import torch

    return torch.cat([known.expand(*new.shape[:-2], *known.shape), new], -2)


def logits(tokens: Any, new: Any, p: ModelParameters, library: Any = reference) -> Any:
    """The logits of all words of a document, known and new.

    Parameters
    ----------
    tokens : (B, T) integer array or tensor
    new : (B, 2, d) array or tensor
        The vectors of the nonce words of each document.
    p : ModelParameters
    library : module
        `reference` for arrays, `fast` for tensors.

    Returns
    -------
    (B, T, N + 2) array or tensor
    """
    words = table(p.embedding, new)
    x = embedded(tokens, words, p)
    for one in p.blocks:
        x = library.block(x, one, CONFIGURATION, causal=True)
    return library.rms_norm(x, p.norm) @ words.mT


def embedded(tokens: Any, words: Any, p: ModelParameters) -> Any:
    """What goes into the first block, (B, T, d): rows of the documents' tables, and positions."""
    return WIDTH**0.5 * (0.5 * _rows(words, tokens) + p.positions[: tokens.shape[-1]])


def _rows(words: Any, tokens: Any) -> Any:
    """The row of each token in the table of its document, (B, T, d)."""
    if isinstance(words, np.ndarray):
        return np.take_along_axis(words, tokens[..., None], axis=-2)
    return words.gather(-2, tokens[..., None].expand(*tokens.shape, words.shape[-1]))


def learnt(
    seed: int = 0, until: int | None = None, heard: Callable[[str], None] | None = None
) -> ModelParameters:
    """Train a model; returns tensors in float32."""
    import torch

    from tformer import fast
    from tformer_book.experiments.threads import one_thread

    rng = np.random.default_rng(seed)
    sizes = Sizes(len(WORDS), WIDTH, LAYERS, HEADS, 4 * WIDTH, n_positions=LENGTH, biased=False)
    model = initialise(sizes, CONFIGURATION, rng, std=0.5 * WIDTH**-0.5)
    model = replace(model, embedding=2 * model.embedding, positions=0.2 * model.positions)
    model = tree_map(lambda x: torch.from_numpy(x.astype(np.float32)), model)
    moved = [x.requires_grad_() for x in leaves(model)]
    made = 0

    def gradients() -> Any:
        nonlocal made
        made += 1
        found = drawn(rng, BATCH, 0.5, 2) if made <= FIRST else drawn(rng, BATCH, 0.9)
        new = torch.from_numpy(fresh(rng, BATCH).astype(np.float32))
        rows = torch.arange(BATCH)
        scores = logits(torch.from_numpy(found.tokens), new, model, fast)[rows, found.last]
        right = torch.from_numpy(found.nouns[np.arange(BATCH), found.meant])
        loss = fast.cross_entropy(scores, right).mean()
        if heard and made % 250 == 0:
            heard(f"seed {seed}, step {made}: {loss.item():.3f}")
        grads = torch.autograd.grad(loss, moved)
        norm = torch.stack([(one * one).sum() for one in grads]).sum().sqrt().item()
        return [one / max(1.0, norm) for one in grads]

    def rate(step: int) -> float:
        return RATE * min(step / WARM, 1 - (step - 1) / STEPS)

    with one_thread():
        for _ in training(Adam(moved, (0.9, 0.98), decay=0.01), gradients, until or STEPS, rate):
            pass
    return tree_map(lambda x: x.detach(), model)


@cache
def shown() -> ModelParameters:
    """The model of the page, as it was stored: float64 whose numbers float16 can hold."""
    parameters, _ = load(WEIGHTS)
    return tree_map(lambda x: x.astype(float), parameters)


def fingerprint(p: ModelParameters) -> str:
    """Twelve letters of the SHA-256 hash of all parameters, with their names."""
    digest = hashlib.sha256()
    for name, x in named_leaves(p):
        digest.update(name.encode() + np.ascontiguousarray(x).tobytes())
    return digest.hexdigest()[:12]


def asked(text: str, p: ModelParameters, draws: int = 100, seed: int = 0) -> tuple[float, float]:
    """The probabilities of *wug* and of *dax* as the next word: means over draws of their vectors.

    Parameters
    ----------
    text : str
        Words parted by spaces, to the last *the*.
    p : ModelParameters
        Arrays.
    draws, seed : int
    """
    tokens = np.tile(read(text), (draws, 1))
    new = fresh(np.random.default_rng(seed), draws)
    p_words = reference.softmax(logits(tokens, new, p)[:, -1]).mean(axis=0)
    return float(p_words[-2]), float(p_words[-1])


def measured(p: ModelParameters, count: int = 1000, seed: int = 99) -> dict[str, list[float]]:
    """How a model does on new documents with two nonce words, by nouns introduced: 0, 1 and 2.

    Returns
    -------
    dict
        "loss" of the right noun in nats; "right", how often it is the likelier of the two nouns;
        "either", the probability of the two together.
    """
    found: dict[str, list[float]] = {"loss": [], "right": [], "either": []}
    for introduced in (0, 1, 2):
        chances, meant = _chances(p, count, seed, introduced)
        right = chances[np.arange(count), meant]
        found["loss"].append(float(-np.log(right).mean()))
        found["right"].append(float((right > chances[np.arange(count), 1 - meant]).mean()))
        found["either"].append(float(chances.sum(axis=1).mean()))
    return {name: [round(x, 4) for x in row] for name, row in found.items()}


def _chances(
    p: ModelParameters, count: int, seed: int, introduced: int
) -> tuple[np.ndarray, np.ndarray]:
    """The probabilities of the two nouns (count, 2), and which of them is right."""
    rng = np.random.default_rng(seed)
    found: Documents = drawn(rng, count, introduced=introduced)
    rows = np.arange(count)
    scores = logits(found.tokens, fresh(rng, count), p)[rows, found.last]
    chances = reference.softmax(scores)
    return np.take_along_axis(chances, found.nouns, axis=1), found.meant


EDGES: dict[str, tuple[int, tuple[tuple[int, int], ...]]] = {
    "whole": (0, ()),
    "noun on adjective": (0, ((5, 4), (11, 10))),
    "noun on article": (0, ((5, 3), (11, 9))),
    "end on trouble": (0, ((26, 24),)),
    "end on too": (0, ((26, 23),)),
    "end on nouns, second layer": (1, ((26, 5), (26, 11))),
    "end on adjectives, second layer": (1, ((26, 4), (26, 10))),
}
"""What is cut in documents that introduce both nouns: in which layer who may not look where."""


def opened(
    p: ModelParameters, cut: str = "whole", count: int = 500, seed: int = 3
) -> tuple[Documents, np.ndarray, dict[str, np.ndarray]]:
    """New documents that introduce both nouns, their logits at the end, and all activations.

    One of `EDGES` is masked in all heads, as a causal mask does it, before the softmax: the other
    weights of these rows add up to 1. A zero behind the softmax would leave them, and they depend
    on the score that was cut.
    """
    rng = np.random.default_rng(seed)
    found = drawn(rng, count, introduced=2)
    words = table(p.embedding, fresh(rng, count))
    x = embedded(found.tokens, words, p)
    layer, edges = EDGES[cut]

    def masked(weights: np.ndarray) -> np.ndarray:
        left = weights.copy()
        for of, on in edges:
            left[..., of, on] = 0
        return left / left.sum(axis=-1, keepdims=True)

    hooks: dict[str, Any] = {"embedded": lambda _: x, f"blocks.{layer}.weights": masked}
    known = np.minimum(found.tokens, len(WORDS) - 1)
    seen = run_with_hooks(known, p, CONFIGURATION, hooks)
    return found, (seen["normed"][:, -1:] @ words.mT)[:, 0], seen


def right_without(p: ModelParameters) -> dict[str, float]:
    """The share of right answers, of the two nouns, for each of `EDGES`."""
    shares = {}
    for name in EDGES:
        found, scores, _ = opened(p, name)
        both = np.take_along_axis(scores, found.nouns, axis=1)
        shares[name] = round(float((both.argmax(axis=1) == found.meant).mean()), 3)
    return shares


def looks(p: ModelParameters) -> dict[str, np.ndarray]:
    """Where heads look in documents that introduce both nouns; means over documents, (H,) each.

    Returns
    -------
    dict
        "noun on adjective", "noun on article", "end on trouble": in the first layer, an introduced
        noun on the two words before it, and the last word on the adjective of the sentence. "end on
        meant", "end on other": in the second layer, the last word on the two introduced nouns.
    """
    found, _, seen = opened(p)
    first, second = (seen[f"blocks.{i}.weights"] for i in range(LAYERS))
    rows = np.arange(len(found.meant))
    at_first = found.tokens[:, 5] == found.nouns[rows, found.meant]
    return {
        "noun on adjective": (first[:, :, 5, 4] + first[:, :, 11, 10]).mean(axis=0) / 2,
        "noun on article": (first[:, :, 5, 3] + first[:, :, 11, 9]).mean(axis=0) / 2,
        "end on trouble": first[:, :, 26, 24].mean(axis=0),
        "end on meant": second[rows, :, 26, np.where(at_first, 5, 11)].mean(axis=0),
        "end on other": second[rows, :, 26, np.where(at_first, 11, 5)].mean(axis=0),
    }


def stored() -> dict[str, Any]:
    """What `train` measured of all seeds."""
    return dict(json.loads(FILE.read_text(encoding="utf-8")))
