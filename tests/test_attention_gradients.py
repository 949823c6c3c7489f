"""The gradients of attention: both vector-Jacobian products, and differences."""

import numpy as np
import pytest
import torch

from attention_problems import (
    Arrays,
    S,
    T,
    assert_equal,
    devices,
    kept,
    masks,
    problem,
    tensors,
)
from cases import to_numpy
from tformer import fast, reference


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
