"""Whether the shapes of a layer's arrays agree, by the docstrings of their classes."""

from functools import cache
from typing import Any

import numpy as np

from tformer.docstrings import documented
from tformer.layers import LayerParameters
from tformer.parameters import named_leaves
from tformer.shapes import Axes, axes_of, bind_all

__all__ = ["require_shapes"]

EMBEDDING = axes_of("N d_model")[0]


def require_shapes(where: str, layer: LayerParameters, embedding: Any) -> None:
    """Require that the shapes of the arrays of a layer fit each other and the embedding.

    Raises
    ------
    ShapeError
        If one has another number of axes, or an axis another size than elsewhere.
    ValueError
        If a table of experts names one twice, or one that is not there.
    """
    axes = _axes()
    arrays = [(name, axes[name], x) for name, x in named_leaves(layer)]
    bind_all(where, [("embedding", EMBEDDING, embedding), *arrays])
    if layer.token_experts is not None and layer.experts is not None:
        _require_table(where, layer.token_experts, layer.experts.w_router.shape[-1])


def _require_table(where: str, table: Any, n_experts: int) -> None:
    rows = np.sort(table, axis=-1)
    if (rows[:, 1:] == rows[:, :-1]).any() or rows.min() < 0 or rows.max() >= n_experts:
        raise ValueError(f"{where}: token_experts must name different experts below {n_experts}")


@cache
def _axes() -> dict[str, Axes]:
    """The axes of each array of a layer by its name."""

    def holds(parameters: LayerParameters) -> None:
        pass

    holds.__annotations__["parameters"] = LayerParameters
    holds.__doc__ = "Parameters\n----------\nparameters : LayerParameters\n\n(N,) array\n"
    said = documented(holds)
    names = (name.removeprefix("parameters.") for name in said.names)
    return dict(zip(names, axes_of(said.spec), strict=True))
