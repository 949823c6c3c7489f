"""Attention a block of queries and of keys at a time: the definition, in less memory."""

import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attention_problems import D_K, D_V, Problem, S, T, magnitudes, masks, problem
from cases import TOLERANCE
from every import every
from tformer import reference
from tformer.reference import blockwise
from tformer.reference.blockwise import SoftmaxState, merge_states, softmax_state


def scaled_up(given: Problem, factor: float) -> Problem:
    return given._replace(q=given.q * factor)


def bounds(given: Problem, dtype: str) -> list[float]:
    """Twice what the case table allows; and the rounding of a score s, to s half units."""
    largest_score, met = magnitudes(given)
    bound = 2 * TOLERANCE[dtype].bound
    bound += 0 if dtype == "float64" else TOLERANCE["float32"].bound * min(largest_score, 88)
    return [bound * max(one, 1e-3) for one in met]


@masks
@every("dtype", ["float64", "float32", "float16"])
@every("factor", [1.0, 1e4])
@every("sizes", [(T, S, D_K, D_V), (500, 300, D_K, D_V)])
def test_blockwise_is_the_definition(
    mask: str, dtype: str, factor: float, sizes: tuple[int, int, int, int]
) -> None:
    given = scaled_up(problem(mask, dtype, sizes), factor)
    q, k, v = (x.astype(dtype) for x in given[:3])
    expected = reference.attention(q, k, v, given.mask)
    got = reference.blockwise_attention(q, k, v, given.mask)
    assert got.dtype == expected.dtype == dtype
    np.testing.assert_allclose(got, expected, rtol=0, atol=bounds(given, dtype)[0])
    wide = "float32" if dtype == "float16" else dtype
    plain = blockwise._exp_in_range(*(x[0].astype(wide) for x in (q, k, v)), D_K**-0.5)
    assert plain == (factor == 1)


@masks
@every("dtype", ["float64", "float32"])
@every("bias", [False, True])
@every("block", [1, 16, 192])
def test_gradients_are_those_of_the_definition(
    mask: str, dtype: str, bias: bool, block: int
) -> None:
    given = problem(mask, dtype, bias=bias)
    q, k, v, grad = (x.astype(dtype) for x in given[:4])
    added = {"mask": given.mask, "bias": None if given.bias is None else given.bias.astype(dtype)}
    expected = reference.attention_vjp(q, k, v, grad, **added)
    got = reference.blockwise_attention_vjp(q, k, v, grad, **added, block=block)
    for one, other, bound in zip(got, expected, [*bounds(given, dtype)[1:], 0.0], strict=False):
        if other is not None:
            assert one is not None
            assert one.shape == other.shape
            np.testing.assert_allclose(one, other, rtol=0, atol=bound)


@every("shape", [(1, 1), (1, S), (T, 1), (T, S), (2, T, S), (2, 1, 1)])
def test_a_bias_of_any_shape_gathers_its_gradient(shape: tuple[int, ...]) -> None:
    given = problem("random")
    bias = np.random.default_rng(2).standard_normal(shape)
    arrays = (*given[:4], given.mask, bias)
    expected = reference.attention_vjp(*arrays)[3]
    got = reference.blockwise_attention_vjp(*arrays, block=8)[3]
    assert got is not None
    assert got.shape == shape
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@every("offset", [0, 1, 5, 16, 40])
@every("block", [1, 4, 7, 192])
@every("dtype", ["float64", "float32"])
def test_causal_with_an_offset_is_the_causal_mask(offset: int, block: int, dtype: str) -> None:
    given = problem("random", dtype)
    mask = reference.causal_mask(T, S, offset) & given.mask
    q, k, v, grad = (x.astype(dtype) for x in given[:4])
    settings: dict[str, Any] = {"causal": True, "offset": offset, "block": block}
    got = reference.blockwise_attention(q, k, v, given.mask, **settings)
    expected = reference.attention(q, k, v, mask)
    tolerance = bounds(given, dtype)
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance[0])
    back = reference.blockwise_attention_vjp(q, k, v, grad, given.mask, **settings)
    wanted = reference.attention_vjp(q, k, v, grad, mask)
    for one, other, bound in zip(back[:3], wanted[:3], tolerance[1:4], strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=bound)


@pytest.mark.parametrize("shifted", [False, True])
def test_a_row_that_may_look_nowhere_gives_and_passes_back_zeros(
    shifted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shifted:
        monkeypatch.setattr(blockwise, "_exp_in_range", lambda *_: False)
    given = problem("random")
    y = reference.blockwise_attention(*given[:3], given.mask, block=5)
    assert not y[:, [3, -1]].any()
    dq, *_ = reference.blockwise_attention_vjp(*given[:4], given.mask, block=5)
    assert not dq[:, [3, -1]].any()
    np.testing.assert_allclose(y, reference.attention(*given[:3], given.mask), rtol=0, atol=1e-10)


def test_blocks_of_the_future_are_not_read() -> None:
    given = problem("none", sizes=(8, 8, D_K, D_V))
    k, v = given.k.copy(), given.v.copy()
    k[:, 4:] = v[:, 4:] = np.nan
    y = reference.blockwise_attention(given.q, k, v, causal=True, block=4)
    np.testing.assert_allclose(y[:, :4], reference.causal_attention(*given[:3])[:, :4], atol=1e-10)


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e-10, 1.0, 1e10, 1e20, 1e30, 1e36])
def test_blockwise_keeps_its_digits_for_values_of_any_size(size: float) -> None:
    given = problem("causal")
    q, k = (3 * x.astype(np.float32) for x in given[:2])
    v = (size * given.v).astype(np.float32)
    expected = reference.attention(q, k, v, given.mask)
    got = reference.blockwise_attention(q, k, v, given.mask, block=5)
    largest = np.abs(v).max() * magnitudes(given._replace(q=3 * given.q, k=3 * given.k))[0]
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=TOLERANCE["float32"].bound * float(largest)
    )


def test_states_of_parts_are_the_state_of_the_whole() -> None:
    rng = np.random.default_rng(0)
    scores, v = 30 * rng.standard_normal((4, 12)), rng.standard_normal((12, 3))
    scores[2, :5], scores[3] = -np.inf, -np.inf
    parts = [softmax_state(scores[:, a:b], v[a:b]) for a, b in ((0, 5), (5, 6), (6, 12))]
    left = merge_states(merge_states(parts[0], parts[1]), parts[2])
    right = merge_states(parts[0], merge_states(parts[1], parts[2]))
    for state in (left, right):
        for got, expected in zip(state, softmax_state(scores, v), strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    nothing = SoftmaxState(np.full(4, -np.inf), np.zeros(4), np.zeros((4, 3)))
    for got, expected in zip(merge_states(nothing, left), left, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_scores_go_into_a_gradient_once_if_its_way_there_is_kept() -> None:
    given = problem("random", bias=True)
    expected = reference.attention_vjp(*given[:4], given.mask, given.bias)
    added = {"mask": given.mask, "bias": given.bias, "block": 5}
    kept = blockwise.forward(*given[:3], **added)
    np.testing.assert_array_equal(kept[0], reference.blockwise_attention(*given[:3], **added))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(blockwise, "_forward", lambda *_: pytest.fail("forward again"))
        got = blockwise.backward(*given[:4], kept, **added)
    for one, other in zip(got, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sharp", [1.0, 300.0])
def test_the_logarithms_of_the_sums_are_those_of_the_table(sharp: float) -> None:
    given = problem("random")
    scores = sharp * given.q @ given.k.mT / D_K**0.5
    expected = reference.logsumexp(np.where(given.mask, scores, -np.inf))
    got = blockwise.forward(sharp * given.q, *given[1:3], given.mask, block=5)[1]
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


def test_a_state_of_half_precision_is_in_single_precision() -> None:
    scores, v = np.zeros((1, 3000), np.float16), np.ones((3000, 1), np.float16)
    state = softmax_state(scores, v)
    assert {x.dtype.name for x in state} == {"float32"}
    assert state.total == state.output == 3000


def peak(function: Callable[..., Any], *arrays: np.ndarray) -> int:
    """Bytes at the peak beyond what is returned."""
    tracemalloc.start()
    found = function(*arrays)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    several = found if isinstance(found, tuple) else (found,)
    return most - sum(x.nbytes for x in several if x is not None)


def test_the_memory_beyond_the_output_grows_with_the_length_and_not_its_square() -> None:
    peaks = {}
    for n in (1024, 2048):
        q, k, v, grad = np.random.default_rng(0).standard_normal((4, n, 64)).astype("f")
        peaks[n] = [
            peak(reference.blockwise_attention, q, k, v),
            peak(reference.blockwise_attention_vjp, q, k, v, grad),
            peak(reference.attention, q, k, v),
        ]
    assert peaks[2048][0] < 0.4 * 2**20
    assert peaks[2048][0] - peaks[1024][0] <= 16 * 1024
    assert peaks[2048][1] - peaks[1024][1] <= 1024 * (64 + 8) * 4
    assert peaks[2048][2] > 2 * 2048**2 * 4


@pytest.mark.parametrize(
    ("dtype", "sizes"),
    [
        ("float32", (1e-25, 1.0, 1e30)),
        ("float64", (1e-170, 1e-25, 1e200)),
        ("float32", (1e10, 1e-38, 1e29)),
        ("float32", (1e-30, 1e18, 1.0)),
    ],
)
def test_lengths_whose_squares_vanish_are_no_bound(
    dtype: str, sizes: tuple[float, float, float]
) -> None:
    given, (of_q, of_k, scale) = problem("causal"), sizes
    q, k, v = ((size * x).astype(dtype) for size, x in zip((of_q, of_k, 1), given[:3], strict=True))
    expected = reference.attention(q, k, v, given.mask, scale=scale)
    got = reference.blockwise_attention(q, k, v, given.mask, scale=scale, block=5)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-5)
