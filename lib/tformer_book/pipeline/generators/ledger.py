"""The ledger page: what each claim states, how it is verified, and what refutes its neighbours."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path

from tformer_book.claims import KINDS, Claim, claims
from tformer_book.claims.record import FILE, Record, dump, record
from tformer_book.pipeline.notebook.myst import stated, unlabelled

PAGE = Path("chapters", "ledger.md")
CHAPTERS = Path("lib", "tformer_book", "chapters")
OPENING = files("tformer_book.pipeline.generators") / "ledger_opening.txt"


def entry(label: str, statement: str, recorded: Record) -> str:
    """The entry of one claim: a definition list of its statement, evidence and false variants.

    Parameters
    ----------
    label : of the claim.
    statement : Markdown, as on its page; labels of equations stay there.
    recorded : what the verification said.
    """
    return (
        f"{{prf:ref}}`{label}`, {recorded.kind}\n"
        f": {_indented(unlabelled(statement))}\n"
        f"\n: *Evidence:* {_literal(recorded.evidence)}.\n"
        f"\n: *Refuted:* {_literal('; '.join(recorded.refuted))}.\n"
    )


def render(
    listed: Sequence[Claim], statements: Mapping[str, str], recorded: Mapping[str, Record]
) -> str:
    """The page as MyST Markdown, from what was recorded of the listed claims.

    Raises
    ------
    LookupError
        If the pages do not state a claim.
    """
    if missing := [claim.label for claim in listed if claim.label not in statements]:
        raise LookupError(f"ledger: stated on no page: {', '.join(missing)}")
    count = Counter(claim.kind for claim in listed)
    kinds = [
        f"{kind.capitalize()} ({count[kind]})\n: {meaning}.\n"
        for kind, meaning in KINDS.items()
        if count[kind]
    ]
    parts = [
        OPENING.read_text(encoding="utf-8"),
        f"There are {len(listed)} claims, verified in these ways:\n",
        *kinds,
    ]
    for chapter, members in groupby(listed, key=lambda claim: claim.chapter):
        parts.append(f"\n## Chapter {chapter}\n")
        parts += [entry(c.label, statements[c.label], recorded[c.label]) for c in members]
    return "\n".join(parts).rstrip("\n") + "\n"


def _indented(text: str) -> str:
    """Markdown whose later lines belong to the definition that the first one opens."""
    return re.sub(r"\n(?=.)", "\n  ", text.strip())


def _literal(text: str) -> str:
    """Text without line breaks whose marks Markdown leaves alone."""
    return re.sub(r"([\\`*_{}\[\]<>#$|~])", r"\\\1", " ".join(text.split())).rstrip(".")


def write(root: Path) -> list[Path]:
    """Verify every claim, write what was recorded and the page; return the files that changed."""
    recorded = {claim.label: record(claim) for claim in claims()}
    texts = {root / PAGE: render(claims(), stated(root), recorded)}
    for chapter, members in groupby(claims(), key=lambda claim: claim.chapter):
        folder = CHAPTERS / f"ch{chapter:02d}"
        texts[root / folder / FILE] = dump({c.label: recorded[c.label] for c in members})
    changed = [
        path
        for path, text in texts.items()
        if not path.is_file() or path.read_text(encoding="utf-8") != text
    ]
    for path in changed:
        path.write_text(texts[path], encoding="utf-8", newline="\n")
    return changed
