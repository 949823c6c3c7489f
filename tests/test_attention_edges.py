"""Attention at its edges: fully masked rows, entries that are extreme, infinite or NaN."""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch

from attention_problems import (
    Arrays,
    Problem,
    S,
    T,
    asked_as_on_a_gpu,
    definition,
    devices,
    dtypes,
    kept,
    outcome,
    problem,
    tensors,
)
from cases import TOLERANCE, to_numpy
from edges import INF, NAN
from every import every
from tformer import fast, reference


@devices
@dtypes
@every("mask", ["nothing", "first rows empty", "random", "one number"])
def test_a_row_that_may_look_nowhere_is_exactly_zero(mask: str, dtype: str, device: str) -> None:
    given = problem(mask, dtype)
    assert given.mask is not None
    masked_rows = ~np.broadcast_to(given.mask, (T, S)).any(axis=-1)
    assert masked_rows.any()
    y, dq, dk, dv = outcome(given, dtype, device)
    weights = fast.attention_weights(**kept(tensors(given, dtype, device), "q", "k", "mask"))
    exact = definition(given)
    for x in (y, dq, to_numpy(weights), exact[0], exact[1]):
        np.testing.assert_array_equal(x[:, masked_rows], 0)
    for x in (dk, dv, *exact[2:]):
        assert np.isfinite(x).all()
        assert masked_rows.all() <= (not x.any())


@pytest.mark.parametrize("bias", [False, True])
def test_a_bias_of_minus_infinity_hides_like_the_mask(bias: bool) -> None:
    given = problem("random", bias=bias)
    assert given.mask is not None
    additive = np.where(given.mask, 0 if given.bias is None else given.bias, -INF)
    other = given._replace(mask=None, bias=additive)
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
row_lengths = every("n_keys", [2, 15, 40, 600])
masked = every("masked", [False, True])


def assert_outcome(edge: Edge, n_keys: int, masked: bool, dtype: str, device: str) -> None:
    given = edge_problem(edge, n_keys, dtype, masked)
    expected = reference.attention(*given[:3], **given.seen)
    np.testing.assert_array_equal(expected[edge.rows], edge.expected)
    x = kept(tensors(given, dtype, device), "q", "k", "v", "mask", "bias")
    bound = edge_bound(given, dtype) * np.abs(given.v[np.isfinite(given.v)]).max()
    four_axes = x | {name: x[name][None, None] for name in ("q", "k", "v")}
    for got in (
        to_numpy(fast.attention(**x)),
        to_numpy(fast.attention(**four_axes))[0, 0],
        reference.blockwise_attention(*given[:3], **given.seen),
    ):
        np.testing.assert_allclose(got, expected, rtol=0, atol=bound)
    weights = reference.attention_weights(*given[:2], **given.seen)
    del x["v"]
    np.testing.assert_allclose(
        to_numpy(fast.attention_weights(**x)), weights, rtol=0, atol=edge_bound(given, dtype)
    )


def assert_gradient(edge: Edge, n_keys: int, masked: bool, dtype: str, device: str) -> None:
    given = edge_problem(edge, n_keys, dtype, masked)
    found = reference.attention_vjp(*given[:4], **given.seen)
    got = outcome(given, dtype, device)[1:]
    expected = [x for x in found if x is not None]
    if edge.value == INF and edge.expected != INF:
        del got[2], expected[2]  # PyTorch's kernel leaves some of dv 0, where it should be NaN
    for one, other in zip(got, expected, strict=True):
        largest = max(1, np.abs(other[np.isfinite(other)]).max(initial=0))
        np.testing.assert_allclose(one, other, rtol=0, atol=edge_bound(given, dtype) * largest)


@devices
@dtypes
@masked
@row_lengths
@edges
def test_outcome_of_extreme_infinite_and_undefined_entries(
    edge: Edge, n_keys: int, masked: bool, dtype: str, device: str
) -> None:
    assert_outcome(edge, n_keys, masked, dtype, device)
    if dtype in ("float64", "float32"):
        assert_gradient(edge, n_keys, masked, dtype, device)


def test_a_hidden_value_that_is_not_finite_still_shows_as_nan() -> None:
    given = edge_problem(EDGES["an infinite value"], 40, "float64", masked=True)
    y = reference.attention(*given[:3], **given.seen)
    assert np.isnan(y[2, 2])
    assert (np.delete(y[:, 2], 2) == INF).all()
    assert np.isfinite(np.delete(y, 2, axis=1)).all()


@masked
@row_lengths
@edges
def test_what_the_kernel_of_a_gpu_is_given_has_the_same_outcome(
    edge: Edge, n_keys: int, masked: bool
) -> None:
    with asked_as_on_a_gpu():
        assert_outcome(edge, n_keys, masked, "float64", "cpu")
        assert_gradient(edge, n_keys, masked, "float64", "cpu")


class Spread(NamedTuple):
    """One entry is replaced; where output and gradients are then not finite. Else they are.

    Query 0 is fully masked, query 1 may look everywhere but at key 2, query 2 everywhere.
    """

    name: str
    where: tuple[int, int]
    value: float
    y: Any
    dq: Any
    dk: Any
    dv: Any


ALL, COLUMN_1, NONE = np.s_[:], np.s_[:, 1], np.s_[:0]
SPREADS = {
    "nothing unusual": Spread("v", (2, 1), 1, NONE, NONE, NONE, NONE),
    "a value of NaN": Spread("v", (2, 1), NAN, COLUMN_1, ALL, ALL, NONE),
    "an infinite value": Spread("v", (2, 1), INF, COLUMN_1, ALL, ALL, NONE),
    "a key of NaN": Spread("k", (2, 1), NAN, ALL, ALL, ALL, ALL),
    "a key whose scores are +inf": Spread("k", (2, 1), INF, ALL, ALL, ALL, ALL),
    "a key whose scores are -inf": Spread("k", (2, 1), -INF, NONE, COLUMN_1, NONE, NONE),
    "a query of NaN, fully masked": Spread("q", (0, 1), NAN, 0, 0, ALL, ALL),
    "a query whose scores are +inf": Spread("q", (1, 1), INF, 1, 1, ALL, ALL),
    "a query whose scores are -inf": Spread("q", (1, 1), -INF, NONE, NONE, COLUMN_1, NONE),
    "a gradient of NaN where none may look": Spread("grad", (0, 1), NAN, NONE, 0, ALL, COLUMN_1),
    "a gradient of NaN": Spread("grad", (1, 1), NAN, NONE, 1, ALL, COLUMN_1),
    "an infinite gradient": Spread("grad", (1, 1), INF, NONE, 1, ALL, COLUMN_1),
}
as_asked = every("asked", [nullcontext, asked_as_on_a_gpu])


@as_asked
@every("n_keys", [5, 20, 40])
@pytest.mark.parametrize("spread", SPREADS.values(), ids=SPREADS)
def test_how_far_an_infinite_or_undefined_entry_spreads(
    spread: Spread, n_keys: int, asked: Callable[[], AbstractContextManager[None]]
) -> None:
    """Queries and keys are positive otherwise, so that the sign of an infinite score is known."""
    found = problem("none", sizes=(3, n_keys, 8, 8))._asdict()
    arrays: Arrays = {name: np.abs(found[name][0]) for name in ("q", "k", "v", "grad")}
    arrays[spread.name][spread.where] = spread.value
    arrays["mask"] = np.ones((3, n_keys), bool)
    arrays["mask"][0], arrays["mask"][1, 2] = False, False
    given = Problem(**arrays, bias=None)
    with asked():
        for results in (definition(given), outcome(given, "float64", "cpu")):
            for result, where in zip(results, spread[3:], strict=True):
                unusual = np.zeros(result.shape, bool)
                unusual[where] = True
                np.testing.assert_array_equal(np.isfinite(result), ~unusual)
            for result in results[:2]:
                np.testing.assert_array_equal(result[0][np.isfinite(result[0])], 0)


@pytest.mark.parametrize("n_keys", [5, 40])
def test_a_hidden_score_that_overflows_shows_as_nan(n_keys: int) -> None:
    given = problem("none", "float32", (3, n_keys, 8, 8))
    q, k, v = (x[0].astype(np.float32) for x in given[:3])
    mask = np.arange(n_keys) != [[1]] * 3
    q[1], k[1] = 1e20, 1e20
    for y in (
        reference.attention(q, k, v, mask),
        fast.attention(*map(torch.from_numpy, (q, k, v, mask))).numpy(),
    ):
        np.testing.assert_array_equal(np.isfinite(y).all(axis=-1), [True, False, True])
        assert np.isnan(y[1]).all()


SIZES_OF_NONE = {
    "no queries": (0, 20, 8, 8),
    "no keys": (3, 0, 8, 8),
    "no key width": (3, 20, 0, 8),
    "no value width": (3, 20, 8, 0),
    "no width": (3, 20, 0, 0),
    "nothing": (0, 0, 0, 0),
}


@as_asked
@every("masked", [False, True])
@every("leading", [(), (2,), (1, 2)])
@pytest.mark.parametrize("sizes", SIZES_OF_NONE.values(), ids=SIZES_OF_NONE)
def test_an_axis_of_size_0_leaves_zeros_or_the_mean_of_the_values(
    sizes: tuple[int, int, int, int],
    leading: tuple[int, ...],
    masked: bool,
    asked: Callable[[], AbstractContextManager[None]],
) -> None:
    given = problem("all" if masked else "none", sizes=sizes)
    cut = [np.broadcast_to(x[0], (*leading, *x.shape[1:])) for x in given[:4]]
    given = Problem(*cut, given.mask, None)
    mean = given.v.sum(axis=-2, keepdims=True) / max(sizes[1], 1)
    with asked():
        for y, dq, dk, dv in (definition(given), outcome(given, "float64", "cpu")):
            assert [x.shape for x in (y, dq, dk, dv)] == [x.shape for x in (given.grad, *cut[:3])]
            if sizes[2] == 0:
                np.testing.assert_allclose(y, np.broadcast_to(mean, y.shape), rtol=0, atol=1e-10)
            elif sizes[1] == 0:
                np.testing.assert_array_equal(y, 0)
            np.testing.assert_array_equal(dq, 0)
            np.testing.assert_array_equal(dk, 0)
            assert np.isfinite(dv).all()


@as_asked
@dtypes
@every("entry", [INF, -INF, NAN])
@every("leading", [(), (2,), (1, 2)])
@pytest.mark.parametrize("seen", ["nothing", "mask", "bias", "mask and bias"])
def test_without_a_key_even_an_infinite_or_undefined_query_gives_zeros(
    seen: str,
    leading: tuple[int, ...],
    entry: float,
    dtype: str,
    asked: Callable[[], AbstractContextManager[None]],
) -> None:
    given = problem("all" if "mask" in seen else "none", dtype, (3, 0, 8, 8), bias="bias" in seen)
    cut = [np.broadcast_to(x[0], (*leading, *x.shape[1:])).copy() for x in given[:4]]
    cut[0][..., 1, 2] = cut[3][..., 0, 2] = entry  # of the query, and of the gradient
    given = Problem(*cut, given.mask, given.bias)
    x = tensors(given, dtype)
    x |= {name: x[name].new_zeros(x[name].shape) for name in ("k", "v")}  # with usual strides
    with asked():
        y = fast.attention(**kept(x, "q", "k", "v", "mask", "bias"))
        passed_back = [one for one in fast.attention_vjp(**x) if one is not None]
        for result in (*definition(given), *map(to_numpy, (y, *passed_back))):
            assert not result.any()
    assert not reference.blockwise_attention(*given[:3], **given.seen).any()
    shape = (*leading, 3, 0)
    assert reference.attention_weights(*given[:2], **given.seen).shape == shape
    assert fast.attention_weights(**kept(x, "q", "k", "mask", "bias")).shape == shape
