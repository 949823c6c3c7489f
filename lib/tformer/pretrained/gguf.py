"""GGUF, the file format of llama.cpp: metadata, and tensors that are decoded on access.

Version 3, little-endian, is supported, with the block formats of `blocks.FORMATS`. A truncated,
hostile or foreign file is refused before anything of it is returned. A changed weight is noticed
only by a checksum, as `wheel.checkpoint` compares it.

Source: "GGUF" in ggml, https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. As in
`src/gguf.cpp` there, tensors are contiguous in the order of their names, each padded.
"""

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tformer.pretrained.blocks import FORMATS, BlockFormat, Float32
from tformer.pretrained.errors import format_error
from tformer.pretrained.header import LARGEST_HEADER, WHOLE, Header

__all__ = ["LARGEST_TENSOR", "LazyTensors", "TensorInfo", "read"]

LARGEST_TENSOR = 2**28
"""Numbers; in float32 they take a gibibyte."""
VERSION, ALIGNMENT, AXES = 3, 32, 4


class TensorInfo(NamedTuple):
    """A tensor in its file: block format, shape, and the byte at which it starts."""

    format: BlockFormat
    shape: tuple[int, ...]
    start: int

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return math.prod(self.shape) // self.format.size

    @property
    def end(self) -> int:
        """The byte after its last."""
        return self.start + self.blocks * self.format.block.itemsize


class LazyTensors(Mapping[str, Float32]):
    """The tensors of a file by name, each decoded into a new float32 array on access.

    Attributes
    ----------
    path : Path
        The file.
    info : dict
        The `TensorInfo` of each name: format and shape, without reading the tensor.
    """

    def __init__(self, path: Path, info: dict[str, TensorInfo]) -> None:
        self.path, self.info = path, info

    def __iter__(self) -> Iterator[str]:
        return iter(self.info)

    def __len__(self) -> int:
        return len(self.info)

    def __getitem__(self, name: str) -> Float32:
        """A tensor in float32; errors as of `stored`."""
        block_format, shape, _ = self.info[name]
        return block_format.decode(self.stored(name)).reshape(shape)

    def stored(self, name: str) -> NDArray[Any]:
        """The blocks of a tensor as the file has them: a structured array, or plain numbers.

        Raises
        ------
        KeyError
            If no tensor has this name.
        PretrainedError
            If the file has changed since it was opened, or a number or scale is not finite.
        """
        block_format, _, start = info = self.info[name]
        try:
            found = np.fromfile(self.path, block_format.block, info.blocks, offset=start)
        except OSError as error:
            raise format_error(self.path, "a file that can be read", error, WHOLE) from error
        if len(found) < info.blocks:
            cut = f"{len(found)} of {info.blocks} blocks"
            raise format_error(
                self.path, f"all of {name}", cut, "leave the file as it is while in use"
            )
        for field in {"d", "m"} & set(found.dtype.names or ()) or [...]:
            if not np.isfinite(found[field]).all():
                raise format_error(self.path, f"finite numbers in {name}", "inf or nan", WHOLE)
        return found


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
    tensors : LazyTensors
        Arrays by name, decoded on access. Axes are in NumPy's order, the reverse of the file's: the
        matrix of a linear layer is (d_out, d_in).

    Raises
    ------
    PretrainedError
        If there is no such file, or it is damaged or not supported.
    """
    path = Path(path)
    if not path.is_file():
        raise format_error(path, "a file", "none", "give the path of one")
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_HEADER)
            size = file.seek(0, 2)
    except OSError as error:
        raise format_error(path, "a file that can be read", error, WHOLE) from error
    header = Header(path, data, is_cut=size > len(data))
    if (magic := data[:4]) != b"GGUF":
        raise format_error(path, "the bytes GGUF at the start", repr(magic), WHOLE)
    header.read(4, "the magic")
    if (version := header.count("the version", wide=False)) != VERSION:
        raise header.error(f"version {VERSION}, little-endian", version)
    n_tensors, n_values = (
        header.count("the number of tensors"),
        header.count("the number of values"),
    )
    metadata = _metadata(header, n_values)
    alignment = metadata.get("general.alignment", ALIGNMENT)
    if type(alignment) is not int or alignment < 8 or alignment % 8:
        raise header.error("an alignment that is a multiple of 8", alignment)
    return metadata, LazyTensors(path, _tensor_info(header, n_tensors, alignment, size))


def _metadata(header: Header, count: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for _ in range(count):
        key = header.text("a key")
        if key in found:
            raise header.error("each key once", f"{key!r} again")
        found[key] = header.value(header.count("the type of a value", wide=False), repr(key))
    return found


def _tensor_info(header: Header, count: int, alignment: int, size: int) -> dict[str, TensorInfo]:
    """The tensors in the header, none beyond the end of the file."""
    entries: dict[str, tuple[BlockFormat, tuple[int, ...], int]] = {}
    for _ in range(count):
        name = header.text("a tensor's name")
        if name in entries:
            raise header.error("each tensor once", f"{name!r} again")
        entries[name] = _entry(header, repr(name))
    start, end = header.position + -header.position % alignment, header.position
    found = {}
    for name, (block_format, shape, offset) in entries.items():
        expected = (end + -end % alignment) - start
        if offset != expected:
            raise header.error(f"{name!r} at offset {expected}", offset)
        found[name] = TensorInfo(block_format, shape, start + offset)
        end = found[name].end
    if not end <= size <= end + -end % alignment:
        raise header.error(f"a file of {end} bytes and padding", f"one of {size}")
    return found


def _entry(header: Header, name: str) -> tuple[BlockFormat, tuple[int, ...], int]:
    """The entry of one tensor in the header: format, shape in NumPy's order, offset."""
    n_axes = header.count(f"the number of axes of {name}", wide=False)
    if not 1 <= n_axes <= AXES:
        raise header.error(f"1 to {AXES} axes of {name}", n_axes)
    shape = tuple(header.count(f"an axis of {name}") for _ in range(n_axes))[::-1]
    number = header.count(f"the format of {name}", wide=False)
    if number not in FORMATS:
        known = ", ".join(f"{x.name} ({i})" for i, x in FORMATS.items())
        raise header.error(f"{name} as one of {known}", number)
    block_format = FORMATS[number]
    if not 1 <= math.prod(shape) <= LARGEST_TENSOR or shape[-1] % block_format.size:
        wanted = (
            f"1 to {LARGEST_TENSOR} numbers in {name}, {block_format.size} or a multiple in a row"
        )
        raise header.error(wanted, f"the shape {shape}")
    return block_format, shape, header.count(f"the offset of {name}")
