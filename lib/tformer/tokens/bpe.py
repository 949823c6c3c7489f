"""Byte-level BPE: text to the numbers of its tokens and back, by a list of merges.

Source: Sennrich, Haddow and Birch, "Neural machine translation of rare words with subword units",
2016, for merges; Radford and others, "Language models are unsupervised multitask learners", 2019,
for merging bytes, each written as a letter.
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
"""How a byte is written in a token: as itself if it can be seen, otherwise from Ā on."""
BYTES = {letter: byte for byte, letter in LETTERS.items()}
ALPHABET = tuple(sorted(BYTES))
"""The tokens of one byte, in the order that GPT-2 numbers them."""
REMEMBERED = 2**16
"""Words whose tokens are kept."""


class BPE:
    """Pairs of tokens that are merged: from bytes to words.

    Parameters
    ----------
    tokens : sequence of str
        Each token, its bytes written by `LETTERS`; a token of control as it stands.
    merges : sequence of str
        Two tokens each, with a space between; those told earlier are merged first.
    control : collection of int
        The tokens that are no text, such as ``<|im_start|>``. In a text they are found whole, if
        `encode` is not told otherwise. No merge makes or takes one.

    Attributes
    ----------
    tokens : tuple of str
        As given.
    dropped : bytes
        The bytes that have no token. `encode` leaves them out, as other libraries do: of
        SmolLM2's 21, 8 can stand in UTF-8, and these are signs of control and starts of planes
        that nobody has filled. `BPE.from_merges` has a token for every byte.

    Raises
    ------
    ValueError
        If a token is told twice, is empty or is not written in bytes, or if a merge is not of two
        tokens into one.
    """

    def __init__(
        self, tokens: Sequence[str], merges: Sequence[str], control: Iterable[int] = ()
    ) -> None:
        self.tokens = tuple(tokens)
        numbers = {token: number for number, token in enumerate(self.tokens)}
        if len(numbers) < len(self.tokens):
            raise _wrong("each token once", f"{len(self.tokens) - len(numbers)} again")
        self._special = {self.tokens[number]: number for number in control}
        if strange := {*"".join(numbers.keys() - self._special.keys())} - BYTES.keys():
            raise _wrong("tokens of bytes, written as letters", repr(min(strange)))
        if "" in numbers:
            raise _wrong("tokens that are not empty", "an empty one")
        numbers = {token: number for token, number in numbers.items() if token not in self._special}
        self._cut = re.compile("|".join(map(re.escape, sorted(self._special, key=len)[::-1])))
        self._of_byte = [numbers.get(LETTERS[byte], -1) for byte in range(256)]
        self.dropped = bytes(byte for byte in range(256) if self._of_byte[byte] < 0)
        self._ranks: dict[tuple[int, int], int] = {}
        self._whole: list[int] = []
        for rank, merge in enumerate(merges):
            left, _, right = merge.partition(" ")
            try:
                self._ranks[numbers[left], numbers[right]] = rank
                self._whole.append(numbers[left + right])
            except KeyError as error:
                raise _wrong("merges of two tokens into one", repr(merge)) from error
        self._remembered = lru_cache(REMEMBERED)(self._merged)

    @classmethod
    def from_merges(cls, merges: Sequence[str], control: Sequence[str] = ()) -> "BPE":
        """The tokenizer whose tokens are all bytes, what the merges make, and some of control.

        Raises
        ------
        ValueError
            If a merge is not of two tokens, or a token of control is another one as well.
        """
        whole = dict.fromkeys(merge.replace(" ", "", 1) for merge in merges)
        tokens = [*ALPHABET, *whole, *control]
        return cls(tokens, merges, range(len(tokens) - len(control), len(tokens)))

    @property
    def n_vocab(self) -> int:
        """How many tokens there are."""
        return len(self.tokens)

    def encode(self, text: str, control: bool = True) -> list[int]:
        """The tokens of a text.

        Nothing is put before or after it. Bytes that have no token are left out.

        Parameters
        ----------
        text : str
        control : bool
            Whether tokens of control are found in it. False for what somebody else has written, in
            whose words ``<|im_end|>`` is text and does not end a turn.

        Raises
        ------
        UnicodeEncodeError
            If the text has half of a surrogate pair, which no file in UTF-8 can have.
        """
        found: list[int] = []
        start = 0
        for special in self._cut.finditer(text) if control and self._special else ():
            self._append(found, text[start : special.start()])
            found.append(self._special[special[0]])
            start = special.end()
        self._append(found, text[start:])
        return found

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of tokens; bytes that are not UTF-8, such as half a letter, become U+FFFD.

        Raises
        ------
        ValueError
            If a number is that of no token.
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
            found += self._remembered(word)

    def _merged(self, word: str) -> tuple[int, ...]:
        """The tokens of a word: of all pairs the one told first is merged, the leftmost of these.

        A token is kept where it starts; -1 stands where one has gone into its neighbour.
        """
        kept = [number for byte in word.encode() if (number := self._of_byte[byte]) >= 0]
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
            kept[left], kept[right] = self._whole[rank], -1
            further = after[left] = after[right]
            if further < size:
                before[further] = left
                if (rank := ranks.get((kept[left], kept[further]), -1)) >= 0:
                    heappush(waiting, rank * size + left)
            nearer = before[left]
            if nearer >= 0 and (rank := ranks.get((kept[nearer], kept[left]), -1)) >= 0:
                heappush(waiting, rank * size + nearer)
        return tuple(number for number in kept if number >= 0)


def _wrong(expected: str, found: object) -> ValueError:
    return ValueError(f"BPE: expected {expected}, found {found}")
