"""From the scores of the next word to one word (chapter 15).

A logit of -inf means that the word is forbidden. What forbids more words returns the logits of the
others as they were, so that these functions can follow each other, and softmax makes the rest sum
to one again. Words of equal logits have equal fates: more than k may stay, and no order is chosen.

Logits are rounded logarithms of rounded probabilities, so a border that is met exactly is missed by
a little on either side. Where only rounding is missing it counts as met: `top_p` and `min_p` allow
for an error of 2 (ε + 2^-52) (1 + size), where ε is the precision of the logits, and size says how
large those are whose errors add up. That bounds, in first order, a probability and its logarithm
rounded to ε, and what is computed from them in float64. In half precision ε is that of float32: the
logits are taken as they are, since an error as large as theirs would move a border by tenths.
"""

import math

import numpy as np

from tformer.reference.equation import equation
from tformer.reference.softmax import softmax

__all__ = ["min_p", "sample", "temperature", "top_k", "top_p"]


@equation
def temperature(logits: np.ndarray, tau: float = 1.0) -> np.ndarray:
    """Logits divided by a temperature: below 1 the likeliest words gain, above 1 the others.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    tau : float, finite and above 0
        The temperature.

    Returns
    -------
    (..., N) array
        The largest of each row is 0.

    Notes
    -----
    Equation eq-temperature; [ackley1985]. The largest logit is taken off first, which no softmax
    sees, so that a small temperature cannot overflow. A row of nothing but -inf stays what it is.
    """
    return (logits - _largest(logits)) / tau


@equation
def top_k(logits: np.ndarray, k: int) -> np.ndarray:
    """Forbid all words but the k likeliest.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    k : int, at least 1
        How many stay; all, if there are no more.

    Returns
    -------
    (..., N) array
        -inf for what is forbidden.

    Notes
    -----
    Equation eq-top-k; [fan2018]. Words with the logit of the k-th stay with it, so more
    than k stay where that is tied. A row with NaN stays what it is.
    """
    least = np.sort(logits)[..., -k:].min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(logits < least, -np.inf, logits)


@equation
def top_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Forbid all words but the fewest likeliest whose probabilities reach p together.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    p : float, above 0 and at most 1
        What the words that stay reach; at 1 all stay.

    Returns
    -------
    (..., N) array
        -inf for what is forbidden.

    Notes
    -----
    Equation eq-top-p; [holtzman2020], section 3.1. A word stays if the words that are likelier have
    less than p together; so the word that reaches p stays, and so do all that tie with it. The size
    of the error that is allowed is the mean of |logits| over the probabilities, and 2^-52 is added
    for each word of the sum. A row with NaN or +inf stays what it is.
    """
    falling = np.sort(logits)[..., ::-1].astype(np.float64)
    q = softmax(falling)
    size = (q * _size(falling)).sum(axis=-1, keepdims=True)
    error = _error(size, logits) + 2.0**-52 * logits.shape[-1]
    sums = np.cumsum(q, axis=-1)
    likelier = np.concatenate([np.zeros_like(sums[..., :1]), sums[..., :-1]], axis=-1)
    out = (likelier > 0) & (likelier >= p - error) & (p < 1)
    least = np.where(out, np.inf, falling).min(axis=-1, keepdims=True, initial=np.inf)
    return np.where(logits < least, -np.inf, logits)


@equation
def min_p(logits: np.ndarray, p: float) -> np.ndarray:
    """Forbid all words that are less likely than p times the likeliest.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    p : float, above 0 and at most 1
        The share of the likeliest word's probability; at 1 only words tied with it stay.

    Returns
    -------
    (..., N) array
        -inf for what is forbidden.

    Notes
    -----
    Equation eq-min-p; [nguyen2024]. Compared as logits, so no softmax is needed. The size of the
    error that is allowed is |logit| of the word and of the likeliest together. A row with NaN or
    +inf stays what it is.
    """
    x = logits.astype(np.float64)
    largest = _largest(x)
    error = _error(_size(x) + _size(largest), logits)
    below = x - largest < math.log(p) - error
    return np.where(below & np.isfinite(largest), -np.inf, logits)


@equation
def sample(logits: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Draw a word by a uniform number: the first whose cumulative probability exceeds it.

    Parameters
    ----------
    logits : (..., N) array
        Logits of the next token; -inf for a token that is excluded.
    u : (...) real array
        Uniform numbers, from 0 to below 1.

    Returns
    -------
    (...) integer array
        The number of a word that can come; -1 where there is none, where a logit is +inf or NaN,
        or u is NaN or below 0.

    Notes
    -----
    Equation eq-sample; [devroye1986], section III.2. Sums are compared with u times the last of
    them, so that rounding never yields a word that is forbidden.
    """
    sums = np.cumsum(softmax(logits), axis=-1)
    last = sums[..., -1:].sum(axis=-1, keepdims=True)
    passed = (sums <= u[..., np.newaxis] * last) & (sums < last)
    return np.where((last[..., 0] > 0) & (u >= 0), passed.sum(axis=-1), -1)


def _largest(logits: np.ndarray) -> np.ndarray:
    """The largest logit of each row, or 0 where all are -inf."""
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    return np.where(largest == -np.inf, 0, largest)


def _size(x: np.ndarray) -> np.ndarray:
    """|x|, or 0 where it is infinite: what cannot come has no error."""
    return np.where(np.isfinite(x), np.abs(x), 0)


def _error(size: np.ndarray, logits: np.ndarray) -> np.ndarray:
    """By how much rounding may miss a border, where the logits have that size."""
    return 2 * (np.finfo(logits.dtype).eps + 2.0**-52) * (1 + size)
