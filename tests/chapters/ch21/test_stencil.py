"""Life by one head, in Python: the mask, what is refused and what is said."""

import numpy as np
import pytest

from tformer_book.chapters.ch21.grids import life_step, torus_mask
from tformer_book.chapters.ch21.stencil import NEAR, SIDE, Stencil


def test_the_stencil_of_nine_is_the_mask_of_life() -> None:
    np.testing.assert_array_equal(Stencil().mask, torus_mask(SIDE, SIDE))


def test_a_stencil_looks_where_it_says() -> None:
    """One cell of the stencil: two rows up, one column to the right."""
    mask = Stencil(stencil=[3]).mask
    assert mask.sum() == SIDE**2
    assert mask[5 * SIDE + 9, 3 * SIDE]


def test_the_block_plays_life_with_nine_cells_alone() -> None:
    widget = Stencil()
    np.testing.assert_allclose(widget.next(), life_step(widget.board), atol=1e-12)
    assert widget.wrong == 0
    assert Stencil(stencil=NEAR[:-1]).wrong > 0
    assert Stencil(stencil=[]).next().max() == 0


def test_it_says_what_it_shows() -> None:
    said = "in the next generation 0 of 100 cells differ from Life"
    assert repr(Stencil()) == f"Stencil: 8 living cells, a stencil of 9; {said}"
    assert "1 living cell," in repr(Stencil(alive=[4]))
    assert "□□■□□□□□□□\n□□□■" in Stencil().fallback()


@pytest.mark.parametrize(
    "wrong",
    [{"alive": [100]}, {"alive": [-1]}, {"alive": [3, 3]}, {"stencil": [25]}, {"generation": -1}],
)
def test_what_is_no_cell_is_refused(wrong: dict[str, list[int]]) -> None:
    with pytest.raises(ValueError, match=r"Stencil: (alive|stencil|generation) must be"):
        Stencil(**wrong)
