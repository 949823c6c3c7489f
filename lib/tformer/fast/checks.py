"""Argument checks for tensors."""

from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.masked import MaskedTensor

from tformer import arguments
from tformer.docstrings import FLOATING
from tformer.fast.quantised import QuantisedMatrix

__all__ = ["checked", "require_values"]

Function = TypeVar("Function", bound=Callable[..., Any])
STRIDED = torch.strided
HOLDS = {
    **dict.fromkeys((torch.float16, torch.bfloat16, torch.float32, torch.float64), FLOATING),
    **dict.fromkeys((torch.int8, torch.int16, torch.int32, torch.int64), "integer"),
    **dict.fromkeys((torch.uint8, torch.uint16, torch.uint32), "integer"),
    torch.bool: "boolean",
}


def checked(function: Function) -> Function:
    """As `tformer.arguments.checked`, for functions of tensors."""
    return arguments.checked(function, TENSORS)


def require_values(where: str, name: str, tensor: Tensor) -> None:
    """Raise TypeError if `tensor` is on the meta device, for a function that reads its values."""
    if tensor.is_meta:
        raise TypeError(f"{where}: {name} must hold values; got a tensor on the device meta")


def _holds(x: Any) -> str:
    if type(x) is QuantisedMatrix:
        return FLOATING
    if type(x) is not Tensor and (not isinstance(x, Tensor) or _oddity(x)):
        return ""
    return HOLDS.get(x.dtype, "") if x.layout is STRIDED and not x.is_nested else ""


def _oddity(tensor: Tensor) -> str:
    """Return the kind of a tensor that is not plain, "" if it is; others compute differently."""
    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return f"a tensor of layout {str(tensor.layout).removeprefix('torch.')}"
    if type(tensor) is not Tensor and isinstance(tensor, MaskedTensor):
        return "a masked tensor"
    return ""


def _mixed() -> bool:
    """Return whether autocast is on for any device: it converts operands to one dtype itself."""
    return torch.is_autocast_enabled("cpu") or torch.is_autocast_enabled("cuda")


TENSORS = arguments.Arrays(Tensor, _holds, _oddity, torch.compiler.is_compiling, _mixed)
