"""What the deeper page of chapter 19 lists."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tformer_book.chapters.ch19.stream import run
from tformer_book.chapters.ch19.turing import STREAM, Machine, layers


def listing(one: Machine, word: Sequence[int]) -> Iterator[tuple[str, tuple[float, float]]]:
    """Each token of a run that halts, from GO on, with what the two layers write there: P, cell."""
    text = one.generate(word, 200)
    tokens = [*one.prompt(word), *map(one.names.index, text)]
    y = run(one.embedding[tokens], layers())[len(word) + 1 :]
    columns = [STREAM.at("P"), STREAM.at("cell")]
    yield from zip(["GO", *text], (tuple(row) for row in y[:, columns].tolist()), strict=True)
