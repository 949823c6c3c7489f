"""Tokenizers without training: bytes, and the characters of a text."""

from collections.abc import Iterable
from operator import index
from typing import Protocol

__all__ = ["ByteTokenizer", "CharacterTokenizer", "Tokenizer"]


class Tokenizer(Protocol):
    """The interface of all tokenizers.

    Attributes
    ----------
    n_vocab : int
        The size of the vocabulary; token ids are from 0 to n_vocab - 1.
    """

    @property
    def n_vocab(self) -> int:
        """The size of the vocabulary."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of token ids."""


class ByteTokenizer:
    """A token for each of the 256 bytes of UTF-8."""

    n_vocab = 256

    def encode(self, text: str) -> list[int]:
        """The bytes of a text.

        Raises
        ------
        UnicodeEncodeError
            If the text has a lone surrogate, which UTF-8 cannot encode.
        """
        return list(text.encode())

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of bytes; those that are not UTF-8 become U+FFFD.

        Raises
        ------
        ValueError
            If a number is not from 0 to 255.
        """
        return bytes(require_token_ids(numbers, 256)).decode(errors="replace")


class CharacterTokenizer:
    """A token for each character of a text, in the order of Unicode.

    Parameters
    ----------
    text : str
        Its characters are the vocabulary.

    Attributes
    ----------
    tokens : tuple of str
        The characters.
    """

    def __init__(self, text: str) -> None:
        self.tokens = tuple(sorted(set(text)))
        self._ids = {letter: i for i, letter in enumerate(self.tokens)}

    @property
    def n_vocab(self) -> int:
        """The number of different characters."""
        return len(self.tokens)

    def encode(self, text: str) -> list[int]:
        """The token ids of a text.

        Raises
        ------
        ValueError
            If a character is not in the vocabulary.
        """
        if unknown := set(text) - self._ids.keys():
            raise ValueError(f"encode: {min(unknown)!r} is none of the {self.n_vocab} characters")
        return [self._ids[letter] for letter in text]

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of token ids.

        Raises
        ------
        ValueError
            If a number is no token id.
        """
        return "".join(self.tokens[number] for number in require_token_ids(numbers, self.n_vocab))


def require_token_ids(numbers: Iterable[int], n_vocab: int) -> list[int]:
    """The token ids as a list of int, all from 0 to n_vocab - 1; errors name `decode`."""
    found = list(map(index, numbers))
    for number in found:
        if not 0 <= number < n_vocab:
            raise ValueError(f"decode: tokens are 0 to {n_vocab - 1}; got {number}")
    return found
