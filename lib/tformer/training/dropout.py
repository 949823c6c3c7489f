"""Masks of dropout: a function of the seed, of the step and of the row, and of nothing else."""

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
    """What each block keeps of some rows of a batch.

    A row's masks do not depend on who draws them, nor on the other rows. So a training that goes
    on drops what it would have dropped, and several processes together drop what one does.

    Parameters
    ----------
    module : nn.Module
    seed, step : int
    rows : (B,) integer array
        Their numbers in the batch of the step.
    n_tokens : int
        T.

    Returns
    -------
    tuple of DropoutMasks, or None
        Masks of shape (B, T, d_model), on the module's device. None where there is nothing to drop:
        the module is no `fast.Module` with a configuration, or its share of dropout is 0.

    Raises
    ------
    ValueError
        If there is something to drop in other parameters than those of one stack of blocks.
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
