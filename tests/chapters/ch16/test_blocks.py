"""The row in blocks, in Python: states, what is refused and what is said."""

import math

import numpy as np
import pytest

from tformer_book.chapters.ch16 import row
from tformer_book.chapters.ch16.blocks import Blocks


@pytest.mark.parametrize("tale", [0, 1])
@pytest.mark.parametrize("size", [1, 4, 5, 12])
def test_a_state_is_the_softmax_of_what_is_read(tale: int, size: int) -> None:
    for n in range(1, 13):
        widget = Blocks(tale, size, n)
        read = min(n * size, 12)
        scores = np.array(widget.rows[tale]["scores"])[:read]
        terms = np.exp(scores - scores.max())
        found = widget.state()
        assert found["top"] == scores.max()
        assert found["total"] == pytest.approx(terms.sum(), abs=1e-12)
        want = [*(terms / terms.sum()), *[0.0] * (12 - read)]
        np.testing.assert_allclose(found["shares"], want, atol=1e-12)


def test_nothing_read_is_nothing_known() -> None:
    assert Blocks(n=0).state() == {"top": -math.inf, "total": 0.0, "shares": [0.0] * 12}


def test_the_row_of_the_page_is_the_row_of_the_widget() -> None:
    np.testing.assert_allclose(Blocks().rows[0]["scores"], row.scores(), atol=1e-4)
    assert tuple(Blocks().rows[0]["words"]) == row.WORDS


def test_it_says_what_it_shows() -> None:
    assert repr(Blocks(n=0)) == "Blocks: … tired, in blocks of 4; nothing is read"
    assert repr(Blocks(0, 4, 3)) == (
        "Blocks: … tired, in blocks of 4; 12 of 12 words are read\n"
        "largest score 10.31, sum 1.169, weight of it 0.855"
    )
    assert "<td>7.925</td><td>1.110</td>" in Blocks().fallback()


@pytest.mark.parametrize(
    "wrong", [{"tale": 2}, {"tale": -1}, {"size": 0}, {"size": 13}, {"n": -1}, {"n": 13}]
)
def test_what_is_out_of_range_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"Blocks: (tale|size|n) must be \d+ to \d+; got"):
        Blocks(**wrong)
