"""Learning the merges of BPE from a text: the commonest pair becomes a token, again and again.

Source: Gage, "A new algorithm for data compression", 1994, for the pairs; Sennrich, Haddow and
Birch, "Neural machine translation of rare words with subword units", 2016, for doing so inside
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
    """Two tokens that are made one.

    Attributes
    ----------
    left, right : str
        Their bytes, written by `LETTERS`.
    times : int
        How often they stood side by side at that moment.
    """

    left: str
    right: str
    times: int

    def __str__(self) -> str:
        return f"{self.left} {self.right}"


def train_bpe(text: str, n_merges: int) -> Iterator[Merge]:
    """Learn merges, one by one as they are found; ``BPE.from_merges`` takes the str of each.

    Of pairs that are equally common, the one whose tokens have the smaller numbers is merged. Pairs
    are counted inside words: no token reaches over a cut.

    Parameters
    ----------
    text : str
    n_merges : int
        How many at most. When every word is one token, nothing is left to merge.

    Raises
    ------
    ValueError
        If `n_merges` is negative.
    """
    if n_merges < 0:
        raise ValueError(f"learn: n_merges must be 0 or more; got {n_merges}")
    tokens, number = [*ALPHABET], {letter: i for i, letter in enumerate(ALPHABET)}
    found = Counter(pretokenize(text))
    rows = [[number[LETTERS[byte]] for byte in word.encode()] for word in found]
    times = [*found.values()]
    counts: Counter[tuple[int, int]] = Counter()
    places: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for i, row in enumerate(rows):
        for pair in pairwise(row):
            counts[pair] += times[i]
            places[pair].add(i)
    waiting = [(-count, pair) for pair, count in counts.items()]
    heapify(waiting)
    while waiting and n_merges:
        count, pair = heappop(waiting)
        if -count != counts[pair] or not count:
            continue  # it has changed since, and waits with its new count
        n_merges -= 1
        yield Merge(tokens[pair[0]], tokens[pair[1]], -count)
        made = tokens[pair[0]] + tokens[pair[1]]
        whole = number.setdefault(made, len(tokens))  # another pair may have made it before
        if whole == len(tokens):
            tokens.append(made)
        changed: Counter[tuple[int, int]] = Counter()
        for i in places[pair]:
            changed.subtract({p: n * times[i] for p, n in Counter(pairwise(rows[i])).items()})
            rows[i] = _merged(rows[i], pair, whole)
            for new in pairwise(rows[i]):
                changed[new] += times[i]
                places[new].add(i)
        for one, difference in changed.items():
            if difference:
                counts[one] += difference
                heappush(waiting, (-counts[one], one))


def _merged(row: list[int], pair: tuple[int, int], whole: int) -> list[int]:
    """A row in which a pair has become one, from the left."""
    found: list[int] = []
    for one in row:
        found.append(one)
        if len(found) > 1 and (found[-2], one) == pair:
            found[-2:] = [whole]
    return found
