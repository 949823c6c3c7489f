"""Parameters, gradients and moments parted among processes, by PyTorch's `fully_shard`.

Everything here loads what it needs of PyTorch when it is called: that takes a second or two.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch import distributed as processes

__all__ = ["gather", "scatter", "shard"]


def shard(module: nn.Module, device: torch.device) -> None:
    """Leave each process its share of all parameters: each block by itself, and the rest together.

    What a block needs is gathered when it is called, forward and backward, and let go after it.
    """
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    for x in module.parameters():
        x.data = x.data.contiguous()  # loaded ones may be transposed, which PyTorch refuses here
    mesh: Any = init_device_mesh(device.type, (processes.get_world_size(),))
    for one in getattr(module, "blocks", nn.Module()).children():
        fully_shard(one, mesh=mesh)
    fully_shard(module, mesh=mesh)


def gather(x: Tensor) -> Tensor:
    """A parameter or a moment, whole; every process has to ask for it."""
    whole: Any = getattr(x, "full_tensor", None)
    return x if whole is None else whole()


def scatter(x: Tensor, like: Tensor) -> Tensor:
    """A whole tensor as `like` is: parted among the processes if that is, and on its device."""
    moved = x.to(like.device)
    if not hasattr(like, "full_tensor"):
        return moved
    from torch.distributed.tensor import distribute_tensor

    parted: Any = like
    return distribute_tensor(moved, parted.device_mesh, parted.placements)
