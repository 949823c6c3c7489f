"""Inputs of the checks: arrays, configurations and parameters by seed."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import torch


def arrays(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    """Return arrays of standard normal numbers with three decimals."""
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape).round(3) for shape in shapes]


def small(my: ModuleType, **changes: Any) -> Any:
    """Return a small configuration: 11 tokens, 2 layers, 4 heads in 2 groups."""
    sizes = {"n_vocab": 11, "d_model": 8, "n_layers": 2, "n_heads": 4, "n_groups": 2, "d_ff": 6}
    return my.Config(**(sizes | changes))


def parameters(my: ModuleType, c: Any, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return parameters in double precision, gains among them, that are all drawn."""
    rng = np.random.default_rng(seed)
    shapes = my.parameter_shapes(c)
    drawn = {name: rng.normal(size=shape) / shape[-1] ** 0.5 for name, shape in shapes.items()}
    return {name: torch.from_numpy(x) for name, x in drawn.items()}


def gpt2_parameters(c: Any, seed: int = 0) -> dict[str, torch.Tensor]:
    """Return the parameters of a model in the form of GPT-2, biases among them, all drawn."""
    d, d_ff = c.d_model, c.d_ff
    affine = {"attn.c_attn": (d, 3 * d), "attn.c_proj": (d, d)}
    affine |= {"mlp.c_fc": (d, d_ff), "mlp.c_proj": (d_ff, d)}
    shapes: dict[str, tuple[int, ...]] = {"wte.weight": (c.n_vocab, d), "wpe.weight": (32, d)}
    for i in range(c.n_layers):
        for name in ("ln_1", "ln_2"):
            shapes |= {f"h.{i}.{name}.weight": (d,), f"h.{i}.{name}.bias": (d,)}
        for name, shape in affine.items():
            shapes |= {f"h.{i}.{name}.weight": shape, f"h.{i}.{name}.bias": shape[-1:]}
    shapes |= {"ln_f.weight": (d,), "ln_f.bias": (d,)}
    rng = np.random.default_rng(seed)
    drawn = {name: rng.normal(size=shape) / d**0.5 for name, shape in shapes.items()}
    return {name: torch.from_numpy(x) for name, x in drawn.items()}
