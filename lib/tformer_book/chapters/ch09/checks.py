"""Exercises 9.1 to 9.5: bends, AND, the layer, its gates, and who moves with whom."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tformer import reference
from tformer.configuration import Configuration
from tformer.parameters import FeedForwardParameters
from tformer_book.exercises.kinds import Marks
from tformer_book.exercises.promises import fractions, promised, single, whole, zeros
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case, type_test

SIGNS = np.array([[1.0, 1, 1], [1, 1, -1], [1, -1, 1], [-1, 1, 1], [1, -1, -1], [-1, -1, 1]])


# ---- 9.1 ----------------------------------------------------------------------------------


def _mixtures() -> Iterator[Case]:
    yield case(w=[3.0], want=[[1, 1]], why="3 is 1 + 2 · 1.")
    yield case(w=[-1.0, 1.0], want=[[1, -1], [-1, 1]], why="−1 is 1 + 2 · (−1).")
    yield case(w=[-3.0, -1, 1, 3])
    yield case(w=[[3.0, -3], [1, -1], [1, 3]], why="There may be several axes.")
    yield case(w=[1.0, -3, 1], whole=True)
    yield case(w=[1.0, -3, 1], single=True)
    yield case(w=-1.0, why="A single number is allowed, without any axis.")
    yield case(w=3.0, why="A single number is allowed, without any axis.")
    yield case(w=np.array(-1.0), why="A single number is allowed, without any axis.")


@exercise(
    "9.1",
    praise="All four sums, tables of them, and a single one.",
    hints=(
        "Draw whom against w: four points. Where does the curve have to bend?",
        "At −1 it begins to rise with slope 1, at 1 it stops. A ReLU begins a slope, another ends "
        "it.",
        "whom = max(0, w + 1) − max(0, w − 1) − 1. What is left of w when 2 whom is taken off?",
    ),
    cases=_mixtures,
    slips="""
        w - 2 * whom, → 2 * whom - w,
            who has the wrong sign: it is w less twice whom.
        w - 2 * whom, → np.where(abs(w) > 2, 1, -1),
            who was told from the size of w; its sign counts as well.
        , whom] → , 2 * whom]
            whom is twice what it should be.
        [w - 2 * whom, whom] → [whom, w - 2 * whom]
            who comes first, then whom.
        w - 2 * whom → w - whom
            whom is in w twice, so it is to be taken off twice.
        np.maximum(0, w - 1) - 1 → np.maximum(0, w - 1)
            whom is −1 on the left and 1 on the right: the two ReLUs alone go from 0 to 2.
        axis=-1 → axis=0
            who and whom stand along the first axis; they belong along a new last one.
        np.maximum(0, w - 1) → 0 * w
            There is one ReLU. After it the curve goes on rising, and at 3 it is too high.
        np.maximum(0, w + 1) - np.maximum(0, w - 1) → np.maximum(0, w - 1) - np.maximum(0, w + 1)
            The two ReLUs are exchanged, so the curve falls where it should rise.
        = np.stack([w / 5, 2 * w / 5], axis=-1)
            That is what the best matrix reads. It needs two ReLUs to be right everywhere.
        = np.stack([np.sign(w), np.sign(w)], axis=-1)
            The sign of w is that of whom. That of who changes at −2, 0 and 2.
        = np.stack([np.sign(w), (w - np.sign(w)) / 2], axis=-1)
            The sign was taken for who; the larger part, 2 whom, decides it.
        = np.stack([(w == 3) | (w == -1), w > 0], axis=-1) * 1.0
            They are given as 1 and 0; who and whom are 1 and −1.
        np.stack([w - 2 * whom, whom], axis=-1) → np.stack([w - 2 * whom, whom], axis=len(w.shape))
            A single number may come as it is, and has no shape: make an array of it first.
    """,
    otherwise="At w = −3, −1, 1, 3 who is −1, 1, −1, 1 and whom is −1, −1, 1, 1.",
)
def unmix(w: np.ndarray) -> np.ndarray:
    """Who and whom from who + 2 whom."""
    whom = np.maximum(0, w + 1) - np.maximum(0, w - 1) - 1
    return np.stack([w - 2 * whom, whom], axis=-1)


# ---- 9.2 ----------------------------------------------------------------------------------


def _facts() -> Iterator[Case]:
    yield case(p=[[1.0, 1], [1, 0], [0.75, 0.5]], want=[1, 0, 0.25], why="ReLU of p + q − 1.")
    yield case(p=[[1.0, 1, 1], [1, 1, 0], [1, 1, 0.5]], want=[1, 0, 0.5], why="Three facts.")
    yield case(p=[1.0, 0.5, 1, 1, 0.75], want=0.25)
    yield case(p=[[0.25], [1]], want=[0.25, 1], why="One fact alone is what it is.")
    yield case(p=[[0.5, 0.25, 0.25, 0.5]], want=[0])
    rng = np.random.default_rng(0)
    for shape in ((4, 3), (2, 3, 4), (5, 6)):
        yield case(p=np.round(1 - rng.random(shape) ** 2 / 3, 2))
    yield from promised(whole, single, p=(integers(3, (6, 3)) > -2).astype(float))


@exercise(
    "9.2",
    praise="One fact to six, tables of them, and facts in between.",
    hints=(
        "How large is the sum if all facts are 1? How large at most, if one is 0?",
        "n, and n − 1. What is above n − 1 is to be left.",
        "Add up along the last axis, take off n − 1, and cut at 0.",
    ),
    cases=_facts,
    slips="""
        = np.minimum(1, p.sum(axis=-1))
            That is OR: one fact is enough for it. AND asks for all of them.
        = p.mean(axis=-1)
            That is the mean of the facts; one that is 0 has to make it 0.
        p.shape[-1] - 1 → 1
            For two facts 1 is taken off; with more, two of three would do.
        p.shape[-1] - 1 → p.shape[-1]
            With all n facts the sum is n, and nothing of it is left.
        p.shape[-1] - 1 → len(p) - 1
            len(p) counts along the first axis of a table; facts lie along the last one.
        p.sum(axis=-1) → p.sum()
            All facts of the table were added up; each row has a sum of its own.
        p.sum(axis=-1) - (p.shape[-1] - 1) → p.sum() - (p.size - 1)
            One AND was made of all facts of the table; each row has one of its own.
        p.sum(axis=-1) - (p.shape[-1] - 1) → p.sum() - (len(p) - 1)
            All facts were added up, and rows were counted; both belong to the last axis.
        = p.all(axis=-1)
            All that is not 0 counted as a fact that holds; a half counts as a half.
        = (p == 1).all(axis=-1)
            Only facts of exactly 1 were let through; those in between count as far as they go.
        p.sum(axis=-1) - (p.shape[-1] - 1) → p.sum(axis=0) - (p.shape[0] - 1)
            Sum and number of facts were taken along the first axis; facts lie along the last one.
        np.maximum(0, rest) → (rest > 0) * 1.0
            That is a step, which says whether the sum passes n − 1. A ReLU says by how much.
        p.shape[-1] - 1 → p.shape[-1] / 2
            That counts votes: more than half of the facts would do.
        np.maximum(0, rest) → rest
            A sum that is too small gives 0, and not less.
        axis=-1 → axis=0
            Facts lie along the last axis.
        = p.prod(axis=-1)
            That is a product: it agrees where all facts are 0 or 1. A ReLU makes less of halves.
        = p.min(axis=-1)
            That is the least fact. It agrees where all facts are 0 or 1.
        = np.maximum(0, p - (p.shape[-1] - 1)).sum(axis=-1)
            Each fact was cut by itself; the sum is to be cut.
        p.shape[-1] - 1 → p.size - 1
            All numbers of the table were counted; n is the number of facts in one row.
        np.maximum(0, rest) → 2 * np.maximum(0, rest - 0.5)
            The ReLU begins one half later, and its slope is 2: that is right where all facts are 0
            or 1.
    """,
    otherwise="The sum of the facts, less one less than there are, cut at 0.",
)
def all_of(p: np.ndarray) -> np.ndarray:
    """AND of facts by one ReLU."""
    rest = p.sum(axis=-1) - (p.shape[-1] - 1)
    return np.asarray(np.maximum(0, rest))


# ---- 9.3 ----------------------------------------------------------------------------------


def _layers() -> Iterator[Case]:
    x = np.array([[1.0, 2], [0, -1]])
    w_in = np.array([[1.0, 0, -1], [0, 1, 1]])
    b_in = np.array([0.0, -1, 1])
    w_out = np.array([[1.0, 0], [2, 1], [0, 3]])
    b_out = np.array([0.0, 10])
    inputs: dict[str, Any] = {"x": x, "w_in": w_in, "b_in": b_in, "w_out": w_out, "b_out": b_out}
    yield case(**inputs, want=[[3, 17], [0, 10]], why="The hidden units are (1, 1, 2), (0, 0, 0).")
    for seed, (shape, d, f) in enumerate(
        (((3,), 2, 5), ((4,), 3, 2), ((), 2, 4), ((2, 3), 3, 6), ((1,), 1, 1), ((3,), 4, 4))
    ):
        shapes = ((*shape, d), (d, f), (f,), (f, d), (d,))
        names = ("x", "w_in", "b_in", "w_out", "b_out")
        drawn: dict[str, Any] = {
            n: integers(10 * seed + i, s)
            for i, (n, s) in enumerate(zip(names, shapes, strict=True))
        }
        yield case(**drawn, want=_library(**drawn))
    yield from promised(whole, fractions, single, **inputs)
    draw = np.random.default_rng(0).standard_normal
    shapes = ((20, 3), (3, 8), (8,), (8, 3), (3,))
    numbers: dict[str, Any] = dict(zip(inputs, map(draw, shapes), strict=True))
    yield case(**numbers, why="Numbers need not be whole, and all digits count.")


def _library(
    x: np.ndarray, w_in: np.ndarray, b_in: np.ndarray, w_out: np.ndarray, b_out: np.ndarray
) -> np.ndarray:
    parameters = FeedForwardParameters(w_in, w_out, b_in, b_out)
    return reference.feed_forward(x, parameters, Configuration(activation="relu"))


@exercise(
    "9.3",
    praise="One word, many, batches of texts, layers wider and narrower than their vectors.",
    hints=(
        "Three steps: to the hidden units, the ReLU, and back.",
        "The ReLU acts on each number of the hidden units, after their bias is added.",
        "np.maximum(0, x @ w_in + b_in), then the second matrix and its bias.",
    ),
    cases=_layers,
    slips="""
        np.maximum(0, inner) → inner
            Without the ReLU two matrices are one matrix.
        np.maximum(0, inner) → inner ;; hidden @ w_out + b_out → np.maximum(0, $)
            The ReLU stands after the second matrix; it belongs between the two.
        x @ w_in + b_in → x @ w_in ;; np.maximum(0, inner) → $ + b_in
            The first bias was added after the ReLU; it belongs before it.
        + b_in →
            The bias of the hidden units is missing.
        + b_out →
            The last bias is missing.
        hidden @ w_out + b_out → np.maximum(0, $)
            The result went through a ReLU too; only the hidden units do.
        hidden @ w_out + b_out → $ + x
            The vector itself was added: that is the block. Return what the layer makes.
        hidden @ w_out → (hidden / np.maximum(hidden.sum(axis=-1, keepdims=True), 1e-9)) @ w_out
            The hidden units were made to add up to 1. They do not compete.
        np.maximum(0, inner) → np.minimum(0, inner)
            The numbers below 0 were kept, and those above it cut.
        np.maximum(0, inner) → np.abs(inner)
            The size was taken; a number below 0 becomes 0.
        np.maximum(0, inner) → reference.gelu_tanh(inner)
            The activation is GELU; a ReLU was asked for.
        np.maximum(0, inner) → inner / (1 + np.exp(-inner))
            The activation is SiLU; a ReLU was asked for.
        np.maximum(0, inner) → np.where(inner > 0, inner, 0.01 * inner)
            A part of what is below 0 gets through, as in a leaky ReLU; a ReLU makes 0 of it.
    """,
    otherwise="relu(x W_in + b_in) W_out + b_out, for each vector by itself.",
)
def layer(
    x: np.ndarray, w_in: np.ndarray, b_in: np.ndarray, w_out: np.ndarray, b_out: np.ndarray
) -> np.ndarray:
    """A feed-forward layer with ReLU."""
    inner = x @ w_in + b_in
    hidden = np.maximum(0, inner)
    return np.asarray(hidden @ w_out + b_out)


# ---- 9.4 ----------------------------------------------------------------------------------


def _gated() -> Iterator[Case]:
    one = np.array([[1.0]])
    yield case(x=[[0.0]], w_gate=one, w_in=one, w_out=one, want=[[0]])
    inputs: dict[str, Any] = {
        "x": np.array([[1.0, 0], [0, 1]]),
        "w_gate": np.array([[np.log(3), 0, 1], [0, np.log(2), -1]]),
        "w_in": np.array([[4.0, 1, 0], [1, 3, 2]]),
        "w_out": np.array([[1.0, 0], [0, 1], [0.5, 1]]),
    }
    want = [[3 * np.log(3), 0], [0, 2 * np.log(2)]]
    share = 1 / (1 + np.e)
    want[1] = [-share, 2 * np.log(2) - 2 * share]
    yield case(**inputs, want=want, why="σ(log 3) is 3/4, so SiLU(log 3) = ¾ log 3, times 4.")
    for seed, (shape, d, f) in enumerate((((3,), 2, 5), ((), 3, 2), ((2, 3), 3, 4), ((4,), 2, 2))):
        shapes = {"x": (*shape, d), "w_gate": (d, f), "w_in": (d, f), "w_out": (f, d)}
        drawn: dict[str, Any] = {
            n: integers(10 * seed + i, s) / 2 for i, (n, s) in enumerate(shapes.items())
        }
        yield case(**drawn)
    yield from promised(whole, single, zeros("x"), **inputs)
    near = "SiLU of 6 is 5.985, and of −6 it is −0.0148: not yet 6 and 0."
    units: dict[str, Any] = {"w_gate": one, "w_in": [[2.0]], "w_out": one}
    yield case(x=[[6.0], [-6], [12]], **units, why=near)
    far = "SiLU of −20 is −4.1 · 10⁻⁸, and not 0."
    yield case(x=[[-20.0]], **units, why=far)
    large = {"x": 1000 * inputs["x"], "w_in": inputs["w_in"] / 1000}
    yield case(
        **(inputs | large),
        why="Gates may be thousands: the sigmoid has to be right there too, and not NaN.",
    )


def _sigmoid(u: np.ndarray) -> np.ndarray:
    return np.exp(-np.logaddexp(0, -u))


@exercise(
    "9.4",
    praise="One word, many, batches, vectors of zeros and vectors of thousands.",
    hints=(
        "Project the vector twice, put one through the activation, and multiply number by number.",
        "SiLU is u times the sigmoid of u. It belongs to the gates.",
        "SiLU of x @ w_gate, times x @ w_in, then w_out. Write the sigmoid without overflow.",
    ),
    cases=_gated,
    slips="""
        (x @ w_in) → (x @ w_gate) ;; gate = x @ w_gate → gate = x @ w_in
            The activation was applied to x W_in; it belongs to the gates, x W_gate.
        gate * _sigmoid(gate) * → _sigmoid(gate) *
            The gates are sigmoids. In SwiGLU they are SiLU, which is u times its sigmoid.
        gate * _sigmoid(gate) * (x @ w_in) → gate * _sigmoid(gate) + x @ w_in
            The two projections were added; the gates multiply.
        gate * _sigmoid(gate) → np.maximum(0, gate)
            The activation of the gates is a ReLU; that is ReGLU.
        gate * _sigmoid(gate) → reference.gelu(gate)
            The activation of the gates is GELU; that is GEGLU.
        gate * _sigmoid(gate) → reference.gelu_tanh(gate)
            The activation of the gates is the tanh form of GELU; that is GEGLU.
        _sigmoid(gate) * (x @ w_in) → _sigmoid(gate) ;; x @ w_gate → $ * (x @ w_in)
            The activation was applied to the product; it belongs to the gates alone, before that.
        (gate * _sigmoid(gate) * (x @ w_in)) @ w_out → x + $
            The vector itself was added: that is the block. Return what the layer makes.
        * (x @ w_in) →
            The factor x W_in is missing: that is a layer without gates.
        (x @ w_in) → (x @ w_in) * _sigmoid(x @ w_in)
            The activation was applied to both projections; x W_in has none.
        gate * _sigmoid(gate) → gate
            The activation is missing: the layer multiplies two linear projections.
        gate * _sigmoid(gate) → gate * _sigmoid(1.702 * gate)
            The gates went through u · σ(1.702 u), which approximates GELU; SiLU is u · σ(u).
        _sigmoid(gate) → (1 + np.tanh(gate)) / 2
            That is the sigmoid of 2 u: σ(u) is (1 + tanh(u / 2)) / 2.
        gate * _sigmoid(gate) → np.where(gate > 5, gate, np.where(gate < -5, 0, $))
            Far from 0 SiLU was replaced by u and 0; at 5 and at −5 it is not yet that.
        gate = x @ w_gate → gate = np.clip(x @ w_gate, -30, 30)
            The gates themselves were cut off; SiLU of a large gate is as large. Only in e to the
            power of
            it may something be cut.
    """,
    otherwise="silu(x W_gate) times x W_in, number by number, and then W_out.",
)
def swiglu(x: np.ndarray, w_gate: np.ndarray, w_in: np.ndarray, w_out: np.ndarray) -> np.ndarray:
    """A feed-forward layer with gates."""
    gate = x @ w_gate
    return np.asarray((gate * _sigmoid(gate) * (x @ w_in)) @ w_out)


# ---- 9.5 ----------------------------------------------------------------------------------

PARTS = ("feed-forward", "norm", "attention", "causal attention")


OVERFLOW = "Ways multiply from part to part, beyond 64 bits: ask whether there is one."


def _stacks() -> Iterator[Case | Test]:
    alone = ("feed-forward", "norm", "feed-forward")
    for parts, n, s, why in (
        (alone, 4, 1, "No part lets one word see another."),
        (("attention",), 3, 0, "Every word attends to every word."),
        (("causal attention",), 4, 2, "Words from the changed one on may attend to it."),
        ((*alone, "causal attention", "norm"), 5, 0, "One part lets later words see the first."),
        (
            ("causal attention", "feed-forward", "causal attention"),
            5,
            3,
            "No part attends to later words.",
        ),
        (
            ("causal attention", "attention"),
            5,
            3,
            "After it, every word attends to those that changed.",
        ),
        ((), 3, 2, "An empty stack changes nothing, and the word itself is another."),
        (("norm", "norm"), 1, 0, "There is one word, and it is changed."),
        (("attention", "causal attention"), 4, 3, "After the first part every word has moved."),
        (("causal attention",) * 6, 4, 3, "No word comes after the last one."),
        (("feed-forward",) * 12, 6, 5, "However deep, no part lets one word see another."),
        (("attention",) * 64, 2, 1, OVERFLOW),
        (("causal attention", "attention") * 200, 4, 2, OVERFLOW),
    ):
        said = f"the parts {list(parts)}, {n} words and word {s} changed"
        yield case(parts=list(parts), n=n, s=s, why=why, said=said)
    said = "causal attention, 3 words and word 1 changed"
    yield type_test("True and False", said, parts=["causal attention"], n=3, s=1)


@exercise(
    "9.5",
    kind=Marks(),
    praise="Stacks of up to twelve parts, with and without attention, and an empty one.",
    hints=(
        "Go through the parts, and keep in mind which vectors have moved so far.",
        "A feed-forward layer and a norm of vectors let nothing pass from word to word.",
        "Attention moves all vectors if any has moved. Causal attention moves all from the first "
        "that has moved.",
    ),
    cases=_stacks,
    slips="""
        part == "attention" → part in ("attention", "norm")
            A norm of vectors was taken for one over words; it works on one vector at a time.
        part == "attention" → part in ("attention", "feed-forward")
            The feed-forward layer does not mix words: it works on one vector at a time.
        moved[s] = True → moved[s] = len(parts) > 0
            The changed word itself is another, also where no part works on it.
        moved[s] = True → moved[s] = False
            The vector of the exchanged word itself was forgotten: it is another from the start.
        moved[s] = True → moved[s] = False ;; moved[s:] = True → moved[s + 1 :] = True
            The vector of the exchanged word itself was forgotten, at the start and under a mask.
        return moved → return moved & (np.arange(n) != s)
            The vector of the exchanged word itself was left out; it moves as well.
        moved[s:] = True → moved[s:] = True; break
            The parts after causal attention were left out; attention there moves all vectors.
        = (np.arange(n) >= s) if "causal attention" in parts else
        (np.arange(n) == s) | ("attention" in parts)
            One causal attention does not hide what another attention, without a mask, shows.
        = np.arange(n) != s
            Those are the other words, whatever the parts are.
        moved[s:] = True → moved[s:] = np.arange(n)[s:] > s
            The changed word itself is another at the end as well.
        moved[s:] = True → moved[s : s + 2] = True
            Under a causal mask all later words may attend to the changed one, not only the next.
        for part in parts: → for part in parts[-1:]:
            Only the last part counted; each part before it moves vectors too.
        return moved → return ~moved
            Those are the vectors that stay as they are.
        = np.arange(n) == s
            Attention was left out: through it other words see the changed one.
        moved[s:] = True → moved[: s + 1] = True
            Under a causal mask words attend to earlier ones: it is later words that see the change.
        moved[s:] = True → moved[:] = True
            Under a causal mask earlier words do not see later ones.
        part == "causal attention" → part == "causal"
            Causal attention was left out; later words attend to the changed one.
        moved[s:] = True → moved[s:] = True; moved[:s] = False
            A word that has moved stays moved: a causal mask takes nothing back.
    """,
    otherwise="Only attention lets a change pass from one vector to another.",
)
def who_moves(parts: Sequence[str], n: int, s: int) -> np.ndarray:
    """Which vectors can change with word s."""
    moved = np.zeros(n, dtype=bool)
    moved[s] = True
    for part in parts:
        if part == "attention":
            moved[:] = True
        elif part == "causal attention":
            moved[s:] = True
    return moved
