"""Exam questions of chapter 2, continued: how weights respond, and how far a winner leads."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tformer.reference import entropy, softmax, softmax_vjp
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("What reaches the scores", minutes=12, asks="why")
def what_reaches_the_scores(rng: Rng) -> Item:
    """The vector–Jacobian product, what it ignores, and the loss that keeps a sure row learning."""
    a = np.array(distinct(rng, 3, 1, 6), dtype=float)
    p = softmax(np.log(a))
    g = rng.integers(-4, 6, 3).astype(float)
    beta, more, right = float(rng.choice([2, 3])), int(rng.integers(2, 10)), int(rng.integers(3))
    back = softmax_vjp(p, g, beta=beta)
    wish = np.where(np.arange(3) == right, -1 / p, 0)
    loss = softmax_vjp(p, wish)
    rising = [str(i + 1) for i in range(3) if back[i] < -1e-12]
    keys = " and ".join(rising) or "none"
    return Item(
        statement=rf"""
At $\beta = {tex(beta)}$ three scores have the weights $p = {tex(p)}$. The gradient of a loss
with respect to these weights is $g = {tex(g)}$.

**(a)** Give the gradient with respect to the scores. Which scores rise in a small step of
gradient descent?

**(b)** Every entry of $g$ is raised by {more}. What becomes of the gradient at the scores, and
why could you have known?

**(c)** The entries of the gradient at the scores add up to zero, whatever $p$ and $g$ are.
Which property of the softmax says so?

**(d)** Now $\beta = 1$ with the same weights, and the loss is $-\log p_{right + 1}$. Give the
gradient at the scores.

**(e)** A row is nearly sure of a wrong key. Why does it still learn under the loss of (d),
while inside a layer of attention such a row learns next to nothing?""",
        answer=rf"""
**(a)** $g \cdot p = {tex(g @ p)}$, and the gradient is
$\beta\, p \odot (g - g \cdot p) = {tex(back)}$. The scores that rise: {keys}.

**(b)** Nothing: $g \cdot p$ rises by {more} as well. The weights add up to one, so an equal
wish for all of them cannot be granted.

**(c)** Shift invariance: if all scores rise together no weight changes, and neither does the
loss.

**(d)** $p$ minus the right answer, ${tex(loss)}$.

**(e)** All entries of the Jacobian are near zero. The gradient of $-\log p_y$ with respect to
the weight is $-1/p_y$, which grows as fast as the Jacobian shrinks, and $p$ minus the right
answer is left, which is large for a sure mistake. The gradient that reaches weights inside
attention has no such factor.""",
        marking=(
            (4, "$g \\cdot p$; the three entries; descent goes against the gradient"),
            (2, "no change, with the reason"),
            (1, "shift invariance"),
            (2, "$p$ minus the right answer"),
            (2, "the factor $1/p_y$ makes up for the Jacobian, and is missing in attention"),
        ),
        given={"p": p, "g": g, "beta": beta, "right": right},
        values={"back": back, "loss": loss, "keys": keys},
        traps={
            "g times p": ("back", p * g),
            "β forgotten": ("back", back / beta),
            "the right answer minus p": ("loss", -loss),
            "scores rise along the gradient": (
                "keys",
                " and ".join(str(i + 1) for i in range(3) if back[i] > 1e-12),
            ),
        },
    )


@question("Who rises first", minutes=12, asks="why")
def who_rises_first(rng: Rng) -> Item:
    """Weights against β: which rise at once, which of them fall later, and where it ends."""

    def fits(s: np.ndarray) -> bool:
        rising, winners = s > s.mean(), s == s.max()
        turning = rising & ~winners
        naive = (s > 0) == rising
        return bool((s != s.mean()).all() and turning.any() and not naive.all())

    s = draw(lambda: np.sort(rng.integers(-5, 8, 5))[::-1].astype(float), fits)
    s = s[rng.permutation(5)]

    def named(chosen: np.ndarray) -> str:
        return ", ".join("ABCDE"[i] for i in np.flatnonzero(chosen))

    winners = s == s.max()
    rising = named(s > s.mean())
    turning = named((s > s.mean()) & ~winners)
    end = softmax(np.where(winners, s, -np.inf))
    spread = float(np.exp(entropy(end)))
    return Item(
        statement=rf"""
Five keys A to E have the scores $s = {tex(s)}$. Let $p = \operatorname{{softmax}}_\beta(s)$.

**(a)** Show that
$\dfrac{{\mathrm{{d}} p_i}}{{\mathrm{{d}} \beta}} = p_i \Bigl( s_i - \sum_j p_j s_j \Bigr)$.

**(b)** All weights are equal at $\beta = 0$. Which begin to rise when $\beta$ leaves zero?

**(c)** Which of these fall again later? Why does each of them turn once only? (Hint: what does
$\sum_j p_j s_j$ do as $\beta$ grows?)

**(d)** Give the weights in the limit of large $\beta$, and the number $e^H$ of keys that they
are spread over.""",
        answer=rf"""
**(a)** $\log p_i = \beta s_i - \log \sum_j e^{{\beta s_j}}$ has the derivative
$s_i - \sum_j p_j s_j$. Multiply by $p_i$.

**(b)** At $\beta = 0$ the mean is the plain one, ${tex(s.mean())}$. The weights of the keys
whose scores are above it rise: {rising}.

**(c)** {turning}. The mean score $\sum_j p_j s_j$ grows with $\beta$ (its derivative is the
variance of the scores under the weights), from the plain mean to the largest score. So it
passes each score in between once, and from then on the weight falls.

**(d)** ${tex(end)}$, and $e^H = {tex(spread)}$.""",
        marking=(
            (3, "the derivative: of the logarithm, of the sum, and the product"),
            (2, "compared with the plain mean"),
            (3, "all but the largest; the mean score only grows; each score is passed once"),
            (2, "the largest share alike; $e^H$ is their number"),
        ),
        given={"s": s},
        values={"rising": rising, "turning": turning, "end": end, "spread": spread},
        traps={
            "positive scores rise": ("rising", named(s > 0)),
            "only the largest rises": ("rising", named(winners)),
            "scores above the median rise": ("rising", named(s > np.median(s))),
            "none turns": ("turning", rising),
        },
    )


@question("How far ahead?", minutes=12, asks="proof")
def how_far_ahead(rng: Rng) -> Item:
    """The lead that guarantees a share, exactly and by the bound, and the rivals it can stand."""
    rivals, m = draw(
        lambda: (int(rng.integers(2, 100)), int(rng.integers(3, 21))), lambda x: x[0] * x[1] <= 900
    )
    lead, bound = rivals * (m - 1), rivals * m
    times = int(rng.integers(2, 8))
    more = times * rivals
    share = Fraction(m - 1, m)
    found = softmax(np.log([lead, *np.ones(rivals)]))[0]
    return Item(
        statement=rf"""
One of several keys has the largest score; it exceeds each of its {rivals} rivals by at least
$\Delta > 0$. Let $p$ be its weight, at $\beta = 1$.

**(a)** Prove $1 - p \le {rivals}\, e^{{-\Delta}}$.

**(b)** Which $\Delta$ does (a) give you for certain if $p$ shall be at least ${tex(share)}$?

**(c)** Find the smallest $\Delta$ that guarantees $p \ge {tex(share)}$ whatever the scores of
the rivals. Why is it smaller than that of (b)?

**(d)** The lead of (c) is raised by $\log {times}$. How many rivals may there be now?""",
        answer=rf"""
**(a)** A rival at the distance $\delta$ has weight
$p\, e^{{-\delta}} \le p\, e^{{-\Delta}} \le e^{{-\Delta}}$, and $1 - p$ is the sum of the
weights of the {rivals} rivals.

**(b)** ${rivals}\, e^{{-\Delta}} \le \tfrac{{1}}{{{m}}}$, so $\Delta = \log {bound}$.

**(c)** The weight is least if all rivals are as close as they may be; then
$p = 1 / (1 + {rivals}\, e^{{-\Delta}})$, which is ${tex(found)}$ at $\Delta = \log {lead}$ and
grows with $\Delta$. In (a) a factor $p \le 1$ was dropped.

**(d)** ${more}$: what counts is the number of rivals times $e^{{-\Delta}}$. The lead grows
only like the logarithm of their number.""",
        marking=(
            (3, "a rival's weight in terms of $p$; the sum; $p \\le 1$"),
            (1, "solved for the lead"),
            (4, "the worst case; solved; the factor that was dropped"),
            (2, "rivals times $e^{-\\Delta}$ stays"),
        ),
        given={"rivals": rivals, "m": m, "times": times},
        values={"share": found, "lead": lead, "bound": bound, "more": more},
        traps={
            "the bound taken for exact": ("lead", bound),
            "winner counted as a rival": ("lead", (rivals + 1) * (m - 1)),
            "share for odds": ("lead", rivals * m / (m - 1)),
            "rivals added": ("more", rivals + times),
        },
    )
