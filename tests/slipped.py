"""Mutants of the library as slips: edits of its functions, and words for each."""

import inspect
from collections.abc import Callable
from typing import Any

from tformer import reference
from tformer.exercises.slips import mutants_of

Mutant = tuple[str, Callable[..., Any]]


def slipped(**slips: str) -> dict[str, Mutant]:
    """Mutants of library functions, by their words: the name of the function, and the mutant.

    Each name of a function of `reference` has a text of slips; see `tformer.exercises.slips`.
    """
    return {
        words: (name, mutant)
        for name, text in slips.items()
        for words, mutant in mutants_of(
            text, inspect.unwrap(getattr(reference, name)), f"mutants of {name}"
        ).items()
    }
