"""Losses: the cross-entropy of the next token (chapter 12)."""

import numpy as np

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.softmax import log_softmax, softmax

__all__ = ["cross_entropy", "cross_entropy_vjp"]


@equation
def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Compute the cross-entropy of each target: minus the log of its predicted probability.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    targets : (...) integer array
        Token id of each target, in [0, N); -1 where the position is ignored.

    Returns
    -------
    (...) array
        In nats; 0 where the target is -1.

    Raises
    ------
    ValueError
        If a target is below -1 or not below N.

    Notes
    -----
    Equation eq-cross-entropy; [good1952]. The loss of a sequence is the
    mean over the targets that are not ignored.
    """
    _require_targets("cross_entropy", targets, logits.shape[-1])
    return np.where(targets < 0, 0, -_take(log_softmax(logits), targets))


@equation
def cross_entropy_vjp(logits: np.ndarray, targets: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `cross_entropy`: softmax minus one-hot, times grad.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    targets : (...) integer array
        Token id of each target, in [0, N); -1 where the position is ignored.
    grad : (...) array
        Gradient of a loss with respect to what `cross_entropy` returned.

    Returns
    -------
    (..., N) array
        Same shape as logits.

    Raises
    ------
    ValueError
        If a target is below -1 or not below N.

    Notes
    -----
    Equation eq-cross-entropy-vjp; the derivative of [good1952].
    """
    n_vocab = logits.shape[-1]
    _require_targets("cross_entropy_vjp", targets, n_vocab)
    one_hot = targets[..., np.newaxis] == np.arange(n_vocab)
    weights = np.where(targets < 0, 0, grad)[..., np.newaxis]
    return sum_to(logits, weights * (softmax(logits) - one_hot))


def _take(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the entry of each row at its target; where the target is -1, any entry."""
    shape = np.broadcast_shapes(rows.shape[:-1], targets.shape)
    rows = np.broadcast_to(rows, (*shape, rows.shape[-1]))
    targets = np.broadcast_to(targets, shape)[..., np.newaxis]
    if not rows.shape[-1]:
        return np.zeros(shape, rows.dtype)  # no tokens, so all targets are ignored
    return np.take_along_axis(rows, targets.astype(np.int64), axis=-1)[..., 0]


def _require_targets(where: str, targets: np.ndarray, n_vocab: int) -> None:
    if targets.size and not (targets.min() >= -1 and targets.max() < n_vocab):
        raise ValueError(
            f"{where}: targets must be from -1 to {n_vocab - 1}; "
            f"got {targets.min()} to {targets.max()}"
        )
