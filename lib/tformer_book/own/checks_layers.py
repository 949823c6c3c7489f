"""Checks of parts 8 and 9: norms and feed-forward layers."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked
from tformer_book.own.samples import arrays

# ---- 8 ------------------------------------------------------------------------------------


def _to_norm() -> Iterator[Case]:
    yield case(x=[[3.0, 4]], gain=[1.0, 1], eps=0.0, want=[[3 / 12.5**0.5, 4 / 12.5**0.5]])
    yield case(x=[[3.0, 4]], gain=[1.0, 2], eps=0.0, want=[[3 / 12.5**0.5, 8 / 12.5**0.5]])
    x, gain = arrays(1, (3, 5), (5,))
    yield case(x=x, gain=gain, eps=1e-5)
    yield case(x=x, gain=gain, eps=0.5, why="eps is added to the mean square, under the root.")
    yield case(x=np.zeros((1, 3)), gain=np.ones(3), eps=1e-5, want=np.zeros((1, 3)))


@checked(
    "rms_norm",
    praise="With gains, for any eps, and for a row of zeros.",
    cases=_to_norm,
    slips="""
        gain * x → x
            The gain has no effect.
        .mean(-1, keepdim=True) + eps).sqrt() → .mean(-1, keepdim=True)).sqrt() + eps
            eps is added to the root; it belongs under it.
        .mean(-1, keepdim=True) → .sum(-1, keepdim=True)
            The squares are added up; their mean is meant.
        x.square() → (x - x.mean(-1, keepdim=True)).square()
            That is the standard deviation; RMSNorm takes the mean square, and no mean off.
        .mean(-1, keepdim=True) → .mean()
            One mean square for all rows; each row has its own.
        + eps).sqrt() → + eps)
            The root is missing.
        + eps → + 1e-5
            The argument eps has no effect.
        .mean(-1, keepdim=True) → .mean(-1)
            The axis is gone after the mean, so no row meets its own: keepdim=True keeps it, with length 1.
    """,  # noqa: E501  (an edit and its sentence stand on a line each)
    otherwise="gain · x / √(mean of x² + eps), for each row.",
)
def _rms_norm(my: ModuleType, x: Any, gain: Any, eps: float) -> Any:
    return my.rms_norm(x, gain, eps)


def _to_centre() -> Iterator[Case]:
    yield case(x=[[1.0, 3]], gain=[1.0, 1], bias=[0.0, 0], eps=0.0, want=[[-1.0, 1]])
    yield case(x=[[1.0, 3]], gain=[2.0, 1], bias=[0.0, 5], eps=0.0, want=[[-2.0, 6]])
    x, gain, bias = arrays(1, (3, 5), (5,), (5,))
    yield case(x=x, gain=gain, bias=bias, eps=1e-5)
    yield case(x=x, gain=gain, bias=bias, eps=0.5)


@checked(
    "layer_norm",
    praise="Mean 0, then a standard size, then gain and bias.",
    cases=_to_centre,
    slips="""
        x - x.mean(-1, keepdim=True) → x
            The mean is not taken off.
        x.mean(-1, keepdim=True) → x.mean(-1)
            The axis is gone after the mean, so no row meets its own: keepdim=True keeps it, with length 1.
        gain, eps) + bias → gain, eps)
            The bias has no effect.
        x - x.mean(-1, keepdim=True) → x - x.mean()
            One mean for all rows; each row has its own.
        gain, eps) + bias → gain) + bias
            The argument eps has no effect.
        = gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt() + bias
            The variance is divided by n − 1, as `var` and `std` do; a norm divides by n.
        = gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, correction=0).sqrt() + eps) + bias
            eps is added to the root; it belongs under it.
    """,  # noqa: E501
    otherwise="rms_norm of each row less its mean, plus the bias.",
)
def _layer_norm(my: ModuleType, x: Any, gain: Any, bias: Any, eps: float) -> Any:
    return my.layer_norm(x, gain, bias, eps)


# ---- 9 ------------------------------------------------------------------------------------


def _units() -> Iterator[Case]:
    one = np.ones((1, 1))
    half = 1 / (1 + np.exp(-2.0))
    yield case(x=[[2.0]], w_gate=one, w_in=3 * one, w_out=one, want=[[2 * half * 6]])
    x, w_gate, w_in, w_out = arrays(1, (3, 4), (4, 6), (4, 6), (6, 4))
    yield case(x=x, w_gate=w_gate, w_in=w_in, w_out=w_out)
    yield case(x=np.stack([x, -x]), w_gate=w_gate, w_in=w_in, w_out=w_out)


@checked(
    "swiglu",
    praise="silu(x W_gate) times x W_in, through W_out.",
    cases=_units,
    slips="""
        gate * torch.sigmoid(gate) → torch.sigmoid(gate)
            The gate is sigmoid(x W_gate) alone; silu multiplies it by x W_gate.
        (gate * torch.sigmoid(gate) * (x @ w_in)) → (gate * torch.sigmoid(gate))
            The hidden units x W_in are missing.
        x @ w_gate → x @ w_in ;; (x @ w_in) → (x @ w_gate)
            W_gate and W_in are exchanged.
        gate * torch.sigmoid(gate) → torch.relu(gate)
            The gate is ReLU; silu is x · sigmoid(x).
        return → return x +
            x is added to the output: it is the block that adds, and the output stands alone here.
    """,
    otherwise="(silu(x W_gate) · x W_in) W_out.",
)
def _swiglu(my: ModuleType, x: Any, w_gate: Any, w_in: Any, w_out: Any) -> Any:
    return my.swiglu(x, w_gate, w_in, w_out)


def _numbers() -> Iterator[Case]:
    yield case(x=[0.0], want=[0.0])
    yield case(x=[1.0, -1])
    yield case(x=[[-3.0, 0.5], [2, 30]])


@checked(
    "gelu",
    praise="The tanh form, as GPT-2 has it.",
    cases=_numbers,
    slips="""
        = torch.nn.functional.gelu(x)
            That is the exact GELU, with the normal distribution; GPT-2 takes the tanh form.
        = x * torch.sigmoid(1.702 * x)
            That is the approximation by a sigmoid; GPT-2 takes the tanh form.
        = torch.relu(x)
            That is ReLU.
        math.sqrt(2 / math.pi) → math.sqrt(1 / math.pi)
            The factor in the tanh is √(2/π).
        torch.tanh → math.tanh
            math.tanh takes one number; torch.tanh takes a tensor.
    """,
    otherwise="x/2 · (1 + tanh(√(2/π) (x + 0.044715 x³))).",
)
def _gelu(my: ModuleType, x: Any) -> Any:
    return my.gelu(x)
