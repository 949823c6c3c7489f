"""Which of my gradients is wrong? A table of intermediates, and the slip that gives the same.

Each slip is a wrong line in the place of a right one of `small.STEPS`. Whoever hands in a table of
gradients learns the first that is wrong, and which slip, if any is known, makes just this number.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tformer import reference
from tformer_book.chapters.ch12.small import (
    STEPS,
    Step,
    Table,
    backward,
    drawn,
    forward,
    gathered,
    scattered,
    through_norm,
)

__all__ = ["SLIPS", "Problem", "Report", "fingerprint", "unseen"]

TOLERANCE = 1e-6
SLIPS: Mapping[tuple[str, str], Step] = {
    ("z", "the mean over the words is forgotten"): lambda d, f, p: f["guess"] - f["came"],
    ("z", "the sign is turned"): lambda d, f, p: (f["came"] - f["guess"]) / f["tokens"].size,
    ("z", "what came is not taken off"): lambda d, f, p: f["guess"] / f["tokens"].size,
    ("head", "the sum over the texts is missing"): lambda d, f, p: gathered(
        d["z"][:1], f["x2"][:1]
    ),
    ("W_out", "the sum over the texts is missing"): lambda d, f, p: gathered(
        f["h"][:1], d["x2"][:1]
    ),
    ("u", "the slope of GELU is forgotten"): lambda d, f, p: d["h"],
    ("u", "the slope is that of ReLU"): lambda d, f, p: d["h"] * (f["u"] > 0),
    ("u", "the slope is taken at GELU(u), not at u"): lambda d, f, p: reference.gelu_vjp(
        f["h"], d["h"]
    ),
    ("b_in", "the sum over the texts is missing"): lambda d, f, p: d["u"][0].sum(axis=0),
    ("b_in", "a mean in the place of a sum"): lambda d, f, p: d["u"].mean(axis=(0, 1)),
    ("W_in", "the sum over the texts is missing"): lambda d, f, p: gathered(f["m"][:1], d["u"][:1]),
    ("x1", "what goes past the layer is forgotten"): lambda d, f, p: through_norm(f["x1"], d["m"]),
    ("x1", "the norm is forgotten"): lambda d, f, p: d["x2"] + d["m"],
    ("x1", "the part along the vector is not taken off"): lambda d, f, p: (
        d["x2"] + d["m"] * f["m"] / f["x1"]
    ),
    ("W_o", "the sum over the texts is missing"): lambda d, f, p: gathered(f["y"][:1], d["x1"][:1]),
    ("v", "the weights are not transposed"): lambda d, f, p: f["a"] @ d["y"],
    ("s", "softmax's −pᵀ p is forgotten"): lambda d, f, p: f["a"] * d["a"],
    ("s", "the softmax is forgotten"): lambda d, f, p: d["a"] * (f["a"] > 0),
    ("s", "the sum runs over the queries"): lambda d, f, p: (
        f["a"] * (d["a"] - (f["a"] * d["a"]).sum(axis=-2, keepdims=True))
    ),
    ("q", "the scale is forgotten"): lambda d, f, p: d["s"] @ f["k"],
    ("q", "the scale is applied twice"): lambda d, f, p: d["s"] @ f["k"] / f["q"].shape[-1],
    ("q", "the scores' gradient is transposed"): lambda d, f, p: d["s"].mT @ f["k"] / _root(f),
    ("k", "the scale is forgotten"): lambda d, f, p: d["s"].mT @ f["q"],
    ("k", "the scores' gradient is not transposed"): lambda d, f, p: d["s"] @ f["q"] / _root(f),
    ("W_q", "the sum over the texts is missing"): lambda d, f, p: gathered(f["n"][:1], d["q"][:1]),
    ("n", "what comes by the queries is forgotten"): lambda d, f, p: (
        d["k"] @ p["W_k"].T + d["v"] @ p["W_v"].T
    ),
    ("n", "what comes by the keys is forgotten"): lambda d, f, p: (
        d["q"] @ p["W_q"].T + d["v"] @ p["W_v"].T
    ),
    ("n", "what comes by the values is forgotten"): lambda d, f, p: (
        d["q"] @ p["W_q"].T + d["k"] @ p["W_k"].T
    ),
    ("x", "what goes past the layer is forgotten"): lambda d, f, p: through_norm(f["x"], d["n"]),
    ("E", "only the head's use is counted"): lambda d, f, p: d["head"],
    ("E", "only the lookup's use is counted"): lambda d, f, p: scattered(
        f["tokens"], d["x"], len(p["E"])
    ),
    ("E", "a word that occurs twice is counted once"): lambda d, f, p: (
        d["head"] + _assigned(f["tokens"], d["x"], len(p["E"]))
    ),
}
"""What may go wrong, by the gradient in which it does: a line that makes the mistake."""


def _root(f: Table) -> float:
    return float(np.sqrt(f["q"].shape[-1]))


def _assigned(tokens: np.ndarray, dx: np.ndarray, n_vocab: int) -> np.ndarray:
    table = np.zeros((n_vocab, dx.shape[-1]))
    table[tokens] = dx
    return table


class Line(NamedTuple):
    """One gradient of a report.

    Attributes
    ----------
    name : of `small.STEPS`.
    error : largest difference over the largest number; inf for another shape.
    shape : what was given; None if nothing was.
    wanted : the shape of the right one.
    """

    name: str
    error: float
    shape: tuple[int, ...] | None
    wanted: tuple[int, ...]


class Report(NamedTuple):
    """What a table of gradients is like beside the right one.

    Attributes
    ----------
    lines : one for each gradient, in the order of the backward pass.
    first : the first that is wrong, or None.
    likely : what makes the same number, in words; empty if no known slip does.
    """

    lines: tuple[Line, ...]
    first: str | None
    likely: str

    def __repr__(self) -> str:
        shown = [f"{_named(one):8s}{_said(one)}" for one in self.lines if one.shape is not None]
        if self.first is None:
            return "\n".join([*shown, "All that was given is right."])
        guess = self.likely or "no known slip gives this; the line itself, or one before it"
        return "\n".join([*shown, f"First wrong: d{self.first}. Likely: {guess}."])


def _named(line: Line) -> str:
    return f"d{line.name}"


def _said(line: Line) -> str:
    if line.error == np.inf:
        return f"{line.shape}, not {line.wanted}"
    return f"{line.shape} " + (
        "right" if line.error < TOLERANCE else f"wrong, relative error {line.error:.0e}"
    )


class Problem:
    """A model of one block with all that its backward pass needs, and the table to hold it against.

    Parameters
    ----------
    seed : int
        For parameters and texts.

    Attributes
    ----------
    p : the parameters by name.
    f : the intermediates of the forward pass by name; tokens are f["tokens"].
    """

    def __init__(self, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.p = drawn(seed)
        tokens = rng.integers(0, 7, (3, 6))
        tokens[:, 3] = tokens[:, 1]
        self.f = forward(self.p, tokens[:, :-1], tokens[:, 1:])
        self._right = backward(self.f, self.p)

    def table(self, mine: Mapping[str, np.ndarray]) -> Report:
        """Hold gradients against the right ones; those that are not given are passed over.

        Raises
        ------
        ValueError
            If a name is unknown.
        """
        if unknown := sorted(set(mine) - set(STEPS)):
            raise ValueError(f"Problem: no gradient is called {unknown[0]!r}; known: {[*STEPS]}")
        given = {name: np.asarray(mine[name]) for name in STEPS if name in mine}
        lines = tuple(self._line(name, given.get(name)) for name in STEPS)
        first = next((x.name for x in lines if x.shape is not None and x.error >= TOLERANCE), None)
        return Report(lines, first, self._likely(first, given) if first else "")

    def _line(self, name: str, mine: np.ndarray | None) -> Line:
        right = self._right[name]
        if mine is None:
            return Line(name, 0.0, None, right.shape)
        error = _error(mine, right)
        return Line(name, error, mine.shape, right.shape)

    def _likely(self, first: str, given: Mapping[str, np.ndarray]) -> str:
        mine, right = given[first], self._right[first]
        order = list(STEPS)
        for (name, said), step in SLIPS.items():
            if order.index(name) > order.index(first):
                continue
            found = backward(self.f, self.p, {name: step})
            if _error(mine, found[first]) < TOLERANCE:
                return said if name == first else f"in d{name}, {said}"
        if mine.ndim == 2 and _error(mine.T, right) < TOLERANCE:
            return "it is transposed"
        if mine.shape == right.shape and np.isfinite(mine).all():
            factor = float((mine * right).sum() / (right * right).sum())
            if factor and _error(mine / factor, right) < TOLERANCE:
                return f"right but for the factor {factor:.4g}"
        return ""


def _error(mine: np.ndarray, right: np.ndarray) -> float:
    if mine.shape != right.shape:
        return float("inf")
    largest = float(np.abs(mine - right).max() / np.abs(right).max())
    return largest if np.isfinite(largest) else float("inf")


def fingerprint(slip: tuple[str, str], seed: int = 0) -> np.ndarray:
    """The relative error of each gradient of `STEPS` if one line is wrong and the rest goes on."""
    problem = Problem(seed)
    found = backward(problem.f, problem.p, {slip[0]: SLIPS[slip]})
    right = backward(problem.f, problem.p)
    return np.array([_error(found[name], right[name]) for name in STEPS])


def unseen(n_texts: int, n_tokens: int, seed: int = 0) -> int:
    """How many slips leave every gradient right on texts of that many words, at most 3 of 5."""
    problem = Problem(seed)
    tokens, given = problem.f["tokens"], slice(n_tokens)
    comes = problem.f["came"].argmax(axis=-1)
    f = forward(problem.p, tokens[:n_texts, given], comes[:n_texts, given])
    right = backward(f, problem.p)
    tables = [backward(f, problem.p, {name: step}) for (name, _), step in SLIPS.items()]
    return sum(all(np.allclose(one[name], right[name]) for name in STEPS) for one in tables)
