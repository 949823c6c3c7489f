"""What the pages state, what the library verifies and what the ledger lists are one set."""

from dataclasses import replace
from pathlib import Path

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from myst_parser.docutils_ import Parser
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from tformer_book.claims import Claim, ClaimFailed, claims
from tformer_book.claims.record import record
from tformer_book.pipeline import find_root
from tformer_book.pipeline.generators import ledger
from tformer_book.pipeline.notebook.myst import statements
from tformer_book.pipeline.site import claims_ext

ROOT = find_root(Path(__file__).parent)
PAGE = """\
# Sums

:::{prf:theorem} Sums
:label: LABEL
One and one are two.
:::

:::{prf:definition} Nothing verifies a definition
:label: def-sum
Addition.
:::
"""
CONF = """\
extensions = ["myst_parser", "sphinx_proof", "tformer_book.pipeline.site.claims_ext"]
myst_enable_extensions = ["colon_fence"]
project = "Sums"
import tformer_book.pipeline.site.claims_ext as ext
class Sums:
    label = "thm-sums"
ext.claims = lambda: [Sums]
"""


def build(sphinx, folder: Path, page: str) -> tuple[int, str]:
    """Build a book of one page whose only registered claim is thm-sums."""
    (folder / "index.md").write_text(page, encoding="utf-8")
    (folder / "conf.py").write_text(CONF, encoding="utf-8")
    return sphinx(folder, "-W", "--keep-going")


def test_a_page_that_states_what_is_verified_builds(sphinx, tmp_path):
    status, complaints = build(sphinx, tmp_path, PAGE.replace("LABEL", "thm-sums"))
    assert status == 0, complaints


def test_a_label_without_a_claim_and_a_claim_without_a_label_fail_the_build(sphinx, tmp_path):
    status, complaints = build(sphinx, tmp_path, PAGE.replace("LABEL", "thm-other"))
    assert status == 1
    assert "nothing in tformer_book.chapters verifies thm-other" in complaints
    assert "index" in complaints
    assert "thm-sums is verified and no page states it" in complaints


def test_a_theorem_without_a_label_fails_the_build(sphinx, tmp_path):
    status, complaints = build(sphinx, tmp_path, PAGE.replace(":label: LABEL\n", ""))
    assert status == 1
    assert "nothing in tformer_book.chapters verifies theorem-0" in complaints


def test_differences_are_none_where_the_sets_agree():
    assert list(claims_ext.differences({"a": "page"}, {"a"})) == []


def count(constant: int = 2) -> str:
    """On fingers."""
    if constant != 2:
        raise ClaimFailed("1 + 1 is 2")
    return "counted on | fingers, d_k = 2"


SUMS = Claim("thm-sums", "exhaustive", 1, count, {"one too many": {"constant": 3}}, "two ones")
STATED = {
    "thm-sums": """\
By *counting*, see {prf:ref}`def-sum`,

$$
1 + 1 &= 2 , \\\\
2 + 2 &= 4
$$ (eq-sums)

and no more."""
}


def registered(monkeypatch, found):
    monkeypatch.setattr("tformer_book.claims.registry._claims", {found.label: found})


def test_an_entry_holds_statement_kind_evidence_and_what_is_refuted(monkeypatch):
    registered(monkeypatch, SUMS)
    page = ledger.render([SUMS], STATED, {"thm-sums": record(SUMS)})
    assert "There are 1 claims" in page
    assert "Exhaustive (1)" in page
    assert (
        "{prf:ref}`thm-sums`, exhaustive\n"
        ": By *counting*, see {prf:ref}`def-sum`,\n"
        "\n"
        "  $$\n"
        "  1 + 1 &= 2 , \\\\\n"
        "  2 + 2 &= 4\n"
        "  $$\n"
        "\n"
        "  and no more.\n"
        "\n"
        ": *Evidence:* counted on \\| fingers, d\\_k = 2.\n"
        "\n"
        ": *Refuted:* one too many.\n"
    ) in page


def test_the_record_refuses_a_variant_that_is_verified(monkeypatch):
    weak = replace(SUMS, mutants={"nothing changed": {"constant": 2}})
    registered(monkeypatch, weak)
    with pytest.raises(ClaimFailed, match="nothing changed"):
        record(weak)


def test_the_ledger_refuses_a_claim_that_no_page_states():
    with pytest.raises(LookupError, match="stated on no page: thm-sums"):
        ledger.render([SUMS], {}, {})


def test_the_ledger_is_written_when_it_is_not_current(tmp_path, monkeypatch):
    monkeypatch.setattr(ledger, "claims", lambda: ())
    (tmp_path / "chapters").mkdir()
    assert ledger.write(tmp_path)
    assert not ledger.write(tmp_path)


def test_statements_are_read_by_label():
    cells = [
        new_markdown_cell(PAGE.replace("LABEL", "thm-sums")),
        new_markdown_cell(
            "```{prf:lemma} Again\n:label: lem-sums\n:nonumber: true\n\n$$\n1\n$$ (eq-a)\n```"
        ),
        new_markdown_cell(
            ":::{prf:lemma} Nameless\nNothing.\n:::\n\n:::{note}\n:label: thm-note\nNo.\n:::"
        ),
        new_code_cell(":::{prf:lemma}\n:label: lem-code\nNo.\n:::"),
    ]
    assert dict(statements(new_notebook(cells=cells))) == {
        "thm-sums": "One and one are two.",
        "lem-sums": "$$\n1\n$$ (eq-a)",
    }


def test_every_claim_is_stated_on_a_page_and_every_statement_is_a_claim():
    assert set(ledger.stated(ROOT)) == {claim.label for claim in claims()}


def test_the_stored_ledger_is_read_as_lists_with_formulas():
    page = (ROOT / ledger.PAGE).read_text(encoding="utf-8")
    extensions = ["attrs_inline", "colon_fence", "deflist", "dollarmath", "smartquotes"]
    quiet = {"report_level": 5, "halt_level": 5, "warning_stream": False}
    settings = {"myst_enable_extensions": extensions, **quiet}
    read = publish_doctree(page, parser=Parser(), settings_overrides=settings)
    entries = [
        item
        for item in read.findall(nodes.definition_list_item)
        if "prf:ref" in item[0].rawsource + item[0].astext()
    ]
    assert all(len(list(item.findall(nodes.definition))) == 3 for item in entries)
    assert len(entries) == len(claims())
    assert 2 * len(list(read.findall(nodes.math_block))) == page.count("$$")
    assert "$$ (" not in page
    assert "$" not in "".join(
        t
        for t in read.findall(nodes.Text)
        if not isinstance(t.parent, nodes.math | nodes.math_block)
    )
