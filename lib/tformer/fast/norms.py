"""LayerNorm and RMSNorm (chapter 8)."""

from torch import Tensor
from torch.nn import functional

from tformer.fast.precision import wide
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import NormParameters

__all__ = ["layer_norm", "layer_norm_vjp", "rms_norm", "rms_norm_vjp"]


@twin
def layer_norm(x: Tensor, parameters: NormParameters, eps: float = 1e-5) -> Tensor:
    """Calls PyTorch's own function, which computes half precision in float32."""
    return functional.layer_norm(x, x.shape[-1:], parameters.gain, parameters.bias, eps)


@twin
def layer_norm_vjp(
    x: Tensor, parameters: NormParameters, grad: Tensor, eps: float = 1e-5
) -> tuple[Tensor, NormParameters]:
    """Computed by PyTorch's autograd from `layer_norm`."""
    return vjp(lambda x, p: layer_norm(x, p, eps), (x, parameters), grad)


@twin
def rms_norm(x: Tensor, parameters: NormParameters, eps: float = 1e-5) -> Tensor:
    """Calls PyTorch's own function. Half precision is computed in float32."""
    gain, bias = parameters.gain, parameters.bias
    y = functional.rms_norm(wide(x), x.shape[-1:], None if gain is None else wide(gain), eps)
    return (y if bias is None else y + wide(bias)).to(x.dtype)


@twin
def rms_norm_vjp(
    x: Tensor, parameters: NormParameters, grad: Tensor, eps: float = 1e-5
) -> tuple[Tensor, NormParameters]:
    """Computed by PyTorch's autograd from `rms_norm`."""
    return vjp(lambda x, p: rms_norm(x, p, eps), (x, parameters), grad)
