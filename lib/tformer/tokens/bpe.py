"""Byte-level BPE: text to token ids and back, by a list of merges.

Source: Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units",
2016, for merges; Radford and others, "Language models are unsupervised multitask learners", 2019,
for merging bytes, each written as a character.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from heapq import heapify, heappop, heappush
from itertools import pairwise

from tformer.tokens.plain import require_token_ids
from tformer.tokens.pretokenizer import pretokenize

__all__ = ["ALPHABET", "BPE", "LETTERS"]

SHOWN = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
LETTERS = {byte: chr(byte) for byte in SHOWN}
LETTERS |= {byte: chr(256 + i) for i, byte in enumerate(sorted({*range(256)} - {*SHOWN}))}
"""The character of a byte in a token: itself if it is printable, otherwise one from Ā on."""
BYTES = {letter: byte for byte, letter in LETTERS.items()}
ALPHABET = tuple(sorted(BYTES))
"""The tokens of one byte, in GPT-2's order."""
CACHE_SIZE = 2**16
"""Pre-tokens whose token ids are cached."""


class BPE:
    """A byte-level BPE tokenizer.

    Parameters
    ----------
    tokens : sequence of str
        Each token, its bytes written by `LETTERS`; special tokens as they are.
    merges : sequence of str
        Two tokens each, with a space between; earlier merges have priority.
    control : collection of int
        The ids of special tokens, such as that of ``<|im_start|>``. `encode` finds them in a text
        unless `control` is False there. No merge makes or uses one.

    Attributes
    ----------
    tokens : tuple of str
        As given.
    dropped : bytes
        The bytes without a token. `encode` leaves them out, as other libraries do: SmolLM2 has 21,
        of which 8 occur in UTF-8, in control characters and unassigned planes of Unicode.
        `BPE.from_merges` has a token for every byte.

    Raises
    ------
    ValueError
        If a token is given twice, is empty or has a character that is no byte's, or a merge is not
        of two tokens into one.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[str], control: Iterable[int] = ()
    ) -> None:
        self.tokens = tuple(tokens)
        ids = {token: i for i, token in enumerate(self.tokens)}
        if len(ids) < len(self.tokens):
            raise _error("each token once", f"{len(self.tokens) - len(ids)} again")
        self._special = {self.tokens[i]: i for i in control}
        if unknown := {*"".join(ids.keys() - self._special.keys())} - BYTES.keys():
            raise _error("tokens of bytes, written as letters", repr(min(unknown)))
        if "" in ids:
            raise _error("tokens that are not empty", "an empty one")
        ids = {token: i for token, i in ids.items() if token not in self._special}
        self._special_pattern = re.compile(
            "|".join(map(re.escape, sorted(self._special, key=len)[::-1]))
        )
        self._byte_ids = [ids.get(LETTERS[byte], -1) for byte in range(256)]
        self.dropped = bytes(byte for byte in range(256) if self._byte_ids[byte] < 0)
        self._ranks: dict[tuple[int, int], int] = {}
        self._merged_ids: list[int] = []
        for rank, merge in enumerate(merges):
            left, _, right = merge.partition(" ")
            try:
                self._ranks[ids[left], ids[right]] = rank
                self._merged_ids.append(ids[left + right])
            except KeyError as error:
                raise _error("merges of two tokens into one", repr(merge)) from error
        self._cached_merge = lru_cache(CACHE_SIZE)(self._merge)

    @classmethod
    def from_merges(cls, merges: Sequence[str], control: Sequence[str] = ()) -> "BPE":
        """The tokenizer whose tokens are all bytes, the results of the merges, and special tokens.

        Raises
        ------
        ValueError
            If a merge is not of two tokens, or a special token is also another token.
        """
        merged = dict.fromkeys(merge.replace(" ", "", 1) for merge in merges)
        tokens = [*ALPHABET, *merged, *control]
        return cls(tokens, merges, range(len(tokens) - len(control), len(tokens)))

    @property
    def n_vocab(self) -> int:
        """The size of the vocabulary."""
        return len(self.tokens)

    def encode(self, text: str, control: bool = True) -> list[int]:
        """The token ids of a text.

        No special token is added before or after it. Bytes without a token are left out.

        Parameters
        ----------
        text : str
        control : bool
            Whether special tokens are found in the text. Give False for untrusted text, in which
            ``<|im_end|>`` must not end a turn.

        Raises
        ------
        UnicodeEncodeError
            If the text has a lone surrogate, which UTF-8 cannot encode.
        """
        found: list[int] = []
        start = 0
        for special in self._special_pattern.finditer(text) if control and self._special else ():
            self._append(found, text[start : special.start()])
            found.append(self._special[special[0]])
            start = special.end()
        self._append(found, text[start:])
        return found

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of token ids; bytes that are not UTF-8 become U+FFFD.

        Raises
        ------
        ValueError
            If a number is no token id.
        """
        data = bytearray()
        for number in require_token_ids(numbers, self.n_vocab):
            token = self.tokens[number]
            if token in self._special:
                data += token.encode()
            else:
                data += bytes(BYTES[letter] for letter in token)
        return data.decode(errors="replace")

    def _append(self, found: list[int], text: str) -> None:
        for word in pretokenize(text):
            found += self._cached_merge(word)

    def _merge(self, word: str) -> tuple[int, ...]:
        """The token ids of a pre-token: the pair of lowest rank is merged first, from the left.

        A token is at the index of its first byte; -1 is at the others.
        """
        kept = [number for byte in word.encode() if (number := self._byte_ids[byte]) >= 0]
        size, ranks = len(kept), self._ranks
        before, after = [*range(-1, size - 1)], [*range(1, size + 1)]
        waiting = [
            rank * size + left
            for left, pair in enumerate(pairwise(kept))
            if (rank := ranks.get(pair, -1)) >= 0
        ]
        heapify(waiting)
        while waiting:
            rank, left = divmod(heappop(waiting), size)
            right = after[left]
            if right == size or ranks.get((kept[left], kept[right])) != rank:
                continue  # one of the two has been merged since
            kept[left], kept[right] = self._merged_ids[rank], -1
            further = after[left] = after[right]
            if further < size:
                before[further] = left
                if (rank := ranks.get((kept[left], kept[further]), -1)) >= 0:
                    heappush(waiting, rank * size + left)
            nearer = before[left]
            if nearer >= 0 and (rank := ranks.get((kept[nearer], kept[left]), -1)) >= 0:
                heappush(waiting, rank * size + nearer)
        return tuple(number for number in kept if number >= 0)


def _error(expected: str, found: object) -> ValueError:
    return ValueError(f"BPE: expected {expected}, found {found}")
