"""Activation functions: ReLU, GELU, SiLU (chapter 9)."""

from torch import Tensor
from torch.nn import functional

from tformer.fast.twins import twin
from tformer.fast.vjp import vjp

__all__ = [
    "gelu",
    "gelu_tanh",
    "gelu_tanh_vjp",
    "gelu_vjp",
    "relu",
    "relu_vjp",
    "silu",
    "silu_vjp",
]


@twin
def relu(x: Tensor) -> Tensor:
    """Calls PyTorch's own function."""
    return functional.relu(x)


@twin
def relu_vjp(x: Tensor, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `relu`."""
    return vjp(relu, (x,), grad)[0]


@twin
def gelu(x: Tensor) -> Tensor:
    """Calls PyTorch's own function, which computes half precision in float32."""
    return functional.gelu(x)


@twin
def gelu_vjp(x: Tensor, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `gelu`."""
    return vjp(gelu, (x,), grad)[0]


@twin
def gelu_tanh(x: Tensor) -> Tensor:
    """Calls PyTorch's own function, which computes half precision in float32."""
    return functional.gelu(x, approximate="tanh")


@twin
def gelu_tanh_vjp(x: Tensor, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `gelu_tanh`."""
    return vjp(gelu_tanh, (x,), grad)[0]


@twin
def silu(x: Tensor) -> Tensor:
    """Calls PyTorch's own function, which computes half precision in float32."""
    return functional.silu(x)


@twin
def silu_vjp(x: Tensor, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `silu`."""
    return vjp(silu, (x,), grad)[0]
