"""Integers at the limits of what a machine counts with: exact in both libraries, or refused."""

import inspect
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

from cases import FUNCTIONS, Case, arguments, as_one, default_dtype, make, to_torch
from every import every
from tformer import fast, reference
from tformer.docstrings import LARGEST, documented

LEAST, MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
SMALL = {
    **{"n_queries": 2, "n_keys": 3, "window": 2, "n_prefix": 1, "n_heads": 2, "offset": 0},
    **{"n_vocab": 4, "d_model": 2, "d_k": 4, "block": 2, "period": 2, "capacity": 1, "n_rounds": 2},
}
COUNTED = [
    (name, count)
    for name in FUNCTIONS
    for count, words in documented(getattr(reference, name)).ranges.items()
    if words.startswith("at least")
]
SIZES = {"T": 2, "S": 3, "d_k": 4, "d_v": 2, "N": 3, "H": 2, "G": 1, "d_model": 4}
SIZES |= {"d_ff": 5, "n_ctx": 7, "n_experts": 4, "n_streams": 2}


def with_counts(name: str, **counts: int) -> Case:
    """A small case, but for some of its counts."""
    taken = inspect.signature(getattr(reference, name)).parameters
    small = {key: value for key, value in SMALL.items() if key in taken}
    said = documented(getattr(reference, name))
    return make(name, SIZES, [()] * len(said.names), small | counts)


def by(module: Any, case: Case) -> Any:
    wrap = np.asarray if module is reference else lambda x: to_torch(x, "float64")
    arrays = {key: wrap(x) for key, x in case.arrays.items()}
    with default_dtype("float64"):
        return as_one(getattr(module, case.function)(**arguments(arrays), **case.settings))


def test_every_count_of_the_library_is_here() -> None:
    assert ("causal_mask", "offset") in COUNTED
    assert len(COUNTED) >= 20


@every("counted", COUNTED)
@every("value", [LARGEST + 1, 2**53, 2**63 - 1, 2**63, 2**64, 10**30])
def test_a_count_that_is_too_large_is_refused_by_name(counted: tuple[str, str], value: int) -> None:
    name, count = counted
    for module in (reference, fast):
        with pytest.raises(ValueError, match=f"^{name}: {count} must be at most {LARGEST}; got "):
            by(module, with_counts(name, **{count: value}))


@every("counted", [x for x in COUNTED if x[1] in ("offset", "window", "n_prefix", "capacity")])
def test_the_largest_count_gives_the_same_in_both_libraries(counted: tuple[str, str]) -> None:
    """What states a size is left out: no machine holds so large a table."""
    name, count = counted
    for others in ({}, {"offset": LARGEST}):
        taken = inspect.signature(getattr(reference, name)).parameters
        case = with_counts(
            name, **({key: x for key, x in others.items() if key in taken} | {count: LARGEST})
        )
        expected, got = by(reference, case), by(fast, case)
        np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-12)


def test_masks_and_biases_at_the_largest_offset_are_exact() -> None:
    """Each entry by Python's integers, which know no limit."""
    t, s = np.arange(2) + LARGEST, np.arange(3)
    size = (2, 3)
    for module in (reference, fast):
        with default_dtype("float64"):
            bias = np.asarray(module.alibi_bias(3, *size, LARGEST))
            slopes = [float(x) for x in module.alibi_slopes(3)]
        for h, i, j in np.ndindex(bias.shape):
            exact = -Fraction(slopes[h]) * abs(int(t[i]) - int(s[j]))
            assert abs(Fraction(float(bias[h, i, j])) - exact) <= abs(exact) * Fraction(2) ** -52
        assert np.asarray(module.causal_mask(*size, LARGEST)).all()
        assert np.asarray(module.prefix_mask(*size, 0, LARGEST)).all()
        assert np.asarray(module.prefix_mask(*size, LARGEST, 0)).all()
        assert np.asarray(module.sliding_window_mask(*size, LARGEST, LARGEST)).tolist() == [
            [False, True, True],
            [False, False, True],
        ]


@every("dtype", ["int8", "uint8", "int16", "int32", "uint32", "int64"])
def test_lengths_and_documents_at_the_ends_of_their_range(dtype: str) -> None:
    ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    wide = np.array([LEAST, -1, int(ends[1]), MOST])
    expected = [[int(a) == int(b) >= 0 for b in wide] for a in ends]
    for module, wrap in ((reference, np.asarray), (fast, torch.from_numpy)):
        padding = np.asarray(module.padding_mask(wrap(ends), 3))
        assert padding.tolist() == [[[False] * 3], [[True] * 3]]
        packed = np.asarray(module.packed_mask(wrap(ends), wrap(wide)))
        assert packed.tolist() == expected


def test_positions_of_a_full_range_have_waves() -> None:
    ends = np.array([LEAST, -1, 0, MOST])
    with default_dtype("float64"):
        got = fast.sinusoidal(torch.from_numpy(ends), 4)
    np.testing.assert_allclose(got, reference.sinusoidal(ends, 4), rtol=0, atol=1e-10)
