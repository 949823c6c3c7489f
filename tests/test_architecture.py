"""The rooms and arrows of ARCHITECTURE.md are those of the code."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

from every import every

ROOT = Path(__file__).resolve().parents[1]
LIB = ROOT / "lib"
ROW = re.compile(r"^\| (`[^|]+`) \| [^|]+ \| ([^|]*)\|$", re.MULTILINE)
NAME = re.compile(r"`([^`]+)`")
INSIDE = "|".join(path.parent.name for path in LIB.glob("tformer_book/pipeline/*/__init__.py"))
WING = r"tformer(?:_book|_course)?"
TARGET = re.compile(rf"{WING}(?:\.(chapters\.ch\d\d|pipeline\.(?:{INSIDE})\b|\w+))?")


def module(room: str) -> str:
    """The module of a room, as code names it without its package: `pipeline.site`."""
    return re.sub(rf"^lib/{WING}/|/$|\.py$", "", room).replace("/", ".")


ROOMS = {
    room: {*map(module, NAME.findall(allowed)), *map(module, NAME.findall(rooms))}
    | ({"anything"} if "anything" in allowed else set())
    for rooms, allowed in ROW.findall((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8"))
    for room in NAME.findall(rooms)
}
"""What each room may import: its own row, and what the last column names."""


def room_of(path: Path) -> str:
    """The row of the table that a file of the library belongs to."""
    wing, *inside = path.relative_to(LIB).parts
    if wing == "tformer_course":
        return "lib/tformer_course/"
    if re.fullmatch(r"ch\d\d", inside[-2] if len(inside) > 1 else ""):
        return "lib/tformer_book/chapters/chNN/"
    depth = 2 if inside[0] in ("pipeline", "pretrained") and len(inside) > 2 else 1
    return f"lib/{wing}/{'/'.join(inside[:depth])}{'/' if len(inside) > depth else ''}"


def imported(code: str) -> set[str]:
    """The modules of ours that some code imports, as `tformer.reference.softmax`."""
    found = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if re.fullmatch(WING, name.partition(".")[0])}


def wrong_way(path: Path, name: str) -> bool:
    """Whether an import goes from a package to one that stands on it."""
    order = ["tformer", "tformer_book", "tformer_course"]
    return order.index(name.partition(".")[0]) > order.index(path.relative_to(LIB).parts[0])


def faults(path: Path, code: str) -> list[str]:
    """What a file imports that its room may not."""
    may = ROOMS[room_of(path)] | {f"chapters.{path.parent.name}"}
    if path.parent.name == "fast" and path.name != "twins.py":
        may -= {"reference"}
    found = []
    for name in sorted(imported(code)):
        package, target = name.partition(".")[0], TARGET.match(name)
        room = package if package == "tformer_course" else target and target[1]
        if wrong_way(path, name) or (room and not {room, "anything"} & may):
            found.append(name)
    return found


MODULES = sorted(LIB.rglob("*.py"))


@every("path", MODULES)
def test_module_imports_what_its_room_may(path: Path) -> None:
    if path.parent.parent == LIB and path.name == "__init__.py":
        assert imported(path.read_text(encoding="utf-8")) == set()
        return
    assert room_of(path) in ROOMS, "this room has no row in ARCHITECTURE.md"
    assert faults(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("tformer/reference/softmax.py", "from tformer import fast"),
        ("tformer/reference/softmax.py", "from tformer_book.claims import verify"),
        ("tformer/fast/softmax.py", "from tformer import reference"),
        ("tformer/fast/softmax.py", "def f():\n    import tformer.reference.softmax"),
        (
            "tformer_book/claims/tools.py",
            "from tformer_book.chapters.ch01.claims import dot_by_hand",
        ),
        ("tformer_book/chapters/ch03/claims.py", "from tformer_book.chapters.ch02 import claims"),
        ("tformer_book/chapters/ch03/claims.py", "from tformer_book.pipeline import lint"),
        ("tformer_book/figures/style.py", "from tformer import reference"),
        ("tformer/shapes.py", "from tformer import reference"),
        ("tformer/models/files.py", "from tformer_book import figures"),
        ("tformer_book/claims/tools.py", "import tformer_course"),
        ("tformer_book/pipeline/run.py", "from tformer_course.judge import judge"),
        ("tformer_book/pipeline/notebook/myst.py", "from tformer_book.pipeline.site import page"),
        (
            "tformer_book/pipeline/rules/lint.py",
            "from tformer_book.pipeline.site.page import prepare_page",
        ),
        (
            "tformer_book/pipeline/site/seals.py",
            "from tformer_book.pipeline.generators import ledger",
        ),
        ("tformer_course/write.py", "from tformer_book.pipeline.rules.lint import lint"),
    ],
)
def test_arrow_that_is_not_in_the_table_is_found(place: str, code: str) -> None:
    assert faults(LIB / place, code) != []


@pytest.mark.parametrize(
    ("place", "code"),
    [
        ("tformer/shapes.py", "from tformer.axes import LEGEND"),
        ("tformer/fast/twins.py", "from tformer import reference"),
        ("tformer_book/claims/registry.py", "from tformer_book.chapters import load"),
        (
            "tformer_book/chapters/ch03/claims.py",
            "from tformer_book.chapters.ch03 import retrieval",
        ),
        ("tformer_book/pipeline/__main__.py", "from tformer_book.chapters.ch03 import retrieval"),
        ("tformer_book/pipeline/rules/lint.py", "from tformer_book.pipeline.notebook import myst"),
        ("tformer_book/pipeline/site/seals.py", "from tformer_book.pipeline import find_root"),
    ],
)
def test_arrow_of_the_table_is_allowed(place: str, code: str) -> None:
    assert faults(LIB / place, code) == []


def test_every_room_stands_and_every_folder_is_a_room() -> None:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    folders = {name.partition("/")[0] + "/" for name in listed if "/" in name} - {"lib/"}
    assert folders <= set(ROOMS)
    for room in ROOMS:
        assert (ROOT / room).exists() or "chNN" in room, f"{room} is in the table and nowhere else"
