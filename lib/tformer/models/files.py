"""Safetensors files of a model: parameters by name, and the configuration in the metadata."""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as as_bytes

from tformer.checksums import (
    ChecksumError,
    read_verified_metadata,
    with_checksum,
    write_atomically,
)
from tformer.configuration import Configuration, require_model
from tformer.docstrings import dataclass_of, documented
from tformer.parameters import (
    EncoderDecoderParameters,
    ModelParameters,
    named_leaves,
)
from tformer.shapes import Axes, ShapeError, axes_of, bind_all

__all__ = ["WeightsError", "load", "require_loadable", "require_shapes", "save", "unflatten"]

CLASSES = {kind.__name__: kind for kind in (ModelParameters, EncoderDecoderParameters)}


class WeightsError(ValueError):
    """A file or a state dict that is damaged, or does not hold the parameters of a model."""


def save(path: Path | str, parameters: Any, configuration: Configuration) -> None:
    """Write a model to a safetensors file with a checksum, all of it or nothing.

    Parameters
    ----------
    path : path
    parameters : ModelParameters or EncoderDecoderParameters
        Of either library.
    configuration : Configuration

    Raises
    ------
    WeightsError
        If `load` would refuse the file, or it cannot be written; a file that is there is unchanged.
    """
    kind = type(parameters)
    if kind not in CLASSES.values():
        several = " or ".join(CLASSES)
        raise WeightsError(f"save: parameters must be {several}; got {kind.__name__}")
    try:
        arrays = {
            name: np.ascontiguousarray(x.detach().cpu().numpy() if hasattr(x, "detach") else x)
            for name, x in named_leaves(parameters)
        }
    except TypeError as error:  # a dtype that NumPy lacks
        raise WeightsError(f"save: {error}") from error
    require_loadable(f"save: {path}", unflatten(kind, arrays), configuration)
    metadata = {"configuration": json.dumps(asdict(configuration)), "kind": kind.__name__}
    try:
        write_atomically(Path(path), with_checksum(as_bytes(arrays), metadata))
    except (OSError, SafetensorError) as error:
        raise WeightsError(f"save: {path} was not written: {error}") from error


def load(path: Path | str) -> tuple[Any, Configuration]:
    """Read what `save` wrote: parameters as NumPy arrays, and the configuration.

    Raises
    ------
    WeightsError
        If the file is missing or damaged, `save` did not write it, its arrays are not those that
        its class and configuration need, or a number is not finite.
    """
    where = f"load: {path}"
    try:
        metadata = read_verified_metadata(Path(path))
        with safe_open(path, framework="numpy") as file:
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except ChecksumError as error:
        raise WeightsError(f"{where} is not a file that save wrote, whole: {error}") from error
    except (SafetensorError, OSError, TypeError, ValueError, KeyError, AttributeError) as error:
        raise WeightsError(f"{where} cannot be read as safetensors: {error}") from error
    kind = CLASSES.get(metadata.get("kind", ""))
    if kind is None:
        raise WeightsError(f"{where} is not a file that save wrote: no kind of model in it")
    try:
        configuration = Configuration(**json.loads(metadata["configuration"]))
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise WeightsError(f"load: the configuration in {path} is not one: {error}") from error
    parameters = unflatten(kind, arrays, where)
    require_loadable(where, parameters, configuration)
    return parameters, configuration


def require_shapes(where: str, parameters: Any) -> None:
    """Require that the shapes of all arrays agree, by the docstrings of their classes.

    Parameters
    ----------
    where : str
        What the error begins with.
    parameters : ModelParameters or EncoderDecoderParameters
        Of either library.

    Raises
    ------
    WeightsError
        If one has another number of axes, or an axis another size than elsewhere.
    """
    axes = _axes(type(parameters).__name__)
    arrays = [
        (name, axes[re.sub(r"(^|\.)blocks\.\d+\.", r"\1blocks.*.", name)], x)
        for name, x in named_leaves(parameters)
    ]
    try:
        bind_all(where, arrays)
    except ShapeError as error:
        raise WeightsError(str(error)) from error


@cache
def _axes(kind: str) -> dict[str, Axes]:
    """The axes of each array of a class of `CLASSES`, by its name."""

    def holds(parameters: Any) -> None:
        pass

    holds.__annotations__["parameters"] = CLASSES[kind]
    holds.__doc__ = f"Parameters\n----------\nparameters : {kind}\n\n(N,) array\n"
    said = documented(holds)
    names = (name.removeprefix("parameters.") for name in said.names)
    return dict(zip(names, axes_of(said.spec), strict=True))


def require_loadable(where: str, parameters: Any, configuration: Configuration) -> None:
    """Require parameters that a model can compute with, as `save` and `load` do.

    Parameters
    ----------
    where : str
        What the error begins with.
    parameters : ModelParameters or EncoderDecoderParameters
        Of NumPy arrays.
    configuration : Configuration

    Raises
    ------
    WeightsError
        If an array is not of finite floating-point numbers, its shape does not fit the others, or
        the configuration asks for parameters that are missing.
    """
    for name, x in named_leaves(parameters):
        if x.dtype not in (np.float16, np.float32, np.float64):
            raise WeightsError(f"{where}: {name} must hold floating-point numbers; got {x.dtype}")
        if not np.isfinite(x).all():
            raise WeightsError(f"{where}: {name} has numbers that are not finite")
    require_shapes(where, parameters)
    both = isinstance(parameters, EncoderDecoderParameters)
    models = (parameters.encoder, parameters.decoder) if both else (parameters,)
    try:
        for i, model in enumerate(models):
            require_model(where, model, configuration, 1, has_memory=i > 0)
    except ValueError as error:
        raise WeightsError(str(error)) from error


def unflatten(kind: type[Any], arrays: Mapping[str, Any], where: str = "unflatten") -> Any:
    """The tree with these leaves; the inverse of `named_leaves`.

    Raises
    ------
    WeightsError
        If a name is missing or unexpected.
    """
    remaining = dict(arrays)
    found = _tree(kind, "", remaining, where)
    if remaining:
        raise WeightsError(f"{where}: unexpected: {_first_names(remaining)}")
    return found


def _tree(kind: type[Any], prefix: str, remaining: dict[str, Any], where: str) -> Any:
    """A dataclass from the arrays that begin with `prefix`; removes them from `remaining`."""
    hints, found = get_type_hints(kind), {}
    for field in fields(kind):
        name, inner = prefix + field.name, dataclass_of(hints[field.name])
        present = [key for key in remaining if key == name or key.startswith(f"{name}.")]
        if inner is None:
            value = remaining.pop(name, None)
        elif field.name == "blocks":
            numbers = {key.removeprefix(f"{name}.").split(".")[0] for key in present}
            if numbers != {str(i) for i in range(len(numbers))}:
                raise WeightsError(
                    f"{where}: blocks must be numbered from 0; got {_first_names(numbers)}"
                )
            value = tuple(
                _tree(inner, f"{name}.{i}.", remaining, where) for i in range(len(numbers))
            )
        else:
            value = _tree(inner, f"{name}.", remaining, where) if present else None
        if value is None and field.default is MISSING:
            raise WeightsError(f"{where}: {name} is missing")
        found[field.name] = value
    return kind(**found)


def _first_names(names: Any) -> str:
    """The first few names."""
    names = sorted(names)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
