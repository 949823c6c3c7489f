"""Masks: what they allow, how they combine, what attention makes of them; and what leaks."""

import tracemalloc
from collections.abc import Callable
from contextlib import nullcontext
from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.profiler import ProfilerActivity, profile

from attention_problems import asked_as_on_a_gpu, assert_equal, devices, dtypes, problem, tensors
from cases import to_numpy
from tformer import fast, reference

small = st.integers(0, 6)


@given(n_queries=small, n_keys=small, offset=small, n=st.integers(1, 7))
def test_masks_allow_what_their_words_say(n_queries: int, n_keys: int, offset: int, n: int) -> None:
    """One pair at a time, by the positions; each with the others beside it."""
    size = (n_queries, n_keys)
    causal = reference.causal_mask(*size, offset)
    window = reference.sliding_window_mask(*size, n, offset)
    prefix = reference.prefix_mask(*size, n - 1, offset)
    assert causal.shape == window.shape == prefix.shape == size
    for t, s in np.ndindex(size):
        ago = t + offset - s
        assert causal[t, s] == (ago >= 0)
        assert window[t, s] == (0 <= ago < n)
        assert prefix[t, s] == (ago >= 0 or s < n - 1)


@pytest.mark.parametrize("size", [(300, 300), (70, 300), (300, 70)], ids=str)
def test_long_masks_allow_what_their_words_say(size: tuple[int, int]) -> None:
    """Windows and prefixes about powers of two, where a row of keys is longer than any block."""
    t, s = np.ogrid[: size[0], : size[1]]
    for offset, n in product((0, 1, 63, 230), (1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256)):
        ago = t + offset - s
        wanted = {
            "causal_mask": (ago >= 0, {}),
            "sliding_window_mask": ((ago >= 0) & (ago < n), {"window": n}),
            "prefix_mask": ((ago >= 0) | (s < n), {"n_prefix": n}),
        }
        for name, (expected, numbers) in wanted.items():
            for module in (reference, fast):
                got = np.asarray(getattr(module, name)(*size, **numbers, offset=offset))
                np.testing.assert_array_equal(got, expected, err_msg=f"{name}, {n}, {offset}")


@given(n_queries=small, n_keys=small, offset=small)
def test_laws_of_masks(n_queries: int, n_keys: int, offset: int) -> None:
    size = (n_queries, n_keys)
    causal = reference.causal_mask(*size, offset)
    np.testing.assert_array_equal(reference.prefix_mask(*size, 0, offset), causal)
    assert reference.prefix_mask(*size, n_keys, offset).all()
    wide = n_queries + offset + 1
    np.testing.assert_array_equal(reference.sliding_window_mask(*size, wide, offset), causal)
    whole = reference.causal_mask(n_queries + offset, n_keys)
    np.testing.assert_array_equal(whole[offset:], causal)  # later rows are those of a cache
    hidden = ~causal
    np.testing.assert_array_equal(~hidden, causal)
    np.testing.assert_array_equal(reference.to_additive(causal) == -np.inf, hidden)
    np.testing.assert_array_equal(reference.from_additive(reference.to_additive(causal)), causal)


def test_padding_and_documents_of_a_batch() -> None:
    lengths, documents = np.array([[0], [2], [9]]), np.array([[3, 3, 7, -1], [-1, -1, 0, 0]])
    mask = reference.padding_mask(lengths, 3)
    assert mask.shape == (3, 1, 1, 3)
    np.testing.assert_array_equal(mask[:, 0, 0], [[0, 0, 0], [1, 1, 0], [1, 1, 1]])
    packed = reference.packed_mask(documents, documents)
    np.testing.assert_array_equal(packed[0], [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0] * 4])
    one_query = reference.packed_mask(np.array([7], np.int8), documents)
    np.testing.assert_array_equal(one_query[:, 0], [[0, 0, 1, 0], [0] * 4])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64"])
def test_lengths_and_documents_may_be_of_any_integer_dtype(dtype: str) -> None:
    numbers, other = np.array([0, 2, 3], dtype), np.array([-1, 0, 3, 3])
    for module, of in ((reference, np.asarray), (fast, torch.from_numpy)):
        padding = np.asarray(module.padding_mask(of(numbers), 3))
        np.testing.assert_array_equal(padding.sum(axis=(1, 2)), numbers)
        packed = np.asarray(module.packed_mask(of(numbers), of(other)))
        np.testing.assert_array_equal(packed, [[0, 1, 0, 0], [0] * 4, [0, 0, 1, 1]])


def test_masks_broadcast_under_and_and_or() -> None:
    """Padding of a batch and documents that look back at most two places: fully masked rows too."""
    rng = np.random.default_rng(0)
    documents = np.sort(rng.integers(-1, 3, (4, 2, 6)), axis=-1)
    lengths = np.array([[6], [5], [0], [3]])
    masks = []
    for module, of in ((reference, np.asarray), (fast, torch.from_numpy)):
        packed = module.packed_mask(of(documents), of(documents))
        seen = module.sliding_window_mask(6, 6, 3) & module.padding_mask(of(lengths), 6) & packed
        masks.append(np.asarray(seen))
    mask, other = masks
    assert mask.shape == (4, 2, 6, 6)
    np.testing.assert_array_equal(mask, other)
    for b, i, t, s in np.ndindex(mask.shape):
        same = documents[b, i, t] == documents[b, i, s] >= 0
        assert mask[b, i, t, s] == (same and t - 3 < s <= t and s < lengths[b, 0])
    q, k, v, grad = rng.standard_normal((4, 4, 2, 6, 5))
    y = reference.attention(q, k, v, mask)
    ours = fast.attention(*map(torch.from_numpy, (q, k, v, mask)))
    np.testing.assert_allclose(ours, y, rtol=0, atol=1e-10)
    nowhere = ~mask.any(axis=-1)
    assert nowhere.any()
    dq, *_ = reference.attention_vjp(q, k, v, grad, mask)
    for result in (y, ours.numpy(), dq):
        assert not result[nowhere].any()


def test_a_mask_and_the_bias_it_becomes_do_the_same() -> None:
    """In every precision: 0 and -inf are exact in all."""
    given = problem("random")
    bias = reference.to_additive(given.mask)
    expected = reference.attention(*given[:3], mask=given.mask)
    np.testing.assert_array_equal(reference.attention(*given[:3], bias=bias), expected)
    for dtype in (torch.float16, torch.bfloat16, torch.float32):
        narrow = fast.to_additive(torch.from_numpy(given.mask)).to(dtype)
        np.testing.assert_array_equal(fast.from_additive(narrow).numpy(), given.mask)
    for other in (-1e9, -65504.0, 1e-300, np.inf, np.nan):
        with pytest.raises(ValueError, match="must be 0 or -inf; got"):
            reference.from_additive(np.where(given.mask, 0.0, other))


LEAKS: dict[str, tuple[Callable[[np.ndarray], np.ndarray], int]] = {
    "none": (lambda p: p, 0),
    "one that is tiny": (lambda p: np.where(np.eye(4, k=2) == 1, -5e-324, p), 2),
    "one that is NaN": (lambda p: np.where(np.eye(4, k=2) == 1, np.nan, p), 2),
    "negative and infinite": (lambda p: p - np.where(np.eye(4, k=3) == 1, np.inf, 0), 1),
    "minus zero": (lambda p: np.where(p == 0, -0.0, p), 0),
    "all": (lambda p: p + 1, 6),
}


@pytest.mark.parametrize(("leak", "expected"), LEAKS.values(), ids=LEAKS)
def test_leaks_are_counted(leak: Callable[[np.ndarray], np.ndarray], expected: int) -> None:
    x = np.random.default_rng(0).standard_normal((3, 4, 2))
    mask = reference.causal_mask(4, 4)
    influence = leak(reference.attention_weights(x, x, mask))
    assert reference.count_leaks(influence, mask).tolist() == [expected] * 3
    assert fast.count_leaks(*map(torch.from_numpy, (influence, mask))).tolist() == [expected] * 3
    assert reference.count_leaks(influence, np.ones((1, 1), bool)).tolist() == [0] * 3


@devices
@dtypes
@pytest.mark.parametrize("offset", [0, 1, 35, 36, 99])
@pytest.mark.parametrize(
    "sizes",
    [
        *[(21, 37, 6, 5), (37, 21, 8, 8), (300, 300, 16, 16), (5, 5, 8, 8), (1, 40, 8, 8)],
        *[(16, 16, 2, 4), (37, 21, 3, 9), (5, 5, 2, 4)],
    ],
    ids=str,
)
def test_causal_attention_is_attention_with_the_causal_mask(
    sizes: tuple[int, int, int, int], offset: int, dtype: str, device: str
) -> None:
    """Output and gradients; beyond one block of the kernel, and with more queries than keys."""
    given = problem("none", dtype, sizes)
    given = given._replace(mask=reference.causal_mask(*sizes[:2], offset))
    expected = reference.causal_attention(*given[:3], offset=offset)
    np.testing.assert_array_equal(expected, reference.attention(*given[:3], mask=given.mask))
    as_on_a_gpu = [asked_as_on_a_gpu] if (dtype, device) == ("float64", "cpu") else []
    for how in (nullcontext, *as_on_a_gpu):
        x = tensors(given, dtype, device)
        leaves = [x[name].requires_grad_() for name in ("q", "k", "v")]
        with how():
            y = fast.causal_attention(*leaves, offset=offset)
        assert y.dtype == getattr(torch, dtype)
        y.backward(x["grad"])
        assert_equal([to_numpy(y), *(to_numpy(leaf.grad) for leaf in leaves)], given, dtype)


@pytest.mark.parametrize("leading", [(), (3,), (3, 1), (2, 3, 2)], ids=str)
def test_causal_attention_with_any_leading_axes(leading: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for d_k, d_v, scale in ((8, 8, 0.3), (8, 8, None), (3, 5, None), (8, 16, None), (11, 2, None)):
        widths = ((leading, d_k), ((3, 1), d_k), (leading, d_v))
        q, k, v = (rng.standard_normal((*shape, 20, width)) for shape, width in widths)
        expected = reference.causal_attention(q, k, v, scale=scale)
        for how in (nullcontext, asked_as_on_a_gpu):
            with how():
                y = fast.causal_attention(*map(torch.from_numpy, (q, k, v)), scale=scale)
            np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=1e-10)


def peak(call: Callable[[], object]) -> float:
    """The most memory that PyTorch holds at once during a call, in tables of 4096 x 4096 bytes."""
    held = most = 0
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as found:
        call()
    for event in found.profiler.kineto_results.events():
        held += event.nbytes() if event.name() == "[memory]" else 0
        most = max(most, held)
    return most / LONG**2


LONG = 4096
BYTES: dict[str, tuple[Callable[[torch.Tensor], object], float]] = {
    "causal attention": (lambda x: fast.causal_attention(*x), 0.1),
    "its gradients": (lambda x: fast.causal_attention(*x).sum().backward(), 0.2),
    "attention under padding": (lambda x: fast.attention(*x, mask=padding()), 0.1),
    "a causal mask": (lambda x: fast.causal_mask(LONG, LONG), 1.1),
    "a window": (lambda x: fast.sliding_window_mask(LONG, LONG, 9), 2.1),
    "a prefix": (lambda x: fast.prefix_mask(LONG, LONG, 9), 1.1),
    "documents": (lambda x: fast.packed_mask(*[torch.zeros(LONG, dtype=int)] * 2), 1.1),
}


def padding() -> torch.Tensor:
    return fast.padding_mask(torch.tensor([LONG - 9]), LONG)


@pytest.mark.parametrize(("call", "most"), BYTES.values(), ids=BYTES)
def test_no_mask_is_larger_than_it_must_be(
    call: Callable[[torch.Tensor], object], most: float
) -> None:
    """A byte for each pair where the pairs differ, and less where all queries see the same."""
    assert peak(lambda: call(torch.randn(3, 1, LONG, 8, requires_grad=True))) < most


def test_no_mask_of_numpy_is_larger_than_it_must_be() -> None:
    masks = {
        1.1: lambda: reference.causal_mask(LONG, LONG),
        2.1: lambda: reference.sliding_window_mask(LONG, LONG, 9),
        2.2: lambda: reference.prefix_mask(LONG, LONG, 9),
        2.3: lambda: reference.packed_mask(*[np.zeros(LONG, int)] * 2),
        0.1: lambda: reference.padding_mask(np.array([9]), LONG),
    }
    for most, call in masks.items():
        tracemalloc.start()
        call()
        assert tracemalloc.get_traced_memory()[1] / LONG**2 < most
        tracemalloc.stop()
