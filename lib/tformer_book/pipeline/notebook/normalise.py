"""Write a notebook the same way every time, so that a change in the file is a change in the book.

What is kept is what a reader sees or a tool needs: sources, outputs, tags, captions, and the state
of the interactive figures. What is dropped depends on the machine, the clock or chance. The code
and style of our own interactive figures are written anew from the library: no run is needed when
they change.
"""

import copy
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import nbformat
from nbformat import NotebookNode

from tformer_book.widgets.base import WIDGET_STATE, WIDGET_VIEW, library_code

SANITISE = Path(__file__).with_name("sanitise.cfg")
NOTEBOOK_KEYS = {"exercise", "mystnb", "title"}
CELL_KEYS = {"deletable", "editable", "jupyter", "mystnb", "nbgrader", "slideshow", "tags"}
KERNEL = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {
        "file_extension": ".py",
        "mimetype": "text/x-python",
        "name": "python",
        "nbconvert_exporter": "python",
        "pygments_lexer": "ipython3",
    },
}
STATE, VIEW = WIDGET_STATE, WIDGET_VIEW
MACHINE_TAG = "nbval-ignore-output"
OVERWRITTEN = re.compile(r"^.*\r(?=[^\n])", re.MULTILINE)
"""What a line said before it was written anew, as a bar of progress is; nbval reads it so too."""


def load(path: Path) -> NotebookNode:
    """Read a notebook as it stands, without the random cell ids that nbformat would add."""
    return parse(path.read_text(encoding="utf-8"))


def parse(text: str) -> NotebookNode:
    """A notebook from the text of its file."""
    return cast(NotebookNode, nbformat.v4.reads(text))


def dump(nb: NotebookNode) -> str:
    """The text of a notebook file: sorted keys, one line of source a line, a final newline."""
    return str(nbformat.v4.writes(nb)).rstrip("\n") + "\n"


def code_cells(nb: NotebookNode) -> list[NotebookNode]:
    """The code cells, in order: nbval and the reports here number them from 0."""
    return [cell for cell in nb.cells if cell.cell_type == "code"]


def tags(cell: NotebookNode) -> set[str]:
    """The tags of a cell."""
    return set(cell.metadata.get("tags", []))


def sanitise(text: str) -> str:
    """Leave out of `text` what `sanitise.cfg` says, exactly as nbval does when it compares."""
    for regex, replacement in _pairs():
        text = re.sub(regex, replacement, text)
    return text


@cache
def _pairs() -> list[tuple[str, str]]:
    pattern = re.compile(r"^regex: (.*)$\n^replace: (.*)$", re.MULTILINE)
    return pattern.findall(SANITISE.read_text(encoding="utf-8"))


def normalise(nb: NotebookNode) -> NotebookNode:
    """A copy of `nb` that is equal for equal content. Normalising twice changes nothing."""
    nb = copy.deepcopy(nb)
    nb.nbformat, nb.nbformat_minor = 4, 5
    widgets = nb.metadata.get("widgets", {}).get(STATE)
    kept = {key: nb.metadata[key] for key in NOTEBOOK_KEYS if key in nb.metadata}
    nb.metadata = nbformat.from_dict(kept | KERNEL)
    _name_cells(nb.cells)
    count = 0
    for cell in nb.cells:
        cell.source = cell.source.rstrip()
        cell.metadata = nbformat.from_dict(
            {key: cell.metadata[key] for key in CELL_KEYS if cell.metadata.get(key)}
        )
        if cell.cell_type == "code":
            count += cell.execution_count is not None
            _normalise_code(cell, count)
    if widgets:
        _normalise_widgets(nb, widgets)
    return nb


def _name_cells(cells: Iterable[NotebookNode]) -> None:
    # An id that is there stays, so that a cell keeps its name when others move around it.
    taken: set[str] = set()
    for cell in cells:
        name, copies = cell.get("id"), 0
        while not name or name in taken:
            text = f"{cell.cell_type}\n{cell.source}\n{copies}"
            name, copies = sha256(text.encode()).hexdigest()[:8], copies + 1
        cell["id"] = name
        taken.add(name)


def _normalise_code(cell: NotebookNode, count: int) -> None:
    cell.execution_count = count if cell.execution_count is not None else None
    cell.outputs = [_normalise_output(out, count) for out in _coalesced(cell.outputs)]


def _coalesced(outputs: Iterable[NotebookNode]) -> list[NotebookNode]:
    """Join the pieces of one stream: where a kernel cuts it depends on the clock."""
    streams: dict[str, NotebookNode] = {}
    kept = []
    for out in outputs:
        if out.output_type == "stream" and out.name in streams:
            streams[out.name].text += out.text
            continue
        if out.output_type == "stream":
            streams[out.name] = out
        kept.append(out)
    return kept


def _normalise_output(out: NotebookNode, count: int) -> NotebookNode:
    if out.output_type == "execute_result":
        out.execution_count = count
    if out.output_type == "error":
        out.evalue = sanitise(out.evalue)
        out.traceback = [f"{out.ename}: {out.evalue}"]
    elif out.output_type == "stream":
        out.text = sanitise(OVERWRITTEN.sub("", out.text))
    else:
        for kind, data in out.data.items():
            if isinstance(data, str) and kind != "text/latex":
                out.data[kind] = sanitise(data)
    return out


def _normalise_widgets(nb: NotebookNode, widgets: Mapping[str, Any]) -> None:
    """Number the models in the order of the page and drop those that nothing shows."""
    views = [
        out.data[VIEW]
        for cell in code_cells(nb)
        for out in cell.outputs
        if VIEW in out.get("data", {})
    ]
    models = widgets["state"]
    names = _reachable([view["model_id"] for view in views], models)
    for view in views:
        view["model_id"] = names.get(view["model_id"], view["model_id"])
    state = {new: _renamed(models[old], names) for old, new in names.items()}
    if state:
        nb.metadata["widgets"] = nbformat.from_dict({STATE: {**widgets, "state": state}})


def _reachable(roots: list[str], models: Mapping[str, Any]) -> dict[str, str]:
    names: dict[str, str] = {}
    queue = list(roots)
    while queue:
        model = queue.pop(0)
        if model in models and model not in names:
            names[model] = f"{len(names) + 1:032x}"
            text = json.dumps(models[model]["state"], sort_keys=True)
            queue += re.findall(r"IPY_MODEL_([0-9a-f-]+)", text)
    return names


def _renamed(model: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    def rename(text: str) -> str:
        old = text.removeprefix("IPY_MODEL_")
        return f"IPY_MODEL_{names[old]}" if old != text and old in names else text

    state = _map_strings(model["state"], rename)
    state |= library_code(state.get("_anywidget_id", "")) or {}
    if model["model_name"] == "LayoutModel":  # fifty times "not set"
        state = {key: value for key, value in state.items() if value is not None}
    result = dict(model) | {"state": state}
    if "buffers" in model:
        result["buffers"] = sorted(model["buffers"], key=lambda buffer: str(buffer["path"]))
    return result


def _map_strings(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {key: _map_strings(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_strings(item, change) for item in value]
    return value


def settle(new: NotebookNode, old: NotebookNode) -> NotebookNode:
    """`old` when `new` differs from it only where outputs depend on the machine, else `new`.

    Both are normalised. A timing in a cell tagged `nbval-ignore-output` differs at each run; it is
    refreshed with the next true change and does not make one.
    """
    return old if dump(_without_machine(new)) == dump(_without_machine(old)) else new


def _without_machine(nb: NotebookNode) -> NotebookNode:
    nb = copy.deepcopy(nb)
    for cell in code_cells(nb):
        if MACHINE_TAG in tags(cell):
            cell.outputs = []
    return nb
