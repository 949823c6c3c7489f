"""The regression to touch, in Python: lines, what is refused and what is said."""

from typing import Any

import numpy as np
import pytest

from tformer_book.chapters.ch18.in_context import LIMIT, InContext
from tformer_book.chapters.ch18.regression import answers


def test_the_line_is_what_layers_answer() -> None:
    widget = InContext(layers=3, eta=0.4)
    x, y = widget.examples
    height = answers(x, y, np.array([1.0, 0.0]), 0.4, 3)[3, 0]
    right = answers(x, y, np.array([1.0, 1.0]), 0.4, 3)[3, 0]
    np.testing.assert_allclose(widget.lines["layers"], [height, right - height], atol=1e-12)


def test_least_squares_has_the_least_error_and_ridge_the_least_with_its_penalty() -> None:
    widget = InContext()
    n = len(widget.points)
    best, bent = widget.lines["least squares"], widget.lines["ridge"]
    for off in 0.01 * np.vstack([np.eye(2), -np.eye(2)]):
        assert widget.error(best) < widget.error(best + off)
        whole = [2 * n * widget.error(w) + widget.penalty * w @ w for w in (bent, bent + off)]
        assert whole[0] < whole[1]


def test_below_the_largest_step_more_layers_help_and_above_they_do_not() -> None:
    def far(share: float) -> float:
        few = InContext(layers=1)
        eta = share * few.largest_step
        first, last = (InContext(layers=k, eta=eta).lines["layers"] for k in (1, 8))
        best = few.lines["least squares"]
        return float(np.linalg.norm(last - best) / np.linalg.norm(first - best))

    assert far(0.97) < 1 < far(1.1)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"layers": 9}, "layers must be 0 to 8; got 9"),
        ({"eta": 2.5}, "eta must be 0 to 2; got 2.5"),
        ({"eta": float("nan")}, r"eta\[0\] must be a finite number; got nan"),
        ({"points": [[0.0, 0.0]]}, "there must be 2 to 8 points; got 1"),
        ({"points": [[0.0], [1.0, 1.0]]}, r"points\[0\] needs two numbers; got 1"),
        ({"points": [[0.0, 3.5], [1.0, 1.0]]}, r"points\[0\] must lie within -3 and 3; got 3.5"),
    ],
)
def test_it_refuses_in_words(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"InContext: {words}"):
        InContext(**wrong)


def test_it_says_what_it_shows() -> None:
    told = repr(InContext())
    assert told.startswith("InContext: 5 points, 1 layer, η = 0.3, largest step 0.879\n")
    assert "least squares: height 0.082, slope 0.651, half the mean square 0.048" in told
    assert "<th>8 layers</th>" in InContext().fallback()
    assert max(abs(x) for point in InContext().points for x in point) < LIMIT
