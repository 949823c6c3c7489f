"""The state of a training run as tensors by name, and restoring a run from it."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch import distributed as processes

from tformer.training import sharding
from tformer.training.checkpoints import Checkpoint, CheckpointError, CheckpointFolder
from tformer.training.modules import named_buffers

__all__ = ["capture_state", "restore"]

MOMENTS = ("step", "exp_avg", "exp_avg_sq")


class Run(Protocol):
    """The attributes of a run that make up its state."""

    module: nn.Module
    named: dict[str, Tensor]
    optimiser: Any
    scaler: Any
    device: torch.device
    rank: int
    size: int


def capture_state(run: Run, step: int) -> dict[str, Tensor]:
    """The state after a step; every process has to call this.

    Raises
    ------
    FloatingPointError
        If a parameter or a moment is not finite.
    ValueError
        If a value in the module's state dict is no tensor.
    """
    found = {f"parameters.{name}": x.detach() for name, x in run.named.items()}
    for name, x in run.named.items():
        moments = run.optimiser.state.get(x, {})
        found |= {f"optimiser.{key}.{name}": value for key, value in moments.items()}
    found = {key: sharding.gather(x) for key, x in found.items()}
    for key, x in found.items():
        if not torch.isfinite(x).all():
            raise FloatingPointError(
                f"train: after step {step} {key} is not finite; it is not saved"
            )
    found |= {f"buffers.{name}": x for name, x in named_buffers(run.module).items()}
    scaled = run.scaler.state_dict()
    return (
        found
        | _generator_states(run)
        | {f"scaler.{key}": torch.tensor(scaled[key]) for key in sorted(scaled)}
    )


def restore(run: Run, found: Checkpoint, folder: CheckpointFolder) -> None:
    """Restore a run from a checkpoint.

    Raises
    ------
    CheckpointError
        If the checkpoint has other names, shapes or dtypes than the run, which is then unchanged.
    """
    there = {key: x for key, x in found.tensors.items() if not key.startswith("generator.")}
    here = {f"parameters.{name}": x.detach() for name, x in run.named.items()}
    here |= {f"buffers.{name}": x for name, x in named_buffers(run.module).items()}
    here |= {f"scaler.{key}": torch.tensor(x) for key, x in run.scaler.state_dict().items()}
    for name, x in run.named.items():
        keys = [f"optimiser.{kind}.{name}" for kind in MOMENTS]
        if any(key in there for key in keys):
            here |= dict(zip(keys, (torch.zeros(()), x, x), strict=True))
    for key in sorted(here.keys() | there.keys(), key=lambda key: (key[0] != "p", key)):
        if other := _difference(there.get(key), here.get(key)):
            name = key.removeprefix("parameters.")
            raise CheckpointError(f"{folder.checkpoint} is of another model: {name} is {other}")
    try:
        _set_generators(run, found.tensors)
    except (RuntimeError, TypeError) as error:
        raise CheckpointError(f"{folder.checkpoint} is of another generator: {error}") from error
    with torch.no_grad():
        for key, x in here.items():
            part, kind, name = (*key.split(".", 2), "")[:3]
            value = there[key]
            if part == "parameters":
                x.copy_(sharding.scatter(value, x))
            elif part == "buffers" and not torch.equal(x, value.to(x.device)):
                x.copy_(value)
            elif part == "optimiser":
                one = run.named[name]
                if kind != "step":
                    value = sharding.scatter(value, one)
                elif run.optimiser.defaults["fused"]:
                    value = value.to(one.device)
                run.optimiser.state[one][kind] = value
    scaled = {key: there[f"scaler.{key}"].item() for key in run.scaler.state_dict()}
    run.scaler.load_state_dict(scaled)


def _difference(there: Tensor | None, here: Tensor | None) -> str:
    """How shape or dtype of a tensor differ between checkpoint and run; "" if they do not."""
    shapes = ["absent" if x is None else str(tuple(x.shape)) for x in (there, here)]
    dtypes = ["" if x is None else str(x.dtype).removeprefix("torch.") for x in (there, here)]
    one, other = shapes if shapes[0] != shapes[1] else dtypes
    return "" if one == other else f"{one} there, {other} here"


def _generators(device: torch.device) -> dict[str, tuple[Callable[..., Any], Callable[..., Any]]]:
    """The functions that get and set the state of PyTorch's random generators, by device."""
    found: dict[str, Any] = {"cpu": (torch.get_rng_state, torch.set_rng_state)}
    if device.type != "cpu":
        library = torch.get_device_module(device)
        which = {} if device.type == "mps" else {"device": device}
        pair = library.get_rng_state, library.set_rng_state
        found[device.type] = tuple(partial(one, **which) for one in pair)
    return found


def _generator_states(run: Run) -> dict[str, Tensor]:
    """The states of the random generators of every process, by device and rank."""
    found: dict[str, Tensor] = {}
    for kind, (get, _) in _generators(run.device).items():
        mine = get()
        states = [mine]
        if run.size > 1:
            states = [torch.empty_like(mine, device=run.device) for _ in range(run.size)]
            processes.all_gather(states, mine.to(run.device))
        found |= {f"generator.{kind}.{rank}": x for rank, x in enumerate(states)}
    return found


def _set_generators(run: Run, tensors: Mapping[str, Tensor]) -> None:
    """Restore the random generators of this process, if the checkpoint has them."""
    for kind, (_, set_state) in _generators(run.device).items():
        state = tensors.get(f"generator.{kind}.{run.rank}")
        if state is not None:
            set_state(state)
