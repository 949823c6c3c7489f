"""The rooms and arrows of ARCHITECTURE.md are those of the code."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from every import every

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = ROOT / "lib" / "tformer"
ROW = re.compile(r"^\| (`[^|]+`) \| [^|]+ \| ([^|]*)\|$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")
INSIDE = "|".join(path.parent.name for path in (LIBRARY / "book").glob("*/__init__.py"))
TARGET = re.compile(rf"tformer\.(chapters\.ch\d\d|book\.(?:{INSIDE})\b|\w+)")


def module(room: str) -> str:
    """The module of a room of the library, as code names it: `book.site`."""
    return re.sub(r"^lib/tformer/|/$|\.py$", "", room).replace("/", ".")


ROOMS = {
    room: {*map(module, NAME.findall(allowed)), *map(module, NAME.findall(rooms))}
    | ({"anything"} if "anything" in allowed else set())
    for rooms, allowed in ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    for room in NAME.findall(rooms)
}
"""What each room may import: its own row, and what the last column names."""


def room_of(path: Path) -> str:
    """The row of the table that a file of the library belongs to."""
    place = path.relative_to(ROOT).as_posix()
    if re.match(r"lib/tformer/chapters/ch\d\d/", place):
        return "lib/tformer/chapters/chNN/"
    inside = path.relative_to(LIBRARY).parts
    depth = 2 if inside[0] == "book" and len(inside) > 2 else 1
    return f"lib/tformer/{'/'.join(inside[:depth])}{'/' if len(inside) > depth else ''}"


def imported(code: str) -> set[str]:
    """The modules of ours that some code imports, as `tformer.reference.softmax`."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "tformer"}


def faults(path: Path, code: str) -> list[str]:
    """What a file imports that its room may not."""
    may = ROOMS[room_of(path)] | {f"chapters.{path.parent.name}"}
    if path.parent.name == "fast" and path != LIBRARY / "fast" / "twins.py":
        may -= {"reference"}
    targets = {name: TARGET.match(name) for name in sorted(imported(code))}
    return [x for x, found in targets.items() if found and not {found[1], "anything"} & may]


MODULES = sorted(LIBRARY.rglob("*.py"))


@every("path", MODULES)
def test_module_imports_what_its_room_may(path: Path) -> None:
    if path == LIBRARY / "__init__.py":
        assert imported(path.read_text(encoding="utf-8")) == set()
        return
    assert room_of(path) in ROOMS, "this room has no row in ARCHITECTURE.md"
    assert faults(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("reference/softmax.py", "from tformer import fast"),
        ("reference/softmax.py", "from tformer.claims import verify"),
        ("fast/softmax.py", "from tformer import reference"),
        ("fast/softmax.py", "def f():\n    import tformer.reference.softmax"),
        ("claims/tools.py", "from tformer.chapters.ch01.claims import dot_by_hand"),
        ("chapters/ch03/claims.py", "from tformer.chapters.ch02 import claims"),
        ("chapters/ch03/claims.py", "from tformer.book import lint"),
        ("figures/style.py", "from tformer import reference"),
        ("shapes.py", "from tformer import reference"),
        ("book/notebook/myst.py", "from tformer.book.site import page"),
        ("book/rules/lint.py", "from tformer.book.site.page import prepare_page"),
        ("book/site/seals.py", "from tformer.book.generators import ledger"),
        ("course/write.py", "from tformer.book.rules.lint import lint"),
    ],
)
def test_arrow_that_is_not_in_the_table_is_found(place: str, code: str) -> None:
    assert faults(LIBRARY / place, code) != []


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("shapes.py", "from tformer.axes import LEGEND"),
        ("fast/twins.py", "from tformer import reference"),
        ("claims/registry.py", "from tformer.chapters import load"),
        ("chapters/ch03/claims.py", "from tformer.chapters.ch03 import retrieval"),
        ("book/__main__.py", "from tformer.chapters.ch03 import retrieval"),
        ("book/rules/lint.py", "from tformer.book.notebook import myst"),
        ("book/site/seals.py", "from tformer.book import find_root"),
    ],
)
def test_arrow_of_the_table_is_allowed(place: str, code: str) -> None:
    assert faults(LIBRARY / place, code) == []


def test_every_room_stands_and_every_folder_is_a_room() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    folders = {name.partition("/")[0] + "/" for name in listed if "/" in name} - {"lib/"}
    assert folders <= set(ROOMS)
    for room in ROOMS:
        assert (ROOT / room).exists() or "chNN" in room, f"{room} is in the table and nowhere else"
