"""The values of a config.json, which remembers the keys that were read."""

from pathlib import Path
from typing import Any

from tformer.pretrained.errors import PretrainedError, format_error
from tformer.pretrained.folder import Settings

__all__ = ["Keys"]

FIX = "give a model whose config.json has only what the table of its family knows"


class Keys(Settings):
    """The values of a config.json, which remembers the keys that were read."""

    def __init__(self, path: Path, values: dict[str, Any]) -> None:
        super().__init__(path, values)
        self.read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        found = super().__getitem__(key)
        self.read.add(key)
        return found

    def replaced(self, values: dict[str, Any]) -> "Keys":
        """The same with other values for some keys; what is read there counts as read here."""
        found = Keys(self.path, self._values | values)
        found.read = self.read
        return found

    def error(self, expected: str, found: object) -> PretrainedError:
        """The error that names this file."""
        return format_error(self.path, expected, found, FIX)

    def one_of(self, keys: str) -> str:
        """The key that is given, of several with spaces between them; else the first."""
        names = keys.split()
        return next((name for name in names if name in self), names[0])

    def inner(self, key: str) -> dict[str, Any]:
        """A JSON object inside; empty if it is missing."""
        found = self.get(key, {})
        if not isinstance(found, dict):
            raise self.error(f"{key}, a JSON object", repr(found))
        return found

    def each(self, key: str, n: int) -> Any:
        """A list with one value for each of n layers, or None if it is missing or empty."""
        found = self.get(key)
        if found is None or found == []:
            return None
        if not isinstance(found, list) or len(found) != n:
            raise self.error(f"{key}, one for each of {n} layers", repr(found))
        return found

    def require_read(self, unused: tuple[str, ...], inside: str = "") -> None:
        """Refuse a key that was not read and is not known to have no effect."""
        for key in self:
            if key not in self.read and key not in unused:
                name = f"{inside}{key}"
                raise self.error(f"no {name}, which is not understood", repr(self._values[key]))
