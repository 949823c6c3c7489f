"""The notebooks of the book keep its rules."""

from pathlib import Path

import pytest

from tformer_book.claims import claims
from tformer_book.pipeline import find_root, notebooks
from tformer_book.pipeline.rules import lint

ROOT = find_root(Path(__file__).parent)
CHAPTERS = {claim.label: f"{claim.chapter:02d}" for claim in claims()}
NOTEBOOKS = notebooks(ROOT)


@pytest.mark.parametrize(
    "path", NOTEBOOKS, ids=[f"{path.parent.name}-{path.stem}" for path in NOTEBOOKS]
)
def test_a_notebook_keeps_the_rules(path):
    findings = lint.lint_file(path, CHAPTERS)
    assert not findings, "\n".join(findings)


def test_every_chapter_with_claims_is_there():
    written = {path.name[:2] for path in NOTEBOOKS}
    assert set(CHAPTERS.values()) <= written
