"""Captions: sixteen patches and six words in one row, under a prefix mask.

A scene has 16 × 16 pixels, and two different digits in two neighbouring corners of its four. The
caption says which is where: *the seven is left of the two*. `python -m
tformer_book.chapters.ch21.captions` trains three models and writes what it measures.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tformer import reference
from tformer.parameters import ModelParameters
from tformer_book.chapters.ch21.images import digits, patches
from tformer_book.chapters.ch21.stack import (
    CONFIGURATION,
    hidden_states,
    restored,
    saved,
    start,
    tensors,
    train,
)

if TYPE_CHECKING:  # a page that shows what is stored need not wait for it
    import torch

Array = np.ndarray
FILE, WEIGHTS = (Path(__file__).with_name(f"captions.{kind}") for kind in ("json", "npz"))
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
RELATIONS = ("left", "right", "above", "below")
OPPOSITE = np.array([1, 0, 3, 2])
"""The relation of the exchanged scene, by the number of the relation."""
WORDS = (*NUMBERS, *RELATIONS, "the", "is", "of")
PLACES = ((0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (2, 0), (1, 3), (3, 1))
"""Corners of the digit that is named first and of the other; corners are numbered row by row."""
N_TRAIN, N_PATCHES, P, LENGTH = 1200, 16, 4, 7
FIRST, RELATION, SECOND = 1, 3, 6
"""Which words of a caption are not always the same."""
STEPS, BATCH, WIDTH, LAYERS, SEEDS, ASKED = 2000, 64, 48, 3, 3, 1000


class Scenes(NamedTuple):
    """Images (n, 16, 16), captions (n, 7) as ids of words, and two corners (n, 2)."""

    images: Array
    captions: Array
    corners: Array


def scenes(rng: np.random.Generator, n: int, test: bool = False) -> Scenes:
    """Draw scenes from the first 1,200 digits of the file, or from the others."""
    ink, labels = digits()
    low, high = (N_TRAIN, len(ink)) if test else (0, N_TRAIN)
    first, second = rng.integers(low, high, (2, n))
    while (same := labels[first] == labels[second]).any():
        second[same] = rng.integers(low, high, same.sum())
    place = rng.integers(len(PLACES), size=n)
    corners = np.array(PLACES)[place]
    images = np.zeros((n, 4, 8, 8))
    images[np.arange(n), corners[:, 0]], images[np.arange(n), corners[:, 1]] = (
        ink[first],
        ink[second],
    )
    relation = np.array([0, 1, 0, 1, 2, 3, 2, 3])[place] + len(NUMBERS)
    the, is_, of = (np.full(n, WORDS.index(word)) for word in ("the", "is", "of"))
    words = (the, labels[first], is_, relation, of, the, labels[second])
    whole = images.reshape(n, 2, 2, 8, 8).swapaxes(2, 3).reshape(n, 16, 16)
    return Scenes(whole, np.stack(words, axis=-1), corners)


def corner_of_patch() -> Array:
    """The corner that each of the 16 patches belongs to."""
    row, column = np.divmod(np.arange(N_PATCHES), 4)
    return row // 2 * 2 + column // 2


def blanked(images: Array, corners: Array) -> Array:
    """The same scenes without what is in one corner of each."""
    quarters = np.arange(16) // 8
    there = (quarters[:, None] * 2 + quarters)[None] == corners[:, None, None]
    return np.where(there, 0, images)


def begin(seed: int) -> ModelParameters:
    """The first rows of `embedding` are of the pixels of a patch, the others of the words."""
    return start(P * P + len(WORDS), WIDTH, len(WORDS), N_PATCHES + LENGTH - 1, seed, LAYERS)


def tokens(images: Any, words: Any, model: ModelParameters) -> Any:
    """Both kinds of token in one row: (n, 16 + words, width)."""
    seen = patches(images, P) @ model.embedding[: P * P]
    said = model.embedding[P * P :][words]
    if isinstance(seen, np.ndarray):
        return np.concatenate([seen, said], axis=-2)
    import torch

    return torch.cat([seen, said], dim=-2)


def row_mask(length: int = LENGTH - 1, hidden: Array | None = None) -> Array:
    """The prefix mask of 16 patches and some words; `hidden` (n, 16): patches that no word sees."""
    count = N_PATCHES + length
    mask = reference.prefix_mask(count, count, N_PATCHES)
    if hidden is None:
        return mask
    masks = np.repeat(mask[None], len(hidden), axis=0)
    masks[:, N_PATCHES:, :N_PATCHES] &= ~hidden[:, None]
    return masks


def logits(images: Any, words: Any, model: Any, mask: Any = None, library: Any = reference) -> Any:
    """What each word is followed by: (n, words, vocabulary)."""
    mask = row_mask(words.shape[-1]) if mask is None else mask
    if library is not reference:
        import torch

        images, mask = torch.tensor(images, dtype=torch.float32), torch.tensor(mask)
        words = torch.tensor(words)
    x = hidden_states(tokens(images, words, model), model, mask, library)
    return x[..., N_PATCHES:, :] @ model.unembedding


def exchanged(scene: Scenes) -> Array:
    """The images of the same scenes with the two digits in each other's places."""
    quarters = scene.images.reshape(-1, 2, 8, 2, 8).swapaxes(2, 3).reshape(-1, 4, 8, 8).copy()
    each = np.arange(len(quarters))[:, None]
    quarters[each, scene.corners] = quarters[each, scene.corners[:, ::-1]]
    return np.asarray(quarters.reshape(-1, 2, 2, 8, 8).swapaxes(2, 3).reshape(-1, 16, 16))


def logits_with(images: Array, other: Array, words: Array, model: Any, place: Array) -> Any:
    """As `logits`, but at `place` (n, 16) the words see the hidden states of other images.

    Patches see no words, so the hidden states of both images can be computed beside each other.
    """
    import torch

    from tformer import fast

    mask, there = torch.tensor(row_mask()), torch.tensor(np.pad(place, ((0, 0), (0, LENGTH - 1))))
    said = torch.tensor(words)
    x, y = (
        tokens(torch.tensor(one, dtype=torch.float32), said, model) + model.positions
        for one in (images, other)
    )
    for block in model.blocks:
        mixed = torch.where(there[..., None], y, x)
        x, y, mixed = (fast.block(one, block, CONFIGURATION, mask=mask) for one in (x, y, mixed))
        x = torch.cat([x[:, :N_PATCHES], mixed[:, N_PATCHES:]], dim=1)
    return fast.layer_norm(x, model.norm)[:, N_PATCHES:] @ model.unembedding


def trained(seed: int, until: int | None = None) -> Any:
    """Parameters after training, as tensors."""
    import torch

    from tformer import fast

    model = tensors(begin(seed))

    def loss(rng: np.random.Generator) -> torch.Tensor:
        batch = scenes(rng, BATCH)
        found = logits(batch.images, batch.captions[:, :-1], model, library=fast)
        return fast.cross_entropy(found, torch.tensor(batch.captions[:, 1:])).mean()

    train(model, loss, STEPS, seed, until=until)
    return model


def right(found: Array, scene: Scenes) -> dict[str, float]:
    """How often the first digit is one of the two, and relation and second digit are right."""
    said, true = found.argmax(axis=-1), scene.captions
    named = (said[:, [FIRST - 1]] == true[:, [FIRST, SECOND]]).any(axis=1)
    return {
        "first": round(float(named.mean()), 4),
        "relation": round(float((said[:, RELATION - 1] == true[:, RELATION]).mean()), 4),
        "second": round(float((said[:, SECOND - 1] == true[:, SECOND]).mean()), 4),
    }


def empty_corners(scene: Scenes) -> Array:
    """The two empty corners of each scene, in a random order: (n, 2)."""
    rng = np.random.default_rng(5)
    free = [[c for c in range(4) if c not in two] for two in scene.corners.tolist()]
    return rng.permuted(np.array(free), axis=1)


def measured(model: Any) -> dict[str, dict[str, float]]:
    """Shares of right words on new scenes, as they are and with something taken away."""
    import torch

    from tformer import fast

    scene = scenes(np.random.default_rng(77), ASKED, test=True)
    words, of_patch, empty = scene.captions[:, :-1], corner_of_patch(), empty_corners(scene)

    def ask(images: Array = scene.images, hidden: Array | None = None) -> dict[str, float]:
        with torch.no_grad():
            mask = None if hidden is None else row_mask(hidden=hidden)
            found = logits(images, words, model, mask, fast)
        return right(found.numpy(), scene)

    def corner(corners: Array) -> Array:
        return np.asarray(of_patch == corners[:, None])

    told = {"as it is": ask()}
    for name, column in (("first", scene.corners[:, 0]), ("second", scene.corners[:, 1])):
        told[f"{name} digit blanked"] = ask(blanked(scene.images, column))
        told[f"{name} digit hidden from words"] = ask(hidden=corner(column))
    told["one empty corner hidden from words"] = ask(hidden=corner(empty[:, 0]))
    told["both empty corners hidden from words"] = ask(
        hidden=corner(empty[:, 0]) | corner(empty[:, 1])
    )
    told["both digits hidden from words"] = ask(
        hidden=corner(scene.corners[:, 0]) | corner(scene.corners[:, 1])
    )
    nowhere = np.zeros((ASKED, N_PATCHES), dtype=bool)
    empty_ones = corner(empty[:, 0]) | corner(empty[:, 1])
    for name, place in (("no", nowhere), ("empty", empty_ones), ("digits'", ~empty_ones)):
        with torch.no_grad():
            found = logits_with(scene.images, exchanged(scene), words, model, place).argmax(-1)
        said = found.numpy()[:, RELATION - 1] - len(NUMBERS)
        true = scene.captions[:, RELATION] - len(NUMBERS)
        told[f"{name} patches of the exchanged scene"] = {
            "relation": round(float((said == true).mean()), 4),
            "opposite": round(float((said == OPPOSITE[true]).mean()), 4),
        }
    return told


REMOVED = (
    "as it is",
    "first digit blanked",
    "second digit blanked",
    "first digit hidden from words",
    "second digit hidden from words",
    "both digits hidden from words",
    "one empty corner hidden from words",
    "both empty corners hidden from words",
)
"""What `measured` takes away from images or from the sight of words."""


def stored() -> list[dict[str, dict[str, float]]]:
    """What `measured` said of each of the three models."""
    return list(json.loads(FILE.read_text(encoding="utf-8")))


def model() -> ModelParameters:
    """The first model, rounded to float16 and widened again."""
    return restored(WEIGHTS)


if __name__ == "__main__":
    models = [trained(seed) for seed in range(SEEDS)]
    saved(WEIGHTS, models[0])
    FILE.write_text(json.dumps([*map(measured, models)], indent=1) + "\n", encoding="utf-8")
