"""Where the summed Huber loss of a law is least, for many weights of the same runs at once."""

import math

import numpy as np

__all__ = ["Descent", "huber"]

EXPONENTS = np.linspace(0.1, 1.2, 12)
"""The grid on which a search begins, for either exponent."""
LIMITS = (0.01, 5.0)
"""No exponent leaves these: beyond, a term is a constant, or one size has it all."""
STEPS = (20, 20, 300)
"""After so many steps places are compared, and those that are far worse than the best are left."""
WORSE = 2.0
"""As far worse as this, as a ratio of objectives."""
BLOCK = 20_000
"""So many losses at most are computed at once: they stay in a core's memory."""


def huber(off: np.ndarray, delta: float) -> np.ndarray:
    """Half of the square, and from `delta` on a line."""
    size = np.abs(off)
    return np.where(size <= delta, off * off / 2, delta * (size - delta / 2))


class Descent:
    """The fit of a law in its own units: a place is log A, log B, α, β, and log E unless given.

    Sizes are taken over their geometric means, so A and B are the terms in the middle of the runs.
    The logarithm of a loss is then that of a sum of exponentials of linear functions of the place,
    so nothing can overflow, and gradient and Hessian are short.

    Parameters
    ----------
    n, d, loss : (R,) arrays
        Sizes, tokens and losses, above 0.
    floor : float or None
        E where it is known.
    delta : float
        Where Huber's loss goes over into a line.
    """

    def __init__(
        self, n: np.ndarray, d: np.ndarray, loss: np.ndarray, floor: float | None, delta: float
    ) -> None:
        logs = np.log(np.array([n, d], dtype=float))
        self.middle = logs.mean(axis=1)
        x, one = logs - self.middle[:, None], np.ones(logs.shape[1])
        self.loss, self.floor, self.delta = np.asarray(loss, dtype=float), floor, delta
        self.slopes = np.array([one, one, *-x, *([one] if floor is None else [])])
        self.term = np.array([0, 1, 0, 1, 2])[: len(self.slopes)]
        """Which term a number of the place belongs to."""

    def least(self, counts: np.ndarray) -> np.ndarray:
        """The best places for each row of weights, (T, R) to (T, 4) or (T, 5).

        Few runs make many valleys, so the fewer there are the more places of the grid are followed
        down.
        """
        runs = counts.shape[1]
        many = 4 + 288 // runs
        rows = max(1, BLOCK // (many * runs))
        return np.concatenate(
            [self._least(counts[i : i + rows], many) for i in range(0, len(counts), rows)]
        )

    def _least(self, counts: np.ndarray, many: int) -> np.ndarray:
        places, whose = self.starts(counts, many)
        for steps in STEPS:
            places, found = self._down(places, counts[whose], steps)
            order = np.lexsort((found, whose))
            places, found, whose = places[order], found[order], whose[order]
            first = np.searchsorted(whose, np.arange(len(counts)))
            new = np.append(True, np.diff(found) > 1e-9 * found[1:])
            new[first] = True
            kept = new & (found <= WORSE * found[first][whose])
            places, found, whose = places[kept], found[kept], whose[kept]
        return places[np.searchsorted(whose, np.arange(len(counts)))]

    def starts(self, counts: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
        """The best places of the grid for each row of weights, and the row of each.

        For each pair of exponents the constants are those of least squares of relative errors; one
        that is not above 0 becomes a thousandth of the mean loss.
        """
        pairs = np.stack(np.meshgrid(EXPONENTS, EXPONENTS, indexing="ij"), axis=-1).reshape(-1, 2)
        columns = np.exp(pairs[:, :, None] * self.slopes[2:4])
        if self.floor is None:
            columns = np.concatenate([columns, np.ones_like(columns[:, :1])], axis=1)
        columns /= self.loss
        size, known = columns.shape[1], (self.floor or 0.0) / self.loss
        squares = (columns[:, :, None] * columns[:, None]).reshape(-1, len(self.loss))
        gram = (counts @ squares.T).reshape(len(counts), -1, size, size)
        gram += 1e-13 * np.trace(gram, axis1=2, axis2=3)[..., None, None] * np.eye(size)
        right = (counts * (1 - known)) @ columns.reshape(-1, len(self.loss)).T
        constants = np.linalg.solve(gram, right.reshape(*gram.shape[:3], 1))[..., 0]
        constants = np.where(constants > 0, constants, self.loss.mean() / 1e3)
        found = np.empty(constants.shape[:2])
        for i, weights in enumerate(counts):
            total = (constants[i, :, None] @ columns)[:, 0] + known
            found[i] = huber(np.log(total), self.delta) @ weights
        best = np.argsort(found, axis=1, kind="stable")[:, :many].ravel()
        whose = np.repeat(np.arange(len(counts)), len(best) // len(counts))
        logs = np.log(constants[whose, best])
        return np.concatenate([logs[:, :2], pairs[best], logs[:, 2:]], axis=1), whose

    def __call__(
        self, places: np.ndarray, counts: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The objective, its gradient and its Hessian at places, (S, p), each with its weights."""
        terms = [places[:, k, None] + places[:, k + 2, None] * self.slopes[k + 2] for k in (0, 1)]
        total = np.logaddexp(*terms)
        if self.floor is None:
            terms.append(np.broadcast_to(places[:, 4:], total.shape))
            total = np.logaddexp(total, terms[2])
        elif self.floor:
            total = np.logaddexp(total, math.log(self.floor))
        off = total - np.log(self.loss)
        shares = np.exp(np.stack(terms) - total)
        by = shares[self.term].transpose(1, 0, 2) * self.slopes
        pull = (counts * np.clip(off, -self.delta, self.delta))[:, None]
        bend = (counts * (np.abs(off) <= self.delta))[:, None]
        pulled = by * pull
        same = self.term[:, None] == self.term
        hessian = (by * (bend - pull)) @ by.transpose(0, 2, 1) + same * (pulled @ self.slopes.T)
        return (huber(off, self.delta) * counts).sum(axis=1), pulled.sum(axis=2), hessian

    def _down(
        self, places: np.ndarray, counts: np.ndarray, steps: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Newton's steps from places, with the sizes of eigenvalues in the place of them.

        A step that fails is made again with more damping, one that succeeds with less.
        """
        places, left = places.copy(), np.arange(len(places))
        found, gradient, hessian = self(places, counts)
        unit, damping = counts.sum(axis=1) * self.delta, np.full(len(places), 1e-3)
        for _ in range(steps):
            values, vectors = np.linalg.eigh(hessian[left])
            bends = np.abs(values) + (damping * unit)[left, None]
            along = (vectors * gradient[left][:, :, None]).sum(axis=1) / bends
            step = -(vectors * along[:, None]).sum(axis=2)
            step /= np.maximum(1, np.abs(step).max(axis=1, keepdims=True))
            tried = places[left] + step
            tried[:, 2:4] = np.clip(tried[:, 2:4], *LIMITS)
            moved = np.abs(tried - places[left]).max(axis=1)
            there = self(tried, counts[left])
            lower = there[0] < found[left]
            damping[left] *= np.where(lower, 0.25, 4.0)
            better = left[lower]
            places[better] = tried[lower]
            for mine, new in zip((found, gradient, hessian), there, strict=True):
                mine[better] = new[lower]
            left = left[moved > 1e-12]
            if not len(left):
                break
        return places, found
