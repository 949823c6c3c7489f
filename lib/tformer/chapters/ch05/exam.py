"""Exam questions of chapter 5: what a mask shows, what it hides, and what gets past it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tformer.chapters.ch05.paths import reach
from tformer.exams import Item, distinct, draw, question, tex
from tformer.reference import (
    attention,
    attention_weights,
    embedding,
    packed_mask,
    sliding_window_mask,
    softmax,
)

Rng = np.random.Generator


def places(seen: np.ndarray) -> np.ndarray:
    """The numbers, from 1, of what is seen."""
    return np.flatnonzero(seen) + 1


@question("Two conversations in one table", minutes=12)
def two_conversations(rng: Rng) -> Item:
    """Write a mask, follow it through two layers, and write one for words that come later."""
    who = draw(lambda: rng.integers(0, 2, 6), lambda g: 2 <= g.sum() <= 4)
    w, later, old, new = (int(rng.integers(*ends)) for ends in ((3, 5), (2, 5), (3, 6), (2, 4)))
    near, same = sliding_window_mask(6, 6, w), packed_mask(who, who)
    mask = near & same
    cached = sliding_window_mask(new, old + new, later, offset=old)
    shifted = sliding_window_mask(new, old + new, later)
    seen = ", ".join(map(str, places(shifted[-1])))
    return Item(
        statement=rf"""
Two conversations, A and B, are written into one table as their words come in, in the order
{", ".join("AB"[g] for g in who)}. A word may look at itself and at earlier words of its own
conversation, but only at the last {w} places of the table, its own included.

**(a)** Write down the mask, a row for each query, with 1 for *may look*.

**(b)** Two layers, with residual connections, use this mask. Which places can the last word know?

**(c)** Another program holds the keys and values of {old} words of a single text. The {new}
words that follow ask together. The mask is causal, with a window of {later} words. Write it down,
of shape $({new}, {old + new})$.

**(d)** By mistake that program builds the mask of (c) as if its first query stood at the first
key. At which keys does the last query look now? A test that looks for views of *later* words finds
nothing. Why not, and which test would find the mistake?""",
        answer=rf"""
**(a)** ${tex(mask)}$.

**(b)** The places ${tex(places(reach(mask, 2)[-1]))}$: those at which it looks, and those at
which these look.

**(c)** ${tex(cached)}$: query $t$ stands at place $t + {old}$.

**(d)** At ${tex(places(shifted[-1]))}$, counted from 1. The mask shows wrong keys and
hides right ones, but all that it shows stand before the query. Compare with one pass over all
{old + new} words: the rows of the new words must be the same.""",
        marking=(
            (3, "the mask; one point each for the conversations, the window and the diagonal"),
            (2, "two steps, through words of the same conversation only"),
            (2, "the window ends at the query's own place"),
            (1, f"the keys {seen}"),
            (2, "nothing later is shown; the rows must be those of one pass"),
        ),
        given={"who": who, "window": w, "later": later, "old": old, "new": new},
        values={"mask": mask, "known": places(reach(mask, 2)[-1]), "cached": cached}
        | {"shifted": places(shifted[-1])},
        traps={
            "the conversations meet": ("mask", near),
            "the window forgotten": ("mask", np.tri(6) * same),
            "the window without its own place": ("mask", sliding_window_mask(6, 6, w + 1) & same),
            "one layer only": ("known", places(mask[-1])),
            "the offset forgotten": ("cached", shifted),
        },
    )


@question("Before or after", minutes=12, asks="why")
def before_or_after(rng: Rng) -> Item:
    """A mask before the softmax, after it, and after it with a division."""
    a, v = np.array(distinct(rng, 4, 1, 8)), rng.integers(-4, 9, 4)
    one, two = sorted(distinct(rng, 2, 0, 3))
    seen = ~np.isin(np.arange(4), (one, two))
    changed = np.where(np.arange(4) == two, a + int(rng.integers(2, 10)), a)

    def late(a: np.ndarray) -> np.ndarray:
        return attention_weights(np.ones((1, 1)), np.log(a)[:, None])[0] * seen

    q, k, values = np.ones((1, 1)), np.log(a)[:, None], v[:, None].astype(float)
    before = attention_weights(q, k, mask=seen[None])[0]
    output = attention(q, k, values, mask=seen[None])[0, 0]
    logs = ", ".join(rf"\log {x}" for x in a)
    return Item(
        statement=rf"""
A query has the scores $({logs})$ for four keys, whose values are the numbers ${tex(v)}$. A mask
hides keys {one + 1} and {two + 1}. Program A puts $-\infty$ in the place of the hidden scores.
Program B takes the softmax of all scores and multiplies the weights by 0 where the mask hides.

**(a)** Give the four weights and the output, for A and for B.

**(b)** The word at key {two + 1} is exchanged, and its score is now $\log {changed[two]}$. Give the
output of A and of B.

**(c)** The author of B says: “A hidden word has the weight zero and so no influence.” Where is the
error? What about the hidden words can be read off the weights of B, and what cannot?

**(d)** Program C divides the weights of B by their sum. Prove that this is A, in exact arithmetic.
Describe scores for which C fails on a computer, and A does not.""",
        answer=rf"""
**(a)** A: ${tex(before)}$ and ${tex(output)}$. B: ${tex(late(a))}$ and ${tex(late(a) @ v)}$.

**(b)** A: ${tex(output)}$, as before. B: ${tex(late(changed) @ v)}$.

**(c)** Its weight is zero, but its score still stands in the sum by which all the others were
divided. The weights of B add up to the share of the visible keys; so the share of the hidden ones
together can be read off, and not how they divide it among themselves.

**(d)** B has $p_i = e^{{z_i}} / E$ for visible $i$, where $E$ is the sum over all keys. These add
up to $E' / E$, where $E'$ is the sum over the visible ones, so C has $e^{{z_i}} / E'$: the softmax
of the visible scores. If a hidden score is larger than all visible ones by so much that their
exponentials, measured from the largest, are rounded to zero, then C divides zero by zero.""",
        marking=(
            (3, "weights and outputs of both programs"),
            (2, "A does not move; B does"),
            (2, "the sum in the denominator; the share of all hidden keys, and no more"),
            (2, "the proof, with both sums"),
            (1, "a hidden score far above the visible ones; underflow, $0/0$"),
        ),
        given={"a": a, "v": v, "seen": seen, "changed": changed},
        values={"before": before, "after": late(a), "output": output}
        | {"late": late(a) @ v, "moved": late(changed) @ v},
        traps={
            "the hidden score is zero": (
                "before",
                np.where(seen, a, 1) / np.where(seen, a, 1).sum(),
            ),
            "B adds up to one": ("after", before),
            "weight zero, so no influence": ("moved", late(a) @ v),
            "what is hidden shifts the others evenly": ("output", v[seen].mean()),
        },
    )


@question("Who can know whom", minutes=12, asks="proof")
def who_can_know(rng: Rng) -> Item:
    """Windows through layers, a hole in all of them, and a hole in the upper one alone."""
    words, w, layers = draw(
        lambda: [int(rng.integers(*ends)) for ends in ((10, 21), (3, 6), (2, 5))],
        lambda x: x[0] > x[2] * x[1],
    )
    m = int(rng.integers(2, 5))
    t = int(rng.integers(2, words - m))
    mask = sliding_window_mask(words, words, w)
    hole = mask.copy()
    hole[t - 1, t + m - 1] = True

    def leaks(known: np.ndarray) -> str:
        return ", ".join(f"({u + 1}, {s + 1})" for u, s in np.argwhere(np.triu(known, 1)))

    first = int(places(reach(mask, layers)[-1])[0])
    needed = next(n for n in range(words) if reach(mask, n)[-1, 0])
    both, upper = leaks(reach(hole, 2)), leaks(reach(hole, 1) @ reach(mask, 1))
    lower = leaks(reach(mask, 1) @ reach(hole, 1))
    return Item(
        statement=rf"""
In a text of {words} words each word looks at itself and at the {w - 1} words before it, in every
layer. All layers have residual connections.

**(a)** Which is the first word that word {words} can know through {layers} layers? How many layers
does it take until it can know word 1?

**(b)** By mistake word {t} may also look at word {t + m}, in every layer. The model has two layers.
List all leaks: the pairs $(u, s)$ in which word $u$ can know a *later* word $s$.

**(c)** The mistake is mended in the first of the two layers, the one that reads the words, and
stays in the second. Which pairs leak now?

**(d)** Prove: through any number of layers with the mistake of (b), no pair $(u, s)$ with $u < {t}$
or $s > {t + m}$ leaks.""",
        answer=rf"""
**(a)** Word {first}: a layer reaches back by {w - 1} words. {needed} layers.

**(b)** ${both}$. A path takes the one step ahead, from {t} to {t + m}, and one more step: before
it, in the layer above, or after it, in the layer below.

**(c)** ${upper}$. In the first layer nobody learns anything later. In the second, word {t} alone
looks ahead, at the row of word {t + m}, which by then knows words before it.

**(d)** If $u$ can know $s$, a path of steps leads from $u$ down to $s$. All steps but one kind go
back or stay, so a path to a later word takes the step from {t} to {t + m} at some layer. Take the
first time: until then the path only went back or stayed, so $u \ge {t}$. Take the last time: from
then on it only goes back or stays, so $s \le {t + m}$.""",
        marking=(
            (2, "the first word, and the number of layers"),
            (3, "all pairs; a point off for each that is missing or too many"),
            (2, "only one word looks ahead, at a row that has looked back"),
            (3, "every leak takes the hole; before it $u$, after it $s$"),
        ),
        given={"words": words, "window": w, "layers": layers, "hole": (t, t + m)},
        values={"first": first, "needed": needed, "both": both, "upper": upper},
        traps={
            "a window reaches back by its own width": ("first", words - layers * w),
            "layers times words": ("needed", -(-words // w)),
            "the hole is one pair": ("both", f"({t}, {t + m})"),
            "the layers exchanged": ("upper", lower),
            "mended in one place, mended everywhere": ("upper", ""),
        },
    )


@question("One pass", minutes=12, asks="proof")
def one_pass(rng: Rng) -> Item:
    """The chance of a text, a sum over texts, and a model that sees what it should predict."""
    shares = [Fraction(i, n) for n in (2, 3, 4, 5) for i in range(1, n)]
    three = draw(
        lambda: [shares[i] for i in rng.integers(0, len(shares), 3)], lambda p: p[1] != p[2]
    )
    table = np.array([[float(p), float(1 - p)] for p in three])
    text = draw(lambda: rng.integers(0, 2, 4), lambda u: 0 < u.sum() < 4)
    sure = Fraction(*[(3, 4), (4, 5), (9, 10), (7, 8), (5, 6)][int(rng.integers(0, 5))])
    length = int(rng.integers(2, 4))
    p = softmax(embedding(np.array([0, *text[:-1] + 1]), np.log(table)))
    chance = float(np.prod(p[np.arange(4), text]))
    third = float((table[0] @ table[1:] @ table[1:])[0])
    total = float((2 * sure) ** length)
    start, after_a, after_b = (f"({tex(row[0])}, {tex(row[1])})" for row in table)
    return Item(
        statement=rf"""
A model writes with two words, *a* and *b*. Its layers are causal, and it learned to look only at
the word before. The chances of *a* and *b* are ${start}$ at the beginning, ${after_a}$ after *a*
and ${after_b}$ after *b*.

**(a)** A start symbol and the text *{" ".join("ab"[u] for u in text)}* go through the model once.
Which row of the result gives the chance of the fourth word? Which words went into it? Give the
chance of the text.

**(b)** What is the chance that the *third* word is *a*, whatever the first two are?

**(c)** Prove for a causal model with any number of words: the chances of all texts of $T$ words add
up to 1. Mark where you use that row $t$ does not see word $t$.

**(d)** Another model has a leak. Row $t$ sees word $t$ and gives it, whichever it is, the chance
${tex(sure)}$. What do the products for all texts of {length} words, *a* or *b*, add up to? Its loss
is small. Why is that no merit?""",
        answer=rf"""
**(a)** Row 4, for the rows are the start symbol and then the words: the start symbol and the first
three words went into it. The chance is ${tex(chance)}$.

**(b)** ${tex(third)}$: add over the four ways to begin.

**(c)** Add over the last word first. The factors $p_1(u_1), \dots, p_{{T-1}}(u_{{T-1}})$ do not
contain it. Row $T$ is made of $u_1, \dots, u_{{T-1}}$ alone, so for fixed earlier words $p_T$ is
*one* distribution over all $u_T$, and adds up to 1; here it is used. What is left is the sum for
$T - 1$. Go on to $T = 1$, where the sum is 1.

**(d)** Each text has ${tex(sure)}$ to the power {length}, and there are {2**length} texts:
${tex(total)}$. These are no chances of texts. The loss measures how well the model copies what it
was shown, and when it writes there is nothing to copy.""",
        marking=(
            (3, "row 4; what went into it; the product of four factors"),
            (2, "the sum over four beginnings"),
            (3, "the last word first; one distribution for fixed earlier words; induction"),
            (1, "the place where causality is used is marked"),
            (2, "the sum, which is not 1; copying is not predicting"),
        ),
        given={"shares": three, "text": text, "sure": sure, "length": length},
        values={"chance": chance, "third": third, "total": total},
        traps={
            "the first word is certain": ("chance", chance / p[0, text[0]]),
            "the fourth word is not read": ("chance", float(np.prod(p[np.arange(3), text[:3]]))),
            "every place is like the first": ("third", table[0, 0]),
            "they are chances": ("total", 1.0),
            "one text for all": ("total", float(sure**length)),
        },
    )
