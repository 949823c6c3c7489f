"""The page shows a reader's own file, which draws and writes what the library does."""

import numpy as np
import pytest
import torch

from own_listings import listed
from tformer import reference
from tformer.models.generate import generate
from tformer_book.chapters.ch15 import writing
from tformer_book.own import my_transformer as own
from tformer_book.storyteller import load, named


def test_the_page_shows_the_lines_of_the_file() -> None:
    assert listed("15_generation") == ["sample", "generate"]


def test_a_token_is_drawn_with_the_probabilities_of_the_library(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = []

    def multinomial(p, n, generator=None):
        given.append(p / p.sum())
        return torch.arange(len(p))[:n]

    monkeypatch.setattr(torch, "multinomial", multinomial)
    for seed in range(20):
        row = np.random.default_rng(seed).standard_normal(50) * 3
        for tau, share in ((1.0, 1.0), (0.5, 0.9), (2.0, 0.6)):
            likeliest = own.sample(torch.from_numpy(row), tau, share)
            want = reference.softmax(reference.top_p(reference.temperature(row, tau), share))
            assert likeliest == row.argmax()
            np.testing.assert_allclose(given.pop(), np.sort(want)[::-1], rtol=1e-9, atol=1e-12)
        assert own.sample(torch.from_numpy(row), 0) == row.argmax()


def test_the_storyteller_writes_the_same_through_the_file() -> None:
    _, parameters, configuration = load()
    p = {name: torch.from_numpy(x) for name, x in named(parameters).items()}
    c = own.Config(605, 64, 2, 4, 4, 176, tied=False)
    for text in (writing.ROW, writing.MISSED, f"{writing.ROW} tired. So Mia"):
        begun = writing.begun(text)
        stop = writing.stop()
        want = generate(reference.cached_decoder, begun, parameters, configuration, 24, None, stop)
        assert [*own.generate(begun, p, c, 24, 0, stop=stop)] == [*want]
