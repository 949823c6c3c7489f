"""The shape checks, so that `torch.compile` makes one graph for all sizes and not one for each."""

from collections.abc import Callable
from typing import Any, TypeVar

from torch.compiler import is_dynamo_compiling

from tformer import shapes

__all__ = ["checked"]

Function = TypeVar("Function", bound=Callable[..., Any])


def checked(function: Function) -> Function:
    """As `tformer.shapes.checked`, which remembers calls; but not while PyTorch compiles one."""
    return shapes.checked(function, is_dynamo_compiling)
