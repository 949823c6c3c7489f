"""What a model learns that sees what it is to predict: places look at places, and nothing else."""

from dataclasses import dataclass

import numpy as np

from tformer import reference as ref

__all__ = ["N_WORDS", "Trained", "train"]

N_WORDS, LENGTH, BATCH = 8, 12, 64


@dataclass(frozen=True, eq=False)
class Trained:
    """What came of the training.

    Attributes
    ----------
    losses : mean loss of each step, in nats a word.
    weights : (T, T) array, how much each place looks at each.
    writing : mean loss on other texts in which nothing is seen but what stands before.
    """

    losses: np.ndarray
    weights: np.ndarray
    writing: float


def train(
    rng: np.random.Generator, mask: np.ndarray, steps: int = 200, rate: float = 20.0
) -> Trained:
    """Learn to tell the next of some words that are drawn evenly and independently of each other.

    Row t mixes the words that the mask shows it, by the softmax of learned scores, one for each
    pair of places. The mixture times a learned number is the logits of word t + 1. Plain gradient
    descent; a batch is 64 texts.

    Parameters
    ----------
    mask : (12, 12) boolean array
        True where place t may look at place s.
    """
    scores, sharpness, losses = np.zeros((LENGTH, LENGTH)), 1.0, []
    for _ in range(steps):
        loss, dscores, dsharpness = _loss(rng, scores, sharpness, mask, BATCH)
        losses.append(loss)
        scores, sharpness = scores - rate * dscores, sharpness - rate / 10 * dsharpness
    writing = _loss(rng, scores, sharpness, mask & np.tri(LENGTH, dtype=bool), 2000)[0]
    zeros = np.zeros((LENGTH, 1))
    weights = ref.attention_weights(zeros, zeros, mask=mask, bias=scores)
    return Trained(np.array(losses), weights, writing)


def _loss(
    rng: np.random.Generator, scores: np.ndarray, sharpness: float, mask: np.ndarray, texts: int
) -> tuple[float, np.ndarray, float]:
    """Return the mean loss on new texts, and its gradients; the last row has nothing to predict."""
    ones = np.eye(N_WORDS)[rng.integers(N_WORDS, size=(texts, LENGTH))]
    zeros = np.zeros((texts, LENGTH, 1))
    mixed = ref.attention(zeros, zeros, ones, mask=mask, bias=scores)
    logits, targets, n = sharpness * mixed[:, :-1], ones[:, 1:], texts * (LENGTH - 1)
    grad = np.zeros_like(mixed)
    grad[:, :-1] = (ref.softmax(logits) - targets) / n
    dscores = ref.attention_vjp(zeros, zeros, ones, sharpness * grad, mask=mask, bias=scores)[3]
    assert dscores is not None
    return (
        -float((ref.log_softmax(logits) * targets).sum() / n),
        dscores,
        float((grad * mixed).sum()),
    )
