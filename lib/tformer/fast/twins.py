"""Twins: the docstring of a function of `tformer.fast` is that of its definition, plus notes.

This is the one module of `tformer.fast` that imports `tformer.reference`; it uses the docstrings
from there, never the code.
"""

import inspect
import re
import textwrap
from collections.abc import Callable
from typing import Any, TypeVar

from tformer import reference
from tformer.docstrings import WIDTH, sections, written
from tformer.fast.checks import checked

__all__ = ["twin"]

Function = TypeVar("Function", bound=Callable[..., Any])


def twin(function: Function) -> Function:
    """Check arguments as `checked` does, against the docstring of the definition of the same name.

    Summary, parameters, results and errors are copied from the definition; the docstring of
    `function` itself is appended to the notes.

    Raises
    ------
    TypeError
        If names, order or defaults of the parameters differ from those of the definition.
    """
    definition = inspect.unwrap(getattr(reference, function.__name__))
    ours, theirs = _parameters(function), _parameters(definition)
    if ours != theirs:
        raise TypeError(f"{function.__name__}: the definition takes {theirs}; got {ours}")
    parts = sections(definition.__doc__ or "")
    equation = re.match(r"Equation eq-[a-z-]*[a-z]", parts["Notes"])
    if equation is None:
        raise TypeError(f"{function.__name__}: the notes of the definition must name its equation")
    own = " ".join((function.__doc__ or "").split())
    notes = f"{equation[0]}, as `tformer.reference.{function.__name__}` defines it. {own}"
    function.__doc__ = written(parts | {"Notes": textwrap.fill(notes, WIDTH)})
    return checked(function)


def _parameters(function: Callable[..., Any]) -> list[tuple[Any, ...]]:
    parameters = inspect.signature(function).parameters.values()
    return [(x.name, x.default, str(x.kind)) for x in parameters]
