"""Files of parameters: safetensors under our own names, with the configuration beside them."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from tformer.configuration import Configuration
from tformer.docstrings import dataclass_of
from tformer.parameters import (
    EncoderDecoderParameters,
    ModelParameters,
    named_leaves,
)

__all__ = ["WeightsError", "load", "save", "tree_of"]

KINDS = {kind.__name__: kind for kind in (ModelParameters, EncoderDecoderParameters)}


class WeightsError(ValueError):
    """A file of parameters, or a set of them, that is damaged or of something else."""


def save(path: Path | str, parameters: Any, configuration: Configuration) -> None:
    """Write a model to a file, whole or not at all.

    Parameters
    ----------
    path : path
    parameters : ModelParameters or EncoderDecoderParameters
        Of either library.
    configuration : Configuration
    """
    arrays = {
        name: np.ascontiguousarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)
        for name, x in named_leaves(parameters)
    }
    about = {"kind": type(parameters).__name__, "configuration": json.dumps(asdict(configuration))}
    part = Path(f"{path}.part")
    save_file(arrays, part, about)
    part.replace(path)


def load(path: Path | str) -> tuple[Any, Configuration]:
    """Read what `save` wrote: parameters as NumPy arrays, and the configuration.

    Raises
    ------
    WeightsError
        If the file is missing, damaged, or not one of ours; nothing is loaded then.
    """
    try:
        with safe_open(path, framework="numpy") as file:
            about = file.metadata() or {}
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise WeightsError(f"load: {path} cannot be read as safetensors: {error}") from error
    kind = KINDS.get(about.get("kind", ""))
    if kind is None:
        raise WeightsError(f"load: {path} is not a file that save wrote: no kind of model in it")
    try:
        configuration = Configuration(**json.loads(about["configuration"]))
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"load: the configuration in {path} is not one: {error}") from error
    return tree_of(kind, arrays, f"load: {path}"), configuration


def tree_of(kind: type[Any], arrays: Mapping[str, Any], where: str = "tree_of") -> Any:
    """The tree whose leaves have these names, as `named_leaves` gives them.

    Raises
    ------
    WeightsError
        If a name is missing, or one is left over.
    """
    left = dict(arrays)
    found = _tree(kind, "", left, where)
    if left:
        raise WeightsError(f"{where}: no place for {_some(left)}")
    return found


def _tree(kind: type[Any], before: str, left: dict[str, Any], where: str) -> Any:
    """A dataclass from arrays whose names begin with `before`, which are taken out of `left`."""
    hints, found = get_type_hints(kind), {}
    for field in fields(kind):
        name, inner = before + field.name, dataclass_of(hints[field.name])
        present = [key for key in left if key == name or key.startswith(f"{name}.")]
        if inner is None:
            value = left.pop(name, None)
        elif field.name == "blocks":
            numbers = {key.removeprefix(f"{name}.").split(".")[0] for key in present}
            if numbers != {str(i) for i in range(len(numbers))}:
                raise WeightsError(f"{where}: blocks must be numbered from 0; got {_some(numbers)}")
            value = tuple(_tree(inner, f"{name}.{i}.", left, where) for i in range(len(numbers)))
        else:
            value = _tree(inner, f"{name}.", left, where) if present else None
        if value is None and field.default is MISSING:
            raise WeightsError(f"{where}: {name} is missing")
        found[field.name] = value
    return kind(**found)


def _some(names: Any) -> str:
    """The first few names."""
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
