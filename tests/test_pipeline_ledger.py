"""The claims on the pages, the checks in the library and the ledger are one set."""

import subprocess
import sys
from pathlib import Path

import pytest

from tformer.book import claims_ext, find_root, ledger
from tformer.claims import Claim, ClaimFailed, claims

ROOT = find_root(Path(__file__).parent)
PAGE = """\
# Sums

:::{prf:theorem} Sums
:label: LABEL
One and one are two.
:::

:::{prf:definition} No check is asked of a definition
:label: def-sum
Addition.
:::
"""
CONF = """\
extensions = ["myst_parser", "sphinx_proof", "tformer.book.claims_ext"]
myst_enable_extensions = ["colon_fence"]
project = "Sums"
import tformer.book.claims_ext as ext
class Sums:
    label = "thm-sums"
ext.claims = lambda: [Sums]
"""


def build(folder: Path, page: str) -> subprocess.CompletedProcess[str]:
    """Build a book of one page whose only registered claim is thm-sums."""
    (folder / "index.md").write_text(page, encoding="utf-8")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", folder, folder / "out"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_page_that_states_what_is_checked_builds(tmp_path):
    built = build(tmp_path, PAGE.replace("LABEL", "thm-sums"))
    assert built.returncode == 0, built.stderr


def test_a_label_without_a_check_and_a_check_without_a_label_fail_the_build(tmp_path):
    built = build(tmp_path, PAGE.replace("LABEL", "thm-other"))
    assert built.returncode == 1
    assert "the claim thm-other has no check in tformer.claims" in built.stderr
    assert "index" in built.stderr
    assert "the check of thm-sums has no claim on any page" in built.stderr


def test_a_theorem_without_a_label_fails_the_build(tmp_path):
    built = build(tmp_path, PAGE.replace(":label: LABEL\n", ""))
    assert built.returncode == 1
    assert "the claim theorem-0 has no check" in built.stderr


def test_differences_are_none_where_the_sets_agree():
    assert list(claims_ext.differences({"a": "page"}, {"a"})) == []


def check(constant: int = 2) -> str:
    """1 + 1 = *two* and no more.

    A second paragraph.
    """
    if constant != 2:
        raise ClaimFailed("1 + 1 is 2")
    return "counted on | fingers"


def test_an_entry_holds_statement_kind_evidence_and_what_is_refuted(monkeypatch):
    sums = Claim("thm-sums", "exhaustive", 1, check, {"one too many": {"constant": 3}})
    monkeypatch.setattr("tformer.claims.registry._claims", {"thm-sums": sums})
    page = ledger.render([sums])
    assert "There are 1 claims" in page
    assert "Exhaustive (1)" in page
    assert (
        "{prf:ref}`thm-sums`, exhaustive\n"
        ": 1 + 1 = \\*two\\* and no more.\n"
        ": *Evidence:* counted on \\| fingers.\n"
        ": *Refuted:* one too many.\n"
    ) in page


def test_the_ledger_refuses_a_variant_that_passes(monkeypatch):
    weak = Claim("thm-sums", "exhaustive", 1, check, {"nothing broken": {"constant": 2}})
    monkeypatch.setattr("tformer.claims.registry._claims", {"thm-sums": weak})
    with pytest.raises(ClaimFailed, match="nothing broken"):
        ledger.render([weak])


def test_the_ledger_is_written_when_it_is_not_current(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "claims", lambda: ())
    (tmp_path / "chapters").mkdir()
    assert not ledger.is_current(tmp_path)
    assert ledger.write(tmp_path)
    assert ledger.is_current(tmp_path)
    assert not ledger.write(tmp_path)


def test_the_ledger_of_the_book_is_current():
    assert ledger.is_current(ROOT), "`make ledger` writes it"


def test_the_ledger_lists_every_claim():
    page = (ROOT / ledger.PAGE).read_text(encoding="utf-8")
    missing = [claim.label for claim in claims() if f"{{prf:ref}}`{claim.label}`" not in page]
    assert missing == []
