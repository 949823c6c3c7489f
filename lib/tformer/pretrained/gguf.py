"""GGUF, the file format of llama.cpp: metadata, and tensors that are decoded when asked for.

What is read is version 3, little-endian, of the kinds in `blocks.KINDS`. A file that is truncated,
hostile or of another format is refused before anything of it is given out. That a weight has been
altered shows only in a checksum, which whoever knows the file compares: `wheel.checkpoint`.

Source: "GGUF" in ggml, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. As `src/gguf.cpp`
there does, tensors are taken to follow each other in the order of their names, each padded.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tformer.pretrained.blocks import KINDS, BlockFormat, Float32
from tformer.pretrained.errors import format_error
from tformer.pretrained.header import LARGEST_HEAD, WHOLE, Header

__all__ = ["LARGEST_TENSOR", "LazyTensors", "TensorInfo", "read"]

LARGEST_TENSOR = 2**28
"""Numbers; in float32 they take a gibibyte."""
VERSION, ALIGNMENT, AXES = 3, 32, 4


class TensorInfo(NamedTuple):
    """Where a tensor stands in its file: its kind, its shape, and the byte at which it starts."""

    kind: BlockFormat
    shape: tuple[int, ...]
    start: int

    @property
    def blocks(self) -> int:
        """How many blocks it has."""
        return math.prod(self.shape) // self.kind.size

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.start + self.blocks * self.kind.block.itemsize


class LazyTensors(Mapping[str, Float32]):
    """The tensors of a file by name, each decoded into a new float32 array when it is asked for.

    Attributes
    ----------
    path : Path
        The file.
    stored : dict
        For each name its `TensorInfo`: kind and shape without reading the tensor.
    """

    def __init__(self, path: Path, stored: dict[str, TensorInfo]) -> None:
        self.path, self.stored = path, stored

    def __iter__(self) -> Iterator[str]:
        return iter(self.stored)

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, name: str) -> Float32:
        """A tensor in float32.

        Raises
        ------
        KeyError
            If no tensor has this name.
        PretrainedError
            If the file has changed since it was opened, or if a number or scale is not finite.
        """
        kind, shape, start = stored = self.stored[name]
        try:
            found = np.fromfile(self.path, kind.block, stored.blocks, offset=start)
        except OSError as error:
            raise format_error(self.path, "a file that can be read", error, WHOLE) from error
        if len(found) < stored.blocks:
            cut = f"{len(found)} of {stored.blocks} blocks"
            raise format_error(
                self.path, f"all of {name}", cut, "leave the file as it is while in use"
            )
        for field in {"d", "m"} & set(found.dtype.names or ()) or [...]:
            if not np.isfinite(found[field]).all():
                raise format_error(self.path, f"finite numbers in {name}", "inf or nan", WHOLE)
        return kind.decode(found).reshape(shape)


def read(path: str | Path) -> tuple[dict[str, Any], LazyTensors]:
    """Read a GGUF file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    metadata : dict
        Values by key: numbers, strings, booleans, lists of strings or booleans, and NumPy arrays
        of numbers.
    tensors : Tensors
        Arrays by name, decoded when asked for. Axes stand in NumPy's order, the reverse of the
        file's: a matrix that takes d_in numbers to d_out has shape (d_out, d_in).

    Raises
    ------
    PretrainedError
        If this is no file, or not a whole GGUF file of the kinds that are read.
    """
    path = Path(path)
    if not path.is_file():
        raise format_error(path, "a file", "none", "give the path of one")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_HEAD)
            size = file.seek(0, 2)
    except OSError as error:
        raise format_error(path, "a file that can be read", error, WHOLE) from error
    head = Header(path, data, goes_on=size > len(data))
    if (magic := data[:4]) != b"GGUF":
        raise format_error(path, "the bytes GGUF at the start", repr(magic), WHOLE)
    head.take(4, "the magic")
    if (version := head.count("the version", wide=False)) != VERSION:
        raise head.fault(f"version {VERSION}, little-endian", version)
    n_tensors, n_values = head.count("how many tensors"), head.count("how many values")
    metadata = _metadata(head, n_values)
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if type(alignment) is not int or alignment < 8 or alignment % 8:
        raise head.fault("an alignment that is a multiple of 8", alignment)
    return metadata, LazyTensors(path, _stored(head, n_tensors, alignment, size))


def _metadata(head: Header, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(count):
        key = head.text("a key")
        if key in found:
            raise head.fault("each key once", f"{key!r} again")
        found[key] = head.value(head.count("the type of a value", wide=False), repr(key))
    return found


def _stored(head: Header, count: int, alignment: int, size: int) -> dict[str, TensorInfo]:
    """The tensors that the head tells of, none beyond the end of the file."""
    told: dict[str, tuple[BlockFormat, tuple[int, ...], int]] = {}
    for _ in range(count):
        name = head.text("a tensor's name")
        if name in told:
            raise head.fault("each tensor once", f"{name!r} again")
        told[name] = _told(head, repr(name))
    start, end = head.place + -head.place % alignment, head.place
    found = {}
    for name, (kind, shape, offset) in told.items():
        expected = (end + -end % alignment) - start
        if offset != expected:
            raise head.fault(f"{name!r} at offset {expected}", offset)
        found[name] = TensorInfo(kind, shape, start + offset)
        end = found[name].end
    if not end <= size <= end + -end % alignment:
        raise head.fault(f"a file of {end} bytes and padding", f"one of {size}, as told")
    return found


def _told(head: Header, name: str) -> tuple[BlockFormat, tuple[int, ...], int]:
    """What the head tells of one tensor: kind, shape in NumPy's order, offset."""
    n_axes = head.count(f"how many axes {name} has", wide=False)
    if not 1 <= n_axes <= AXES:
        raise head.fault(f"1 to {AXES} axes of {name}", n_axes)
    shape = tuple(head.count(f"an axis of {name}") for _ in range(n_axes))[::-1]
    number = head.count(f"the kind of {name}", wide=False)
    if number not in KINDS:
        known = ", ".join(f"{kind.name} ({i})" for i, kind in KINDS.items())
        raise head.fault(f"{name} as one of {known}", number)
    kind = KINDS[number]
    if not 1 <= math.prod(shape) <= LARGEST_TENSOR or shape[-1] % kind.size:
        wanted = f"1 to {LARGEST_TENSOR} numbers in {name}, {kind.size} or a multiple in a row"
        raise head.fault(wanted, f"the shape {shape}")
    return kind, shape, head.count(f"the offset of {name}")
