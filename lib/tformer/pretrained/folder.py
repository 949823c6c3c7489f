"""A model as the package transformers saves it: config.json beside model.safetensors.

Source: `PreTrainedModel.save_pretrained` of transformers, and the format of safetensors,
https://github.com/huggingface/safetensors.
"""

import json
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, deserialize

from tformer.pretrained.errors import PretrainedError, format_error

__all__ = ["FIX", "Settings", "read_settings", "read_tensors"]

SETTINGS, WEIGHTS = "config.json", "model.safetensors"
FIX = (
    "give a folder that save_pretrained of transformers wrote, for a Llama or a GPT-2, "
    "or for layers_from_pretrained one of another family"
)
DTYPES = {
    **{"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"},
    **{"I64": "<i8", "I32": "<i4", "U8": "u1", "BOOL": "?"},
}
"""The dtype in NumPy by the name of safetensors; of bfloat16, which NumPy lacks, the bits."""


class Settings(Mapping[str, Any]):
    """The values in config.json; each method refuses another value by the name of its key.

    Parameters
    ----------
    path : Path
        The file, for error messages.
    values : dict
        A key whose value is null counts as missing.
    """

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        self.path = path
        self._values = {key: value for key, value in values.items() if value is not None}

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __iter__(self) -> Any:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def error(self, expected: str, found: object) -> PretrainedError:
        """The error that names this file."""
        return format_error(self.path, expected, found, FIX)

    def choice(self, key: str, choices: Collection[Any], default: Any = None) -> Any:
        """A value that is one of several.

        Raises
        ------
        PretrainedError
            If it is another.
        """
        found = self.get(key, default)
        if not any(type(found) is type(x) and found == x for x in choices):
            raise self.error(f"{key} {' or '.join(map(repr, choices))}", repr(found))
        return found

    def number(self, key: str, kind: type[Any] = int, default: float | None = None) -> Any:
        """A finite number above 0.

        Raises
        ------
        PretrainedError
            If it is missing, or another value.
        """
        found = self.get(key, default)
        kinds = (int, float) if kind is float else (int,)
        if type(found) not in kinds or not 0 < found < math.inf:
            raise self.error(f"{key}, {kind.__name__} above 0", repr(found))
        return kind(found)


def read_settings(path: Path) -> tuple[Settings, Path]:
    """Read config.json; return its values and the path of the safetensors file beside it.

    Parameters
    ----------
    path : Path
        A folder, or the safetensors file in it.

    Raises
    ------
    PretrainedError
        If one of the two files is missing, or config.json is not a JSON object.
    """
    folder, weights = (path, path / WEIGHTS) if path.is_dir() else (path.parent, path)
    settings = folder / SETTINGS
    if not settings.is_file():
        raise format_error(folder, SETTINGS, "none", FIX)
    if not weights.is_file():
        others = sorted(x.name for x in folder.iterdir() if x.suffix in (".safetensors", ".bin"))
        fix = "save it again with save_pretrained, in one file (max_shard_size)"
        raise format_error(folder, WEIGHTS, ", ".join(others[:3]) or "none", fix)
    try:
        values = json.loads(settings.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise format_error(settings, "a JSON object", error, FIX) from error
    if not isinstance(values, dict):
        raise format_error(settings, "a JSON object", type(values).__name__, FIX)
    return Settings(settings, values), weights


def read_tensors(path: Path) -> dict[str, NDArray[Any]]:
    """The tensors of a safetensors file as arrays by name, float16 and bfloat16 as float32.

    Raises
    ------
    PretrainedError
        If it cannot be read, or a tensor has another dtype than those of `DTYPES`.
    """
    try:
        stored = deserialize(path.read_bytes())
    except (OSError, SafetensorError) as error:
        raise format_error(path, "a whole safetensors file", error, FIX) from error
    found = {}
    for name, one in stored:
        if (dtype := one["dtype"]) not in DTYPES:
            raise format_error(path, f"{name} in {', '.join(DTYPES)}", dtype, FIX)
        x = np.frombuffer(one["data"], DTYPES[dtype]).reshape(one["shape"])
        if dtype == "BF16":  # the upper half of a float32
            x = (x.astype(np.uint32) << 16).view(np.float32)
        found[name] = x.astype(np.float32) if dtype == "F16" else x
    return found
