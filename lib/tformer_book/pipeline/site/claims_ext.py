"""Sphinx extension: what the pages state and what the library verifies are the same set.

A theorem, proposition, lemma, corollary or example whose label no claim has draws a warning, and
so does a claim whose label stands on no page. The book is built with warnings as errors.
"""

from collections.abc import Iterator
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from tformer_book.claims import claims
from tformer_book.pipeline.notebook.myst import CLAIM_TYPES

LOGGER = logging.getLogger(__name__)


def compare_claims(app: Sphinx, env: BuildEnvironment) -> None:
    """Compare the labels that sphinx-proof has read with the registered claims."""
    stated = {
        label: entry["docname"]
        for label, entry in getattr(env, "proof_list", {}).items()
        if entry["realtype"] in CLAIM_TYPES
    }
    for docname, message in differences(stated, {claim.label for claim in claims()}):
        LOGGER.warning(message, location=docname, type="claims")


def differences(stated: dict[str, str], verified: set[str]) -> Iterator[tuple[str | None, str]]:
    """What is stated (label -> page) and not verified, and what is verified and not stated."""
    for label in sorted(set(stated) - verified):
        yield stated[label], f"nothing in tformer_book.chapters verifies {label}"
    for label in sorted(verified - set(stated)):
        yield None, f"{label} is verified and no page states it"


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect to Sphinx."""
    app.connect("env-check-consistency", compare_claims)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
