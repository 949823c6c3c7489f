"""What many wrong answers get right: the softmax, and weights with a scale of one's choice."""

from itertools import permutations

import numpy as np

from tformer_book.exercises.registry import find


def softmax(x, axis=-1, eps=0.0):
    with np.errstate(all="ignore"):
        e = np.exp(x - np.max(x, axis=axis, keepdims=True))
        return e / (e.sum(axis=axis, keepdims=True) + eps)


def weights(q, k, scale=None):
    return softmax(q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale))


def cut_to(right, place, read=None):
    """A right answer that keeps its result, or an argument, in the type of the argument at `place`.

    Only whole numbers are cut, where that argument came as integers.
    """

    def cut(x, kind):
        if isinstance(x, tuple | list):
            return tuple(cut(part, kind) for part in x)
        x = np.asarray(x)
        return np.trunc(x).astype(kind) if kind.kind == "i" and x.dtype.kind == "f" else x

    def answer(*given):
        kind, given = np.asarray(given[place]).dtype, list(given)
        if read is None:
            return cut(right(*given), kind)
        given[read] = cut(given[read], kind)
        return right(*given)

    return answer


CUT = "goes wrong only where whole numbers are handed over"
"""What is said to each of them."""


def cut_among(number, *places, results=()):
    """The answers that read one of the arguments at `places` in the type of another.

    And those that keep their result in the type of one of `results`.
    """
    right = find(number).table.right
    pairs = permutations(places, 2)
    return *(cut_to(right, a, b) for a, b in pairs), *(cut_to(right, a) for a in results)
