"""Parameters as PyTorch's trees, and the one module that holds them."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.utils import _pytree as pytree

from tformer.parameters import TREES, named_leaves

__all__ = ["Module"]


def _register(cls: type[Any]) -> None:
    """Let PyTorch map over a class of parameters, differentiate with respect to it, compile it."""

    nothing: dict[str, Any] = dict.fromkeys(cls.__dataclass_fields__)

    def flatten(tree: Any) -> tuple[list[Any], tuple[str, ...]]:
        present = {name: x for name, x in vars(tree).items() if x is not None}
        return [*present.values()], tuple(present)

    def flatten_with_keys(tree: Any) -> tuple[list[Any], tuple[str, ...]]:
        values, names = flatten(tree)
        return [
            (pytree.GetAttrKey(x), value) for x, value in zip(names, values, strict=True)
        ], names

    def unflatten(values: Any, names: tuple[str, ...]) -> Any:
        return cls(**nothing | dict(zip(names, values, strict=True)))

    pytree.register_pytree_node(
        cls,
        flatten,
        unflatten,
        serialized_type_name=f"tformer.{cls.__name__}",
        flatten_with_keys_fn=flatten_with_keys,
    )


for _cls in TREES:
    _register(_cls)


class Module(nn.Module):
    """A function of parameters, as a module: for optimisers, state dicts, compilers and replicas.

    It holds the leaves under their names, and has no mathematics of its own. They are not copied:
    training changes the tensors that are given. A tensor in two places is one parameter in both.

    Parameters
    ----------
    function : callable
        Takes what `forward` is given; the parameters are its argument `parameters`.
    parameters : tree
        Dataclasses of tensors, in tuples and in each other.
    **fixed
        What the function takes besides, the same in every call.

    Examples
    --------
    >>> import torch
    >>> from tformer import fast
    >>> from tformer.parameters import HeadParameters
    >>> heads = HeadParameters(*(torch.ones(2, 6, 3) for _ in "qkv"), torch.ones(2, 3, 6))
    >>> layer = Module(fast.multi_head_attention, heads, causal=True)
    >>> list(layer.state_dict()), layer(torch.ones(4, 6)).shape
    (['w_q', 'w_k', 'w_v', 'w_o'], torch.Size([4, 6]))
    """

    def __init__(self, function: Callable[..., Any], parameters: Any, **fixed: Any) -> None:
        super().__init__()
        self.function, self.fixed = function, fixed
        names = [name for name, _ in named_leaves(parameters)]
        values, spec = pytree.tree_flatten(parameters)
        self.form = pytree.tree_unflatten(range(len(values)), spec)
        self.places = [(_room(self, name), name.split(".")[-1]) for name in names]
        made = {id(value): nn.Parameter(value) for value in values}
        for (room, name), value in zip(self.places, values, strict=True):
            room.register_parameter(name, made[id(value)])

    @property
    def tree(self) -> Any:
        """The parameters as the function takes them."""
        return self.branch(self.form)

    def branch(self, form: Any) -> Any:
        """As much of them as is in `form`, or in a part of it."""
        return _together(form, [getattr(*place) for place in self.places])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, parameters=self.tree, **self.fixed, **kwargs)


def _together(form: Any, values: list[Any]) -> Any:
    """The tree of a form, which has numbers of values in their places; what every call begins with.

    PyTorch's own function for this takes twice as long.
    """
    if form is None:
        return None
    if isinstance(form, int):
        return values[form]
    if isinstance(form, tuple):
        return tuple([_together(one, values) for one in form])
    return type(form)(*[_together(one, values) for one in vars(form).values()])


def _room(module: nn.Module, name: str) -> nn.Module:
    """The module that a dotted name stands in, made where it is missing."""
    for part in name.split(".")[:-1]:
        if not hasattr(module, part):
            module.add_module(part, _Room())
        module = getattr(module, part)
    return module


class _Room(nn.Module):
    """Holds parameters; what its hooks do, such as those of sharding, is done for what it calls."""

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the function."""
        return function(*args)
