"""Exam questions of chapter 5 about programs: leaks, and numbers in the place of −∞."""

from __future__ import annotations

from functools import cache

import numpy as np

from tformer.exams import Item, choices, draw, question, tex
from tformer.reference import attention, attention_weights, causal_mask, count_leaks, softmax

Rng = np.random.Generator

SEEN = "softmax(where({seen}, X @ X.T, HIDE)) @ {rows}"
PROGRAMS = {
    "honest": SEEN.format(seen="s <= t", rows="X"),
    "own mean": SEEN.format(seen="s <= t", rows="(X - X.mean(axis=1, keepdims=True))"),
    "strict": SEEN.format(seen="s < t", rows="X"),
    "one ahead": SEEN.format(seen="s <= t + 1", rows="X"),
    "two ahead": SEEN.format(seen="s <= t + 2", rows="X"),
    "pairs": SEEN.format(seen="s // 2 <= t // 2", rows="X"),
    "threes": SEEN.format(seen="s // 3 <= t // 3", rows="X"),
    "late": "(softmax(X @ X.T) * (s <= t)) @ X",
    "mean": SEEN.format(seen="s <= t", rows="(X - X.mean(axis=0))"),
    "columns": "softmax(where(s <= t, X @ X.T, HIDE), axis=0) @ X",
}
WHY = {
    "honest": "in order",
    "own mean": "in order, since the mean is taken within each row",
    "strict": "no leak, but a word does not see itself, and the first sees nothing",
    "one ahead": "each row sees the next; write `s <= t`",
    "two ahead": "each row sees the next two; write `s <= t`",
    "pairs": "the first of every two sees the second; write `s <= t`",
    "threes": "of every three, the first sees two and the second one; write `s <= t`",
    "late": "hidden scores stand in the sum by which a row is divided; mask before the softmax",
    "mean": "the mean over the words contains later ones; take it within each row",
    "columns": "the softmax divides by a sum over queries, later ones too; let it run over keys",
}
FAIR, EDGE, HIDDEN = list(PROGRAMS)[:3], list(PROGRAMS)[3:7], list(PROGRAMS)[7:]


def run(name: str, x: np.ndarray) -> np.ndarray:
    """What a program makes of a table of rows."""
    t, s = np.arange(len(x))[:, None], np.arange(len(x))
    seen = {
        "strict": s < t,
        "one ahead": s <= t + 1,
        "two ahead": s <= t + 2,
        "pairs": s // 2 <= t // 2,
        "threes": s // 3 <= t // 3,
    }.get(name, s <= t)
    if name == "late":
        return (attention_weights(x, x, scale=1.0) * seen) @ x
    if name == "columns":
        return attention_weights(x, x, mask=seen.T, scale=1.0).T @ x
    means = {"own mean": x.mean(axis=1, keepdims=True), "mean": x.mean(axis=0)}
    return attention(x, x, x - means.get(name, 0.0), mask=seen, scale=1.0)


@cache
def leaks(name: str, n: int) -> int:
    """Pairs that leak, found by exchanging one row of X after the other."""
    rng = np.random.default_rng(0)
    x, other = rng.standard_normal((2, n, 3))
    influence = np.zeros((n, n))
    for s in range(n):
        moved = run(name, np.where(np.arange(n)[:, None] == s, other, x)) - run(name, x)
        influence[:, s] = abs(moved).max(axis=1).round(9)
    return int(count_leaks(influence, causal_mask(n, n)))


@question("Four layers", minutes=15, asks="error")
def four_layers(rng: Rng) -> Item:
    """Count the leaks of four programs: honest ones, wrong edges, and ways around the mask."""
    n = int(rng.integers(5, 10))
    names = [str(rng.choice(kind)) for kind in (FAIR, EDGE, HIDDEN)]
    names.append(str(rng.choice([name for name in PROGRAMS if name not in names])))
    names = [names[i] for i in rng.permutation(4)]
    count = np.array([leaks(name, n) for name in names])
    why = "; ".join(f"{letter}: {WHY[x]}" for letter, x in zip("ABCD", names, strict=True))
    everything = n * (n - 1) // 2
    return Item(
        statement=rf"""
Four layers take a table X with {n} rows, one a word, and three columns. `t` is the column and `s`
the row of the numbers 0 to {n - 1}, so that `s <= t` is a table of truth values. `softmax` makes
each row add up to 1 unless an axis is given, and makes zeros of a hidden row. `HIDE` is $-\infty$.

{choices([f"`{PROGRAMS[name]}`" for name in names])}

**(a)** For each layer: in how many of the {everything} pairs of a word and a *later* word does the
row of the earlier word depend on the later one?

**(b)** Say for each layer that leaks how the later words get in, and mend it.

**(c)** A layer that leaks is trained to predict the next word. The loss in training is excellent.
What will you see when the model writes, and why?

**(d)** For some layer the count in (a) is 0. Name a mistake in its mask that it may have all the
same.""",
        answer=f"""
**(a)** ${tex(count)}$, in the order A to D.

**(b)** {why}.

**(c)** It writes badly, and is sure of itself. It learned to read the next word where that stands
in the text, instead of predicting it; in writing there is no next word yet.

**(d)** It may hide too much: the word itself, or words at which it should look. The count sees
only what is shown against the rule.""",
        marking=(
            (4, "the four counts; one point each"),
            (4, "for each that leaks the way in, and a repair"),
            (2, "copying in training; nothing to copy in writing"),
            (1, "a mask that hides too much"),
        ),
        given={"names": names, "rows": n},
        values={"count": count},
        traps={
            "only the table of truth values is read": (
                "count",
                np.where(np.isin(names, HIDDEN), 0, count),
            ),
            "a leak lets everything through": ("count", np.where(count > 0, everything, 0)),
        },
    )


def absorbed(scores: np.ndarray, fill: int) -> np.ndarray:
    """Scores with a fill added in half precision."""
    return (scores.astype(np.float16) + np.float16(-fill)).astype(float)


@question("Minus how much?", minutes=12, asks="why")
def minus_how_much(rng: Rng) -> Item:
    """What hidden keys keep under a finite fill, and what half precision makes of it."""
    visible, hidden = rng.integers(0, 6, 2), rng.integers(0, 7, 2)
    small, one = int(rng.integers(2, 7)), int(rng.integers(1, 9))
    fill = 200 * int(rng.choice([*range(22, 41), *range(42, 49)]))
    gap = 4 if fill < 8192 else 8
    scores = draw(
        lambda: rng.integers(0, 11, 3),
        lambda z: (z % gap != gap / 2).all() and len({*absorbed(z, fill)} - {-fill}) > 0,
    )
    base = float(np.log(2))
    row = np.concatenate([visible, hidden - small]).astype(float)
    share = float(softmax(row, beta=base)[2:].sum())
    rounded = absorbed(scores, fill)
    weights = softmax(rounded - rounded.max(), beta=base)
    free = softmax(scores.astype(float), beta=base)
    return Item(
        statement=rf"""
A fast program computes weights by powers of 2: a key with the score $z_i$ gets
$2^{{z_i}} / \sum_j 2^{{z_j}}$. To hide a key it adds a *fill* $-f$ to its score, instead of putting
$-\infty$ in its place.

**(a)** Two visible keys have the scores ${tex(visible)}$, two hidden ones ${tex(hidden)}$, and
$f = {small}$. Which share of the weight do the hidden keys keep?

**(b)** In another row one key is visible, with the score ${-one}$, and one is hidden; $f = {fill}$.
From which hidden score on does the hidden key get at least half of the weight? Is there an $f$
that is enough for all scores?

**(c)** *All* keys of a row are hidden. Prove that in exact arithmetic its weights are those
without a mask, whatever $f$.

**(d)** In half precision the numbers of a size between {4096 if gap == 4 else 8192} and twice that
are the multiples of {gap}, and a sum is rounded to the nearest. All three keys of a row are hidden,
their scores are ${tex(scores)}$, and $f = {fill}$. Which numbers are the three sums, and which
weights come out? What should come out?""",
        answer=rf"""
**(a)** ${tex(share)}$.

**(b)** From ${tex(fill - one)}$ on. No: for every $f$ a hidden score can be larger than the
visible ones by more than $f$. Only $-\infty$ hides whatever the scores are.

**(c)** All powers are multiplied by $2^{{-f}}$, which cancels between numerator and denominator.

**(d)** The sums are ${tex(rounded)}$ and the weights ${tex(weights)}$; without a mask they would
be ${tex(free)}$. So the row still looks at what is hidden, by scores that have been made coarse. A
row with nothing to look at should have the weights zero, and the output zero.""",
        marking=(
            (2, "the powers with the fill, and the share"),
            (3, "where both scores are equal; no finite fill is enough"),
            (2, "a common factor cancels"),
            (3, "sums, and weights by their differences; zeros"),
        ),
        given={"visible": visible, "hidden": hidden, "small": small, "one": one}
        | {"fill": fill, "gap": gap, "scores": scores},
        values={"share": share, "least": fill - one, "rounded": rounded, "weights": weights},
        traps={
            "hidden is hidden": ("share", 0.0),
            "the fill divides the share": (
                "share",
                float(softmax(np.append(visible, hidden).astype(float), beta=base)[2:].sum())
                / 2**small,
            ),
            "as without a mask": ("weights", free),
            "evenly": ("weights", np.full(3, 1 / 3)),
            "nothing is rounded": ("rounded", (scores - fill).astype(float)),
        },
    )
