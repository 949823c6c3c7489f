"""Sphinx extension: the claims on the pages and the checks in the library are the same set.

A theorem, proposition, lemma, corollary or example whose label has no check draws a warning, and
so does a check whose label stands on no page. The book is built with warnings as errors.
"""

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tformer.book.myst import CLAIM_TYPES
from tformer.claims import claims

LOGGER = logging.getLogger(__name__)


def check_claims(app: Sphinx, env: BuildEnvironment) -> None:
    """Compare the labels that sphinx-proof has read with the registered claims."""
    stated = {
        label: entry["docname"]
        for label, entry in getattr(env, "proof_list", {}).items()
        if entry["realtype"] in CLAIM_TYPES
    }
    for docname, message in differences(stated, {claim.label for claim in claims()}):
        LOGGER.warning(message, location=docname, type="claims")


def differences(stated: dict[str, str], checked: set[str]) -> Iterator[tuple[str | None, str]]:
    """What is stated (label -> page) without a check, and checked without being stated."""
    for label in sorted(set(stated) - checked):
        yield stated[label], f"the claim {label} has no check in tformer.claims"
    for label in sorted(checked - set(stated)):
        yield None, f"the check of {label} has no claim on any page"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("env-check-consistency", check_claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
