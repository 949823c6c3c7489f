"""Checkpoints: everything that a training run needs to resume with the same numbers.

A folder holds two files. `checkpoint.safetensors` has the tensors, and step and recipe in the
metadata, with one checksum. A new checkpoint replaces the old one atomically, by renaming.
`metrics.jsonl` has one line a step, appended after the step. No pickle is written or read.
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
    """A checkpoint cannot be written or read, or belongs to another run."""


class Checkpoint(NamedTuple):
    """The state of a run after a step.

    Attributes
    ----------
    step : int
        The last step that was made.
    tensors : dict of tensors
        Parameters, moments, buffers and random generators, by name.
    """

    step: int
    tensors: dict[str, Tensor]


class CheckpointFolder:
    """The folder of one run; it is made if it is missing.

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
        self.saved_step: int | None = None
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CheckpointError(f"{path}: no folder for checkpoints: {error}") from error

    def save(self, step: int, tensors: Arrays) -> None:
        """Write a checkpoint, all of it or nothing.

        Raises
        ------
        CheckpointError
            If writing fails, as on a full disk; the checkpoint before is unchanged.
        """
        metadata = {"step": str(step), "recipe": json.dumps(asdict(self.recipe))}
        try:
            write_atomically(
                self.checkpoint, with_checksum(as_bytes(_without_shared_memory(tensors)), metadata)
            )
        except (OSError, SafetensorError, ValueError, KeyError) as error:
            raise self._write_error(f"the checkpoint of step {step}", error) from error
        self.saved_step = step

    def load(self) -> Checkpoint | None:
        """The checkpoint; None if there is none yet.

        Raises
        ------
        CheckpointError
            If it cannot be read, is damaged, or has another recipe.
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
            raise self._read_error(f"cannot be read: {kind}{error}") from error
        here = json.loads(json.dumps(asdict(self.recipe)))
        if not isinstance(there, dict) or not step.isdecimal():
            raise self._read_error("cannot be read: it has no step, or no recipe")
        for name in sorted(here.keys() | there.keys()):
            one, other = (x.get(name, "no choice") for x in (there, here))
            if one != other:
                raise self._read_error(
                    f"is of another recipe: {name} is {one!r} there, {other!r} here"
                )
        self.saved_step = int(step)
        if self.saved_step > self.recipe.steps:
            raise self._read_error(f"is of step {step} of {self.recipe.steps}")
        return Checkpoint(self.saved_step, tensors)

    def record(self, line: Mapping[str, Any]) -> None:
        """Append a line of metrics.

        Raises
        ------
        CheckpointError
            If writing fails, as on a full disk.
        """
        try:
            with self.metrics.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        except OSError as error:
            raise self._write_error("a line of metrics", error) from error

    def recorded(self) -> list[dict[str, Any]]:
        """The lines of metrics; a last line that was not written to its end is left out.

        Raises
        ------
        CheckpointError
            If the file or another of its lines cannot be read.
        """
        return [line for _, line in self._lines()]

    def drop_metrics_after(self, step: int) -> None:
        """Delete the metrics of later steps, which will be repeated.

        Raises
        ------
        CheckpointError
            If the file cannot be read or written; it is unchanged then.
        """
        if not self.metrics.exists():
            return
        kept = "".join(text for text, line in self._lines() if line["step"] <= step)
        try:
            write_atomically(self.metrics, kept.encode())
        except OSError as error:
            raise self._write_error("the file of metrics", error) from error

    def _lines(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each line of metrics, as text and parsed."""
        try:
            texts = self.metrics.read_text(encoding="utf-8").splitlines(keepends=True)
            for number, text in enumerate(texts, 1):
                if text.endswith("\n"):
                    line = json.loads(text)
                    if not isinstance(line, dict) or not isinstance(line.get("step"), int):
                        raise ValueError(f"line {number} has no step")
                    yield text, line
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            fix = "move this file away to resume without its metrics"
            raise CheckpointError(f"{self.metrics} cannot be read: {error}; {fix}") from error

    def _write_error(self, what: str, error: Exception) -> CheckpointError:
        last = "none" if self.saved_step is None else f"that of step {self.saved_step}"
        return CheckpointError(f"{self.path}: {what} was not written: {error}; the last is {last}")

    def _read_error(self, why: str) -> CheckpointError:
        fix = "take another folder, or move this file away to start from step 1"
        return CheckpointError(f"{self.checkpoint} {why}; {fix}")


def _without_shared_memory(tensors: Arrays) -> dict[str, Tensor]:
    """Contiguous tensors that share no memory, as safetensors requires."""
    found = {name: x.detach().cpu().contiguous() for name, x in tensors.items()}
    held = Counter(x.untyped_storage().data_ptr() for x in found.values())
    return {
        name: x.clone() if held[x.untyped_storage().data_ptr()] > 1 else x
        for name, x in found.items()
    }
