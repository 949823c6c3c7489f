"""What the backward pass needs of the forward pass: counted, and seen by watching it read."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_parameters
from tformer.parameters import tree_map
from tformer_book.chapters.ch12.learning import GPT, first
from tformer_book.chapters.ch12.small import STEPS, Table, backward, drawn, forward

__all__ = [
    "GPT2",
    "Counting",
    "around",
    "decoder_products",
    "model",
    "numbers_of_block",
    "products",
    "read",
    "there_and_back",
]

GPT2 = {"d": 768, "d_ff": 3072, "n_heads": 12, "n_layers": 12, "n_vocab": 50257}
"""The sizes of the smallest GPT-2."""


class _Heads(Table):
    """Tables in which heads stand side by side; those that are `split` are given out by heads.

    So the lines of `small`, which know of one head, work for several. What is asked for is noted.
    """

    def __init__(self, n_heads: int, split: str) -> None:
        super().__init__()
        self.n_heads, self.split = n_heads, split
        self.asked: set[str] = set()

    def __getitem__(self, name: str) -> np.ndarray:
        self.asked.add(name)
        x = super().__getitem__(name)
        if name not in self.split:
            return x
        return x.reshape(*x.shape[:2], self.n_heads, -1).swapaxes(1, 2)

    def __setitem__(self, name: str, x: np.ndarray) -> None:
        if name in "qkvy" and x.ndim == 4:
            x = x.swapaxes(1, 2).reshape(len(x), x.shape[2], -1)
        super().__setitem__(name, x)


def there_and_back(p: Table, tokens: np.ndarray, n_heads: int) -> tuple[Table, Table, set[str]]:
    """Intermediates and gradients of a model with heads, and what the backward pass has read."""
    f = _Heads(n_heads, "qkv")
    forward(p, tokens[:, :-1], tokens[:, 1:], f)
    f.asked.clear()
    d = backward(f, p, into=_Heads(n_heads, "y"))
    return f, d, f.asked


def read(n_tokens: int, d: int, d_k: int, d_ff: int, n_heads: int = 1) -> dict[str, int]:
    """How many numbers of each intermediate the backward pass reads, for one text."""
    tokens = np.arange(n_tokens + 1)[np.newaxis] % 7
    f, _, asked = there_and_back(drawn(0, d, n_heads * d_k, d_ff), tokens, n_heads)
    return {name: x.size for name, x in f.items() if name in asked}


def numbers_of_block(n_tokens: int, d: int, width: int, d_ff: int, n_heads: int) -> int:
    """How many numbers one block keeps of a text; `width` is that of all heads together."""
    return n_tokens * (4 * d + 4 * width + 2 * d_ff) + n_heads * n_tokens**2


def model(n_tokens: int, every: int = 0) -> int:
    """Numbers kept by all blocks of the smallest GPT-2 for a text.

    With `every` above 0 only the vectors before every so many blocks, and one such group at a time.
    """
    d, n_layers = GPT2["d"], GPT2["n_layers"]
    one = numbers_of_block(n_tokens, d, d, GPT2["d_ff"], GPT2["n_heads"])
    return n_layers * one if not every else -(-n_layers // every) * n_tokens * d + every * one


def around() -> dict[str, float]:
    """GB of float32 beside the blocks of the smallest GPT-2: its logits for 1024 words, and more.

    Training keeps four tables of its parameters: they, their gradients, and two moments of Adam.
    """
    n_vocab, d, d_ff, n_heads, n_layers = (GPT2[x] for x in ("n_vocab", *list(GPT2)[:4]))
    sizes = Sizes(n_vocab, d, n_layers, n_heads, d_ff, n_positions=1024)
    logits, parameters = 1024 * sizes.n_vocab, count_parameters(sizes, Configuration())
    return {"logits": logits * 4e-9, "four tables of parameters": 4 * parameters * 4e-9}


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
    n_texts: int = 3, n_tokens: int = 5, d: int = 6, d_k: int = 4, d_ff: int = 10
) -> dict[str, int]:
    """Multiplications in the matrix products of the forward pass, and of each step back."""
    p: Table = {name: x.view(Counting) for name, x in drawn(0, d, d_k, d_ff).items()}
    tokens = np.random.default_rng(0).integers(0, 7, (n_texts, n_tokens + 1))
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


def decoder_products() -> tuple[int, int]:
    """Multiplications of the library's decoder and its backward pass: two stories, two blocks."""
    parameters, tokens = first()
    p = tree_map(lambda x: x.view(Counting), parameters)
    given, comes = tokens[:2, :-1], tokens[:2, 1:]
    Counting.done = 0
    logits = reference.decoder(given, p, GPT)
    there = Counting.done
    dlogits = reference.cross_entropy_vjp(logits, comes, np.ones(comes.shape))
    Counting.done = 0
    reference.decoder_vjp(given, p, GPT, dlogits.view(Counting))
    return there, Counting.done
