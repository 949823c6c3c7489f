"""`mine`: the functions of a reader's own file with NumPy around them, as answers to exercises.

::

    from tformer_book.exercises import check
    from tformer_book.own import mine

    check("2.1", mine.softmax)

`accepted.toml` says which exercises take which functions, and how they are called.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections.abc import Callable
from functools import lru_cache, wraps
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tformer_book.exercises.describe import own_line
from tformer_book.own.checking import double_precision
from tformer_book.own.lending import load
from tformer_book.own.parts import defined_in, of_the_book
from tformer_book.own.progress import find_file

WHOLE = ("tokens", "positions")
"""Arguments whose whole numbers stay whole; elsewhere whole numbers in arrays become floats."""
ARRAYS = ("x", "grad", "mean", "square")
"""Arguments that are arrays for a part, and for which an exercise may hand over single numbers."""


class Mine:
    """The functions of the nearest `my_transformer.py` as attributes, read anew at each use.

    Arrays become tensors of the same type, and tensors come back as arrays; whole numbers become
    floats, except tokens and positions. A function that changes a tensor in place so changes the
    caller's array, as one of NumPy would. The other functions of the file are the reader's too.
    """

    def __getattr__(self, name: str) -> Any:
        """Return a function of the file, or say that it is not there."""
        if name.startswith("_"):  # a notebook asks for such names in order to show things
            raise AttributeError(name)
        path = find_file()
        functions = _functions(path, path.read_bytes())
        if name not in functions:
            lent = " yet; the book lends it" * (name in of_the_book())
            raise AttributeError(f"{path.name} has no {name}{lent}")
        return bridged(functions[name], path)

    def __dir__(self) -> list[str]:
        """Return the names in the file, for completion."""
        return list(defined_in(find_file()))


mine = Mine()


@lru_cache(maxsize=1)
def _functions(path: Path, _text: bytes) -> dict[str, Any]:
    """Run a file, anew if its text is another than at the last use; return what it defines."""
    module = load(path)
    return {name: getattr(module, name) for name in defined_in(path)}


def bridged(function: Callable[..., Any], path: Path) -> Callable[..., Any]:
    """Return a function of a reader's file with NumPy around it, under its name and signature.

    Derivatives are off, and new tensors are of float64. An error of the function keeps the line of
    the file that raised it, as `at`, for the check to quote.
    """
    names = _arguments(function)

    @wraps(function)
    def call(*inputs: Any, **named: Any) -> Any:
        given = [_tensors(value, name) for name, value in zip_longest(names[: len(inputs)], inputs)]
        by_name = {name: _tensors(value, name) for name, value in named.items()}
        try:
            with double_precision(), torch.no_grad():
                return _arrays(function(*given, **by_name))
        except Exception as error:
            linecache.checkcache(str(path))  # the file may have changed since it was quoted
            if line := own_line(error, str(path)):
                error.at = line  # type: ignore[attr-defined]
            raise

    return call


def _arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of the arguments; those of a part as the book has them."""
    part = of_the_book().get(function.__name__)
    if part and isinstance(part.node, ast.FunctionDef):
        return [argument.arg for argument in part.node.args.args]
    return list(inspect.signature(function).parameters)


def _tensors(value: Any, name: str | None = None) -> Any:
    """Return arrays, in lists, tuples and dicts too, as tensors; single numbers as they are."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, int | float) and name in ARRAYS:
        return torch.tensor(float(value), dtype=torch.float64)
    if isinstance(value, np.ndarray):
        tensor = torch.from_numpy(np.require(value, requirements=("C", "W")))
        if value.dtype.kind not in "iu":
            return tensor
        return tensor.long() if name in WHOLE else tensor.double()
    if isinstance(value, list | tuple):
        return type(value)(map(_tensors, value))
    if isinstance(value, dict):
        return {key: _tensors(part) for key, part in value.items()}
    return value


def _arrays(value: Any) -> Any:
    """Return tensors, in lists, tuples and dicts too, as arrays, and single ones as numbers."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()[()]  # of no axes: a number of the same type
    if isinstance(value, list | tuple):
        return type(value)(map(_arrays, value))
    if isinstance(value, dict):
        return {key: _arrays(part) for key, part in value.items()}
    return value
