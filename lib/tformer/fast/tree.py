"""Parameters as PyTorch pytrees, and an `nn.Module` that holds them."""

from collections.abc import Callable
from typing import Any

from torch import nn
from torch.utils import _pytree as pytree

from tformer.parameters import TREES, named_leaves

__all__ = ["Module"]


def _register(cls: type[Any]) -> None:
    """Register a class of parameters as a pytree, so that torch.func and torch.compile take it."""

    absent: dict[str, Any] = dict.fromkeys(cls.__dataclass_fields__)

    def flatten(tree: Any) -> tuple[list[Any], tuple[str, ...]]:
        present = {name: x for name, x in vars(tree).items() if x is not None}
        return [*present.values()], tuple(present)

    def flatten_with_keys(tree: Any) -> tuple[list[Any], tuple[str, ...]]:
        values, names = flatten(tree)
        return [
            (pytree.GetAttrKey(x), value) for x, value in zip(names, values, strict=True)
        ], names

    def unflatten(values: Any, names: tuple[str, ...]) -> Any:
        return cls(**absent | dict(zip(names, values, strict=True)))

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
    """A function of parameters as an `nn.Module`: for optimisers, state dicts, compile and DDP.

    It registers each leaf under its name, and computes nothing of its own. Tensors are not copied:
    training changes those that are given. A tensor that occurs twice is one shared parameter.
    Integers have no gradient.

    Parameters
    ----------
    function : callable
        Called by `forward` with its arguments, and with the parameters as `parameters`.
    parameters : tree
        Dataclasses of tensors, which may be nested and in tuples.
    **fixed
        Further arguments of the function, the same in every call.

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
        self.owners = [(_submodule(self, name), name.split(".")[-1]) for name in names]
        made = {id(x): nn.Parameter(x, requires_grad=x.is_floating_point()) for x in values}
        for (owner, name), value in zip(self.owners, values, strict=True):
            owner.register_parameter(name, made[id(value)])

    @property
    def tree(self) -> Any:
        """The parameters as the tree that the function takes."""
        return self.branch(self.form)

    def branch(self, form: Any) -> Any:
        """The subtree of the parameters that `form`, or a part of it, stands for."""
        return _unflatten(form, [getattr(*owner) for owner in self.owners])

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return self.function(*args, parameters=self.tree, **self.fixed, **kwargs)


def _unflatten(form: Any, values: list[Any]) -> Any:
    """Return the tree of a form, whose leaves are indices into `values`.

    Every call does this first; PyTorch's own `tree_unflatten` takes twice as long.
    """
    if form is None:
        return None
    if isinstance(form, int):
        return values[form]
    if isinstance(form, tuple):
        return tuple([_unflatten(one, values) for one in form])
    return type(form)(*[_unflatten(one, values) for one in vars(form).values()])


def _submodule(module: nn.Module, name: str) -> nn.Module:
    """Return the submodule that owns a dotted name; create it where it is missing."""
    for part in name.split(".")[:-1]:
        if not hasattr(module, part):
            module.add_module(part, _Submodule())
        module = getattr(module, part)
    return module


class _Submodule(nn.Module):
    """Holds parameters; its hooks, such as those of FSDP, run around the functions it calls."""

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call the function."""
        return function(*args)
