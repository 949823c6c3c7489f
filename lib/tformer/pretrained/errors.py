"""The one error that says that a file of weights is not what it should be."""

from pathlib import Path

__all__ = ["PretrainedError", "format_error"]

SHOWN = 200
"""Letters of what was expected or found; a hostile file could have a name of millions."""


class PretrainedError(ValueError):
    """A file is not there, or is not what it should be; nothing of it has been kept."""


def format_error(where: str | Path, expected: str, found: object, cure: str) -> PretrainedError:
    """The error that says which file, what was expected, what was found, and what to do."""
    shown = f"expected {expected[:SHOWN]}, found {str(found)[:SHOWN]}"
    return PretrainedError(f"{where}: {shown}; {cure}")
