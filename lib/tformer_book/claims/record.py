"""What the verifications said when they last ran, kept beside the claims of each chapter.

The build of the pages reads it, and so it needs neither SymPy nor a minute. The tests compare it
with what the verifications say now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files

from tformer_book.chapters import numbers
from tformer_book.claims.registry import Claim, counterexample, verify

FILE = "verified.json"
_LONG = re.compile(r"-?\d+\.\d{5,}(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Record:
    """One claim as verified.

    Attributes
    ----------
    kind : str
        One of `registry.KINDS`.
    scope : str
        How far the verification went, in a few words.
    evidence : str
        What the verification said.
    refuted : dict of str to str
        Each mutant, and the numbers that refute it.
    """

    kind: str
    scope: str
    evidence: str
    refuted: dict[str, str]


def record(claim: Claim) -> Record:
    """Verify a claim and refute its mutants, each once.

    Raises
    ------
    ClaimFailed
        If the claim is false, or one of its mutants is verified as well.
    """
    refuted = {variant: refutation(claim.label, variant) for variant in claim.mutants}
    return Record(claim.kind, claim.scope, verify(claim.label).evidence, refuted)


def refutation(label: str, variant: str) -> str:
    """The numbers that refute a mutant, with the digits that hold on every machine."""
    return _LONG.sub(lambda number: f"{float(number[0]):.4g}", counterexample(label, variant))


@cache
def records() -> dict[str, Record]:
    """Return what was recorded of every claim of the book, by label."""
    found: dict[str, Record] = {}
    for n in numbers():
        file = files("tformer_book.chapters") / f"ch{n:02d}" / FILE
        if file.is_file():
            entries = json.loads(file.read_text(encoding="utf-8"))
            found |= {label: Record(**entry) for label, entry in entries.items()}
    return found


def dump(recorded: Mapping[str, Record]) -> str:
    """Return the text of a chapter's file."""
    entries = {label: asdict(one) for label, one in recorded.items()}
    return json.dumps(entries, ensure_ascii=False, indent=1) + "\n"
