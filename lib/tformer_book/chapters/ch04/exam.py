"""Exam questions of chapter 4: what the square root of the width is for, and what it is not."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tformer.reference import dot, softmax, softmax_jacobian, softmax_vjp
from tformer_book.exams import Item, choices, draw, question, tex

Rng = np.random.Generator


@question("Two scores of one row", minutes=10)
def two_scores(rng: Rng) -> Item:
    """Variances and covariance through random matrices, and the difference that matters."""

    def fits(rows: np.ndarray) -> bool:
        lengths, meet = dot(rows, rows), dot(rows[1], rows[2])
        return bool(lengths.min() >= 2 and lengths.max() <= 12 and meet not in (0, *lengths[1:]))

    x, y, z = draw(lambda: rng.integers(-3, 4, (3, 4)).astype(float), fits)
    d = int(rng.choice([16, 32, 64]))
    unit = d * dot(x, x) / 16
    variances = unit * dot(np.array([y, z]), np.array([y, z]))
    covariance = unit * dot(y, z)
    difference = unit * dot(y - z, y - z)
    return Item(
        statement=rf"""
Fixed rows $x = {tex(x)}$, $y = {tex(y)}$ and $y' = {tex(z)}$ pass through matrices $W_Q$ and
$W_K$ of shape $(4, {d})$, whose entries are independent with mean $0$ and variance $\tfrac14$.
Let $q = x W_Q$, $k = y W_K$ and $k' = y' W_K$.

**(a)** Give the variances of $q \cdot k$ and of $q \cdot k'$, and their covariance.

**(b)** Give the variance of the difference $q \cdot k - q \cdot k'$.

**(c)** One and the same row $u$ is added to $y$ and to $y'$. Show that the variance in (b)
stays. Why is it this number, more than those in (a), that decides how sharp the weights of
this query on the two keys are?""",
        answer=rf"""
**(a)** The variances are ${tex(variances[0])}$ and ${tex(variances[1])}$, the covariance is
${tex(covariance)}$.

**(b)** ${tex(difference)}$, the sum of the variances less twice the covariance.

**(c)** $q \cdot k - q \cdot k' = q \cdot (k - k')$ with $k - k' = (y - y') W_K$, in which $u$
cancels; the variance is $d\, \tfrac14 \lVert x \rVert^2\, \tfrac14 \lVert y - y' \rVert^2$.
The softmax sees differences of scores only: the ratio of the two weights is
$e^{{c (q \cdot k - q \cdot k')}}$.""",
        marking=(
            (3, "both variances and the covariance; one point each"),
            (2, "the difference: covariance used, with the right sign and factor"),
            (1, "linearity: $u$ cancels in $k - k'$"),
            (2, "weights depend on differences of scores (shift invariance), said or shown"),
        ),
        given={"rows": (x, y, z), "d": d},
        values={"first": variances[0], "second": variances[1], "together": covariance}
        | {"difference": difference},
        traps={
            "scores of one query taken as independent": ("difference", variances.sum()),
            "covariance counted once": ("difference", variances.sum() - covariance),
            "the variance is always d": ("first", float(d)),
            "one score for the other": ("second", variances[0]),
            "the difference as the first score": ("difference", variances[0]),
            "the difference as the second score": ("difference", variances[1]),
            "the covariance alone": ("difference", covariance),
        },
    )


PROGRAMS = {
    "right": "softmax(q @ k.T / sqrt({head}))",
    "model": "softmax(q @ k.T / sqrt({model}))",
    "twice": "softmax((q / sqrt({head})) @ k.T / sqrt({head}))",
    "none": "softmax(q @ k.T)",
    "late": "softmax(q @ k.T) / sqrt({head})",
}
FATE = {"right": "neither", "model": "neither", "twice": "flat", "none": "frozen", "late": "frozen"}


@question("Four programs", minutes=12, asks="error")
def four_programs(rng: Rng) -> Item:
    """Spread of the scores and sum of a row, in programs of which one divides rightly."""
    head, heads = draw(
        lambda: (int(rng.choice([16, 64, 256])), int(rng.choice([4, 9, 16, 25, 36]))),
        lambda pair: pair[0] != pair[1],
    )
    width = head * heads
    others = rng.choice(["model", "twice", "none"], size=2, replace=False)
    names = [str(name) for name in rng.permutation(["right", "late", *others])]
    scale = {"right": head**-0.5, "model": width**-0.5, "twice": 1 / head, "none": 1.0, "late": 1.0}
    spread = np.array([scale[name] * head**0.5 for name in names])
    total = np.array([head**-0.5 if name == "late" else 1.0 for name in names])
    right, late = (chr(65 + names.index(name)) for name in ("right", "late"))
    fates = ", ".join(f"{'ABCD'[i]} {FATE[name]}" for i, name in enumerate(names))
    programs = choices([f"`{PROGRAMS[x].format(head=head, model=width)}`" for x in names])
    return Item(
        statement=f"""
A model of width {width} has {heads} heads of equal width. Four programs compute the weights of
one head.

{programs}

**(a)** All coordinates of the queries and keys are independent with mean 0 and variance 1. For
each program: which standard deviation have the numbers that enter the softmax, and what does a
row of its result add up to?

**(b)** Which program is right? Now let the heads become much wider, while their number stays.
In which programs does a row freeze (one weight takes nearly everything), in which does it go
flat (all are nearly equal), in which neither?

**(c)** The author of {late} says: “What leaves my layer is small, so nothing can saturate.”
What is wrong with that?""",
        answer=f"""
The width of a head is {head}.

**(a)** Standard deviations ${tex(spread)}$ and sums ${tex(total)}$, in the order A to D.

**(b)** {right} is right. {fates}. (A division by the root of the model's width leaves a spread
that does not depend on the width of a head either; it is only smaller.)

**(c)** Whether a softmax saturates is decided by the scores that enter it, and here they still
have standard deviation ${tex(head**0.5)}$. The division comes after: the ratios of the
weights, and so their sharpness, stay as they are, and the output shrinks by a constant factor.""",
        marking=(
            (1, f"the width that counts is {head}"),
            (4, "standard deviations; one point each"),
            (2, f"sums: ${tex(head**-0.5)}$ for {late}, 1 for the others"),
            (2, "the right program, and who freezes or goes flat"),
            (2, "saturation is decided before the softmax; ratios of weights are unchanged"),
        ),
        given={"head": head, "heads": heads, "names": names},
        values={"spread": spread, "total": total, "right": right, "fates": fates},
        traps={
            "variance for standard deviation": ("spread", spread**2),
            "all weights add up to one": ("total", np.ones(4)),
            "the width of the model taken for that of the head": (
                "spread",
                spread * np.sqrt(heads),
            ),
        },
    )


@question("One scale, two kinds of key", minutes=12, asks="why")
def two_wishes(rng: Rng) -> Item:
    """Unrelated and aligned scores under three scales, at two widths."""
    a, b, d, factor = draw(
        lambda: (*rng.integers(1, 4, 2), 16 * rng.choice([1, 4, 9, 16]), rng.choice([4, 9, 16])),
        lambda sizes: np.prod(sizes) <= 9999,
    )
    eighths = int(rng.integers(1, 8))

    def scores(width: int) -> np.ndarray:
        """Typical unrelated score and mean aligned one, under the three scales."""
        signs = np.where(np.arange(width) < width * (8 + eighths) // 16, 1.0, -1.0)
        aligned = dot(np.full(width, float(a)), b * signs)
        scale = np.array([1, width**-0.5, 1 / width])
        return np.stack([scale * (a * b * width**0.5), scale * aligned], axis=-1)

    table = np.concatenate([scores(d), scores(factor * d)], axis=-1)
    ratio = scores(d)[0, 1] / scores(d)[0, 0]
    stays = np.concatenate([table[:, :3], table[:, [1]]], axis=-1)
    return Item(
        statement=rf"""
The coordinates of a query have mean 0 and standard deviation {a}, those of every key mean 0
and standard deviation {b}. Most keys are *unrelated* to the query: all coordinates are
independent. One key is *aligned* with it: matching coordinates have correlation
${tex(eighths / 8)}$, different ones are independent.

**(a)** Fill in the table, for the widths {d} and {factor * d}. *Spread* is the standard
deviation of an unrelated score, *aligned* the mean of the aligned one.

| scale | spread, {d} | aligned, {d} | spread, {factor * d} | aligned, {factor * d} |
|---|---|---|---|---|
| $1$ | | | | |
| $1/\sqrt d$ | | | | |
| $1/d$ | | | | |

**(b)** Which scale is right for which of the two kinds of key, and why?

**(c)** Show that no scale $c(d)$, however chosen, keeps both columns at one value for all
widths.

**(d)** In a trained head with the scale $1/\sqrt d$ a word meets itself with a very large
score. Has the square root failed?""",
        answer=rf"""
**(a)** Rows are the three scales, columns as in the table: ${tex(table)}$.

**(b)** $1/\sqrt d$ keeps the spread of unrelated scores, which grows like $\sqrt d$ because
variances of independent terms add up. $1/d$ keeps the aligned score, whose $d$ terms all have
the same mean, so that it grows like $d$.

**(c)** The aligned score divided by the unrelated spread is $\tfrac{{{eighths}}}{{8}} \sqrt d$
for every $c$: the scale cancels. It is ${tex(ratio)}$ at $d = {d}$, and grows with $d$; were
both columns constant, so would be their ratio.

**(d)** No. The square root answers for vectors that have nothing to do with each other. Where
training has aligned the query and the key of a word, their score grows with $\sqrt d$ under
this scale, as the table says.""",
        marking=(
            (4, "the table; one point for each column"),
            (2, "each scale with its kind of key, and a reason: variances add up, means add up"),
            (2, "the ratio does not contain $c$, and grows"),
            (2, "the promise is about unrelated vectors; alignment is another matter"),
        ),
        given={"d": d, "factor": factor, "correlation": Fraction(eighths, 8), "sd": (a, b)},
        values={"table": table, "ratio": ratio},
        traps={
            "the aligned score stays": ("table", stays),
            "standard deviation grows like the width": ("ratio", eighths / 8),
        },
    )


@question("How much entropy is lost", minutes=10, asks="error")
def entropy_lost(rng: Rng) -> Item:
    """The bound of half a variance: forwards, backwards, and where it is reversed wrongly."""
    halves = [Fraction(n, 2) for n in (1, 2, 3, 4, 5)]
    s_q, s_k, root = (halves[int(i)] for i in rng.integers(0, 5, 3))
    third = Fraction(int(rng.integers(1, 12)), 16)
    keys = int(rng.choice([1000, 2000, 4000, 8000]))
    lost, most = root**2 / 2, (s_q * s_k) ** 2 / 2
    return Item(
        statement=rf"""
A theorem says: the weights $p$ of $n$ independent normal scores with mean $0$ and variance
$\sigma^2$ have $\operatorname{{E}}[H(p)] \ge \log n - \tfrac12 \sigma^2$. It holds on average,
too, if $\sigma^2$ is itself random, with its mean in place of $\sigma^2$. Call
$\log n - \operatorname{{E}}[H(p)]$ the *loss*. A row has {keys} keys, and the scale is
$1/\sqrt d$.

**(a)** All coordinates are independent and normal with mean 0, those of the query with
standard deviation ${tex(s_q)}$, those of the keys with ${tex(s_k)}$. How large is the loss at
most, and for which widths does that hold?

**(b)** In a head whose key coordinates have standard deviation 1, and for which all the other
assumptions of (a) hold, the loss is ${tex(lost)}$. How large is the standard deviation of the
query's coordinates at least?

**(c)** In another head the loss is ${tex(third)}$. A report says: “Hence the scores have
variance ${tex(2 * third)}$.” Find the error, and say what does follow. Describe a row in which
the loss is much smaller than half the variance.""",
        answer=rf"""
**(a)** Given the query, a score is normal with variance $\tfrac1d \lVert q \rVert^2$ times the
variance of a key's coordinate; its mean is $({tex(s_q)} \cdot {tex(s_k)})^2$. So the loss is
at most ${tex(most)}$, at every width.

**(b)** $\tfrac12 \sigma^2 \ge {tex(lost)}$ with $\sigma$ the wanted standard deviation, so it
is at least ${tex(root)}$.

**(c)** The theorem bounds the loss from above; it does not say that the bound is reached. What
follows is that the variance is at least ${tex(2 * third)}$. The entropy is never below zero,
so the loss never exceeds $\log n$, however large the variance: two keys lose at most $\log 2$.""",
        marking=(
            (2, "mean variance of a score, and half of it"),
            (1, "at every width"),
            (2, "the bound solved for the standard deviation"),
            (2, "a bound is read as an equation; only “at least” follows"),
            (
                1,
                "an example: few keys or a very large variance, with the reason that entropy "
                "stays above zero",
            ),
        ),
        given={"sd": (s_q, s_k), "lost": lost, "third": third},
        values={"most": most, "least": root, "variance": 2 * third},
        traps={
            "standard deviations not squared": ("most", s_q * s_k / 2),
            "the half forgotten": ("most", 2 * most),
            "the loss taken for the variance": ("variance", third),
            "variance for standard deviation": ("least", root**2),
        },
    )


@question("What arrives", minutes=12, asks="why")
def what_arrives(rng: Rng) -> Item:
    """The Jacobian of two keys, with the scale and without; mean and typical row."""
    a, m = draw(
        lambda: (int(rng.integers(2, 10)), int(rng.integers(2, 7))), lambda x: x[0] ** x[1] <= 81
    )
    wish = draw(lambda: rng.integers(-4, 6, 2).astype(float), lambda u: u[0] != u[1])
    scores = np.log([a, 1]) if rng.integers(2) else np.log([1, a])
    written = [rf"\log {a}" if x else "0" for x in scores]
    p, sharp = softmax(scores), softmax(m * scores)
    J, faint = softmax_jacobian(p), softmax_jacobian(sharp)
    norm, less = (float(np.linalg.norm(x, 2)) for x in (J, faint))
    arrives = softmax_vjp(p, wish)
    return Item(
        statement=rf"""
A query of width {m**2} meets two keys. With the scale $1/\sqrt d$ their scores are
$({", ".join(written)})$. The gradient of the loss with respect to the weights is
$u = {tex(wish)}$, and $uJ$ arrives at the scores, with $J = \operatorname{{diag}} p - p^\top p$.

**(a)** Give $J$, its norm (the most that arrives of a $u$ of length 1), and $uJ$.

**(b)** The scale is removed. Give the norm of $J$ now.

**(c)** Which gradients $u$ are lost altogether, whatever the scores, and why must it be so?

**(d)** Many rows of two independent normal scores without a scale: as $d$ grows, the *mean* of
the norm falls only like $1/\sqrt d$, its *median* much faster. Explain how both can be true.""",
        answer=rf"""
**(a)** $p = {tex(p)}$, $J = {tex(J)}$. The norm is $2 p_1 p_2 = {tex(norm)}$, and
$uJ = {tex(arrives)}$.

**(b)** Without the scale the scores are $\sqrt d = {m}$ times as large, so the weights are
${tex(sharp)}$ and the norm is ${tex(less)}$.

**(c)** Those with equal entries: weights add up to one, so all of them cannot rise together.
(The entries of $uJ$ add up to zero for the mirror reason: a constant added to all scores
changes nothing.)

**(d)** The scores of a typical row differ by about $\sqrt d$, so its norm is near
$2 e^{{-\sqrt d}}$ in order of size. But a share of the rows of order $1/\sqrt d$ has scores
that differ by about one or less. These undecided rows have a norm of the order of one,
and they alone hold up the mean.""",
        marking=(
            (3, "$J$, its norm, and what arrives; one point each"),
            (2, "scores multiplied by the root of the width; the norm"),
            (2, "constant gradients, with the reason"),
            (
                3,
                "typical row: exponentially small; share of undecided rows about "
                "$1/\\sqrt d$; these hold up the mean",
            ),
        ),
        given={"scores": tuple(scores), "factor": m, "wish": wish},
        values={"J": J, "norm": norm, "arrives": arrives, "without": less},
        traps={
            "the norm is p(1 − p)": ("norm", norm / 2),
            "the wish times the weights": ("arrives", p * wish),
            "without the scale the norm is divided by its root": ("without", norm / m),
            "without the scale the norm is multiplied by it": ("without", norm * m),
            "scores multiplied by the width": ("without", 2 * np.prod(softmax(m**2 * scores))),
        },
    )


@question("What the proof needs", minutes=15, asks="proof")
def what_the_proof_needs(rng: Rng) -> Item:
    """Var[q·k] = d, and what is left of it when coordinates are repeated."""
    b, m = int(rng.integers(2, 13)), int(rng.integers(2, 61))
    once, repeated = np.eye(b * m), np.kron(np.eye(m), np.ones((b, b)))
    one, both = float(dot(repeated, once).sum()), float(dot(repeated, repeated).sum())
    return Item(
        statement=rf"""
The coordinates of $q$ and $k$ are independent random variables with mean 0 and variance 1, and
$d = {b * m}$.

**(a)** Prove $\operatorname{{Var}}[q \cdot k] = d$. Mark each place at which you use
independence, and say of what.

**(b)** A faulty layer makes only {m} independent coordinates for the query and writes each of
them {b} times, side by side, so that the width is again {b * m}. The keys are as before. What
is the variance of $q \cdot k$ now?

**(c)** The layer that makes the keys has the same fault, with the repetitions at the same
places. What is the variance now? By which number should the scores be divided?

**(d)** Which of the assumptions that you marked in (a) did (b) show to be more than you need?""",
        answer=rf"""
**(a)**
$\operatorname{{E}}[q \cdot k] = \sum_i \operatorname{{E}}[q_i] \operatorname{{E}}[k_i] = 0$,
since $q_i$ and $k_i$ are independent. So the variance is
$\sum_{{ij}} \operatorname{{E}}[q_i k_i q_j k_j]$. For $i \ne j$ all four factors are
independent and each has mean zero: the term vanishes. For $i = j$ it is
$\operatorname{{E}}[q_i^2] \operatorname{{E}}[k_i^2] = 1$, again because $q_i$ and $k_i$ are
independent. There are $d$ such terms.

**(b)** ${tex(one)}$, as before: the terms are
$\operatorname{{E}}[q_i q_j] \operatorname{{E}}[k_i k_j]$, and the second factor is still zero
for $i \ne j$.

**(c)** Each of the {m} independent products occurs {b} times, so $q \cdot k$ is {b} times a
sum of {m} independent products, and its variance is ${b}^2 \cdot {m} = {tex(both)}$. The
scores should be divided by $\sqrt{{{tex(both)}}}$, not by $\sqrt{{{b * m}}}$.

**(d)** That the coordinates of the query are independent of each other. It is enough that
query and key are independent and that the coordinates of one of the two are uncorrelated.""",
        marking=(
            (
                4,
                "the proof: mean zero, the double sum, terms off the diagonal vanish, terms "
                "on it are 1",
            ),
            (1, "independence marked: within a pair, and between different coordinates"),
            (2, "with the reason: one vanishing factor is enough"),
            (2, "variance, and its root as the divisor"),
            (1, "independence within the query is not needed"),
        ),
        given={"times": b, "independent": m},
        values={"one": one, "both": both},
        traps={
            "repeated terms add their variances": ("both", float(b * m)),
            "a repetition counts once": ("both", float(m)),
            "the fault of the query alone already matters": ("one", both),
            "only the independent ones count": ("one", float(m)),
        },
    )
