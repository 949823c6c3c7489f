"""Figures of chapter 3: queries, keys and values."""

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tformer import reference
from tformer_book.figures.style import (
    INK,
    KEY,
    QUERY,
    VALUE,
    WEIGHT,
    panel,
)
from tformer_book.figures.tables import broken, table
from tformer_book.world import lexicon
from tformer_book.world.circuits import ANSWER, NOUNS, VETO, answer, veto

TIRED, WIDE = tuple(lexicon.SENTENCES)[:2]
SHOWN = ("animal", "street", "cat", "piano", "door")


def hull() -> Figure:
    """Three values, all that can come out of them, and what one query makes of them."""
    figure, ax = panel(3.3, 3.0)
    scores, v = np.log([[1.0], [2.0], [3.0]]), np.array([[6.0, 0], [0, 6], [6, 6]])
    betas = np.concatenate([np.linspace(0, 4, 60), [8, 16, 40]])
    path = np.array(
        [reference.attention(np.ones((1, 1)), scores, v, scale=b)[0] for b in betas[1:]]
    )
    path = np.concatenate([v.mean(axis=0, keepdims=True), path])
    y = reference.attention(np.ones((1, 1)), scores, v, scale=1.0)[0]
    ax.fill(*v.T, color=VALUE, alpha=0.12, linewidth=0)
    for weight, value in zip((1 / 6, 1 / 3, 1 / 2), v, strict=True):
        ax.plot(*np.stack([value, y]).T, color=VALUE, linewidth=14 * weight, alpha=0.45)
        ax.plot(*value, "o", color=VALUE, markersize=9)
    ax.plot(*np.transpose(path), color=INK, linewidth=1.2, linestyle=(0, (2, 2)))
    ax.plot(*y, "o", color=INK, markersize=7)
    ax.plot(*path[0], "o", color="white", markeredgecolor=INK, markersize=6)
    ax.annotate("output", y, (-10, 8), textcoords="offset points", ha="right", fontsize=11)
    ax.annotate("plain mean", path[0], (8, -12), textcoords="offset points", fontsize=10)
    notes = (("1/6", (-8, 4)), ("1/3", (4, -14)), ("1/2", (-4, 8)))
    for value, (share, where) in zip(v, notes, strict=True):
        ax.annotate(share, value, where, textcoords="offset points", ha="right", color=VALUE)
    ticks = (0, 2, 4, 6)
    ax.set(xlim=(-0.8, 7), ylim=(-0.8, 7), xticks=ticks, yticks=ticks, aspect="equal")
    return figure


def shuffled(rng: np.random.Generator) -> tuple[Figure, Figure]:
    """Weights of three words in one order and in another: the same numbers, moved."""
    words = np.array(["dog", "bites", "man"])
    x, w = rng.standard_normal((3, 4)), rng.standard_normal((2, 4, 4))
    drawn = []
    for order in ([0, 1, 2], [2, 1, 0]):
        a = reference.attention_weights(x[order] @ w[0], x[order] @ w[1])
        names = words[order].tolist()
        look: Any = {"title": " ".join(names), "written": "{:.2f}", "most": 1, "size": 0.62}
        drawn.append(table(a, names, names, WEIGHT, **look))
    return drawn[0], drawn[1]


def taste() -> tuple[Figure, Figure]:
    """Who prefers whom in the second layer of the lexicon, and if keys were made like queries."""
    names = ("pronoun", "says animate", "says place", "noun", "is animate", "is place")
    chosen = [lexicon.FEATURES.index(name) for name in names]
    layer = lexicon.LAYERS[1]
    w_q, w_k = layer.w_q[chosen], layer.w_k[chosen]
    look: Any = {"rows": names, "columns": names, "size": 0.32, "slant": 55}
    return (
        table(w_q @ w_k.T, title="two matrices", **look),
        table(w_q @ w_q.T, title="one matrix", **look),
    )


def one_head() -> tuple[Figure, Figure]:
    """One head that looks twice as much at animal as at street, in two sentences."""
    keys = {"is animate": np.log(8), "is place": np.log(4), "says animate": np.log(20)}
    w_k = np.array([[keys.get(feature, 0.0)] for feature in lexicon.FEATURES])
    return _bars(TIRED, w_k), _bars(WIDE, w_k)


def _bars(sentence: str, w_k: np.ndarray) -> Figure:
    tokens = lexicon.tokenise(sentence)
    weights = reference.attention_weights(np.ones((1, 1)), lexicon.embed(tokens) @ w_k)[0]
    figure, ax = panel(3.3, 2.9)
    nouns = ("animal", "street")
    ax.barh(range(len(tokens)), weights, color=WEIGHT, height=0.72)
    for i, token in enumerate(tokens):
        if token in nouns:
            ax.text(weights[i] + 0.01, i, f"{weights[i]:.3f}", va="center", color=INK)
    ax.set(yticks=range(len(tokens)), yticklabels=tokens, xlim=(0, 0.62), xticks=(0, 0.2, 0.4, 0.6))
    ax.tick_params(axis="y", length=0, labelsize=10)
    ax.grid(visible=False, axis="y")
    ax.invert_yaxis()
    return figure


def votes() -> tuple[Figure, Figure, Figure]:
    """The three matrices of the head that answers, in part: the last says who votes for whom."""
    rows = ("pronoun", "noun", "adjective")
    place = [lexicon.FEATURES.index(name) for name in rows]
    n, says = len(lexicon.FEATURES), ("says animate", "says place")
    columns = [NOUNS.index(noun) for noun in SHOWN]
    voters = [n + NOUNS.index(noun) for noun in SHOWN[:2]] + [*map(lexicon.FEATURES.index, says)]
    v = ANSWER.w_v[np.ix_(voters, columns)]
    return (
        table(ANSWER.w_q[place], rows, [""], QUERY, "query", size=0.36),
        table(ANSWER.w_k[place], rows, [""], KEY, "key", size=0.36),
        table(v, (*SHOWN[:2], *says), SHOWN, VALUE, "votes", size=0.33, slant=55),
    )


def vetoes() -> Figure:
    """The keys of six heads, each of width 1: a column is the W_K of one head."""
    names = [f"{verb} {kind}" for verb in ("is", "says") for kind in lexicon.KINDS]
    place = [lexicon.FEATURES.index(name) for name in names]
    keys = np.concatenate([head.w_k[place] for head in VETO.values()], axis=1)
    return table(keys, names, tuple(VETO), color=KEY, size=0.31, slant=55)


def two_layers() -> tuple[Figure, Figure, Figure]:
    """What layer 1 hands over, and what layer 2 asks and offers: the change of query, in part."""
    says = ("says animate", "says place")
    wants = ("noun", "is animate", "is place")
    first, second = lexicon.LAYERS
    given = [lexicon.FEATURES.index(name) for name in says]
    asks = [lexicon.FEATURES.index(name) for name in ("pronoun", *says)]
    has = [lexicon.FEATURES.index(name) for name in wants]
    look: Any = {"size": 0.34, "slant": 55}
    return (
        table(first.w_v[np.ix_(given, given)], says, says, VALUE, "layer 1: value", **look),
        table(second.w_q[asks, :3], ("pronoun", *says), wants, QUERY, "layer 2: query", **look),
        table(second.w_k[has, :3], wants, wants, KEY, "layer 2: key", **look),
    )


def answers() -> tuple[Figure, Figure]:
    """Where *it* looks in each circuit, in two sentences: both nouns, the last word, all others."""
    return _looks(TIRED), _looks(WIDE)


def _looks(sentence: str) -> Figure:
    tokens = lexicon.tokenise(sentence)
    it, seen = tokens.index("it"), [1, 6, 11]
    first, second = lexicon.read(sentence).weights[:, it]
    rows = np.array([answer(sentence)[0], veto(sentence).mean(axis=0), first, second])
    shown = np.concatenate([rows[:, seen], 1 - rows[:, seen].sum(axis=1, keepdims=True)], axis=1)
    names = ("one head", "six heads", "layer 1", "layer 2")
    columns = ("animal", "street", tokens[-1], "others")
    title = f"… too {tokens[-1]}"
    look: Any = {"title": title, "written": "{:.2f}", "most": 1, "size": 0.5}
    return table(shown.round(3), names, columns, WEIGHT, **look)


def stored(rng: np.random.Generator, d: int = 32, beta: float = 8.0) -> Figure:
    """Scores of n random keys for a query that is one of them, and the weight it gets."""
    figure, ax = panel(3.3, 3.0)
    for row, n in enumerate((8, 64, 512, 4096)):
        keys = rng.choice([-1.0, 1.0], size=(n, d))
        cosines = keys @ keys[0] / d
        weight = reference.softmax(beta * cosines)[0]
        levels, counts = np.unique(cosines[1:], return_counts=True)
        height = 0.8 * counts / counts.max()
        ax.vlines(beta * levels, row, row - height, color=KEY, linewidth=3)
        ax.plot(beta, row - 0.06, "o", color=KEY, markeredgecolor=INK, markersize=7)
        ax.text(beta, row - 0.25, f"{weight:.2f}", ha="center", va="bottom", color=INK)
    ax.set(yticks=range(4), yticklabels=("8", "64", "512", "4096"), xlabel="score", ylabel="keys")
    ax.set(ylim=(3.2, -1.1), xlim=(-1.05 * beta * 0.75, 1.15 * beta))
    ax.grid(visible=False, axis="y")
    return figure


def wrong() -> Figure:
    """The row of "it" in layer 2, what two mistakes make of it, and what its weights bring."""
    told, layer = lexicon.read(TIRED, lexicon.LAYERS[:1]), lexicon.LAYERS[1]
    q, k, v = (told.vectors @ w for w in (layer.w_q, layer.w_k, layer.w_v))
    it = told.tokens.index("it")
    scores = reference.pairwise_dot(q, k) / q.shape[-1] ** 0.5
    right = reference.attention_weights(q, k)[it]
    brought = reference.norm(right[:, None] * v)
    rows = {
        "right": right,
        "over the whole table": reference.softmax(scores.ravel()).reshape(scores.shape)[it],
        "keys turned round": reference.attention_weights(q, k[::-1])[it],
        "what each word brings": brought / brought.sum(),
    }
    return broken(rows, told.tokens, most=0.76, sums=True, bold=it, left=6.6)
