"""What was handed in, made into a notebook that can be graded, whatever it was before.

The cells that nbgrader knows come from the notebook that was handed out; of a submission count the
text of its cells and the names of its answers' cells. What is missing or double is said at the top.
"""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

from nbformat import NotebookNode, reads, writes
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tformer_course.bounded import bounded
from tformer_course.notebook import CHECK

LARGEST = 200 << 20  # bytes, pictures among its outputs
CELLS, TEXT = 1000, 1 << 20  # cells, and characters in all of them
SECONDS = 20.0  # to read a file
NOTE = "about-this-submission"
INSTEAD = "Nothing could be read from it; below stands the notebook as it was handed out."
FOUND = "Its cells had lost their names; they were found by what they define and check."
ASKS = ("#", "check(", "hint(")
ID = re.compile(r"(check|solution)-(\d+)-(\d+)")


def read(path: Path, released: NotebookNode) -> NotebookNode:
    """Return the notebook to grade, read within limits.

    Parameters
    ----------
    path : Path
        The file that was handed in; it need not be there.
    released : NotebookNode
        The notebook that was handed out.
    """
    if not path.is_file():
        return _unread("There is no notebook in what was handed in.", released)
    if path.stat().st_size > LARGEST:
        return _unread(f"The file that was handed in is larger than {LARGEST >> 20} MB.", released)
    told = bounded(lambda tell: tell(read=writes(mend(path.read_bytes(), released))), SECONDS)
    if "read" not in told:
        return _unread(
            "The file that was handed in cannot be read within the limits of time and memory.",
            released,
        )
    return reads(told["read"], as_version=4)


def unread(notebook: NotebookNode) -> bool:
    """Whether nothing of what was handed in could be read into this notebook."""
    return bool(notebook.metadata.get(NOTE))


def mend(data: bytes, released: NotebookNode) -> NotebookNode:
    """Return the notebook to grade, from the bytes that were handed in."""
    try:
        found, left_out = _cells(data)
    except ValueError as error:
        return _unread(str(error), released)
    known = {grade_id: cell for cell in released.cells if (grade_id := _id(cell))}
    named = _named(found, known)
    cells, double = _known(found, known)
    notes = left_out + [FOUND] * named + double
    ours = {_id(cell) for cell in cells} & set(known)
    if not ours:
        others = {m[2] for cell in found if (m := ID.fullmatch(_id(cell)))}
        whose = f" They are those of chapter {' and '.join(sorted(others))}." * bool(others)
        notes = left_out + [f"None of the cells that were handed out is in this notebook.{whose}"]
    for grade_id in known:
        if grade_id not in ours:
            notes += _restored(grade_id, known, cells) if ours else []
    if not ours:
        cells += [copy.deepcopy(c) for g, c in known.items() if g.startswith("check")]
    return _made(cells, notes, nothing=not ours)


def _unread(why: str, released: NotebookNode) -> NotebookNode:
    return _made(copy.deepcopy(released.cells), [f"{why} {INSTEAD}"], nothing=True)


def _cells(data: bytes) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the cells of a file and what was left out, or raise ValueError with a sentence."""
    if not data.strip():
        raise ValueError("The file that was handed in is empty.")
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        raise ValueError("The file that was handed in is no notebook.") from None
    if isinstance(whole, dict) and "worksheets" in whole:
        raise ValueError("The notebook is of a format before 4; JupyterLab saves it in a new one.")
    if not isinstance(whole, dict) or not isinstance(whole.get("cells"), list):
        raise ValueError("The file that was handed in is no notebook: it has no cells.")
    cells, left = [], TEXT
    found = [cell for cell in whole["cells"] if isinstance(cell, dict)]
    for cell in found[:CELLS]:
        source = _source(cell)
        if len(source) <= left:
            cells.append(cell | {"source": source})
            left -= len(source)
    much = (
        f"Of a notebook, {CELLS} cells and {TEXT >> 20} MB of text are read; the rest was left out."
    )
    return cells, [much] * (len(cells) < len(found))


def _id(cell: Any) -> str:
    metadata = cell.get("metadata")
    about = metadata.get("nbgrader") if isinstance(metadata, dict) else None
    return str(about.get("grade_id", "")) if isinstance(about, dict) else ""


def _source(cell: dict[str, Any]) -> str:
    source = cell.get("source", "")
    lines = source if isinstance(source, list) else [source]
    text = "".join(line for line in lines if isinstance(line, str))
    return text.encode("utf-8", "replace").decode()  # half a character cannot be written again


def _named(found: list[dict[str, Any]], known: dict[str, NotebookNode]) -> bool:
    """Give cells without metadata the names of those that were handed out; say if there were any.

    An answer is the last cell that defines the function; a check is a cell that does nothing else.
    """
    there, asked = set(map(_id, found)), {}
    for cell in known.values():
        if call := CHECK.search(cell.source):
            asked[call[1].replace(".", "-")] = call
    before = len(there)
    for cell in reversed(found):
        if cell.get("cell_type") != "code" or _id(cell):
            continue
        source = cell["source"]
        asks = all(not line.strip() or line.startswith(ASKS) for line in source.splitlines())
        for owner, call in asked.items():
            defines = rf"^(async +def|def|class) +{call[2]}\b|^{call[2]} *="
            calls = asks and f'check("{call[1]}"' in source
            for kind, fits in ("solution", re.search(defines, source, re.M)), ("check", calls):
                if fits and (grade_id := f"{kind}-{owner}") not in there and not _id(cell):
                    cell["metadata"] = {"nbgrader": {"grade_id": grade_id}}
                    there.add(grade_id)
    return len(there) > before


def _known(
    found: list[dict[str, Any]], known: dict[str, NotebookNode]
) -> tuple[list[NotebookNode], list[str]]:
    """Return the cells that were handed in as our own, and what is double. The last one counts."""
    cells, notes = [], []
    left = Counter(_id(cell) for cell in found)
    for grade_id, times in left.items():
        if times > 1 and grade_id in known:
            notes.append(f"The {_words(grade_id)} is there {times} times; the last one counts.")
    for cell in found:
        grade_id, source = _id(cell), cell["source"]
        left[grade_id] -= 1
        if grade_id in known and not left[grade_id]:
            ours = copy.deepcopy(known[grade_id])
            if ours.metadata.nbgrader.solution:
                ours.source = source
            cells.append(ours)
        elif cell.get("cell_type") == "code":
            cells.append(new_code_cell(source))
        else:
            cells.append(new_markdown_cell(source))
    return cells, notes


def _restored(
    grade_id: str, known: dict[str, NotebookNode], cells: list[NotebookNode]
) -> list[str]:
    """Put a check back that is missing, below its answer if that is there; say what is missing."""
    if not grade_id.startswith("check"):
        return [f"The {_words(grade_id)} is missing."]
    answer = grade_id.replace("check", "solution")
    places = [place for place, cell in enumerate(cells) if _id(cell) == answer]
    cells.insert(places[-1] + 1 if places else len(cells), copy.deepcopy(known[grade_id]))
    return [f"The {_words(grade_id)} was missing and has been put back."]


def _words(grade_id: str) -> str:
    if not (found := ID.fullmatch(grade_id)):
        return f"cell {grade_id}"
    what = "check" if found[1] == "check" else "cell for the answer"
    return f"{what} of exercise {found[2]}.{found[3]}"


def _made(cells: list[NotebookNode], notes: list[str], nothing: bool) -> NotebookNode:
    if notes:
        cells = [new_markdown_cell("\n\n".join(notes), id=NOTE), *cells]
    notebook = new_notebook(cells=cells)
    for place, cell in enumerate(cells):
        cell.id = cell.id if cell.id == NOTE else f"cell-{place}"
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    if nothing:
        notebook.metadata[NOTE] = "unread"
    return notebook
