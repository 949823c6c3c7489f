"""What a training has to know of a module of PyTorch, whatever it is."""

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parallel import DataParallel, DistributedDataParallel

from tformer import fast

__all__ = [
    "data_parallel_wrapper",
    "decayed_names",
    "is_compiled",
    "named_buffers",
    "named_parameters",
    "require_no_shared_storage",
    "unwrap",
]

WRAPPER = "_orig_mod"
"""What `torch.compile` puts before the names of what it compiles."""
NO_MATRICES = re.compile(r"b_\w+|positions|distances")
"""Ours with two axes that are no matrices: the biases of heads, and what places add."""


def unwrap(module: nn.Module) -> nn.Module:
    """The module itself, without what compiles it or copies it to several devices."""
    return [*_layers(module)][-1]


def data_parallel_wrapper(module: nn.Module) -> DistributedDataParallel | None:
    """What copies the module to several processes, if it already stands in that."""
    return next((x for x in _layers(module) if isinstance(x, DistributedDataParallel)), None)


def is_compiled(module: nn.Module) -> bool:
    """Whether a compiler reads the module along."""
    return any(
        hasattr(x, WRAPPER) or getattr(x, "_compiled_call_impl", None) is not None
        for x in _layers(module)
    )


def named_parameters(module: nn.Module) -> dict[str, Tensor]:
    """The parameters, each once, under the names that they have when nothing is compiled."""
    return {_plain(name): x for name, x in module.named_parameters()}


def named_buffers(module: nn.Module) -> dict[str, Tensor]:
    """The buffers that belong to the module's state, by name.

    Raises
    ------
    ValueError
        If something in its state is no tensor: there is no room for that in a checkpoint.
    """
    state = module.state_dict()
    for name, x in state.items():
        if not isinstance(x, Tensor):
            raise ValueError(
                f"train: {name} of the module is a {type(x).__name__}; a checkpoint holds tensors"
            )
    return {_plain(name): x for name, x in module.named_buffers() if name in state}


def decayed_names(module: nn.Module) -> set[str]:
    """The names of those that weight decay acts on: of two axes or more, and no bias or place.

    Of a plain module the axes alone are known.
    """
    others = {
        id(x)
        for part in module.modules()
        if isinstance(part, fast.Module)
        for name, x in part.named_parameters()
        if NO_MATRICES.fullmatch(name.split(".")[-1])
    }
    return {
        name for name, x in named_parameters(module).items() if x.ndim > 1 and id(x) not in others
    }


def require_no_shared_storage(module: nn.Module) -> None:
    """Refuse a module whose parameters are views of the same numbers.

    Raises
    ------
    ValueError
        If two of them overlap, or one overlaps itself: each would move the numbers once a step.
    """
    together: defaultdict[int, list[tuple[str, Tensor]]] = defaultdict(list)
    for name, x in named_parameters(module).items():
        if x.numel():
            together[x.untyped_storage().data_ptr()].append((name, x))
    for several in together.values():
        first, nbytes = several[0][1], several[0][1].untyped_storage().nbytes()
        if len(several) == 1 and first.nbytes == nbytes:
            continue
        numbers = torch.arange(nbytes // first.element_size(), device=first.device)
        held = torch.zeros_like(numbers, dtype=torch.bool)
        for name, x in several:
            place = numbers.as_strided(x.shape, x.stride(), x.storage_offset()).flatten()
            if held[place].any() or len(place.unique()) < len(place):
                raise ValueError(
                    f"train: {name} is a view of numbers that stand in the parameters elsewhere; "
                    "give copies, or one parameter for both places"
                )
            held[place] = True


def _layers(module: nn.Module) -> Iterator[nn.Module]:
    """The module, and what is in it if it only stands around another."""
    inner: Any = module
    while isinstance(inner, nn.Module):
        yield inner
        several = isinstance(inner, DataParallel | DistributedDataParallel)
        inner = inner.module if several else getattr(inner, WRAPPER, None)


def _plain(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != WRAPPER)
