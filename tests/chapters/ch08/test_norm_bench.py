"""The norm on the bench, in Python: its numbers, what it refuses and what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch08.norm_bench import NORMS, START, NormBench


@pytest.mark.parametrize("norm", NORMS)
def test_what_comes_out_is_the_row_over_its_size(norm: str) -> None:
    widget = NormBench(norm=norm)
    x = np.array(START)
    centred = x - x.mean() * (norm == "LayerNorm")
    np.testing.assert_allclose(widget.normed * widget.size, centred, atol=1e-12)
    assert np.square(widget.normed).mean() == pytest.approx(1, abs=1e-4)


def test_layer_norm_forgets_a_shift_and_rms_norm_does_not() -> None:
    moved = [one + 2 for one in START]
    layer, rms = (np.abs(NormBench(moved, n).normed - NormBench(START, n).normed) for n in NORMS)
    assert layer.max() < 1e-12 < 0.1 < rms.max()


def test_it_says_what_it_shows() -> None:
    assert repr(NormBench()) == (
        "NormBench: LayerNorm of (3.00, 1.00, -1.00, 2.00), size 1.48\n(1.18, -0.17, -1.52, 0.51)"
    )
    assert NormBench().fallback().count("(1.18, -0.17, -1.52, 0.51)") == 2
    assert NormBench(norm="RMSNorm").fallback().count("RMSNorm of") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"x": [1, 2, 3]}, "x must hold 4 numbers; got 3"),
        ({"x": [1, 2, 3, 11]}, "x must be from −10 to 10; got"),
        ({"x": [1, 2, 3, float("nan")]}, r"x\[3\] must be a finite number; got nan"),
        ({"norm": "BatchNorm"}, "norm must be LayerNorm or RMSNorm; got BatchNorm"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NormBench(**arguments)
