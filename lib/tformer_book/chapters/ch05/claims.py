"""The claims of chapter 5, masking: what a mask hides, and what it keeps hidden through layers."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer_book.chapters.ch05 import stack
from tformer_book.chapters.ch05.fills import filled, naive_softmax
from tformer_book.chapters.ch05.paths import reach
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, identity, near, row, show, table, weights
from tformer_book.world import lexicon, sources


def causal(n: int, ahead: int = 0) -> Array:
    """Return the causal mask of n words; `ahead` moves its edge."""
    return ref.causal_mask(n, n, offset=ahead)


@claim(
    "exm-causal-row",
    "exhaustive",
    mutants={
        "nothing is hidden": {"ahead": 12},
        "the last word asks like a pronoun": {"asks": "pronoun"},
    },
    scope="all six sentences",
)
def causal_row(ahead: int = 0, asks: str = "") -> str:
    """Beyond the statement, both layers of chapter 3 in each sentence: *it* likes both nouns."""
    first = lexicon.LAYERS[1]
    if asks:
        w_q = first.w_q.copy()
        w_q[lexicon.FEATURES.index("adjective")] = w_q[lexicon.FEATURES.index(asks)]
        w_q[[i for i, name in enumerate(lexicon.FEATURES) if name.startswith("says")]] = 0
        first = replace(first, w_q=w_q)
    least = np.inf
    for sentence, noun in lexicon.SENTENCES.items():
        tokens = lexicon.tokenise(sentence)
        bias = ref.to_additive(causal(len(tokens), ahead))
        nouns = [i for i, token in enumerate(tokens) if "noun" in lexicon.WORDS[token]]
        right, wrong = sorted(nouns, key=lambda i: tokens[i] != noun)
        both = lexicon.read(sentence, [replace(layer, bias=bias) for layer in lexicon.LAYERS])
        it = both.weights[1, tokens.index("it")]
        require(near(it[right], it[wrong]), f"it gives {show(it[[right, wrong]])} in “{sentence}”")
        alone = lexicon.read(sentence, [replace(first, bias=bias)]).weights[0, -1]
        numbers = f"the last word gives {show(alone[[right, wrong]])} in “{sentence}”"
        require(alone[right] > 9 * alone[wrong], numbers)
        least = min(least, alone[right] / alone[wrong])
        if "animal" in tokens:
            require(near(it[nouns], 0.367, 5e-4), f"it gives {show(it[nouns])}")
            require(near(alone[[right, wrong]], (0.468, 0.048), 5e-4), show(alone[nouns]))
    return (
        "all six sentences: it gives both nouns the same within 1e-12, the last word the right one "
        f"{least:.2f} times the weight of the other or more; the printed weights within 0.0005"
    )


@claim(
    "thm-conditioning",
    "symbolic",
    mutants={"without dividing": {"divided": False}, "a late mask that forgets": {"late": False}},
    scope="up to 4 keys, every mask; the library, 5",
)
def conditioning(divided: bool = True, late: bool = True) -> str:
    """All masks that leave a key; the derivatives of late weights for all pairs of keys."""
    tried = 0
    for n in range(1, 5):
        z = row("z", n)
        p = weights(z)
        for allowed in grid(n, (0, 1)).astype(bool)[1:]:
            share = p[allowed].sum() if divided else 1
            identity(weights(z[allowed]), p[allowed] / share, "softmax of the visible = p/(1 − h)")
            product_ = np.where(allowed, p, 0) if late else np.where(allowed, p / share, 0)
            for i, j in product(np.flatnonzero(allowed), np.flatnonzero(~allowed)):
                identity(sp.diff(product_[i], z[j]), -p[i] * p[j], "∂(m p)_i/∂z_j = −p_i p_j")
            tried += 1
    rng = np.random.default_rng(0)
    for allowed in grid(5, (0, 1)).astype(bool)[1:]:
        q, k = rng.standard_normal((2, 5, 3))
        p, masked = ref.attention_weights(q, k), ref.attention_weights(q, k, mask=allowed[None])
        want = p * allowed / (p * allowed).sum(axis=-1, keepdims=True)
        require(near(masked, want), f"keys {np.flatnonzero(allowed)}: row 1 is {show(masked[0])}")
    return (
        f"both formulas for symbols under all {tried} masks of n ≤ {n} keys that leave one; the "
        "library on 31 masks of five keys, within 1e-12"
    )


@claim(
    "exm-milk-masked",
    "numeric",
    mutants={"the mask upside down": {"hide": True}, "no scale": {"scale": 1.0}},
    scope="all its numbers",
)
def milk_masked(hide: bool = False, scale: float = 0.5**0.5) -> str:
    """All numbers to four decimals, and that an exchange of *milk* moves the late output."""
    milk = sources.BUY_MILK
    assert milk.mask is not None
    mask = ~milk.mask if hide else milk.mask
    p = ref.attention_weights(milk.q, milk.k, scale=scale)
    before = ref.attention(milk.q, milk.k, milk.v, mask=mask, scale=scale)
    late = p * mask @ milk.v
    require(near(p[0], (0.4235, 0.2241, 0.3524), 5e-5), f"unmasked, Buy has {show(p[0])}")
    require(near(before[0], (0.2, 1.0)), f"masked before, Buy gets {show(before[0])}")
    require(near(late[0], (0.0847, 0.4235), 5e-5), f"masked after, Buy gets {show(late[0])}")
    k, v = milk.k.copy(), milk.v.copy()
    k[1], v[1] = 0, 0
    again = ref.attention(milk.q, k, v, mask=mask, scale=scale)[0]
    require((again == before[0]).all(), f"with another second word Buy gets {show(again)}")
    moved = (ref.attention_weights(milk.q, k, scale=scale) * mask @ v)[0]
    require(near(moved, (0.0861, 0.4307), 5e-5), f"masked after, with another word: {show(moved)}")
    return "to four decimals; masked before, not a bit of the first output moves"


@claim(
    "thm-causal",
    "symbolic",
    mutants={
        "the weights are masked after the softmax": {"late": True},
        "the edge of the mask is off by one": {"ahead": 1},
        "a bias that is made of the rows": {"reads": True},
    },
    scope="3 words, two layers in letters; the library, 6 words",
)
def causal_stack(late: bool = False, ahead: int = 0, reads: bool = False) -> str:
    """Which letters stand in a row, with a function and biases for each place; the library's
    Jacobian of two layers; outputs by bits, with biases and places too.
    """
    named = table("x", 3, 2)
    for t, made_of in enumerate(_in_letters(named, causal(3, ahead), late)):
        letters = set().union(*(entry.free_symbols for entry in made_of))
        of = [s + 1 for s in range(3) if letters & set(named[s])]
        require(of == [*range(1, t + 2)], f"in letters, row {t + 1} is made of rows {of}")
    rng, n = np.random.default_rng(0), 6
    layers, mask = stack.random_layers(rng, 2, 3), causal(6, ahead)
    rows = rng.standard_normal((n, 3))
    influence = stack.sizes(stack.jacobian(rows, layers, mask, late=late))
    leaks = int(ref.count_leaks(influence, causal(n)))
    require(leaks == 0, f"{leaks} blocks above the diagonal are not zero")
    attend = stack.late_attention if late else ref.attention
    if not late:
        off = np.abs(stack.forward(rows, layers, mask) - stack.in_loops(rows, layers, mask)).max()
        require(off < 1e-12, f"the library's stack is {off:.2g} away from one in loops")
    fixed, places = rng.standard_normal((n, n)), rng.standard_normal((n, 3))

    def normed(x: Array) -> Array:
        for layer in layers:
            y = x / np.linalg.norm(x, axis=1)[:, None]
            heads = (
                attend(y @ w, y @ layer.w_k, y @ layer.w_v, mask) for w in (layer.w_q, layer.w_in)
            )
            x = x + sum(head @ layer.w_out for head in heads)
        return x

    def placed(x: Array) -> Array:
        for layer in layers:
            y, bias = (
                (x + places) @ layer.w_in,
                fixed + (x.mean(axis=0) @ fixed[:3] if reads else 0),
            )
            x = x + ref.attention(y, y @ layer.w_k, y @ layer.w_v, mask, bias) * places
        return x

    for made in (lambda x: stack.forward(x, layers, mask, attend), normed, placed):
        before = made(rows)
        for s in range(1, n):
            other = rows.copy()
            other[s:] = 100 * rng.standard_normal((n - s, 3))
            moved = (made(other)[:s] != before[:s]).any()
            require(not moved, f"new rows from {s + 1} on move an earlier output")
    return (
        "two layers in letters, T = 3: row t holds those of x_1, …, x_t only; the library, T = 6: "
        "15 blocks of two layers' Jacobian are exactly 0; later rows move no bit, nor with norms, "
        "two heads, places and biases"
    )


def _in_letters(x: Array, mask: Array, late: bool) -> Array:
    """Two layers: for each place any function of a row and of what its two heads fetch."""
    d = x.shape[1]
    for layer in "ab":
        fetched = [x]
        for head in "cd":
            q, k, v = (x @ table(f"{name}_{layer}{head}", d, d) for name in "qkv")
            biased = q @ k.T + table(f"b_{layer}{head}", len(x), len(x))
            terms = np.array([[sp.exp(score) for score in row] for row in biased])
            seen = np.where(mask, terms, 0)
            fetched.append(seen @ v / (terms if late else seen).sum(axis=1, keepdims=True))
        named = [[sp.Function(f"f_{layer}{t}{i}") for i in range(d)] for t in range(len(x))]
        rows = zip(named, np.hstack(fetched), strict=True)
        x = np.array([[f(*row) for f in functions] for functions, row in rows])
    return x


@claim(
    "thm-one-pass",
    "numeric",
    mutants={
        "no mask": {"ahead": 5},
        "the edge of the mask is off by one": {"ahead": 1},
        "biases that count from the end": {"at_end": True},
    },
    scope="all 81 texts of four words from three, one stack",
)
def one_pass(ahead: int = 0, at_end: bool = False) -> str:
    """A random stack of two layers with biases: every row of every text against the pass over its
    prefix.
    """
    layers, table, _ = _language_model()
    bias = np.random.default_rng(4).standard_normal((5, 5))

    def attend(q: Array, k: Array, v: Array, mask: Array) -> Array:
        first = 5 - len(q) if at_end else 0
        here = slice(first, first + len(q))
        return ref.attention(q, k, v, mask, bias[here, here])

    for text in TEXTS:
        x = table[[N_WORDS, *text]]
        whole = stack.forward(x, layers, causal(len(x), ahead), attend)
        for t in range(1, len(x) + 1):
            first, seen = 5 - t if at_end else 0, np.tri(t, k=ahead, dtype=bool)
            here = slice(first, first + t)
            prefix = stack.in_loops(x[:t], layers, seen, bias[here, here])
            numbers = f"{show(whole[t - 1])}, not {show(prefix[-1])}"
            require(near(whole[t - 1], prefix[-1]), f"text {text}, row {t}: {numbers}")
    return f"two random layers, all {len(TEXTS)} texts and all their prefixes, within 1e-12"


@claim(
    "cor-distribution",
    "numeric",
    mutants={
        "no mask": {"ahead": 5},
        "the edge of the mask is off by one": {"ahead": 1},
        "row t is asked for word t + 1": {"shift": 1},
    },
    scope="all 81 texts of four words from three, one stack",
)
def distribution_over_texts(ahead: int = 0, shift: int = 0) -> str:
    """A random stack of two layers, and a table that reads its rows; leaks show in the sum. Beyond
    the statement, the words after a prefix that is read as a whole, its last row included.
    """
    layers, table, read = _language_model()
    total, after = 0.0, np.zeros(N_WORDS)
    for text in TEXTS:
        x = table[[N_WORDS, *text]]
        p = ref.softmax(stack.forward(x, layers, causal(len(x), ahead)) @ read)
        total += float(np.prod(p[np.arange(4) + shift, list(text)]))
        p = ref.softmax(stack.forward(x, layers, ref.prefix_mask(5, 5, 2)) @ read)
        after[text[0]] += np.prod(p[np.arange(1, 4), list(text[1:])])
    require(near(total, 1), f"the probabilities of all texts add up to {total:.4f}")
    require(near(after, 1), f"after each first word, those of what follows: {show(after)}")
    return (
        f"two random layers: the products of all {len(TEXTS)} texts add up to 1 within 1e-12, and "
        "so do those of the words after a prefix of two rows that see each other"
    )


N_WORDS = 3
TEXTS = tuple(product(range(N_WORDS), repeat=4))


def _language_model() -> tuple[list[stack.Layer], Array, Array]:
    """Two random layers, a row for each word and for the start, and what reads chances."""
    rng = np.random.default_rng(3)
    layers = stack.random_layers(rng, 2, 4)
    return layers, 2 * rng.standard_normal((N_WORDS + 1, 4)), 2 * rng.standard_normal((4, N_WORDS))


@claim(
    "prop-paths",
    "numeric",
    mutants={"one step too few": {"fewer": 1}, "windows count from the word before": {"more": 1}},
    scope="all 512 masks of 3 words; windows, up to 12",
)
def paths(fewer: int = 0, more: int = 0) -> str:
    """Beyond the statement: in random stacks, where a path leads the block is not zero."""
    rng = np.random.default_rng(0)
    layers, x = stack.random_layers(rng, 2, 2), rng.standard_normal((3, 2))
    masks = grid(9, (0, 1)).astype(bool).reshape(-1, 3, 3)
    for mask, other in zip(masks, rng.permutation(masks), strict=True):
        influence = stack.sizes(stack.jacobian(x, layers, [mask, other]))
        known = reach(other, 1 - fewer) @ reach(mask, 1)
        where = f"masks {mask.astype(int).tolist()} and {other.astype(int).tolist()}"
        require(not influence[~known].any(), f"{where}: a row is moved and no path leads there")
        require((influence[known] > 1e-9).all(), f"{where}: a path leads to a block of zeros")
    for n, window, n_layers in product(range(1, 13), range(1, 6), range(1, 5)):
        mask = ref.sliding_window_mask(n, n, window)
        last = int(reach(mask, n_layers)[-1].sum())
        want = min(n, n_layers * (window - 1 + more) + 1)
        require(last == want, f"n = {n}, w = {window}, L = {n_layers}: {last} words, not {want}")
    return (
        "two random layers, all 512 masks of three words, paired at random: blocks of the Jacobian "
        "exactly zero where no path leads, above 1e-9 where one does; windows of w ≤ 5, L ≤ 4"
    )


@claim(
    "exm-packed",
    "numeric",
    mutants={"no mask of documents": {"together": True}, "no causal mask": {"ahead": 12}},
    scope="two layers, documents of 3, 5 and 4 words",
)
def packed(together: bool = False, ahead: int = 0) -> str:
    """Two random layers; beyond the statement, no bit of a document moves with its neighbours."""
    rng = np.random.default_rng(0)
    documents = np.repeat([0, 1, 2], [3, 5, 4])
    layers, x = stack.random_layers(rng, 2, 4), rng.standard_normal((12, 4))
    same = np.ones((12, 12), dtype=bool) if together else ref.packed_mask(documents, documents)
    mask = same & causal(12, ahead)
    got = stack.forward(x, layers, mask)
    for one in range(3):
        own = documents == one
        alone = stack.in_loops(x[own], layers, np.tri(int(own.sum()), dtype=bool))
        worst = np.abs(got[own] - alone).max()
        require(worst <= 1e-12, f"document {one + 1}: {worst:.2g} away from what it is alone")
        other = np.where(own[:, None], x, 100 * rng.standard_normal(x.shape))
        moved = stack.forward(other, layers, mask)[own]
        require((moved == got[own]).all(), f"document {one + 1} moves with its neighbours")
    return "two random layers, three documents: each as alone within 1e-12, and bit by bit the same"


@claim(
    "exm-finite-fill",
    "numeric",
    mutants={"the fill is −100": {"fill": -100.0}, "one key is visible": {"visible": True}},
    scope="all its numbers",
)
def finite_fill(fill: float = -1e9, visible: bool = False) -> str:
    """The weights in each precision; beyond the statement, the naive formula with −∞."""
    scores, mask = np.array([2.0, 1.0, 0.0]), np.array([visible, False, False])
    in_64, in_32, in_16 = (filled(scores, mask, f"float{bits}", fill) for bits in (64, 32, 16))
    require(near(in_64, naive_softmax(scores), 1e-6), f"float64 gives {show(in_64)}")
    require(near(in_64, (0.665, 0.245, 0.090), 5e-4), f"float64 gives {show(in_64)}")
    require(near(in_32, 1 / 3, 1e-7), f"float32 gives {show(in_32)}")
    require(np.isnan(in_16).all(), f"float16 gives {show(in_16)}")
    ours = ref.attention_weights(scores[None, :1], scores[:, None], mask=mask[None])
    require((ours == 0).all(), f"the library gives {show(ours)}")
    return "to three decimals in float64 and float32, NaN in float16; the library exactly zero"
