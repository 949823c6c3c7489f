"""Notice a function of the library, or of NumPy, that somebody has replaced.

The checks compare an answer with these functions. Who writes ``reference.softmax = mine`` changes
what is right, and would be told nonsense.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from tformer import reference


def _public(module: ModuleType) -> dict[str, Any]:
    return {name: value for name, value in vars(module).items() if not name.startswith("_")}


MODULES = [reference, np, np.linalg] + [
    import_module(name)
    for _, name, _ in pkgutil.iter_modules(reference.__path__, f"{reference.__name__}.")
]
LOADED = {module: _public(module) for module in MODULES}


def replaced() -> list[str]:
    """Return the names that no longer stand for what was loaded first."""
    return [
        f"{module.__name__.removeprefix('tformer.')}.{name}"
        for module, names in LOADED.items()
        for name, value in names.items()
        if getattr(module, name, None) is not value
    ]
