"""Checkpoints: all that a training needs to go on as if nothing had been.

A folder holds two files. `checkpoint.safetensors` has the tensors, with the step and the recipe
beside them. A new one takes the old one's place at once, whole, by renaming. `metrics.jsonl` has a
line a step, written as they come. No pickle is written or read.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as as_bytes
from torch import Tensor

from tformer.training.recipe import Recipe

__all__ = ["Checkpoint", "CheckpointError", "Folder"]

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


class Folder:
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
        about = {
            "step": str(step),
            "recipe": json.dumps(asdict(self.recipe)),
            "sha256": _digest(tensors),
        }
        part = self.checkpoint.with_suffix(".part")
        try:
            _write(part, as_bytes(dict(tensors), about))
            part.replace(self.checkpoint)
            _settle(self.path)
        except OSError as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            raise self._unwritten(f"the checkpoint of step {step}", error) from error
        self.whole = step

    def load(self) -> Checkpoint | None:
        """The checkpoint; None if there is none yet.

        Raises
        ------
        CheckpointError
            If it cannot be read, is damaged, or is of another recipe.
        """
        if not self.checkpoint.exists():
            return None
        try:
            with safe_open(self.checkpoint, framework="pt") as file:
                about = file.metadata() or {}
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        except (SafetensorError, OSError) as error:
            raise self._strange(f"cannot be read: {error}") from error
        if about.keys() < {"step", "recipe", "sha256"}:
            raise self._strange("is not a checkpoint of this library")
        if about["sha256"] != _digest(tensors):
            raise self._strange("is damaged: its checksum is another")
        there, here = json.loads(about["recipe"]), json.loads(json.dumps(asdict(self.recipe)))
        if others := {name for name in here if here[name] != there.get(name)}:
            one = min(others)
            raise self._strange(
                f"is of another recipe: {one} is {there.get(one)!r} there, {here[one]!r} here"
            )
        self.whole = int(about["step"])
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
        """The lines of metrics; one that a kill has cut short is left out."""
        if not self.metrics.exists():
            return []
        lines = self.metrics.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def forget_after(self, step: int) -> None:
        """Take away the metrics of later steps, which will be made and recorded again."""
        if not self.metrics.exists():
            return
        kept = [line for line in self.recorded() if line["step"] <= step]
        part = self.metrics.with_suffix(".part")
        _write(part, "".join(json.dumps(line) + "\n" for line in kept).encode())
        part.replace(self.metrics)

    def _unwritten(self, what: str, error: OSError) -> CheckpointError:
        stays = "no checkpoint" if self.whole is None else f"that of step {self.whole}, whole"
        return CheckpointError(f"{self.path}: {what} was not written: {error}; there is {stays}")

    def _strange(self, why: str) -> CheckpointError:
        cure = "take another folder, or move this file away to begin anew"
        return CheckpointError(f"{self.checkpoint} {why}; {cure}")


def _write(path: Path, data: bytes) -> None:
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


def _digest(tensors: Arrays) -> str:
    """The SHA-256 of tensors, their names and their shapes."""
    found = hashlib.sha256()
    for name in sorted(tensors):
        x = tensors[name]
        found.update(f"{name} {x.dtype} {[*x.shape]}\n".encode())
        found.update(x.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
    return found.hexdigest()
