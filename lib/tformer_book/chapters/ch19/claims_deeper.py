"""The claims of chapter 19's deeper page: more machines, plain ReLU, the leak, a sawtooth."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.parameters import FeedForwardParameters, tree_map
from tformer_book.chapters.ch19 import latest, parity, plain_relu, small
from tformer_book.chapters.ch19.claims_turing import HOLE, cell_errors, leak
from tformer_book.chapters.ch19.machines import TABLES, machine, random_machine
from tformer_book.chapters.ch19.stream import K, apply
from tformer_book.chapters.ch19.turing import STREAM, layers, table
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near


@claim(
    "exm-fetching-machines",
    "exhaustive",
    mutants={
        "the earliest occurrence counts": {"latest": False},
        "equal letters need no order": {"ties": False},
        "a bracket that closes too early is forgiven": {"prefixes": False},
    },
    scope="words of 3 letters to 8, 6 and 6; brackets to 12",
)
def fetching_machines(latest: bool = True, ties: bool = True, prefixes: bool = True) -> str:
    """Induction, copy, sort and brackets, every word against a plain program."""
    for n in range(2, 9):
        words = small.words(3, n)
        want = np.full(words.shape, -1)
        for t in range(n):
            for s in range(t) if latest else reversed(range(t)):
                same = words[:, s] == words[:, t]
                want[same, t] = words[same, s + 1]
        got = small.induction(3).answers(words)
        seen = want >= 0
        require((got.argmax(-1) == want)[seen].all(), f"induction: wrong at n = {n}")
    for n in range(1, 7):
        words = small.words(3, n)
        end = np.full((len(words), 1), 3)
        got = small.copy(3).answers(np.concatenate([words, end, words], axis=1))[:, n:]
        want = np.eye(4)[np.concatenate([words, end], axis=1)]
        require(near(got, want, 1e-9), f"copy: off by {abs(got - want).max():.3g} at n = {n}")
        machine = small.sort(3, n)
        if not ties:
            ranks = tree_map(np.copy, machine.layers[0])
            ranks.w_o[1] = 0
            machine = replace(machine, layers=(ranks, *machine.layers[1:]))
        got = machine.answers(words)
        want = np.eye(3)[np.sort(words, axis=1)]
        require(near(got, want, 1e-9), f"sort: off by {abs(got - want).max():.3g} at n = {n}")
    for n in range(1, 13):
        words = small.words(2, n)
        deep, low = np.moveaxis(small.depth().answers(words)[:, -1], -1, 0)
        good = (abs(deep) < 0.5) & (low < 0.5)
        levels = (2 * words - 1).cumsum(axis=-1)
        want = (levels[:, -1] == 0) & ((levels >= 0).all(axis=-1) if prefixes else True)
        require((good == want).all(), f"brackets: wrong at n = {n}")
    sizes = [
        (x.width, x.heads, x.units)
        for x in (small.induction(3), small.copy(3), small.sort(3, 5), small.depth())
    ]
    want_sizes = [(12, [1, 1], 0), (12, [1, 1], 0), (17, [2, 1], 2), (6, [1, 1], 1)]
    require(sizes == want_sizes, f"widths, heads and units {sizes}")
    return "every word against loops and sorting of NumPy; widths, heads and units as stated"


@claim(
    "prop-plain-relu",
    "numeric",
    mutants={
        "squares of moves are left out": {"squares": False},
        "addresses may be larger than R": {"large": 2.0},
    },
    scope="9 machines, words to 4 letters, 100 random machines",
)
def three_layers(squares: bool = True, large: float = plain_relu.LARGE) -> str:
    """The sum of odd numbers in whole numbers, then runs of the three layers."""
    rng = np.random.default_rng(0)
    for _ in range(100):
        m = rng.integers(-1, 2, size=50)
        at = m.cumsum()
        odd = 2 * at * m - (m * m if squares else 0)
        total = odd.cumsum()
        require((total == at**2).all(), f"at {at[0]} they add up to {total[0]}, not {at[0] ** 2}")
    tasks = [(machine(name), [1, 1][: machine(name).n_symbols - 2]) for name in TABLES]
    for n in range(5):
        tasks += [(machine("palindrome"), [*word]) for word in small.words(2, n) + 1]
    tasks += [(random_machine(rng), []) for _ in range(100)]
    for one, word in tasks:
        want = one.simulate(word, 200)[0]
        got = plain_relu.written(one, word, 200, large=large)
        wrong = [i for i, (a, b) in enumerate(zip(got, want, strict=True)) if a != b]
        require(not wrong, f"token {wrong[:1]} of a run is wrong")
    fed = [x for x in plain_relu.layers() if isinstance(x, FeedForwardParameters)]
    sizes = [x.w_in.shape for x in fed]
    require(sizes == [(12, 4)], f"width and units {sizes}")
    return "each token of up to 200 steps of each run; sums of odd numbers in whole numbers"


@claim(
    "prop-leak",
    "numeric",
    mutants={
        "β = 4 serves 15 symbols": {"symbols": 15},
        "half the leak": {"part": 0.5},
    },
    scope="2 to 14 symbols, β = 1, 2, 4; 20 cells on both sides",
)
def leaking(symbols: int = 14, part: float = 1.0) -> str:
    """A blank cell between cells that all hold the last symbol, by the second layer itself."""
    for beta in (1.0, 2.0, 4.0):
        for n in (2, 5, 14):
            cells = np.array([c for c in range(-20, 21) if c])
            x = np.zeros((len(cells) + 2, len(STREAM.names)))
            x[:, 0], x[0, 1] = 1, 1
            x[1:-1, STREAM.at("P")], x[1:-1, STREAM.at("CC")] = cells, cells**2
            x[1:-1, STREAM.at("change")] = n - 1
            got = apply(layers(beta)[2], x[-1:], x)[0, STREAM.at("cell")]
            want = part * leak(n, beta)
            require(near(got, want, 1e-9), f"S = {n}, β = {beta}: {got:.6f}, not {want:.6f}")
    require(leak(symbols, 4.0) < 0.5, f"{symbols} symbols leak {leak(symbols, 4.0):.3f}")
    require(leak(symbols + 1, 4.0) > 0.5, f"{symbols + 1} symbols leak less than a half")
    error = cell_errors(table(HOLE), (), 4, beta=2.0).max()
    require(near(error, 2 * np.exp(-2.0), 1e-12), f"a hole between two ones: {error:.4f}")
    return "the second layer on 41 cells, to 1e-9; a run that leaves a hole, to 1e-12"


@claim(
    "exm-sawtooth",
    "exhaustive",
    mutants={
        "half of the units": {"units": 0.5},
        "the margin is 2": {"margin": 2.0},
    },
    scope="all words of 1 to 12 bits",
)
def sawtooth(units: float = 1.0, margin: float = 1.0) -> str:
    """Attention with equal scores, n - 1 ReLU units on its output, every word."""
    for n in range(1, 13):
        words = small.words(2, n)
        mean = np.array(
            [
                ref.attention(np.zeros((1, 1)), np.zeros((n, 1)), w[:, None].astype(float))[0, 0]
                for w in words
            ]
        )
        kinks = range(1, 1 + round(units * (n - 1)))
        folds = sum((4 * (-1.0) ** (j + 1) * np.maximum(n * mean - j, 0) for j in kinks), 0 * mean)
        lead = (1 - 2 * n * mean + folds) * np.where(words.sum(-1) % 2, -1, 1)
        require(near(lead, margin, 1e-9), f"n = {n}: a lead of {lead.min():.3f}")
    return "the library's attention and a sum of ramps, every word, to 1e-9"


@claim(
    "exm-latest-write",
    "numeric",
    mutants={
        "float64 fails, too": {"wide": np.float32},
        "it fails at the first step": {"step": 1},
        "3,200 steps are too many": {"shorter": 6400},
        "the ledger needs no larger sink than 2^10": {"sink": 10},
    },
    scope="one machine, 6,400 steps, in both precisions",
)
def latest_write(
    wide: Any = np.float64, step: int = 2699, shorter: int = 3200, sink: int = K
) -> str:
    """Term by term, so that every processor rounds alike; the ledger by the library's layers."""
    got = latest.first_wrong("flip", 6400, np.float32)
    require(got == step, f"float32, 6,400 steps: wrong at {got}, not {step}")
    for dtype, steps in ((wide, 6400), (np.float32, shorter)):
        got = latest.first_wrong("flip", steps, dtype)
        require(got is None, f"{steps} steps in {dtype.__name__}: wrong at {got}")
    leads = machine("flip").margins((), 6400, np.float32, k=sink)
    require(
        leads.min() > 0.5, f"the ledger in float32: no lead at step {np.argmax(leads <= 0) + 1}"
    )
    reach = abs(latest.visits("flip", 6400)[2]).max()
    require(reach == 56, f"the head gets as far as {reach}")
    return "each step against a plain tape; the ledger's lead in float32 is above one half"


@claim(
    "exm-parity-learnt",
    "empirical",
    mutants={
        "at once is as good": {"apart": 0.0, "half": "with steps"},
        "at once learns sixteen bits by heart": {"known": (0.6, 1.0)},
        "every training with steps finds it": {"least": 0.9},
    },
    scope="18 stored trainings, three seeds each",
)
def parity_learnt(
    apart: float = 0.2,
    half: str = "at once",
    known: tuple[float, float] = (0.48, 0.52),
    least: float = 0.78,
) -> str:
    """The stored shares, as the table rounds them, and how far the two kinds lie apart."""
    found = parity.stored()

    def shares(n: int, kind: str, lists: str) -> tuple[float, float]:
        runs = [run[lists] for run in found[f"{n} {kind}"]]
        return min(runs), max(runs)

    stated = {
        (8, "at once", "known"): (0.59, 0.82),
        (12, "at once", "known"): (0.50, 0.55),
        (16, "at once", "known"): known,
        (8, "at once", "held out"): (0.31, 0.42),
        (12, "at once", "held out"): (0.48, 0.54),
        (16, "at once", "held out"): (0.49, 0.50),
        (8, "with steps", "held out"): (0.95, 1.0),
        (12, "with steps", "held out"): (0.79, 1.0),
        (16, "with steps", "held out"): (1.0, 1.0),
    }
    for case, ends in stated.items():
        off = np.abs(np.subtract(shares(*case), ends)).max()
        require(off <= 0.006, f"{case}: {shares(*case)}, not {ends}")
    for n in parity.LENGTHS:
        low, high = shares(n, "with steps", "held out")[0], shares(n, half, "held out")[1]
        require(low >= least, f"{n} bits with steps: {low}")
        require(low > high + apart, f"{n} bits: {low} with steps, {high} {half}")
    return "the table to .005; with steps the worst training is better by .2 than the best at once"
