"""A student's desk: a folder with the chapters and the exercises, the student's to change.

What a student writes there is never overwritten. A file is written anew only when the book has
changed it. Where the student has changed it too, the student's is kept beside the new one, and what
was done in an exercise notebook is carried over into the new one, cell by cell: answers, cells of
the student's own, and outputs, which tell `progress()` what is done.
"""

import copy
import json
import os
import shutil
from collections.abc import Mapping
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from ipykernel.ipkernel import IPythonKernel
from jupyter_client.kernelspec import KernelSpecManager
from nbformat import NotebookNode

from tformer_book.pipeline.lab.edition import Book, edition, written_out
from tformer_book.pipeline.notebook.normalise import dump, load, parse

FOLDER = "lab"
RECORD = ".written.json"
Cells = Mapping[str, str]
"""What is known of the cells of a notebook: a digest of the source by the id."""


class Written(NamedTuple):
    """A file that was written, and where the student's own was kept, if it was changed."""

    path: Path
    kept: Path | None = None


def write(root: Path, folder: Path | None = None) -> list[Written]:
    """Write the desk, or what the book has changed of it; return what was written.

    Parameters
    ----------
    root : Path
        The folder of the book.
    folder : Path, optional
        The desk; `lab` in the book if None.

    Raises
    ------
    FileExistsError
        If the folder holds other things than a desk.
    """
    from tformer_book.own.parts import BEGIN, FILE  # here, since it loads torch

    folder = folder or root / FOLDER
    before = _record(folder)
    now, written = {}, []
    for name, text in files(Book(root)).items():
        now[name] = {"book": _digest(text), "cells": _cells(name, text)}
        was = before.get(name, {})
        if not (folder / name).exists() or was.get("book") != now[name]["book"]:
            written.append(_put(text, folder / name, was.get("cells", {})))
    if not (folder / FILE).exists():  # the reader's from the first moment on
        written.append(_put(BEGIN.read_text(encoding="utf-8"), folder / FILE, {}))
    for name in before.keys() - now.keys():
        _clear(folder / name, before[name].get("cells", {}))
    _replace(folder / RECORD, json.dumps(now, indent=1) + "\n")
    return written


def _record(folder: Path) -> dict[str, dict[str, Any]]:
    """What was written here before; a folder that is something else is refused."""
    try:
        return dict(json.loads((folder / RECORD).read_text(encoding="utf-8")))
    except (FileNotFoundError, NotADirectoryError):
        if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
            return {}
        raise FileExistsError(
            f"{folder} is no desk of this book and holds other things; nothing was changed. "
            "Name a folder that is empty or new"
        ) from None
    except ValueError:
        return {}  # damaged: then all that is there is taken for the student's


def files(book: Book) -> dict[str, str]:
    """The texts of the files of the desk, by their place on it."""
    made = {book.place(page): dump(edition(book, page)) for page in book.notebooks}
    for path in sorted((book.root / "exercises").glob("[0-9]*.ipynb")):
        page, notebook = f"exercises/solutions/{path.stem}", load(path)
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                cell.source = written_out(cell.source, book, page)
        if (chapter := f"chapters/{path.stem}") in book.notebooks:
            title, _, rest = notebook.cells[0].source.partition("\n")
            link = f"[{book.title(chapter)}]({book.address(chapter, page)})"
            notebook.cells[0].source = f"{title}\n\nThe chapter: {link}.\n{rest}"
        made[book.place(page)] = dump(notebook)
    for page in sorted(book.linked):
        text = (book.root / f"{page}.md").read_text(encoding="utf-8")
        made[book.place(page)] = written_out(text, book, page)
    return made


def _put(text: str, path: Path, was: Cells) -> Written:
    """Write a file; keep a changed one that stands there, and carry over what was done in it."""
    kept = None
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        cells = _there(path)
        theirs = path.read_text(encoding="utf-8", errors="replace")
        if list(cells.items()) != list(was.items()):
            kept = Path(shutil.copy2(path, _free(path)))
        if cells and path.parent.name == "exercises":
            text = dump(carried(parse(theirs), parse(text), was))
    _replace(path, opened(text) if path.suffix == ".ipynb" else text)
    return Written(path, kept)


def _clear(path: Path, was: Cells) -> None:
    """Remove what the book has no longer, if the student has changed nothing in it."""
    if was and path.exists() and list(_there(path).items()) == list(was.items()):
        path.unlink()


def _there(path: Path) -> Cells:
    try:
        return _cells(path.name, path.read_text(encoding="utf-8", errors="replace"))
    except (AttributeError, KeyError, TypeError, ValueError):
        return {}  # no notebook any more


def opened(text: str) -> str:
    """A notebook as JupyterLab has it once its kernel runs, so that opening it changes nothing."""
    notebook, name = parse(text), "python3"
    known = KernelSpecManager().get_kernel_spec(name)
    spec = {"display_name": known.display_name, "language": known.language, "name": name}
    notebook.metadata.update(kernelspec=spec, language_info=IPythonKernel.language_info)
    return dump(notebook)


def carried(theirs: NotebookNode, new: NotebookNode, was: Cells) -> NotebookNode:
    """The new edition of an exercise notebook with what a student did in the old one.

    An answer is the student's. So is any cell that the book left as it was. Where both have changed
    another cell, the student's follows the book's. Cells of the student's own stay after the cell
    that they followed.

    Parameters
    ----------
    theirs, new : NotebookNode
        The student's notebook, and the book's new one; neither is changed.
    was : mapping
        The cells of the book's edition that the student began with; may be empty.
    """
    new = copy.deepcopy(new)
    ours = {cell["id"]: cell for cell in new.cells}
    place = 0
    for cell in copy.deepcopy(theirs.cells):
        name, changed = cell["id"], _is_changed(cell, was)
        if mate := ours.get(name):
            place = new.cells.index(mate) + 1
            free = _is_answer(mate) or was.get(name) == _digest(mate.source)
            if mate.source == cell.source or (changed and free):
                done = ("source", "outputs", "execution_count")
                mate.update({key: cell[key] for key in done if key in cell})
                continue
            cell["id"] = next(n for i in count(1) if (n := f"mine-{i}-{name}") not in ours)
            cell.metadata = NotebookNode()
        if changed:
            new.cells.insert(place, cell)
            ours[cell["id"]] = cell
            place += 1
    return new


def _is_changed(cell: NotebookNode, was: Cells) -> bool:
    """Whether a cell is not as the book had it."""
    if cell["id"] in was:
        return was[cell["id"]] != _digest(cell.source)
    return _is_answer(cell) or not cell["id"].startswith("ex-")


def _is_answer(cell: NotebookNode) -> bool:
    return bool(cell.metadata.get("nbgrader", {}).get("solution"))


def _cells(name: str, text: str) -> Cells:
    """The cells of a notebook, whose outputs do not count; any other file is one cell."""
    if not name.endswith(".ipynb"):
        return {"": _digest(text)}
    return {cell["id"]: _digest(cell.source) for cell in parse(text).cells}


def _free(path: Path) -> Path:
    names = (path.with_suffix(f".mine-{number}{path.suffix}") for number in count(1))
    return next(name for name in names if not name.exists())


def _replace(path: Path, text: str) -> None:
    """Write a file at once, so that an interruption leaves the old one."""
    beside = path.with_name(f".{path.name}.new")
    beside.write_text(text, encoding="utf-8", newline="\n")
    os.replace(beside, path)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
