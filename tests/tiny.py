"""Notebooks of a few cells, for the tests of the pipeline."""

from typing import Any

import nbformat
from nbformat import NotebookNode

v4 = nbformat.v4


def text(source: str, **metadata: Any) -> NotebookNode:
    """A markdown cell."""
    return v4.new_markdown_cell(source, metadata=metadata)


def code(source: str, *outputs: NotebookNode, **metadata: Any) -> NotebookNode:
    """A code cell that has been run."""
    return v4.new_code_cell(source, outputs=list(outputs), metadata=metadata, execution_count=1)


def printed(words: str, name: str = "stdout") -> NotebookNode:
    """What a cell printed, in one piece."""
    return v4.new_output("stream", name=name, text=words)


def result(words: str, kind: str = "text/plain") -> NotebookNode:
    """The value of a cell's last line."""
    return v4.new_output("execute_result", {kind: words}, execution_count=1)


def raised(name: str = "ValueError", value: str = "no") -> NotebookNode:
    """The error that ended a cell."""
    trace = ["Traceback", f"  File /home/me/{name}.py", f"{name}: {value}"]
    return v4.new_output("error", ename=name, evalue=value, traceback=trace)


def notebook(*cells: NotebookNode) -> NotebookNode:
    """A notebook whose code cells were run from top to bottom; its ids are c0, c1, …"""
    nb = v4.new_notebook(cells=list(cells))
    for number, cell in enumerate(cells):
        cell["id"] = f"c{number}"
    run = [cell for cell in cells if cell.cell_type == "code" and cell.execution_count]
    for number, cell in enumerate(run, start=1):
        cell.execution_count = number
    return nb
