"""What stands on a seal, and how its plain text is set."""

import re
from pathlib import Path

import pytest
from bs4 import BeautifulSoup

from every import every
from tformer_book.claims import KINDS, Claim, claims
from tformer_book.claims.record import Record, records
from tformer_book.pipeline import find_root
from tformer_book.pipeline.site.readable import html
from tformer_book.pipeline.site.seals import WORDS, seal

ROOT = find_root(Path(__file__).parent)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("within 1e-12", "within 10<sup>−12</sup>"),
        ("1.5e-05 or 1.00e+00", "1.5·10<sup>−5</sup> or 1.00"),
        ("(q_i k_j − q_j k_i)²", "(q<sub>i</sub> k<sub>j</sub> − q<sub>j</sub> k<sub>i</sub>)²"),
        ("mu_k1 = 2, sigma = 3", "μ<sub>k1</sub> = 2, σ = 3"),
        ("25.0*mu_k**2 + x1", "25.0·μ<sub>k</sub><sup>2</sup> + x<sub>1</sub>"),
        ("R^256, d^(n − 2)", "R<sup>256</sup>, d<sup>n − 2</sup>"),
        ("t*k and t* < 1", "t*k and t* &lt; 1"),
        ("float16: thm-max-2, n = 10", "float16: thm-max-2, n = 10"),
    ],
)
def test_plain_text_is_set_as_a_page_sets_it(text, expected):
    assert html(text) == expected


def test_every_kind_of_verification_has_a_seal():
    assert set(WORDS) == set(KINDS)


def variants(two: bool = False) -> str:
    """Nothing."""
    return f"{two} & 1"


def test_a_seal_holds_kind_scope_evidence_and_every_refutation():
    record = Record("numeric", "d ≤ 3", "1 < 2", {"two": "3 & 4", "one": "5"})
    page = seal(Claim("thm-a", "numeric", 1, variants, {}, "d ≤ 3"), record)
    assert page.startswith('<details class="tf-seal tf-numeric"><summary><svg')
    for part in ("Verified in numbers", "d ≤ 3", "1 &lt; 2."):
        assert part in page
    assert page.count("<details class='tf-break'>") == 2
    assert "<summary>two</summary><p><span class='tf-refuted'>Refuted</span> 3 &amp; 4.</p>" in page


@every("claim", claims())
def test_a_seal_shows_the_call_the_file_and_the_program(claim):
    seal_of = BeautifulSoup(seal(claim, records()[claim.label]), "html.parser")
    (program,) = seal_of.select("details.tf-program")
    call, file = (code.get_text() for code in program.select("summary code"))
    assert call == f'verify("{claim.label}")'
    text = (ROOT / file).read_text(encoding="utf-8")
    shown = program.pre.get_text()
    assert shown in text
    assert re.match(rf'@claim\(\s*"{claim.label}",', shown)
    assert f"\ndef {claim.verification.__name__}(" in shown
