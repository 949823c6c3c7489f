"""Exam questions of chapter 2: what a softmax does, what it ignores, how it is computed."""

from __future__ import annotations

import numpy as np

from tformer.reference import softmax
from tformer_book.exams import Item, choices, distinct, question, tex

Rng = np.random.Generator


@question("Three scores", minutes=8)
def three_scores(rng: Rng) -> Item:
    """Weights of logarithms, at two temperatures, and with a key hidden."""
    a = np.array(distinct(rng, 3, 1, 9))
    up, beta = int(rng.integers(2, 10)), int(rng.integers(2, 4))
    x = np.log(a)
    weights, cold = softmax(x), softmax(x, beta=float(beta))
    hidden = softmax(np.where([True, True, False], x, -np.inf))
    return Item(
        statement=rf"""
A row has the scores $x = (\log {a[0]}, \log {a[1]}, \log {a[2]})$.

**(a)** Give the weights $\operatorname{{softmax}}(x)$, and those at the inverse temperature
$\beta = {beta}$.

**(b)** The third key is hidden by a score of $-\infty$. Give the weights at $\beta = 1$.

**(c)** All three scores are raised by {up}. What happens to the weights in (a)? Prove it in
one line.

**(d)** All three *weights* of (a) are now taken for scores, and the softmax is applied once
more. Can the largest weight come close to 1? Give the largest value that it could have if the
first weights were as sure as you like.""",
        answer=rf"""
**(a)** The exponentials are ${tex(a)}$, so the weights are ${tex(weights)}$. At
$\beta = {beta}$ the exponentials are ${tex(a**beta)}$, and the weights ${tex(cold)}$.

**(b)** ${tex(hidden)}$: the others share the weight in the old ratio.

**(c)** Nothing: every exponential is multiplied by $e^{{{up}}}$ (or $e^{{{up} \beta}}$), which
cancels.

**(d)** No. The new scores lie between 0 and 1, so no score leads by more than 1, and the
largest weight is below $e / (e + 2)$.""",
        marking=(
            (3, "exponentials, and both rows of weights"),
            (1, "the row with a hidden key"),
            (2, "no change, with the factor that cancels"),
            (2, "scores differ by at most one; the bound"),
        ),
        given={"a": a, "beta": beta},
        values={"weights": weights, "cold": cold, "hidden": hidden},
        traps={
            "β cancels": ("cold", weights),
            "β multiplies the weights' arguments": ("cold", a * beta / (a * beta + 1).sum()),
            "the hidden weight is lost": ("hidden", weights * [1, 1, 0]),
            "the hidden score is zero": ("hidden", np.array([*a[:2], 1]) / (a[:2].sum() + 1)),
        },
    )


@question("Which scores were they?", minutes=10, asks="proof")
def which_scores(rng: Rng) -> Item:
    """Rows of scores with given weights; they differ by a constant."""
    a = np.array(distinct(rng, 3, 1, 9))
    times = int(rng.integers(2, 6))
    p = softmax(np.log(a))

    def logs(values: np.ndarray, sign: str = "") -> str:
        return ", ".join(rf"{sign}\log {value}" for value in values)

    less = ", ".join(rf"\log {x} - {times}" for x in a)
    right = [(logs(times * a), np.log(times * a)), (less, np.log(a) - times)]
    wrong = [
        (", ".join(tex(x) for x in p), p),
        (logs(a, f"{times}"), times * np.log(a)),
        (logs(a, "-"), -np.log(a)),
        (logs(a + times), np.log(a + times)),
    ]
    kept = [right[0], right[1], *(wrong[i] for i in rng.choice(4, 2, replace=False))]
    options = [kept[i] for i in rng.permutation(4)]
    fits = [bool(np.allclose(softmax(row), p, rtol=0, atol=1e-9)) for _, row in options]
    letters = " and ".join(x for x, fit in zip("ABCD", fits, strict=True) if fit)
    ratios = np.exp(np.log(p[:2]) - np.log(p[2]))
    return Item(
        statement=rf"""
A row of scores has the weights $p = {tex(p)}$, at $\beta = 1$.

{choices([f"$({text})$" for text, _ in options])}

**(a)** Which of these can the scores be?

**(b)** Give the scores with these weights whose last entry is 0.

**(c)** Prove: if two rows of finite scores have the same weights, they differ by a constant.

**(d)** Is there a row with these weights in which every score is below $-1000$? What does a
computer make of it that exponentiates before it subtracts anything?""",
        answer=rf"""
**(a)** {letters}.

**(b)** The exponentials of the first two are ${tex(ratios)}$, so the scores are
$(\log {tex(ratios[0])}, \log {tex(ratios[1])}, 0)$.

**(c)** The weights give the ratios $p_i / p_j = e^{{x_i - x_j}}$. Equal weights of $x$ and $y$
thus mean $x_i - x_j = y_i - y_j$, that is $x_i - y_i = x_j - y_j$, for all $i$ and $j$: the
difference is the same everywhere.

**(d)** Yes: subtract a large enough constant. Every exponential is then rounded to zero, and
zero is divided by zero; subtracting the largest score first repairs it, without changing a
weight.""",
        marking=(
            (4, "one point for each row judged rightly"),
            (2, "differences of logarithms"),
            (2, "ratios, then differences, then the constant"),
            (2, "yes, by a shift; underflow and 0/0"),
        ),
        given={"a": a, "options": [text for text, _ in options]},
        values={"letters": letters, "ratios": ratios},
        traps={
            "the weights are the scores": ("ratios", p[:2]),
            "upside down": ("ratios", 1 / ratios),
            "only the raised row": ("letters", "ABCD"[fits.index(True)]),
        },
    )
