"""The claims of chapter 5, masking: fills, holes, caches, packed documents with places."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch05 import stack
from tformer_book.chapters.ch05.fills import bfloat16, filled, late_and_divided, naive_softmax
from tformer_book.chapters.ch05.paths import reach
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, identity, near, row, show, weights


@claim(
    "prop-late-divided",
    "numeric",
    mutants={
        "the lead is smaller": {"lead": 100.0},
        "without dividing again": {"divided": False},
        "without subnormal numbers": {"flushed": True},
    },
    scope="four precisions, two leads each; random rows",
)
def late_divided(lead: float = 0.0, divided: bool = True, flushed: bool = False) -> str:
    """Random rows with every mask of four keys; then one visible key below one hidden key, and the
    smallest normal numbers, for machines without subnormal ones.
    """
    rng = np.random.default_rng(0)
    for bits in range(1, 16):
        mask = np.array([bits >> i & 1 for i in range(4)], dtype=bool)
        scores = rng.standard_normal((20, 4))
        before = ref.softmax(np.where(mask, scores, -np.inf))
        late = late_and_divided(scores, mask) if divided else ref.softmax(scores) * mask
        require(near(late, before), f"mask {mask.astype(int)}: {show(late[0])}, {show(before[0])}")
    for dtype, most, normal in (("float16", 17, 9), ("float32", 103, 87), ("float64", 745, 708)):
        mask, tiny = np.array([True, False]), -np.log(np.finfo(dtype).tiny)
        require(normal < tiny < normal + 1, f"{dtype}: normal numbers end at exp(−{tiny:.1f})")
        require(most < tiny or not flushed, f"{dtype}: a lead of {most} leaves zero")
        for more, lost in ((0.0, False), (lead or most + 1, True)):
            scores = np.array([0.0, more if lost else most]).astype(dtype)
            late = late_and_divided(scores, mask)
            where = f"{dtype}, hidden score {scores[1]:g} above the visible one"
            require(np.isnan(late).all() == lost, f"{where}: weights {show(late)}")
            require(near(filled(scores, mask, dtype, -np.inf), (1, 0)), where)
    faint = bfloat16(np.exp(-np.array([92, 93], dtype=np.float32)))
    require(faint[0] > 0 and faint[1] == 0, f"bfloat16: the exponentials are {show(faint)}")
    return (
        "rows under all 15 masks of four keys within 1e-12; a visible key is lost at 18, 93, 104 "
        "and 746 below a hidden one, not at one less; exp(−x) is below all normal numbers from 10, "
        "88, 88 and 709 on"
    )


@claim(
    "thm-fill",
    "symbolic",
    mutants={"the fill counts twice": {"times": 2}, "the sums exchanged": {"turned": True}},
    scope="up to 3 keys of each kind; the library, 40 rows",
)
def fill_share(times: int = 1, turned: bool = False) -> str:
    """For symbols; then the fill that leaves a given share, by the library."""
    f = sp.Symbol("f", real=True)
    for n, m in product((1, 2, 3), repeat=2):
        z, hidden = row("z", n), row("y", m)
        p = weights(np.concatenate([z, hidden + f]))
        odds = sum(sp.exp(x) for x in z) / sum(sp.exp(x) for x in hidden)
        odds = 1 / odds if turned else odds
        identity(p[n:].sum(), 1 / (1 + odds * sp.exp(-times * f)), "the share of the hidden keys")
    rng = np.random.default_rng(0)
    for share in (0.5, 1e-3):
        for _ in range(20):
            z, hidden = 30 * rng.standard_normal((2, 3))
            fill = np.log(share / (1 - share)) + ref.logsumexp(z) - ref.logsumexp(hidden)
            got = ref.softmax(np.append(z, hidden + fill))[3:].sum()
            require(near(got / share, 1, 1e-9), f"the hidden keys get {got:.6g}, not {share:g}")
    return (
        "for symbols with up to three keys of each kind; the fill for the shares 1/2 and 1/1000 in "
        "40 random rows, within 1e-9"
    )


@claim(
    "exm-absorbed",
    "exhaustive",
    mutants={"a fill of −10⁸": {"fill": -1e8}, "scores up to 40": {"largest": 40}},
    scope="scores −31 to 31 in steps of 1/8; float32",
)
def absorbed(fill: float = -1e9, largest: int = 31) -> str:
    """Beyond the statement, the steps of float64 near the fill: the scores survive there."""
    scores = np.arange(-8 * largest, 8 * largest + 1) / 8
    added = scores.astype(np.float32) + np.float32(fill)
    lost = int((added == np.float32(fill)).sum())
    require(lost == len(scores), f"only {lost} of {len(scores)} scores are rounded away")
    step = -np.spacing(np.float32(fill))
    require(step == 64, f"the numbers of float32 lie {step:g} apart there")
    kept = scores + fill - fill
    require(near(kept, scores, 1e-6), "float64 loses the scores too")
    even = filled(scores, np.zeros(len(scores), dtype=bool), "float32", fill)
    require(near(even, 1 / len(scores), 1e-6), f"the weights are {show(even[:3])}")
    return (
        f"all {len(scores)} scores are rounded away; the weights are even within 1e-6; float64 "
        "keeps each score within 1e-6"
    )


@claim(
    "exm-two-fills",
    "numeric",
    mutants={
        "one mask alone": {"masks": 1},
        "a fill of half the size": {"part": 0.5},
        "a fill that is no number": {"part": 2.0},
    },
    scope="float16, bfloat16 and float32",
)
def two_fills(masks: int = 2, part: float = 1.0) -> str:
    """That each fill is the least finite number; then a row whose two keys have both masks."""
    least_of = {name: float(np.finfo(name).min) for name in ("float16", "float32")}
    least_of["bfloat16"] = -(2 - 2**-7) * 2.0**127
    for name, least in least_of.items():
        with np.errstate(over="ignore", invalid="ignore"):
            fill, beyond = (_in_format(part * x, name) for x in (least, least * (1 + 2**-7)))
            added = _in_format(masks * np.array([fill, fill]), name)
        numbers = f"{name}: the fill is {fill:.5g}, and a 128th more {beyond:.5g}"
        require(np.isfinite(fill) and fill == part * least and np.isneginf(beyond), numbers)
        got = naive_softmax(added)
        require(np.isnan(got).all(), f"{name}: {show(added)} gives the weights {show(got)}")
    return (
        "−65504 in float16, −3.390e38 in bfloat16, −3.403e38 in float32 are finite, and a 128th "
        "more is −∞; two masks of each add up to −∞, and the formula gives NaN"
    )


def _in_format(x: float | Array, name: str) -> Array:
    """Round to a format; bfloat16 is kept in float32."""
    return bfloat16(np.asarray(x)) if name == "bfloat16" else np.asarray(x).astype(name)


@claim(
    "prop-hole",
    "exhaustive",
    mutants={"without residual connections": {"keeps": False}, "four layers": {"more": 1}},
    scope="every hole in texts of up to 9 words; 5 layers",
)
def hole(keeps: bool = True, more: int = 0) -> str:
    """Every place of the hole; five layers leak no more than three."""
    tried = 0
    for n in range(2, 10):
        causal = ref.causal_mask(n, n)
        for t, s in product(range(n), repeat=2):
            if s <= t:
                continue
            mask, m = causal.copy(), s - t
            mask[t, s] = True
            want = {1: 1, 2: 2 * m - 1, 3: m * (m + 1) // 2, 5: m * (m + 1) // 2}
            for n_layers, pairs in want.items():
                step = mask if keeps else mask & ~np.eye(n, dtype=bool)
                if keeps:
                    known = reach(step, n_layers + more)
                else:
                    known = np.linalg.matrix_power(step.astype(int), n_layers) > 0
                got = int(ref.count_leaks(known.astype(float), causal))
                where = f"n = {n}, hole ({t + 1}, {s + 1}), {n_layers} layers"
                require(got == pairs, f"{where}: {got} pairs leak, not {pairs}")
            tried += 1
    return f"all {tried} holes of texts of 2 to 9 words, through 1, 2, 3 and 5 layers"


@claim(
    "exm-global",
    "exhaustive",
    mutants={
        "it looks at its window only": {"looks": False},
        "one layer": {"n_layers": 1},
        "one word on either side": {"side": 1},
    },
    scope="100 words, two on either side",
)
def global_word(looks: bool = True, n_layers: int = 2, side: int = 2) -> str:
    """Beyond the statement, how many layers windows alone would take."""
    n = 100
    window = ref.sliding_window_mask(n, n, side + 1)
    mask = window | window.T
    mask[:, 0] = True
    mask[0] |= looks
    known = reach(mask, n_layers)
    require(known.all(), f"{int((~known).sum())} pairs do not know each other")
    layers = range(1, n)  # one more layer leaves no pair out that knew each other
    alone = layers[bisect_left(layers, True, key=lambda k: bool(reach(window | window.T, k).all()))]
    require(alone == 50, f"windows alone take {alone} layers")
    return "all pairs of 100 words through two layers; with windows alone it takes 50"


@claim(
    "exm-cache",
    "numeric",
    mutants={
        "no offset": {"offset": False},
        "the mask is one too wide": {"ahead": 1},
        "the last query is aligned with the last key": {"last": True},
    },
    scope="12 words, pieces of every length",
)
def cache(offset: bool = True, ahead: int = 0, last: bool = False) -> str:
    """Beyond the statement, with all twelve keys there: the mask goes by places, not from the end.

    Pieces of each length from 1 to 12, the last one as long as what is left.
    """
    q, k, v = np.random.default_rng(0).standard_normal((3, 12, 4))
    whole = plain.attention(q, k, v, np.tri(12, dtype=bool))
    for piece in range(1, 13):
        for start in range(0, 12, piece):
            end = min(start + piece, 12)
            for n_keys in (min(end + ahead, 12), 12):
                at = start + ahead if offset else 0
                at = n_keys - (end - start) if last else at
                got = ref.causal_attention(q[start:end], k[:n_keys], v[:n_keys], offset=at)
                worst = np.abs(got - whole[start:end]).max()
                where = f"rows {start + 1} to {end} of {n_keys} keys"
                require(worst <= 1e-12, f"{where}: {worst:.2g} away from one pass")
    return (
        "one pass over twelve words, and pieces of each length with an offset, within 1e-12; also "
        "where the keys of later words are there already"
    )


@claim(
    "exm-packed-places",
    "numeric",
    mutants={"only the queries are turned": {"keys": False}, "values are turned too": {"v": True}},
    scope="two layers, documents of 3, 5 and 4 words",
)
def packed_with_places(keys: bool = True, v: bool = False) -> str:
    """Two random layers of width 4; added places are those of chapter 7, sines and cosines."""
    rng, lengths = np.random.default_rng(0), (3, 5, 4)
    layers, x = stack.random_layers(rng, 2, 4), rng.standard_normal((12, 4))
    documents, anew = np.repeat([0, 1, 2], lengths), np.concatenate([*map(np.arange, lengths)])
    waves = ref.sinusoidal(np.arange(12), 4)

    def turned(q: Array, k: Array, values: Array, seen: Array) -> Array:
        at = waves[: len(q)]
        k, values = (ref.rope(z, at) if so else z for z, so in ((k, keys), (values, v)))
        return ref.attention(ref.rope(q, at), k, values, seen)

    def packed(x: Array, attend: Callable[..., Array] = ref.attention) -> Array:
        mask = ref.packed_mask(documents, documents) & np.tri(12, dtype=bool)
        return stack.forward(x, layers, mask, attend)

    def alone(x: Array, attend: Callable[..., Array] = ref.attention) -> Array:
        each = [x[documents == one] for one in range(3)]
        masks = [np.tri(n, dtype=bool) for n in lengths]
        rows = [stack.forward(z, layers, m, attend) for z, m in zip(each, masks, strict=True)]
        return np.vstack(rows)

    placed = x + waves[anew]
    each = [placed[documents == one] for one in range(3)]
    want = np.vstack([stack.in_loops(z, layers, np.tri(len(z), dtype=bool)) for z in each])
    least = np.abs(packed(x + waves) - want).max(axis=1)[3:].min()
    require(least > 0.1, f"added places move a row by {least:.2g} only")
    require(near(packed(placed), want), "places counted anew: not as alone")
    loops = [plain.turned(z, t) for t, z in enumerate(x)]
    require(near(ref.rope(x, waves), loops), f"turned, a row is {show(ref.rope(x, waves)[1])}")
    worst = np.abs(packed(x, turned) - alone(x, turned)).max()
    require(worst <= 1e-12, f"turned, a row is {worst:.2g} away from what it is alone")
    return (
        "two random layers: added and counted anew, or turned, as alone within 1e-12; added and "
        f"counted on, each later row {least:.2f} away or more in one of its numbers"
    )
