"""What the verifications said when they last ran, kept beside the claims of each chapter.

The build of the pages reads it, and so it needs neither SymPy nor a minute. The tests compare it
with what the verifications say now.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

from tformer.chapters import numbers

FILE = "verified.json"


@dataclass(frozen=True)
class Record:
    """One claim as verified.

    Attributes
    ----------
    kind : str
        Symbolic, exhaustive, numeric or statistical.
    scope : str
        How far the verification went, in a few words.
    evidence : str
        What the verification said.
    refuted : dict of str to str
        Each broken variant, and the numbers that refute it.
    """

    kind: str
    scope: str
    evidence: str
    refuted: dict[str, str]


@cache
def records() -> dict[str, Record]:
    """Return what was recorded of every claim of the book, by label."""
    found: dict[str, Record] = {}
    for n in numbers():
        file = files("tformer.chapters") / f"ch{n:02d}" / FILE
        if file.is_file():
            entries = json.loads(file.read_text(encoding="utf-8"))
            found |= {label: Record(**entry) for label, entry in entries.items()}
    return found


def dump(recorded: dict[str, Record]) -> str:
    """Return the text of a chapter's file."""
    entries = {label: asdict(record) for label, record in recorded.items()}
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"
