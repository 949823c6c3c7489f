"""The framework of the claims: register a verification, run it, and show that it can fail."""

from __future__ import annotations

import difflib
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tformer_book.chapters import load, mentioning

Verification = TypeVar("Verification", bound=Callable[..., str])
Variants = Mapping[str, Mapping[str, Any]]

KINDS = {
    "symbolic": "SymPy proves the identity it rests on, for symbols",
    "exhaustive": "every case of the statement is tried, or every case up to a size",
    "numeric": "stated cases are computed, within a stated tolerance",
    "statistical": "sampling with a fixed seed and a stated confidence",
    "empirical": "what was trained or measured once, and is stored, is held to the statement",
}
WIDEST = 60
"""Letters of a scope: what a seal shows in a line."""
_LABEL = re.compile(r"(thm|prop|lem|cor|exm)(-[a-z0-9]+)+")
_claims: dict[str, Claim] = {}


class ClaimFailed(Exception):  # noqa: N818 - it names the event, as StopIteration does
    """A statement is false; the message carries the numbers that show it."""


@dataclass(frozen=True)
class Claim:
    """One statement of the book, by its label, and the function that verifies it.

    The parameters of `verification` are the constants and assumptions of the statement, with the
    true ones as defaults. `mutants` names changes to them that make the statement false.
    """

    label: str
    kind: str
    chapter: int
    verification: Callable[..., str]
    mutants: Variants
    scope: str

    @property
    def program(self) -> str:
        """The source of the verification, with its registration."""
        return inspect.getsource(self.verification)

    @property
    def file(self) -> str:
        """The file of the program, from the root of the repository."""
        return f"lib/{self.verification.__module__.replace('.', '/')}.py"


@dataclass(frozen=True, repr=False)
class Evidence:
    """What was verified, what was not tried, and where the program stands that says so.

    It prints the same on every machine.
    """

    label: str
    kind: str
    evidence: str
    file: str

    def __repr__(self) -> str:
        body = textwrap.fill(
            self.evidence, 72, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False
        )
        return f"{self.label} verified ({self.kind}):\n{body}\n  program: {self.file}"


def require(condition: object, message: str) -> None:
    """Raise ClaimFailed with `message` unless `condition` is true."""
    if not condition:
        raise ClaimFailed(message)


def claim(
    label: str, kind: str, mutants: Variants, scope: str
) -> Callable[[Verification], Verification]:
    """Register the decorated function as the verification of the statement `label`.

    The function returns its evidence. Its docstring does not repeat the statement, which stands on
    the page; it says what the function tries beyond the statement, or short of it.

    Parameters
    ----------
    label : the label of the statement on its page: thm-, prop-, lem-, cor- or exm-.
    kind : "symbolic", "exhaustive", "numeric", "statistical" or "empirical", as `KINDS` says.
    mutants : name -> arguments of the function under which the statement is false; at least one.
    scope : how far the verification goes, in one line: it stands on the seal.

    Raises
    ------
    ValueError : one of these is malformed, the label is taken, no docstring, no chapter module.
    """
    if not _LABEL.fullmatch(label):
        raise ValueError(f"claim: label {label!r} is not thm-, prop-, lem-, cor- or exm-name")
    if kind not in KINDS:
        raise ValueError(f"claim {label}: kind {kind!r} is not one of {', '.join(KINDS)}")
    if not mutants:
        raise ValueError(f"claim {label}: give at least one mutant, or it cannot fail")
    if not 1 <= len(scope) <= WIDEST:
        raise ValueError(f"claim {label}: a scope has 1 to {WIDEST} letters; got {scope!r}")

    def register(function: Verification) -> Verification:
        _register(Claim(label, kind, _chapter(label, function), function, mutants, scope))
        return function

    return register


def claims(chapter: int | None = None) -> tuple[Claim, ...]:
    """Return the claims of one chapter, or of the whole book, in the order of the modules."""
    load("claims", chapter)
    # A module may have been imported before its turn, by a test or by a page.
    ordered = sorted(_claims.values(), key=lambda found: (found.chapter, found.file))
    return tuple(found for found in ordered if chapter in (None, found.chapter))


def find(label: str) -> Claim:
    """Return the claim of a statement; only the claims of its chapter are imported.

    Raises
    ------
    LookupError : no statement has this label; the message names the nearest ones.
    """
    for chapter in mentioning("claims", f'"{label}"') if label not in _claims else ():
        load("claims", chapter)
    if label in _claims:
        return _claims[label]
    load("claims")
    near = difflib.get_close_matches(label, _claims, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else "; claims() lists them all"
    raise LookupError(f"no claim has the label {label!r}{hint}")


def verify(label: str) -> Evidence:
    """Verify the statement `label`; only the claims of its chapter are imported.

    Returns
    -------
    The evidence, which prints as three to five lines.

    Raises
    ------
    ClaimFailed : the statement is false; the message says at which numbers.
    LookupError : no statement has this label; the message names the nearest ones.
    """
    found = find(label)
    try:
        return Evidence(label, found.kind, found.verification(), found.file)
    except ClaimFailed as failure:
        raise ClaimFailed(f"{label} is false: {failure}") from None


def counterexample(label: str, variant: str) -> str:
    """Try to verify a mutant of a statement, and return the numbers that refute it.

    Raises
    ------
    ClaimFailed : the mutant is verified, so the verification is too weak.
    LookupError : unknown label, or no mutant of that name.
    """
    found = find(label)
    if variant not in found.mutants:
        raise LookupError(f"{label} has no mutant {variant!r}; it has {', '.join(found.mutants)}")
    try:
        found.verification(**found.mutants[variant])
    except ClaimFailed as failure:
        return str(failure)
    raise ClaimFailed(f"{label}: the mutant {variant!r} is verified as well")


def _chapter(label: str, function: Callable[..., str]) -> int:
    number = re.search(r"\.chapters\.ch(\d+)\.", function.__module__)
    if number is None:
        raise ValueError(f"claim {label}: {_name(function)} is not in the folder of a chapter")
    return int(number[1])


def _register(found: Claim) -> None:
    where = _name(found.verification)
    if not found.verification.__doc__:
        raise ValueError(f"claim {found.label}: {where} has no docstring that says what it tries")
    before = _name(_claims[found.label].verification) if found.label in _claims else where
    if before != where:
        raise ValueError(f"claim {found.label}: {before} verifies it already, and so does {where}")
    _claims[found.label] = found


def _name(function: Callable[..., str]) -> str:
    return f"{function.__module__}.{function.__qualname__}"
