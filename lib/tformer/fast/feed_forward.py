"""The feed-forward layer, applied to each position separately, and dropout (chapter 9)."""

from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast import activations
from tformer.fast._kernels import widened
from tformer.fast.quantised import linear, linears, rounded_for
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import FeedForwardParameters

__all__ = ["dropout", "dropout_vjp", "feed_forward", "feed_forward_vjp"]


@twin
def feed_forward(
    x: Tensor, parameters: FeedForwardParameters, configuration: Configuration
) -> Tensor:
    """On a CPU half precision is widened to float32; on a GPU hidden units are rounded to it. With
    a `QuantisedMatrix` hidden units are rounded to bfloat16, as its products take them.
    """
    dtype = x.dtype
    x, p = widened(x, parameters)
    x = rounded_for(x, p.w_in, p.w_gate, p.w_out)
    active = getattr(activations, configuration.activation)
    if p.w_gate is None:
        hidden = active(linear(x, p.w_in, p.b_in))
    else:
        hidden, gates = linears(x, (p.w_in, p.w_gate), (p.b_in, p.b_gate))
        hidden = active(gates) * hidden
    y = linear(hidden, p.w_out, p.b_out)
    return y if x.dtype == dtype else y.to(dtype)


@twin
def feed_forward_vjp(
    x: Tensor, parameters: FeedForwardParameters, configuration: Configuration, grad: Tensor
) -> tuple[Tensor, FeedForwardParameters]:
    """Computed by PyTorch's autograd from `feed_forward`."""
    return vjp(lambda x, p: feed_forward(x, p, configuration), (x, parameters), grad)


@twin
def dropout(x: Tensor, keep_mask: Tensor, configuration: Configuration) -> Tensor:
    return (x * (1 / (1 - configuration.dropout))).masked_fill(~keep_mask, 0)


@twin
def dropout_vjp(x: Tensor, keep_mask: Tensor, configuration: Configuration, grad: Tensor) -> Tensor:
    """Computed by PyTorch's autograd from `dropout`."""
    return vjp(lambda x: dropout(x, keep_mask, configuration), (x,), grad)[0]
