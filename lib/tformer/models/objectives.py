"""What is asked of a text: the next token, tokens under a mask, or spans that were taken out.

Each takes texts and returns what a model reads and what it should say, in NumPy; -1 stands where
nothing is asked, as `cross_entropy` takes it.
"""

import numpy as np

__all__ = ["masked_tokens", "next_tokens", "span_corruption"]


def next_tokens(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each token is asked of those before it: the objective of a decoder [radford2018].

    Parameters
    ----------
    tokens : (B, T) integer array
        -1 fills up shorter texts.

    Returns
    -------
    given : (B, T - 1) integer array
        All but the last; 0 where there is none.
    wanted : (B, T - 1) integer array
        All but the first; -1 where there is none.

    Raises
    ------
    ValueError
        If there are not two tokens in a row.
    """
    _require_row("next_tokens", tokens)
    return np.maximum(tokens[:, :-1], 0), tokens[:, 1:].copy()


def masked_tokens(
    tokens: np.ndarray, rng: np.random.Generator, blank: int, n_vocab: int, share: float = 0.15
) -> tuple[np.ndarray, np.ndarray]:
    """Some tokens are asked of all others: the objective of an encoder [devlin2019].

    Each token is asked with probability `share`. Of those asked, eight in ten are read as a blank,
    one in ten as any token, and one in ten as it is: so a token that can be read may be asked too.

    Parameters
    ----------
    tokens : (B, T) integer array
        -1 fills up shorter texts, and is never asked.
    rng : numpy.random.Generator
    blank : int
        The token that is read as "what stands here?".
    n_vocab : int
        Any token is one below this.
    share : float, from 0 to 1

    Returns
    -------
    given : (B, T) integer array
    wanted : (B, T) integer array
        -1 where nothing is asked.

    Raises
    ------
    ValueError
        If `share` is not from 0 to 1, or `n_vocab` is not above 0.
    """
    _require_share("masked_tokens", share)
    if n_vocab < 1:
        raise ValueError(f"masked_tokens: n_vocab must be above 0; got {n_vocab}")
    there = tokens >= 0
    asked = there & (rng.random(tokens.shape) < share)
    how = rng.random(tokens.shape)
    given = np.where(asked & (how < 0.8), blank, tokens)
    anything = rng.integers(n_vocab, size=tokens.shape)
    given = np.where(asked & (how >= 0.8) & (how < 0.9), anything, given)
    return np.where(there, given, 0), np.where(asked, tokens, -1)


def span_corruption(
    tokens: np.ndarray,
    rng: np.random.Generator,
    sentinels: np.ndarray,
    share: float = 0.15,
    length: float = 3.0,
) -> tuple[np.ndarray, np.ndarray]:
    """Spans are taken out and asked for: the objective of an encoder–decoder [raffel2020].

    As many tokens are taken as `share` says, in spans of `length` tokens in the mean, all partings
    alike; no span touches another. Each leaves a sentinel where it stood, and is written after the
    same sentinel; one more ends what is written.

    Parameters
    ----------
    tokens : (B, T) integer array
        No text is filled up.
    rng : numpy.random.Generator
    sentinels : (n,) integer array
        Tokens that stand in no text, one for each span and one for the end.
    share : float, from 0 to 1
    length : float, at least 1

    Returns
    -------
    source : (B, S) integer array
        The text without its spans.
    target : (B, U) integer array
        The spans.

    Raises
    ------
    ValueError
        If a text is shorter than two tokens or filled up, `share` or `length` is out of range, or
        there are too few sentinels.
    """
    _require_row("span_corruption", tokens)
    _require_share("span_corruption", share)
    if not length >= 1:
        raise ValueError(f"span_corruption: length must be at least 1; got {length}")
    if tokens.min(initial=0) < 0:
        raise ValueError("span_corruption: tokens must be 0 or more; got a text that is filled up")
    n = tokens.shape[1]
    taken = min(max(round(n * share), 1), n - 1)
    spans = min(max(round(taken / length), 1), taken, n - taken)
    if len(sentinels) <= spans:
        raise ValueError(
            f"span_corruption: {spans} spans need {spans + 1} sentinels; got {len(sentinels)}"
        )
    pairs = [_parted(row, rng, sentinels, taken, spans) for row in tokens]
    source, target = (np.array(rows, dtype=tokens.dtype) for rows in zip(*pairs, strict=True))
    return source, target


def _parted(
    row: np.ndarray, rng: np.random.Generator, sentinels: np.ndarray, taken: int, spans: int
) -> tuple[list[int], list[int]]:
    """One text without its spans, and the spans; what is kept comes first."""
    kept, gone = _lengths(len(row) - taken, spans, rng), _lengths(taken, spans, rng)
    source: list[int] = []
    target: list[int] = []
    place = 0
    for sentinel, stays, goes in zip(sentinels, kept, gone, strict=False):
        source += [*row[place : place + stays], sentinel]
        target += [sentinel, *row[place + stays : place + stays + goes]]
        place += stays + goes
    return source, [*target, sentinels[spans]]


def _lengths(total: int, parts: int, rng: np.random.Generator) -> list[int]:
    """A number as a sum of so many numbers of at least 1, all ways alike."""
    cuts = np.sort(rng.choice(total - 1, parts - 1, replace=False)) + 1
    return np.diff([0, *cuts, total]).tolist()


def _require_row(where: str, tokens: np.ndarray) -> None:
    if tokens.ndim != 2 or tokens.shape[1] < 2:
        raise ValueError(f"{where}: tokens must be (B, T) with T at least 2; got {tokens.shape}")


def _require_share(where: str, share: float) -> None:
    if not 0 <= share <= 1:
        raise ValueError(f"{where}: share must be from 0 to 1; got {share}")
