"""`reference` and `fast` are the same functions: same names, arguments, values and gradients."""

import inspect
import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from attention_problems import asked_as_on_a_gpu
from cases import (
    ATTENTION,
    BLOCKS,
    DROPS,
    ENTRIES,
    FEEDS,
    FUNCTIONS,
    GROUPED,
    HEADS,
    INTEGERS_ONLY,
    LAYOUTS,
    MODELS,
    NORMS,
    NOT_DIFFERENTIABLE,
    NOT_HALF,
    RULES,
    SCORES,
    SEAMS,
    SETTINGS,
    SIZES,
    SIZES_TAKEN,
    STREAMS,
    TOLERANCE,
    VALUES_NEEDED,
    Case,
    arguments,
    as_one,
    by_fast,
    cases,
    changed,
    magnitude,
    make,
    precisions,
    rounded,
    said,
    to_numpy,
    to_torch,
    tolerance,
)
from edges import EDGES
from every import every, try_each
from tformer import fast, reference
from tformer.docstrings import sections
from tformer.parameters import NormParameters

DIFFERENTIABLE = [name for name in FUNCTIONS if name not in ("softmax", *NOT_DIFFERENTIABLE)]
ROWS = [pytest.param(f, *row, id=f"{f}-{i}") for f in EDGES for i, row in EDGES[f].items()]
SCALED = [n for n in FUNCTIONS if "scale" in inspect.signature(getattr(reference, n)).parameters]
ONLY_FAST = {"Module", "QuantisedMatrix", "pick_device"}


def define(case: Case) -> np.ndarray:
    """What the definition says, in float64."""
    function = getattr(reference, case.function)
    return np.asarray(as_one(function(**arguments(case.arrays), **case.settings)))


def by_reference(case: Case, dtype: str) -> np.ndarray:
    """What the definition itself gives in `dtype`; numbers that are no integers must have it."""
    arrays = {
        key: value.astype(dtype) if value.dtype.kind == "f" else value
        for key, value in case.arrays.items()
    }
    return define(case._replace(arrays=arrays))


def assert_twins_agree(case: Case, dtypes: Sequence[str]) -> None:
    """Both twins give, in each dtype, what the definition gives in float64 for the same numbers.

    Results have that dtype, unless the docstring says integer or boolean.
    """
    wanted = kind_of_result(case.function)
    for dtype in dtypes:
        known = rounded(case, dtype)
        expected = define(known)
        assert torch.from_numpy(expected).dtype == (wanted or torch.float64)
        results = [by_fast(case, dtype)]
        if dtype in precisions(case.function, "reference")[1:]:
            results.append(torch.from_numpy(by_reference(case, dtype)))
        bound = tolerance(case.function, dtype) * magnitude(known, expected)
        for result in results:
            assert result.dtype == (wanted or getattr(torch, dtype))
            np.testing.assert_allclose(
                to_numpy(result), expected, rtol=0, atol=bound, err_msg=dtype
            )


@cache
def kind_of_result(name: str) -> torch.dtype | None:
    """The dtype of what a function returns, if it is not that of its floating-point arrays."""
    returns = sections(getattr(reference, name).__doc__ or "")["Returns"]
    kinds = {"integer": torch.int64, "boolean": torch.bool}
    return next((dtype for kind, dtype in kinds.items() if f") {kind} array" in returns), None)


def test_both_modules_have_the_same_public_names() -> None:
    assert set(fast.__all__) - ONLY_FAST == set(reference.__all__)


@every("name", FUNCTIONS)
def test_signatures_agree(name: str) -> None:
    def essentials(module: object) -> list[tuple[object, ...]]:
        parameters = inspect.signature(getattr(module, name)).parameters.values()
        return [(p.name, p.kind, p.default) for p in parameters]

    assert essentials(fast) == essentials(reference)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_twins_have_the_values_of_the_definition(name: str) -> None:
    """In every dtype, in that dtype, and with their arguments as they were."""
    try_each(assert_values, ((kind, (case,)) for kind, case in cases(name)))


def assert_values(case: Case) -> None:
    before = {key: value.copy() for key, value in case.arrays.items()}
    assert_twins_agree(case, precisions(case.function, "fast"))
    for key, value in before.items():
        np.testing.assert_array_equal(case.arrays[key], value)


@every("name", FUNCTIONS)
def test_any_one_array_may_have_leading_axes_that_no_other_has(name: str) -> None:
    """So a gradient may have more axes than what it is the gradient of."""
    names, spec, *_ = said(name)
    for i in range(len(names) if "..." in spec else 0):
        leading = [(3,) if i == j else () for j in range(len(names))]
        for settings in SETTINGS.get(name, [{}])[:3]:
            assert_twins_agree(make(name, SIZES, leading, settings), ["float64"])


@every("name", SCALED)
def test_what_has_a_scale_has_the_same_values_by_the_kernel_of_a_gpu(name: str) -> None:
    with asked_as_on_a_gpu():
        try_each(assert_twins_agree, ((kind, (case, ["float64"])) for kind, case in cases(name)))


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n not in VALUES_NEEDED])
def test_fast_leaves_tensors_on_their_device(name: str) -> None:
    """What is made of numbers alone lies on the default device.

    There tensors have no values: cases that differ in nothing else are tried once.
    """
    tried = set()
    for kind, case in cases(name):
        arrays = ((key, x.shape, x.strides, x.dtype) for key, x in case.arrays.items())
        alike = (*arrays, repr(case.settings))
        if alike not in tried and (name not in MODELS or kind.startswith("plain")):
            tried.add(alike)
            assert by_fast(case, "float32", "meta").is_meta


@pytest.mark.parametrize("name", [n for n in FUNCTIONS if said(n).names])
@given(data=st.data())
def test_values_agree_on_generated_cases(name: str, data: st.DataObject) -> None:
    """Generated sizes, leading axes, temperatures, entries and layouts, in every dtype."""
    n_arrays = len(said(name).names)
    shapes = mutually_broadcastable_shapes(num_shapes=n_arrays, min_side=0, max_dims=2, max_side=3)
    leading = list(data.draw(shapes).input_shapes)
    sizes = data.draw(st.fixed_dictionaries(dict.fromkeys(SIZES, st.integers(0, 6))))
    settings = data.draw(st.sampled_from(SETTINGS.get(name, [{}])))
    if "beta" in settings:
        settings = settings | {"beta": data.draw(st.floats(0.1, 4))}
    if name == "svd_embeddings":
        sizes["N"] = max(sizes["N"], settings["d_model"])
    case = make(name, sizes, leading, settings)
    entries = [change for functions, change in ENTRIES.values() if name in functions]
    for changes in (entries, [*LAYOUTS.values()]):
        case = changed(case, data.draw(st.sampled_from([lambda a: a, *changes])))
    exact = name in (*ATTENTION, *HEADS, *GROUPED, *SEAMS, *BLOCKS, *MODELS, *FEEDS, *NOT_HALF)
    exact = exact or name in INTEGERS_ONLY
    assert_twins_agree(case, ["float64"] if exact else precisions(name, "fast"))


@pytest.mark.parametrize(("name", "row", "expected"), ROWS)
@pytest.mark.parametrize("axis", [-1, 0])
def test_edge_contract(name: str, row: list[float], expected: Any, axis: int) -> None:
    plain = np.array([row, np.zeros(len(row))])
    x = plain if axis == -1 else plain.T
    for dtype in TOLERANCE:
        results = [to_numpy(getattr(fast, name)(to_torch(x, dtype), axis=axis))]
        if dtype != "bfloat16":
            results.append(getattr(reference, name)(x.astype(dtype), axis=axis))
        for result in results:
            got = result if result.ndim == 1 else np.moveaxis(result, axis, -1)
            bound = TOLERANCE[dtype].bound
            np.testing.assert_allclose(got[0], expected, rtol=bound, atol=bound)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("beta", [0.25, 1.0, 3.0, 1e30])
def test_edges_agree_at_every_temperature(name: str, beta: float) -> None:
    for dtype in ("float64", "float32", "float16"):
        large = float(np.finfo(dtype).max) / 2
        for row in [*(row for row, _ in EDGES[name].values()), [large, 0.0], [-large, 0.0]]:
            x = np.array([row], dtype=dtype)
            got = to_numpy(getattr(fast, name)(to_torch(x, dtype), beta=beta))
            expected = getattr(reference, name)(x, beta=beta)
            bound = TOLERANCE[dtype].bound
            np.testing.assert_allclose(got, expected, rtol=bound, atol=bound)


OWN_SHAPES = (*RULES, "gated_delta_rule_vjp", "gated_convolution", "gated_convolution_vjp")
OWN_SHAPES += STREAMS
ANY_SIZE = [n for n in FUNCTIONS if n not in (*SIZES_TAKEN, *OWN_SHAPES)]


@pytest.mark.parametrize(
    "name", [n for n in ANY_SIZE if n not in (*INTEGERS_ONLY, *VALUES_NEEDED, *FEEDS, *DROPS)]
)
def test_reference_never_warns(name: str) -> None:
    rows = [np.array([row]) for row, _ in EDGES["softmax"].values() if row]
    rows += [np.full((1, 3), 1e300), np.full((1, 3), 1e-300)]
    with np.errstate(all="raise"), warnings.catch_warnings(action="error"):
        for row in rows:
            value = np.abs(np.repeat(row, 3, axis=0)) if name == "ppmi" else row
            if name in ("previous_token_scores", "induction_scores"):
                value = np.repeat(row, row.shape[-1], axis=0)[np.newaxis]
            wanted = said(name)
            needed = [key for key in wanted.names if key not in wanted.optional]
            given = {key: value == 0 if key in wanted.kinds else value for key in needed}
            given |= {"u": np.abs(row[:, 0])} if name == "sample" else SETTINGS.get(name, [{}])[0]
            given |= {"parameters": NormParameters()} if name in NORMS else {}
            given |= {"window": 2} if name == "window_attention" else {}
            getattr(reference, name)(**given)


def test_a_half_precision_result_out_of_range_is_infinite_without_a_warning() -> None:
    large = np.array([60000.0, 60000.0], dtype=np.float16)
    with np.errstate(all="raise"):
        assert reference.dot(large, large) == np.inf


def weighted(
    name: str, arrays: dict[str, np.ndarray], settings: dict[str, Any], grad: np.ndarray
) -> float:
    result = as_one(getattr(reference, name)(**arguments(arrays), **settings))
    return float((result * grad).sum())


def central_difference(case: Case, key: str, grad: np.ndarray) -> np.ndarray:
    """Gradient of the reference's result, weighted by `grad`, with respect to one argument."""
    step, result = 1e-5, np.zeros_like(case.arrays[key])
    for index in np.ndindex(result.shape):
        for sign in (1, -1):
            moved = case.arrays[key].copy()
            moved[index] += sign * step
            value = weighted(case.function, case.arrays | {key: moved}, case.settings, grad)
            result[index] += sign * value / (2 * step)
    return result


def gradients(case: Case, grad: np.ndarray) -> dict[str, np.ndarray]:
    """Gradients of the fast function, by autograd."""
    tensors = {k: to_torch(v, "float64") for k, v in case.arrays.items()}
    for tensor in tensors.values():
        tensor.requires_grad_(tensor.is_floating_point())
    result = as_one(getattr(fast, case.function)(**arguments(tensors), **case.settings))
    result.backward(torch.as_tensor(grad))
    return {k: to_numpy(t.grad) for k, t in tensors.items() if t.grad is not None}


@pytest.mark.parametrize("name", DIFFERENTIABLE)
def test_autograd_agrees_with_differences_of_the_definition(name: str) -> None:
    """Bound 1e-7: the difference is off by step² f''' / 6 and by rounding eps / step, 1e-10 each
    times the size of f''', which reaches a few hundred here."""
    for kind, case in cases(name):
        if not kind.startswith(("plain", "batch", "broadcast", "one has")):
            continue
        rng, positive = np.random.default_rng(0), {"p", "counts"} & set(case.arrays)
        smooth = {k: np.abs(v) + 0.3 for k, v in case.arrays.items() if k in positive}
        if name == "ppmi":  # off the kink, where a pair is as frequent as chance would have it
            smooth = {k: v + 0.1 * rng.random(v.shape) for k, v in smooth.items()}
        case = case._replace(arrays=case.arrays | smooth)
        grad = rng.standard_normal(define(case).shape)
        for key, got in gradients(case, grad).items():
            expected = central_difference(case, key, grad)
            np.testing.assert_allclose(got, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("settings", SETTINGS["softmax"])
def test_autograd_of_softmax_is_the_vjp_of_the_definition(settings: dict[str, Any]) -> None:
    rng = np.random.default_rng(0)
    x, grad = rng.standard_normal((2, 4, 4, 3)).reshape(2, 4, 12)
    x[1, :] = x[:, 5] = -np.inf
    x[2, 3] = -np.inf
    got = gradients(Case("softmax", {"x": x}, settings), grad)["x"]
    expected = reference.softmax_vjp(reference.softmax(x, **settings), grad, **settings)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("beta", [0.25, 1.0, 3.0])
def test_gradient_of_logsumexp_is_softmax(beta: float) -> None:
    x = np.random.default_rng(0).standard_normal((3, 5))
    x[1], x[2, 2] = -np.inf, -np.inf
    got = gradients(Case("logsumexp", {"x": x}, {"beta": beta}), np.ones(3))["x"]
    np.testing.assert_allclose(got, reference.softmax(x, beta=beta), rtol=0, atol=1e-10)


@pytest.mark.parametrize("beta", [0.25, 1.0])
def test_jacobian_is_that_of_autograd(beta: float) -> None:
    x = torch.randn(5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    got = torch.func.jacrev(lambda scores: fast.softmax(scores, beta=beta))(x)
    expected = reference.softmax_jacobian(reference.softmax(x.numpy(), beta=beta), beta=beta)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("beta", [1.0, 3.0])
def test_a_fully_masked_row_has_zero_gradient(name: str, beta: float) -> None:
    x = np.full((2, 3), -np.inf)
    x[1] = 0.0
    grad = np.random.default_rng(0).standard_normal((2, 3) if name != "logsumexp" else (2,))
    got = gradients(Case(name, {"x": x}, {"beta": beta}), grad)["x"]
    np.testing.assert_array_equal(got[0], 0)
    assert np.isfinite(got).all()


def test_entropy_of_masked_weights_has_a_finite_gradient() -> None:
    x = torch.tensor([0.0, 1.0, -torch.inf], dtype=torch.float64, requires_grad=True)
    fast.entropy(fast.softmax(x)).backward()
    p = reference.softmax(np.array([0.0, 1.0]))
    expected = -p * (np.log(p) + reference.entropy(p))
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [*expected, 0], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["cosine_similarity", "pairwise_cosine"])
@pytest.mark.parametrize("zero", ["q", "k"])
def test_zero_vector_has_cosine_zero_and_zero_gradient(name: str, zero: str) -> None:
    arrays = {"q": np.array([[3.0, 4.0]]), "k": np.array([[1.0, 2.0]])} | {zero: np.zeros((1, 2))}
    case = Case(name, arrays, {})
    np.testing.assert_array_equal(define(case), 0)
    for got in gradients(case, np.ones_like(define(case))).values():
        np.testing.assert_array_equal(got, 0)


def test_projection_onto_the_zero_vector_is_zero_with_zero_gradient() -> None:
    case = Case("projection", {"q": np.array([3.0, 4.0]), "k": np.zeros(2)}, {})
    np.testing.assert_array_equal(define(case), 0)
    for got in gradients(case, np.ones(2)).values():
        np.testing.assert_array_equal(got, 0)


def test_norm_of_the_zero_vector_has_zero_gradient() -> None:
    np.testing.assert_array_equal(
        gradients(Case("norm", {"x": np.zeros(2)}, {}), np.ones(()))["x"], 0
    )


def test_ppmi_of_pairs_never_seen_has_a_finite_gradient() -> None:
    case = Case("ppmi", {"counts": np.array([[0.0, 0, 0], [0, 3, 1], [0, 0, 2]])}, {})
    assert np.isfinite(gradients(case, np.ones((3, 3)))["counts"]).all()


def test_sum_of_many_half_precision_weights_does_not_overflow() -> None:
    equal = np.zeros(100_000, dtype=np.float16)
    assert reference.softmax(equal)[0] == np.float16(1e-5)
    assert fast.softmax(torch.from_numpy(equal))[0].item() == np.float16(1e-5)
