r"""Pre-tokenization: text split into pre-tokens before any merge, as for SmolLM2.

Its file `tokenizer.json` has two splits: every digit by itself, then the pattern of GPT-2,

    's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+

llama.cpp calls the two `smollm`. Python's `re` has no `\p{L}`, and its `\s` is not Unicode's. So
every character beyond ASCII is replaced by one of its class, and the pattern splits the result,
which is as long as the text. The classes are those of Python's Unicode database.
"""

import re
import unicodedata
from collections.abc import Iterator

__all__ = ["pretokenize"]

LETTER, DIGIT, SPACE, SIGN = "A", "0", "\t", "!"
WHITE = "\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))
"""White space beyond ASCII: Unicode's property White_Space."""
PATTERN = re.compile(
    r"'(?:[stmd]|re|ve|ll)| ?[A-Za-z]+|[0-9]| ?[^\sA-Za-z0-9]+|\s+(?![^\s0-9])|\s+", re.ASCII
)
"""Both splits in one: white space before a digit is one pre-token, as before the end of a text."""


class _Classes(dict[int, str]):
    """The ASCII character of the class of each character, computed on first use."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        kinds = {"L": LETTER, "N": DIGIT}
        found = SPACE if letter in WHITE else kinds.get(unicodedata.category(letter)[0], SIGN)
        self[code] = found
        return found


CLASSES = _Classes({code: chr(code) for code in range(128)})
"""ASCII characters are their own class."""


def pretokenize(text: str) -> Iterator[str]:
    """The pre-tokens of a text, in order; joined they are the text."""
    for found in PATTERN.finditer(text.translate(CLASSES)):
        yield text[found.start() : found.end()]
