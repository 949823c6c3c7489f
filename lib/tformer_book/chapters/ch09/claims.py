"""The claims of chapter 9, feed-forward layers: what one bend does, and where it acts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations, product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.parameters import (
    FeedForwardParameters,
    HeadParameters,
    NormParameters,
)
from tformer_book.chapters.ch09 import rows
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, identity, near, row, show, table
from tformer_book.world.lexicon import KINDS, tokenise

ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu")
ANY = sp.Function("a")
"""An activation of which nothing is known."""


def random_layer(
    seed: int, d_model: int, d_ff: int, gated: bool = False, biased: bool = True
) -> FeedForwardParameters:
    """Return a layer with independent normal entries."""
    rng = np.random.default_rng(seed)
    w_in, w_gate = rng.standard_normal((2, d_model, d_ff))
    w_out = rng.standard_normal((d_ff, d_model))
    b_in, b_out = rng.standard_normal(d_ff), rng.standard_normal(d_model)
    return FeedForwardParameters(
        w_in, w_out, b_in if biased else None, b_out if biased else None, w_gate if gated else None
    )


@claim(
    "exm-two-bends",
    "exhaustive",
    mutants={
        "one bend": {"bends": 1},
        "weights that are equal": {"second": 1.0},
        "the best matrix makes no error": {"error": 0.0},
    },
    scope="all 4 pairs of signs, and 16 pairs of nouns",
)
def two_bends(bends: int = 2, second: float = 2.0, error: float = 1.0) -> str:
    """Every pair through the library's layer; the best affine map by least squares."""
    pairs = rows.PAIRS
    x = np.stack([pairs @ [1.0, second], np.zeros(4)], axis=1)
    layer = rows.BENT
    if bends == 1:
        layer = FeedForwardParameters(
            layer.w_in[:, :1], layer.w_out[:1], layer.b_in[:1], layer.b_out
        )
    got = x + ref.feed_forward(x, layer, rows.RELU)
    for pair, found in zip(pairs, got, strict=True):
        require(near(found, pair), f"who, whom = {show(pair)} comes out as {show(found)}")
    least = float(((rows.best_affine(x, pairs) - pairs) ** 2).sum(axis=1).mean())
    require(near(least, error), f"the best matrix and constant have the error {least:.4g}")
    nouns = np.array(list(product(pairs, pairs)))  # two coordinates: (16, 2 coordinates, 2)
    both = rows.mixed(nouns)
    require(near(both + ref.feed_forward(both, rows.BENT, rows.RELU), nouns), "two coordinates")
    return (
        "who and whom from who + 2 whom for all four pairs of signs, exactly, and for the 16 pairs "
        f"of nouns; the best matrix and constant have the mean squared error {least:.4g} of 2"
    )


@claim(
    "prop-and",
    "symbolic",
    mutants={
        "a threshold of one half": {"threshold": 0.5},
        "an affine map may say AND": {"corners": 2},
        "the best affine map is exact": {"least": "0"},
        "three are still counted from 1": {"for_three": 1},
    },
    scope="symbols; all corners for up to 6 facts, a grid in between",
)
def says_and(
    threshold: float = 1,
    corners: int = 3,
    least: str = "1/16",
    for_three: int = 2,
) -> str:
    """The corners, an affine map that vanishes at three of them, its least error; n facts."""
    for p, q in product((0, 1), repeat=2):
        got = max(0, p + q - threshold)
        require(got == p * q, f"max(0, {p} + {q} − {threshold}) = {got}, not {p * q}")
    heard = grid(2, np.linspace(0, 1, 21).tolist())
    found = ref.relu(heard.sum(axis=1) - float(threshold))
    require(bool((found <= heard.min(axis=1) + 1e-12).all()), "more than the smaller of both")
    a, b, c = sp.symbols("a b c", real=True)
    at = [a * x + b * y + c for x, y in ((0, 0), (1, 0), (0, 1))][:corners]
    value = (a + b + c).subs(sp.solve(at, [a, b, c], dict=True)[0])
    require(value == 0, f"0 at {corners} corners and {value} at (1, 1)")
    off = sum((a * x + b * y + c - x * y) ** 2 for x, y in product((0, 1), repeat=2)) / 4
    best = sp.solve([sp.diff(off, s) for s in (a, b, c)], [a, b, c], dict=True)[0]
    identity(off.subs(best), sp.Rational(least), "the least mean squared error")
    for n in range(2, 7):
        facts = grid(n, (0, 1))
        shift = n - 1 if n != 3 else for_three
        units = ref.relu(facts.sum(axis=1) - shift)
        wrong = np.flatnonzero(units != facts.prod(axis=1))
        said = f"{show(facts[wrong[0]])} gives {units[wrong[0]]:g}" if wrong.size else ""
        require(not wrong.size, f"n = {n}, less {shift}: {said}")
    return (
        "max(0, p + q − 1) is p q at the corners and at most min(p, q) on a grid of 441; an affine "
        "map that is 0 at three corners is 0 at the fourth; the least mean squared error is 1/16; "
        "n ≤ 6 facts, all corners"
    )


@claim(
    "exm-place-or-cargo",
    "numeric",
    mutants={
        "no constant is taken off": {"threshold": 0.0},
        "a half is taken off": {"threshold": 0.5},
        "the second head is cut": {"heads": 1},
    },
    scope="two sentences, three digits",
)
def place_or_cargo(threshold: float = 1.0, heads: int = 2) -> str:
    """The vector of *it* through two heads and the layer, for both last words."""
    layer = FeedForwardParameters(rows.AND.w_in, rows.AND.w_out, np.full(len(KINDS), -threshold))
    for sentence, said, meant in ((rows.TIRED, (0,), 0), (rows.WIDE, (1, 2), 1)):
        it = tokenise(sentence).index("it")
        x = rows.heard(sentence)[it]
        if heads == 1:
            x = x * np.isin(np.arange(len(x)), rows.features("says"))
        says, there = x[rows.features("says")], x[rows.features("is")]
        want = np.isin(np.arange(6), said) * 0.8323
        require(near(says, want, 5e-5), f"it says {show(says)}")
        got = ref.feed_forward(x, layer, rows.RELU)[rows.features("is")]
        want = np.isin(np.arange(6), meant) * 0.3262
        require(near(got, want, 5e-5), f"{sentence.split()[-1]}: the units give {show(got)}")
        require(near(there[:2], 0.4939, 5e-5), f"there are {show(there)}")
    return (
        "tired: says animate .8323; wide: says place and cargo .8323 each; in both the nouns give "
        "animate and place .4939 each; the units give animate .3262 and place .3262, and 0 else"
    )


@claim(
    "thm-each-word",
    "numeric",
    mutants={
        "attention between two layers": {"attends": True},
        "the norm is taken over the words": {"over_words": True},
        "a mean over the words is added": {"pooled": True},
    },
    scope="all orders of four parts; all orders of 2 to 4 words",
)
def each_word(attends: bool = False, over_words: bool = False, pooled: bool = False) -> str:
    """Permutations, words alone and together, and what moves with a word, for every stack."""
    tried = stacks = 0
    for seed, parts in enumerate(permutations(_parts(attends, over_words, pooled))):
        length, stacks = 2 + seed % 3, stacks + 1
        x = np.random.default_rng(seed).standard_normal((length, 3))
        y = _through(parts, x)
        for order in permutations(range(length)):
            off = np.abs(_through(parts, x[list(order)]) - y[list(order)]).max()
            require(off < 1e-9, f"order {order}: {off:.3g} apart")
            tried += 1
        for t in range(length):
            off = np.abs(_through(parts, x[t : t + 1])[0] - y[t]).max()
            require(off < 1e-9, f"word {t + 1} of {length}, alone: {off:.3g} apart")
            other = x.copy()
            other[t] = x[t, ::-1]
            moved = np.abs(_through(parts, other) - y).max(axis=1)
            moved[t] = 0
            s = int(moved.argmax())
            require(moved[s] == 0, f"word {s + 1} moves by {moved[s]:.3g} with word {t + 1}")
    return (
        f"{stacks} orders of LayerNorm, RMSNorm, two layers (the first gated), a layer added to "
        f"its input; {tried} orders of 2 to 4 words; words alone as among others (1e-9); none "
        "moves with another"
    )


Part = Callable[[Array], Array]


def _parts(attends: bool, over_words: bool, pooled: bool) -> list[Part]:
    """Four parts of a stack, and what the mutants put into them."""
    norm = NormParameters(np.array([1.0, 0.5, 2.0]), np.array([0.1, 0.0, -0.3]))
    rng = np.random.default_rng(0)
    heads = HeadParameters(*(rng.standard_normal((1, 3, 3)) for _ in range(4)))

    def layer(seed: int, name: str, gated: bool = False) -> Part:
        given = random_layer(seed, 3, 5, gated), Configuration(activation=name)
        return lambda x: ref.feed_forward(x, *given)

    gates, second, added = layer(1, "silu", gated=True), layer(2, "gelu"), layer(3, "relu")

    def layer_norm(x: Array) -> Array:
        if over_words:
            return np.asarray((x - x.mean(axis=0)) / (x.std(axis=0) + 1e-3))
        return ref.layer_norm(x, norm)

    def rms_norm(x: Array) -> Array:
        return ref.rms_norm(x, NormParameters(norm.gain))

    def two(x: Array) -> Array:
        return second(gates(x) + ref.multi_head_attention(x, heads) * attends)

    def summed(x: Array) -> Array:
        return np.asarray(x + added(x) + x.mean(axis=0) * pooled)

    return [layer_norm, rms_norm, two, summed]


def _through(parts: Sequence[Part], x: Array) -> Array:
    """What one part after another makes of a table."""
    for part in parts:
        x = part(x)
    return x


@claim(
    "prop-keys-values",
    "symbolic",
    mutants={
        "rows of W_in are the keys": {"by_rows": True},
        "the shares add up to one": {"normalised": True},
        "with softmax the bias is of the values": {"bias_of_scores": False},
    },
    scope="d_model, d_ff ≤ 3 with symbols; 24 random layers",
)
def keys_values(
    by_rows: bool = False, normalised: bool = False, bias_of_scores: bool = True
) -> str:
    """The sum over hidden units for symbols; with a softmax, the library's attention."""
    for d, f in product((1, 2, 3), (1, 2, 3)):
        if by_rows and f != d:
            continue
        x, w_in, w_out, b = row("x", d), table("k", d, f), table("v", f, d), row("b", f)
        active = np.array([ANY(sp.expand(u)) for u in x @ w_in + b])
        keys = w_in if by_rows else w_in.T
        units = [ANY(sp.expand(x @ keys[i] + b[i])) * w_out[i] for i in range(f)]
        identity(active @ w_out, sum(units), "Σ a(x·kᵢ + bᵢ) vᵢ")
    for seed, name in product(range(6), ACTIVATIONS):
        layer, rng = random_layer(seed, 4, 7), np.random.default_rng(seed)
        x = rng.standard_normal((3, 4))
        u = x @ layer.w_in + layer.b_in
        shares = getattr(ref, name)(u)
        if normalised:
            shares = shares / shares.sum(axis=1, keepdims=True)
        got = ref.feed_forward(x, layer, Configuration(activation=name))
        require(near(shares @ layer.w_out + layer.b_out, got, 1e-10), f"{name}: {show(got[0])}")
        bias = layer.b_in if bias_of_scores else 0 * layer.b_in
        memory = ref.attention(x, layer.w_in.T, layer.w_out, scale=1.0, bias=bias[None])
        want = ref.softmax(u) @ layer.w_out
        require(near(memory, want), f"softmax: {show(memory[0])} and {show(want[0])}")
    return (
        "the sum over hidden units for symbols and any activation, d_model, d_ff ≤ 3, and for 24 "
        "random layers with four; with a softmax, the library's attention, scale 1, b_in as bias "
        "of the scores (1e-12)"
    )
