"""Training of BPE: the most frequent pair of tokens becomes a token, repeatedly.

Source: Gage, "A new algorithm for data compression", 1994, for the pairs; Sennrich, Haddow and
Birch, "Neural machine translation of rare words with subword units", 2016, for doing so within
words.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import NamedTuple

from tformer.tokens.bpe import ALPHABET, LETTERS
from tformer.tokens.pretokenizer import pretokenize

__all__ = ["Merge", "train_bpe"]


class Merge(NamedTuple):
    """A merge of two tokens into one.

    Attributes
    ----------
    left, right : str
        Their bytes, written by `LETTERS`.
    times : int
        The frequency of the pair when it was merged.
    """

    left: str
    right: str
    times: int

    def __str__(self) -> str:
        return f"{self.left} {self.right}"


def train_bpe(text: str, n_merges: int) -> Iterator[Merge]:
    """Learn merges from a text, in order; ``BPE.from_merges`` takes the str of each.

    Of equally frequent pairs, the one with the smaller token ids is merged. Pairs are counted
    within pre-tokens, so that no token crosses their boundaries.

    Parameters
    ----------
    text : str
    n_merges : int
        How many at most; there are fewer if every pre-token has become one token.

    Raises
    ------
    ValueError
        If `n_merges` is negative.
    """
    if n_merges < 0:
        raise ValueError(f"train_bpe: n_merges must be 0 or more; got {n_merges}")
    tokens, number = [*ALPHABET], {letter: i for i, letter in enumerate(ALPHABET)}
    found = Counter(pretokenize(text))
    rows = [[number[LETTERS[byte]] for byte in word.encode()] for word in found]
    times = [*found.values()]
    counts: Counter[tuple[int, int]] = Counter()
    rows_with: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for pair in pairwise(row):
            counts[pair] += times[i]
            rows_with[pair].add(i)
    waiting = [(-count, pair) for pair, count in counts.items()]
    heapify(waiting)
    while waiting and n_merges:
        count, pair = heappop(waiting)
        if -count != counts[pair] or not count:
            continue  # outdated: the heap has its new count too
        n_merges -= 1
        yield Merge(tokens[pair[0]], tokens[pair[1]], -count)
        token = tokens[pair[0]] + tokens[pair[1]]
        merged = number.setdefault(token, len(tokens))  # another pair may have made it before
        if merged == len(tokens):
            tokens.append(token)
        changed: Counter[tuple[int, int]] = Counter()
        for i in rows_with[pair]:
            changed.subtract({p: n * times[i] for p, n in Counter(pairwise(rows[i])).items()})
            rows[i] = _merge(rows[i], pair, merged)
            for new in pairwise(rows[i]):
                changed[new] += times[i]
                rows_with[new].add(i)
        for one, difference in changed.items():
            if difference:
                counts[one] += difference
                heappush(waiting, (-counts[one], one))


def _merge(row: list[int], pair: tuple[int, int], merged: int) -> list[int]:
    """A row in which each occurrence of a pair is merged, from the left."""
    found: list[int] = []
    for one in row:
        found.append(one)
        if len(found) > 1 and (found[-2], one) == pair:
            found[-2:] = [merged]
    return found
