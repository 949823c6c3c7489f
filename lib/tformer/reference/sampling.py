"""Sampling: from the logits of the next token to one token (chapter 15).

A logit of -inf means that the token is excluded. Functions that exclude more tokens return the
other logits unchanged, so they can be chained, and softmax renormalises what remains. Tokens with
equal logits are kept or excluded together, so more than k may remain, and no order is chosen.

Logits are rounded logarithms of rounded probabilities, so a threshold that is met exactly may be
missed by rounding. `top_p` and `min_p` therefore count it as met within an error of
2 (ε + 2^-52) (1 + size), where ε is the precision of the logits and size the magnitude of those
whose errors add up. To first order this bounds the error of a probability and its logarithm rounded
to ε, and of what is computed from them in float64. For half precision ε is that of float32: the
logits count as exact, since an error as large as theirs would move a threshold by tenths.
"""

import math

import numpy as np

from tformer.reference.equation import equation
from tformer.reference.softmax import softmax

__all__ = ["min_p", "sample", "temperature", "top_k", "top_p"]


@equation
def temperature(logits: np.ndarray, tau: float = 1.0) -> np.ndarray:
    """Divide logits by a temperature: below 1 sharpens the distribution, above 1 flattens it.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    tau : float, finite and above 0
        The temperature.

    Returns
    -------
    (..., N) array
        Logits; the largest of each row is 0.

    Notes
    -----
    Equation eq-temperature; [ackley1985]. The largest logit is subtracted first, which does not
    change the softmax, so that a small temperature cannot overflow. A row of -inf is unchanged.
    """
    return (logits - _largest(logits)) / tau


@equation
def top_k(logits: np.ndarray, k: int) -> np.ndarray:
    """Exclude all tokens but the k most likely: top-k sampling.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    k : int, at least 1
        How many tokens remain; all, if there are no more than k.

    Returns
    -------
    (..., N) array
        Logits; -inf for excluded tokens.

    Notes
    -----
    Equation eq-top-k; [fan2018]. Tokens that tie with the k-th remain, so more than k
    may. A row with NaN is unchanged.
    """
    least = np.sort(logits)[..., -k:].min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(logits < least, -np.inf, logits)


@equation
def top_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Exclude all but the smallest set of most likely tokens with probability p: nucleus sampling.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    p : float, above 0 and at most 1
        Probability that the remaining tokens reach; at 1 all remain.

    Returns
    -------
    (..., N) array
        Logits; -inf for excluded tokens.

    Notes
    -----
    Equation eq-top-p; [holtzman2020], section 3.1. A token remains if the probabilities of the
    more likely tokens sum to less than p; so the token that reaches p remains, and those that tie
    with it. The size in the error is the mean of |logits| under the probabilities, and 2^-52 is
    added for each term of the sum. A row with NaN or +inf is unchanged.
    """
    descending = np.sort(logits)[..., ::-1].astype(np.float64)
    q = softmax(descending)
    size = (q * _size(descending)).sum(axis=-1, keepdims=True)
    error = _error(size, logits) + 2.0**-52 * logits.shape[-1]
    sums = np.cumsum(q, axis=-1)
    likelier = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], axis=-1)
    out = (likelier > 0) & (likelier >= p - error) & (p < 1)
    least = np.where(out, np.inf, descending).min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(logits < least, -np.inf, logits)


@equation
def min_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Exclude all tokens less likely than p times the most likely: min-p sampling.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    p : float, above 0 and at most 1
        Fraction of the largest probability; at 1 only tokens that tie with it remain.

    Returns
    -------
    (..., N) array
        Logits; -inf for excluded tokens.

    Notes
    -----
    Equation eq-min-p; [nguyen2024]. Logits are compared, so no softmax is needed. The size in the
    error is the sum of |logit| of the token and of the most likely one. A row with NaN or +inf is
    unchanged.
    """
    x = logits.astype(np.float64)
    largest = _largest(x)
    error = _error(_size(x) + _size(largest), logits)
    below = x - largest < math.log(p) - error
    return np.where(below & np.isfinite(largest), -np.inf, logits)


@equation
def sample(logits: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Sample a token id by inverse transform: the first with cumulative probability above u.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    u : (...) real array
        Uniform random numbers in [0, 1).

    Returns
    -------
    (...) integer array
        Id of a token that is not excluded; -1 where there is none, where a logit is +inf or NaN,
        or where u is NaN or below 0.

    Notes
    -----
    Equation eq-sample; [devroye1986], section III.2. Cumulative sums are compared with u times
    their last, so that rounding never yields an excluded token.
    """
    sums = np.cumsum(softmax(logits), axis=-1)
    last = sums[..., -1:].sum(axis=-1, keepdims=True)
    passed = (sums <= u[..., np.newaxis] * last) & (sums < last)
    return np.where((last[..., 0] > 0) & (u >= 0), passed.sum(axis=-1), -1)


def _largest(logits: np.ndarray) -> np.ndarray:
    """Return the largest logit of each row, or 0 where all are -inf."""
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.where(largest == -np.inf, 0, largest)


def _size(x: np.ndarray) -> np.ndarray:
    """Return |x|, or 0 where it is not finite: an excluded token has no error."""
    return np.where(np.isfinite(x), np.abs(x), 0)


def _error(size: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """Return by how much rounding may miss a threshold, for logits of that size."""
    return 2 * (np.finfo(logits.dtype).eps + 2.0**-52) * (1 + size)
