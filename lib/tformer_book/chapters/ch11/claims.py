"""The claims of chapter 11: one stack and its masks, who can know whom, and two texts."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import product

import numpy as np
import sympy as sp

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import EncoderDecoderParameters, HeadParameters, ModelParameters, leaves
from tformer_book.chapters.ch11 import forms
from tformer_book.claims import plain
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import Array, grid, identity, near, row, show, stirred, table


@claim(
    "prop-one-stack",
    "numeric",
    mutants={
        "a prefix of two words is causal": {"least": 2},
        "the edge of the mask is off by one": {"ahead": 1},
        "a decoder without a mask is the same": {"masked": False},
        "a prefix opens P squared cells": {"opened": "square"},
    },
    scope="up to 6 words, every prefix; five schemes of places",
)
def one_stack(least: int = 1, ahead: int = 0, masked: bool = True, opened: str = "") -> str:
    """The library's decoder, its encoder and a decoder in loops, text by text; masks, by cells."""
    tried = 0
    for places, tied in product(("none", "sinusoidal", "relative", "alibi", "rope"), (True, False)):
        c = Configuration(positions=places)
        sizes = Sizes(7, 8, 2, 2, 8, n_positions=11, tied=tied)
        p = stirred(initialise(sizes, c, np.random.default_rng(3), std=0.5))
        for n in range(1, 7):
            tokens = np.random.default_rng(n).integers(0, 7, (2, n))
            mask = ref.causal_mask(n, n, ahead) if masked else None
            got = ref.unembed(ref.encoder(tokens, p, c, mask), p)
            want = ref.decoder(tokens, p, c)
            said = f"{places}, {n} words: {show(got[0, 0, :2])} and {show(want[0, 0, :2])}"
            require(near(got, want, 1e-10), said)
            off = np.abs(got[0] - plain.logits(tokens[0], p, c)).max()
            require(off < 1e-10, f"{places}, {n} words: {off:.3g} from the decoder in loops")
            tried += 1
    for n in range(1, 7):
        causal, everything = forms.known("decoder", n), forms.known("encoder", n)
        for prefix in range(n + 1):
            mask = forms.known("prefix", n, prefix)
            more = int(mask.sum()) - n * (n + 1) // 2
            cells = prefix**2 if opened else prefix * (prefix - 1) // 2
            require(more == cells, f"{n} words, a prefix of {prefix}: {more} cells more")
            require((causal <= mask).all() and (mask <= everything).all(), "they are not nested")
            same = (bool((mask == causal).all()), bool((mask == everything).all()))
            ends = (prefix <= least, prefix == n or n == 1)
            require(same == ends, f"{n} words, a prefix of {prefix}: ends {same}")
    return (
        f"{tried} pairs of texts: the decoder's scores are those of the encoder with a causal mask "
        "within 1e-10; masks of up to 6 words with every prefix, cell by cell"
    )


@claim(
    "thm-who-knows",
    "numeric",
    mutants={
        "the prefix ends a word too late": {"longer": 1},
        "windows of two words, which are not transitive": {"window": 2},
        "vectors of one number know whom they see": {"sizes": Sizes(12, 1, 1, 1, 4)},
        "the target knows the source up to its own place": {"memory": "causal"},
        "the target sees what it will write": {"ahead": 1},
    },
    scope="all 29 closed masks of 3 words; prefixes, packs, 5 pairs",
)
def who_knows(
    longer: int = 0,
    window: int = 0,
    sizes: Sizes = forms.SIZES,
    memory: str = "",
    ahead: int = 0,
) -> str:
    """Derivatives and exchanged words, in vectors of 6; zeros are exact, all others above 1e-9.

    Of longer texts prefixes and packs only. Random matrices stand for almost all.
    """
    tried = _masks_of_three(sizes)
    for lengths in ((2, 4), (1, 3, 3), (4, 5)):
        documents = np.repeat(np.arange(len(lengths)), lengths)
        n, packed = len(documents), ref.packed_mask(documents, documents)
        for mask in (packed, packed & ref.causal_mask(n, n)):
            _held(forms.influence(stirred(forms.model(n)), mask), mask, f"packed, {lengths}")
            tried += 1
    for n, layers in ((1, 1), (2, 1), (3, 3), (4, 2)):
        p, tied = (stirred(forms.model(n, layers, tied=x)) for x in (False, True))
        several = np.array([np.arange(n), np.full(n, 4), np.arange(n)[::-1]])
        for prefix in range(n + 1):
            want, where = forms.known("prefix", n, prefix), f"{n} words, a prefix of {prefix}"
            mask = forms.known("prefix", n, prefix + longer)
            if window:
                want = mask = ref.sliding_window_mask(n, n, window)
            _held(forms.influence(p, mask), want, where)
            run = partial(forms.outputs, p=tied, mask=mask)
            moved = forms.exchanged(run, several, 11)
            _held(moved, want, f"exchanged, {where}")
            tried += 2
    for s, t in ((1, 1), (1, 3), (2, 1), (2, 2), (3, 2)):
        both, want = stirred(forms.pair(s, 1 + t % 2)), forms.known("pair", s + t, s)[s:]
        if memory:
            want = want & ref.causal_mask(t, s + t, offset=s)
            want[:, :s] &= ref.causal_mask(t, s)
        found = _peeking(both, s, t) if ahead else forms.influence_of_pair(both, s, t)
        _held(found, want, f"a pair, {s} and {t} words")
        tried += 1
    return (
        f"{tried} tables of influence, zero to the bit where the mask says so, above 1e-9 "
        "elsewhere: all closed masks of 3 words, prefixes of up to 4, packed texts of 6 to 9, "
        "pairs of 1 to 3 each"
    )


def _masks_of_three(sizes: Sizes) -> int:
    """Every closed mask of three words, under one block and under three."""
    c = Configuration(positions="none")
    masks = grid(9, (0, 1)).astype(bool).reshape(-1, 3, 3)
    masks = masks[[forms.closed(mask) for mask in masks]]
    for layers in (1, 3):
        p = initialise(replace(sizes, n_layers=layers), c, np.random.default_rng(layers), std=0.6)
        p = stirred(p)
        for mask, found in zip(masks, forms.influence(p, masks, c), strict=True):
            _held(found, mask, f"the mask {mask.astype(int).tolist()}, {layers} blocks")
    return 2 * len(masks)


def _peeking(p: EncoderDecoderParameters, s: int, t: int) -> Array:
    """A pair whose target is read by a stack without a mask as well: one number of each vector."""

    def run(tokens: Array) -> Array:
        own = ref.encoder(tokens[s:], p.decoder, forms.PLAIN)
        memory = ref.encoder(tokens[:s], p.encoder, forms.PLAIN)
        return ref.decoder(tokens[s:], p.decoder, forms.PLAIN, memory) + np.sum(own[..., 0])

    return forms.exchanged(run, np.arange(s + t), 11)


def _held(found: Array, want: Array, where: str) -> None:
    """Require that a table is exactly zero where the mask is False, and not zero elsewhere."""
    leaks = int(ref.count_leaks(found, want))
    require(leaks == 0, f"{where}: {leaks} words are known that should not be")
    unseen = int((found[want] <= 1e-9).sum())
    require(not unseen, f"{where}: {unseen} words are not known that could be")


@claim(
    "prop-joint",
    "symbolic",
    mutants={
        "the share counts words": {"counted": True},
        "what is added is what is shared": {"factor": 1},
        "heads of both halves see both": {"halved": False},
    },
    scope="up to 3 words on each side, symbols; the library, 40 layers",
)
def joint(counted: bool = False, factor: int = 2, halved: bool = True) -> str:
    """Weights of symbols; then the library's heads, with a mask for each half of them."""
    for s, t in product((1, 2, 3), (1, 2, 3)):
        one, two = (np.array([sp.exp(x) for x in row(name, n)]) for name, n in (("a", s), ("b", t)))
        v, u = table("v", s, 1)[:, 0], table("u", t, 1)[:, 0]
        together = (sum(one * v) + sum(two * u)) / (sum(one) + sum(two))
        lam = sp.Rational(s, s + t) if counted else sum(one) / (sum(one) + sum(two))
        mixed = lam * sum(one * v) / sum(one) + (1 - lam) * sum(two * u) / sum(two)
        identity(together, mixed, "attention to both is a mixture of the two")
    for seed in range(40):
        rng, (s, t) = np.random.default_rng(seed), divmod(seed % 9, 3)
        memory, y = rng.standard_normal((s + 1, 4)), rng.standard_normal((t + 1, 4))
        own, cross = (_drawn(rng) for _ in range(2))
        causal = ref.causal_mask(t + 1, t + 1)
        added = ref.multi_head_attention(y, own, mask=causal)
        loops = plain.heads(y, own, np.tri(t + 1, dtype=bool))
        require(near(added, loops, 1e-10), f"{t + 1} words: {show(added[0])}, not {show(loops[0])}")
        added = added + ref.multi_head_attention(y, cross, memory)
        n = s + t + 2
        left = np.zeros((n, n), dtype=bool)
        right = left.copy()
        left[s + 1 :, : s + 1] = True
        right[s + 1 :, s + 1 :] = causal
        masks = (left, right) if halved else (left | right,) * 2
        bias = np.stack([ref.to_additive(m) for m in masks]).repeat(2, axis=0)
        both = HeadParameters(
            *(np.concatenate(pair) for pair in zip(leaves(cross), leaves(own), strict=True))
        )
        x = np.concatenate([memory, y])
        got = _heads(x, both, bias)[s + 1 :]
        want = added * factor / 2
        said = f"{s + 1} and {t + 1} words: {show(got[0])}, not {show(want[0])}"
        require(near(got, want, 1e-10), said)
    return (
        "for symbols, 1 to 3 words on each side; 40 layers in which half of the heads see the "
        "source and half the target are the library's cross-attention plus its self-attention "
        "within 1e-10"
    )


def _drawn(rng: np.random.Generator) -> HeadParameters:
    """Two heads of width 3 over vectors of width 4."""
    w_q, w_k, w_v = rng.standard_normal((3, 2, 4, 3))
    return HeadParameters(w_q, w_k, w_v, rng.standard_normal((2, 3, 4)))


def _heads(x: Array, heads: HeadParameters, bias: Array) -> Array:
    """Attention of all vectors to all, with a bias for each head."""
    q, k, v = ref.project(x, heads)
    return ref.merge(ref.grouped_attention(q, k, v, bias=bias), heads)


@claim(
    "prop-fills",
    "numeric",
    mutants={
        "the product of all fills is a distribution": {"around": True},
        "each word sees itself": {"hidden": False},
        "the blank stands before the words": {"first": True},
        "blanks at all places at once are no distribution": {"at_once": 1.05},
    },
    scope="all 81 texts of four words from three, six encoders",
)
def fills(
    around: bool = False, hidden: bool = True, first: bool = False, at_once: float = 1.0
) -> str:
    """Sums over all texts, of what random encoders say at a blank."""
    n, blank, totals = 3, 3, []
    texts = np.array(list(product(range(n), repeat=4)))
    for seed in range(6):
        p = forms.model(seed, n_vocab=4)

        def chance(words: Array, at: int, q: ModelParameters = p) -> Array:
            z = ref.unembed(ref.encoder(words, q, forms.PLAIN), q)
            return ref.softmax(z[:, at, :n])

        rows = np.arange(len(texts))
        after, all_around, blind = (np.ones(len(texts)) for _ in range(3))
        for t in range(4):
            words = np.insert(texts[:, :t], t, blank if hidden else 0, axis=1)
            words[:, t] = blank if hidden else texts[:, t]
            if first:
                words = words[:, ::-1] if t % 2 else texts.copy()
            after *= chance(words, 0 if first else t)[rows, texts[:, t]]
            hole = texts.copy()
            hole[:, t] = blank
            all_around *= chance(hole, t)[rows, texts[:, t]]
            blind *= chance(np.full(texts.shape, blank), t)[rows, texts[:, t]]
        total = float((all_around if around else after).sum())
        require(near(total, 1, 1e-9), f"encoder {seed + 1}: all texts together have {total:.3f}")
        require(near(blind.sum(), at_once, 1e-9), f"blanks at once give {blind.sum():.3f}")
        totals.append(float(all_around.sum()))
    require(not near(totals, 1, 1e-2), f"fills with all around give {show(totals)}")
    return (
        "six random encoders: with the blank after the words so far the products over all 81 "
        "texts add up to 1 within 1e-9, and so with blanks at all places at once; with all other "
        f"words around it to {min(totals):.3f} … {max(totals):.3f}"
    )
