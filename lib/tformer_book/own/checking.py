"""Checking a part: the reader's function, with the book's parts around it, against a table.

A check is written as those of the exercises are (`tformer_book.exercises.registry`): cases, and
slips, which are edits of the book's own function, each with what a reader is told who made it. Two
things differ. The cases hold arrays, and a part is handed tensors in double precision. And a part
is *used*: a function of a module and the inputs calls it, since a block needs a configuration and
parameters, and returns arrays.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import torch

from tformer_book.exercises import CheckFailed, verdict
from tformer_book.exercises.describe import own_line
from tformer_book.exercises.diagnosis import check_by_table
from tformer_book.exercises.kinds import Array
from tformer_book.exercises.registry import Exercise
from tformer_book.exercises.slips import edited, entries, source
from tformer_book.exercises.table import Case, Table
from tformer_book.own.lending import Unfit, lend, load
from tformer_book.own.parts import defined_in, of_the_book

Use = Callable[..., Any]
CHECKS: dict[str, Exercise] = {}
"""The check of each part that has been registered, by its name."""


@dataclass(frozen=True)
class Used:
    """A part of a module as a function of arrays, named as the part is."""

    module: ModuleType
    name: str
    use: Use

    def __call__(self, *inputs: Any) -> Any:
        """Hand tensors to the part, in double precision; return arrays."""
        with double_precision():
            return to_arrays(self.use(self.module, *map(to_tensors, inputs)))

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def __signature__(self) -> inspect.Signature:
        _module, *inputs = inspect.signature(self.use).parameters.values()
        return inspect.Signature(inputs)

    @property
    def __code__(self) -> Any:
        part = inspect.unwrap(getattr(self.module, self.name))
        return getattr(part, "__code__", None)


@contextmanager
def double_precision() -> Iterator[None]:
    """Let new tensors of fractions be of float64 meanwhile."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def to_tensors(value: Any) -> Any:
    """Return arrays, in lists and tuples too, as tensors."""
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, list | tuple):
        return type(value)(map(to_tensors, value))
    return value


def to_arrays(value: Any) -> Any:
    """Return tensors, in lists and tuples too, as arrays."""
    if isinstance(value, torch.Tensor):
        return value.detach().numpy()
    if isinstance(value, list | tuple):
        return type(value)(map(to_arrays, value))
    return value


def book_module() -> ModuleType:
    """Return the book's own file as a module, made anew."""
    module = ModuleType("my_transformer")
    lend(module.__dict__)
    return module


def checked(
    name: str,
    praise: str,
    cases: Callable[[], Iterable[Case]],
    slips: str = "",
    kind: Array | None = None,
    otherwise: str = "",
    hints: tuple[str, ...] = (),
) -> Callable[[Use], Use]:
    """Register the check of a part; the decorated function says how it is used.

    Parameters
    ----------
    name : str
        The part.
    praise : str
        What was verified, said to a right part.
    cases : callable
        Yields what the part is tried on.
    slips : str
        Edits of the book's own function, each with its sentence.
    kind : Array, optional
        What comes back; one array if None.
    otherwise : str
        Said to a part that is wrong in no way that is known.
    hints : tuple of str
        From a nudge to nearly the answer, for a part of many lines.
    """

    def register(use: Use) -> Use:
        right = Used(book_module(), name, use)
        mutants = {
            sentence: Used(_with_edits(name, edits), name, use)
            for edits, sentence in entries(slips, name)
        }
        table = Table(right, cases, mutants, kind or Array(), otherwise, integers=False)
        test = partial(check_by_table, table)
        CHECKS[name] = Exercise(name, test, praise, hints, mutants, table)
        return use

    return register


def _with_edits(name: str, edits: list[str]) -> ModuleType:
    """Return the book's module with edits made in one of its functions."""
    module = book_module()
    header, body = source(inspect.unwrap(getattr(module, name)))
    text = f"{header}\n{textwrap.indent(edited(body, edits, f'{name}, {edits}'), '    ')}\n"
    exec(compile(text, f"<{name}, edited>", "exec", dont_inherit=True), module.__dict__)
    return module


@cache
def checks() -> dict[str, Exercise]:
    """Return the checks of all parts by name, in the order of the book's file."""
    from tformer_book.own import (  # noqa: F401  (they register)
        checks_attention,
        checks_generation,
        checks_layers,
        checks_model,
        checks_parameters,
        checks_training,
    )

    return {name: CHECKS[name] for name in of_the_book()}


def find_check(name: str) -> Exercise:
    """Return the check of a part.

    Raises
    ------
    CheckFailed
        There is no such part.
    """
    if name not in checks():
        raise CheckFailed(f"There is no part {name}. The parts are {', '.join(checks())}.")
    return checks()[name]


def judge(path: Path | str, name: str, seconds: float = 20.0) -> tuple[bool, str]:
    """Check one part of a file, with the book's parts around it.

    Parameters
    ----------
    path : Path or str
        The file, which is run anew.
    name : str
        The part.
    seconds : float
        Time limit of one call, in seconds of computing.

    Returns
    -------
    Whether it is right, and the praise or what is wrong first.

    Raises
    ------
    CheckFailed
        There is no such part, or the file does not have it yet.
    """
    entry = find_check(name)
    path = Path(path)
    try:
        if name not in defined_in(path):
            raise CheckFailed(f"{path.name} has no {name} yet; the book lends it.")
        module = load(path, mine=[name])
    except SyntaxError as error:
        where = f"{path.name}, line {error.lineno}"
        return False, f"{where}: {error.msg}. Python cannot read the file (at `{error.text}`)."
    except Unfit as error:
        return False, str(error)
    except Exception as error:  # whatever the top level of a file can raise
        line = own_line(error, str(path))
        return False, f"{path.name} stops with {type(error).__name__}: {error} (at `{line}`)."
    use = entry.table.right.use  # type: ignore[union-attr]
    correct, text = verdict(entry, Used(module, name, use), seconds)
    return bool(correct), text
