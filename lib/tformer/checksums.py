"""Safetensors files with one checksum over the whole file, written atomically.

The checksum is in the file's own metadata, as "sha256". It is the SHA-256 of the file's bytes with
64 zeros in its own place, so names, shapes, dtypes, metadata and numbers are all under it.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["ChecksumError", "read_verified_metadata", "with_checksum", "write_atomically"]

BLANK = "0" * 64
FIELD = re.compile(rb'"sha256":"([0-9a-f]{64})"')


class ChecksumError(ValueError):
    """A file without a checksum, or whose bytes do not match it."""


def with_checksum(data: bytes, metadata: Mapping[str, str]) -> bytearray:
    """The bytes of a safetensors file with metadata and the checksum in its header.

    Parameters
    ----------
    data : bytes
        A safetensors file without metadata.
    metadata : mapping of str to str
        Without "sha256".

    Returns
    -------
    bytearray
        The same for the same arguments.
    """
    size = int.from_bytes(data[:8], "little")
    fields = {"__metadata__": {**metadata, "sha256": BLANK}, **json.loads(data[8 : 8 + size])}
    header = json.dumps(fields, separators=(",", ":")).encode()
    header += b" " * (-len(header) % 8)
    file = bytearray(len(header).to_bytes(8, "little") + header)
    file += memoryview(data)[8 + size :]
    start, end = _checksum_span(header)
    file[8 + start : 8 + end] = hashlib.sha256(file).hexdigest().encode()
    return file


def read_verified_metadata(path: Path) -> dict[str, str]:
    """The metadata of a file, once every byte of it has been read and its checksum compared.

    Raises
    ------
    ChecksumError
        If there is no checksum in it, or another than its bytes have.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.fstat(file.fileno()).st_size:
            raise ChecksumError("it is truncated, or not a safetensors file")
        header = file.read(size)
        start, end = _checksum_span(header)
        digest = hashlib.sha256(size.to_bytes(8, "little"))
        digest.update(header[:start] + BLANK.encode() + header[end:])
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    if digest.hexdigest().encode() != header[start:end]:
        raise ChecksumError("it is damaged: its bytes do not match its checksum")
    try:
        metadata = json.loads(header)["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ChecksumError(f"its header cannot be read: {error}") from error
    if not isinstance(metadata, dict) or not all(isinstance(x, str) for x in metadata.values()):
        raise ChecksumError("its metadata are not strings by name")
    return metadata


def write_atomically(path: Path, data: bytes | bytearray) -> None:
    """Write a file to the disk, all of it or nothing; it replaces one that is there.

    Raises
    ------
    OSError
        If that fails; a file that was there is unchanged.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        _write(part, data)
        part.replace(path)
        _sync_folder(path.parent)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _checksum_span(header: bytes) -> tuple[int, int]:
    """Start and end of the one checksum in a header."""
    found = [*FIELD.finditer(header)]
    if len(found) != 1:
        raise ChecksumError("it has no checksum, or is not a safetensors file")
    return found[0].span(1)


def _write(path: Path, data: bytes | bytearray) -> None:
    """Write a file and sync it to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Sync a renaming to the disk, where the system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
