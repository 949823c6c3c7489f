"""Attention: every mask, every edge, every precision; and the libraries that also compute it.

The case table holds `reference` and `fast` to each other on small arrays. Here the rows are longer
than a vector register and than the blocks of the kernels.
"""

import math
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

from cases import INF, NAN, TOLERANCE, cases, to_numpy, to_torch
from tformer import fast, reference
from tformer.fast.attention import _for_gpu, _four_axes_of_mask
from tformer.reference.blockwise import ROWS, _fits, attention_by_rows

DEVICES = ("cpu", *(["cuda"] if torch.cuda.is_available() else []))
T, S, K, V = 21, 37, 6, 5
Arrays = dict[str, Any]


def random_mask(n_queries: int, n_keys: int) -> np.ndarray:
    mask = np.random.default_rng(1).random((n_queries, n_keys)) < 0.4
    mask[3] = mask[-1] = False
    return mask


MASKS: dict[str, Callable[[int, int], np.ndarray | None]] = {
    "none": lambda t, s: None,
    "all": lambda t, s: np.ones((t, s), bool),
    "nothing": lambda t, s: np.zeros((t, s), bool),
    "causal": lambda t, s: np.tri(t, s, dtype=bool),
    "causal, last rows aligned": lambda t, s: np.tri(t, s, s - t, dtype=bool),
    "first rows empty": lambda t, s: np.tri(t, s, -4, dtype=bool),
    "window": lambda t, s: np.tri(t, s, dtype=bool) & ~np.tri(t, s, -3, dtype=bool),
    "first key only": lambda t, s: np.arange(s)[np.newaxis, :] == np.zeros((t, 1)),
    "last key only": lambda t, s: np.arange(s)[np.newaxis, :] == np.full((t, 1), s - 1),
    "padding": lambda t, s: np.arange(s)[np.newaxis, :] < s - 9,
    "queries left out": lambda t, s: np.arange(t)[:, np.newaxis] % 2 == 0,
    "random": random_mask,
    "two of a batch": lambda t, s: np.stack([random_mask(t, s), np.tri(t, s, dtype=bool)]),
    "one number": lambda t, s: np.zeros((1, 1), bool),
}
masks = pytest.mark.parametrize("mask", MASKS)
dtypes = pytest.mark.parametrize("dtype", TOLERANCE)
devices = pytest.mark.parametrize("device", DEVICES)


class Problem(NamedTuple):
    """Arrays in float64, already rounded to the dtype they will be given in."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    grad: np.ndarray
    mask: np.ndarray | None
    bias: np.ndarray | None

    @property
    def seen(self) -> Arrays:
        return {"mask": self.mask, "bias": self.bias}


def problem(
    mask: str = "none",
    dtype: str = "float64",
    sizes: tuple[int, int, int, int] = (T, S, K, V),
    bias: bool = False,
) -> Problem:
    t, s, k, v = sizes
    rng = np.random.default_rng(0)
    shapes = [(2, t, k), (2, s, k), (2, s, v), (2, t, v), (t, s)]
    arrays = [to_numpy(to_torch(rng.standard_normal(x), dtype)) for x in shapes]
    return Problem(*arrays[:4], MASKS[mask](t, s), arrays[4] if bias else None)


def tensors(given: Problem, dtype: str = "float64", device: str = "cpu") -> Arrays:
    return {
        name: None if x is None else to_torch(x, dtype, device)
        for name, x in given._asdict().items()
    }


def kept(wanted: Arrays, *names: str) -> Arrays:
    return {name: wanted[name] for name in names}


def outcome(given: Problem, dtype: str, device: str) -> list[np.ndarray]:
    """Output, and gradients by autograd, of the fast path."""
    x = tensors(given, dtype, device)
    leaves = [x[name].requires_grad_() for name in ("q", "k", "v", "bias") if x[name] is not None]
    y = fast.attention(**kept(x, "q", "k", "v", "mask", "bias"))
    assert y.dtype == getattr(torch, dtype)
    assert y.device.type == device
    y.backward(x["grad"])
    return [to_numpy(y), *(to_numpy(leaf.grad) for leaf in leaves)]


def definition(given: Problem) -> list[np.ndarray]:
    """Output and gradients of the definition."""
    q, k, v, grad = given[:4]
    found = reference.attention_vjp(q, k, v, grad, **given.seen)
    return [reference.attention(q, k, v, **given.seen), *(x for x in found if x is not None)]


def magnitudes(given: Problem) -> tuple[float, list[float]]:
    """The largest score, and for output and gradients the sum of the sizes of what is added up."""
    q, k, v, grad = map(np.abs, given[:4])
    weights = reference.attention_weights(given.q, given.k, **given.seen)
    scale = 1 / math.sqrt(q.shape[-1])
    spread = grad @ v.mT
    dscores = weights * (spread + (weights * spread).sum(axis=-1, keepdims=True))
    met = [weights @ v, scale * dscores @ k, scale * dscores.mT @ q, weights.mT @ grad]
    met += [] if given.bias is None else [dscores.sum(axis=0)]
    scores = scale * q @ k.mT + (0 if given.bias is None else np.abs(given.bias))
    return float(scores.max()), [float(x.max(initial=0)) for x in met]


def assert_equal(got: list[np.ndarray], given: Problem, dtype: str) -> None:
    """Hold output and gradients to the definition.

    The bound is that of the case table, 8 roundings of half a unit of each term; and a score s is
    known in float32 to s half units at best, which the exponential turns into as large a relative
    error of a weight.
    """
    largest_score, met = magnitudes(given)
    bound = TOLERANCE[dtype].bound
    if dtype != "float64":
        bound += TOLERANCE["float32"].bound * largest_score
    for one, expected, magnitude in zip(got, definition(given), met, strict=True):
        np.testing.assert_allclose(one, expected, rtol=0, atol=bound * max(magnitude, 1e-3))


@devices
@dtypes
@masks
@pytest.mark.parametrize("bias", [False, True], ids=["", "bias"])
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


@devices
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@masks
def test_both_vector_jacobian_products_agree(mask: str, dtype: str, device: str) -> None:
    given = problem(mask, dtype, bias=True)
    x = tensors(given, dtype, device)
    got = [to_numpy(gradient) for gradient in fast.attention_vjp(**x)]
    assert_equal([reference.attention(*given[:3], **given.seen), *got], given, dtype)


def test_a_gradient_without_a_bias_is_none() -> None:
    given = problem()
    assert reference.attention_vjp(*given[:4])[3] is None
    assert fast.attention_vjp(*list(tensors(given).values())[:4])[3] is None


def test_fast_vjp_works_where_no_gradients_are_recorded() -> None:
    x = tensors(problem("causal"))
    with torch.no_grad():
        inside = fast.attention_vjp(**x)
    for one, other in zip(inside[:3], fast.attention_vjp(**x)[:3], strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(T, S), (1, S), (T, 1), (1, 1), (2, 1, S), (2, T, S)], ids=str)
def test_gradients_are_differences_of_the_definition(shape: tuple[int, ...]) -> None:
    """Central differences with step 1e-5 are off by about 1e-10, and by 1e-9 after the sums."""
    given = problem("random")
    rng = np.random.default_rng(2)
    arrays: Arrays = {**kept(given._asdict(), "q", "k", "v"), "bias": rng.standard_normal(shape)}
    arrays["q"] = arrays["q"][:1]
    found = reference.attention_vjp(grad=given.grad, mask=given.mask, **arrays)
    for (name, array), gradient in zip(arrays.items(), found, strict=True):
        assert gradient is not None
        assert gradient.shape == array.shape
        direction, step = rng.standard_normal(array.shape), 1e-5
        moved = [
            reference.attention(
                mask=given.mask, **{**arrays, name: array + sign * step * direction}
            )
            for sign in (1, -1)
        ]
        slope = ((moved[0] - moved[1]) * given.grad).sum() / (2 * step)
        np.testing.assert_allclose((gradient * direction).sum(), slope, rtol=1e-7, atol=1e-7)


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
        attention_by_rows(q, k, v, mask, bias),
        fast.attention(**kept(x, "q", "k", "v", "mask", "bias")).numpy(),
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)
    for one, other in zip(fast.attention_vjp(**x), definition(given)[1:], strict=True):
        np.testing.assert_allclose(to_numpy(one), other, rtol=0, atol=1e-10)


@devices
@dtypes
@masks
@pytest.mark.parametrize("n_keys", [3, S])
def test_four_axes_as_the_kernel_wants_them(
    mask: str, n_keys: int, dtype: str, device: str
) -> None:
    """Then `fast` calls the kernel at once, if nothing else stands against it."""
    given = problem(mask if n_keys == S else "none", dtype, (T, n_keys, 8, 8))
    given.q[1, 4] = NAN
    x = tensors(given, dtype, device)
    folded = {name: x[name].unsqueeze(0) for name in ("q", "k", "v")}
    turned = {name: one.mT.contiguous().mT for name, one in folded.items()}
    expected = reference.attention(*given[:3], mask=given.mask)
    bound = 8 * TOLERANCE[dtype].bound
    for arrays in (folded, turned):
        got = to_numpy(fast.attention(**arrays, mask=x["mask"]))[0]
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound)


@devices
@dtypes
@pytest.mark.parametrize("mask", ["nothing", "first rows empty", "random", "one number"])
def test_a_row_that_may_look_nowhere_is_exactly_zero(mask: str, dtype: str, device: str) -> None:
    given = problem(mask, dtype)
    assert given.mask is not None
    blind = ~np.broadcast_to(given.mask, (T, S)).any(axis=-1)
    assert blind.any()
    y, dq, dk, dv = outcome(given, dtype, device)
    weights = fast.attention_weights(**kept(tensors(given, dtype, device), "q", "k", "mask"))
    exact = definition(given)
    for x in (y, dq, to_numpy(weights), exact[0], exact[1]):
        np.testing.assert_array_equal(x[:, blind], 0)
    for x in (dk, dv, *exact[2:]):
        assert np.isfinite(x).all()
        assert blind.all() <= (not x.any())


@pytest.mark.parametrize("bias", [False, True])
def test_a_bias_of_minus_infinity_hides_like_the_mask(bias: bool) -> None:
    given = problem("random", bias=bias)
    assert given.mask is not None
    hidden = np.where(given.mask, 0 if given.bias is None else given.bias, -INF)
    other = given._replace(mask=None, bias=hidden)
    expected = definition(given)
    np.testing.assert_array_equal(definition(other)[0], expected[0])
    np.testing.assert_allclose(outcome(other, "float64", "cpu")[0], expected[0], rtol=0, atol=1e-10)


class Edge(NamedTuple):
    """An entry or a row of one argument is replaced; `rows` of the output are then `expected`.

    Queries and keys are positive otherwise, so that the sign of an infinite score is known. There
    are 7 queries; with a mask, query 4 may not look at key 0, nor query 2 at key 1.
    """

    name: str
    where: Any
    value: float
    rows: Any
    expected: float


EVERYWHERE, COLUMN, NOTHING = np.s_[:], np.s_[:, 2], np.s_[:0]
EDGES = {
    "a query of NaN": Edge("q", np.s_[4], NAN, 4, NAN),
    "a NaN in a query": Edge("q", np.s_[4, 1], NAN, 4, NAN),
    "a query of +inf": Edge("q", np.s_[4], INF, 4, NAN),
    "a query of -inf": Edge("q", np.s_[4], -INF, 4, 0),
    "a key of NaN": Edge("k", np.s_[1], NAN, EVERYWHERE, NAN),
    "a NaN in a key": Edge("k", np.s_[1, 0], NAN, EVERYWHERE, NAN),
    "a key of +inf": Edge("k", np.s_[1], INF, EVERYWHERE, NAN),
    "a key of -inf": Edge("k", np.s_[1], -INF, NOTHING, 0),
    "keys of -inf only": Edge("k", EVERYWHERE, -INF, EVERYWHERE, 0),
    "a NaN in a value": Edge("v", np.s_[1, 2], NAN, COLUMN, NAN),
    "an infinite value": Edge("v", np.s_[1, 2], INF, np.s_[4, 2], INF),
    "a bias of +inf": Edge("bias", np.s_[4, 1], INF, 4, NAN),
    "a bias of NaN": Edge("bias", np.s_[4, 1], NAN, 4, NAN),
    "a bias of -inf": Edge("bias", np.s_[4], -INF, 4, 0),
    "one score far above": Edge("bias", np.s_[4, 1], 1e4, NOTHING, 0),
    "one score far below": Edge("bias", np.s_[4, 1], -1e4, NOTHING, 0),
    "scores large and equal": Edge("bias", EVERYWHERE, 2.0**14, NOTHING, 0),
}


def edge_problem(edge: Edge, n_keys: int, dtype: str, masked: bool) -> Problem:
    given = problem("none", dtype, (7, n_keys, 8, 8), bias=edge.name == "bias")
    arrays: Arrays = {name: getattr(given, name)[0].copy() for name in ("q", "k", "v", "grad")}
    arrays |= {"q": np.abs(arrays["q"]), "k": np.abs(arrays["k"]), **given.seen}
    arrays[edge.name][edge.where] = edge.value
    if masked:
        arrays["mask"] = np.ones((7, n_keys), bool)
        arrays["mask"][4, 0] = arrays["mask"][2, 1] = False
    return Problem(**arrays)


def edge_bound(given: Problem, dtype: str) -> float:
    """Twice the bound of the case table; and the rounding of a score s, to s half units."""
    scores = np.abs(given.bias[np.isfinite(given.bias)]) if given.bias is not None else np.zeros(1)
    rounding = 0 if dtype == "float64" else TOLERANCE["float32"].bound * float(scores.max())
    return 2 * TOLERANCE[dtype].bound + rounding


edges = pytest.mark.parametrize("edge", EDGES.values(), ids=EDGES)
row_lengths = pytest.mark.parametrize("n_keys", [2, 15, 40, 600])
masked = pytest.mark.parametrize("masked", [False, True], ids=["", "mask"])


@devices
@dtypes
@masked
@row_lengths
@edges
def test_outcome_of_extreme_infinite_and_undefined_entries(
    edge: Edge, n_keys: int, masked: bool, dtype: str, device: str
) -> None:
    given = edge_problem(edge, n_keys, dtype, masked)
    expected = reference.attention(*given[:3], **given.seen)
    np.testing.assert_array_equal(expected[edge.rows], edge.expected)
    x = kept(tensors(given, dtype, device), "q", "k", "v", "mask", "bias")
    bound = edge_bound(given, dtype) * np.abs(given.v[np.isfinite(given.v)]).max()
    four_axes = x | {name: x[name][None, None] for name in ("q", "k", "v")}
    for got in (
        to_numpy(fast.attention(**x)),
        to_numpy(fast.attention(**four_axes))[0, 0],
        attention_by_rows(*given[:3], **given.seen),
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound)
    weights = reference.attention_weights(*given[:2], **given.seen)
    del x["v"]
    np.testing.assert_allclose(
        to_numpy(fast.attention_weights(**x)), weights, rtol=0, atol=edge_bound(given, dtype)
    )


@devices
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@masked
@row_lengths
@edges
def test_gradient_of_extreme_infinite_and_undefined_entries(
    edge: Edge, n_keys: int, masked: bool, dtype: str, device: str
) -> None:
    given = edge_problem(edge, n_keys, dtype, masked)
    found = reference.attention_vjp(*given[:4], **given.seen)
    got = outcome(given, dtype, device)[1:]
    expected = [x for x in found if x is not None]
    if edge.value == INF and edge.expected != INF:
        del got[2], expected[2]  # PyTorch's kernel leaves some of dv 0, where it should be NaN
    for one, other in zip(got, expected, strict=True):
        largest = max(1, np.abs(other[np.isfinite(other)]).max(initial=0))
        np.testing.assert_allclose(one, other, rtol=0, atol=edge_bound(given, dtype) * largest)


def test_a_hidden_value_that_is_not_finite_still_shows_as_nan() -> None:
    given = edge_problem(EDGES["an infinite value"], 40, "float64", masked=True)
    y = reference.attention(*given[:3], **given.seen)
    assert np.isnan(y[2, 2])
    assert (np.delete(y[:, 2], 2) == INF).all()
    assert np.isfinite(np.delete(y, 2, axis=1)).all()


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
    allowed = tensors(problem(mask, sizes=(T, T, K, V)), device=device)["mask"]
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
@pytest.mark.parametrize("sizes", [(T, S, K, V), (T, S, 8, 8), (300, 40, 3, 8)], ids=str)
def test_fast_never_stores_the_scores(
    mask: str, dtype: str, sizes: tuple[int, int, int, int]
) -> None:
    """Only the fused kernel is allowed, so PyTorch would refuse what it cannot compute."""
    x = tensors(problem(mask, dtype, sizes), dtype)
    arrays = kept(x, "q", "k", "v")
    turned = {name: one.mT.contiguous().mT for name, one in arrays.items()}
    with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        for given in (arrays, turned, {**arrays, "k": x["k"][:1]}, {**arrays, "v": x["v"][0]}):
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


def scaled_up(given: Problem, factor: float) -> Problem:
    return given._replace(q=given.q * factor)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
@masks
@pytest.mark.parametrize("factor", [1.0, 1e4], ids=["", "large scores"])
@pytest.mark.parametrize("sizes", [(T, S, K, V), (2 * ROWS + 88, 300, K, V)], ids=str)
def test_by_rows_is_the_definition(
    mask: str, dtype: str, factor: float, sizes: tuple[int, int, int, int]
) -> None:
    given = scaled_up(problem(mask, dtype, sizes), factor)
    q, k, v = (x.astype(dtype) for x in given[:3])
    expected = reference.attention(q, k, v, given.mask)
    got = attention_by_rows(q, k, v, given.mask)
    assert got.dtype == expected.dtype == dtype
    largest_score, met = magnitudes(given)
    bound = TOLERANCE[dtype].bound
    bound += 0 if dtype == "float64" else TOLERANCE["float32"].bound * min(largest_score, 88)
    np.testing.assert_allclose(got, expected, rtol=0, atol=bound * met[0])
    wide = "float32" if dtype == "float16" else dtype
    scaled = (q * (1 / math.sqrt(K))).astype(wide)
    assert _fits(scaled[0], k[0].astype(wide), v[0].astype(wide)) == (factor == 1)


def test_by_rows_has_the_values_of_the_case_table() -> None:
    for _, case in cases("attention"):
        np.testing.assert_allclose(
            attention_by_rows(**case.arrays, **case.settings),
            reference.attention(**case.arrays, **case.settings),
            rtol=0,
            atol=1e-10,
        )


@pytest.mark.parametrize("size", [1e-30, 1e-20, 1e-10, 1.0, 1e10, 1e20, 1e30, 1e36])
def test_by_rows_keeps_its_digits_for_values_of_any_size(size: float) -> None:
    given = problem("causal")
    q, k = (3 * x.astype(np.float32) for x in given[:2])
    v = (size * given.v).astype(np.float32)
    expected = reference.attention(q, k, v, given.mask)
    got = attention_by_rows(q, k, v, given.mask)
    largest = np.abs(v).max() * magnitudes(given._replace(q=3 * given.q, k=3 * given.k))[0]
    np.testing.assert_allclose(
        got, expected, rtol=0, atol=TOLERANCE["float32"].bound * float(largest)
    )


def test_by_rows_needs_memory_for_a_strip_and_not_for_the_table() -> None:
    n, strip = 2048, ROWS * 2048 * 4
    q, k, v = (np.random.default_rng(0).standard_normal((n, 8), np.float32) for _ in range(3))
    peaks = []
    for function in (attention_by_rows, reference.attention):
        tracemalloc.start()
        function(q, k, v)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] < 1.25 * strip
    assert peaks[1] > 2 * n * n * 4


def test_the_scale_of_the_key_width_is_the_default() -> None:
    q, k, v, *_ = problem("none")
    expected = reference.attention(q, k, v)
    np.testing.assert_array_equal(reference.attention(q, k, v, scale=1 / math.sqrt(K)), expected)
    for other in (1 / math.sqrt(V), 1.0):
        assert np.abs(reference.attention(q, k, v, scale=other) - expected).max() > 0.01


@pytest.mark.parametrize("kind", ["mask", "one row of mask", "bias"])
def test_what_the_kernels_of_a_gpu_are_given_has_the_same_answer(kind: str) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 2, n, 8)) for n in (5, 7, 7))
    mask = rng.random((1, 1, 1 if kind == "one row of mask" else 5, 7)) < 0.5
    mask[..., 0, :] = False
    bias = np.where(mask, rng.standard_normal(mask.shape), -np.inf) if kind == "bias" else None
    expected = reference.attention(q, k, v, mask=None if kind == "bias" else mask, bias=bias)
    shown = torch.from_numpy(mask if bias is None else bias)
    keys, values, shown, nowhere = _for_gpu(torch.from_numpy(k), torch.from_numpy(v), shown)
    assert keys.shape[-2] == values.shape[-2] == shown.shape[-1] == 16
    y = scaled_dot_product_attention(torch.from_numpy(q), keys, values, attn_mask=shown)
    np.testing.assert_allclose(y.masked_fill(nowhere, 0.0), expected, rtol=0, atol=1e-12)
