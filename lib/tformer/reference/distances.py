"""A learned bias of the scores by the distance from query to key (chapter 7)."""

import numpy as np

from tformer.shapes import ShapeError

__all__ = ["relative_bias_at", "relative_bias_at_vjp"]


def relative_bias_at(table: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the bias (..., H, T, S) for distances (..., T, S) from queries to keys."""
    return np.moveaxis(table[:, _columns("relative_bias", table, distances)], 0, -3)


def relative_bias_at_vjp(table: np.ndarray, distances: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Return the gradient of the table, from `grad`, that of what `relative_bias_at` returned."""
    dtable, columns = np.zeros_like(table), _columns("relative_bias_vjp", table, distances)
    heads = np.arange(len(table))[:, np.newaxis, np.newaxis]
    np.add.at(dtable, (heads, columns[..., np.newaxis, :, :]), grad)
    return dtable


def _columns(where: str, table: np.ndarray, distances: np.ndarray) -> np.ndarray:
    """Return the column of the table for each distance."""
    n_distances = table.shape[-1]
    if n_distances % 2 == 0:
        raise ShapeError(
            f"{where}: axis N must be odd, for distances from -m to m; got {n_distances}"
        )
    furthest = n_distances // 2
    return np.clip(distances, -furthest, furthest) + furthest
