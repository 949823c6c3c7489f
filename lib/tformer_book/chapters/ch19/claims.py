"""The claims of chapter 19: sums by a sink, small machines, what one layer sees, an adder."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.parameters import FeedForwardParameters, HeadParameters
from tformer_book.chapters.ch19 import small
from tformer_book.chapters.ch19.adder import Adder, bits
from tformer_book.chapters.ch19.stream import SINK, M, run
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import identity, near, row, weights


@claim(
    "prop-sink-sum",
    "symbolic",
    mutants={
        "the sink's score is M": {"logarithm": False},
        "the sink counts as one more key": {"weight": 1},
        "the output is not multiplied by M": {"times": False},
        "what is lost is 1/M": {"lost": "1/M"},
    },
    scope="1 to 4 keys, symbols; M = 2, 10 and 2^80, to 1,000 keys",
)
def sink_sum(
    logarithm: bool = True, weight: int = 0, times: bool = True, lost: str = "n/(M+n)"
) -> str:
    """Symbols first; then the library's attention against sums of whole numbers."""
    big = sp.Symbol("M", positive=True)
    for n in range(1, 5):
        v = row("v", n)
        scores = [sp.log(big) if logarithm else big, *[sp.Integer(0)] * n]
        w = weights(np.array(scores, dtype=object))
        got = (big if times else 1) * (w[1:] * v).sum()
        share = n / (big + n + weight) if lost == "n/(M+n)" else 1 / big
        identity(sp.simplify(got), sp.simplify((1 - share) * v.sum()), f"the sum of {n} values")
    rng = np.random.default_rng(0)
    for m, n in product((2, 10, 2**80), (1, 2, 30, 1000)):
        v = rng.integers(-9, 10, size=n)
        keys = np.array([SINK if m == M else np.log(m), *[0.0] * n])[:, None]
        got = m * ref.attention(np.ones((1, 1)), keys, np.array([0, *v], float)[:, None], scale=1.0)
        want = Fraction(m * int(v.sum()), m + n)
        require(near(got[0, 0], float(want), 1e-9), f"M = {m}, {n} keys: {got[0, 0]}, not {want}")
    return "symbols; attention of the library for three M, against whole numbers, to 1e-9"


@claim(
    "exm-small-machines",
    "exhaustive",
    mutants={
        "the counter does not count the letter itself": {"itself": 0},
        "the majority's margin is 2/n": {"margin": 2},
        "the parity is 1 after an odd number of ones": {"odd": 1},
        "parity needs no second layer": {"layers": 1},
        "the scores may be scaled by 1/√d_k": {"scale": 0.5},
    },
    scope="all words up to 9 letters of three, 14 votes, 12 bits",
)
def small_machines(
    itself: int = 1, margin: int = 1, odd: int = -1, layers: int = 2, scale: float = 1.0
) -> str:
    """Every word against counting in whole numbers."""
    tried = 0
    for n in range(1, 10):
        words = small.words(3, n)
        got = small.count(3).answers(words, scale=scale)
        same = words[:, :, None] == words[:, None, :]
        want = np.tril(same).sum(axis=-1) - 1 + itself
        require(near(got, want, 1e-9), f"count: off by {abs(got - want).max():.3g} at n = {n}")
        tried += got.size
    for n in range(1, 15):
        words = small.words(2, n)
        got = small.majority().answers(words)
        lead = 2 * words.sum(axis=-1) - n
        require((np.sign(np.round(got, 9)) == np.sign(lead)).all(), f"majority: wrong at n = {n}")
        least = abs(got[lead != 0]).min()
        want = margin * (1 if n % 2 else 2) / n
        require(near(least, want, 1e-12), f"majority, n = {n}: margin {least:.4f}, not {want:.4f}")
    machine = small.parity()
    for n in range(1, 13):
        words = small.words(2, n)
        x = machine.embed(words)
        y = run(x, machine.layers[:layers])
        want = np.where(words.cumsum(axis=-1) % 2, odd, 1)
        got = machine.read(y)
        require(near(got, want, 1e-9), f"parity: off by {abs(got - want).max():.3g} at n = {n}")
    sizes = [(one.width, one.heads) for one in (small.count(3), small.majority(), machine)]
    require(sizes == [(6, [1]), (3, [1]), (8, [1, 1])], f"widths and heads {sizes}")
    return "every word, every prefix, against whole numbers, to 1e-9; widths and heads as stated"


@claim(
    "prop-one-layer-bag",
    "numeric",
    mutants={
        "two layers": {"layers": 2},
        "with positions": {"positions": True},
        "the last token may change places too": {"last": True},
    },
    scope="20 random layers, all orders of 5 tokens; 2 layers for abca",
)
def one_layer_bag(layers: int = 1, positions: bool = False, last: bool = False) -> str:
    """Random heads and a random ReLU layer; then two layers, which tell abca from acba."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        heads = [random_heads(rng, 6, 3) for _ in range(layers)]
        table, w = rng.normal(size=(4, 6)), rng.normal(size=(6, 6))
        place = rng.normal(size=(5, 6)) if positions else np.zeros((5, 6))
        words = np.array([(*p, 0) for p in _orders((0, 1, 1, 2))])
        if last:
            words = np.array([*words, *[(*word[-1:], *word[:-1]) for word in words]])
        y = run(table[words] + place, heads)[:, -1]
        y = np.maximum(y @ w, 0)
        off = abs(y - y[0]).max()
        require(near(off, 0, 1e-9), f"two orders of the same tokens differ by {off:.3f}")
        both = run(table[[[0, 1, 2, 0], [0, 2, 1, 0]]], [random_heads(rng, 6, 3) for _ in range(2)])
        require(abs(both[0, -1] - both[1, -1]).max() > 1e-6, "two layers: abca and acba are alike")
    return "20 random layers, to 1e-9; by two random layers abca and acba differ each time"


def random_heads(rng: np.random.Generator, d: int, n_heads: int) -> HeadParameters:
    """Heads with Gaussian entries, two numbers a query."""
    shapes = ((n_heads, d, 2), (n_heads, d, 2), (n_heads, d, 2), (n_heads, 2, d))
    return HeadParameters(*(rng.normal(0, 0.5, shape) for shape in shapes))


def _orders(tokens: tuple[int, ...]) -> list[tuple[int, ...]]:
    return [
        p for p in product(sorted(set(tokens)), repeat=len(tokens)) if sorted(p) == sorted(tokens)
    ]


@claim(
    "exm-adder",
    "exhaustive",
    mutants={
        "the margin is 1/2": {"margin": 0.5},
        "the sum comes without its last carry": {"carry": False},
        "both columns speak equally loud": {"louder": False},
    },
    scope="all pairs up to 8 bits; 200 pairs of 16, 32 and 60 bits",
)
def adder(margin: float = 0.25, carry: bool = True, louder: bool = True) -> str:
    """The right bits stand before each bit that is asked for; if all are right, so is writing."""
    least = 9.0
    rng = np.random.default_rng(0)
    for n in (*range(2, 9), 16, 32, 60):
        if n <= 8:
            a, b = (x.ravel() for x in np.mgrid[: 2**n, : 2**n])
        else:
            a, b = rng.integers(0, 2**n, size=(2, 200))
        machine = Adder(n) if louder else _Even(n)
        said = bits(a + b, n + 1) if carry else bits((a + b) % 2**n, n + 1)
        text = np.concatenate([machine.text(a, b), said], axis=-1)
        for part in range(0, len(a), 8192):
            got = machine.logits(text[part : part + 8192, :-1], 2 * n + 1)
            lead = (2 * said[part : part + 8192] - 1) * got
            require(lead.min() > 0, f"{n} bits: a bit of a sum is wrong")
            least = min(least, float(lead.min()))
    require(near(least, margin, 1e-6), f"the smallest margin is {least:.4f}, not {margin}")
    fed = [x for x in Adder(4).layers if isinstance(x, FeedForwardParameters)]
    widths = [x.w_in.shape for x in fed]
    require(widths == [(5, 2)], f"width and units {widths}")
    return "every bit of every sum; the smallest margin 1/4 to 1e-6, as other columns leak"


class _Even(Adder):
    """The adder, with the same weight for both columns."""

    @property
    def turn(self) -> float:
        return float(np.pi / (self.n + 1))
