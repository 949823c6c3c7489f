"""Problems for attention: arrays, masks, and how far a result may lie from the definition.

The case table holds `reference` and `fast` to each other on small arrays. Here the rows are longer
than a vector register and than the blocks of the kernels.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from cases import TOLERANCE, to_numpy, to_torch
from every import every
from tformer import fast, reference
from tformer.fast import _kernels
from tformer.fast._kernels import CPU, GPU

DEVICES = ("cpu", *(["cuda"] if torch.cuda.is_available() else []))
T, S, D_K, D_V = 21, 37, 6, 5
Arrays = dict[str, Any]


def random_mask(n_queries: int, n_keys: int) -> np.ndarray:
    mask = np.random.default_rng(1).random((n_queries, n_keys)) < 0.4
    mask[3] = mask[-1] = False
    return mask


MASKS: dict[str, Callable[[int, int], np.ndarray | None]] = {
    "none": lambda t, s: None,
    "all": lambda t, s: np.ones((t, s), bool),
    "nothing": lambda t, s: np.zeros((t, s), bool),
    "causal": lambda t, s: np.tri(t, s, dtype=bool),
    "causal, last rows aligned": lambda t, s: np.tri(t, s, s - t, dtype=bool),
    "first rows empty": lambda t, s: np.tri(t, s, -4, dtype=bool),
    "window": lambda t, s: np.tri(t, s, dtype=bool) & ~np.tri(t, s, -3, dtype=bool),
    "first key only": lambda t, s: np.arange(s)[np.newaxis, :] == np.zeros((t, 1)),
    "last key only": lambda t, s: np.arange(s)[np.newaxis, :] == np.full((t, 1), s - 1),
    "padding": lambda t, s: np.arange(s)[np.newaxis, :] < s - 9,
    "queries left out": lambda t, s: np.arange(t)[:, np.newaxis] % 2 == 0,
    "random": random_mask,
    "two of a batch": lambda t, s: np.stack([random_mask(t, s), np.tri(t, s, dtype=bool)]),
    "one number": lambda t, s: np.zeros((1, 1), bool),
}
masks = pytest.mark.parametrize("mask", MASKS)
dtypes = every("dtype", TOLERANCE)
devices = pytest.mark.parametrize("device", DEVICES)


class Problem(NamedTuple):
    """Arrays in float64, already rounded to the dtype they will be given in."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    grad: np.ndarray
    mask: np.ndarray | None
    bias: np.ndarray | None

    @property
    def seen(self) -> Arrays:
        return {"mask": self.mask, "bias": self.bias}


def problem(
    mask: str = "none",
    dtype: str = "float64",
    sizes: tuple[int, int, int, int] = (T, S, D_K, D_V),
    bias: bool = False,
) -> Problem:
    t, s, k, v = sizes
    rng = np.random.default_rng(0)
    shapes = [(2, t, k), (2, s, k), (2, s, v), (2, t, v), (t, s)]
    arrays = [to_numpy(to_torch(rng.standard_normal(x), dtype)) for x in shapes]
    return Problem(*arrays[:4], MASKS[mask](t, s), arrays[4] if bias else None)


def tensors(given: Problem, dtype: str = "float64", device: str = "cpu") -> Arrays:
    return {
        name: None if x is None else to_torch(x, dtype, device)
        for name, x in given._asdict().items()
    }


def kept(wanted: Arrays, *names: str) -> Arrays:
    return {name: wanted[name] for name in names}


def outcome(given: Problem, dtype: str, device: str) -> list[np.ndarray]:
    """Output, and gradients by autograd, of the fast path."""
    x = tensors(given, dtype, device)
    leaves = [x[name].requires_grad_() for name in ("q", "k", "v", "bias") if x[name] is not None]
    y = fast.attention(**kept(x, "q", "k", "v", "mask", "bias"))
    assert y.dtype == getattr(torch, dtype)
    assert y.device.type == device
    y.backward(x["grad"])
    return [to_numpy(y), *(to_numpy(leaf.grad) for leaf in leaves)]


def definition(given: Problem) -> list[np.ndarray]:
    """Output and gradients of the definition."""
    q, k, v, grad = given[:4]
    found = reference.attention_vjp(q, k, v, grad, **given.seen)
    return [reference.attention(q, k, v, **given.seen), *(x for x in found if x is not None)]


def magnitudes(given: Problem) -> tuple[float, list[float]]:
    """The largest score, and for output and gradients the sum of the sizes of what is added up."""
    q, k, v, grad = map(np.abs, given[:4])
    weights = reference.attention_weights(given.q, given.k, **given.seen)
    scale = 1 / math.sqrt(q.shape[-1])
    spread = grad @ v.mT
    dscores = weights * (spread + (weights * spread).sum(axis=-1, keepdims=True))
    met = [weights @ v, scale * dscores @ k, scale * dscores.mT @ q, weights.mT @ grad]
    met += [] if given.bias is None else [dscores.sum(axis=0)]
    scores = scale * q @ k.mT + (0 if given.bias is None else np.abs(given.bias))
    return float(scores.max()), [float(x.max(initial=0)) for x in met]


def assert_equal(got: list[np.ndarray], given: Problem, dtype: str) -> None:
    """Hold output and gradients to the definition.

    The bound is that of the case table, 8 roundings of half a unit of each term; and a score s is
    known in float32 to s half units at best, which the exponential turns into as large a relative
    error of a weight.
    """
    largest_score, met = magnitudes(given)
    bound = TOLERANCE[dtype].bound
    if dtype != "float64":
        bound += TOLERANCE["float32"].bound * largest_score
    for one, expected, magnitude in zip(got, definition(given), met, strict=True):
        np.testing.assert_allclose(one, expected, rtol=0, atol=bound * max(magnitude, 1e-3))


@contextmanager
def asked_as_on_a_gpu() -> Iterator[None]:
    """The kernel of the CPU is given what one of a GPU would be, and the two must have an answer.

    Only rows that are short for a CPU still get a mask.
    """
    with ExitStack() as stack:
        stack.enter_context(patch.object(_kernels, "CPU", GPU._replace(fewest=CPU.fewest)))
        for name in ("attention", "masks"):
            module = import_module(f"tformer.fast.{name}")
            stack.enter_context(
                patch.object(module, "scaled_dot_product_attention", _fit_for_a_gpu)
            )
        yield


def _fit_for_a_gpu(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> torch.Tensor:
    """The kernel, for arguments that a GPU takes: see decision 008."""
    assert scale is not None, "of the width that it sees, the kernel would make another"
    assert q.shape[-1] == k.shape[-1] == v.shape[-1]
    assert q.shape[-1] % 8 == 0
    if attn_mask is not None:
        assert attn_mask.is_contiguous()
        assert attn_mask.shape[-1] == k.shape[-2] == v.shape[-2]
        assert k.shape[-2] % 16 == 0
        seen = attn_mask if attn_mask.dtype == torch.bool else attn_mask != -torch.inf
        assert seen.any(dim=-1).all() or k.shape[-2] == 0
    return scaled_dot_product_attention(
        q, k, v, attn_mask=attn_mask, is_causal=is_causal, scale=scale
    )
