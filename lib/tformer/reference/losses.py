"""The loss: how surprised a model is by the word that came (chapter 12)."""

import numpy as np

from tformer.reference.attention import sum_to
from tformer.reference.equation import equation
from tformer.reference.softmax import log_softmax, softmax

__all__ = ["cross_entropy", "cross_entropy_vjp"]


@equation
def cross_entropy(logits: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Surprise of each target: minus the logarithm of the probability that its row gives it.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    targets : (...) integer array
        The word that came, from 0 to N - 1; -1 where none is to be counted.

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
    Equation eq-cross-entropy; [good1952]. The loss of a text is the mean over the
    targets that are counted.
    """
    _require_words("cross_entropy", targets, logits.shape[-1])
    return np.where(targets < 0, 0, -_at(log_softmax(logits), targets))


@equation
def cross_entropy_vjp(logits: np.ndarray, targets: np.ndarray, grad: np.ndarray) -> np.ndarray:
    """Compute the vector-Jacobian product of `cross_entropy`: what was predicted, less what came.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    targets : (...) integer array
        The word that came, from 0 to N - 1; -1 where none is to be counted.
    grad : (...) array
        Gradient of a loss with respect to what `cross_entropy` returned.

    Returns
    -------
    (..., N) array
        In the shape of logits.

    Raises
    ------
    ValueError
        If a target is below -1 or not below N.

    Notes
    -----
    Equation eq-cross-entropy-vjp; the derivative of [good1952].
    """
    n_vocab = logits.shape[-1]
    _require_words("cross_entropy_vjp", targets, n_vocab)
    came = targets[..., np.newaxis] == np.arange(n_vocab)
    counted = np.where(targets < 0, 0, grad)[..., np.newaxis]
    return sum_to(logits, counted * (softmax(logits) - came))


def _at(rows: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """The entry of each row at its target, whatever stands there if that is -1."""
    shape = np.broadcast_shapes(rows.shape[:-1], targets.shape)
    rows = np.broadcast_to(rows, (*shape, rows.shape[-1]))
    targets = np.broadcast_to(targets, shape)[..., np.newaxis]
    if not rows.shape[-1]:
        return np.zeros(shape, rows.dtype)  # no words, so no target is counted
    return np.take_along_axis(rows, targets.astype(np.int64), axis=-1)[..., 0]


def _require_words(where: str, targets: np.ndarray, n_vocab: int) -> None:
    if targets.size and not (targets.min() >= -1 and targets.max() < n_vocab):
        raise ValueError(
            f"{where}: targets must be from -1 to {n_vocab - 1}; "
            f"got {targets.min()} to {targets.max()}"
        )
