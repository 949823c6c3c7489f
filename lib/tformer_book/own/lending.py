"""Lending: a reader's file gets the parts that it lacks, and they call the parts that it has."""

from __future__ import annotations

import ast
import dataclasses
import math
import sys
from collections.abc import Collection
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from tformer_book.own.parts import BOOK, of_the_book

NAME = "my_transformer"
IMPORTED = {
    "math": math,
    "torch": torch,
    "dataclass": dataclasses.dataclass,
    "linear": torch.nn.functional.linear,
}
"""What the parts of the book import, and the reader's file so has as well."""


def lend(namespace: dict[str, Any], names: Collection[str] | None = None) -> None:
    """Put the book's parts into a namespace, compiled there, so that they call what stands there.

    Called as `lend(globals())` at the top of a file: each part that the file defines further down
    takes the place of the one that was lent, for the lent parts too.

    Parameters
    ----------
    namespace : dict
        The globals of a module.
    names : collection of str, optional
        The parts to lend; all if None.
    """
    namespace.update(IMPORTED)
    chosen = of_the_book() if names is None else names
    for name, (node, _) in of_the_book().items():
        if name in chosen:
            code = compile(ast.Module([node], []), str(BOOK), "exec", dont_inherit=True)
            exec(code, namespace)


def load(path: Path | str, mine: Collection[str] | None = None) -> ModuleType:
    """Run a reader's file anew, as a module; what it does not define is lent.

    Parameters
    ----------
    path : Path or str
        The file.
    mine : collection of str, optional
        The parts that shall be the reader's; the book's take the place of the others. By default
        all that the file defines.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    Unfit
        If the file has something that lending cannot go with; the message says what to change.
    """
    path = Path(path)
    source = path.read_text(encoding="utf-8")
    _check_source(source, path)
    module = ModuleType(NAME)
    module.__file__ = str(path)
    sys.modules[NAME] = module  # where a dataclass and pickle look it up
    space = module.__dict__
    lend(space)
    exec(compile(source, str(path), "exec", dont_inherit=True), space)
    _check_names(space, path)
    if mine is not None:
        lend(space, [name for name in of_the_book() if name not in mine])
    return module


class Unfit(ValueError):  # noqa: N818  (a reader reads it)
    """A file that lending cannot go with; the message says which line, and what to change."""


def _check_source(source: str, path: Path) -> None:
    """Refuse defaults that would go on calling a lent part, or keep what a call put into them."""
    for node in ast.parse(source, str(path)).body:
        if not isinstance(node, ast.FunctionDef):
            continue
        defaults = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
        for default in defaults:
            where = f"{path.name}, line {default.lineno}: {node.name} has the default"
            if isinstance(default, ast.Name) and default.id in of_the_book():
                raise Unfit(
                    f"{where} `{default.id}`. Python fixes a default when it reads this line, so "
                    f"`{default.id}`, if it is written elsewhere, is never called. "
                    f"Write `=None`, and in the body `(… or {default.id})(…)`."
                )
            if isinstance(default, ast.List | ast.Dict | ast.Set):
                raise Unfit(
                    f"{where} `{ast.unparse(default)}`, which all calls share: what one call puts "
                    "into it the next one finds. Write `=None`, and make a new one in the body."
                )


def _check_names(space: dict[str, Any], path: Path) -> None:
    """Refuse a file that has given the name of a part, or of an import, to something else."""
    for name, value in IMPORTED.items():
        if space[name] is not value:
            raise Unfit(
                f"{path.name}: `{name}` is now {_kind(space[name])}. The lent parts need it as "
                "what the first lines import. Give yours another name."
            )
    for name in of_the_book():
        if not callable(space[name]):
            raise Unfit(
                f"{path.name}: `{name}` is now {_kind(space[name])}, and should be a function. "
                "Give that value another name."
            )


def _kind(value: Any) -> str:
    return f"a value of type {type(value).__name__}"
