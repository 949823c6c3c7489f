"""The case table on a CUDA device: same values, same gradients, nothing leaves the device."""

from typing import Any

import numpy as np
import pytest
import torch

from cases import (
    FUNCTIONS,
    NOT_DIFFERENTIABLE,
    SCORES,
    TOLERANCE,
    Case,
    arguments,
    as_one,
    by_fast,
    cases,
    magnitude,
    precisions,
    rounded,
    to_numpy,
    to_torch,
    tolerance,
)
from edges import EDGES
from tformer import fast, reference

if not torch.cuda.is_available():  # nothing is collected then, and the summary says why
    pytest.skip("torch finds no CUDA device on this machine", allow_module_level=True)

ALL = [pytest.param(case, id=f"{f}-{i}") for f in FUNCTIONS for i, case in cases(f)]
ROWS = [pytest.param(f, *row, id=f"{f}-{i}") for f in EDGES for i, row in EDGES[f].items()]


@pytest.mark.parametrize("case", ALL)
def test_values_are_those_of_the_definition(case: Case) -> None:
    for dtype in precisions(case.function, "fast"):
        known = rounded(case, dtype)
        expected = as_one(
            getattr(reference, case.function)(**arguments(known.arrays), **case.settings)
        )
        got = by_fast(case, dtype, "cuda")
        bound = tolerance(case.function, dtype) * magnitude(known, np.asarray(expected))
        np.testing.assert_allclose(to_numpy(got), np.asarray(expected), rtol=0, atol=bound)


@pytest.mark.parametrize(("name", "row", "expected"), ROWS)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_edge_contract(name: str, row: list[float], expected: Any, dtype: str) -> None:
    case = Case(name, {"x" if name in SCORES else "p": np.array(row, float)}, {})
    got = to_numpy(by_fast(case, dtype, "cuda"))
    bound = TOLERANCE[dtype].bound
    np.testing.assert_allclose(got, expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in NOT_DIFFERENTIABLE])
def test_gradients_are_those_of_the_cpu(name: str) -> None:
    case = next(case for kind, case in cases(name) if kind == "plain-0")
    gradients = []
    for device in ("cpu", "cuda"):
        tensors = {k: to_torch(v, "float64", device) for k, v in case.arrays.items()}
        leaves = {k: x.requires_grad_(x.is_floating_point()) for k, x in tensors.items()}
        result = getattr(fast, name)(**arguments(leaves), **case.settings)
        weights = torch.arange(result.numel(), dtype=result.dtype, device=device)
        (result * weights.view(result.shape)).sum().backward()
        gradients.append([to_numpy(leaf.grad) for leaf in leaves.values() if leaf.grad is not None])
    assert gradients[0]
    for cpu, cuda in zip(*gradients, strict=True):
        np.testing.assert_allclose(cuda, cpu, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_a_fully_masked_row_has_zero_gradient(name: str, beta: float) -> None:
    x = torch.full((2, 3), -torch.inf, device="cuda").index_fill(
        0, torch.tensor([1], device="cuda"), 0
    )
    x.requires_grad_()
    getattr(fast, name)(x, beta=beta)[..., :1].sum().backward()
    assert x.grad is not None
    assert x.grad.isfinite().all()
    assert not x.grad[0].any()
