"""Parameters, gradients and moments sharded over processes (FSDP), by PyTorch's `fully_shard`.

Functions import the parts of PyTorch that they need when called: that takes a second or two.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as processes

__all__ = ["gather", "scatter", "shard"]


def shard(module: nn.Module, device: torch.device) -> None:
    """Shard all parameters over the processes: each block by itself, and the others together.

    The parameters of a block are gathered when it is called, forward and backward, and freed after.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    for x in module.parameters():
        x.data = x.data.contiguous()  # loaded ones may be transposed; fully_shard refuses that
    mesh: Any = init_device_mesh(device.type, (processes.get_world_size(),))
    for one in getattr(module, "blocks", nn.Module()).children():
        fully_shard(one, mesh=mesh)
    fully_shard(module, mesh=mesh)


def gather(x: Tensor) -> Tensor:
    """The full tensor of a parameter or a moment; every process has to call this."""
    whole: Any = getattr(x, "full_tensor", None)
    return x if whole is None else whole()


def scatter(x: Tensor, like: Tensor) -> Tensor:
    """A full tensor on the device of `like`, and sharded over the processes as `like` is."""
    moved = x.to(like.device)
    if not hasattr(like, "full_tensor"):
        return moved
    from torch.distributed.tensor import distribute_tensor

    sharded: Any = like
    return distribute_tensor(moved, sharded.device_mesh, sharded.placements)
