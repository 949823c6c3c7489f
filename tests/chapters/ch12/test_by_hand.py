"""Three operations by hand: autograd finds the same, and the figure draws what is computed."""

import pytest
import torch

from tformer_book.chapters.ch12 import figures
from tformer_book.chapters.ch12.by_hand import passes


@pytest.mark.parametrize("given", [(2.0, 3.0), (-1.5, 4.0), (0.0, 1.0)])
def test_autograd_finds_the_same(given: tuple[float, float]) -> None:
    x, w = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in given)
    m = w * x
    s = m + x
    for one in (m, s):
        one.retain_grad()
    loss = s**2 / 2
    loss.backward()
    found = passes(*given)
    assert (found.m, found.s, found.loss) == (m.item(), s.item(), loss.item())
    assert (found.dm, found.ds) == (m.grad.item(), s.grad.item())
    assert (found.dw, found.dx) == (w.grad.item(), x.grad.item())


def test_the_figure_draws_the_numbers_of_both_passes() -> None:
    drawn = [text.get_text() for text in figures.graph(x=1.0, w=4.0).axes[0].texts]
    for text in ("w = 4", "x = 1", "m = 4", "s = 5", "12.5", "dx = 5 + 20 = 25"):
        assert text in drawn
    assert sorted(drawn.count(slope) for slope in ("1", "5", "20")) == [1, 1, 4]
