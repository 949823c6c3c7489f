"""Files that are whole or refused: safetensors with one checksum over all that stands in them.

The checksum is in the file's own metadata, as "sha256". It is that of the file's bytes with zeros
in its own place: so names, shapes, dtypes, metadata and numbers are all under it.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

__all__ = ["SealError", "replace", "sealed", "unsealed"]

BLANK = "0" * 64
PLACE = re.compile(rb'"sha256":"([0-9a-f]{64})"')


class SealError(ValueError):
    """A file that is not sealed, or whose bytes are not those that were."""


def sealed(data: bytes, about: Mapping[str, str]) -> bytearray:
    """The bytes of a file of safetensors with metadata and the checksum; the same each time."""
    size = int.from_bytes(data[:8], "little")
    named = {"__metadata__": {**about, "sha256": BLANK}, **json.loads(data[8 : 8 + size])}
    head = json.dumps(named, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    whole = bytearray(len(head).to_bytes(8, "little") + head)
    whole += memoryview(data)[8 + size :]
    start, end = _place(head)
    whole[8 + start : 8 + end] = hashlib.sha256(whole).hexdigest().encode()
    return whole


def unsealed(path: Path) -> dict[str, str]:
    """The metadata of a sealed file, every byte of which has been read.

    Raises
    ------
    SealError
        If it is not one, or another than was sealed.
    OSError
        If it cannot be read.
    """
    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > os.fstat(file.fileno()).st_size:
            raise SealError("it is cut short, or no file of safetensors")
        head = file.read(size)
        start, end = _place(head)
        digest = hashlib.sha256(size.to_bytes(8, "little"))
        digest.update(head[:start] + BLANK.encode() + head[end:])
        while some := file.read(1 << 20):
            digest.update(some)
    if digest.hexdigest().encode() != head[start:end]:
        raise SealError("it is damaged: its checksum is another")
    try:
        found = json.loads(head)["__metadata__"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise SealError(f"its header cannot be read: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(x, str) for x in found.values()):
        raise SealError("its metadata are no texts by name")
    return found


def replace(path: Path, data: bytes | bytearray) -> None:
    """Write a file down to the disk, whole or not at all, in the place of one that may be there.

    Raises
    ------
    OSError
        If that fails; what was there stays.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        _write(part, data)
        part.replace(path)
        _settle(path.parent)
    except OSError:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise


def _place(head: bytes) -> tuple[int, int]:
    """Where the one checksum of a header begins and ends."""
    found = [*PLACE.finditer(head)]
    if len(found) != 1:
        raise SealError("it has no checksum, or is no file of safetensors")
    return found[0].span(1)


def _write(path: Path, data: bytes | bytearray) -> None:
    """Write a file, down to the disk."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _settle(folder: Path) -> None:
    """Bring a renaming down to the disk, where the system can."""
    with suppress(OSError):
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)
