"""The header of a GGUF file: its values are read in order, none beyond the end.

Source: "GGUF" in ggml, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, and the limits
of `src/gguf.cpp` there.
"""

import struct
from pathlib import Path
from typing import Any

import numpy as np

from tformer.pretrained.errors import PretrainedError, format_error

__all__ = ["LARGEST_HEADER", "WHOLE", "Header"]

LARGEST_HEADER = 2**25
"""Bytes; a vocabulary of 256,000 tokens takes a third of it."""
WHOLE = "give a whole, unaltered file in the format GGUF"
NUMBERS = {
    **{0: "<u1", 1: "<i1", 2: "<u2", 3: "<i2", 4: "<u4", 5: "<i4", 6: "<f4"},
    **{10: "<u8", 11: "<i8", 12: "<f8"},
}
"""The dtype of a number, by GGUF's number for its type."""
BOOL, STRING, ARRAY = 7, 8, 9


class Header:
    """The first bytes of a file, and the position of the next value.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    data : bytes
        The first `LARGEST_HEADER` bytes at most.
    is_cut : bool
        Whether the file is longer than `data`.
    """

    def __init__(self, path: Path, data: bytes, is_cut: bool) -> None:
        self.path, self.data, self.is_cut, self.position = path, data, is_cut, 0

    def error(self, expected: str, found: object) -> PretrainedError:
        """The error for the value before the current position."""
        return format_error(self.path, expected, f"{found} before byte {self.position}", WHOLE)

    def read(self, count: int, what: str) -> bytes:
        """The next bytes; `what` they are is for error messages."""
        left = len(self.data) - self.position
        if count > left:
            end = (
                f"the {LARGEST_HEADER} that a header may have" if self.is_cut else "the file's end"
            )
            raise self.error(f"{count} bytes for {what}", f"{left} up to {end}")
        self.position += count
        return self.data[self.position - count : self.position]

    def count(self, what: str, wide: bool = True) -> int:
        """An unsigned integer of 8 bytes, or of 4."""
        found: int = struct.unpack("<Q" if wide else "<I", self.read(8 if wide else 4, what))[0]
        return found

    def text(self, what: str) -> str:
        """A string: its length in bytes, then UTF-8."""
        data = self.read(self.count(what), what)
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise self.error(f"{what} in UTF-8", repr(data[:16])) from error

    def value(self, kind: int, what: str) -> Any:
        """A value of a type: a number, a boolean, a string, or a list or array of these."""
        if kind == ARRAY:
            inner = self.count(f"the type in {what}", wide=False)
            return self.array(inner, self.count(f"the length of {what}"), what)
        if kind == STRING:
            return self.text(what)
        [found] = self.array(kind, 1, what)
        return found if kind == BOOL else found.item()

    def array(self, kind: int, length: int, what: str) -> Any:
        """A list of strings or of booleans, or a NumPy array of numbers."""
        if kind == STRING:
            if length > (len(self.data) - self.position) // 8:
                raise self.error(f"{length} strings for {what}", "too few bytes")
            return [self.text(what) for _ in range(length)]
        if kind == BOOL:
            data = self.read(length, what)
            if data.strip(b"\0\1"):
                raise self.error(f"0 or 1 for {what}", "another byte")
            return [byte == 1 for byte in data]
        if kind not in NUMBERS:
            raise self.error(f"a known type for {what}, no array in an array", kind)
        dtype = np.dtype(NUMBERS[kind])
        return np.frombuffer(self.read(length * dtype.itemsize, what), dtype)
