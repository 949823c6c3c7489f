"""The shape checks: what binds, what does not, and what the message says."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from tformer.axes import LEGEND
from tformer.shapes import ShapeError, bind, result_shape

TABLE = "... T d_k, ... S d_k -> ... T S"


def array(*shape: int) -> SimpleNamespace:
    return SimpleNamespace(shape=shape)


def test_the_legend_has_the_letters_of_the_book() -> None:
    letters = "B T S d_model H G d_k d_v d_ff N L n_ctx"
    letters += " n_experts d_e d_c d_q d_r n_taps d_x t_blocks s_blocks"
    letters += " n_streams n_groups n_series n_window n_index d_i n_chosen"
    assert " ".join(LEGEND) == letters
    with pytest.raises(TypeError):
        LEGEND["X"] = "something else"  # type: ignore[index]


def test_letters_are_bound_to_sizes() -> None:
    sizes = bind("table", TABLE, q=array(4, 1, 2, 5), k=array(6, 3, 5))
    assert sizes == {"...": (4, 6), "T": 2, "S": 3, "d_k": 5}
    assert result_shape(TABLE, sizes) == (4, 6, 2, 3)


def test_axes_of_size_0_and_1_are_sizes_like_any_other() -> None:
    assert bind("table", TABLE, q=array(0, 2, 1), k=array(1, 0, 1)) == {
        "...": (0,),
        "T": 2,
        "S": 0,
        "d_k": 1,
    }


@given(shapes=mutually_broadcastable_shapes(num_shapes=3, min_side=0))
def test_leading_axes_broadcast_as_in_numpy(shapes: Any) -> None:
    arrays = {name: array(*s) for name, s in zip("abc", shapes.input_shapes, strict=True)}
    assert bind("any", "..., ..., ...", **arrays)["..."] == shapes.result_shape


REFUSED = [
    (
        "... T d_k, ... T|1 d_k|1",
        {"x": array(2, 3), "mask": array(3, 1)},
        "demo: axis T is 2 in x but 3 in mask (... T|1 d_k|1); got shape (3, 1)",
    ),
    (
        "... T d_k, ... S d_k",
        {"q": array(2, 3), "k": array(5, 4)},
        "demo: axis d_k is 3 in q but 4 in k (... S d_k); got shape (5, 4)",
    ),
    ("... N N", {"m": array(2, 3)}, "demo: axis N is 2 and 3 in m (... N N); got shape (2, 3)"),
    ("... S", {"x": array()}, "demo: x needs at least 1 axis (... S); got shape ()"),
    ("... T d_k", {"x": array(7)}, "demo: x needs at least 2 axes (... T d_k); got shape (7,)"),
    ("T d_k", {"x": array(1, 2, 3)}, "demo: x needs 2 axes (T d_k); got shape (1, 2, 3)"),
    (
        "... d_k, ... d_k",
        {"q": array(5), "k": array(1)},
        "demo: axis d_k is 5 in q but 1 in k (... d_k); got shape (1,)",
    ),
    (
        "... d_k, ... d_k",
        {"q": array(2, 3, 5), "k": array(4, 5)},
        "demo: leading axes (4,) of k do not broadcast with (2, 3) of the arguments before it",
    ),
    (
        "... d_k, ... d_k",
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
        result_shape("... d_k -> ... T", {"...": (), "d_k": 2})


def test_a_shape_error_is_a_value_error() -> None:
    assert issubclass(ShapeError, ValueError)


@pytest.mark.parametrize("shape", [(2, 3), (1, 3), (2, 1), (1, 1), (5, 1, 3)], ids=str)
def test_an_axis_may_have_size_1_where_the_docstring_says_so(shape: tuple[int, ...]) -> None:
    spec = "... T S, ... T|1 S|1 -> ... S, T|1 S"
    sizes = bind("masked", spec, x=array(2, 3), mask=array(*shape))
    assert sizes == {"...": shape[:-2], "T": 2, "S": 3}
    assert result_shape(spec, sizes) == (*shape[:-2], 3)
    assert result_shape(spec, sizes, 1) == (2, 3)


def test_the_sizes_that_bind_returns_are_the_callers_own() -> None:
    first = bind("demo", "... d_k", x=array(2))
    first["d_k"] = 3
    assert bind("demo", "... d_k", x=array(2)) == {"...": (), "d_k": 2}
