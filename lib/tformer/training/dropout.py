"""Dropout masks as a function of seed, step and row, and of nothing else."""

from typing import Any

import numpy as np
import torch
from torch import nn

from tformer import fast
from tformer.configuration import Configuration
from tformer.parameters import DropoutMasks, ModelParameters

__all__ = ["sample_dropout_masks"]


def sample_dropout_masks(
    module: nn.Module, seed: int, step: int, rows: np.ndarray, n_tokens: int
) -> tuple[DropoutMasks, ...] | None:
    """The dropout masks of each block for some rows of a batch.

    The masks of a row depend neither on the process that samples them nor on the other rows. So a
    run that is resumed has the masks of one that was not interrupted, and several processes have
    the masks of one.

    Parameters
    ----------
    module : nn.Module
    seed, step : int
    rows : (B,) integer array
        Their indices in the batch of the step.
    n_tokens : int
        The sequence length T.

    Returns
    -------
    tuple of DropoutMasks, or None
        Masks of shape (B, T, d_model), on the module's device. None if the module is no
        `fast.Module` with a configuration, or its dropout is 0.

    Raises
    ------
    ValueError
        If dropout is above 0 and the parameters are not those of one stack of blocks.
    """
    configuration = getattr(module, "fixed", {}).get("configuration")
    if not isinstance(configuration, Configuration) or not configuration.dropout:
        return None
    if not isinstance(module, fast.Module) or not isinstance(module.form, ModelParameters):
        raise ValueError("train: dropout needs the parameters of one stack of blocks")
    table: Any = module.embedding
    form, d_model = module.form, table.shape[-1]
    draws = [
        np.random.default_rng([seed, step, row]).random(
            (len(form.blocks), 2, n_tokens, d_model), dtype=np.float32
        )
        for row in rows
    ]
    empty = np.empty((0, len(form.blocks), 2, n_tokens, d_model), np.float32)
    kept = torch.from_numpy(np.stack(draws) if draws else empty) >= configuration.dropout
    kept = kept.to(table.device)
    return tuple(DropoutMasks(heads=one[:, 0], feed_forward=one[:, 1]) for one in kept.unbind(1))
