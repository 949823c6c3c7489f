"""The claims of chapter 10: the assembled block, and two examples worked to their end."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.chapters.ch10 import cpp, lists
from tformer.claims.registry import claim, require
from tformer.claims.tools import grid, near, show
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import BlockParameters, FeedForwardParameters
from tformer.world.sources import slips

SCHEMES = ("none", "learned", "sinusoidal", "relative", "alibi", "rope")


@claim(
    "thm-stack-causal",
    "numeric",
    mutants={
        "without the causal mask": {"causal": False},
        "the new words are counted from place 0": {"offset": False},
        "the keys and values of the first block alone": {"blocks": 1},
    },
    scope="6 schemes of positions, both orders, T ≤ 6, 3 blocks",
)
def stack_causal(causal: bool = True, offset: bool = True, blocks: int = 3) -> str:
    """Every word of a text exchanged, and every place at which it can be cut in two."""
    changed = cut = 0
    for order, positions in product(("pre", "post"), SCHEMES):
        c = Configuration(order=order, positions=positions, norm="rms")
        sizes = Sizes(7, 8, 3, 4, 12, n_groups=2, n_positions=13, biased=False)
        model = initialise(sizes, c, np.random.default_rng(1), std=0.4)
        tokens = np.array([3, 1, 4, 1, 5, 2])
        read = ref.decoder if causal else _seeing_all
        full = read(tokens, model, c)
        for t in range(len(tokens)):
            other = tokens.copy()
            other[t] = 6
            off = np.abs(read(other, model, c) - full)[:t].max(initial=0)
            require(off < 1e-12, f"{positions}, {order}: word {t + 1} moves earlier logits {off}")
            changed += 1
        for n in range(1, len(tokens)):
            caches: Any
            _, caches = ref.cached_decoder(tokens[:n], model, c)
            if blocks < 3:  # of the later blocks nothing is kept
                empty = [replace(one, k=0 * one.k, v=0 * one.v) for one in caches[blocks:]]
                caches = (*caches[:blocks], *empty)
            if not offset:
                caches = None
            rest, _ = ref.cached_decoder(tokens[n:], model, c, caches)
            off = np.abs(rest - full[n:]).max()
            require(off < 1e-12, f"{positions}, {order}: cut behind word {n}, {off:.3g} apart")
            cut += 1
    return (
        f"{changed} words exchanged, {cut} cuts, in stacks of three blocks with grouped heads: "
        "earlier logits stay, and the cached pass gives the full pass, within 1e-12"
    )


def _seeing_all(tokens: np.ndarray, model: Any, c: Configuration) -> np.ndarray:
    return ref.unembed(ref.encoder(tokens, model, c), model)


@claim(
    "exm-cpp-block",
    "numeric",
    mutants={
        "norms behind the sums": {"order": "post"},
        "exact GELU": {"activation": "gelu"},
        "a causal mask": {"causal": True},
    },
    scope="4 words of width 8; 32 numbers within 1e-14",
)
def cpp_block(order: str = "pre", activation: str = "gelu_tanh", causal: bool = False) -> str:
    """The draws made again from the seed, and the block by the library, against what is stored."""
    found, (x, block) = cpp.stored(), cpp.drawn()
    require(near(x, found["x"], 1e-15), f"the first word is {show(x[0])}")
    c = replace(cpp.CONFIGURATION, order=order, activation=activation)
    y = ref.block(x, block, c, causal=causal)
    off = np.abs(y - found["y"]).max()
    require(off < 1e-14, f"{off:.3g} apart")
    printed = np.array([line.split() for line in cpp.LISTED], dtype=float)
    require(near(y, printed, 5e-5), "the listing printed other digits")
    return (
        "the input drawn again from seed 42; 32 numbers of the compiled program within 1e-14, "
        "and the four decimals that the listing prints"
    )


@claim(
    "exm-eggs",
    "numeric",
    mutants={
        "all printed numbers are right": {"wrong": 0},
        "the layer gives Buy what is printed": {"layer": (0.0, 1.0)},
        "with norms before, it is eggs as well": {"before": "eggs"},
    },
    scope="93 printed numbers, each to its last digit",
)
def eggs(wrong: int = 25, layer: tuple[float, float] = (2.0, -1.0), before: str = "bread") -> str:
    """Every printed number against the library's; then the logits, in three readings."""
    found = slips(lists.PRINTED)
    require(len(found) == wrong, f"{len(found)} printed numbers are not right")
    far = [one for one in found if abs(float(one.printed) - one.right) > 0.001]
    require({one.row for one in far} == {0} and len(far) == 8, f"{len(far)} are far off")
    steps = lists.PRINTED.right()
    require(near(steps["layer"][0], layer, 1e-9), f"the layer gives {show(steps['layer'][0])}")
    require(near(steps["inner"][0], (-1, 1, 2), 1e-9), f"inside {show(steps['inner'][0])}")
    require(near(steps["rows"], (1, -1), 1e-9), f"the rows are {show(steps['rows'])}")
    sentence = "buy milk and"
    z = lists.logits(lists.NOTES, sentence)
    require(near(list(z.values()), [one for _, one in lists.LINE], 1e-9), f"behind: {z}")
    z = lists.logits(lists.NOTES, sentence, "pre")
    require(near(list(z.values()), (0.6148, 0.6426, 0.0278), 5e-5), f"before: {z}")
    require(max(z, key=z.__getitem__) == before, f"with norms before: {z}")
    z = lists.logits(lists.NOTES, sentence, "pre", last_norm=True)
    require(max(z, key=z.__getitem__) == "now", f"and one behind the block: {z}")
    return (
        f"{len(found)} of 93 printed numbers are not the right ones rounded, eight of them by 1 or "
        "more, all in the row of Buy; behind: eggs; before: bread; with a last norm: now"
    )


@claim(
    "prop-always-eggs",
    "exhaustive",
    mutants={
        "the hidden unit is 0, as printed": {"third": 0.0},
        "without the feed-forward layer": {"layered": False},
        "norms before": {"order": "pre"},
    },
    scope="pairs of whole numbers from −9 to 9; sentences of 8 words",
)
def always_eggs(third: float = 1.0, layered: bool = True, order: str = "post") -> str:
    """Every pair as a sum behind attention; every sentence of up to three of the words."""
    model = lists.NOTES
    w_in = model.w_in.copy()
    w_in[:, 2] *= third
    layer = FeedForwardParameters(w_in, model.w_out)
    for pair in grid(2, range(-9, 10)):
        if pair[0] == pair[1]:
            continue
        z = ref.layer_norm(pair[None], lists.PLAIN, lists.EPS)
        z = z + ref.feed_forward(z, layer, lists.RELU) * layered
        h = ref.layer_norm(z, lists.PLAIN, lists.EPS)[0]
        require(near(h, (1, -1), 1e-9), f"{show(pair)} becomes {show(h)}")
    tried = 0
    block = BlockParameters(
        model.block().heads, layer if layered else None, lists.PLAIN, lists.PLAIN
    )
    c = Configuration(order=order, activation="relu", eps=lists.EPS)
    for length in (1, 2, 3):
        for words in product(model.words, repeat=length):
            x = ref.block(model.start(" ".join(words)), block, c, causal=True)
            require(near(x, (1, -1), 1e-6), f"{' '.join(words)}: {show(x[-1])}")
            tried += 1
    return (
        f"342 pairs of different numbers become (1, −1); so do all rows of {tried} sentences, "
        "whose logits then are 1, −1 and −2"
    )


@claim(
    "exm-both-lists",
    "numeric",
    mutants={
        "most of the weight is on the noun": {"largest": True},
        "equal shares turn the answer": {"equal": "charger"},
        "it answers without looking": {"alone": "eggs"},
        "the values are not doubled": {"doubled": False},
    },
    scope="the two examples, four readings each, three digits",
)
def both_lists(
    largest: bool = False, equal: str = "eggs", alone: str = "", doubled: bool = True
) -> str:
    """Both sentences, their exchange, and what is left when parts of attention are taken out."""
    model, tried = lists.BOTH, (0, 1, 2)
    for sentence, order in (("buy milk and", tried), ("pack laptop and", (1, 0, 2))):
        found = lists.steps(model, sentence, doubled=doubled)
        z, want = found["logits"][-1], np.array([1.337, -1.068, -0.269])[list(order)]
        require(near(z, want, 5e-4), f"{sentence}: {show(z)}")
        weights = found["weights"][-1]
        require(near(weights, (0.333, 0.296, 0.371), 5e-4), f"its weights are {show(weights)}")
        least = weights[1] == (weights.max() if largest else weights.min())
        require(bool(least), f"the noun has {weights[1]:.3f} of {show(weights)}")
    for sentence, answer in (("pack milk and", "eggs"), ("buy laptop and", "charger")):
        require(_best(sentence) == [answer], f"{sentence}: {_best(sentence)}")
    shared = _best("buy milk and", "equal shares")
    z = lists.steps(model, "buy milk and", "equal shares")["logits"][-1]
    require(shared == [equal], f"equal shares give {show(z)}: {shared[0]}")
    tie = _best("buy milk and", "only itself")
    z = lists.steps(model, "buy milk and", "only itself")["logits"][-1]
    found_tie = tie == ([alone] if alone else ["eggs", "charger"])
    require(found_tie, f"only itself gives {show(z)}: {' and '.join(tie)}")
    plain = _best("buy milk and", doubled=False)
    require(plain == ["now"], f"values that are not doubled: {plain}")
    return (
        "eggs and charger with the same numbers exchanged; the noun decides, not the verb; the "
        "same with equal shares; a tie of both without looking; now without doubled values"
    )


def _best(sentence: str, look: str = lists.LOOKS[0], doubled: bool = True) -> list[str]:
    """The words with the largest logit behind the last."""
    z = lists.steps(lists.BOTH, sentence, look, doubled)["logits"][-1]
    return [word for word, x in zip(lists.BOTH.answers, z, strict=True) if x > z.max() - 1e-9]
