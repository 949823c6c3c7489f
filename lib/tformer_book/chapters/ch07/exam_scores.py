"""Exam questions of chapter 7 about biases, and about what a mask alone gives away."""

from __future__ import annotations

import numpy as np

from tformer.reference import (
    alibi_bias,
    alibi_slopes,
    attention,
    attention_weights,
    causal_mask,
    relative_bias,
    relative_bias_vjp,
)
from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("A slope", minutes=15, asks="why")
def a_slope(rng: Rng) -> Item:
    """Slopes and a row of bias, weights that fall, and a bias that only looks different."""
    heads, at, base = int(rng.choice([2, 4, 8])), int(rng.integers(3, 6)), int(rng.integers(2, 8))
    head, small = int(rng.integers(1, heads + 1)), int(rng.choice([10, 100, 1000]))
    slopes = alibi_slopes(heads)
    row = alibi_bias(heads, 1, at + 1, offset=at)[head - 1, 0]
    late = alibi_bias(heads, 1, at + 1)[head - 1, 0]
    t = 3 if base < 6 else 2
    falling = np.log(base) * -np.abs(t - np.arange(t + 1.0))
    alone, keys = np.zeros((1, 1)), np.zeros((t + 1, 1))
    weights = attention_weights(alone, keys, bias=falling[None])[0]
    enough = next(n for n in range(1, 11) if base**n >= small)
    return Item(
        statement=rf"""
**(a)** Give the slopes of ALiBi for {heads} heads. A model with a cache reads one new word, at
position {at}, counted from 0. Give the row of bias of head {head}, of {heads}, for the keys at the
positions 0 to {at}.

**(b)** A head has the slope $\log {base}$, and all scores are 0 before the bias. Give the weights
of the query at position {t}, under a causal mask.

**(c)** The text goes on, still with scores 0. How many of the nearest keys, the word itself
included, are sure to hold all but at most $\tfrac{{1}}{{{small}}}$ of the weight, however long the
text is? Prove it.

**(d)** A colleague adds $\mu s$ to the score of the key at position $s$, instead of
$-\mu \lvert t - s \rvert$: “The query's position is not needed.” Under a causal mask, is it the
same layer? And without a mask? Prove both answers.

**(e)** May a head with a slope prefer the word five positions back to the one four positions
back?""",
        answer=rf"""
**(a)** ${tex(slopes)}$; the row is ${tex(row)}$.

**(b)** ${tex(weights)}$: each key has {base} times the weight of the one before it.

**(c)** ${enough}$. The key $\delta$ positions back counts ${base}^{{-\delta}}$ times as much as the
word itself. With $n$ nearest keys, those beyond it are the first ones moved on by $n$ positions, so
in an endless text they are exactly ${base}^{{-n}}$ of all; in a finite one some of them are
missing, and they are less. ${base}^{{{enough}}}$ is at least {small}, and a lower power is not.

**(d)** Under a causal mask $s \le t$, so $-\mu \lvert t - s \rvert = \mu s - \mu t$. The second
part is the same for all keys of the query, and a softmax does not see it: the same layer. Without a
mask, later keys with $s > t$ should lose $\mu (s - t)$, and here they gain it: another layer.

**(e)** Not by the slope: the bias of the farther word is lower by $\mu$. Only if its score before
the bias is higher by more than $\mu$, and then because of what it says, not of where it stands.""",
        marking=(
            (3, "slopes, and the row with the query at its own position"),
            (2, "powers, and their sum"),
            (3, "the number; the share of the far keys as a geometric series"),
            (3, "a constant of the row cancels; later keys are preferred without a mask"),
            (1, "not by its position"),
        ),
        given={"heads": heads, "head": head, "at": at, "base": base, "small": small, "t": t},
        values={"slopes": slopes, "row": row, "weights": weights, "enough": enough},
        traps={
            "the first head does not fall": ("slopes", 2.0 ** (-8 * np.arange(heads) / heads)),
            "the offset forgotten": ("row", late),
            "the near lose": ("row", row[::-1]),
            "the slope of the head after": ("row", row / 2 ** (8 / heads)),
            "weights fall evenly": ("weights", np.arange(1, t + 2) / np.arange(1, t + 2).sum()),
            "the word itself is not counted": ("enough", enough - 1),
        },
    )


@question("A table of distances", minutes=12, asks="error")
def table_of_distances(rng: Rng) -> Item:
    """Write a relative bias, find a program's error, and count which entries learn from what."""
    m, words, old = int(rng.integers(1, 3)), int(rng.integers(6, 16)), int(rng.integers(3, 6))
    table = np.array(distinct(rng, 2 * m + 1, -5, 9), dtype=float)[None]
    square = relative_bias(table, 4, 4)[0]
    new = relative_bias(table, 1, old + 1, offset=old)[0, 0]
    wrong = relative_bias(table, 1, old + 1)[0, 0]
    cells = causal_mask(words, words)[None].astype(float)
    shares = relative_bias_vjp(table, cells)[0, : m + 1]
    exact = np.maximum(words - np.arange(m, -1, -1.0), 0)
    distances = ", ".join(map(str, range(-m, m + 1)))
    return Item(
        statement=rf"""
A head has a table of {2 * m + 1} learned numbers, for the distances $s - t = {distances}$ of a key
at position $s$ from a query at position $t$. Larger distances count as ${m}$, smaller ones as
${-m}$. The numbers are, in this order, ${tex(table[0])}$.

**(a)** Write down the bias of four words that all attend to each other, a row for each query.

**(b)** A model keeps the keys of {old} words, at the positions 0 to {old - 1}, and reads one new
word. Write down the row of bias for the new query and its {old + 1} keys.

**(c)** For $T$ queries and $S$ keys a program sets `t = arange(T)[:, None]` and `s = arange(S)` and
takes `table[clip(s - t, -{m}, {m}) + {m}]`. What does it give in (b)? Where is the error? A text is
read word by word: at which word is the error not seen?

**(d)** The head has a causal mask and reads a text of {words} words. From how many pairs of a query
and a key does each of the numbers for ${-m}, \dots, 0$ get its gradient? What about the others?

**(e)** Texts become ten times as long. Which distances can the head still tell apart, and what
grows, for a query near the end?""",
        answer=rf"""
**(a)** ${tex(square)}$.

**(b)** ${tex(new)}$: the new query stands at position {old}.

**(c)** ${tex(wrong)}$. It takes the new query for the first word, at position 0, so that all keys
seem to lie ahead. At the first word of a text this is right, and at no other.

**(d)** ${tex(shares)}$. The numbers for keys ahead get none: the mask hides all such pairs.

**(e)** As before: every distance that is less than {m}, and on each side only “{m} or more”. All
keys that far back share one number, and there are about ten times as many of them, so together
they take more weight.""",
        marking=(
            (2, "the table: constant along diagonals, clipped in the corners"),
            (1, "the row"),
            (3, "the row of the program; the query's position; the first word"),
            (3, "the numbers of pairs; none for those ahead"),
            (2, "those short of the limit; the weight of all far keys together"),
        ),
        given={"m": m, "table": table[0], "old": old, "words": words},
        values={"square": square, "new": new, "wrong": wrong, "shares": shares},
        traps={
            "distances the other way round": ("square", square.T),
            "the offset forgotten": ("new", wrong),
            "no clipping": ("shares", exact),
        },
    )


@question("Counting without positions", minutes=12, asks="why")
def counting(rng: Rng) -> Item:
    """A mark, a causal mask and a mean: what a layer without positions knows of a position."""
    a, at, back, words = draw(
        lambda: [int(x) for x in rng.integers((2, 5, 5, 20), (7, 20, 30, 50))],
        lambda x: x[1] != x[2],
    )
    fine = 100 * int(rng.integers(2, 51))

    def outputs(n: int, mask: np.ndarray | None) -> np.ndarray:
        """What n words put out, the first of which is the mark."""
        first = np.arange(n)[:, None] == 0
        keys = np.where(first, np.log(a), 0.0)
        return attention(np.ones((n, 1)), keys, first.astype(float), mask=mask)[:, 0]

    here = outputs(at, causal_mask(at, at))[-1]
    told = outputs(back, causal_mask(back, back))[-1]
    seen = float(outputs(words, None)[at - 1])
    last = next(t for t in range(1, 100) if (t + 1) * (t + 2) > fine)
    return Item(
        statement=rf"""
No word of a text knows its position; the layer has a causal mask. The text begins with a mark.
For every query the mark has the score $\log {a}$ and every other word the score 0; the value of the
mark is 1, and that of the others is 0. The mark counts as word 1.

**(a)** Give the output at word {at}.

**(b)** At some word the output is ${tex(told)}$. Which word is it?

**(c)** The mask is removed, and the text has {words} words. Give the output at word {at}. What can
be read off it now, and what not? Which theorem on self-attention explains this?

**(d)** Instead of the mark the text begins with a word like all the others: all words are the same.
Prove that no stack of such layers, with any weights, can tell one position from another.

**(e)** Let the mark have the score 0, too. A format cannot tell two numbers apart that differ by
less than $\tfrac{{1}}{{{fine}}}$. Which is the last word that can be told from the next one?""",
        answer=rf"""
**(a)** ${tex(here)}$: the mark counts {a} times, the other {at - 1} words once each.

**(b)** Word ${back}$, from ${a} / ({a} + t - 1) = {tex(told)}$.

**(c)** ${tex(seen)}$, at every word alike. It tells how long the text is, and not where the word
stands. Without a mask self-attention is equivariant: shuffle the words, and the outputs are
shuffled likewise. So equal words have equal outputs, wherever they stand.

**(d)** All values are the same row, and weights add up to one, so every output is this row,
whatever the weights are. Functions of each row by itself keep equal rows equal. So all rows are
equal after every layer: the outputs of all words are the same.

**(e)** Word ${last}$. The outputs are $1/t$, and $1/t - 1/(t+1) = 1/(t (t+1))$ is at least
$\tfrac{{1}}{{{fine}}}$ as long as $t (t + 1) \le {fine}$.""",
        marking=(
            (2, "weights in the proportion of the exponentials"),
            (2, "solved for the number of words"),
            (3, "the same everywhere; the length; equivariance"),
            (3, "a mean of equal rows, with weights that add up to one; from layer to layer"),
            (2, "the difference of neighbours, and the last word"),
        ),
        given={"a": a, "at": at, "told": told, "words": words, "fine": fine},
        values={"here": here, "which": back, "seen": seen, "last": last},
        traps={
            "the mark counts once": ("here", 1 / at),
            "the mark is added to all words": ("here", a / (a + at)),
            "as many words as ordinary ones": ("which", back - 1),
            "the mask does not matter": ("seen", float(here)),
            "until 1/t itself is too small": ("last", fine),
        },
    )
