"""Training objectives: next-token prediction, masked tokens, and span corruption.

Each takes token sequences and returns inputs and targets, in NumPy; a target of -1 is ignored, as
by `cross_entropy`.
"""

import numpy as np

__all__ = ["masked_tokens", "next_tokens", "span_corruption"]


def next_tokens(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each token is predicted from those before it: the objective of a decoder [radford2018].

    Parameters
    ----------
    tokens : (B, T) integer array
        -1 is padding.

    Returns
    -------
    inputs : (B, T - 1) integer array
        All tokens but the last; 0 for padding.
    targets : (B, T - 1) integer array
        All tokens but the first; -1 for padding.

    Raises
    ------
    ValueError
        If T is below 2.
    """
    _require_row("next_tokens", tokens)
    return np.maximum(tokens[:, :-1], 0), tokens[:, 1:].copy()


def masked_tokens(
    tokens: np.ndarray, rng: np.random.Generator, blank: int, n_vocab: int, share: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """Masked language modelling, the objective of an encoder [devlin2019].

    Each token is a target with probability `share`. Of the targets, 80 % are replaced by the mask
    token in the inputs, 10 % by a random token, and 10 % are left as they are.

    Parameters
    ----------
    tokens : (B, T) integer array
        -1 is padding, and never a target.
    rng : numpy.random.Generator
    blank : int
        The mask token.
    n_vocab : int
        A random token is below this.
    share : float, from 0 to 1

    Returns
    -------
    inputs : (B, T) integer array
    targets : (B, T) integer array
        -1 where a token is no target.

    Raises
    ------
    ValueError
        If `share` is not from 0 to 1, or `n_vocab` is not above 0.
    """
    _require_share("masked_tokens", share)
    if n_vocab < 1:
        raise ValueError(f"masked_tokens: n_vocab must be above 0; got {n_vocab}")
    there = tokens >= 0
    is_target = there & (rng.random(tokens.shape) < share)
    how = rng.random(tokens.shape)
    inputs = np.where(is_target & (how < 0.8), blank, tokens)
    random_tokens = rng.integers(n_vocab, size=tokens.shape)
    inputs = np.where(is_target & (how >= 0.8) & (how < 0.9), random_tokens, inputs)
    return np.where(there, inputs, 0), np.where(is_target, tokens, -1)


def span_corruption(
    tokens: np.ndarray,
    rng: np.random.Generator,
    sentinels: np.ndarray,
    share: float = 0.15,
    length: float = 3.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Span corruption, the objective of an encoder–decoder [raffel2020].

    A `share` of the tokens is removed, in spans of `length` tokens on average, all divisions into
    spans equally likely; no two spans are adjacent. In the source each span is replaced by a
    sentinel. The target has each span after its sentinel, and one more sentinel at the end.

    Parameters
    ----------
    tokens : (B, T) integer array
        Without padding.
    rng : numpy.random.Generator
    sentinels : (n,) integer array
        Tokens that occur in no sequence, one for each span and one for the end.
    share : float, from 0 to 1
    length : float, at least 1

    Returns
    -------
    source : (B, S) integer array
        The sequence without its spans.
    target : (B, U) integer array
        The spans.

    Raises
    ------
    ValueError
        If a sequence is shorter than two tokens or has padding, `share` or `length` is out of
        range, or there are too few sentinels.
    """
    _require_row("span_corruption", tokens)
    _require_share("span_corruption", share)
    if not length >= 1:
        raise ValueError(f"span_corruption: length must be at least 1; got {length}")
    if tokens.min(initial=0) < 0:
        raise ValueError("span_corruption: tokens must be 0 or more; got padding")
    n = tokens.shape[1]
    removed = min(max(round(n * share), 1), n - 1)
    spans = min(max(round(removed / length), 1), removed, n - removed)
    if len(sentinels) <= spans:
        raise ValueError(
            f"span_corruption: {spans} spans need {spans + 1} sentinels; got {len(sentinels)}"
        )
    pairs = [_split_spans(row, rng, sentinels, removed, spans) for row in tokens]
    source, target = (np.array(rows, dtype=tokens.dtype) for rows in zip(*pairs, strict=True))
    return source, target


def _split_spans(
    row: np.ndarray, rng: np.random.Generator, sentinels: np.ndarray, removed: int, spans: int
) -> tuple[list[int], list[int]]:
    """Source and target of one sequence; it begins with tokens that are kept."""
    kept = _random_composition(len(row) - removed, spans, rng)
    gone = _random_composition(removed, spans, rng)
    source: list[int] = []
    target: list[int] = []
    start = 0
    for sentinel, stays, goes in zip(sentinels, kept, gone, strict=False):
        source += [*row[start : start + stays], sentinel]
        target += [sentinel, *row[start + stays : start + stays + goes]]
        start += stays + goes
    return source, [*target, sentinels[spans]]


def _random_composition(total: int, parts: int, rng: np.random.Generator) -> list[int]:
    """A number as an ordered sum of `parts` numbers of at least 1, all sums equally likely."""
    cuts = np.sort(rng.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff([0, *cuts, total]).tolist()


def _require_row(where: str, tokens: np.ndarray) -> None:
    if tokens.ndim != 2 or tokens.shape[1] < 2:
        raise ValueError(f"{where}: tokens must be (B, T) with T at least 2; got {tokens.shape}")


def _require_share(where: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{where}: share must be from 0 to 1; got {share}")
