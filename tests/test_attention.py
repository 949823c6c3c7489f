"""Attention: every mask, every precision; and the libraries that also compute it."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from attention_problems import (
    D_K,
    D_V,
    Problem,
    S,
    T,
    asked_as_on_a_gpu,
    assert_equal,
    definition,
    devices,
    dtypes,
    kept,
    masks,
    outcome,
    problem,
    tensors,
)
from cases import TOLERANCE, to_numpy, to_torch
from edges import NAN
from every import every
from tformer import fast, reference
from tformer.fast._kernels import _four_axes_of_mask


@devices
@dtypes
@masks
@every("bias", [False, True])
def test_fast_is_the_definition_on_every_mask(
    mask: str, dtype: str, device: str, bias: bool
) -> None:
    given = problem(mask, dtype, bias=bias)
    assert_equal(outcome(given, dtype, device), given, dtype)


@devices
@dtypes
@pytest.mark.parametrize("mask", ["none", "causal", "random"])
@pytest.mark.parametrize("sizes", [(300, 1100, 8, 8), (1100, 300, 8, 24), (1, 700, 16, 1)], ids=str)
def test_fast_is_the_definition_beyond_one_block(
    mask: str, dtype: str, device: str, sizes: tuple[int, int, int, int]
) -> None:
    given = problem(mask if sizes[0] > 1 else "none", dtype, sizes)
    assert_equal(outcome(given, dtype, device), given, dtype)


@given(data=st.data())
def test_any_mask_and_bias_of_any_broadcast_shape(data: st.DataObject) -> None:
    t, s = data.draw(st.integers(0, 5)), data.draw(st.sampled_from([0, 1, 3, 16, 40]))
    shape = st.tuples(st.sampled_from([1, t]), st.sampled_from([1, s]))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    q, k, v = (rng.standard_normal((2, n, 3)) for n in (t, s, s))
    mask = rng.random(data.draw(shape)) < 0.5
    bias = rng.standard_normal(data.draw(shape))
    given = Problem(q, k, v, rng.standard_normal((2, t, 3)), mask, bias)
    x = tensors(given)
    whole = {"mask": np.broadcast_to(mask, (t, s)), "bias": np.broadcast_to(bias, (t, s))}
    expected = reference.attention(q, k, v, **whole)
    for got in (
        reference.attention(q, k, v, mask, bias),
        reference.blockwise_attention(q, k, v, mask, bias),
        fast.attention(**kept(x, "q", "k", "v", "mask", "bias")).numpy(),
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
    for one, other in zip(fast.attention_vjp(**x), definition(given)[1:], strict=True):
        np.testing.assert_allclose(to_numpy(one), other, rtol=0, atol=1e-10)


@devices
@dtypes
@masks
@every("n_keys", [3, S])
@every("scale", [None, 0.3])
def test_four_axes_as_the_kernel_wants_them(
    mask: str, n_keys: int, scale: float | None, dtype: str, device: str
) -> None:
    """Then `fast` calls the kernel at once, if nothing else stands against it."""
    given = problem(mask if n_keys == S else "none", dtype, (T, n_keys, 8, 8))
    given.q[1, 4] = NAN
    x = tensors(given, dtype, device)
    folded = {name: x[name].unsqueeze(0) for name in ("q", "k", "v")}
    turned = {name: one.mT.contiguous().mT for name, one in folded.items()}
    expected = reference.attention(*given[:3], mask=given.mask, scale=scale)
    bound = 8 * TOLERANCE[dtype].bound
    for arrays in (folded, turned):
        got = to_numpy(fast.attention(**arrays, mask=x["mask"], scale=scale))[0]
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound)


@devices
@pytest.mark.parametrize("mask", ["none", "causal", "random"])
@pytest.mark.parametrize("scale", [None, 0.3])
def test_equal_to_the_function_of_pytorch(mask: str, scale: float | None, device: str) -> None:
    given = problem(mask)
    x = tensors(given, device=device)
    expected = scaled_dot_product_attention(
        x["q"], x["k"], x["v"], attn_mask=x["mask"], scale=scale
    )
    got = fast.attention(**kept(x, "q", "k", "v", "mask"), scale=scale)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-10)
    defined = reference.attention(*given[:3], mask=given.mask, scale=scale)
    np.testing.assert_allclose(defined, to_numpy(expected), rtol=0, atol=1e-10)


@devices
@pytest.mark.parametrize("mask", ["none", "causal", "window"])
def test_equal_to_the_module_of_pytorch(mask: str, device: str) -> None:
    """A module of 4 heads; its mask is True where one may *not* look."""
    torch.manual_seed(0)
    n_heads, d_model = 4, 12
    module = torch.nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)
    module = module.to(device, torch.float64)
    x = torch.randn(2, T, d_model, dtype=torch.float64, device=device, requires_grad=True)
    allowed = tensors(problem(mask, sizes=(T, T, D_K, D_V)), device=device)["mask"]
    expected, weights = module(
        x, x, x, attn_mask=None if allowed is None else ~allowed, average_attn_weights=False
    )
    q, k, v = (
        (x @ w.mT).unflatten(-1, (n_heads, -1)).transpose(1, 2)
        for w in module.in_proj_weight.chunk(3)
    )
    y = fast.attention(q, k, v, allowed).transpose(1, 2).flatten(2) @ module.out_proj.weight.mT
    torch.testing.assert_close(y, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(fast.attention_weights(q, k, allowed), weights, rtol=0, atol=1e-10)
    gradients = [torch.autograd.grad(out.square().sum(), x)[0] for out in (y, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)


@pytest.mark.parametrize("leading", [(), (4,), (4, 3), (5, 4, 3)], ids=str)
def test_a_mask_for_the_whole_batch_is_not_copied(leading: tuple[int, ...]) -> None:
    mask = torch.ones(T, S, dtype=torch.bool)
    view = _four_axes_of_mask(mask, leading)
    assert view.shape == (1, 1, T, S)
    assert view.data_ptr() == mask.data_ptr()


@dtypes
@masks
@every("sizes", [(T, S, D_K, D_V), (T, S, 8, 8), (300, 40, 3, 8)])
def test_fast_never_stores_the_scores(
    mask: str, dtype: str, sizes: tuple[int, int, int, int]
) -> None:
    """Only the fused kernel is allowed, so PyTorch would refuse what it cannot compute."""
    x = tensors(problem(mask, dtype, sizes), dtype)
    arrays = kept(x, "q", "k", "v")
    turned = {name: one.mT.contiguous().mT for name, one in arrays.items()}
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        few = [{**arrays, name: x[name][:1]} for name in arrays]
        for given in (arrays, turned, *few, {**arrays, "v": x["v"][0]}):
            for folded in (given, {name: one.unsqueeze(-3) for name, one in given.items()}):
                seen = (
                    x["mask"] if x["mask"] is None or folded is given else x["mask"].unsqueeze(-3)
                )
                leaves = {name: one.detach().requires_grad_() for name, one in folded.items()}
                fast.attention(**leaves, mask=seen).sum().backward()
                fast.attention(**folded, bias=torch.zeros(1, sizes[1], dtype=x["q"].dtype))


def test_a_mask_may_have_leading_axes_that_nothing_else_has() -> None:
    given = problem(sizes=(T, S, 8, 8))
    q, k, v = (array[np.newaxis] for array in given[:3])
    mask = np.random.default_rng(0).random((3, 1, T, S)) < 0.5
    expected = reference.attention(q, k, v, mask)
    assert expected.shape == (3, 2, T, 8)
    got = fast.attention(*(to_torch(array, "float64") for array in (q, k, v, mask)))
    np.testing.assert_allclose(got.numpy(), expected, rtol=0, atol=1e-10)


def test_the_scale_of_the_key_width_is_the_default() -> None:
    q, k, v, *_ = problem("none")
    expected = reference.attention(q, k, v)
    np.testing.assert_array_equal(reference.attention(q, k, v, scale=1 / math.sqrt(D_K)), expected)
    for other in (1 / math.sqrt(D_V), 1.0):
        assert np.abs(reference.attention(q, k, v, scale=other) - expected).max() > 0.01


@masks
@every("bias", [False, True])
@every("sizes", [(T, S, D_K, D_V), (T, S, 6, 6), (T, 48, 8, 8)])
def test_what_the_kernel_of_a_gpu_is_given_has_the_same_answer(
    mask: str, bias: bool, sizes: tuple[int, int, int, int]
) -> None:
    given = problem(mask, sizes=sizes, bias=bias)
    with asked_as_on_a_gpu():
        assert_equal(outcome(given, "float64", "cpu"), given, "float64")
        x = tensors(given)
        four_axes = {name: x[name].unsqueeze(1) for name in ("q", "k", "v")}
        seen = [None] if x["mask"] is None else [x["mask"], x["mask"].mT.contiguous().mT]
        for shown in (one if one is None else one.unsqueeze(-3) for one in seen):
            y = fast.attention(**four_axes, mask=shown, bias=x["bias"])[:, 0]
            np.testing.assert_allclose(to_numpy(y), definition(given)[0], rtol=0, atol=1e-10)


def test_keys_without_a_head_axis_serve_all_heads() -> None:
    """Three axes of keys that look like the first of four: (17, 17, 4) beside (17, 17, 2, 4)."""
    rng = np.random.default_rng(0)
    q, k = rng.standard_normal((17, 17, 2, 4)), rng.standard_normal((17, 17, 4))
    got = fast.attention(*(to_torch(x, "float64") for x in (q, k, k)))
    np.testing.assert_allclose(to_numpy(got), reference.attention(q, k, k), rtol=0, atol=1e-10)
