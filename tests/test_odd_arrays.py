"""Arrays that look like arrays and count otherwise: refused by name, or counted right."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tformer import fast, reference

X = torch.ones(2, 3)


def quietly(make: Callable[[], Any]) -> Any:
    """What `make` returns; some of these kinds announce that they may still change."""
    with warnings.catch_warnings(action="ignore"):
        return make()


ODD: dict[str, tuple[Any, str]] = {
    "matrix": (quietly(lambda: np.matrix([[1.0]])), "a plain numpy.ndarray; got a numpy.matrix"),
    "masked array": (np.ma.ones((2, 3)), "a plain numpy.ndarray; got a masked array"),
    "sparse": (X.to_sparse(), "a plain torch.Tensor; got a tensor of layout sparse_coo"),
    "sparse rows": (
        quietly(lambda: X.to_sparse_csr()),
        "a plain torch.Tensor; got a tensor of layout sparse_csr",
    ),
    "mkldnn": (X.to_mkldnn(), "a plain torch.Tensor; got a tensor of layout _mkldnn"),
    "nested": (
        quietly(lambda: torch.nested.nested_tensor([X, X[:1]])),
        "a plain torch.Tensor; got a nested tensor",
    ),
    "ragged": (
        quietly(lambda: torch.nested.nested_tensor([X, X[:1]], layout=torch.jagged)),
        "a plain torch.Tensor; got a nested tensor",
    ),
    "masked tensor": (
        quietly(lambda: torch.masked.masked_tensor(X, X > 0)),
        "a plain torch.Tensor; got a masked tensor",
    ),
}


def module_of(x: Any) -> Any:
    return fast if isinstance(x, torch.Tensor) else reference


@pytest.mark.parametrize(("x", "got"), ODD.values(), ids=ODD)
def test_an_array_with_an_arithmetic_of_its_own_is_refused_by_name(x: Any, got: str) -> None:
    module = module_of(x)
    plain = np.ones((2, 3)) if module is reference else X
    for name, call in {
        "softmax: x": lambda: module.softmax(x),
        "dot: q": lambda: module.dot(x, plain),
        "dot: k": lambda: module.dot(plain, x),
        "attention: bias": lambda: module.attention(plain, plain, plain, bias=x),
        "cooccurrence: tokens": lambda: module.cooccurrence(x, 2, 1),
    }.items():
        with pytest.raises(TypeError) as error:
            call()
        assert str(error.value) == f"{name} must be {got}"


FLOATS, TOKENS = "hold floating-point numbers", "hold integers"
OF_16 = f"{FLOATS} of 16, 32 or 64 bits"
OF_64 = f"{TOKENS} within the range of int64"
UNSUPPORTED: dict[str, tuple[Any, str, str]] = {
    "longdouble": (np.ones(2, np.longdouble), OF_16, TOKENS),
    "object": (np.ones(2, object), FLOATS, TOKENS),
    "uint64": (np.ones(2, np.uint64), FLOATS, OF_64),
    "torch.uint64": (torch.ones(2).to(torch.uint64), FLOATS, OF_64),
    "torch.float8_e5m2": (torch.ones(2).to(torch.float8_e5m2), OF_16, TOKENS),
    "torch.float8_e4m3fn": (torch.ones(2).to(torch.float8_e4m3fn), OF_16, TOKENS),
    "torch.quint8": (
        quietly(lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.quint8)),
        FLOATS,
        TOKENS,
    ),
}


@pytest.mark.parametrize(("x", "floats", "tokens"), UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_a_dtype_that_is_not_supported_is_refused_by_name(x: Any, floats: str, tokens: str) -> None:
    module = module_of(x)
    for name, expected, call in (
        ("softmax: x", floats, lambda: module.softmax(x)),
        ("dot: q", floats, lambda: module.dot(x, x)),
        ("cooccurrence: tokens", tokens, lambda: module.cooccurrence(x, 2, 1)),
    ):
        with pytest.raises(TypeError) as error:
            call()
        assert str(error.value) == f"{name} must {expected}; got {x.dtype}"


def test_values_are_needed_where_they_are_looked_at() -> None:
    tokens, matrix = torch.zeros(3, dtype=torch.int64, device="meta"), torch.ones(2, 2).to("meta")
    message = "must hold values; got a tensor on the device meta"
    with pytest.raises(TypeError, match=f"^cooccurrence: tokens {message}"):
        fast.cooccurrence(tokens, 2, 1)
    with pytest.raises(TypeError, match=f"^svd_embeddings: matrix {message}"):
        fast.svd_embeddings(matrix, 1)


class OfAStudent(np.ndarray):
    """An array of another type that counts as arrays do, as `tformer_book.exercises` has them."""


@pytest.mark.parametrize(
    "same",
    [
        lambda x: x.view(OfAStudent),
        lambda x: x.view(np.recarray),
        lambda x: x.astype(x.dtype.newbyteorder()),
        lambda x: np.asfortranarray(x),
    ],
)
def test_other_kinds_of_array_are_taken(same: Callable[[np.ndarray], np.ndarray]) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3))
    np.testing.assert_array_equal(reference.softmax(same(x)), reference.softmax(x))
    tensor = torch.from_numpy(x)
    torch.testing.assert_close(
        fast.softmax(torch.nn.Parameter(tensor)), fast.softmax(tensor), rtol=0, atol=0
    )


@pytest.mark.parametrize(
    "dtype", ["int8", "int16", "int32", "int64", "longlong", "uint8", "uint16", "uint32"]
)
def test_tokens_may_be_of_any_integer_dtype(dtype: str) -> None:
    tokens = np.array([[0, 1, 2, 1], [2, 2, 0, 3]])
    expected = reference.cooccurrence(tokens, 4, 2)
    narrow = tokens.astype(dtype)
    np.testing.assert_array_equal(reference.cooccurrence(narrow, 4, 2), expected)
    np.testing.assert_array_equal(fast.cooccurrence(torch.from_numpy(narrow), 4, 2), expected)
    largest = np.array([0, np.iinfo(dtype).max], dtype)
    message = f"^cooccurrence: tokens must be from -1 to 3; got 0 to {largest[1]}$"
    with pytest.raises(ValueError, match=message):
        reference.cooccurrence(largest, 4, 2)
    with pytest.raises(ValueError, match=message):
        fast.cooccurrence(torch.from_numpy(largest), 4, 2)


@pytest.mark.parametrize("n_vocab", [65537, 10**6, 2**31, 2**40, 2**63, 10**30])
def test_a_vocabulary_whose_table_no_machine_holds_is_refused(n_vocab: int) -> None:
    tokens = np.array([0, 1])
    message = f"^cooccurrence: n_vocab must be from 1 to 65536; got {n_vocab}$"
    with pytest.raises(ValueError, match=message):
        reference.cooccurrence(tokens, n_vocab, 1)
    with pytest.raises(ValueError, match=message):
        fast.cooccurrence(torch.from_numpy(tokens), n_vocab, 1)
