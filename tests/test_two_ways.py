"""What a claim compares comes by another way than what it claims: decision 040."""

import numpy as np
import pytest

from tformer import reference as ref
from tformer_book.chapters.ch14 import curve
from tformer_book.claims import claims, find
from tformer_book.claims.registry import Claim
from tformer_book.claims.tools import near
from two_ways import library, shared, stored

ONE_FUNCTION = {
    "thm-causal": "attention_weights stands in the mistake alone that a mutant plants",
    "prop-patch-permutation": "causal_mask stands in the mistake alone that a mutant plants",
    "exm-one-curve": "the loop and Adam alone; the gradients come by hand and by autograd",
    "exm-sweep": "a floor fitted to trainings, and the entropy of the source of their texts",
    "prop-one-curve": "one training that was stopped is held to the same one that was not",
}
"""Claims whose statement is about one function that is called twice, and why that is enough."""

MORE_THAN_STORED = {
    "exm-cpp-block": "what a program gave is stored, and is computed again",
    "prop-smoothing": "an identity for symbols; stored trainings are looked at besides",
    "prop-step-by-axis": "an expectation for symbols; stored trainings are looked at besides",
    "thm-coin": "random models as well",
}
"""Claims that read stored runs and rest on something else, and on what."""


def test_no_claim_compares_a_function_with_itself_alone() -> None:
    found = {claim.label: shared(claim) for claim in claims()}
    lonely = {label: where for label, where in found.items() if where}
    said = [f"{x}: {name} at {lines[0]}" for x in lonely for name, lines in lonely[x].items()]
    assert set(lonely) <= set(ONE_FUNCTION), "by another way, or with a reason:\n" + "\n".join(said)
    assert set(ONE_FUNCTION) <= set(lonely), "no longer needed"


def test_what_rests_on_stored_runs_says_so() -> None:
    reading = {claim.label for claim in claims() if stored(claim) and claim.kind != "empirical"}
    assert reading == set(MORE_THAN_STORED)


# The check itself


def twice(rows: np.ndarray) -> bool:
    """A function that is compared with itself."""
    return near(ref.softmax(rows + 1), ref.softmax(rows))


def through_names(rows: np.ndarray, late: bool = False) -> bool:
    """The same behind names, a choice and a difference."""
    read = ref.log_softmax if late else ref.softmax
    before, after = (read(x) for x in (rows, rows[::-1]))
    off = np.abs(after - before[::-1])
    return bool(off.max() < 1e-9)


def squared(rows: np.ndarray) -> bool:
    """The same, and the size of a difference that has a name."""
    off = ref.softmax(rows) - ref.softmax(rows + 1)
    return float((off**2).sum()) < 1e-9


def of_one_list(rows: np.ndarray) -> bool:
    """Parts of one list."""
    found = [ref.softmax(rows + i) for i in range(3)]
    return all(near(found[0], one) for one in found)


def of_one_table(rows: np.ndarray) -> bool:
    """Parts of a table."""
    found = {"one": ref.softmax(rows), "other": ref.log_softmax(rows), "same": ref.softmax(rows)}
    return near(found["one"], found["same"])


def in_pairs(rows: np.ndarray) -> bool:
    """Pair by pair."""
    both = zip(ref.softmax(rows), ref.softmax(rows + 1), strict=True)
    return all(near(one, other) for one, other in both) and all(
        near(one, other) for one, other in zip(ref.softmax(rows), ref.softmax(rows), strict=True)
    )


def spread(rows: np.ndarray) -> bool:
    """How far many of them lie apart."""
    found = [ref.softmax(rows + i) for i in range(3)]
    return bool(np.ptp(np.stack(found), axis=0).max() < 1e-9)


def by_its_name(rows: np.ndarray) -> bool:
    """A function that is asked for by its name."""
    for name in ("softmax", "log_softmax"):
        read = getattr(ref, name)
        if not near(read(rows), read(rows + 1), 1e-9):
            return False
    return True


def anchored(rows: np.ndarray) -> bool:
    """The same, and once by another way."""
    want = np.exp(rows) / np.exp(rows).sum(axis=-1, keepdims=True)
    return twice(rows) and near(ref.softmax(rows), want) and near(ref.softmax(rows), want[::-1])


def anchored_by_one(rows: np.ndarray) -> bool:
    """Parts of one list, the first of which comes by another way too."""
    found = [ref.softmax(rows + i) for i in range(3)]
    want = np.exp(rows) / np.exp(rows).sum(axis=-1, keepdims=True)
    return near(found[0], want) and all(near(one, found[0]) for one in found)


def one_value(rows: np.ndarray) -> bool:
    """What is computed once may stand on both sides."""
    p = ref.softmax(rows)
    return near(ref.dot(p, rows), (p * rows).sum(axis=-1))


def one_of_many(rows: np.ndarray) -> bool:
    """So may one of many."""
    for p in [ref.softmax(rows + i) for i in range(3)]:
        if not near(ref.dot(p, rows), (p * rows).sum(axis=-1)):
            return False
    return True


@pytest.mark.parametrize(
    ("verification", "names"),
    [
        (twice, {"reference.softmax"}),
        (through_names, {"reference.softmax", "reference.log_softmax"}),
        (squared, {"reference.softmax"}),
        (of_one_list, {"reference.softmax"}),
        (of_one_table, {"reference.softmax", "reference.log_softmax"}),
        (in_pairs, {"reference.softmax"}),
        (spread, {"reference.softmax"}),
        (by_its_name, {"reference.softmax", "reference.log_softmax"}),
        (anchored, set()),
        (anchored_by_one, set()),
        (one_value, set()),
        (one_of_many, set()),
    ],
)
def test_a_function_on_both_sides_is_found(verification, names) -> None:  # type: ignore[no-untyped-def]
    assert verification(np.zeros((2, 3)))
    claim = Claim("thm-one", "numeric", 1, verification, {}, "")
    assert set(shared(claim)) == names


def test_a_function_behind_a_cache_is_followed() -> None:
    assert library(curve.losses) == library(curve.losses.__wrapped__) != frozenset()


def test_a_claim_that_was_too_weak_is_found() -> None:
    """Chapter 10's gradients of a tied table were compared with those of two tables alike."""

    def old(tokens, model, two, c, dz):  # type: ignore[no-untyped-def]
        got = ref.decoder_vjp(tokens, model, c, dz)[0].embedding
        apart = ref.decoder_vjp(tokens, two, c, dz)[0]
        return near(got, apart.unembedding.T + apart.embedding, 1e-10)

    claim = find("prop-tied-gradient")
    weak = Claim(claim.label, claim.kind, claim.chapter, old, {}, claim.scope)
    assert set(shared(weak)) == {"reference.decoder_vjp"}
    assert not shared(claim)
