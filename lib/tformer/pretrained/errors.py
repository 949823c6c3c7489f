"""The error for a model file that cannot be read."""

from pathlib import Path

__all__ = ["PretrainedError", "format_error"]

SHOWN = 200
"""Characters of what was expected or found; a hostile file could have a name of millions."""


class PretrainedError(ValueError):
    """A model file is missing, damaged, or not understood; nothing of it is returned."""


def format_error(where: str | Path, expected: str, found: object, fix: str) -> PretrainedError:
    """The error with the file, what was expected, what was found, and how to fix it."""
    shown = f"expected {expected[:SHOWN]}, found {str(found)[:SHOWN]}"
    return PretrainedError(f"{where}: {shown}; {fix}")
