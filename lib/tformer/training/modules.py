"""Parameters, buffers and wrappers of any PyTorch module, as training needs them."""

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
"""The attribute, and prefix of names, that `torch.compile` adds."""
NOT_DECAYED = re.compile(r"b_\w+|positions|distances")
"""Parameters of ours with two axes that are not decayed: biases of heads, and positions."""


def unwrap(module: nn.Module) -> nn.Module:
    """The module itself, without the wrappers of compilation and data parallelism."""
    return [*_wrapped(module)][-1]


def data_parallel_wrapper(module: nn.Module) -> DistributedDataParallel | None:
    """The `DistributedDataParallel` around the module, if there is one."""
    return next((x for x in _wrapped(module) if isinstance(x, DistributedDataParallel)), None)


def is_compiled(module: nn.Module) -> bool:
    """Whether `torch.compile` has compiled the module."""
    return any(
        hasattr(x, WRAPPER) or getattr(x, "_compiled_call_impl", None) is not None
        for x in _wrapped(module)
    )


def named_parameters(module: nn.Module) -> dict[str, Tensor]:
    """The parameters, each once, under their names without wrappers."""
    return {_without_wrapper(name): x for name, x in module.named_parameters()}


def named_buffers(module: nn.Module) -> dict[str, Tensor]:
    """The persistent buffers by name.

    Raises
    ------
    ValueError
        If a value in the state dict is no tensor; a checkpoint holds tensors only.
    """
    state = module.state_dict()
    for name, x in state.items():
        if not isinstance(x, Tensor):
            raise ValueError(
                f"train: {name} of the module is a {type(x).__name__}; a checkpoint holds tensors"
            )
    return {_without_wrapper(name): x for name, x in module.named_buffers() if name in state}


def decayed_names(module: nn.Module) -> set[str]:
    """The names of the parameters with weight decay: those of two axes or more.

    Biases and position parameters of a `fast.Module` are excepted; of other modules only the number
    of axes is known.
    """
    others = {
        id(x)
        for part in module.modules()
        if isinstance(part, fast.Module)
        for name, x in part.named_parameters()
        if NOT_DECAYED.fullmatch(name.split(".")[-1])
    }
    return {
        name for name, x in named_parameters(module).items() if x.ndim > 1 and id(x) not in others
    }


def require_no_shared_storage(module: nn.Module) -> None:
    """Refuse a module whose parameters share memory.

    Raises
    ------
    ValueError
        If two parameters overlap in memory, or one overlaps itself: each would be updated once a
        step.
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
            indices = numbers.as_strided(x.shape, x.stride(), x.storage_offset()).flatten()
            if held[indices].any() or len(indices.unique()) < len(indices):
                raise ValueError(
                    f"train: {name} shares memory with other parameters, or with itself; "
                    "give copies, or one parameter under both names"
                )
            held[indices] = True


def _wrapped(module: nn.Module) -> Iterator[nn.Module]:
    """The module, and those that it wraps, from the outside in."""
    inner: Any = module
    while isinstance(inner, nn.Module):
        yield inner
        several = isinstance(inner, DataParallel | DistributedDataParallel)
        inner = inner.module if several else getattr(inner, WRAPPER, None)


def _without_wrapper(name: str) -> str:
    return ".".join(part for part in name.split(".") if part != WRAPPER)
