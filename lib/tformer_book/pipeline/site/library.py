"""What is public in `tformer`, and the examples of it: what the pages of the library show.

A page of the library, `api/*.md`, names modules in its directive `{library}`. Public are the
functions and classes in the `__all__` of a module, and in that of its package if that has one.
Examples stand in `library_examples/`, one file a page, as doctest takes them.
"""

import ast
import doctest
import inspect
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

from tformer import fast, reference
from tformer_book.pipeline.notebook.numbering import pages, title

FOLDER = "api/"
DIRECTIVE = re.compile(r"^:::\{library\} *(.*)$", re.MULTILINE)
HEADING = re.compile(r"^# (\w+)( \(needs the pretrained model\))?\n", re.MULTILINE)
MODEL = " (needs the pretrained model)"
EQUATION = re.compile(r"\beq-[\w-]*\w")


@dataclass(frozen=True)
class Entry:
    """A public function or class.

    Attributes
    ----------
    path : str
        By which it is imported: tformer.reference.softmax. It is also the anchor on its page.
    thing : function or class
    """

    path: str
    thing: Any

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rpartition(".")[2]

    @property
    def equation(self) -> str | None:
        """The label of the equation that it is."""
        if self.path != f"tformer.reference.{self.name}":
            return None
        found = EQUATION.search(self.thing.__doc__ or "")
        return found[0] if found else None

    @property
    def twin(self) -> "Entry | None":
        """The function of the same name in PyTorch, if it is one of NumPy."""
        if self.path != f"tformer.reference.{self.name}":
            return None
        return Entry(f"tformer.fast.{self.name}", getattr(fast, self.name))


@dataclass(frozen=True)
class Page:
    """A page of the library: the name of its file, its title, and the modules that it shows."""

    docname: str
    title: str
    modules: tuple[str, ...]

    @property
    def stem(self) -> str:
        """The name of its file, which is that of its examples."""
        return self.docname.removeprefix(FOLDER)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is public in its modules, in the order of their source."""
        return tuple(entry for module in self.modules for entry in public(module))


@cache
def library(root: Path) -> tuple[Page, ...]:
    """The pages of the library, in the order of the table of contents; the index is none."""
    found = []
    for docname in pages(root):
        if docname.startswith(FOLDER):
            text = (root / f"{docname}.md").read_text(encoding="utf-8")
            if modules := DIRECTIVE.search(text):
                found.append(Page(docname, title(text), tuple(modules[1].split())))
    return tuple(found)


@cache
def places(root: Path) -> dict[str, tuple[str, str]]:
    """Page and anchor of each public thing, by its name, and by its path with or without tformer.

    Of two of one name, the name alone leads to the first.
    """
    found: dict[str, tuple[str, str]] = {}
    for page in library(root):
        for entry in page.entries:
            for each in filter(None, (entry, entry.twin)):
                for name in (each.path, each.path.removeprefix("tformer."), each.name):
                    found.setdefault(name, (page.docname, each.path))
    return found


@cache
def public(module: str) -> tuple[Entry, ...]:
    """The public functions and classes of a module of `tformer`, in the order of its source."""
    there = import_module(f"tformer.{module}")
    package = import_module(f"tformer.{module.partition('.')[0]}")
    offered = set(getattr(package, "__all__", there.__all__))
    home = package if hasattr(package, "__all__") else there
    if package is fast:
        offered -= set(reference.__all__)
    found = [(name, getattr(there, name)) for name in there.__all__ if name in offered]
    made = [Entry(f"{home.__name__}.{n}", x) for n, x in found if inspect.isroutine(x) or _kind(x)]
    return tuple(sorted(made, key=_where))


def _kind(thing: Any) -> bool:
    return isinstance(thing, type) and thing.__module__.startswith("tformer")


def _where(entry: Entry) -> tuple[str, int]:
    thing = inspect.unwrap(entry.thing)
    return inspect.getsourcefile(thing) or "", inspect.getsourcelines(thing)[1]


@cache
def source(thing: Any) -> tuple[str, str, int, int]:
    """The source of a function or class without its docstring; its file, first and last line."""
    lines, first = inspect.getsourcelines(inspect.unwrap(thing))
    code = textwrap.dedent("".join(lines))
    [node] = ast.parse(code).body
    file = inspect.getsourcefile(inspect.unwrap(thing)) or ""
    file = f"lib/tformer/{file.rpartition('/tformer/')[2]}"
    last = first + len(lines) - 1
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
        said = node.body[0]
        kept = code.splitlines()
        kept[said.lineno - 1 : said.end_lineno] = [] if len(node.body) > 1 else ["    ..."]
        code = "\n".join(kept)
    return code.strip(), file, first, last


def helpers(thing: Any) -> str:
    """The source of what a function calls of its own module and nobody else may."""
    thing = inspect.unwrap(thing)
    found: dict[str, Any] = {}
    waiting = [] if isinstance(thing, type) else [thing]
    while waiting:
        for name in waiting.pop().__code__.co_names:
            one = thing.__globals__.get(name)
            if name.startswith("_") and inspect.isfunction(one) and name not in found:
                found[name] = one
                waiting.append(one)
    ordered = sorted(found.values(), key=lambda one: one.__code__.co_firstlineno)
    return "\n\n\n".join(inspect.getsource(one).strip() for one in ordered)


@dataclass(frozen=True)
class Examples:
    """The examples of a page.

    Attributes
    ----------
    before : str
        What all of them begin with: imports, and how numbers are printed.
    by_name : dict
        The text of each, by the name of the function or class.
    with_model : frozenset
        The names of those that need the pretrained model.
    """

    before: str
    by_name: dict[str, str]
    with_model: frozenset[str]


@cache
def examples(stem: str) -> Examples:
    """The examples of a page, as its file has them.

    Raises
    ------
    FileNotFoundError
        If it has none.
    ValueError
        If there are two of one name.
    """
    file = files("tformer_book.pipeline.site") / "library_examples" / f"{stem}.txt"
    before, *rest = HEADING.split(file.read_text(encoding="utf-8"))
    names, models, texts = rest[::3], rest[1::3], rest[2::3]
    if len(names) != len(set(names)):
        raise ValueError(f"{file.name}: two examples of one name")
    found = dict(zip(names, (text.strip() for text in texts), strict=True))
    needing = (name for name, model in zip(names, models, strict=True) if model)
    return Examples(before.strip(), found, frozenset(needing))


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """The parts of an example between empty lines, in turn: "code" or "words", and the text."""
    for part in re.split(r"\n\s*\n", text.strip()):
        yield ("code" if part.startswith(">>>") else "words"), part


def run(before: str, text: str, name: str = "example") -> str:
    """Run an example as doctest does: the report of what it prints and should not, or nothing."""
    import numpy as np

    report: list[str] = []
    parsed = doctest.DocTestParser().get_doctest(f"{before}\n\n{text}\n", {}, name, None, None)
    with np.printoptions():
        doctest.DocTestRunner(verbose=False).run(parsed, out=report.append)
    return "".join(report)
