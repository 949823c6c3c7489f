"""What the way back has to remember of the way there: counted, and seen by watching it read."""

from __future__ import annotations

import numpy as np

from tformer.chapters.ch12.small import STEPS, Table, backward, drawn, forward

__all__ = ["GPT2", "Counting", "model", "numbers_of_block", "products", "read"]

GPT2 = {"d": 768, "d_ff": 3072, "n_heads": 12, "n_layers": 12}
"""The sizes of the smallest GPT-2."""


class _Watched(dict[str, np.ndarray]):
    """Intermediates that note which of them are asked for."""

    def __init__(self, given: Table) -> None:
        super().__init__(given)
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        self.asked.add(name)
        return super().__getitem__(name)


def read(n_words: int, d: int = 6, d_k: int = 4, d_ff: int = 10) -> dict[str, int]:
    """How many numbers of each intermediate the way back reads, for one text."""
    p = drawn(0, d, d_k, d_ff)
    tokens = np.arange(n_words + 1)[np.newaxis] % 7
    watched = _Watched(forward(p, tokens[:, :-1], tokens[:, 1:]))
    backward(watched, p)
    return {name: dict.__getitem__(watched, name).size for name in watched if name in watched.asked}


def numbers_of_block(n_words: int, d: int, width: int, d_ff: int, n_heads: int) -> int:
    """How many numbers one block keeps of a text; `width` is that of all heads together."""
    return n_words * (4 * d + 4 * width + 2 * d_ff) + n_heads * n_words**2


def model(n_words: int, every: int = 0) -> int:
    """Numbers kept by all blocks of the smallest GPT-2 for a text.

    With `every` above 0 only the rows before every so many blocks, and one such group at a time.
    """
    d, n_layers = GPT2["d"], GPT2["n_layers"]
    one = numbers_of_block(n_words, d, d, GPT2["d_ff"], GPT2["n_heads"])
    return n_layers * one if not every else -(-n_layers // every) * n_words * d + every * one


class Counting(np.ndarray):
    """An array that counts the multiplications of matrix products."""

    done = 0

    def __array_ufunc__(self, ufunc, method, *inputs, **options):  # type: ignore[no-untyped-def]
        plain = [_plain(x) for x in inputs]
        if "out" in options:
            options["out"] = tuple(_plain(x) for x in options["out"])
        result = getattr(ufunc, method)(*plain, **options)
        if ufunc is np.matmul:
            Counting.done += result.size * plain[0].shape[-1]
        return result.view(Counting) if isinstance(result, np.ndarray) else result


def _plain(x):  # type: ignore[no-untyped-def]
    return x.view(np.ndarray) if isinstance(x, Counting) else x


def products(
    n_texts: int = 3, n_words: int = 5, d: int = 6, d_k: int = 4, d_ff: int = 10
) -> dict[str, int]:
    """Multiplications in the matrix products of the way there, and of each step back."""
    p: Table = {name: x.view(Counting) for name, x in drawn(0, d, d_k, d_ff).items()}
    tokens = np.random.default_rng(0).integers(0, 7, (n_texts, n_words + 1))
    Counting.done = 0
    f: Table = {
        name: x if name == "tokens" else x.view(Counting)
        for name, x in forward(p, tokens[:, :-1], tokens[:, 1:]).items()
    }
    found, gradients = {"there": Counting.done}, {}  # type: ignore[var-annotated]
    for name, step in STEPS.items():
        Counting.done = 0
        gradients[name] = step(gradients, f, p)
        found[name] = Counting.done
    return found
