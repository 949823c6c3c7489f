"""How far a student has come: what `check` said last of each exercise of a notebook.

The notebook is its own record. `check` leaves its verdict in the metadata of its output, so that
what a saved notebook shows is what it knows, also after a restart; and what was checked in this
kernel since then counts before it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

from tformer_book.exercises.display import KEY, in_notebook, tell

HEADING = re.compile(r"^## (\d+\.\d+) +(.+?) *$", re.MULTILINE)
SIGNS = {True: ("✓", "done"), False: ("✗", "not yet"), None: ("○", "not tried")}
NOTE = "The file of this notebook is not known here: this is what check has said since its start."

_said: dict[str, bool | None] = {}


def remember(number: str, correct: bool | None) -> None:
    """Remember what `check` said of an exercise in this kernel; None if it was not begun."""
    _said[number] = correct


def progress() -> None:
    """Say which exercises of this notebook are done, by the last word of `check` on each.

    What earlier kernels heard is read from the outputs of the notebook as it was last saved. An
    answer that has changed since its check ran counts as the check found it.
    """
    path = _notebook()
    titles, stored = _read(path) if path else ({}, {})
    verdicts = stored | _said
    names = titles or dict.fromkeys(sorted(verdicts, key=_place), "")
    lines = [(number, title, verdicts.get(number)) for number, title in names.items()]
    done, wrong = (sum(last is state for *_, last in lines) for state in (True, False))
    head = f"{done} of {len(lines)} exercises done{f', {wrong} not yet' * bool(wrong)}."
    note = "" if titles else NOTE
    listed = [f"{SIGNS[last][0]} {number} {title}".rstrip() for number, title, last in lines]
    rows = "".join(
        f'<tr><td aria-hidden="true">{SIGNS[last][0]}</td><td style="text-align: left">{number} '
        f'{escape(title)}</td><td style="text-align: left">{SIGNS[last][1]}</td></tr>'
        for number, title, last in lines
    )
    html = f"<strong>{head}</strong> {note}<table>{rows}</table>"
    tell("\n".join(filter(None, [head, *listed, note])), html)


def _notebook() -> Path | None:
    """The file of the notebook that this kernel serves, as Jupyter or VS Code tell it."""
    told = os.environ.get("JPY_SESSION_NAME", "")
    if in_notebook():
        from IPython import get_ipython

        told = get_ipython().user_ns.get("__vsc_ipynb_file__", told)
    path = Path(told)
    return path if path.suffix == ".ipynb" and path.is_file() else None


def _read(path: Path) -> tuple[dict[str, str], dict[str, bool | None]]:
    """The exercises of a notebook by number, and what its outputs say of them."""
    titles: dict[str, str] = {}
    said: dict[str, bool | None] = {}
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        for cell in cells:
            if cell["cell_type"] == "markdown":
                titles |= HEADING.findall("".join(cell["source"]))
            for output in cell.get("outputs", []):
                record = output.get("metadata", {}).get(KEY, {})
                if isinstance(record, Mapping) and "exercise" in record:
                    correct = record.get("correct")
                    said[str(record["exercise"])] = correct if isinstance(correct, bool) else None
    except (AttributeError, KeyError, OSError, TypeError, ValueError):
        return {}, {}  # no notebook after all
    return titles, said


def _place(number: str) -> list[int]:
    return [int(part) for part in number.split(".")]
