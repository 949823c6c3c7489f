"""The choice of a device. `tformer.fast` moves no tensor: the caller does, to this device."""

import os

import torch

__all__ = ["pick_device"]


def pick_device(name: str | None = None) -> torch.device:
    """Return the device to put tensors on: CUDA if there is one, else MPS, else the CPU.

    Parameters
    ----------
    name : str, optional
        A device such as ``"cpu"`` or ``"cuda:1"`` to use instead. If omitted, the environment
        variable ``TFORMER_DEVICE`` is used, if set.

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        If the device asked for is unknown or not on this machine.
    """
    wanted = name or os.environ.get("TFORMER_DEVICE")
    if not wanted:
        return next(torch.device(kind) for kind in ("cuda", "mps", "cpu") if _count(kind))
    try:
        device = torch.device(wanted)
    except RuntimeError as error:
        raise ValueError(f"pick_device: {wanted!r} is not the name of a device") from error
    if (device.index or 0) >= _count(device.type):
        here = [kind for kind in ("cuda", "mps", "cpu") if _count(kind)]
        raise ValueError(
            f"pick_device: {wanted!r} is not on this machine, which has {', '.join(here)}"
        )
    return device


def _count(kind: str) -> int:
    """Return how many devices of a kind this machine has."""
    if kind == "cuda":
        return torch.cuda.device_count()
    return int(kind == "cpu" or (kind == "mps" and torch.backends.mps.is_available()))
