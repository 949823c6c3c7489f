"""The ledger page: what each claim states, how it is verified, and what refutes its neighbours."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path

from tformer.book import notebooks
from tformer.book.myst import statements
from tformer.book.normalise import load
from tformer.claims import KINDS, Claim, claims, counterexample, verify

PAGE = Path("chapters", "ledger.md")
OPENING = """\
(sec-ledger)=
# Claim ledger

Every theorem, proposition, lemma, corollary and worked example of the book is a *claim*: a
statement with a label, and a function under that label that verifies it. These functions run with
the tests, and again on the page where the claim is made. The statements below are taken from those
pages. The evidence is what the functions said; where they try less than the statement says, it says
that too.

A verification that cannot fail shows nothing. So each claim is also stated wrongly, with another
constant or without one of its assumptions, and the same function must refuse it. The last line of
an entry names these false statements.
"""


def stated(root: Path) -> dict[str, str]:
    """What each claim states: label -> Markdown, read from the pages of the book."""
    return {
        label: body
        for path in notebooks(root)
        if path.parent.name == "chapters"
        for label, body in statements(load(path))
    }


def entry(claim: Claim, statement: str, evidence: str) -> str:
    """The entry of one claim: a definition list of its statement, evidence and false variants.

    Parameters
    ----------
    claim : what is verified.
    statement : Markdown, as on its page; labels of equations stay there.
    evidence : plain text, what the verification said.
    """
    unlabelled = re.sub(r"^(\$\$) *\([\w-]+\) *$", r"\1", statement, flags=re.MULTILINE)
    return (
        f"{{prf:ref}}`{claim.label}`, {claim.kind}\n"
        f": {_indented(unlabelled)}\n"
        f"\n: *Evidence:* {_literal(evidence)}.\n"
        f"\n: *Refuted:* {_literal('; '.join(claim.broken))}.\n"
    )


def compose(listed: Sequence[Claim], entries: Mapping[str, str]) -> str:
    """The page as MyST Markdown, from the entries of the listed claims by label."""
    count = Counter(claim.kind for claim in listed)
    kinds = [
        f"{kind.capitalize()} ({count[kind]})\n: {meaning}.\n"
        for kind, meaning in KINDS.items()
        if count[kind]
    ]
    parts = [OPENING, f"There are {len(listed)} claims, verified in these ways:\n", *kinds]
    for chapter, members in groupby(listed, key=lambda claim: claim.chapter):
        parts.append(f"\n## Chapter {chapter}\n")
        parts += [entries[claim.label] for claim in members]
    return "\n".join(parts).rstrip("\n") + "\n"


def render(listed: Sequence[Claim], statements: Mapping[str, str]) -> str:
    """The page, with every claim verified and every false variant tried.

    Raises
    ------
    ClaimFailed
        If a claim is false, or one of its false variants is verified as well.
    LookupError
        If the pages do not state a claim.
    """
    if missing := [claim.label for claim in listed if claim.label not in statements]:
        raise LookupError(f"ledger: stated on no page: {', '.join(missing)}")
    entries = {}
    for claim in listed:
        for variant in claim.broken:
            counterexample(claim.label, variant)
        evidence = verify(claim.label).evidence
        entries[claim.label] = entry(claim, statements[claim.label], evidence)
    return compose(listed, entries)


def _indented(text: str) -> str:
    """Markdown whose later lines belong to the definition that the first one opens."""
    return re.sub(r"\n(?=.)", "\n  ", text.strip())


def _literal(text: str) -> str:
    """Text without line breaks whose marks Markdown leaves alone."""
    return re.sub(r"([\\`*_{}\[\]<>#$|~])", r"\\\1", " ".join(text.split())).rstrip(".")


def write(root: Path) -> bool:
    """Write the page; True if it changed."""
    path, text = root / PAGE, render(claims(), stated(root))
    changed = not path.is_file() or path.read_text(encoding="utf-8") != text
    if changed:
        path.write_text(text, encoding="utf-8", newline="\n")
    return changed
