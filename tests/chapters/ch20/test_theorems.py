"""The claims of the chapter are verified, and their mutants refuted, before there is a page."""

import re
import sys
from collections.abc import Iterator
from importlib import import_module

import pytest

from tformer.claims import ClaimFailed, registry

MODULES = [
    f"tformer.chapters.ch20.{name}"
    for name in ("claims", "claims_counting", "claims_fits", "claims_published", "claims_sweep")
]
LABELS = {
    "exm-five",
    "exm-held-out",
    "exm-refit",
    "exm-rounding",
    "exm-selected",
    "exm-sweep",
    "prop-offset",
    "prop-spread",
    "prop-uncounted",
    "thm-optimum",
    "thm-parabola",
    "thm-six",
}


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, registry.Claim]]:
    """The claims of this chapter alone; the ledger knows nothing of them until they have a page."""
    monkeypatch.setattr(registry, "_claims", {})
    for name in MODULES:
        monkeypatch.delitem(sys.modules, name, raising=False)
        import_module(name)
    yield registry._claims
    for name in MODULES:
        sys.modules.pop(name, None)


def test_labels(found: dict[str, registry.Claim]) -> None:
    assert set(found) == LABELS


@pytest.mark.parametrize("label", sorted(LABELS))
def test_claim_holds_and_each_mutant_is_refuted(
    found: dict[str, registry.Claim], label: str
) -> None:
    one = found[label]
    evidence = repr(registry.Evidence(label, one.kind, one.verification(), one.file))
    assert len(evidence.splitlines()) <= 5
    assert len(one.mutants) >= 2
    assert len((one.verification.__doc__ or "").strip().splitlines()) <= 3
    for variant, arguments in one.mutants.items():
        with pytest.raises(ClaimFailed) as raised:
            one.verification(**arguments)
        assert re.search(r"\d", str(raised.value)), variant
