"""Multi-head attention: several heads in parallel, whose outputs are summed (chapter 6)."""

from torch import Tensor

from tformer.fast._kernels import widened
from tformer.fast.groups import grouped_attention, grouped_attention_weights
from tformer.fast.precision import wide
from tformer.fast.projections import merge, project
from tformer.fast.twins import twin
from tformer.fast.vjp import vjp
from tformer.parameters import HeadParameters, require_keys

__all__ = [
    "multi_head_attention",
    "multi_head_attention_vjp",
    "multi_head_weights",
    "ov_circuit",
    "qk_circuit",
]


@twin
def multi_head_attention(
    x: Tensor,
    parameters: HeadParameters,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
) -> Tensor:
    """Calls `grouped_attention`, so the T × S scores are not stored. On a CPU half precision is
    widened to float32; on a GPU queries, keys, values and outputs are rounded to it.
    """
    require_keys("multi_head_attention", x, memory, mask=mask, bias=bias)
    dtype = x.dtype
    x, parameters, memory, bias = widened(x, parameters, memory, bias)
    q, k, v = project(x, parameters, memory)
    y = merge(grouped_attention(q, k, v, mask, bias, scale, causal), parameters)
    return y if x.dtype == dtype else y.to(dtype)


@twin
def multi_head_attention_vjp(
    x: Tensor,
    parameters: HeadParameters,
    grad: Tensor,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
) -> tuple[Tensor, HeadParameters, Tensor | None, Tensor | None]:
    """Computed by PyTorch's autograd from `multi_head_attention`."""
    require_keys("multi_head_attention_vjp", x, memory, mask=mask, bias=bias)

    def layer(x: Tensor, p: HeadParameters, memory: Tensor | None, bias: Tensor | None) -> Tensor:
        return multi_head_attention(x, p, memory, mask, bias, scale, causal)

    return vjp(layer, (x, parameters, memory, bias), grad)


@twin
def multi_head_weights(
    x: Tensor,
    parameters: HeadParameters,
    memory: Tensor | None = None,
    mask: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
) -> Tensor:
    """Half precision as in `multi_head_attention`."""
    require_keys("multi_head_weights", x, memory, mask=mask, bias=bias)
    dtype = x.dtype
    x, parameters, memory, bias = widened(x, parameters, memory, bias)
    q, k, _ = project(x, parameters, memory)
    weights = grouped_attention_weights(q, k, mask, bias, scale, causal)
    return weights if x.dtype == dtype else weights.to(dtype)


@twin
def qk_circuit(parameters: HeadParameters) -> Tensor:
    w_k = parameters.w_k.repeat_interleave(parameters.group_size, dim=0)
    return (wide(parameters.w_q) @ wide(w_k).mT).to(w_k.dtype)


@twin
def ov_circuit(parameters: HeadParameters) -> Tensor:
    w_v = parameters.w_v.repeat_interleave(parameters.group_size, dim=0)
    return (wide(w_v) @ wide(parameters.w_o)).to(w_v.dtype)
