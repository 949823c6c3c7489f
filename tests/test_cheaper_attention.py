"""Attention to some of the keys, and linear attention: each against a table that is masked."""

import tracemalloc

import numpy as np
import pytest
import torch

from attention_problems import D_K, D_V, S, T, problem
from every import every
from tformer import fast, reference
from tformer.reference import blockwise

SIZES = [(T, S), (S, T), (1, 1), (0, 3), (3, 0), (40, 40)]


@pytest.mark.parametrize("sizes", SIZES)
@every("window", [1, 2, 9, 99])
@every("offset", [0, 3, 18, 60])
@every("block", [1, 4, 192])
def test_a_window_is_attention_under_its_mask(
    sizes: tuple[int, int], window: int, offset: int, block: int
) -> None:
    given = problem("none", sizes=(*sizes, D_K, D_V))
    mask = reference.sliding_window_mask(*sizes, window, offset)
    expected = reference.attention(*given[:3], mask)
    got = reference.window_attention(*given[:3], window, offset, block=block)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
    x = [torch.from_numpy(array).requires_grad_() for array in given[:3]]
    y = fast.window_attention(*x, window, offset, block=block)
    np.testing.assert_allclose(y.detach(), expected, rtol=0, atol=1e-10)
    y.backward(torch.from_numpy(given.grad))
    wanted = reference.attention_vjp(*given[:4], mask)
    kept = blockwise.forward(*given[:3], offset=offset, block=block, window=window)
    back = blockwise.backward(*given[:4], kept, offset=offset, block=block, window=window)
    for one, of_blocks, other in zip(x, back[:3], wanted[:3], strict=True):
        np.testing.assert_allclose(one.grad, other, rtol=0, atol=1e-10)
        np.testing.assert_allclose(of_blocks, other, rtol=0, atol=1e-10)


def test_what_is_outside_all_windows_of_a_block_is_not_read() -> None:
    q, k, v = (x.copy() for x in problem("none", sizes=(12, 12, D_K, D_V))[:3])
    expected = reference.window_attention(q, k, v, 3, block=4)
    k[:, :2] = v[:, :2] = np.nan
    got = reference.window_attention(q, k, v, 3, block=4)
    np.testing.assert_allclose(got[:, 4:], expected[:, 4:], rtol=0, atol=1e-12)


@pytest.mark.parametrize("sizes", SIZES)
@every("block", [1, 4, 50])
@every("causal", [False, True])
@every("offset", [0, 16])
def test_a_layout_is_attention_under_its_mask(
    sizes: tuple[int, int], block: int, causal: bool, offset: int
) -> None:
    given = problem("none", sizes=(*sizes, D_K, D_V))
    shape = tuple(-(-n // block) for n in sizes)
    layout = np.random.default_rng(0).random(shape) < 0.5
    mask = np.kron(layout, np.ones((block, block), bool))[: sizes[0], : sizes[1]]
    if causal:
        mask = mask & reference.causal_mask(*sizes, offset)
    expected = reference.attention(*given[:3], mask)
    got = reference.block_sparse_attention(*given[:3], layout, block, causal, offset)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
    x = [torch.from_numpy(array).requires_grad_() for array in given[:3]]
    y = fast.block_sparse_attention(*x, torch.from_numpy(layout), block, causal, offset)
    np.testing.assert_allclose(y.detach(), expected, rtol=0, atol=1e-10)
    y.backward(torch.from_numpy(given.grad))
    wanted = reference.attention_vjp(*given[:4], mask)
    for one, other in zip(x, wanted[:3], strict=True):
        np.testing.assert_allclose(one.grad, other, rtol=0, atol=1e-10)


@pytest.mark.parametrize("module", [reference, fast], ids=["reference", "fast"])
@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (0, 2)])
def test_a_layout_of_another_shape_is_refused(module: object, shape: tuple[int, int]) -> None:
    x, layout = np.ones((5, 2)), np.ones(shape, bool)
    if module is fast:
        x, layout = torch.from_numpy(x), torch.from_numpy(layout)
    with pytest.raises(ValueError, match=r"layout must have shape \(3, 2\) for 5 queries and 4"):
        module.block_sparse_attention(x, x[:4], x[:4], layout, 2)  # type: ignore[attr-defined]


def test_neither_forms_the_table() -> None:
    n = 4096
    q, k, v = np.random.default_rng(0).standard_normal((3, n, 8)).astype("f")
    layout = np.eye(n // 128, dtype=bool)
    for call in (
        lambda: reference.window_attention(q, k, v, 128),
        lambda: reference.block_sparse_attention(q, k, v, layout, 128),
    ):
        tracemalloc.start()
        call()
        assert tracemalloc.get_traced_memory()[1] < n * n / 8
        tracemalloc.stop()


@every("sizes", [(6, 6), (40, 40), (1, 1), (0, 0)])
@every("cut", [0, 1, 5])
def test_the_recurrence_is_the_table(sizes: tuple[int, int], cut: int) -> None:
    given = problem("none", sizes=(*sizes, D_K, D_V))
    q, k, v = given[:3]
    expected = reference.linear_attention(q, k, v, causal=True)
    first, *kept = reference.recurrent_linear_attention(q[:, :cut], k[:, :cut], v[:, :cut])
    rest, state, total = reference.recurrent_linear_attention(
        q[:, cut:], k[:, cut:], v[:, cut:], *kept
    )
    got = np.concatenate([first, rest], axis=-2)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
    features = reference.elu_feature_map(k)
    np.testing.assert_allclose(state, features.mT @ v, rtol=0, atol=1e-12)
    np.testing.assert_allclose(total, features.sum(axis=-2), rtol=0, atol=1e-12)


def test_features_so_small_that_they_vanish_give_zeros() -> None:
    q = np.full((2, 3), -1e4)
    k, v = np.zeros((2, 3)), np.ones((2, 4))
    for y in (
        reference.linear_attention(q, k, v),
        reference.recurrent_linear_attention(q, k, v)[0],
        fast.linear_attention(*map(torch.from_numpy, (q, k, v))).numpy(),
        fast.recurrent_linear_attention(*map(torch.from_numpy, (q, k, v)))[0].numpy(),
    ):
        np.testing.assert_array_equal(y, 0)


def test_features_are_positive_and_meet_at_0() -> None:
    x = np.array([-50.0, -1.0, -0.0, 0.0, 1.0, 50.0])
    got = reference.elu_feature_map(x)
    np.testing.assert_allclose(got, [np.exp(-50), np.exp(-1), 1, 1, 2, 51], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_state_in_half_precision_stays_wide_however_long_the_text(dtype: str) -> None:
    """3,000 words one by one are one call; each feature is 1, and in float16 sums stop at 2,048."""
    n = 3000
    q, k, v = torch.zeros(n, 2), torch.zeros(n, 2), torch.ones(n, 3)
    x = [one.to(getattr(torch, dtype)) for one in (q, k, v)]
    calls = [(fast.recurrent_linear_attention, x)]
    if dtype == "float16":
        calls.append((reference.recurrent_linear_attention, [one.numpy() for one in x]))
    for call, arrays in calls:
        kept = call(*arrays)[1:]
        one_by_one: list = []
        for t in range(n):
            y, *one_by_one = call(*(one[t : t + 1] for one in arrays), *one_by_one)
        assert y.dtype == arrays[0].dtype
        for got, expected in zip(one_by_one, kept, strict=True):
            assert str(got.dtype).endswith("float32")
            np.testing.assert_array_equal(got, expected)
            assert (got == n).all()


def test_half_precision_goes_by_the_definition_in_double_precision() -> None:
    q, k, v = problem("none", "float16", (T, T, D_K, D_V))[:3]
    wanted = reference.recurrent_linear_attention(*(x.astype("d") for x in (q, k, v)))
    half = [x.astype("e") for x in (q, k, v)]
    for got in (
        reference.recurrent_linear_attention(*half),
        fast.recurrent_linear_attention(*map(torch.from_numpy, half)),
    ):
        for one, expected, off in zip(got, wanted, (4e-3, 2e-5, 2e-5), strict=True):
            np.testing.assert_allclose(one, expected, rtol=off, atol=off)
