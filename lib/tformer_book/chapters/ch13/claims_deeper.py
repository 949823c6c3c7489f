"""The claims of the deeper page of chapter 13."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import numpy as np

from tformer import reference as ref
from tformer_book.chapters.ch13.coder import counted, decoded, encoded, narrowed
from tformer_book.chapters.ch13.fit import conditionals, cross_ratios, drawn, joint, rounds
from tformer_book.chapters.ch13.known import tokens
from tformer_book.chapters.ch13.sampled import draws, plugged_in
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


@claim(
    "thm-code",
    "numeric",
    mutants={
        "one bit less will do": {"spare": 0},
        "a file is at most one bit longer": {"above": 1},
        "a file may begin another": {"apart": False},
    },
    scope="every 20th story, four models; all lengths up to 6",
)
def code(spare: int = 1, above: int = 2, apart: bool = True) -> str:
    """Stories by exact fractions, there and back; then all lengths of up to four files."""
    texts = [tuple(row) for row in tokens()[:, 1:].tolist()]
    for k in (0, 2, 4, 18):
        model = counted(texts, k)
        files = []
        for text in texts[::20]:
            file, (low, p) = encoded(text, model, spare), narrowed(text, model)
            end = float((Fraction(int(file, 2) + 1, 2 ** len(file)) - low) / p)
            require(end <= 1, f"{len(file)} bits reach to {end:.3f} of the text's interval")
            over = len(file) + float(np.log2(float(p)))
            require(0 <= over < above, f"{k} words: {over:.3f} bits above the loss")
            require(decoded(file, model, len(text)) == list(text), f"{file} comes back wrong")
            files.append(file)
        files.sort()
        begins = sum(b.startswith(a) for a, b in pairwise(files))
        require(not begins, f"{k} words: {begins} files begin another")
    lists = np.array(list(product(range(1, 7), repeat=4)))
    if apart:
        lists = lists[(0.5**lists).sum(axis=1) <= 1]
    for seed in range(40):
        r = np.random.default_rng(seed).dirichlet(np.ones(4))
        least, floor = float((lists @ r).min()), float(ref.entropy(r)) / np.log(2)
        require(least >= floor - 1e-12, f"{least:.3f} bits in the mean, entropy {floor:.3f}")
    return (
        "144 stories by 4 models come back, within 2 bits of their losses, and no file begins "
        f"another; {len(lists)} lists of four lengths are never below the entropy"
    )


@claim(
    "thm-own-text",
    "numeric",
    mutants={
        "on its own texts it has the least loss": {"below": False},
        "it is chosen before the texts are drawn": {"fitted": False},
        "new texts are as cheap as its own": {"others": False},
    },
    scope="all samples of up to 5 of 3 texts; 60 families",
)
def own_text(below: bool = True, fitted: bool = True, others: bool = True) -> str:
    """Every sample of each size, weighed by its probability; finite families, and all models."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        r, family = rng.dirichlet(np.ones(3)), rng.dirichlet(np.ones(3), 5)
        losses = -np.log(family)
        least = float((losses @ r).min())
        for n in range(1, 6):
            own = new = free = 0.0
            for p, shares in draws(r, n):
                best = int((losses @ shares).argmin()) if fitted else 0
                own += p * float(losses[best] @ shares)
                new += p * float(losses[best] @ r)
                free += p * float(plugged_in(shares))
            said = f"{n} texts: {own:.4f} on its own, {new:.4f} on new ones, least {least:.4f}"
            require(own <= least + 1e-12 if below else near(own, least, 1e-9), said)
            require(new >= least - 1e-12 if others else near(new, own, 1e-9), said)
            floor = float(ref.entropy(r))
            require(free <= floor + 1e-12, f"{n} texts by all models: {free:.4f} > {floor:.4f}")
    return "300 sizes and families: own texts never above the least loss, new texts never below"


@claim(
    "prop-plug-in",
    "numeric",
    mutants={
        "half the bound": {"times": 0.5},
        "the divergence the other way round": {"turned": True},
        "one word fewer": {"fewer": 2},
    },
    scope="all samples: N ≤ 4, n ≤ 9; two words, n ≤ 1,000",
)
def plug_in(times: float = 1.0, turned: bool = False, fewer: int = 1) -> str:
    """Every sample of each size, weighed by its probability; for two words up to n = 1000."""
    for seed, n_tokens in product(range(8), (2, 3, 4)):
        r = np.random.default_rng(seed).dirichlet(np.ones(n_tokens))
        for n in range(1, 10):
            found = kl = 0.0
            for p, shares in draws(r, n):
                found += p * float(plugged_in(shares))
                a, b = (r, shares) if turned else (shares, r)
                with np.errstate(divide="ignore", invalid="ignore"):
                    kl += p * float(np.where(a > 0, a * np.log(a / b), 0).sum())
            gap = float(ref.entropy(r)) - found
            require(near(gap, kl, 1e-9), f"{n} of {n_tokens} words: {gap:.4f} is not {kl:.4f}")
            most = times * float(np.log1p((n_tokens - fewer) / n))
            require(-1e-12 <= gap <= most, f"{n} of {n_tokens} words: {gap:.4f} above {most:.4f}")
    for share in (0.5, 0.2):
        r, n = np.array([share, 1 - share]), 1000
        gap = float(ref.entropy(r)) - _by_binomial(r, n)
        require(near(gap * n, 0.5, 0.01), f"{n} times the gap is {n * gap:.4f}")
    return "the identity and the bound for 216 cases; a thousand draws of two words leave 1/2n"


def _by_binomial(r: np.ndarray, n: int) -> float:
    """The mean of the entropy that is estimated from n draws of two words."""
    m = np.arange(n + 1)
    steps = np.log(np.arange(1, n + 1))
    fact = np.concatenate([[0.0], np.cumsum(steps)])
    p = np.exp(fact[n] - fact[m] - fact[n - m] + m * np.log(r[0]) + (n - m) * np.log(r[1]))
    return float(p @ plugged_in(np.stack([m, n - m], axis=1)))


@claim(
    "prop-fit",
    "numeric",
    mutants={
        "any two tables fit": {"any_two": True},
        "one round is enough": {"n": 1},
        "who was asked last never matters": {"last": False},
    },
    scope="200 pairs of tables that fit, 200 that do not, up to 4×4",
)
def fit(any_two: bool = False, n: int = 400, last: bool = True) -> str:
    """Tables from one distribution; then one of the tables changed."""
    for seed in range(200):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(2, 5, 2))
        r = rng.dirichlet(np.ones(shape[0] * shape[1])).reshape(shape) * 0.6 + 0.4 / np.prod(shape)
        first, second = conditionals(r)
        require(near(cross_ratios(first), cross_ratios(second), 1e-9), f"{shape} differ")
        require(near(joint(first, second), r, 1e-12), f"{shape}: another distribution comes back")
        x = rounds(first, second, np.eye(len(r))[0], n)
        off = float(np.abs(x - r.sum(axis=1)).sum())
        require(off < 1e-9, f"after {n} rounds the first word is off by {off:.4f}")
        other = rng.dirichlet(np.ones(shape[1]), shape[0]) * 0.6 + 0.4 / shape[1]
        apart = float(np.abs(cross_ratios(first) - cross_ratios(other)).max())
        made = joint(first, other)
        misses = max(
            float(np.abs(a - b).max())
            for a, b in zip(conditionals(made), (first, other), strict=True)
        )
        require(not any_two or misses < 1e-9, f"their only candidate misses by {misses:.4f}")
        ones, twos = drawn(first, other, n)
        differ = float(np.abs(ones - twos).max())
        said = f"cross ratios {apart:.4f} apart, pairs {differ:.4f}"
        require((differ > 1e-6) == (apart > 1e-6) if last else differ < 1e-6, said)
    return (
        "200 distributions come back from their answers, and by drawing in turn; with 200 other "
        "tables the pairs depend on who is asked last"
    )
