"""The ledger page: every claim of the book, how it is checked, and what refutes its neighbours."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from tformer.claims import KINDS, Claim, claims, counterexample, verify

PAGE = Path("chapters", "ledger.md")
OPENING = """\
(sec-ledger)=
# Claim ledger

Every theorem, proposition, lemma, corollary and worked example of the book is a *claim*: a
statement with a label, and a function under that label that checks it. The checks run with the
tests, and again on the page where the claim is made. This page is written by the checks
themselves: the evidence below is what they said.

A check that cannot fail shows nothing. So each claim is also stated wrongly, with another constant
or without one of its assumptions, and the same check must refuse it. The last line of an entry
names these false statements.
"""


def render(listed: Sequence[Claim]) -> str:
    """The page as MyST Markdown. Runs every check, and every false variant.

    Raises
    ------
    ClaimFailed
        If a claim is false, or one of its false variants passes.
    """
    count = Counter(claim.kind for claim in listed)
    kinds = [
        f"{kind.capitalize()} ({count[kind]})\n: {meaning}.\n"
        for kind, meaning in KINDS.items()
        if count[kind]
    ]
    parts = [OPENING, f"There are {len(listed)} claims, checked in these ways:\n", *kinds]
    for chapter, members in groupby(listed, key=lambda claim: claim.chapter):
        parts.append(f"\n## Chapter {chapter}\n")
        parts += [_entry(claim) for claim in members]
    return "\n".join(parts).rstrip("\n") + "\n"


def _entry(claim: Claim) -> str:
    for variant in claim.broken:
        counterexample(claim.label, variant)
    false = "; ".join(claim.broken)
    return (
        f"{{prf:ref}}`{claim.label}`, {claim.kind}\n"
        f": {_literal(claim.statement)}.\n"
        f": *Evidence:* {_literal(verify(claim.label).evidence)}.\n"
        f": *Refuted:* {_literal(false)}.\n"
    )


def _literal(text: str) -> str:
    """Text without line breaks whose marks Markdown leaves alone."""
    return re.sub(r"([\\`*_{}\[\]<>#$|~])", r"\\\1", " ".join(text.split())).rstrip(".")


def write(root: Path) -> bool:
    """Write the page; True if it changed."""
    path, text = root / PAGE, render(claims())
    changed = not path.is_file() or path.read_text(encoding="utf-8") != text
    if changed:
        path.write_text(text, encoding="utf-8", newline="\n")
    return changed


def is_current(root: Path) -> bool:
    """Whether the page in the repository is what the checks say now."""
    path = root / PAGE
    return path.is_file() and path.read_text(encoding="utf-8") == render(claims())
