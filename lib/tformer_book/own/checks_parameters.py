"""Checks of part 10: the configuration, and parameters by their shapes and first values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.kinds import Array
from tformer_book.exercises.table import Case, case
from tformer_book.own.checking import checked

FIELDS = ("n_vocab", "d_model", "n_layers", "n_heads", "n_groups", "d_ff")
DEFAULTS = {"base": 10000.0, "eps": 1e-5, "tied": True, "causal": True}


# ---- Config, parameters -------------------------------------------------------------------


def _sizes() -> Iterator[Case]:
    yield case(sizes=(5, 8, 3, 4, 2, 16), want=[5, 8, 3, 4, 2, 16, 10000, 1e-5, 1, 1])
    yield case(sizes=(7, 12, 2, 6, 3, 9))


@checked(
    "Config",
    praise="Six sizes in their order, and the four defaults.",
    cases=_sizes,
    otherwise=f"The fields are {', '.join(FIELDS)}, and with defaults {', '.join(DEFAULTS)}.",
)
def _config(my: ModuleType, sizes: Any) -> Any:
    if (my.Config.__init__, my.Config.__new__) == (object.__init__, object.__new__):
        raise Wrong("Config takes no arguments yet: put @dataclass above it.")
    found = my.Config(*sizes)
    for name in (*FIELDS, *DEFAULTS):
        if not hasattr(found, name):
            raise Wrong(f"Config has no field `{name}`; the lent parts read it.")
    for name, value in zip(FIELDS, sizes, strict=True):
        if (got := getattr(found, name)) != value:
            taken = FIELDS[sizes.index(got)] if got in sizes else ""
            why = f"`{name}` and `{taken}` are exchanged: t" if taken else "T"
            raise Wrong(
                f"With {', '.join(map(str, sizes))}, `{name}` is {got}; it should be {value}. "
                f"{why}he order is {', '.join(FIELDS)}."
            )
    for name, value in DEFAULTS.items():
        if (got := getattr(found, name)) != value:
            raise Wrong(f"`{name}` is {got} by default; it should be {value}.")
    return np.array([float(getattr(found, name)) for name in (*FIELDS, *DEFAULTS)])


def _configurations() -> Iterator[Case]:
    for sizes in ((5, 8, 1, 4, 2, 6), (7, 6, 3, 2, 2, 9)):
        for tied in (True, False):
            yield case(sizes=sizes, tied=tied)


@checked(
    "parameter_shapes",
    praise="All names of Llama's files, for groups, and with a table of its own at the end.",
    cases=_configurations,
    slips="""
        "self_attn.k_proj": (d_kv, d) → "self_attn.k_proj": (d, d)
            Keys are as wide as their groups: n_groups heads of them, not n_heads.
        (d_ff, d), "mlp.up_proj": (d_ff, d), "mlp.down_proj": (d, d_ff) → (d, d_ff), "mlp.up_proj": (d, d_ff), "mlp.down_proj": (d_ff, d)
            The feed-forward matrices lie on their side: a row makes an output, as in (d_ff, d).
        c.d_model * c.n_groups // c.n_heads → c.d_model // c.n_heads
            That is the width of one head; there are n_groups of them in keys and values.
        // c.n_heads → / c.n_heads
            A shape holds whole numbers: divide with //.
    """,  # noqa: E501
    otherwise="The shapes are those of the files: (outputs, inputs), and (d_model,) for a gain.",
)
def _parameter_shapes(my: ModuleType, sizes: Any, tied: bool) -> Any:
    found = my.parameter_shapes(my.Config(*sizes, tied=tied))
    n_layers = sizes[2]
    layer = [f"self_attn.{name}_proj" for name in "qkvo"]
    layer += [f"mlp.{name}_proj" for name in ("gate", "up", "down")]
    layer += ["input_layernorm", "post_attention_layernorm"]
    wanted = [f"model.layers.{i}.{name}.weight" for i in range(n_layers) for name in layer]
    wanted += ["model.embed_tokens.weight", "model.norm.weight"]
    wanted += ["lm_head.weight"] * (not tied)
    if missing := [name for name in wanted if name not in found]:
        if missing[0].removesuffix(".weight") in found:
            raise Wrong(f"Each name ends with `.weight`; `{missing[0]}` is one.")
        raise Wrong(
            f"With tied = {tied}, parameter_shapes leaves out {len(missing)} of {len(wanted)} "
            f"names: {', '.join(f'`{name}`' for name in missing)}."
        )
    for name in found:
        if name not in wanted:
            raise Wrong(f"parameter_shapes has `{name}`, which no part reads (tied is {tied}).")
        if not isinstance(found[name], tuple | list):
            raise Wrong(f"`{name}` has the shape {found[name]}; a tuple is asked for, as in (d,).")
        if not all(isinstance(n, int) for n in found[name]):
            raise Wrong(
                f"`{name}` has the shape {found[name]}. A shape holds whole numbers: divide with "
                "//."
            )
    rows = [(*found[name], 0)[:2] for name in wanted]
    return np.array(rows, dtype=float)


DRAWN = ("embed_tokens", *(f"{x}_proj" for x in ("q", "k", "v", "o", "gate", "up", "down")))
GAINS = "Gains begin at 1."


@dataclass(frozen=True)
class Sizes(Array):
    """Root mean squares of random numbers: those that differ by less than a tenth are alike."""

    def same(self, got: Any, want: Any) -> bool:
        """Tell whether the sizes agree: of 2,000 numbers and more, chance leaves 2 percent."""
        return got.shape == want.shape and np.allclose(got, want, rtol=0.1, atol=0)


def _initial() -> Iterator[Case]:
    yield case(sizes=(50, 64, 8, 4, 2, 100), seed=0, want=np.ones(8))
    yield case(sizes=(50, 64, 2, 4, 4, 256), seed=1, want=np.ones(8))


@checked(
    "initialise",
    praise="Gains of 1, matrices by their inputs, and less for what adds to the residual stream.",
    cases=_initial,
    kind=Sizes(
        called="√(inputs) times the root mean square, for o_proj and down_proj also times "
        f"√(2 n_layers), of {', '.join(DRAWN)}"
    ),
    slips="""
        2 * c.n_layers if adds else 1 → 1
            o_proj and down_proj add to the residual stream 2 n_layers times: divide them by √(2 n_layers).
        * shape[-1] ** -0.5 → * shape[0] ** -0.5
            The size goes by the inputs of a matrix, its second axis; yours goes by its outputs.
        torch.ones(shape) if → torch.zeros(shape) if
            Gains begin at 1.
        2 * c.n_layers if adds else 1 → c.n_layers if adds else 1
            Each layer adds to the residual stream twice, so it is √(2 n_layers).
        2 * c.n_layers if adds else 1) ** -0.5 * shape[-1] ** -0.5 → 2 * c.n_layers if adds else 1) ** -0.5
            The matrices are not divided by the root of the number of their inputs.
        shape[-1] ** -0.5 → shape[-1] ** -1
            The matrices are divided by the number of their inputs; its root is meant.
        torch.randn( → torch.rand(
            torch.rand draws from 0 to 1, all positive; torch.randn draws normal numbers.
        adds = → adds = True or
            Every matrix is divided by √(2 n_layers); only o_proj and down_proj are.
        adds = → adds = len(shape) == 2 and not
            √(2 n_layers) is for o_proj and down_proj, which add to the stream, and for no other.
    """,  # noqa: E501
    otherwise="Standard deviation 1/√(inputs), over √(2 n_layers) where a part adds to the stream.",
)
def _initialise(my: ModuleType, sizes: Any, seed: int) -> Any:
    found = my.initialise(my.Config(*sizes), seed)
    shapes = my.parameter_shapes(my.Config(*sizes))
    for name, shape in shapes.items():
        if name not in found or tuple(found[name].shape) != shape:
            raise Wrong(f"initialise should return `{name}` with the shape {shape}.")
        if not found[name].requires_grad:
            raise Wrong(f"`{name}` does not ask for a gradient: end with .requires_grad_().")
    again = my.initialise(my.Config(*sizes), seed)
    if any((found[name] != again[name]).any() for name in shapes):
        raise Wrong("The same seed gives other numbers the second time.")
    other = my.initialise(my.Config(*sizes), seed + 1)
    if all((found[name] == other[name]).all() for name in shapes):
        raise Wrong("Another seed gives the same numbers: the argument seed has no effect.")
    if any((x != 1).any() for x in found.values() if x.ndim == 1):
        raise Wrong(GAINS)
    scale = {"o_proj": math.sqrt(2 * sizes[2]), "down_proj": math.sqrt(2 * sizes[2])}
    alike = [torch.stack([x for n, x in found.items() if f"{kind}." in n]) for kind in DRAWN]
    squares = [x.square().mean() * x.shape[-1] for x in alike]
    return torch.stack([x.sqrt() * scale.get(n, 1) for n, x in zip(DRAWN, squares, strict=True)])
