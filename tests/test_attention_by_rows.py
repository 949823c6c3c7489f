"""Attention a strip of rows at a time: the definition, in less memory."""

import math
import tracemalloc

import numpy as np
import pytest

from attention_problems import (
    D_K,
    D_V,
    Problem,
    S,
    T,
    magnitudes,
    masks,
    problem,
)
from cases import TOLERANCE, cases
from every import every
from tformer import reference
from tformer.reference.blockwise import ROWS, _fits, attention_by_rows


def scaled_up(given: Problem, factor: float) -> Problem:
    return given._replace(q=given.q * factor)


@masks
@every("dtype", ["float64", "float32", "float16"])
@every("factor", [1.0, 1e4])
@every("sizes", [(T, S, D_K, D_V), (2 * ROWS + 88, 300, D_K, D_V)])
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
    scaled = (q * (1 / math.sqrt(D_K))).astype(wide)
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
