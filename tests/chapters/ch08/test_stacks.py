"""The stored stacks: some measured again, and what the page says of all."""

import numpy as np
import pytest

from tformer_book.chapters.ch08 import depth, stacks
from tformer_book.experiments.intervals import mean_interval


@pytest.mark.parametrize("width", stacks.WIDTHS)
def test_stacks_still_give_what_is_stored(width: int) -> None:
    found = stacks.stored(width)
    assert found.shape == (stacks.STACKS, 2, len(stacks.BLOCKS))
    again = stacks.measured(width, 2)
    np.testing.assert_allclose(again[:, 0], found[:2, 0], rtol=1e-3)
    np.testing.assert_allclose(again[:, 1], found[:2, 1], atol=1e-3)


def test_the_first_narrow_stacks_are_those_of_the_main_page() -> None:
    main, found = depth.measured("post"), stacks.stored(32)[: depth.SEEDS]
    np.testing.assert_allclose(found[:, 0], main[:, 1, stacks.BLOCKS], rtol=1e-3)


def test_wide_stacks_lose_less_and_the_first_blocks_give_back() -> None:
    """The interval at the words lies above 0.29, and above all that is found halfway down."""

    def ends(values: np.ndarray) -> np.ndarray:
        mean, half = mean_interval(np.log(values), 0.95)
        return np.exp([mean - half, mean + half])

    grad, cosine = np.moveaxis(stacks.stored(128), 1, 0)
    words, middle = ends(grad[:, 0]), ends(grad[:, stacks.BLOCKS.index(32)])
    assert middle[1] < np.sqrt(1 / 12) < words[0]
    assert ends(stacks.stored(32)[:, 0, 0])[1] < words[0]
    eighth = stacks.BLOCKS.index(8)
    shared = (1 + 11 * cosine[:, :eighth]) / 12
    rule = np.exp(np.log(2 / (1 + shared)).sum(axis=1).mean() / 2)
    low, high = ends(grad[:, 0] / grad[:, eighth])
    assert low < rule < high
    assert cosine[:, 0].max() < 0.1 < 0.9 < cosine[:, eighth].min()
