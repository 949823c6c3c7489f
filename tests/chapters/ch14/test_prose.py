"""The book's prose as a text: what is held out, counts, and a training that begins."""

import math
from collections import Counter

import pytest

from tformer_book.chapters.ch14 import prose


def test_parts_are_the_whole_and_share_no_line() -> None:
    learnt, asked = prose.parts()
    whole = Counter(prose.FILE.read_text(encoding="utf-8").splitlines())
    assert Counter(learnt.splitlines()) + Counter(asked.splitlines()) == whole
    assert 0.08 < len(asked) / len(learnt + asked) < 0.15


def test_without_context_counts_are_shares() -> None:
    learnt, asked = prose.parts()
    counts, n = Counter(learnt), len(learnt)
    kinds, size = len(counts), len(set(learnt + asked))
    nats = -sum(math.log((counts[x] + kinds / size) / (n + kinds)) for x in asked)
    want = nats / math.log(2) / len(asked.encode())
    assert prose.by_counting(0) == pytest.approx(want)


def test_a_training_begins_to_learn() -> None:
    model, training = prose.gpt(300)
    before = prose.bits(model)
    for _ in range(10):
        next(training)
    assert prose.bits(model) < before - 0.05
    assert prose.written(model, "The", 3).startswith("The")
