"""Who can know whom through several layers: paths along what a mask allows."""

import numpy as np

__all__ = ["reach"]


def reach(mask: np.ndarray, n_layers: int) -> np.ndarray:
    """Which words can have a part in row t after some layers, each with a residual connection.

    Parameters
    ----------
    mask : (..., T, T) boolean array
        True where a row may look, the same in every layer.
    n_layers : int
        How many layers; with none a row knows itself alone.

    Returns
    -------
    (..., T, T) boolean array
        True where a path leads from t to s: each layer keeps the row or takes one step of the mask.
    """
    step = mask | np.eye(mask.shape[-1], dtype=bool)
    found = np.broadcast_to(np.eye(mask.shape[-1], dtype=bool), step.shape)
    for _ in range(n_layers):
        found = found @ step
    return found
