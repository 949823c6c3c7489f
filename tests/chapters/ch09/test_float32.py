"""The sweep over float32, the counts of regions, and the rows of the chapter."""

from itertools import product

import numpy as np
import pytest
import torch

from tformer import fast, reference
from tformer.parameters import FeedForwardParameters, NormParameters
from tformer_book.chapters.ch09 import figures, float32, folds, measured, rows


def test_binades_are_all_finite_numbers_of_float32_once() -> None:
    found = [(one["sign"], one["exponent"]) for one in measured.binades()]
    assert sorted(found) == sorted(product((-1, 1), (-127, *float32.EXPONENTS)))
    for negative in (False, True):
        x = float32.binade(3, negative)
        assert (len(x), abs(float(x[0]))) == (2**23, 8.0)
        assert float(abs(x[-1])) == np.nextafter(np.float32(16), np.float32(0))
        assert bool((x.abs()[1:] > x.abs()[:-1]).all())
        assert bool(((x < 0) == negative).all())
    assert float(float32.binade(-127, False, 0, 1)[0]) == 0.0
    assert float(float32.binade(127, False)[-1]) == float(np.finfo(np.float32).max)


def test_a_chunk_more_or_less_makes_no_difference() -> None:
    for exponent, negative in ((1, True), (2, True)):
        one, other = (float32.farthest(exponent, negative, 2**k) for k in (16, 19))
        assert one == other


def test_errors_are_those_of_another_formula() -> None:
    x = torch.linspace(-6, 6, 1201)
    off, share = float32.errors(x)
    wide = x.double()
    exact = torch.nn.functional.gelu(wide)
    form = torch.nn.functional.gelu(wide, approximate="tanh")
    np.testing.assert_allclose(off, (form - exact).abs(), atol=1e-15)
    middle = wide > -4
    np.testing.assert_allclose(
        share[middle] * exact.abs()[middle], off[middle], rtol=1e-9, atol=1e-18
    )


@pytest.mark.parametrize(
    ("w", "b", "count"),
    [
        ([[1], [0]], [0], 2),
        ([[1, 0], [0, 1]], [0, 0], 4),
        ([[1, 1], [0, 0]], [0, 1], 3),
        ([[1, 2, -3], [1, 2, -3]], [0, 1, 5], 4),
        ([[1, 1], [1, 1]], [2, 2], 2),
        ([[1, 0, 1], [0, 1, 1]], [0, 0, 0], 6),
        ([[1, 0, 1], [0, 1, 1]], [0, 0, 1], 7),
        ([[1, 0, 1, 1], [0, 1, 1, -1]], [0, 0, 0, 0], 8),
        ([[0, 0, 0], [1, 1, 1]], [0, 3, 3], 3),
        ([[0], [0]], [1], 1),
    ],
)
def test_regions_of_arrangements_that_can_be_drawn(w: list, b: list, count: int) -> None:
    assert folds.regions(np.array(w), np.array(b)) == count


def test_every_region_of_the_figure_can_be_seen() -> None:
    w, b = figures.LINES
    p, q = np.meshgrid(*[np.linspace(-5, 5, 101)] * 2)
    on = (p[..., None] * w[0] + q[..., None] * w[1] + b > 0) @ (2 ** np.arange(4))
    patterns, squares = np.unique(on, return_counts=True)
    assert len(patterns) == folds.regions(w, b) == folds.bound(4, 2)
    assert squares.min() > 0.01 * on.size


def test_far_below_0_slopes_end_at_0_in_float32() -> None:
    for name, at in (("gelu", -15), ("silu", -90)):
        x, one = np.full(16, at, np.float32), np.ones(16, np.float32)
        assert not getattr(reference, f"{name}_vjp")(x, one).any()
        assert not getattr(fast, f"{name}_vjp")(torch.tensor(x), torch.tensor(one)).any()
        assert getattr(reference, f"{name}_vjp")(x / 2, one).all()


def test_the_two_sentences_of_the_chapter_turn_on_one_unit_each() -> None:
    for sentence, kind in ((rows.TIRED, "animate"), (rows.WIDE, "place")):
        units = dict(zip(rows.KINDS, rows.kinds(sentence), strict=True))
        assert [k for k, u in units.items() if u > 0] == [kind]
        assert rows.resolved(sentence).sum() == pytest.approx(1)


def test_a_unit_below_the_bound_is_dead_at_any_rows_and_above_it_is_not() -> None:
    assert folds.dead_share(4, 1.0) == 1.0
    assert folds.dead_share(4, 0.0) == 0.0


def test_shares_of_dead_units_are_those_of_layers() -> None:
    d, share = 5, 0.85
    off = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x, w = rng.standard_normal((30, d)), rng.standard_normal((d, 64))
        x = reference.rms_norm(x, NormParameters(), eps=1e-30)
        b = -share * np.sqrt(d) * np.linalg.norm(w, axis=0)
        off.append(folds.dead(x, FeedForwardParameters(w, np.zeros((64, d)), b)))
    assert folds.dead_share(d, share, n=30) == np.mean(off)
    assert 0 < np.mean(off) < 1
