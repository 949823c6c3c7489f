"""What belongs to one chapter stands in its folder here: ch01, ch02, …

Nothing lists the chapters or what is in them. A module that begins with `claims` holds claims,
one that begins with `checks` holds the tests of exercises; both register what they hold when they
are imported, and they are imported when somebody asks for it.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from importlib.resources import files
from types import ModuleType

__all__ = ["load", "mentioning", "numbers"]


def numbers() -> list[int]:
    """Return the numbers of the chapters that have a folder, in order."""
    found = (name for _, name, is_folder in pkgutil.iter_modules(__path__) if is_folder)
    return sorted(int(name.removeprefix("ch")) for name in found)


def load(kind: str, chapter: int | None = None) -> list[ModuleType]:
    """Import the modules of one chapter, or of all, whose names begin with `kind`.

    A chapter without a folder has none.
    """
    chosen = [n for n in numbers() if chapter in (None, n)]
    return [import_module(name) for n in chosen for name in _names(kind, n)]


def mentioning(kind: str, text: str) -> list[int]:
    """Return the chapters with a `kind` module in whose code `text` stands, without importing."""
    return [n for n in numbers() if any(text in _code(name) for name in _names(kind, n))]


@cache
def _names(kind: str, chapter: int) -> list[str]:
    package = import_module(f"{__name__}.ch{chapter:02d}")
    found = (name for _, name, _ in pkgutil.iter_modules(package.__path__, f"{package.__name__}."))
    return sorted(name for name in found if name.rpartition(".")[2].startswith(kind))


def _code(module: str) -> str:
    package, _, name = module.rpartition(".")
    return (files(package) / f"{name}.py").read_text(encoding="utf-8")
