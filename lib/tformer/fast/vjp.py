"""Vector-Jacobian products by automatic differentiation, of functions of tensors and trees."""

from collections.abc import Callable
from typing import Any

import torch

from tformer.fast.quantised import QuantisedMatrix
from tformer.parameters import leaves, named_leaves, tree_map

__all__ = ["vjp"]


def vjp(function: Callable[..., Any], inputs: tuple[Any, ...], grads: Any) -> Any:
    """Return the gradients of `inputs`, given `grads`, the gradients of the function's results.

    An input is a tensor, a tree of tensors, or None; the gradient of None is None, that of integers
    is zero.
    """
    for name, x in named_leaves(inputs):
        if type(x) is QuantisedMatrix:
            raise TypeError(
                f"{name.partition('.')[2]} is a QuantisedMatrix, which has no gradient; "
                "dequantised() gives a tensor that has one"
            )
    with torch.enable_grad():
        inputs = tree_map(lambda x: x.detach().requires_grad_(x.is_floating_point()), inputs)
        results = function(*inputs)
        several = results if isinstance(results, tuple) else (results,)
        grads = grads if isinstance(grads, tuple) else (grads,)
        pairs = [torch.broadcast_tensors(*pair) for pair in zip(several, grads, strict=True)]
        ys, grads = zip(*pairs, strict=True)
        wanted = [x for x in leaves(inputs) if x.requires_grad]
        found = torch.autograd.grad(ys, wanted, grads, materialize_grads=True)
    remaining = iter(found)
    return tree_map(lambda x: next(remaining) if x.requires_grad else x.new_zeros(x.shape), inputs)
