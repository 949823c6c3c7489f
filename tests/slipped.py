"""Mutants of the library as slips: edits of its functions, and words for each."""

import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from tformer import reference
from tformer_book.exercises.slips import mutants_of

WITHIN = ("tformer.", "tformer_book.")
"""Modules in which a function that is used within the library may be known."""

Mutant = tuple[str, Callable[..., Any]]


def slipped(**slips: str) -> dict[str, Mutant]:
    """Mutants of library functions, by their words: the name of the function, and the mutant.

    Each name of a function of `reference` has a text of slips; see `tformer_book.exercises.slips`.
    A function within the library has the name of its module before it: "models.sizes.initialise".
    """
    return {
        words: (name, mutant)
        for name, text in slips.items()
        for words, mutant in mutants_of(
            text, inspect.unwrap(original(name)), f"mutants of {name}"
        ).items()
    }


def original(name: str) -> Callable[..., Any]:
    """The function of the library that a mutant stands in for."""
    module, _, function = name.rpartition(".")
    where = import_module(f"tformer.{module}") if module else reference
    return getattr(where, function)  # type: ignore[no-any-return]


def plant(name: str, mutant: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a mutant in the place of a function: where claims call it, or wherever it is known.

    A function of `reference` is exchanged for those who ask the library for it; one within the
    library, for the library too.
    """
    right = original(name)
    if "." not in name:
        monkeypatch.setattr(reference, name, mutant)
        return
    for module in [one for key, one in sys.modules.items() if key.startswith(WITHIN)]:
        for known in [key for key, value in vars(module).items() if value is right]:
            monkeypatch.setattr(module, known, mutant)
