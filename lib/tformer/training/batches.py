"""Checks of a batch and of its logits."""

import numpy as np
from torch import Tensor

__all__ = ["require_batch", "require_logits"]


def require_batch(step: int, arrays: tuple[np.ndarray, ...]) -> int:
    """The number of targets in a batch.

    Raises
    ------
    ValueError
        If there is none, one is below -1, or the arrays differ in their number of rows.
    """
    where, targets = f"train: the batch of step {step}", arrays[-1]
    rows = [len(x) for x in arrays]
    if len({*rows}) > 1:
        raise ValueError(f"{where} must have one number of rows in all arrays; got {rows}")
    if targets.min(initial=-1) < -1:
        raise ValueError(
            f"{where} must have targets of -1 or more, -1 being ignored; got {targets.min()}"
        )
    if not (n_targets := int((targets >= 0).sum())):
        raise ValueError(f"{where} has no target of 0 or more")
    return n_targets


def require_logits(step: int, logits: Tensor, targets: np.ndarray) -> None:
    """Require logits that fit the targets of some rows of a batch.

    Raises
    ------
    ValueError
        If they have another shape than the targets with N after it, or a target is N or more.
    """
    where, (*leading, n_vocab) = f"train: step {step}", logits.shape
    if tuple(leading) != targets.shape:
        shape = (*targets.shape, "N")
        raise ValueError(f"{where}: logits must have the shape {shape}; got {tuple(logits.shape)}")
    if (largest := targets.max(initial=-1)) >= n_vocab:
        raise ValueError(f"{where}: targets must be below {n_vocab}, as the logits; got {largest}")
