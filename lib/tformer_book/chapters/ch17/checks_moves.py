"""Exercise 17.6: which head moved the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _blocks() -> Iterator[Case]:
    y = np.array([[[1.0], [2]], [[3], [0]]])
    w_o = np.array([[[1.0, 0]], [[1, 1]]])
    x, gain, direction = np.array([[1.0, 7], [5, 5]]), np.array([2.0, 1]), np.array([1.0, -4])
    why = (
        "Gain and direction make (2, −4). Head 0 adds (1, 0) and (2, 0), head 1 (3, 3) and (0, 0), "
        "and the roots of the words are 5 and 5."
    )
    want = np.array([[2.0, 4], [-6, 0]]) / 5
    given: dict[str, Any] = {"y": y, "w_o": w_o, "x": x, "gain": gain, "direction": direction}
    yield case(**given, want=want, why=why)
    why = "The root of word 0 is 5, that of word 1 is 10: the second is divided by more."
    want = np.array([[0.4, 0.4], [-1.2, 0]])
    yield case(**given | {"x": np.array([[1.0, 7], [2, 14]])}, want=want, why=why)
    why = "A gain of 0 hides the first coordinate, and only head 1 writes into the second."
    want = np.array([[0.0, 0], [-12 / 5, 0]])
    yield case(**given | {"gain": np.array([0.0, 1])}, want=want, why=why)
    one: dict[str, Any] = {
        "y": np.array([[[2.0]]]),
        "w_o": np.array([[[3.0]]]),
        "x": np.array([[-4.0]]),
    }
    why = "One head, one word, one coordinate: 2 · 3 · 5 · 7 / 4."
    last: dict[str, Any] = {"gain": np.array([5.0]), "direction": np.array([7.0])}
    yield case(**one, **last, want=[[52.5]], why=why)
    for seed, (H, T, d_v, d) in enumerate(
        ((2, 3, 4, 5), (3, 3, 2, 6), (4, 2, 1, 3), (1, 5, 3, 4), (5, 1, 2, 2), (2, 2, 2, 2))
    ):
        rng = np.random.default_rng(seed)
        y, w_o, x = rng.normal(size=(H, T, d_v)), rng.normal(size=(H, d_v, d)), rng.normal(size=d)
        x = x + (y @ w_o).sum(axis=0) + rng.normal(size=(T, d))
        gain, direction = rng.uniform(0.5, 3, d), rng.normal(size=d)
        given = {"y": y, "w_o": w_o, "x": x, "gain": gain, "direction": direction}
        yield case(**given, why=f"{H} heads, {T} words.")
        yield case(
            **given | {"x": 1000 * x}, why="The words are long, so the norm divides by much."
        )
    for front in ((1,), (2,), (2, 3), (3,)):
        y, x = rng.normal(size=(*front, 3, 4, 2)), rng.normal(size=(*front, 4, 5))
        w_o, gain, direction = rng.normal(size=(3, 2, 5)), rng.normal(size=5), rng.normal(size=5)
        given = {"y": y, "w_o": w_o, "x": x, "gain": gain, "direction": direction}
        yield case(**given, why="Axes in front only stack.")
    given |= {"y": y[0], "x": x[0]}
    yield from promised(single, **given)
    given = {"y": integers(1, (2, 2, 3)), "w_o": integers(2, (2, 3, 2))}
    given |= {"x": np.array([[1.0, 7], [5, 2]]), "gain": np.array([2.0, 1])}
    yield from promised(whole, **given, direction=np.array([1.0, -4]))


def _of_one(x: Array) -> Array:
    return np.asarray(x / np.abs(x).sum(axis=-2, keepdims=True))


def _rms(x: Array) -> Array:
    return np.asarray(np.sqrt((x * x).mean(axis=-1, keepdims=True)))


@exercise(
    "17.6",
    praise="One head and five, words long and short, gains of 0, and stacks; the root is that of "
    "the whole word.",
    hints=(
        "What does head h alone add to word t, as a vector of the words' width?",
        "The norm divides each word by one number and multiplies each coordinate by its gain. Both "
        "may be done to each part of a sum.",
        "The root mean square has the shape (..., T), and what the heads add has (..., H, T) once "
        "it met the direction: one axis has to be put in between.",
    ),
    cases=_blocks,
    slips="""
        parts @ (gain * direction) / root → parts @ (gain * direction)
            You left out the division by the norm: each word by the root mean square of its x.
        parts @ (gain * direction) / root → parts @ direction / root
            The gain is missing: the norm multiplies each coordinate by its own.
        parts @ (gain * direction) / root → parts @ direction
            The last norm is missing, with its root and its gain.
        parts @ (gain * direction) / root → parts @ (gain**2 * direction) / root
            The gain is multiplied twice.
        parts @ (gain * direction) / root → (parts @ direction) * gain.mean() / root
            You took one gain for all coordinates; each has its own.
        parts @ (gain * direction) / root → parts @ (direction / gain) / root
            The norm multiplies by the gain, and you divided.
        parts @ (gain * direction) / root → (parts / _rms(parts)) @ (gain * direction)
            You took the norm of each head's part. The root of the whole word is kept.
        np.sqrt((x * x).mean(axis=-1)) → _rms(parts.sum(axis=-3))[..., 0]
            You took the root of what the heads add together. The word after the block holds more.
        parts @ (gain * direction) / root → _of_one(parts @ (gain * direction))
            You made shares of 1 of it; the exercise asks by how much the log-odds move.
        / root → / root / np.linalg.norm(direction)
            You made the direction one long. The log-odds are the dot product with it as it is.
        parts @ (gain * direction) / root → abs(parts @ (gain * direction) / root)
            You dropped the signs: a head may move the answer away.
        parts @ (gain * direction) / root → (parts @ (gain * direction) / root).sum(axis=-2)
            You added up the heads; each has a number of its own.
        parts @ (gain * direction) / root → (parts @ (gain * direction) / root).mean(axis=-1)
            You took the mean over the words; each has a number of its own.
        parts @ (gain * direction) / root → (parts @ (gain * direction) / root).mT
            Heads and words are exchanged: one row for each head is asked for.
        np.sqrt((x * x).mean(axis=-1)) → (x * x).mean(axis=-1)
            You divided by the mean square; its root is missing.
        np.sqrt((x * x).mean(axis=-1)) → np.sqrt((x * x).sum(axis=-1))
            You divided by the length of the word; the root mean square divides the sum of squares
            by the width first.
        np.sqrt((x * x).mean(axis=-1)) → x.std(axis=-1)
            You subtracted the mean, as LayerNorm does; RMSNorm does not.
        np.sqrt((x * x).mean(axis=-1)) → np.sqrt((x * x).mean(axis=-1) + 1e-5)
            An eps was added below the root; here it is 0.
        np.sqrt((x * x).mean(axis=-1)) → abs(x).mean(axis=-1)
            You took the mean of the sizes; the norm takes the root of the mean square.
        np.sqrt((x * x).mean(axis=-1)) → np.sqrt((x * x).mean()) + 0 * x[..., 0]
            One root was taken of all words; each word has its own.
        np.sqrt((x * x).mean(axis=-1)) → np.sqrt(((x * gain) ** 2).mean(axis=-1))
            The gain comes after the root is taken, and does not belong into it.
        [..., None, :] → [..., :, None]
            The roots stand along the heads, and belong to the words.
        parts = y @ w_o → parts = y @ w_o[:1]
            Every head was read through the matrix of the first; each has its own.
        parts = y @ w_o → parts = y @ w_o.mean(axis=0)
            Every head was read through a mean of the matrices; each has its own.
        parts = y @ w_o → parts = y @ w_o + x[..., None, :, :]
            You added the word itself to what a head adds.
        parts = y @ w_o → parts = y @ w_o - (y @ w_o).mean(axis=-1, keepdims=True)
            You took the mean off what a head adds, as LayerNorm does; RMSNorm does not.
        parts @ (gain * direction) / root → parts * (gain * direction) / root[..., None]
            The products with the direction are not added up yet.
        np.sqrt((x * x).mean(axis=-1))[..., None, :] → _rms(x[..., None, :, :] - parts)[..., 0]
            You took the root of the word without the head. The root that was found is kept, with
            all in it.
        np.sqrt((x * x).mean(axis=-1)) → _rms(x + parts.sum(axis=-3))[..., 0]
            The heads are contained in x already, and you added them once more.
        / root → / root / y.shape[-3]
            It was divided by the number of heads; what the heads add is a sum and no mean.
        np.sqrt((x * x).mean(axis=-1)) → $.mean() + 0 * x[..., 0]
            You took the mean of the roots of all words. Each word is divided by its own.
        parts = y @ w_o → parts = x[..., None, :, :] - y @ w_o
            That is what remains of the word without the head. Take what the head adds.
        np.sqrt((x * x).mean(axis=-1)) → np.sqrt((x * x).mean(axis=-1) + 1e-6)
            You added 10⁻⁶ below the root. The eps of this norm is 0: add nothing.
        / root → * root
            You multiplied by the root. The norm divides by it.
    """,
    mutants={
        "What would change without the head is another question: there the root changes too. Keep "
        "it as it was found.": lambda y, w_o, x, gain, direction: _without(
            y, w_o, x, gain, direction
        ),
        "You divided by roots without an axis for the heads, so that those of one entry of a stack "
        "serve another.": lambda y, w_o, x, gain, direction: (
            y @ w_o @ (gain * direction) / _rms(x)[..., 0]
        ),
        "You gave all heads the number of the whole sum.": (
            lambda y, w_o, x, gain, direction: _alike(y, w_o, x, gain, direction)
        ),
    },
    otherwise="What the head adds, divided by the word's root, times gain, and the dot product.",
)
def moves(y: Array, w_o: Array, x: Array, gain: Array, direction: Array) -> Array:
    """What each head adds to the log-odds at each word."""
    parts = y @ w_o
    root = np.sqrt((x * x).mean(axis=-1))[..., None, :]
    return parts @ (gain * direction) / root


def _alike(y: Array, w_o: Array, x: Array, gain: Array, direction: Array) -> Array:
    parts = moves(y, w_o, x, gain, direction)
    return np.asarray(0 * parts + parts.mean(axis=-2, keepdims=True))


def _without(y: Array, w_o: Array, x: Array, gain: Array, direction: Array) -> Array:
    """The log-odds with all heads, less those without one."""
    whole = x[..., None, :, :]
    less = whole - y @ w_o
    found = [part / _rms(part) @ (gain * direction) for part in (whole, less)]
    return np.asarray(found[0] - found[1])
