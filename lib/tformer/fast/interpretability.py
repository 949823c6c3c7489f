"""Interpretability: head outputs, the logit lens, scores of attention patterns (chapter 17)."""

from torch import Tensor

from tformer.configuration import Configuration
from tformer.fast._kernels import widened
from tformer.fast.blocks import apply_norm
from tformer.fast.precision import wide
from tformer.fast.stacks import unembed
from tformer.fast.twins import twin
from tformer.parameters import HeadParameters, ModelParameters

__all__ = ["head_outputs", "induction_scores", "logit_lens", "previous_token_scores"]


@twin
def head_outputs(y: Tensor, parameters: HeadParameters) -> Tensor:
    """On a CPU half precision is widened to float32."""
    wide_y, w_o = widened(y, parameters.w_o)
    return (wide_y @ w_o).to(y.dtype)


@twin
def logit_lens(x: Tensor, parameters: ModelParameters, configuration: Configuration) -> Tensor:
    """On a CPU half precision is widened to float32."""
    wide_x, p = widened(x, parameters)
    return unembed(apply_norm(wide_x, p.norm, configuration), p).to(x.dtype)


@twin
def previous_token_scores(weights: Tensor) -> Tensor:
    return _mean(weights.diagonal(-1, dim1=-2, dim2=-1))


@twin
def induction_scores(weights: Tensor, period: int) -> Tensor:
    return _mean(_diagonal(weights, 1 - period)[..., 1:])


def _diagonal(weights: Tensor, offset: int) -> Tensor:
    """Return a diagonal, empty where it does not exist, for which PyTorch raises."""
    if -offset >= weights.shape[-2]:
        return weights[..., 0, :0] if weights.shape[-2] else weights.flatten(-2)
    return weights.diagonal(offset, dim1=-2, dim2=-1)


def _mean(x: Tensor) -> Tensor:
    """Return the mean over the last axis, 0 if it is empty."""
    return (wide(x).sum(dim=-1) / max(x.shape[-1], 1)).to(x.dtype)
