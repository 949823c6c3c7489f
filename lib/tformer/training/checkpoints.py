"""Checkpoints: all that a training needs to go on as if nothing had been.

A folder holds two files. `checkpoint.safetensors` has the tensors, with the step and the recipe
beside them, all under one checksum. A new one takes the old one's place at once, whole, by
renaming. `metrics.jsonl` has a line a step, written as they come. No pickle is written or read.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import save as as_bytes
from torch import Tensor

from tformer.checksums import (
    ChecksumError,
    read_verified_metadata,
    with_checksum,
    write_atomically,
)
from tformer.training.recipe import Recipe

__all__ = ["Checkpoint", "CheckpointError", "CheckpointFolder"]

Arrays = Mapping[str, Tensor]


class CheckpointError(ValueError):
    """A checkpoint cannot be written or read, or belongs to another training."""


class Checkpoint(NamedTuple):
    """Where a training stands.

    Attributes
    ----------
    step : int
        The last that has been made.
    tensors : dict of tensors
        Parameters, moments, and whatever else a step depends on, by name.
    """

    step: int
    tensors: dict[str, Tensor]


class CheckpointFolder:
    """The folder of one training; it is made if it is missing.

    Parameters
    ----------
    path : path
    recipe : Recipe

    Raises
    ------
    CheckpointError
        If it cannot be made.
    """

    def __init__(self, path: Path | str, recipe: Recipe) -> None:
        self.path, self.recipe = Path(path), recipe
        self.checkpoint, self.metrics = (
            self.path / name for name in ("checkpoint.safetensors", "metrics.jsonl")
        )
        self.whole: int | None = None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{path}: no folder for checkpoints: {error}") from error

    def save(self, step: int, tensors: Arrays) -> None:
        """Write a checkpoint, whole or not at all.

        Raises
        ------
        CheckpointError
            If there is no room, or writing fails otherwise; the checkpoint before stays.
        """
        metadata = {"step": str(step), "recipe": json.dumps(asdict(self.recipe))}
        try:
            write_atomically(self.checkpoint, with_checksum(as_bytes(_apart(tensors)), metadata))
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise self._unwritten(f"the checkpoint of step {step}", error) from error
        self.whole = step

    def load(self) -> Checkpoint | None:
        """The checkpoint; None if there is none yet.

        Raises
        ------
        CheckpointError
            If it cannot be read, is damaged, or is of another recipe.
        """
        try:
            metadata = read_verified_metadata(self.checkpoint)
            with safe_open(self.checkpoint, framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            there, step = json.loads(metadata["recipe"]), metadata["step"]
        except FileNotFoundError:
            return None
        except (OSError, SafetensorError, ValueError, KeyError, TypeError, RecursionError) as error:
            kind = "" if isinstance(error, ChecksumError) else f"{type(error).__name__}: "
            raise self._strange(f"cannot be read: {kind}{error}") from error
        here = json.loads(json.dumps(asdict(self.recipe)))
        if not isinstance(there, dict) or not step.isdecimal():
            raise self._strange("cannot be read: it names no step, or no recipe")
        for name in sorted(here.keys() | there.keys()):
            one, other = (x.get(name, "no choice") for x in (there, here))
            if one != other:
                raise self._strange(
                    f"is of another recipe: {name} is {one!r} there, {other!r} here"
                )
        self.whole = int(step)
        if self.whole > self.recipe.steps:
            raise self._strange(f"is of step {step} of {self.recipe.steps}")
        return Checkpoint(self.whole, tensors)

    def record(self, line: Mapping[str, Any]) -> None:
        """Add a line of metrics.

        Raises
        ------
        CheckpointError
            If there is no room, or writing fails otherwise.
        """
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise self._unwritten("a line of metrics", error) from error

    def recorded(self) -> list[dict[str, Any]]:
        """The lines of metrics; one that a kill has cut short is left out.

        Raises
        ------
        CheckpointError
            If the file or another of its lines cannot be read.
        """
        return [line for _, line in self._lines()]

    def forget_after(self, step: int) -> None:
        """Take away the metrics of later steps, which will be made and recorded again.

        Raises
        ------
        CheckpointError
            If they cannot be read, or what stays cannot be written; the file stays as it is then.
        """
        if not self.metrics.exists():
            return
        kept = "".join(text for text, line in self._lines() if line["step"] <= step)
        try:
            write_atomically(self.metrics, kept.encode())
        except OSError as error:
            raise self._unwritten("the metrics until now", error) from error

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each line of metrics, as it stands there and as it is read."""
        try:
            texts = self.metrics.read_text(encoding="utf-8").splitlines(keepends=True)
            for number, text in enumerate(texts, 1):
                if text.endswith("\n"):
                    line = json.loads(text)
                    if not isinstance(line, dict) or not isinstance(line.get("step"), int):
                        raise ValueError(f"line {number} names no step")
                    yield text, line
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            cure = "move this file away to do without the metrics until now"
            raise CheckpointError(f"{self.metrics} cannot be read: {error}; {cure}") from error

    def _unwritten(self, what: str, error: Exception) -> CheckpointError:
        stays = "no checkpoint" if self.whole is None else f"that of step {self.whole}, whole"
        return CheckpointError(f"{self.path}: {what} was not written: {error}; there is {stays}")

    def _strange(self, why: str) -> CheckpointError:
        cure = "take another folder, or move this file away to begin anew"
        return CheckpointError(f"{self.checkpoint} {why}; {cure}")


def _apart(tensors: Arrays) -> dict[str, Tensor]:
    """Tensors that share no memory, each in the order of its axes, as safetensors asks for."""
    found = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
    held = Counter(x.untyped_storage().data_ptr() for x in found.values())
    return {
        name: x.clone() if held[x.untyped_storage().data_ptr()] > 1 else x
        for name, x in found.items()
    }
