"""Every claim is recorded as its page prints it; every mutant, of it and of the library, is killed.

A claim is verified on its page, by nbval, and each mutant of it here: the record holds what
another process said.
"""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from sympy import Rational

from chapters import killed_by, library_mutants
from every import try_each
from slipped import plant
from tformer import reference as ref
from tformer_book.claims import (
    ClaimFailed,
    Evidence,
    claim,
    claims,
    counterexample,
    registry,
    require,
    verify,
)
from tformer_book.claims.record import records, refutation
from tformer_book.claims.tools import (
    Counted,
    circles,
    cosine_moments,
    expectation,
    formula,
    identity,
    near,
    one_winner,
    row,
    show,
    sizes,
)
from tformer_book.pipeline import find_root, notebooks
from tformer_book.pipeline.generators import ledger
from tformer_book.pipeline.notebook.normalise import code_cells, load, tags
from tformer_book.pipeline.site.seals import CALL

ROOT = find_root(Path(__file__).parent)
ALL = {found.label: found for found in claims()}
DIGIT = re.compile(r"\d")


def each_claim(labels):
    """Labels as parameters whose ids begin with the chapter, so that -k finds them."""
    return [pytest.param(label, id=f"ch{ALL[label].chapter:02d}-{label}") for label in labels]


@cache
def printed():
    """What the pages print where they verify a claim alone: label -> texts.

    nbval runs these cells and compares what they print, so here no claim is verified again.
    """
    found = {}
    for path in notebooks(ROOT):
        for cell in code_cells(load(path)):
            if call := CALL.fullmatch(cell.source):
                assert tags(cell) == set(), f"{path.name}: nbval has to compare {call[0]}"
                (output,) = cell.outputs
                found.setdefault(call[1], []).append(output.data["text/plain"])
    return found


@pytest.mark.parametrize("label", each_claim(ALL))
def test_page_prints_what_is_recorded(label):
    found, recorded = ALL[label], records()[label]
    evidence = Evidence(label, found.kind, recorded.evidence, found.file)
    assert set(printed()[label]) == {repr(evidence)}, "`make run`, then `make ledger`"
    first, *body, last = repr(evidence).splitlines()
    assert first == f"{label} verified ({found.kind}):"
    assert last == f"  program: {found.file}"
    assert f'"{label}"' in (ROOT / found.file).read_text(encoding="utf-8")
    assert 1 <= len(body) <= 3
    assert max(map(len, [first, *body])) <= 90
    now = (found.kind, found.scope, list(found.mutants))
    assert (recorded.kind, recorded.scope, list(recorded.refuted)) == now, "`make ledger` writes it"
    assert len(found.verification.__doc__.strip().splitlines()) <= 3


def test_ledger_holds_what_is_recorded():
    page = (ROOT / ledger.PAGE).read_text(encoding="utf-8")
    assert ledger.render(claims(), ledger.stated(ROOT), records()) == page, (
        "`make ledger` writes it"
    )


@pytest.mark.parametrize("label", each_claim(ALL))
def test_mutants_of_a_statement_fail_with_the_recorded_numbers(label):
    def check(variant):
        said = refutation(label, variant)
        assert DIGIT.search(said)
        assert said == records()[label].refuted[variant], "`make ledger` writes it"

    try_each(check, ((variant, (variant,)) for variant in ALL[label].mutants))


def test_claims_are_listed_by_chapter():
    chapters = sorted({found.chapter for found in claims()})
    assert chapters[:3] == [0, 1, 2]
    assert claims() == tuple(found for chapter in chapters for found in claims(chapter))
    assert claims(99) == ()


# Mutants of the library


KILLS = {
    label: [name for killed in killed_by().values() for name in killed if label in killed[name]]
    for label in ALL
}
"""The mutants of the library that a claim must kill."""


@pytest.mark.parametrize("label", each_claim(label for label in ALL if KILLS[label]))
def test_claim_kills_mutants_of_the_library(label):
    def check(function, mutant):
        with pytest.MonkeyPatch.context() as monkeypatch:
            plant(function, mutant, monkeypatch)
            with pytest.raises(ClaimFailed, match=f"^{label} is false: "):
                verify(label)

    try_each(check, ((name, library_mutants()[name]) for name in KILLS[label]))


def test_mutants_are_killed_by_claims_of_the_chapter_that_lists_them():
    for chapter, killed in killed_by().items():
        homes = {ALL[label].chapter for labels in killed.values() for label in labels}
        assert homes <= {chapter}
    assert {name for killed in killed_by().values() for name in killed} == set(library_mutants())


def test_every_function_that_claims_speak_of_has_a_mutant():
    sources = "\n".join(path.read_text("utf-8") for path in ROOT.glob("lib/**/claims*.py"))
    spoken = set(re.findall(r"\bref\.(\w+)", sources)) & set(ref.__all__) - {"cooccurrence"}
    assert len(spoken) > 25
    mutated = {function for function, _ in library_mutants().values() if "." not in function}
    assert spoken <= mutated <= set(ref.__all__)


# The framework


@pytest.fixture
def empty(monkeypatch):
    monkeypatch.setattr(registry, "_claims", {})
    monkeypatch.setattr(registry, "load", lambda *_: [])


def one_is_one(one: int = 1) -> str:
    """Tried with one number."""
    require(one == 1, f"{one} is not 1")
    return "looked at it"


def register(
    run=one_is_one, module="tformer_book.chapters.ch07.claims", label="thm-one", **changed
):
    run.__module__ = module
    arguments = {"kind": "exhaustive", "mutants": {"two": {"one": 2}}, "scope": "one"} | changed
    return claim(label, **arguments)(run)


def test_registered_claim_is_found_and_unchanged(empty):
    assert register() is one_is_one
    (found,) = claims(7)
    assert (found.label, found.chapter, found.verification) == ("thm-one", 7, one_is_one)
    assert repr(verify("thm-one")) == (
        "thm-one verified (exhaustive):\n  looked at it\n"
        "  program: lib/tformer_book/chapters/ch07/claims.py"
    )
    assert counterexample("thm-one", "two") == "2 is not 1"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": "theorem-one"}, "label 'theorem-one' is not thm-"),
        ({"label": "thm-One"}, "label 'thm-One' is not thm-"),
        ({"kind": "obvious"}, "kind 'obvious' is not one of symbolic, exhaustive"),
        ({"mutants": {}}, "at least one mutant"),
        ({"scope": ""}, "a scope has 1 to 60 letters"),
        ({"scope": "n" * 61}, "a scope has 1 to 60 letters"),
        ({"module": "__main__"}, "not in the folder of a chapter"),
        ({"run": lambda: "nothing"}, "has no docstring that says what it tries"),
    ],
)
def test_malformed_claim_is_refused(empty, changed, message):
    with pytest.raises(ValueError, match=message):
        register(**changed)
    assert claims() == ()


def test_label_has_one_verification(empty):
    def another() -> str:
        """Another."""
        return ""

    register()
    register()  # the same function again, as when its module is reloaded
    with pytest.raises(ValueError, match=r"one_is_one verifies it already, and so .*another"):
        register(another)


def test_unknown_label_names_near_ones():
    with pytest.raises(LookupError, match="did you mean thm-cauchy-schwarz"):
        verify("thm-cauchy-schwartz")
    with pytest.raises(LookupError, match=r"claims\(\) lists them all"):
        verify("xyzzy")
    with pytest.raises(LookupError, match="it has a constant below one"):
        counterexample("thm-cauchy-schwarz", "no such variant")


def test_mutant_that_is_verified_is_reported(empty):
    register(mutants={"still one": {"one": 1}})
    with pytest.raises(ClaimFailed, match="'still one' is verified as well"):
        counterexample("thm-one", "still one")


def test_identity_names_values_where_the_sides_differ():
    (a,) = row("a", 1)
    identity((a + 1) ** 2, a**2 + 2 * a + 1, "binomial")
    with pytest.raises(ClaimFailed, match=r"^square fails at a1 = 2: 9 ≠ 5$"):
        identity((a + 1) ** 2, a**2 + 1, "square")
    with pytest.raises(ClaimFailed, match=r"^sizes fails: shape \(2,\) ≠ \(1,\)$"):
        identity([a, a], [a], "sizes")


def test_expectation_uses_independence_and_moments():
    a, b = row("a", 2)
    moments = {0: 1, 1: 3, 2: 10}
    assert expectation(a * b, moments) == 9
    assert expectation((a - b) ** 2, moments) == 2


def test_tools():
    assert formula(ref.dot)(row("q", 2), row("k", 2)) == sum(row("q", 2) * row("k", 2))
    assert near([1.0, 2.0], [1.0, 2.0 + 1e-13])
    assert not near([1.0, np.nan], [1.0, np.nan])
    assert show([3.0, -0.5]) == "(3, -0.5)"
    assert [*sizes(3)] == [1, 2, 3]


def test_shared_numbers():
    assert cosine_moments(3) == (0, Rational(1, 3))
    assert len(circles([25])) == 12
    scores, lead = one_winner(2)
    assert (np.abs(scores[:, 0] - scores[:, 1]) == lead).all()
    done = []
    one = Counted(done)
    _ = (2.0 * one + one).exp() / one
    assert done == ["×", "+", "exp", "÷"]
