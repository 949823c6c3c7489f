"""A notebook that was handed in: which of its cells an answer needs, and what each check says."""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from nbformat import NotebookNode

from tformer_book.exercises.answer import CALL_SECONDS
from tformer_book.exercises.registry import Exercise, find
from tformer_course.judge import Verdict, judge
from tformer_course.remote import Sandbox

CHECK = re.compile(r'^check\("(\d+\.\d+)", (\w+)\)$', re.MULTILINE)
MAGIC = re.compile(r"^[ \t]*[%!?].*$|^.*\?[ \t]*$", re.MULTILINE)
EVERYTHING = "*"
NOT_OURS = "This cell is no check of the book, so it was not judged. Mark it by hand."


@dataclass(frozen=True)
class Cell:
    """A code cell.

    Attributes
    ----------
    place : str
        What it is called in messages.
    source : str
        Its code, without what only a notebook understands.
    owner : str
        The exercise whose answer it is, such as "4-7"; empty for any other cell.
    makes : frozenset of str
        The names that it gives a value, ``*`` if it cannot be told which.
    uses : frozenset of str
        The names that it takes from elsewhere.
    """

    place: str
    source: str
    owner: str
    makes: frozenset[str]
    uses: frozenset[str]


def cell(place: str, source: str, owner: str = "") -> Cell:
    """Read a code cell; one that is no Python makes and uses nothing."""
    try:
        ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        source = MAGIC.sub("", source)
    try:
        table = symtable.symtable(source, place, "exec")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Cell(place, source, owner, frozenset(), frozenset())
    own = table.get_symbols()
    makes = {s.get_name() for s in own if s.is_assigned() or s.is_imported()}
    uses = {s.get_name() for s in own if s.is_referenced()}
    for inner in _inside(table):
        symbols = [s for s in inner.get_symbols() if s.is_global()]
        uses |= {s.get_name() for s in symbols}
        makes |= {s.get_name() for s in symbols if s.is_assigned()}
    if re.search(r"^[ \t]*from[ \t]+\S+[ \t]+import[ \t]+\*", source, re.MULTILINE):
        makes.add(EVERYTHING)
    return Cell(place, source, owner, frozenset(makes), frozenset(uses))


def _inside(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _inside(child)


def needed(cells: list[Cell], name: str, owner: str) -> list[Cell]:
    """Return the cells that a name needs, in order.

    A name is taken from the exercise's own cell and from those of no exercise; only a name that
    none of these makes is taken from the answer to another exercise. So what one answer does to
    its surroundings stays with it.
    """
    near = [c for c in cells if c.owner in ("", owner)]
    far = [c for c in cells if c.owner not in ("", owner)]
    wanted, chosen, open_names = set[str](), set[str](), {name, EVERYTHING}
    while open_names:
        wanted |= open_names
        found = []
        for one in open_names:
            found += [c for c in near if one in c.makes] or [c for c in far if one in c.makes]
        chosen |= {c.place for c in found}
        open_names = {one for c in found for one in c.uses} - wanted
    return [c for c in cells if c.place in chosen or c.owner == owner]


def graded(notebook: NotebookNode) -> list[NotebookNode]:
    """Return the cells of a notebook that bear marks, in order."""
    return [node for node in notebook.cells if _about(node).get("grade")]


def verdicts(
    notebook: NotebookNode, sandbox: Sandbox, seconds: float = CALL_SECONDS
) -> Iterator[tuple[NotebookNode, Verdict]]:
    """Yield each graded cell of a notebook with what is to be said of it.

    An answer is judged as *Run All* would have it: by the cells above its check. Where none of
    these makes the function, those below are asked; where a name is missing, all above are run.
    """
    cells: list[Cell] = []
    above = {}
    for place, node in enumerate(notebook.cells):
        about = _about(node)
        if about.get("grade"):
            above[place] = len(cells)
        elif node.cell_type == "code":
            owner = str(about.get("grade_id", "")).removeprefix("solution-")
            cells.append(cell(f"<cell {place + 1}>", node.source, owner))
    for place, count in above.items():
        node = notebook.cells[place]
        yield node, _verdict(node, cells, count, sandbox, seconds)


def asked(node: NotebookNode) -> tuple[Exercise | None, str]:
    """Return the exercise that a graded cell checks, None if it is none of ours, and a name."""
    found = CHECK.search(node.source)
    return (find(found[1]), found[2]) if found else (None, "")


def _about(node: NotebookNode) -> dict[str, Any]:
    return dict(node.metadata.get("nbgrader", {}))


def _verdict(
    node: NotebookNode, cells: list[Cell], count: int, sandbox: Sandbox, seconds: float
) -> Verdict:
    entry, name = asked(node)
    if not entry:
        return Verdict(False, NOT_OURS)
    owner = entry.number.replace(".", "-")
    ways = [needed(cells[:count], name, owner), cells[:count]]
    if not any(name in c.makes for c in ways[0]):
        ways.insert(0, needed(cells, name, owner))
    for way in [way for place, way in enumerate(ways) if way not in ways[:place]]:
        first = judge(entry, sandbox, [(c.place, c.source) for c in way], name, seconds)
        if not first.unnamed:
            break
    return first
