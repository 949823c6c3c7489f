"""Make the exercise notebooks from their one source, a percent script with solutions.

From ``exercises/solutions/NN_name.py`` come two notebooks. ``exercises/NN_name.ipynb`` is the
student's: solutions cleared by nbgrader, checks locked and graded. ``exercises/solutions/NN_name``
is the book's: solutions filled in and folded away. A cell marked ``exercise="book"`` or
``exercise="why"`` in the source appears in the book only. Where an exercise takes functions of the
reader's own transformer, both say how; what nbgrader is given for a course does not.
"""

import copy
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jupytext
import nbformat
from nbformat import NotebookNode

from tformer_book.pipeline.notebook.normalise import dump, load, normalise

LABEL = re.compile(r"^:label: ex-(\d+)-(\d+)$", re.MULTILINE)
CHECK = re.compile(r"^check\(\"(\d+)\.(\d+)\"", re.MULTILINE)
MARK = re.compile(r"^ *### (?:BEGIN|END) SOLUTION\n?", re.MULTILINE)
HOW_FAR = """## How far you are

The next cell gathers what each check said last. It reads this notebook as it was last saved, so
it knows what you did yesterday too."""
PROGRESS = """from tformer_book.exercises import progress

progress()"""
OWN = """

**Part of your transformer.** Your file from {page} can answer too:

```python
from tformer_book.own import mine

check("{number}", {answer})
```"""
PAGE = "{doc}`Your own transformer <../../chapters/00_your_transformer>`"
ACCEPTED = Path(__file__).parents[2] / "own/accepted.toml"
"""What is handed to `check` from a reader's own file, by exercise."""
FOLD = {
    "tags": ["hide-input"],
    "mystnb": {"code_prompt_show": "Show solution", "code_prompt_hide": "Hide solution"},
}


@dataclass
class Cell:
    """A cell of the source and what it is for.

    Attributes
    ----------
    node : NotebookNode
        The cell, with an id made from the exercise and the role.
    role : str
        One of text, code, book, why, statement, solution, check.
    number : str
        The exercise it belongs to, such as "1-2"; empty before the first.
    """

    node: NotebookNode
    role: str
    number: str


def sources(root: Path) -> list[Path]:
    """The sources of exercises in the book at `root`, in order."""
    return sorted((root / "exercises" / "solutions").glob("[0-9]*.py"))


def read(path: Path) -> list[Cell]:
    """The cells of a source, in order."""
    cells: list[Cell] = []
    number = ""
    for node in jupytext.read(path, fmt="py:percent").cells:
        label = LABEL.search(node.source)
        number = "-".join(label.groups()) if label else number
        role = _role(node, bool(label))
        cells.append(Cell(node, role, number))
        name = f"ex-{number}-{role}" if number else f"ex-{path.name[:2]}-{role}"
        same = sum(other.node.id.startswith(name) for other in cells[:-1])
        node.id = f"{name}-{same + 1}" if same else name
        node.metadata.clear()
    return cells


def _role(node: NotebookNode, states: bool) -> str:
    if "exercise" in node.metadata:
        return str(node.metadata["exercise"])
    if states:
        return "statement"
    if "### BEGIN SOLUTION" in node.source:
        return "solution"
    if CHECK.search(node.source):
        return "check"
    return "text" if node.cell_type == "markdown" else "code"


def solved(path: Path) -> NotebookNode:
    """The book's notebook: solutions filled in and folded, not run yet."""
    cells = _with_own(read(path), PAGE)
    for cell in cells:
        if cell.role == "solution":
            cell.node.source = MARK.sub("", cell.node.source)
            cell.node.metadata.update(copy.deepcopy(FOLD))
        if cell.role == "why":
            cell.node.source = f":::{{dropdown}} Why it works\n{cell.node.source}\n:::"
    return _notebook([cell.node for cell in cells])


def _with_own(cells: list[Cell], page: str) -> list[Cell]:
    """Say below each exercise that takes functions of the file of `page` how to hand them over."""
    accepted = tomllib.loads(ACCEPTED.read_text(encoding="utf-8"))
    for cell in cells:
        number = cell.number.replace("-", ".")
        if cell.role == "statement" and number in accepted:
            cell.node.source += OWN.format(page=page, number=number, answer=accepted[number])
    return cells


def instructor(path: Path) -> NotebookNode:
    """What nbgrader calls the source of an assignment: solutions between marks, graded checks."""
    return _assignment(path, read(path))


def _assignment(path: Path, cells: list[Cell]) -> NotebookNode:
    cells = [cell for cell in cells if cell.role not in ("book", "why")]
    points = {c.number: c.node.source.count("★") for c in cells if c.role == "statement"}
    for cell in cells:
        if cell.role in ("solution", "check"):
            cell.node.metadata["tags"] = ["raises-exception"]  # JupyterLab's Run All goes on
            graded = cell.role == "check"
            cell.node.metadata["nbgrader"] = {
                "grade": graded,
                "grade_id": f"{cell.role}-{cell.number}",
                "locked": graded,
                "schema_version": 3,
                "solution": not graded,
                "task": False,
            } | ({"points": points[cell.number]} if graded else {})
    return _notebook([cell.node for cell in cells] + _how_far(path.name[:2]))


def _how_far(chapter: str) -> list[NotebookNode]:
    text = nbformat.v4.new_markdown_cell(HOW_FAR, id=f"ex-{chapter}-how-far")
    code = nbformat.v4.new_code_cell(PROGRESS, id=f"ex-{chapter}-progress")
    return [text, code]


def student(path: Path) -> NotebookNode:
    """The student's notebook: what nbgrader makes of the instructor's."""
    from nbgrader.preprocessors import (
        CheckCellMetadata,
        ClearSolutions,
        ComputeChecksums,
        LockCells,
    )

    notebook = _assignment(path, _with_own(read(path), "*Your own transformer*"))
    for preprocessor in (LockCells, ClearSolutions, CheckCellMetadata, ComputeChecksums):
        notebook, _ = preprocessor().preprocess(notebook, {})
    return notebook


def _notebook(cells: list[NotebookNode]) -> NotebookNode:
    return normalise(NotebookNode(nbformat=4, nbformat_minor=5, metadata={}, cells=cells))


def generate(root: Path) -> list[Path]:
    """Write both notebooks of every source; return those that changed.

    The outputs of a solved notebook stay as long as none of its cells has changed.
    """
    changed = []
    for path in sources(root):
        name = path.with_suffix(".ipynb").name
        for target, make in (
            (root / "exercises" / name, student),
            (root / "exercises" / "solutions" / name, solved),
        ):
            if _write(target, make, path):
                changed.append(target)
    return changed


def _write(target: Path, make: Callable[[Path], NotebookNode], path: Path) -> bool:
    notebook = make(path)
    if target.exists() and without_outputs(load(target)) == without_outputs(notebook):
        return False
    target.write_text(dump(notebook), encoding="utf-8", newline="\n")
    return True


def without_outputs(notebook: NotebookNode) -> str:
    """The text of a notebook as if it had never been run."""
    bare = copy.deepcopy(notebook)
    for cell in bare.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return dump(bare)
