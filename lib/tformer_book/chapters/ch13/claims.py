"""The claims of chapter 13: what must be known, what a loss is made of, and what it asks."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch13 import reached as models
from tformer_book.chapters.ch13.known import (
    LAST,
    left,
    masked,
    ngrams,
    tokens,
    uncertainties,
    world,
)
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, show, simplex_grid
from tformer_book.claims.tools import row as symbols
from tformer_book.world.stories import WHO, stories


@claim(
    "exm-last-words",
    "exhaustive",
    mutants={
        "the word before tells the kind": {"silent": 1},
        "the verb tells the kind": {"steps": (0, 2, 11, 13)},
        "frequent nouns change nothing": {"zipf": 1.0},
    },
    scope="all 2,880 stories; k from 0 to 18",
)
def last_words(silent: int = 2, steps: tuple[int, ...] = (0, 2, 11, 16), zipf: float = 0.0) -> str:
    """A second count, story by story; and the words at each step."""
    want = (3.504, 2.208, 1.104, 0.0)
    one = stories(zipf=zipf)
    for k in range(LAST + 1):
        got = _again(one.texts, one.p, k)
        stated = want[sum(k >= step for step in steps) - 1]
        require(near(got, stated, 6e-4), f"after {k} words {got:.3f} is left, not {stated}")
        require(near(left(k), got, 1e-9), f"another count of {k} words gives {left(k):.4f}")
    sizes = {noun: len(nouns) for nouns in WHO.values() for noun in nouns}
    kinds = np.mean([np.log(sizes[text.split()[-2]]) for text in one])
    require(near(left(silent), kinds, 1e-9), f"{left(silent):.4f}; the kind leaves {kinds:.4f}")
    require(near(left(11), kinds / 2, 1e-9), f"{left(11):.4f} is not half of {kinds:.4f}")
    for n, stated in ((0, 31.5), (1, 3.22), (2, 2.58), (18, 1.52)):
        got = float(np.exp(ngrams(n)))
        require(near(got, stated, 0.05 if not n else 5e-3), f"{n} words: perplexity {got:.3f}")
    return (
        "two counts agree for every k; the cure leaves the logarithm of the size of the kind, in "
        "the mean, and the second noun half of it"
    )


def _again(texts: tuple[str, ...], p: np.ndarray, k: int) -> float:
    """The uncertainty of the patient after the last k words, from dictionaries of strings."""
    after: dict[str, dict[str, float]] = {}
    for text, share in zip(texts, p, strict=True):
        words = ["."] + text.split()
        counts = after.setdefault(" ".join(words[LAST - k : LAST]), {})
        counts[words[LAST]] = counts.get(words[LAST], 0.0) + share
    total = 0.0
    for counts in after.values():
        whole = sum(counts.values())
        total -= sum(share * np.log(share / whole) for share in counts.values())
    return float(total)


@claim(
    "exm-reached",
    "empirical",
    mutants={
        "a word fewer is as good": {"fewer": 1},
        "the floor is reached exactly": {"above": 0.0},
        "the nouns need not be seen": {"known": {10: 11, 15: 16}},
    },
    scope="18 stored trainings of two blocks, three a window",
)
def reached(fewer: int = 0, above: float = 0.1, known: dict[int, int] | None = None) -> str:
    """What is stored against the exact floors; the tests train one of them again."""
    found = models.stored()
    require(set(found) == set(models.SEEN), f"stored are {sorted(found)}")
    for k, runs in found.items():
        least = left((known or {}).get(k, k) - fewer * (k in (2, 11, 16)))
        for first, last in runs:
            require(last >= least - 1e-4, f"{k} words: {last} is below the floor, {least:.4f}")
            require(last <= least + above, f"{k} words: {last} is well above {least:.4f}")
            require(first > 4, f"{k} words: {first} before training")
    return "no stored loss is below the exact floor, and none is more than 0.1 nats above it"


@claim(
    "thm-cross-entropy",
    "symbolic",
    mutants={
        "the divergence the other way round": {"turned": True},
        "the uncertainty is the model's": {"own": True},
        "the words of a text are independent": {"chained": False},
        "the sum goes over words that cannot come": {"over_all": True},
        "another model can have the entropy as well": {"only": False},
    },
    scope="N ≤ 3, symbols; pairs of rows of fifths; 40 worlds of texts",
)
def cross_entropy(
    turned: bool = False,
    own: bool = False,
    chained: bool = True,
    over_all: bool = False,
    only: bool = True,
) -> str:
    """Symbols; samples by the library, also of words that cannot come; and texts, word by word."""
    for n in (2, 3):
        q, p = symbols("r", n, positive=True), symbols("p", n, positive=True)
        log = np.vectorize(sp.log)
        entropy = -(p * log(p)).sum() if own else -(q * log(q)).sum()
        divergence = (p * (log(p) - log(q))).sum() if turned else (q * (log(q) - log(p))).sum()
        identity(
            sp.expand(-(q * log(p)).sum()),
            sp.expand(entropy + divergence),
            f"the loss over {n} words",
        )
    tried = _samples(over_all, only)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        _texts(rng, int(rng.integers(2, 6)), chained)
    return (
        f"the identity for symbols; the library's mean losses in {tried} pairs of rows of fifths, "
        "with zeros, are the entropy only for p = r; surprises of words add up to those of texts, "
        "and floors to the entropy"
    )


def _samples(over_all: bool, only: bool) -> int:
    """Five words that came, and a model: the library's losses against sums that are written out."""
    rows, tried = [row for n in (2, 3) for row in simplex_grid(n, 5)], 0
    for r, p in product(rows, rows):
        if len(r) != len(p) or (can := r > 0)[p == 0].any():
            continue
        if over_all:
            can = np.ones_like(can)
        with np.errstate(divide="ignore", invalid="ignore"):
            z, parts = np.log(p), np.array([r * np.log(r), r * np.log(r / p)])
        floor, kl = parts[:, can].sum(axis=1) * (-1, 1)
        came = np.repeat(np.arange(len(r)), np.rint(5 * r).astype(int))
        loss = float(ref.cross_entropy(np.tile(z, (5, 1)), came).mean())
        said = f"r = {show(r)}, p = {show(p)}: {loss:.4f}, of which {floor:.4f} is the entropy"
        require(near(loss, floor + kl) and near(ref.entropy(r), floor), said)
        require(loss >= floor - 1e-12, said)
        require((near(loss, floor) == bool((p == r).all())) if only else near(loss, floor), said)
        tried += 1
    return tried


def _texts(rng: np.random.Generator, n: int, chained: bool) -> None:
    """Texts of three words, true and modelled: both floors and losses, by texts and by words."""
    q, p = (rng.dirichlet(np.ones(n**3)).reshape(n, n, n) for _ in range(2))
    by_words = floor = 0.0
    for t in range(3):
        shares = [x.sum(axis=tuple(range(t + 1, 3))) for x in (q, p)]
        before = [x.sum(axis=-1, keepdims=True) if chained else 1.0 for x in shares]
        if not chained:
            shares = [x.sum(axis=tuple(range(t))) for x in shares]
        by_words -= float((shares[0] * np.log(shares[1] / before[1])).sum())
        floor -= float((shares[0] * np.log(shares[0] / before[0])).sum())
    whole = -float((q * np.log(p)).sum())
    require(near(by_words, whole, 1e-9), f"by words {by_words:.4f}, by texts {whole:.4f}")
    require(near(floor, -float((q * np.log(q)).sum()), 1e-9), "the floors do not add up")


@claim(
    "thm-masked",
    "numeric",
    mutants={
        "the questions add up to the whole": {"equal": True},
        "asked of those before, they add up to less": {"others": False},
        "every noun is known from the rest": {"noun": 0.0},
    },
    scope="all tables of three bits with entries of 1/5; stories",
)
def masked_questions(equal: bool = False, others: bool = True, noun: float = 1.0) -> str:
    """Every table of three bits with shares of fifths; then the stories, place by place."""
    rows = np.array(list(product((0, 1), repeat=3)))
    strict = tables = 0
    for cuts in combinations(range(12), 7):
        counts = np.diff([-1, *cuts, 12]) - 1
        p = counts / 5
        whole = uncertainties(rows, p)
        if others:
            without = [
                float(uncertainties(rows[:, [s for s in range(3) if s != t]], p)[-1])
                for t in range(3)
            ]
            asked = sum(whole[-1] - one for one in without)
        else:
            asked = float(np.diff(whole).sum())
        require(asked <= whole[-1] + 1e-9, f"{show(counts)}: {asked:.4f} above {whole[-1]:.4f}")
        require(not equal or near(asked, whole[-1], 1e-9), f"{show(counts)}: {asked:.4f}")
        strict += asked < whole[-1] - 1e-9
        tables += 1
    require(strict > 0, f"{strict} of {tables} tables have less")
    found, words = masked(), world().texts[0].split()
    for t, (one, word) in enumerate(zip(found, words, strict=True)):
        want = noun if t in (1, 6) else 0.0
        require(near(one, want, 5e-3), f"{word} at {t}: {one:.4f}, not {want}")
    require(near(found.sum(), 2.0, 5e-3), f"in all {found.sum():.4f}")
    return f"{tables} tables, {strict} of them with less; all 19 places of the stories"


@claim(
    "prop-still-moving",
    "symbolic",
    mutants={
        "at the floor nothing moves": {"rest": 0},
        "the mean keeps what came": {"mean": 1},
        "shares are not squared": {"power": 1},
    },
    scope="N ≤ 4, symbols; the first noun of the small world",
)
def still_moving(rest: int = 1, mean: int = 0, power: int = 2) -> str:
    """The mean over what may come, by symbols; then the library's gradients of all stories."""
    for n in (2, 3, 4):
        p, q = symbols("p", n), symbols("r", n)
        q[-1] = 1 - q[:-1].sum()
        unit = np.array([[sp.Integer(i == j) for j in range(n)] for i in range(n)])
        came = sum(q[w] * (p - unit[w]) for w in range(n))
        identity(came, p - q + mean * unit[0], f"the mean, N = {n}")
        length = sum(q[w] * ((p - unit[w]) ** 2).sum() for w in range(n))
        want = ((p - q) ** 2).sum() + rest * (1 - (q**power).sum())
        identity(sp.expand(length), sp.expand(want), f"the mean square, N = {n}")
    rows = tokens()
    q = np.bincount(rows[:, 2], minlength=len(world().words)) / len(rows)
    with np.errstate(divide="ignore"):
        logits = np.tile(np.log(q), (len(rows), 1))
    got = ref.cross_entropy_vjp(logits, rows[:, 2], np.ones(len(rows)))
    require(near(got.mean(axis=0), 0, 1e-12), "at the floor the mean gradient is not 0")
    square = float((got**2).sum(axis=1).mean())
    want = rest * (1 - float((q**power).sum()))
    require(near(square, want, 1e-12), f"mean square {show(square)}, not {show(want)}")
    return "both means for symbols; the library's gradients at the exact shares of the first noun"
