"""The shape checks: what binds, what does not, and what the message says."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tformer import fast, reference
from tformer.axes import LEGEND
from tformer.shapes import (
    ShapeError,
    bind,
    checked,
    documented,
    require_axis,
    require_beta,
    require_count,
    require_scale,
    result_shape,
)

TABLE = "... T K, ... S K -> ... T S"


def array(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


def test_the_legend_has_the_letters_of_the_book() -> None:
    assert "".join(LEGEND) == "BTSDHGKVFNL"
    with pytest.raises(TypeError):
        LEGEND["X"] = "something else"  # type: ignore[index]


def test_letters_are_bound_to_sizes() -> None:
    sizes = bind("table", TABLE, q=array(4, 1, 2, 5), k=array(6, 3, 5))
    assert sizes == {"...": (4, 6), "T": 2, "S": 3, "K": 5}
    assert result_shape(TABLE, sizes) == (4, 6, 2, 3)


def test_axes_of_size_0_and_1_are_sizes_like_any_other() -> None:
    assert bind("table", TABLE, q=array(0, 2, 1), k=array(1, 0, 1)) == {
        "...": (0,),
        "T": 2,
        "S": 0,
        "K": 1,
    }


@given(shapes=mutually_broadcastable_shapes(num_shapes=3, min_side=0))
def test_leading_axes_broadcast_as_in_numpy(shapes: Any) -> None:
    arrays = {name: array(*s) for name, s in zip("abc", shapes.input_shapes, strict=True)}
    assert bind("any", "..., ..., ...", **arrays)["..."] == shapes.result_shape


REFUSED = [
    (
        "... T K, ... T|1 K|1",
        {"x": array(2, 3), "mask": array(3, 1)},
        "demo: axis T is 2 in x but 3 in mask (... T|1 K|1); got shape (3, 1)",
    ),
    (
        "... T K, ... S K",
        {"q": array(2, 3), "k": array(5, 4)},
        "demo: axis K is 3 in q but 4 in k (... S K); got shape (5, 4)",
    ),
    ("... N N", {"m": array(2, 3)}, "demo: axis N is 2 and 3 in m (... N N); got shape (2, 3)"),
    ("... S", {"x": array()}, "demo: x needs at least 1 axis (... S); got shape ()"),
    ("... T K", {"x": array(7)}, "demo: x needs at least 2 axes (... T K); got shape (7,)"),
    ("T K", {"x": array(1, 2, 3)}, "demo: x needs 2 axes (T K); got shape (1, 2, 3)"),
    (
        "... K, ... K",
        {"q": array(5), "k": array(1)},
        "demo: axis K is 5 in q but 1 in k (... K); got shape (1,)",
    ),
    (
        "... K, ... K",
        {"q": array(2, 3, 5), "k": array(4, 5)},
        "demo: leading axes (4,) of k do not broadcast with (2, 3) of the arguments before it",
    ),
    (
        "... K, ... K",
        {"q": array(0, 5), "k": array(2, 5)},
        "demo: leading axes (2,) of k do not broadcast with (0,) of the arguments before it",
    ),
]


@pytest.mark.parametrize(("spec", "arrays", "message"), REFUSED)
def test_a_refusal_says_where_which_axis_got_and_expected(
    spec: str, arrays: dict[str, Any], message: str
) -> None:
    with pytest.raises(ShapeError) as error:
        bind("demo", spec, **arrays)
    assert str(error.value) == message


def test_a_result_letter_without_a_size_is_refused() -> None:
    with pytest.raises(ShapeError, match="axis T of the result"):
        result_shape("... K -> ... T", {"...": (), "K": 2})


def test_a_shape_error_is_a_value_error() -> None:
    assert issubclass(ShapeError, ValueError)


def area(x: np.ndarray, tokens: np.ndarray) -> np.ndarray:
    """Nothing in particular.

    Parameters
    ----------
    x : (..., T, K) array
    tokens : (..., T) integer array

    Returns
    -------
    (..., K) array
    """
    return x.sum(axis=-2)


def test_shapes_are_read_from_the_docstring() -> None:
    assert documented(area) == (
        ("x", "tokens"),
        "... T K, ... T -> ... K",
        {"tokens": "integer"},
        frozenset(),
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
    )


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (1, 1), (5, 1, 3)], ids=str)
def test_an_axis_may_have_size_1_where_the_docstring_says_so(shape: tuple[int, ...]) -> None:
    spec = "... T S, ... T|1 S|1 -> ... S, T|1 S"
    sizes = bind("masked", spec, x=array(2, 3), mask=array(*shape))
    assert sizes == {"...": shape[:-2], "T": 2, "S": 3}
    assert result_shape(spec, sizes) == (*shape[:-2], 3)
    assert result_shape(spec, sizes, 1) == (2, 3)


def test_optional_arrays_may_be_left_out() -> None:
    run, x, mask = checked(masked), np.ones((2, 3)), np.ones((1, 3), bool)
    assert run(x)[1] == run(x, None)[1] == run(x, bias=None)[1] == 0
    assert run(x, mask)[1] == run(x, bias=x)[1] == run(x, None, x)[1] == 1
    assert run(bias=x, mask=mask, x=x)[1] == 2


def test_the_sizes_that_bind_returns_are_the_callers_own() -> None:
    first = bind("demo", "... K", x=array(2))
    first["K"] = 3
    assert bind("demo", "... K", x=array(2)) == {"...": (), "K": 2}


def test_several_results_need_names() -> None:
    def two(x: np.ndarray) -> np.ndarray:
        """x : (..., K) array

        (..., K) array
        (..., K) array
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
        """x : (..., K) array"""
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


@pytest.mark.parametrize("axis", [1.0, None, True, "0"])
def test_an_axis_that_is_no_integer_is_refused(axis: Any) -> None:
    with pytest.raises(TypeError, match="demo: axis must be an integer"):
        require_axis("demo", 2, axis)


@pytest.mark.parametrize("beta", [0, -1.0, np.inf, np.nan, 10**400, 1e-310])
def test_a_beta_out_of_range_is_refused(beta: Any) -> None:
    with pytest.raises(ValueError, match="demo: beta must be finite and above 0 in float64; got"):
        require_beta("demo", beta, np.dtype(float))


@pytest.mark.parametrize("dtype", [np.dtype(np.float16), torch.bfloat16, torch.float32])
def test_beta_is_held_to_the_range_of_float32(dtype: Any) -> None:
    assert require_beta("demo", 3e38, dtype) == 3e38
    with pytest.raises(ValueError, match="float32"):
        require_beta("demo", 4e38, dtype)


@pytest.mark.parametrize("beta", [np.float32(0.5), np.float64(0.5), 1 / 2])
def test_beta_becomes_a_plain_float(beta: Any) -> None:
    assert type(require_beta("demo", beta, np.dtype(float))) is float
    assert reference.softmax(np.ones(2, dtype=np.float32), beta=beta).dtype == np.float32


@pytest.mark.parametrize("beta", [True, "1", None, 1j])
def test_a_beta_that_is_no_number_is_refused(beta: Any) -> None:
    with pytest.raises(TypeError, match="demo: beta must be a number"):
        require_beta("demo", beta, np.dtype(float))


def test_the_scale_is_one_over_the_root_of_the_key_width_unless_given() -> None:
    assert require_scale("demo", None, np.ones((2, 16))) == 0.25
    assert require_scale("demo", None, np.ones((2, 0))) == 1
    assert require_scale("demo", np.float32(0.5), np.ones((2, 16))) == 0.5


@pytest.mark.parametrize("scale", [0, -1.0, np.inf, np.nan])
def test_a_scale_out_of_range_is_refused(scale: float) -> None:
    with pytest.raises(ValueError, match="demo: scale must be finite and above 0 in float32; got"):
        require_scale("demo", scale, torch.ones(2, 3))


def test_a_scale_that_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError, match="demo: scale must be a number; got ndarray"):
        require_scale("demo", np.ones(1), np.ones((2, 3)))


def test_a_count_out_of_range_is_refused() -> None:
    require_count("demo", "window", np.int64(1))
    with pytest.raises(ValueError, match="demo: window must be at least 1; got 0"):
        require_count("demo", "window", 0)
    with pytest.raises(ValueError, match="demo: d_model must be from 1 to 4; got 5"):
        require_count("demo", "d_model", 5, most=4)
    with pytest.raises(TypeError, match=r"demo: d_model must be an integer; got 2\.0"):
        require_count("demo", "d_model", 2.0)  # type: ignore[arg-type]
