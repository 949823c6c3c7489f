"""Near the ends of each format: a result that the format can hold is right, and so is its gradient.

Scaling a vector by a power of two is exact. So cosine, projection, norm and PPMI of scaled vectors
are held, to the last bit, to those of small whole numbers, scaled in turn.
"""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch

from cases import TOLERANCE, to_numpy, to_torch
from tformer import fast, reference
from tformer_book.claims.tools import formula, identity, row

EXPONENTS = {
    "float64": (-1074, -1022, -600, -500, -1, 0, 1, 500, 600, 1020),
    "float32": (-149, -126, -80, -60, -1, 0, 1, 60, 80, 124),
    "float16": (-24, -14, -10, -8, -1, 0, 1, 8, 10, 12),
    "bfloat16": (-133, -126, -80, -60, -1, 0, 1, 60, 80, 124),
}
"""From the smallest positive number to where 7 times the power still is in range. Below the second,
the smallest normal number, digits are lost, and of gradients nothing is asked."""
LARGEST = {dtype: torch.finfo(getattr(torch, dtype)).max for dtype in EXPONENTS}
Q = np.array([[3.0, 4, 0], [-1, 2, 2], [0, 0, 0], [7, -6, 6], [1, 1, 1]])
K = np.array([[4.0, 3, 0], [2, 2, 1], [1, 5, 2], [0, 0, 0], [-1, -1, -1]])
COUNTS = np.array([[6.0, 2, 0], [1, 7, 3], [0, 0, 1]])


def both(name: str, dtype: str, *arrays: np.ndarray, **settings: Any) -> list[np.ndarray]:
    """What the twins give in `dtype`, in float64; NumPy has no bfloat16."""
    tensors = [to_torch(a, dtype) for a in arrays]
    results = [to_numpy(getattr(fast, name)(*tensors, **settings))]
    if dtype != "bfloat16":
        narrow = [a.astype(dtype) for a in arrays]
        results.append(getattr(reference, name)(*narrow, **settings).astype(float))
    return results


def gradients(name: str, dtype: str, weights: np.ndarray, *arrays: np.ndarray) -> list[np.ndarray]:
    leaves = [to_torch(a, dtype).requires_grad_() for a in arrays]
    getattr(fast, name)(*leaves).backward(to_torch(weights, dtype))
    return [to_numpy(leaf.grad) for leaf in leaves if leaf.grad is not None]


def test_the_formula_of_the_projection_still_takes_symbols() -> None:
    x = row("x", 2, positive=True)
    along = formula(reference.projection)(np.array([1, 0], dtype=object), x)
    identity(along[1], x[0] * x[1] / (x[0] ** 2 + x[1] ** 2), "projection of (1, 0)")


@pytest.mark.parametrize("name", ["cosine_similarity", "pairwise_cosine"])
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_a_cosine_does_not_depend_on_lengths(name: str, dtype: str) -> None:
    usual = both(name, dtype, Q, K)
    for q, k in product(EXPONENTS[dtype], repeat=2):
        scaled = both(name, dtype, np.ldexp(Q, q), np.ldexp(K, k))
        np.testing.assert_array_equal(scaled, usual, err_msg=f"2^{q} q, 2^{k} k")


@pytest.mark.parametrize("dtype", EXPONENTS)
def test_a_length_grows_with_its_vector(dtype: str) -> None:
    usual = both("norm", dtype, Q)
    for e in EXPONENTS[dtype]:
        wanted = to_numpy(to_torch(np.ldexp(usual, e), dtype))
        np.testing.assert_array_equal(both("norm", dtype, np.ldexp(Q, e)), wanted, f"2^{e} q")


@pytest.mark.parametrize("dtype", EXPONENTS)
def test_a_projection_grows_with_its_vector_and_not_with_the_line(dtype: str) -> None:
    usual = reference.projection(Q, K)
    smallest, bound = 2.0 ** EXPONENTS[dtype][0], TOLERANCE[dtype].bound * 11
    for q, k in product(EXPONENTS[dtype], repeat=2):
        for got in both("projection", dtype, np.ldexp(Q, q), np.ldexp(K, k)):
            error = np.abs(got - np.ldexp(usual, q))
            assert (error <= 2.0**q * bound + smallest).all(), f"2^{q} q, 2^{k} k"


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_a_projection_as_long_as_the_format_allows(dtype: str) -> None:
    """The length of (m, m) is beyond the largest number m, the point itself is not."""
    most = LARGEST[dtype]
    for got in both("projection", dtype, np.full((1, 2), most), np.ones((1, 2))):
        np.testing.assert_allclose(got, most, rtol=TOLERANCE[dtype].bound)


@pytest.mark.parametrize("dtype", EXPONENTS)
def test_ppmi_does_not_depend_on_the_unit_of_the_counts(dtype: str) -> None:
    usual = both("ppmi", dtype, COUNTS)
    for e in EXPONENTS[dtype]:
        got = both("ppmi", dtype, np.ldexp(COUNTS, e))
        np.testing.assert_array_equal(got, usual, err_msg=f"2^{e} counts")


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[2, 1], [1, 2]], [[math.log(4 / 3), 0], [0, math.log(4 / 3)]]),
        ([[160, 80], [80, 160]], [[math.log(4 / 3), 0], [0, math.log(4 / 3)]]),
        ([[300, 10], [10, 300]], [[math.log(60 / 31), 0], [0, math.log(60 / 31)]]),
        ([[240, 240], [240, 240]], [[0, 0], [0, 0]]),
        ([[60000, 60000], [60000, 0]], [[0, math.log(1.5)], [math.log(1.5), 0]]),
    ],
)
def test_ppmi_of_large_counts(dtype: str, counts: list, expected: list) -> None:
    """In float16 the product of two sums overflows from 256 on."""
    for got in both("ppmi", dtype, np.array(counts, float)):
        np.testing.assert_allclose(got, expected, rtol=2**-6 if dtype == "bfloat16" else 2e-3)
        assert (got[np.array(expected) == 0] == 0).all()


@pytest.mark.parametrize(
    ("dtype", "exponent"), [("float16", 24), ("bfloat16", 120), ("float32", 120), ("float64", 1000)]
)
def test_ppmi_of_a_rare_word_beside_a_frequent_one(dtype: str, exponent: int) -> None:
    """The share of the rare word is a number of the format, and its square is none."""
    for got in both("ppmi", dtype, np.diag([2.0**-exponent, 1])):
        rare = [[exponent * math.log(2), 0], [0, 0]]
        np.testing.assert_allclose(got, rare, rtol=TOLERANCE[dtype].bound, atol=1e-7)


@pytest.mark.parametrize("name", ["cosine_similarity", "pairwise_cosine", "ppmi"])
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_gradients_shrink_as_vectors_grow(name: str, dtype: str) -> None:
    """Of a function that does not change with its length; so far as the format can hold them."""
    arrays = (Q, K) if name != "ppmi" else (COUNTS,)
    weights = np.ones_like(both(name, dtype, *arrays)[0])
    usual = gradients(name, dtype, weights, *arrays)
    for e in EXPONENTS[dtype][1:]:
        scaled = gradients(name, dtype, weights, *(np.ldexp(a, e) for a in arrays))
        for got, at_one in zip(scaled, usual, strict=True):
            wanted = to_numpy(to_torch(np.ldexp(at_one, -e), dtype))
            held = np.isfinite(wanted)
            bound = TOLERANCE[dtype].bound * 2.0**-e + 2.0 ** EXPONENTS[dtype][0]
            assert (np.abs(got - wanted)[held] <= bound).all(), f"at 2^{e}"


@pytest.mark.parametrize("name", ["norm", "projection"])
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_gradients_of_length_and_projection_do_not_depend_on_the_scale(
    name: str, dtype: str
) -> None:
    arrays = (Q,) if name == "norm" else (Q, K)
    weights = np.array([1.0, -1, 0.5, 0.25, 2])
    weights = weights if name == "norm" else np.outer(weights, [1, 0, -1])
    usual = gradients(name, "float64", weights, *arrays)
    for e in EXPONENTS[dtype][1:]:
        scaled = gradients(name, dtype, weights, *(np.ldexp(a, e) for a in arrays))
        for got, wanted in zip(scaled, usual, strict=True):
            assert (np.abs(got - wanted) <= TOLERANCE[dtype].bound * 11).all(), f"at 2^{e}"


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float32", 1e20), ("float64", 1e155), ("float32", 1e-24), ("bfloat16", 1e20)],
)
def test_equal_vectors_at_magnitudes_whose_squares_are_out_of_range(
    dtype: str, value: float
) -> None:
    x = np.full((1, 2), value)
    bound = TOLERANCE[dtype].bound
    for name, expected in {
        "cosine_similarity": 1.0,
        "pairwise_cosine": 1.0,
        "projection": value,
    }.items():
        for got in both(name, dtype, x, x):
            np.testing.assert_allclose(got, expected, rtol=bound)
    for got in both("norm", dtype, x):
        np.testing.assert_allclose(got, math.sqrt(2) * value, rtol=bound)


def test_gradient_of_a_short_projection_under_a_small_weight() -> None:
    """The gradient is the weight along the line; their product with the vector is no number."""
    weights, tiny = np.full((1, 2), 2.0**-100), np.full((1, 2), 2.0**-60)
    got, _ = gradients("projection", "float32", weights, tiny, np.ones((1, 2)))
    np.testing.assert_allclose(got, weights, rtol=TOLERANCE["float32"].bound)


@pytest.mark.parametrize("name", ["squared_distance", "pairwise_squared_distance"])
@pytest.mark.parametrize("dtype", EXPONENTS)
def test_gradients_of_squared_distances_grow_with_the_vectors(name: str, dtype: str) -> None:
    weights = np.ones_like(both(name, dtype, Q, K)[0])
    usual = gradients(name, "float64", weights, Q, K)
    for e in (e for e in EXPONENTS[dtype][1:] if 2 * e < math.log2(LARGEST[dtype]) - 9):
        scaled = gradients(name, dtype, weights, np.ldexp(Q, e), np.ldexp(K, e))
        for got, at_one in zip(scaled, usual, strict=True):
            error = np.abs(got - np.ldexp(at_one, e))
            smallest = 2.0 ** EXPONENTS[dtype][0]
            assert (error <= 2.0**e * 100 * TOLERANCE[dtype].bound + smallest).all(), f"at 2^{e}"


def test_squared_distances_are_never_negative() -> None:
    """The law of cosines alone gives negative numbers for vectors that are close to each other."""
    x = torch.randn(100, 64, generator=torch.Generator().manual_seed(0))
    squared = x.square().sum(dim=-1)
    assert (squared[:, None] + squared - 2 * x @ x.mT).min() < 0
    assert fast.pairwise_squared_distance(x, x).min() >= 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_embeddings_of_a_table_in_half_precision(dtype: str) -> None:
    """The singular values 4, 2 and 1 are far apart, so that rounding does not turn the vectors."""
    turn = np.array([[2.0, -1, 2], [2, 2, -1], [-1, 2, 2]]) / 3
    matrix = to_numpy(to_torch(turn @ np.diag([4.0, 2, 1]), dtype))
    expected = reference.svd_embeddings(matrix, 2)
    for got in both("svd_embeddings", dtype, matrix, d_model=2):
        np.testing.assert_allclose(got, expected, rtol=0, atol=4 * TOLERANCE[dtype].bound)


NEIGHBOURS = {"float16": (250.0, 251.0), "bfloat16": (256.0, 258.0), "float32": (2.0**11, 2047.0)}


@pytest.mark.parametrize(("dtype", "q", "k"), [(d, *pair) for d, pair in NEIGHBOURS.items()])
def test_squared_distance_of_neighbours_far_from_zero(dtype: str, q: float, k: float) -> None:
    """In float16 the squares of both, and in bfloat16 their last digits, are out of reach."""
    for name in ("squared_distance", "pairwise_squared_distance"):
        for got in both(name, dtype, np.array([[q, -q]]), np.array([[k, -k]])):
            np.testing.assert_array_equal(got, 2 * (q - k) ** 2)


@pytest.mark.parametrize(
    ("dtype", "exponent"), [("float32", 66), ("bfloat16", 66), ("float64", 520)]
)
def test_squared_distances_of_a_table_whose_squares_overflow(dtype: str, exponent: int) -> None:
    """Equal vectors are 0 apart, up to the documented error; opposite ones too far for a number."""
    points = np.ldexp([[1.0, 1], [-1, -1]], exponent)
    table = both("pairwise_squared_distance", dtype, points, points)
    for got in table:
        error = np.sqrt(np.diagonal(got).max() / TOLERANCE[dtype].bound)
        assert error <= 2 * 2.0**exponent
        assert (got[[0, 1], [1, 0]] == np.inf).all()
    one = np.ldexp([[1.0, 1]], exponent)
    for got in gradients("pairwise_squared_distance", dtype, np.ones((1, 1)), one, one):
        assert (np.abs(got) <= 4 * 2.0**exponent * TOLERANCE[dtype].bound).all()


def test_an_infinite_or_undefined_vector_does_not_touch_the_distances_of_others() -> None:
    q = np.array([[3.0, 4], [np.inf, 0], [np.nan, 0], [2.0**40, 0]])
    k = np.array([[0.0, 0], [-np.inf, 1], [3, 5]])
    for dtype in ("float64", "float32", "bfloat16"):
        for got in both("pairwise_squared_distance", dtype, q, k):
            near, far = got[::3, ::2]
            np.testing.assert_array_equal(near, [25, 1])
            np.testing.assert_allclose(far, 2.0**80, rtol=TOLERANCE[dtype].bound + 1e-9)
            assert not np.isfinite(got[1:3]).any()
            assert not np.isfinite(got[:, 1]).any()


HALF = {
    "products that overflow": ("dot", [[300, 300]], [[300, -300]], {}, [0]),
    "products that vanish": ("dot", [[2**-13] * 64], [[2**-13] * 64], {}, [2**-20]),
    "squares that vanish": ("squared_distance", [[2**-13] * 64], [[0] * 64], {}, [2**-20]),
    "length beyond the range": ("projection", [[60000, 60000]], [[1, 1]], {}, [[60000, 60000]]),
    "difference of scores": ("softmax", [[60000, -60000]], None, {"beta": 1e-5}, None),
    "difference of scores, logarithm": (
        "log_softmax",
        [[60000, -60000]],
        None,
        {"beta": 1e-5},
        None,
    ),
    "difference of gradients": (
        "softmax_vjp",
        [[0.5, 0.5]],
        [[60000, -60000]],
        {},
        [[30000, -30000]],
    ),
    "weights times beta": (
        "softmax_vjp",
        [[0.5, 0.5]],
        [[2**-4, -(2**-4)]],
        {"beta": 2.0**18},
        [[2**13, -(2**13)]],
    ),
    "small weights, large beta": (
        "softmax_jacobian",
        [[2**-14, 2**-14]],
        None,
        {"beta": 2.0**20},
        None,
    ),
}


@pytest.mark.parametrize(
    ("name", "first", "second", "settings", "expected"), HALF.values(), ids=HALF
)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_is_rounded_at_the_end_only(
    dtype: str, name: str, first: list, second: list | None, settings: dict, expected: Any
) -> None:
    arrays = [to_numpy(to_torch(np.array(a, float), dtype)) for a in (first, second) if a]
    if expected is None:
        expected = getattr(reference, name)(*arrays, **settings)
    for got in both(name, dtype, *arrays, **settings):
        np.testing.assert_allclose(got, expected, rtol=2 * TOLERANCE[dtype].bound, atol=0)
