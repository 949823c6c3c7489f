"""Exam questions of chapter 18: two steps, the best step, ridge on a line, and a metric."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("Two layers, two steps", minutes=14)
def two_steps(rng: Rng) -> Item:
    """Residuals, the answer after two layers, the largest step, and a question that is a key."""
    x = np.array(distinct(rng, 2, 1, 4)) * rng.choice([-1, 1], 2)
    y, q = rng.integers(-4, 5, 2), int(rng.integers(1, 4))
    step = Fraction(str(rng.choice(["1/2", "1/4", "1/5"])))
    eta = float(step)
    first = eta / 2 * (x @ y)
    r = y - first * x
    second = first + eta / 2 * (x @ r)
    wrong = q * second - eta / 2 * q * q * (q * first)
    pairs = ", ".join(f"({a}, {b})" for a, b in zip(x, y, strict=True))
    return Item(
        statement=rf"""
Two examples $(x, y)$ are given, ${pairs}$, and the question $x = {q}$. Their tokens are
$(x, r)$, with $r = y$ for examples and $r = 0$ for the question. In a layer of linear attention
queries and keys are $x$, values are $-r$, the question is never a key, and what comes out, times
$\eta / 2$ with $\eta = {tex(eta)}$, is added to $r$.

**(a)** Give the residuals of both examples after one layer.

**(b)** Give the answer to the question, its residual with the sign reversed, after two layers.

**(c)** Above which $\eta$ do the residuals of a deep stack grow without bound, for some targets?

**(d)** Somebody lets the question be a key as well. Give his answer after two layers. Why does a
test with one layer not find the mistake?""",
        answer=rf"""
**(a)** The residuals times $x$ add up to ${tex(int(x @ y))}$, so the step leads from $w = 0$ to
${tex(first)}$, and the residuals become ${tex(r)}$.

**(b)** $w = {tex(second)}$ after the second step, so the answer is ${tex(q * second)}$.

**(c)** Each layer multiplies the part of the residuals along $x$ by $1 - \eta \lambda$ with
$\lambda = {tex(int(x @ x))} / 2$. It grows beyond $\eta = 2 / \lambda = {tex(4 / (x @ x))}$.

**(d)** In the second layer the question's own value, ${tex(q * first)}$, enters as well, with the
score ${tex(q * q)}$: its answer becomes ${tex(wrong)}$. In the first layer that value is 0, so
nothing is added.""",
        marking=(
            (3, "the first step and both residuals"),
            (3, "the answer after two layers"),
            (2, "the largest step, with its factor"),
            (4, "the wrong answer, and the value 0 in the first layer"),
        ),
        given={"x": x, "y": y, "q": q, "step": eta},
        values={
            "residuals": r,
            "answer": q * second,
            "largest": 4 / (x @ x),
            "wrong": wrong,
        },
        traps={
            "not divided by the number of examples": ("residuals", y - 2 * first * x),
            "the sign of the residual": ("answer", -q * second),
            "one layer": ("answer", q * first),
            "the largest step without the number of examples": ("largest", 2 / (x @ x)),
            "no difference": ("wrong", q * second),
        },
    )


@question("The step that training finds", minutes=14, asks="proof")
def learnt_step(rng: Rng) -> Item:
    """The best step of one layer, its error, and the same layer with more examples."""
    d, n = int(rng.integers(1, 7)), int(rng.integers(2, 9))
    more = n * int(rng.integers(2, 5))
    step = Fraction(n, n + d + 1)
    asked = 1 - 2 * step + step**2 * Fraction(more + d + 1, more)
    return Item(
        statement=rf"""
The coordinates of $w$ and of all $x$, {d} each, are independent and from $N(0, 1)$, and
$y_i = x_i \cdot w$. One layer of linear attention answers a question with the weight
$w_1 = \eta S w$, where $S = \tfrac1n \sum_i x_i x_i^T$. With $n$ examples in $d$ dimensions $S$ has
the mean $I$, and $S^2$ has the mean $\tfrac{{n + d + 1}}{{n}} I$. The error is the mean of
$|w_1 - w|^2 / d$.

**(a)** Show that the error is $1 - 2 \eta + \tfrac{{n + d + 1}}{{n}} \eta^2$.

**(b)** A layer is trained with $n = {n}$ examples. Which $\eta$ will it find, and with which error?

**(c)** This layer is asked with {more} examples, and divides by {more}. Give its error.

**(d)** Which error is left with more and more examples? Why is it not 0, although the examples
then tell $w$ exactly?""",
        answer=rf"""
**(a)** $|w_1 - w|^2 = w^T (\eta S - I)^2 w$. Since $w$ is independent of $S$ and has the covariance
$I$, its mean is the mean of the trace of $\eta^2 S^2 - 2 \eta S + I$. Each diagonal entry has the
mean $\tfrac{{n + d + 1}}{{n}} \eta^2 - 2 \eta + 1$; there are $d$ of them, and $d$ is divided by.

**(b)** The parabola is lowest at $\eta = n / (n + d + 1) = {tex(step)}$, with the error
${tex(1 - step)}$.

**(c)** ${tex(asked)}$.

**(d)** $S$ becomes the identity, and $(1 - \eta)^2 = {tex((1 - step) ** 2)}$ is left. The layer
makes one step and keeps its length. That length was short because $S$ scattered in training.""",
        marking=(
            (4, "the trace, both means, and where independence is used"),
            (3, "the step and its error"),
            (2, "the error with more examples"),
            (3, "the limit, and the step that stays short"),
        ),
        given={"d": d, "n": n, "more": more},
        values={
            "step": float(step),
            "error": float(1 - step),
            "asked": float(asked),
            "left": float((1 - step) ** 2),
        },
        traps={
            "S is the identity": ("step", 1.0),
            "the fourth moment forgotten": ("step", n / (n + d)),
            "the best step for as many": ("asked", (d + 1) / (more + d + 1)),
            "nothing is left": ("left", 0.0),
        },
    )


@question("Ridge on a line", minutes=14, asks="why")
def ridge(rng: Rng) -> Item:
    """The mean and variance of a weight, least squares, and one example close to 0."""
    x, y = np.array(distinct(rng, 2, 1, 5)), rng.integers(1, 7, 2)
    sigma, target = int(rng.integers(2, 5)), int(rng.integers(1, 9))
    bottom = int(x @ x) + sigma**2
    mean, variance = Fraction(int(x @ y), bottom), Fraction(sigma**2, bottom)
    least = Fraction(int(x @ y), int(x @ x))
    return Item(
        statement=rf"""
A weight $w$ is drawn from $N(0, 1)$. Each target is $y = x w$ plus noise from
$N(0, {sigma}^2)$. Two examples $(x, y)$ are seen, $({x[0]}, {y[0]})$ and $({x[1]}, {y[1]})$.

**(a)** Give the mean and the variance of $w$ given both examples.

**(b)** Give the weight of least squares. On which side of it does the mean lie, and why?

**(c)** Now one example alone is seen, with the target {target} and some $x > 0$. For which $x$ is
the mean of $w$ largest, and how large is it? What does least squares do as $x$ goes to 0?

**(d)** Least squares has its largest error near as many examples as coordinates. Explain this with
(c). Why has a model that answers with the mean no such peak?""",
        answer=rf"""
**(a)** The mean is $\sum x y / (\sum x^2 + \sigma^2) = {tex(mean)}$, and the variance is
$\sigma^2 / (\sum x^2 + \sigma^2) = {tex(variance)}$.

**(b)** ${tex(least)}$. The mean is nearer to 0, since that is what is known of $w$ before.

**(c)** {target} $x / (x^2 + {sigma**2})$ is largest at $x = {sigma}$, where it is
${tex(target / (2 * sigma))}$. The weight of least squares is {target} $/\, x$, and grows without
bound.

**(d)** With as many examples as coordinates some direction is often covered by small numbers only,
as a small $x$ in (c), and there least squares divides noise by them. The mean stays near 0 in such
a direction, as (c) shows: $\sigma^2$ is added before the division.""",
        marking=(
            (4, "mean and variance"),
            (2, "least squares, and the side of 0"),
            (3, "the largest mean, and the limit"),
            (3, "small numbers that noise is divided by, and what is added to them"),
        ),
        given={"x": x, "y": y, "sigma": sigma, "target": target},
        values={
            "mean": float(mean),
            "variance": float(variance),
            "least": float(least),
            "largest": target / (2 * sigma),
        },
        traps={
            "sigma in place of its square": ("mean", (x @ y) / (x @ x + sigma)),
            "the variance without the noise": ("variance", 1 / bottom),
            "least squares": ("mean", float(least)),
            "the mean of the quotients": ("least", float((y / x).mean())),
            "x = 1": ("largest", target / (1 + sigma**2)),
        },
    )


def _models(rng: Rng) -> tuple[int, ...]:
    whole, gap = int(rng.integers(5, 10)), int(rng.integers(1, 4))
    return (
        int(rng.choice([3, 4])),
        whole,
        int(rng.integers(1, 5)),
        gap,
        10 * int(rng.integers(1, 6)),
    )


def _may_show_none(drawn: tuple[int, ...]) -> bool:
    """Probabilities below 1, and a test of which the smallest model solves 1.5 tasks at most."""
    k, whole, least, gap, tasks = drawn
    return least + 2 * gap < whole and tasks * (least / whole) ** k <= 1.5


@question("A score that jumps", minutes=12, asks="error")
def jumps(rng: Rng) -> Item:
    """Exact match of a few tokens, how fast it grows, and a small test that shows 0."""
    k, whole, least, gap, tasks = draw(lambda: _models(rng), _may_show_none)
    shares = [least, least + gap, least + 2 * gap]
    p = [Fraction(share, whole) for share in shares]
    scores = [share**k for share in p]
    listed = ", ".join(f"${tex(share)}$" for share in p)
    return Item(
        statement=rf"""
Three models, each ten times as large as the one before, get a token of an answer right with
probability {listed}. An answer has {k} tokens, and the task counts as solved if
all are right. Take tokens to be right independently.

**(a)** Give the share of tasks that each model solves.

**(b)** From the smallest model to the largest, by which factor does the probability of a token
grow, and by which the share of solved tasks?

**(c)** Of {tasks} tasks, how many does the smallest model solve on average?

**(d)** A report says: “The small model solves nothing, the large one does. The ability to solve
this task arises between them, and no trend in smaller models could have told.” Give two errors.

**(e)** Which observation on the same models would support the report after all?""",
        answer=rf"""
**(a)** ${tex([float(score) for score in scores])}$.

**(b)** By ${tex(p[2] / p[0])}$ and by ${tex(scores[2] / scores[0])}$, its power of {k}.

**(c)** ${tex(tasks * scores[0])}$.

**(d)** The smallest model does solve a share of ${tex(scores[0])}$, and a test of {tasks} tasks may
well show none. And the probability of a token grows by the same amount each time. Its power of {k}
looks sudden. Tokens show the trend, and from them the score can be predicted.

**(e)** A jump in the probability of a token itself, or a score far from its power of {k}.""",
        marking=(
            (3, "three powers"),
            (2, "both factors"),
            (1, "the number solved on average"),
            (4, "a test too small, and a metric that bends a steady growth"),
            (2, "a jump that the metric does not explain"),
        ),
        given={"k": k, "whole": whole, "shares": shares, "tasks": tasks},
        values={
            "scores": np.array([float(score) for score in scores]),
            "token": float(p[2] / p[0]),
            "score": float(scores[2] / scores[0]),
            "solved": float(tasks * scores[0]),
        },
        traps={
            "the tokens' own probabilities": ("scores", np.array([float(share) for share in p])),
            "errors added up": ("scores", np.array([float(1 - k * (1 - share)) for share in p])),
            "the factor times the number of tokens": ("score", float(k * p[2] / p[0])),
            "a token counts as a task": ("solved", float(tasks * p[0])),
        },
    )
