"""The book's own prose as a text to learn from, and what simpler means make of it.

`prose.txt` holds sentences of chapters 1 to 13, those without formulas, as they stood when this
chapter was written. Every tenth paragraph is held out.
"""

from __future__ import annotations

import bz2
import lzma
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.models.objectives import next_tokens
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import tree_map
from tformer.tokens import BPE, train_bpe

__all__ = ["bits", "by_counting", "by_repetition", "gpt", "parts", "tokens", "written"]

FILE = Path(__file__).with_name("prose.txt")
N_MERGES, ROWS, LENGTH, RATE = 256, 16, 64, 0.005
CONFIGURATION = Configuration(norm="rms", activation="silu", positions="rope")


@cache
def parts() -> tuple[str, str]:
    """The text to learn from, and the one that is held out."""
    lines = FILE.read_text(encoding="utf-8").splitlines(keepends=True)
    learnt = "".join(line for i, line in enumerate(lines) if i % 10 != 5)
    return learnt, "".join(lines[5::10])


def by_repetition() -> dict[str, float]:
    """Bits a byte that two programs for compressing need for the held-out text after the other."""
    learnt, asked = (part.encode() for part in parts())
    found = {}
    for name, compress in (("bz2", bz2.compress), ("lzma", lzma.compress)):
        more = len(compress(learnt + asked)) - len(compress(learnt))
        found[name] = 8 * more / len(asked)
    return found


def by_counting(k: int) -> float:
    """Bits a byte, on the held-out text, of a model that has counted what follows k letters.

    With each context it mixes what it knows of the next shorter one, in proportion to how many
    different letters have followed [witten1991].
    """
    learnt, asked = parts()
    counts: list[defaultdict[str, Counter[str]]] = [defaultdict(Counter) for _ in range(k + 1)]
    for i, letter in enumerate(learnt):
        for n in range(min(i, k) + 1):
            counts[n][learnt[i - n : i]][letter] += 1
    size = len(set(learnt + asked))
    total = 0.0
    for i, letter in enumerate(asked):
        p = 1 / size
        for n in range(min(i, k) + 1):
            after = counts[n].get(asked[i - n : i])
            if after:
                p = (after[letter] + len(after) * p) / (after.total() + len(after))
        total -= float(np.log2(p))
    return total / len(asked.encode())


@cache
def tokens() -> BPE:
    """Merges learnt from the text that is read."""
    return BPE.from_merges([str(one) for one in train_bpe(parts()[0], N_MERGES)])


def gpt(steps: int) -> tuple[Any, Iterator[Any]]:
    """A model of the storyteller's sizes, and its training, step by step."""
    import torch

    from tformer import fast
    from tformer.training import Recipe, train

    sizes = Sizes(tokens().n_vocab, 64, 2, 4, 176, biased=False, gated=True, tied=False)
    drawn = initialise(sizes, CONFIGURATION, np.random.default_rng(0))
    module = fast.Module(
        fast.decoder, tree_map(torch.from_numpy, drawn), configuration=CONFIGURATION
    )
    text = np.array(tokens().encode(parts()[0]))

    def batch(step: int) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng((14, step))
        starts = rng.integers(len(text) - LENGTH, size=ROWS)
        return next_tokens(np.array([text[i : i + LENGTH + 1] for i in starts]))

    return module, train(module, batch, Recipe(steps, RATE, warmup=40))


def bits(module: Any, held_out: bool = True) -> float:
    """Bits a byte of a model, in pieces of 64 tokens, of which the first is not asked."""
    import torch
    from torch.nn.functional import cross_entropy

    numbers = tokens().encode(parts()[1] if held_out else parts()[0][: len(parts()[1])])
    n = len(numbers) // (LENGTH + 1)
    rows = np.array(numbers[: n * (LENGTH + 1)]).reshape(n, LENGTH + 1)
    given, wanted = map(torch.from_numpy, next_tokens(rows))
    with torch.no_grad():
        nats = cross_entropy(module(given).flatten(0, 1), wanted.flatten(), reduction="sum")
    size = sum(len(tokens().decode(row[1:].tolist()).encode()) for row in rows)
    return float(nats) / float(np.log(2)) / size


def written(module: Any, start: str, n: int, seed: int = 0) -> str:
    """A text that goes on, drawn token by token."""
    import torch

    rng, numbers = np.random.default_rng(seed), tokens().encode(start, control=False)
    for _ in range(n):
        with torch.no_grad():
            p = module(torch.tensor(numbers[-LENGTH:]))[-1].softmax(-1).numpy()
        numbers.append(int(rng.choice(len(p), p=p / p.sum())))
    return tokens().decode(numbers)
