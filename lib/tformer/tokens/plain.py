"""Tokens that need no learning: bytes, and the characters of a text."""

from collections.abc import Iterable
from operator import index
from typing import Protocol

__all__ = ["ByteTokenizer", "CharacterTokenizer", "Tokenizer"]


class Tokenizer(Protocol):
    """What every tokenizer can do.

    Attributes
    ----------
    n_vocab : int
        How many tokens there are; their numbers count from 0.
    """

    @property
    def n_vocab(self) -> int:
        """How many tokens there are."""

    def encode(self, text: str) -> list[int]:
        """The numbers of the tokens of a text."""

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of tokens."""


class ByteTokenizer:
    """The 256 bytes: every text is written in them, by UTF-8."""

    n_vocab = 256

    def encode(self, text: str) -> list[int]:
        """The bytes of a text.

        Raises
        ------
        UnicodeEncodeError
            If the text has half of a surrogate pair, which no file in UTF-8 can have.
        """
        return list(text.encode())

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of bytes; those that are not UTF-8, such as half a letter, become U+FFFD.

        Raises
        ------
        ValueError
            If a number is not from 0 to 255.
        """
        return bytes(require_token_ids(numbers, 256)).decode(errors="replace")


class CharacterTokenizer:
    """The characters of a text, in the order of Unicode.

    Parameters
    ----------
    text : str
        Whatever it is written in has a number; nothing else has.

    Attributes
    ----------
    tokens : tuple of str
        The characters.
    """

    def __init__(self, text: str) -> None:
        self.tokens = tuple(sorted(set(text)))
        self._numbers = {letter: number for number, letter in enumerate(self.tokens)}

    @property
    def n_vocab(self) -> int:
        """How many characters there are."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The numbers of the characters of a text.

        Raises
        ------
        ValueError
            If a character has no number.
        """
        if strange := set(text) - self._numbers.keys():
            raise ValueError(f"encode: {min(strange)!r} is none of the {self.n_vocab} characters")
        return [self._numbers[letter] for letter in text]

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of characters.

        Raises
        ------
        ValueError
            If a number is that of no character.
        """
        return "".join(self.tokens[number] for number in require_token_ids(numbers, self.n_vocab))


def require_token_ids(numbers: Iterable[int], n_vocab: int) -> list[int]:
    """The numbers of tokens, if they are that; `decode` is what the error names."""
    found = list(map(index, numbers))
    for number in found:
        if not 0 <= number < n_vocab:
            raise ValueError(f"decode: tokens are 0 to {n_vocab - 1}; got {number}")
    return found
