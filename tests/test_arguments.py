"""The checks of arguments: what a call is held to, and what the message says."""

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from tformer import fast, reference
from tformer.arguments import checked, require_axis, require_count, require_positive
from tformer.docstrings import documented
from tformer.fast.checks import checked as fast_checked
from tformer.parameters import NormParameters
from tformer.shapes import ShapeError


def area(x: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Nothing in particular.

    Parameters
    ----------
    x : (..., T, d_k) array
    tokens : (..., T) integer array

    Returns
    -------
    (..., d_k) array
    """
    return x.sum(axis=-2)


def test_shapes_are_read_from_the_docstring() -> None:
    assert documented(area) == (
        ("x", "tokens"),
        "... T d_k, ... T -> ... d_k",
        {"tokens": "integer"},
        frozenset(),
        {},
        ("",),
    )


def masked(
    x: np.ndarray, mask: np.ndarray | None = None, bias: np.ndarray | None = None
) -> tuple[np.ndarray, int]:
    """Nothing in particular.

    Parameters
    ----------
    x : (..., T, S) array
    mask : (..., T or 1, S or 1) boolean array, optional
    bias : (T, S) array, optional

    Returns
    -------
    total : (..., S) array
    parts : (T or 1, S) array, optional
    """
    return x, sum(one is not None for one in (mask, bias))


def test_optional_arrays_booleans_and_several_results_are_read_from_the_docstring() -> None:
    assert documented(masked) == (
        ("x", "mask", "bias"),
        "... T S, ... T|1 S|1, T S -> ... S, T|1 S",
        {"mask": "boolean"},
        {"mask", "bias"},
        {},
        ("total", "parts"),
    )


def test_optional_arrays_may_be_left_out() -> None:
    run, x, mask = checked(masked), np.ones((2, 3)), np.ones((1, 3), bool)
    assert run(x)[1] == run(x, None)[1] == run(x, bias=None)[1] == 0
    assert run(x, mask)[1] == run(x, bias=x)[1] == run(x, None, x)[1] == 1
    assert run(bias=x, mask=mask, x=x)[1] == 2


def test_what_was_found_good_is_looked_at_again() -> None:
    """A tree is frozen, but an array in it may change its shape or its dtype in place."""
    norm, x = NormParameters(np.ones(4)), np.ones((2, 4))
    reference.rms_norm(x, norm)
    norm.gain.resize((2, 2), refcheck=False)
    with pytest.raises(ShapeError, match=r"^rms_norm: parameters\.gain needs 1 axis"):
        reference.rms_norm(x, norm)
    ours, given = NormParameters(torch.ones(4)), torch.ones(2, 4)
    fast.rms_norm(given, ours)
    ours.gain.data = ours.gain.double()
    with pytest.raises(
        TypeError, match=r"x is torch\.float32 but parameters\.gain is torch\.float64"
    ):
        fast.rms_norm(given, ours)


def test_only_the_outermost_call_is_made_by_another() -> None:
    made = []

    def outermost(function: Any, args: Any, kwargs: Any, found: list[np.ndarray]) -> Any:
        made.append((function.__name__, [x.shape for x in found]))
        return function(*args, **kwargs)

    inner = checked(area, outermost=outermost)

    def twice(x: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        return inner(inner(x, tokens), tokens)  # the second would be refused alone

    twice.__doc__ = area.__doc__
    checked(twice, outermost=outermost)(np.ones((1, 2, 3)), tokens=np.ones(2, int))
    assert made == [("twice", [(1, 2, 3), (2,)])]


def test_a_call_without_checks_is_the_same_call_otherwise() -> None:
    """Calls inside it are not checked either, and the next call from outside is."""
    made = []

    def outermost(function: Any, args: Any, kwargs: Any, found: list[np.ndarray]) -> Any:
        made.append((function.__name__, found))
        return function(*args, **kwargs)

    inner, x = checked(area, outermost=outermost), np.ones((1, 2, 3))

    def twice(x: np.ndarray, tokens: np.ndarray) -> np.ndarray:
        return inner(inner(x, tokens), tokens)  # the second would be refused alone

    twice.__doc__ = area.__doc__
    outer = checked(twice, outermost=outermost)
    tokens = np.ones(2, int)
    np.testing.assert_array_equal(outer.unchecked(x, tokens=tokens), outer(x, tokens))
    assert [(name, len(found)) for name, found in made] == [("twice", 0), ("twice", 2)]
    with pytest.raises(TypeError, match=r"area: x must be a numpy\.ndarray; got int"):
        inner(3, tokens)
    with pytest.raises(AttributeError, match="'int' object has no attribute"):
        inner.unchecked(3, tokens)
    with pytest.raises(TypeError, match=r"area: x must be a numpy\.ndarray; got int"):
        inner(3, tokens)


def test_several_results_need_names() -> None:
    def two(x: np.ndarray) -> np.ndarray:
        """x : (..., d_k) array

        (..., d_k) array
        (..., d_k) array
        """
        return x

    with pytest.raises(ValueError, match="two: the docstring must describe one result, or several"):
        checked(two)


def test_a_letter_outside_the_legend_is_refused() -> None:
    def odd(x: np.ndarray) -> np.ndarray:
        """x : (..., Q) array

        (..., Q) array
        """
        return x

    with pytest.raises(ValueError, match="odd: axis Q is not in the legend"):
        checked(odd)


def test_a_docstring_without_a_result_is_refused() -> None:
    def silent(x: np.ndarray) -> np.ndarray:
        """x : (..., d_k) array"""
        return x

    with pytest.raises(ValueError, match="silent: the docstring must describe one result"):
        checked(silent)


def test_a_function_without_a_docstring_is_refused() -> None:
    with pytest.raises(RuntimeError, match="run Python without -OO"):
        checked(lambda x: x)


MESSAGES = [
    (
        lambda: reference.dot([1.0], np.ones(1)),  # type: ignore[arg-type]
        "dot: q must be a numpy.ndarray; got list",
    ),
    (
        lambda: fast.dot(torch.ones(1), np.ones(1)),  # type: ignore[arg-type]
        "dot: k must be a torch.Tensor; got ndarray",
    ),
    (
        lambda: reference.softmax(np.ones(2, dtype=bool)),
        "softmax: x must hold floating-point numbers; got bool",
    ),
    (
        lambda: reference.softmax(np.ones(2, dtype=complex)),
        "softmax: x must hold floating-point numbers; got complex128",
    ),
    (
        lambda: fast.softmax(torch.ones(2, dtype=torch.complex64)),
        "softmax: x must hold floating-point numbers; got torch.complex64",
    ),
    (
        lambda: reference.cooccurrence(np.ones(2, dtype=bool), 2, 1),
        "cooccurrence: tokens must hold integers; got bool",
    ),
    (
        lambda: fast.cooccurrence(torch.ones(2, dtype=torch.bool), 2, 1),
        "cooccurrence: tokens must hold integers; got torch.bool",
    ),
    (
        lambda: checked(masked)(None),  # type: ignore[arg-type]
        "masked: x must be a numpy.ndarray; got NoneType",
    ),
    (
        lambda: checked(masked)(np.ones((2, 3)), np.ones((2, 3))),
        "masked: mask must hold booleans; got float64",
    ),
    (
        lambda: fast.attention_weights(*[torch.ones(2, 3)] * 2, torch.ones(2, 2).byte()),
        "attention_weights: mask must hold booleans; got torch.uint8",
    ),
    (
        lambda: checked(masked)(np.ones((2, 3)), bias=np.ones((2, 3), bool)),
        "masked: bias must hold floating-point numbers; got bool",
    ),
    (
        lambda: checked(masked)(np.ones((2, 3)), bias=np.ones((2, 3), np.float32)),
        "masked: x is float64 but bias is float32; give both the same dtype",
    ),
    (
        lambda: reference.dot(q=np.ones(1), k=np.ones(1, dtype=np.float32)),
        "dot: q is float64 but k is float32; give both the same dtype",
    ),
]


@pytest.mark.parametrize(("call", "message"), MESSAGES)
def test_an_array_of_the_wrong_type_is_refused(call: Any, message: str) -> None:
    with pytest.raises(TypeError) as error:
        call()
    assert str(error.value) == message


def test_a_missing_argument_is_reported_by_python_itself() -> None:
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'k'"):
        reference.dot(np.ones(1))  # type: ignore[call-arg]


@pytest.mark.parametrize("axis", [-3, 2])
def test_an_axis_that_is_not_there_is_refused(axis: int) -> None:
    message = f"demo: axis must be from -2 to 1 for an array of 2 axes; got {axis}"
    with pytest.raises(ShapeError, match=message):
        require_axis("demo", 2, axis)


def test_the_axes_are_those_of_the_array_that_has_most() -> None:
    p, grad = np.ones((2, 3)), np.ones((4, 2, 3))
    for module, wrap in ((reference, np.asarray), (fast, torch.from_numpy)):
        for one, other in ((p, grad), (grad, p)):
            assert module.softmax_vjp(wrap(one), wrap(other), axis=-3).shape == (4, 2, 3)
            with pytest.raises(ShapeError, match=r"^softmax_vjp: axis must be from -3 to 2 "):
                module.softmax_vjp(wrap(one), wrap(other), axis=3)


@pytest.mark.parametrize("axis", [1.0, None, True, "0"])
def test_an_axis_that_is_no_integer_is_refused(axis: Any) -> None:
    with pytest.raises(TypeError, match="demo: axis must be an integer"):
        require_axis("demo", 2, axis)


@pytest.mark.parametrize("beta", [0, -1.0, np.inf, np.nan, 10**400, 1e-310])
def test_a_beta_out_of_range_is_refused(beta: Any) -> None:
    with pytest.raises(ValueError, match="demo: beta must be finite and above 0 in float64; got"):
        require_positive("demo", "beta", beta, np.dtype(float))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), torch.bfloat16, torch.float32])
def test_beta_is_held_to_the_range_of_float32(dtype: Any) -> None:
    assert require_positive("demo", "beta", 3e38, dtype) == 3e38
    with pytest.raises(ValueError, match="float32"):
        require_positive("demo", "beta", 4e38, dtype)


@pytest.mark.parametrize("beta", [np.float32(0.5), np.float64(0.5), 1 / 2])
def test_beta_becomes_a_plain_float(beta: Any) -> None:
    assert type(require_positive("demo", "beta", beta, np.dtype(float))) is float
    assert reference.softmax(np.ones(2, dtype=np.float32), beta=beta).dtype == np.float32


@pytest.mark.parametrize("beta", [True, "1", None, 1j])
def test_a_beta_that_is_no_number_is_refused(beta: Any) -> None:
    with pytest.raises(TypeError, match="demo: beta must be a number"):
        require_positive("demo", "beta", beta, np.dtype(float))


ATTENTION = [
    pytest.param(module, name, array, id=f"{module.__name__}-{name}")
    for module, array in ((reference, np.ones), (fast, torch.ones))
    for name in ("attention", "attention_vjp", "attention_weights")
]


def attend(module: ModuleType, name: str, x: Any, **given: Any) -> Any:
    """A function of attention, with one array for all of its arguments."""
    n_arrays = {"attention": 3, "attention_vjp": 4, "attention_weights": 2}[name]
    return getattr(module, name)(*[x] * n_arrays, **given)


@pytest.mark.parametrize(("module", "name", "array"), ATTENTION)
@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan, 1e-310])
def test_a_scale_out_of_range_is_refused(
    module: ModuleType, name: str, array: Any, scale: float
) -> None:
    message = f"^{name}: scale must be finite and above 0 in float.*; got {scale}"
    with pytest.raises(ValueError, match=message):
        attend(module, name, array((2, 3)), scale=scale)


@pytest.mark.parametrize(("module", "name", "array"), ATTENTION)
def test_a_scale_that_is_no_number_is_refused(module: ModuleType, name: str, array: Any) -> None:
    with pytest.raises(TypeError, match=f"^{name}: scale must be a number; got (ndarray|Tensor)"):
        attend(module, name, array((2, 3)), scale=array(1))


@pytest.mark.parametrize(("module", "name", "array"), ATTENTION)
def test_the_scale_may_be_none_and_keeps_the_dtype(
    module: ModuleType, name: str, array: Any
) -> None:
    x = array((3, 16), dtype=np.float32 if module is reference else torch.float32)
    for given in ({}, {"scale": None}, {"scale": np.float64(0.25)}):
        got = attend(module, name, x, **given)
        assert (got[0] if isinstance(got, tuple) else got).dtype == x.dtype


def test_a_count_out_of_range_is_refused() -> None:
    assert type(require_count("demo", "window", np.int64(1))) is int
    with pytest.raises(ValueError, match="demo: window must be at least 1; got 0"):
        require_count("demo", "window", 0)
    with pytest.raises(ValueError, match="demo: d_model must be from 1 to 4; got 5"):
        require_count("demo", "d_model", 5, most=4)
    with pytest.raises(TypeError, match=r"demo: d_model must be an integer; got 2\.0"):
        require_count("demo", "d_model", 2.0)


ARRAYS_OF_ONE = (np.array(1), np.array([1]), np.array(True), np.array(1.0), torch.tensor(1))


@pytest.mark.parametrize("value", [*ARRAYS_OF_ONE, torch.tensor([1]), torch.tensor(True)], ids=repr)
def test_an_array_is_no_integer(value: Any) -> None:
    """NumPy and torch disagree about which arrays count as an index, so none does."""
    for module, x in ((reference, np.ones((2, 3))), (fast, torch.ones(2, 3))):
        with pytest.raises(TypeError, match=r"^softmax: axis must be an integer; got "):
            module.softmax(x, axis=value)
        with pytest.raises(TypeError, match=r"^svd_embeddings: d_model must be an integer; got "):
            module.svd_embeddings(x[:, :2], value)


def ranged(
    x: np.ndarray, axis: int = -1, beta: float | None = None, n_heads: int = 1, d_model: int = 1
) -> tuple[object, ...]:
    """Nothing in particular.

    Parameters
    ----------
    x : (..., N) array
    axis : int, an axis of x
    beta : float, finite and above 0, optional
    n_heads : int, at least 1
    d_model : int, from 1 to N

    Returns
    -------
    (..., N) array
    """
    return axis, beta, n_heads, d_model


def test_ranges_are_read_from_the_docstring() -> None:
    assert documented(ranged).ranges == {
        "axis": "an axis",
        "beta": "finite and above 0",
        "n_heads": "at least 1",
        "d_model": "from 1 to N",
    }
    assert documented(ranged).optional == {"beta"}


@pytest.mark.parametrize("said", ["", ", above 0", ", from 1 to T", ", from 1 to many"])
def test_a_number_without_a_known_range_is_refused(said: str) -> None:
    def odd(x: np.ndarray, n: int) -> np.ndarray:
        return x

    odd.__doc__ = f"x : (..., N) array\nn : int{said}\n\n(..., N) array\n"
    with pytest.raises(ValueError, match=r"^odd: the docstring must give n a range that is known"):
        checked(odd)


def test_numbers_are_handed_on_as_plain_ones() -> None:
    run, x = checked(ranged), np.ones((2, 3))
    assert run(x) == run(x, beta=None) == run(x, -1, None) == (-1, None, 1, 1)
    given = np.int8(0), np.float32(0.5), np.uint8(7), np.int64(3)
    for got in (run(x, *given), run(x, given[0], *given[1:3], d_model=given[3])):
        assert got == (0, 0.5, 7, 3)
        assert [type(one) for one in got] == [int, float, int, int]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"axis": 2}, "ranged: axis must be from -2 to 1 for an array of 2 axes; got 2"),
        ({"beta": 0}, "ranged: beta must be finite and above 0 in float64; got 0"),
        ({"n_heads": 0}, "ranged: n_heads must be at least 1; got 0"),
        ({"d_model": 4}, "ranged: d_model must be from 1 to 3; got 4"),
        ({"d_model": None}, "ranged: d_model must be an integer; got None"),
    ],
)
def test_a_number_out_of_its_range_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as error:
        checked(ranged)(np.ones((2, 3)), **given)
    assert str(error.value) == message


def test_an_array_must_be_annotated_as_one() -> None:
    with pytest.raises(TypeError, match=r"area: x is not annotated as <class 'torch.Tensor'>"):
        fast_checked(area)


X, MASK = np.ones((2, 3)), np.ones((1, 3), bool)
WRONG: dict[str, dict[str, Any]] = {
    "another dtype": {"x": X.astype(np.float32)},
    "another type": {"x": SimpleNamespace(dtype=X.dtype, shape=X.shape)},
    "no type that has a shape": {"x": None},
    "another dtype of an optional array": {"mask": MASK.astype(float)},
    "names changed about": {"mask": X, "bias": MASK},
    "another shape": {"bias": X[:1]},
    "another shape where 1 is allowed": {"mask": MASK[:, :2]},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_arguments_are_checked_by_name_and_by_place(wrong: dict[str, Any]) -> None:
    run, right = checked(masked), {"x": X, "mask": MASK, "bias": X}
    for call in (lambda: run(**right | wrong), lambda: run(*(right | wrong).values())):
        with pytest.raises((TypeError, ShapeError), match=r"^masked: "):
            call()
