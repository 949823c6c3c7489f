"""Exercises 18.1 and 18.2: one layer of linear attention, and the weight of a stack."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer_book.exercises import kinds
from tformer_book.exercises.answer import Wrong
from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
Stack = Callable[[Array], Array]


@dataclass(frozen=True)
class Digits(kinds.Digits):
    """Numbers for which a search or a difference will do."""

    within: float = 1e-12

    def remark(self, got: Any, want: Any) -> str:
        """Say that a number is close."""
        if not self.is_near(got, want):
            return super().remark(got, want)
        return (
            "That is close, and more digits are compared. A grid, a search that ends early and "
            "random draws leave such errors."
        )


def _texts() -> Iterator[Case]:
    line = (
        "The residuals times x add up to 3 · 1 − 1 · 2 = 1, so each residual loses x / 2, where 2 "
        "is the number of examples."
    )
    want = [[1, 2.5], [2, -2], [3, -1.5]]
    yield case(e=[[1, 3], [2, -1], [3, 0]], n=2, d=1, eta=1.0, want=want, why=line)
    later = (
        "The question's residual is −2. It is kept, and added to, but the question is no key: the "
        "residuals of the examples times x add up to (4, −1)."
    )
    e: Any = [[1, 0, 3], [1, -1, 1], [2, 2, -2]]
    want = [[1, 0, 1], [1, -1, -1.5], [2, 2, -5]]
    yield case(e=e, n=2, d=2, eta=1.0, want=want, why=later)
    many = "The last two rows are questions. Neither is a key of any token, nor of the other."
    e = [[1, 0, 3], [1, -1, 1], [2, 2, -2], [1, 3, 4]]
    want = [[1, 0, 1], [1, -1, -1.5], [2, 2, -5], [1, 3, 3.5]]
    yield case(e=e, n=2, d=2, eta=1.0, want=want, why=many)
    two = "Each residual is a row of m numbers, and all m are treated alike."
    e = [[2, 0, 1, 1, 0], [0, 1, 1, -2, 4], [1, 1, 0, 2, 2], [1, 0, 3, 1, -1]]
    yield case(e=e, n=3, d=3, eta=0.5, why=two)
    yield case(e=e, n=3, d=2, eta=0.5, why="The same rows, of which the first two numbers are x.")
    for seed, (n, d, m, asked) in enumerate(
        ((5, 2, 1, 1), (4, 1, 3, 3), (2, 6, 2, 5), (9, 3, 1, 2))
    ):
        rng = np.random.default_rng(seed)
        e = np.round(rng.normal(0, 2, (n + asked, d + m)), 2)
        why = f"{n} examples, d = {d}, m = {m}. The residuals of the questions are not 0."
        yield case(e=e, n=n, d=d, eta=0.3, why=why)
    want = [[2, 0], [5, -6.5]]
    yield case(e=[[2, 3], [5, 1]], n=1, d=1, eta=0.25, want=want, why="n = 1.")
    yield from promised(whole, e=integers(5, (4, 5)), n=2, d=3, eta=0.5)


def _layer_in_turn(e: Array, n: int, d: int, eta: float) -> Array:
    out = np.array(e, dtype=float)
    for row in out:
        row[d:] -= eta / n * row[:d] @ out[:n, :d].T @ out[:n, d:]
    return out


def _layer_hidden_from_questions(e: Array, n: int, d: int, eta: float) -> Array:
    x, r, asked = e[:, :d], e[:, d:], np.arange(len(e)) >= n
    seen = ~(asked[:, None] & asked)
    return np.hstack([x, r - eta / n * (x @ x.T * seen) @ r])


@exercise(
    "18.1",
    praise="Questions alone and together, with residuals of their own, and several targets.",
    hints=(
        "Cut the tokens into x and r. Which rows are queries, and which are keys?",
        "Scores are all x times the x of the examples, one row a token. No softmax follows.",
        "The residuals lose η / n times (scores times the residuals of the examples).",
    ),
    cases=_texts,
    otherwise="All tokens are queries, only the examples are keys, and only the residuals change.",
    mutants={
        "Questions are hidden from questions alone; no example may see them either.": (
            _layer_hidden_from_questions
        ),
        "Residuals are changed one after another, and later tokens see new ones. In one layer all "
        "tokens see the same input.": _layer_in_turn,
    },
    slips="""
        x @ x[:n].T → x @ x.T ;; scores @ r[:n] → scores @ r
            Questions are keys: their residuals enter the sums. With the residual 0 that does no
            harm, and here they have others.
        x @ x[:n].T → x @ x[:-1].T ;; scores @ r[:n] → scores @ r[:-1]
            The last row alone is taken for a question. All rows from n on are.
        x @ x[:n].T → x @ x[:-1].T ;; scores @ r[:n] → scores @ r[:-1]
        eta / n → eta / (len(e) - 1)
            You take n to be one less than the number of tokens, with the last row as the only
            question. There may be more questions.
        x @ x[:n].T → x @ x.T * (np.arange(len(e)) < n)[:, None] ;; scores @ r[:n] → scores @ r
            The mask lies on the wrong side: the question is a key, and should be a query.
        x @ x[:n].T → x @ x.T - np.diag((np.arange(len(e)) >= n) * (x * x).sum(1))
        scores @ r[:n] → scores @ r
            A question is hidden from itself alone; the other tokens must not see it either.
        eta / n → eta / len(e)
            You divided by the number of tokens; n is the number of examples.
        eta / n → eta
            You did not divide by n, so the step grows with the number of examples.
        eta / n → eta / d
            You divided by the width of x, and not by the number of examples.
        eta / n → eta / (d * n)
            You divided by d as well; the scores have no scale here.
        r - eta → r + eta
            The residuals grow: values are the residuals with the sign reversed.
        r - eta → -eta
            What comes out of the layer is added to what was there; you return the change alone.
        np.concatenate([x, r - eta / n * change], axis=1) → e - eta / n * scores @ e[:n]
            The vectors x have changed too; values are residuals only.
        scores @ r[:n] → scores / np.sqrt(d) @ r[:n]
            The scores are divided by the root of d; here they are plain dot products.
        scores @ r[:n] → np.exp(scores - scores.max(1, keepdims=True)) @ r[:n]
        r - eta → r - n * eta
        / n * change → / n * change / np.exp(scores - scores.max(1, keepdims=True)).sum(1)[:, None]
            Your scores went through a softmax, and linear attention has none. It also needs no
            division by n.
        scores @ r[:n] → np.exp(scores - scores.max(1, keepdims=True)) @ r[:n]
        / n * change → / n * change / np.exp(scores - scores.max(1, keepdims=True)).sum(1)[:, None]
            Your scores went through a softmax; in linear attention they are the weights.
        scores @ r[:n] → np.tril(scores) @ r[:n]
            A causal mask hides later examples; here every token sees all examples.
        scores @ r[:n] → scores * (1 - np.eye(len(e), n)) @ r[:n]
            No example looks at itself; each is a key of its own query, too.
        scores @ r[:n] → np.maximum(scores, 0) @ r[:n]
            Negative scores were cut to 0; without a softmax weights may be negative.
        scores @ r[:n] → np.abs(scores) @ r[:n]
            The scores have lost their signs; without a softmax weights may be negative.
        x @ x[:n].T → e @ e[:n].T
            Queries and keys hold the residuals; they are the vectors x alone.
        x, r = e[:, :d], e[:, d:] → x, r = e[:, :-1], e[:, -1:]
            Only the last number of each row is taken for the residual; it is the m numbers after x.
        / n * change → / n * change * (np.arange(len(e)) >= n)[:, None]
            Only questions have changed; every example is a query as well.
        / n * change → / n * change * (np.arange(len(e)) < n)[:, None]
            Questions have not changed; they are queries like every other token.
        r - eta / n * change → (r - eta / n * change) * np.sign(n - np.arange(len(e)) - .5)[:, None]
            The signs of the questions' residuals are reversed. That makes the answer of a stack, at
            its end, and no token of it.
        np.concatenate([x, r - eta / n * change], axis=1) → r - eta / n * change
            The residuals alone came back; the next layer needs the vectors x as well.
        np.concatenate([x, r - eta / n * change], axis=1) → (eta / n * change - r)[n:]
            Those are the answers to the questions; all tokens are asked for.
        axis=1) → axis=1)[:n]
            The questions are missing from the tokens.
    """,
)
def layer(e: Array, n: int, d: int, eta: float) -> Array:
    """One layer of linear attention, which is one step of gradient descent."""
    x, r = e[:, :d], e[:, d:]
    scores = x @ x[:n].T
    change = scores @ r[:n]
    return np.concatenate([x, r - eta / n * change], axis=1)


def stack_of(d: int, width: int, etas: tuple[float, ...]) -> Stack:
    """A stack of layers with these steps, for tokens of `width` numbers, d of them x."""

    def stack(e: Array) -> Array:
        e = np.array(e, dtype=float)
        if e.ndim != 2 or e.shape[1] != width:
            raise Wrong(
                f"The stack was given an array of shape {e.shape}. It takes tokens in rows of "
                f"d + m = {width} numbers: the examples first, the question last."
            )
        if len(e) < 2:
            raise Wrong("The stack was given a question without an example to learn from.")
        for eta in etas:
            e = layer(e, len(e) - 1, d, eta)
        return e

    return stack


def _stacks() -> Iterator[Case]:
    def of(examples: Any, d: int, *etas: float, want: Any = None, why: str) -> Case:
        given = np.array(examples, dtype=float)
        layers = f"{len(etas)} layer{'s' * (len(etas) != 1)}"
        steps = "step " + ", ".join(f"{eta:g}" for eta in dict.fromkeys(etas))
        shown = (
            given.tolist() if given.size < 16 else f"{len(given)} rows of {given.shape[1]} numbers"
        )
        said = f"a stack of {layers}, {steps}, examples = {shown} and d = {d}".replace("-", "−")
        stack: Any = stack_of(d, given.shape[1], etas)
        return case(stack=stack, examples=given, d=d, want=want, why=why, said=said)

    one = "One step from 0: the sum of y times x, (3, 0) + (1, −1), over n = 2."
    given = [[1, 0, 3], [1, -1, 1]]
    yield of(given, 2, 1.0, want=[[2], [-0.5]], why=one)
    two = "After one step W is (2, −0.5) and the residuals are (1, −1.5): W gains (−0.25, 0.75)."
    yield of(given, 2, 1.0, 1.0, want=[[1.75], [0.25]], why=two)
    few = "One example, two coordinates: the weight lies along the example."
    yield of([[3, 4, 10]], 2, 0.02, want=[[0.6], [0.8]], why=few)
    several = "Each of the m targets has a column of W."
    yield of([[1, 0, 2, 3], [0, 1, 5, 4], [1, 1, 0, 6]], 2, 0.6, 0.6, 0.6, why=several)
    yield of([[1, 2, 2, 0, 1], [-1, 0, 1, 3, 2]], 3, 0.4, 0.1, why=several)
    for seed, (n, d, m, k) in enumerate(((6, 3, 1, 3), (2, 5, 2, 4), (8, 2, 3, 8), (12, 4, 1, 1))):
        rng = np.random.default_rng(seed)
        examples = np.round(rng.normal(0, 1, (n, d + m)), 2)
        why = f"{n} examples, d = {d} and m = {m}: the stack answers as one weight does."
        yield of(examples, d, *np.round(rng.uniform(0.1, 0.5, k), 2).tolist(), why=why)


def _kept(stack: Stack, examples: Array, d: int) -> Array:
    text, rows, m = examples, [], examples.shape[1] - d
    for unit in np.eye(d):
        text = np.vstack([text, np.append(unit, np.zeros(m))])
        rows.append(-stack(text)[-1, d:])
    return np.array(rows)


def _at_once(stack: Stack, examples: Array, d: int) -> Array:
    questions = np.hstack([np.eye(d), np.zeros((d, examples.shape[1] - d))])
    return -stack(np.vstack([examples, questions]))[len(examples) :, d:]


@exercise(
    "18.2",
    praise="One layer and eight, steps that differ, fewer examples than coordinates, many targets.",
    hints=(
        "What is x W, if x has a single 1 and otherwise zeros?",
        "Ask each unit vector by itself: the tokens are the examples and this one question.",
        "The answer is minus the last m numbers of the last row; it is a row of W.",
    ),
    cases=_stacks,
    otherwise="The answer to a unit vector is one row of W.",
    mutants={
        "Each question stays in the text and is taken for an example with the target 0 by the "
        "next one.": _kept,
        "All unit vectors stand in one text. The stack takes all rows but the last for examples, "
        "here with the target 0.": _at_once,
    },
    slips="""
        -after[-1, d:] → after[-1, d:]
            The sign is that of the residual: the answer is the residual with the sign reversed.
        -after[-1, d:] → -after[-2, d:]
            You read the last example's residual, and not the question's.
        -after[-1, d:] → -after[-1, d:d + 1]
            Only the first of the m targets is read.
        -after[-1, d:] → -after[0, d:]
            You read the first example's residual, and the question stands last.
        np.zeros(m) → np.ones(m)
            The question begins with the residual 1; its answer is then off by 1.
        np.vstack([examples, question]) → np.vstack([question, examples])
        -after[-1, d:] → -after[0, d:]
            The question stands first, so it is an example, and the last example is the question.
        np.vstack([examples, question]) → stack(np.vstack([examples, question]))
            The tokens went through the stack twice: that is twice as many layers.
        return np.array(rows) → return np.array(rows).T
            W is transposed: a column belongs to each target.
        in np.eye(d) → in examples[:, :d]
            Your questions are the examples: that gives what is answered to them, and not W.
        = np.linalg.lstsq(examples[:, :d], examples[:, d:], rcond=None)[0]
            That is the weight of least squares, where ever more layers lead. This stack need not
            have arrived there.
        = np.linalg.pinv(examples[:, :d]) @ (examples - stack(examples))[:, d:]
            You gave the stack the examples alone. It took the last one for the question, so only
            the others were learnt from.
        = examples[:, :d].T @ examples[:, d:] / len(examples)
            That is one step of size 1. The number of layers and their steps show in the answers.
        = examples[:, :d].T @ stack(np.vstack([examples, 0 * examples[0]]))[:-1, d:] / len(examples)
            That is the gradient after the last layer with its sign reversed, and not the weight.
    """,
)
def read_weight(stack: Stack, examples: Array, d: int) -> Array:
    """The weight that the answers of a stack have."""
    m = examples.shape[1] - d
    rows = []
    for unit in np.eye(d):
        question = np.concatenate([unit, np.zeros(m)])
        after = stack(np.vstack([examples, question]))
        rows.append(-after[-1, d:])
    return np.array(rows)
