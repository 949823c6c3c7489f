"""Every claim passes, every broken variant fails, and a broken library breaks its claims."""

import re

import numpy as np
import pytest

from tformer import claims as book
from tformer import reference as ref
from tformer.claims import ClaimFailed, claim, claims, counterexample, registry, require, verify
from tformer.claims.tools import expectation, formula, identity, near, row, show

ALL = {found.label: found for found in claims()}
BROKEN = [(label, variant) for label, found in ALL.items() for variant in found.broken]
DIGIT = re.compile(r"\d")


@pytest.mark.parametrize("label", ALL)
def test_claim_holds_and_says_the_same_each_time(label):
    evidence = verify(label)
    assert (evidence.label, evidence.kind) == (label, ALL[label].kind)
    assert repr(evidence) == repr(verify(label))
    first, *body = repr(evidence).splitlines()
    assert first == f"{label} holds ({evidence.kind} check):"
    assert 1 <= len(body) <= 3
    assert max(map(len, [first, *body])) <= 90


@pytest.mark.parametrize(("label", "variant"), BROKEN)
def test_broken_variant_fails_with_numbers(label, variant):
    with pytest.raises(ClaimFailed, match=DIGIT) as failure:
        ALL[label].check(**ALL[label].broken[variant])
    assert counterexample(label, variant) == str(failure.value)


@pytest.mark.parametrize("label", ALL)
def test_claim_is_stated(label):
    found = ALL[label]
    assert found.kind in book.KINDS
    assert found.broken
    assert found.statement.endswith((".", ")"))
    assert "\n" not in found.statement


def test_claims_are_listed_by_chapter():
    chapters = sorted({found.chapter for found in claims()})
    assert chapters[:3] == [1, 2, 3]
    assert claims() == tuple(found for chapter in chapters for found in claims(chapter))
    assert claims(99) == ()


def naive_softmax(x, axis=-1, beta=1.0):
    with np.errstate(all="ignore"):
        terms = np.exp(beta * x)
        return terms / terms.sum(axis=axis, keepdims=True)


def log_after_softmax(x, axis=-1, beta=1.0):
    with np.errstate(divide="ignore"):
        return np.log(ref.softmax(x, axis, beta))


def root_svd_embeddings(matrix, d_model):
    u, sigma, _ = np.linalg.svd(matrix)
    return u[:, :d_model] * np.sqrt(sigma[:d_model])


def unclipped_ppmi(counts):
    chance = counts.sum(axis=-1, keepdims=True) * counts.sum(axis=-2, keepdims=True)
    ratio = counts * counts.sum() / chance
    return np.log(np.where(counts == 0, 1, ratio))


def plus_jacobian(p, beta=1.0):
    return beta * (np.eye(p.shape[-1]) * p[..., None, :] + p[..., :, None] * p[..., None, :])


def softmax_over_queries(q, k, mask=None, bias=None, scale=None):
    return ref.softmax((q @ k.mT) * (scale or q.shape[-1] ** -0.5), axis=-2)


def attention_unscaled(q, k, v, mask=None, bias=None, scale=None):
    return ref.attention_weights(q, k, mask, bias, scale or 1.0) @ v


def attention_masked_late(q, k, v, mask=None, bias=None, scale=None):
    weights = ref.attention_weights(q, k, None, bias, scale)
    return (weights if mask is None else weights * mask) @ v


def attention_without_bias(q, k, v, mask=None, bias=None, scale=None):
    return ref.attention_weights(q, k, mask, None, scale) @ v


def attention_vjp_uncentred(q, k, v, grad, mask=None, bias=None, scale=None):
    scale = scale or q.shape[-1] ** -0.5
    weights = ref.attention_weights(q, k, mask, bias, scale)
    slopes = weights * (grad @ v.mT)
    return scale * slopes @ k, scale * slopes.mT @ q, weights.mT @ grad, slopes


# A mistake in one library function, and the claims that must notice it.
MISTAKES = {
    "dot: mean, not sum": (
        "dot",
        lambda q, k: (q * k).mean(axis=-1),
        [
            "exm-dot-by-hand",
            "thm-dot-variance",
            "prop-table-of-dots",
            "thm-projection",
            "thm-moments-gaussian",
            "prop-fourth-moment",
            "prop-covariance",
            "prop-excess-kurtosis",
            "thm-aligned",
            "thm-conditional-gaussian",
            "prop-heavy-tails",
        ],
    ),
    "dot: the wrong axis": (
        "dot",
        lambda q, k: (q * k).sum(axis=0),
        ["prop-table-of-dots", "thm-entropy-temperature"],
    ),
    "norm: no root": (
        "norm",
        lambda x: (x * x).sum(axis=-1),
        ["exm-dot-by-hand", "prop-law-of-cosines", "thm-cauchy-schwarz"],
    ),
    "cosine: one norm only": (
        "cosine_similarity",
        lambda q, k: ref.dot(q, k) / ref.norm(k),
        ["exm-dot-by-hand"],
    ),
    "distance: of absolute values": (
        "squared_distance",
        lambda q, k: abs(q - k).sum(axis=-1),
        ["prop-law-of-cosines", "thm-projection", "prop-rankings-agree"],
    ),
    "projection: onto q": (
        "projection",
        lambda q, k: ((q * k).sum(axis=-1) / (q * q).sum(axis=-1)) * q,
        ["exm-dot-by-hand", "thm-projection"],
    ),
    "table: transposed": (
        "pairwise_dot",
        lambda q, k: k @ q.mT,
        ["exm-table-by-hand", "prop-table-of-dots"],
    ),
    "table: absolute values": (
        "pairwise_dot",
        lambda q, k: np.abs(q @ k.mT),
        ["prop-law-of-cosines", "thm-dot-variance", "prop-rankings-agree", "thm-limit-law"],
    ),
    "cosine table: not normalised": (
        "pairwise_cosine",
        lambda q, k: q @ k.mT,
        ["exm-rankings-differ", "thm-hoeffding-cosine", "thm-cosine-variance", "prop-qk-norm"],
    ),
    "distance table: absolute values": (
        "pairwise_squared_distance",
        lambda q, k: np.abs(q[..., :, None, :] - k[..., None, :, :]).sum(axis=-1),
        ["prop-law-of-cosines", "exm-rankings-differ", "prop-rankings-agree"],
    ),
    "ppmi: not clipped": ("ppmi", unclipped_ppmi, ["exm-ppmi-by-hand"]),
    "svd: roots of the singular values": (
        "svd_embeddings",
        root_svd_embeddings,
        ["prop-svd-error"],
    ),
    "softmax: no shift": (
        "softmax",
        naive_softmax,
        ["prop-naive-overflow", "thm-shift-invariance"],
    ),
    "softmax: the wrong axis": (
        "softmax",
        lambda x, axis=-1, beta=1.0: naive_softmax(x, 0, beta),
        [
            "prop-softmax-two",
            "thm-softmax-variational",
            "prop-softmax-limits",
            "cor-jacobian-scales",
        ],
    ),
    "softmax: β forgotten": (
        "softmax",
        lambda x, axis=-1, beta=1.0: naive_softmax(x, axis),
        ["thm-softmax-variational", "prop-softmax-limits", "thm-entropy-temperature"],
    ),
    "log-softmax: log of softmax": ("log_softmax", log_after_softmax, ["exm-log-of-softmax"]),
    "lse: not divided by β": (
        "logsumexp",
        lambda x, axis=-1, beta=1.0: np.log(np.exp(beta * x).sum(axis=axis)),
        ["thm-softmax-variational", "thm-lse-bounds", "thm-entropy-temperature"],
    ),
    "entropy: in bits": (
        "entropy",
        lambda p, axis=-1: -(p * np.log2(np.where(p == 0, 1, p))).sum(axis=axis),
        [
            "lem-gibbs",
            "thm-softmax-variational",
            "thm-entropy-temperature",
            "thm-entropy-gaussian",
        ],
    ),
    "Jacobian: the wrong sign": (
        "softmax_jacobian",
        plus_jacobian,
        [
            "thm-softmax-jacobian",
            "prop-jacobian-null",
            "thm-jacobian-norm",
            "thm-lse-convex",
            "thm-jacobian-bounds",
        ],
    ),
    "Jacobian: β forgotten": (
        "softmax_jacobian",
        lambda p, beta=1.0: np.diag(p) - np.outer(p, p),
        ["thm-softmax-jacobian"],
    ),
    "weights: softmax over the queries": (
        "attention_weights",
        softmax_over_queries,
        ["thm-bilinear-rank", "thm-retrieval", "exm-buy-milk", "prop-only-pairs"],
    ),
    "attention: no scale": (
        "attention",
        attention_unscaled,
        ["thm-nadaraya-watson", "cor-gaussian-kernel", "exm-three-tokens", "exm-cpp-attention"],
    ),
    "attention: masked after softmax": (
        "attention",
        attention_masked_late,
        ["prop-mask-is-restriction", "thm-convex-hull", "exm-uniform"],
    ),
    "attention: bias ignored": ("attention", attention_without_bias, ["thm-attention-vjp"]),
    "attention: values off by one": (
        "attention",
        lambda q, k, v, mask=None, bias=None, scale=None: (
            np.roll(ref.attention_weights(q, k, mask, bias, scale), 1, axis=-1) @ v
        ),
        ["thm-hard-lookup", "thm-equivariance", "prop-not-invariant"],
    ),
    "attention vjp: not centred": (
        "attention_vjp",
        attention_vjp_uncentred,
        ["thm-attention-vjp", "prop-gradient-to-q"],
    ),
    "vjp: the mean forgotten": (
        "softmax_vjp",
        lambda p, grad, axis=-1, beta=1.0: beta * p * grad,
        ["thm-softmax-jacobian"],
    ),
}


@pytest.mark.parametrize(
    ("mistake", "label"), [(name, label) for name, case in MISTAKES.items() for label in case[2]]
)
def test_broken_library_breaks_the_claim(mistake, label, monkeypatch):
    function, wrong, _ = MISTAKES[mistake]
    monkeypatch.setattr(ref, function, wrong)
    with pytest.raises(ClaimFailed, match=f"^{label} is false: "):
        verify(label)


def test_every_function_that_claims_speak_of_is_broken_once():
    assert {case[0] for case in MISTAKES.values()} == set(ref.__all__) - {"cooccurrence"}


# The framework


@pytest.fixture
def empty(monkeypatch):
    monkeypatch.setattr(registry, "_claims", {})
    monkeypatch.setattr(registry, "load", lambda *_: [])


def one_is_one(one: int = 1) -> str:
    """One is one.

    Not part of the statement.
    """
    require(one == 1, f"{one} is not 1")
    return "looked at it"


def register(check=one_is_one, module="tformer.chapters.ch07.claims", label="thm-one", **changed):
    check.__module__ = module
    arguments = {"kind": "exhaustive", "broken": {"two": {"one": 2}}} | changed
    return claim(label, **arguments)(check)


def test_registered_claim_is_found_and_unchanged(empty):
    assert register() is one_is_one
    (found,) = claims(7)
    assert (found.label, found.chapter, found.statement) == ("thm-one", 7, "One is one.")
    assert repr(verify("thm-one")) == "thm-one holds (exhaustive check):\n  looked at it"
    assert counterexample("thm-one", "two") == "2 is not 1"


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"label": "theorem-one"}, "label 'theorem-one' is not thm-"),
        ({"label": "thm-One"}, "label 'thm-One' is not thm-"),
        ({"kind": "obvious"}, "kind 'obvious' is not one of symbolic, exhaustive"),
        ({"broken": {}}, "at least one broken variant"),
        ({"module": "__main__"}, "not in the folder of a chapter"),
        ({"check": lambda: "nothing"}, "docstring of .* must state it"),
    ],
)
def test_malformed_claim_is_refused(empty, changed, message):
    with pytest.raises(ValueError, match=message):
        register(**changed)
    assert claims() == ()


def test_label_has_one_check(empty):
    def another() -> str:
        """Another statement."""
        return ""

    register()
    register()  # the same function again, as when its module is reloaded
    with pytest.raises(ValueError, match=r"one_is_one checks it already, and so .*another"):
        register(another)


def test_unknown_label_names_near_ones():
    with pytest.raises(LookupError, match="did you mean thm-cauchy-schwarz"):
        verify("thm-cauchy-schwartz")
    with pytest.raises(LookupError, match=r"claims\(\) lists them all"):
        verify("xyzzy")
    with pytest.raises(LookupError, match="it has a constant below one"):
        counterexample("thm-cauchy-schwarz", "no such variant")


def test_broken_variant_that_passes_is_reported(empty):
    register(broken={"still one": {"one": 1}})
    with pytest.raises(ClaimFailed, match="'still one' passes its check"):
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
