"""Theorems that are verified by running them.

Each statement of the book has a label, and a function in the folder of its chapter verifies it. The
parameters of that function are the constants and assumptions of the statement; each claim also
names changes to them that make it false, and the tests prove that the function notices.

    verify("thm-cauchy-schwarz")                                # the evidence, or ClaimFailed
    print(find("thm-cauchy-schwarz").program)                   # what verify runs
    counterexample("thm-cauchy-schwarz", "constant below one")  # the numbers that refute it
    claims(chapter=1)                                           # what there is to verify
"""

from tformer_book.claims.registry import (
    KINDS,
    Claim,
    ClaimFailed,
    Evidence,
    claim,
    claims,
    counterexample,
    find,
    require,
    verify,
)

__all__ = [
    "KINDS",
    "Claim",
    "ClaimFailed",
    "Evidence",
    "claim",
    "claims",
    "counterexample",
    "find",
    "require",
    "verify",
]
