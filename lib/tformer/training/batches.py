"""What a batch must be, before anything is learnt from it."""

import numpy as np
from torch import Tensor

__all__ = ["require_batch", "require_logits"]


def require_batch(step: int, arrays: tuple[np.ndarray, ...]) -> int:
    """How many targets a batch has.

    Raises
    ------
    ValueError
        If it has none, one below -1, or not as many rows in each array.
    """
    where, wanted = f"train: the batch of step {step}", arrays[-1]
    rows = [len(x) for x in arrays]
    if len({*rows}) > 1:
        raise ValueError(f"{where} must have as many rows in each array; got {rows}")
    if wanted.min(initial=-1) < -1:
        raise ValueError(f"{where} must have -1 where there is no target; got {wanted.min()}")
    if not (n_targets := int((wanted >= 0).sum())):
        raise ValueError(f"{where} has no target: nothing can be learnt from it")
    return n_targets


def require_logits(step: int, logits: Tensor, wanted: np.ndarray) -> None:
    """Hold the logits of some rows of a batch to its targets.

    Raises
    ------
    ValueError
        If there are not as many scores at the place of each target, or none for some target.
    """
    where, (*places, n_vocab) = f"train: step {step}", logits.shape
    if tuple(places) != wanted.shape:
        shape = (*wanted.shape, "N")
        raise ValueError(f"{where}: logits must have the shape {shape}; got {tuple(logits.shape)}")
    if (largest := wanted.max(initial=-1)) >= n_vocab:
        raise ValueError(f"{where}: targets must be below {n_vocab}, as the logits; got {largest}")
