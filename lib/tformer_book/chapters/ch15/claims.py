"""The claims of chapter 15: what is likely, what temperature and cuts do to a row."""

from __future__ import annotations

from itertools import chain, combinations, product
from typing import Any

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.models.beam_search import beam_search
from tformer_book.chapters.ch15 import writing
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, show, weights
from tformer_book.claims.tools import row as symbols
from tformer_book.storyteller import load


@claim(
    "exm-not-likeliest",
    "empirical",
    mutants={
        "the likeliest word each time is enough": {"found_by": 1},
        "two texts at a time are enough": {"found_by": 2},
        "the same after another beginning": {"begin": writing.ROW},
    },
    scope="all texts to the end of the line, by bounds on beginnings",
)
def not_likeliest(found_by: int = 3, begin: str = writing.MISSED) -> str:
    """Greedy and beams against the likeliest text, which is found by going on with the likeliest.

    The claimed texts are read once more, in one pass each, without a cache.
    """
    best, n_read = writing.likeliest(begin)
    told = {width: writing.texts(begin, width)[0] for width in (1, 2, 3)}
    want = {1: (0.080, "heavy. So Mia lightened the piano."), 2: (0.089, "")}
    want[3] = (0.192, "low. So Mia raised the lift.")
    for width, (p, words) in want.items():
        got = float(np.exp(told[width].log_probability))
        require(near(got, p, 6e-4), f"a beam of {width} finds a text of probability {got:.4f}")
        said = writing.text_of(told[width].tokens)
        require(said.startswith(words), f"a beam of {width} finds: {said}")
        again = _probability(begin, told[width].tokens)
        require(near(again, got, 1e-4), f"read in one pass, its probability is {again:.4f}")
    require(
        told[found_by].tokens == best.tokens,
        f"a beam of {found_by} finds {np.exp(told[found_by].log_probability):.3f}, "
        f"and {np.exp(best.log_probability):.3f} is possible",
    )
    return f"after {n_read} beginnings no unfinished text is likelier than the best finished one"


def _probability(begin: str, words: tuple[int, ...]) -> float:
    """The probability of words after a beginning, by a full pass."""
    _, parameters, configuration = load()
    start = writing.begun(begin)
    text = np.array([*start, *words])
    logits = ref.decoder(text[:-1], parameters, configuration)[len(start) - 1 :]
    return float(np.exp(-ref.cross_entropy(logits.astype(float), text[len(start) :]).sum()))


@claim(
    "prop-beam",
    "numeric",
    mutants={
        "a text fewer is enough": {"fewer": 1},
        "two texts are more than greedy": {"greedy": 2},
    },
    scope="80 random trees of N = 2, 3 words, texts of n = 3, 4",
)
def beams(fewer: int = 0, greedy: int = 1) -> str:
    """Every text of every tree; beams of width 1, and of N^(n-1)."""
    for seed, n_tokens, n in product(range(20), (2, 3), (3, 4)):
        logs = _tree(seed, n_tokens, n)
        texts = {
            x: float(sum(logs[x[:t]][word] for t, word in enumerate(x)))
            for x in product(range(n_tokens), repeat=n)
        }
        best = max(texts, key=texts.__getitem__)
        found = _beam(logs, n, n_tokens ** (n - 1) - fewer)
        says = f"tree {seed}, N = {n_tokens}, n = {n}"
        equal = near(texts[found], texts[best], 1e-9)
        require(equal, f"{says}: found {texts[found]:.4f}, best {texts[best]:.4f}")
        each: tuple[int, ...] = ()
        for _ in range(n):
            each = (*each, int(logs[each].argmax()))
        found = _beam(logs, n, greedy)
        require(found == each, f"{says}: {found} is not the greedy {each}")
    return "beams of width N^(n-1) find the best of all texts, those of width 1 the greedy one"


def _tree(seed: int, n_tokens: int, n: int) -> dict[tuple[int, ...], np.ndarray]:
    """After every beginning of fewer than n words, random logarithms of probabilities.

    In every second tree all beginnings are nearly as likely, and the least likely one of n - 1
    words goes on with near certainty, the others evenly.
    """
    rng, odd = np.random.default_rng(seed), seed % 2
    begun = list(chain(*(product(range(n_tokens), repeat=t) for t in range(n))))
    logs = {x: np.log(rng.dirichlet([1000.0 if odd else 0.5] * n_tokens)) for x in begun}
    if odd:
        last = [x for x in begun if len(x) == n - 1]
        least = min(last, key=lambda x: sum(logs[x[:t]][word] for t, word in enumerate(x)))
        logs[least] = np.log([0.9, *[0.1 / (n_tokens - 1)] * (n_tokens - 1)])
    return logs


def _beam(logs: dict[tuple[int, ...], np.ndarray], n: int, width: int) -> tuple[int, ...]:
    """The first text of a beam; what is kept of the words before is these words."""

    def read(tokens: np.ndarray, words: tuple[int, ...] | None) -> tuple[np.ndarray, Any]:
        words = () if words is None else (*words, int(tokens[0]))
        return logs[words][None], words

    return beam_search(read, np.array([0]), n, width)[0].tokens


@claim(
    "thm-temperature",
    "symbolic",
    mutants={
        "the rate falls with the temperature itself": {"power": 1},
        "words below the mean lose": {"sign": -1},
        "a cold row takes the first of equals": {"tied": False},
    },
    scope="N ≤ 3, symbols; rows in {0, …, 3}, N = 3, 4; the library",
)
def temperatures(power: int = 2, sign: int = 1, tied: bool = True) -> str:
    """The derivative for symbols; then order, entropy and both limits on all small rows."""
    tau = sp.Symbol("tau", positive=True)
    for n in (2, 3):
        z = symbols("l", n)
        p = weights(z / tau)
        mean = (p * z).sum()
        for i in range(n):
            left = sp.diff(p[i], tau)
            right = sign * p[i] * (mean - z[i]) / tau**power
            identity(sp.together(left), sp.together(right), f"the rate of word {i + 1}, N = {n}")
    rows = 0
    for z in map(np.array, chain(product(range(4), repeat=3), product(range(3), repeat=4))):
        if len({*z.tolist()}) == 1:
            continue
        z = z.astype(float)
        steps = [ref.softmax(ref.temperature(z, t)) for t in (0.3, 0.7, 1.0, 2.0, 5.0)]
        surprises = [float(ref.entropy(p)) for p in steps]
        require(np.all(np.diff(surprises) > 0), f"{show(z)}: entropies {show(surprises)}")
        by_sums = [-sum(x * np.log(x) for x in p) for p in steps]
        require(near(surprises, by_sums, 1e-9), f"{show(z)}: entropies by sums {show(by_sums)}")
        top = [float(p.max()) for p in steps]
        require(np.all(np.diff(top) < 0), f"{show(z)}: largest {show(top)}")
        cold, hot = (ref.softmax(ref.temperature(z, t)) for t in (0.01, 1e8))
        first = z == z.max() if tied else np.arange(len(z)) == z.argmax()
        require(near(cold, first / first.sum(), 1e-9), f"{show(z)}: cold {show(cold)}")
        require(near(hot, 1 / len(z), 1e-6), f"{show(z)}: hot {show(hot)}")
        rows += 1
    return f"rates for symbols; order, entropy and limits on {rows} rows, by the library"


@claim(
    "exm-never-tired",
    "exhaustive",
    mutants={
        "temperature does not choose between nouns": {"half": 0.5},
        "the nucleus keeps the animal": {"p": 0.51},
        "all six words are equally likely": {"even": True},
    },
    scope="the six words, exactly; three cuts; four temperatures",
)
def never_tired(half: float = 1 / 3, p: float = 0.5, even: bool = False) -> str:
    """By fractions of integers, and by the library."""
    own = np.log(np.full(6, 1 / 6)) if even else writing.coin()
    for tau, want in ((2, 0.586), (1, 0.5), (0.5, half), (0.1, 0.00195)):
        by_library = writing.of_animal(ref.softmax(ref.temperature(own, tau)))
        by_hand = 4 * (1 / 8) ** (1 / tau) / (4 * (1 / 8) ** (1 / tau) + 2 * (1 / 4) ** (1 / tau))
        require(near(by_library, by_hand, 1e-12), f"temperature {tau}: {by_library:.4f}")
        require(near(by_hand, want, 6e-4), f"temperature {tau}: {by_hand:.4f}, not {want:.4f}")
    for name, cut in (
        ("greedy", ref.top_k(own, 1)),
        ("top-k of 2", ref.top_k(own, 2)),
        ("top-p", ref.top_p(own, p)),
    ):
        got = writing.of_animal(ref.softmax(cut))
        require(got == 0, f"{name} leaves the animal {got:.3f}")
    return "each temperature by hand and by the library; what is cut is 0 exactly"


@claim(
    "thm-cuts",
    "numeric",
    mutants={
        "the word that reaches p goes": {"crossing": False},
        "half of what is cut is the distance": {"factor": 0.5},
        "any k words are as near": {"worst": True},
    },
    scope="every set of words of 60 random rows, N = 2 to 6",
)
def cuts(crossing: bool = True, factor: float = 1.0, worst: bool = False) -> str:
    """All sets of words: their distance, and whether one beats what the library keeps."""
    sets = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        z = rng.standard_normal(2 + seed % 5) * 2
        p = ref.softmax(z)
        every = [list(x) for k in range(1, len(z) + 1) for x in combinations(range(len(z)), k)]
        distance = {tuple(kept): _distance(p, kept) for kept in every}
        for kept in every:
            want = factor * (1 - p[kept].sum())
            got = distance[tuple(kept)]
            require(near(got, want, 1e-12), f"row {seed}, {kept}: {got:.4f}, not {want:.4f}")
        sets += len(every)
        share = float(rng.uniform(0.05, 0.95))
        nucleus = _kept(ref.top_p(z, share))
        if not crossing and len(nucleus) > 1:
            nucleus.remove(min(nucleus, key=lambda i: z[i]))
        fewest = min(len(x) for x in every if p[x].sum() >= share)
        require(p[nucleus].sum() >= share, f"row {seed}: {p[nucleus].sum():.3f} below {share:.3f}")
        require(len(nucleus) == fewest, f"row {seed}: {len(nucleus)} words, {fewest} reach it")
        for k in range(1, len(z) + 1):
            kept = _kept(ref.top_k(z, k))
            near_ = [distance[tuple(x)] for x in every if len(x) == k]
            least = (max if worst else min)(near_)
            require(len(kept) == k, f"row {seed}: top-k keeps {len(kept)} words, not {k}")
            cut = plain.softmax(ref.top_k(z, k))
            got = float(np.abs(p - cut).sum() / 2)
            require(near(got, least, 1e-12), f"row {seed}, k = {k}: {got:.4f}, not {least:.4f}")
    return f"{sets} sets; no smaller one reaches p, and none of k words is nearer"


def _kept(row: np.ndarray) -> list[int]:
    return [int(i) for i in np.flatnonzero(row > -np.inf)]


def _distance(p: Any, kept: list[int]) -> float:
    """Total variation between a row and the same row, cut and made to sum to one again."""
    q = np.zeros_like(p)
    q[kept] = p[kept] / p[kept].sum()
    return float(np.abs(p - q).sum() / 2)
