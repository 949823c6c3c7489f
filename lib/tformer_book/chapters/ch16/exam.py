"""Exam questions of chapter 16: the crossing, two blocks, bytes of a cache, what a table holds."""

from __future__ import annotations

import numpy as np

from tformer_book.exams import Item, draw, question, tex

Rng = np.random.Generator


@question("Where attention overtakes", minutes=9, asks="why")
def overtakes(rng: Rng) -> Item:
    """A small decoder: where scores cost as much as matrices, and the share at another length."""
    layers, heads, width = int(rng.integers(2, 5)), int(rng.integers(2, 5)), 8
    words, times = int(rng.integers(20, 39)), int(rng.integers(2, 8))
    entries = words * 2 * layers * heads * width
    share, later = times / (times + 1), 2 * words - 1
    return Item(
        statement=rf"""
A decoder has ${layers}$ layers, each with ${heads}$ heads of width ${width}$, and all its matrices
together, the unembedding among them, have ${entries}$ entries.

**(a)** How many operations do scores and sums of values take for each pair of words, in all heads
and layers together?

**(b)** At how many words do they take as many operations as the matrices?

**(c)** What share of the operations do they take in a text that is ${times}$ times as long?

**(d)** A program leaves out the scores of later words. At how many words are both halves equal now,
and why is this nearly twice the number of (b)?""",
        answer=rf"""
**(a)** $4 d_k$ for each head and layer: ${tex(4 * layers * heads * width)}$.

**(b)** The matrices take $2$ operations for each entry and word, so ${tex(words)}$ words.

**(c)** The share is $T / (T + T^*)$: ${tex(share)}$.

**(d)** At ${tex(later)}$ words. Of $T^2$ pairs $T (T + 1) / 2$ are left, about a half, so a word
attends to half as many. Attention costs as much as the matrices at about twice the length.""",
        marking=(
            (
                2,
                "four operations for each coordinate of a pair: two for the score, two for the sum",
            ),
            (2, "the quotient of both kinds of operations, with two for each entry and word"),
            (2, "the share from the ratio of the lengths alone, without counting again"),
            (2, "pairs without later words are counted with the diagonal among them"),
        ),
        given={"layers": layers, "heads": heads, "width": width, "c": entries, "times": times},
        values={"pair": 4 * layers * heads * width, "words": words, "share": share, "later": later},
        traps={
            "only the scores are counted": ("pair", 2 * layers * heads * width),
            "one operation an entry": ("words", words / 2),
            "the diagonal is forgotten": ("later", 2 * words + 1),
        },
    )


@question("Two blocks of a row", minutes=10, asks="error")
def two_blocks(rng: Rng) -> Item:
    """Scores that are multiples of log 2, so that exponentials are powers of two."""

    def scores() -> list[int]:
        low = int(rng.integers(1, 7))
        return [low, low + int(rng.integers(0, 3)), low + int(rng.integers(0, 3))]

    a, b = draw(lambda: (scores(), scores()), lambda x: 0 < max(x[1]) - max(x[0]) < 3)
    tops = max(a), max(b)
    sums = [sum(2.0 ** (x - top) for x in one) for one, top in zip((a, b), tops, strict=True)]
    factor = 2.0 ** (tops[0] - tops[1])
    total, wrong = factor * sums[0] + sums[1], sums[0] + sums[1]
    return Item(
        statement=rf"""
A row of attention is read in two blocks. In units of $\log 2$ its scores are
${tex(np.array(a))}$ in the first block and ${tex(np.array(b))}$ in the second, so that a score of
$3$ has the exponential $2^3$.

**(a)** Give $\sum 2^{{x - m}}$ over the scores $x$ of each block by itself, $m$ being its largest.

**(b)** By which factor are the sum and the output of the first block multiplied when the second one
comes?

**(c)** Give the same sum for the whole row, with its own largest score.

**(d)** A program gives ${tex(wrong)}$ for the sum of (c), and its weights add up to one. Which line
of the program is missing, and why does the sum of the weights not show it?""",
        answer=rf"""
**(a)** ${tex(sums[0])}$ and ${tex(sums[1])}$.

**(b)** The largest score rises from ${tops[0]}$ to ${tops[1]}$ units: ${tex(factor)}$.

**(c)** ${tex(total)}$.

**(d)** The correction of (b). Sum and output of the first block are both too large by the same
factor; each weight is divided by the sum of all of them, so they add up to one whatever the terms
are.""",
        marking=(
            (2, "each block's own largest score is subtracted before the exponentials are summed"),
            (2, "the factor belongs to the difference of the two largest scores, with its sign"),
            (2, "the corrected sum of the first block and the sum of the second are added"),
            (3, "the missing correction is named, and that dividing makes any terms sum to one"),
        ),
        given={"a": np.array(a), "b": np.array(b)},
        values={"first": sums[0], "second": sums[1], "factor": factor, "total": total},
        traps={
            "the factor upside down": ("factor", 1 / factor),
            "not corrected": ("total", wrong),
            "one block for the other": ("second", sums[0]),
            "the first block alone": ("total", sums[0]),
        },
    )


@question("A word in the cache", minutes=8)
def a_word_in_the_cache(rng: Rng) -> Item:
    """Bytes of keys and values, by groups; how often a byte is used."""
    layers, groups, share = (
        int(rng.integers(2, 10)),
        int(rng.integers(1, 5)),
        int(rng.integers(2, 6)),
    )
    width = (16, 32)[int(rng.integers(2))]
    a_word, texts = 4 * layers * groups * width, int(rng.integers(2, 9))
    return Item(
        statement=rf"""
A decoder of ${layers}$ layers has ${groups * share}$ heads of width ${width}$ in each, and
${groups}$ groups of keys and values. It writes in float16, two bytes for each number.

**(a)** How many bytes does the cache need for one word?

**(b)** By which factor would it be larger if every head kept its own keys and values?

**(c)** How many operations does attention make for each byte of the cache that is read?

**(d)** Now ${texts}$ texts are written at once. How many operations are made for each byte of the
cache that is read, and how many for each byte of the parameters?""",
        answer=rf"""
**(a)** A key and a value for each layer and group: ${tex(a_word)}$ bytes.

**(b)** ${tex(share)}$, the heads of a group.

**(c)** Each number is used by the heads of its group, two operations each, and has two bytes:
${tex(share)}$.

**(d)** As many as before for the cache, since each text has its own. Each number of the parameters
is used by all texts, two operations each: ${tex(texts)}$ for each byte.""",
        marking=(
            (2, "keys and values, layers and groups, two bytes: all factors, and no heads"),
            (1, "the number of heads that share one group of keys and values"),
            (2, "each number that is read is used by all heads of its group"),
            (2, "texts share the parameters, and no text reads the cache of another"),
        ),
        given={"L": layers, "G": groups, "H": groups * share, "d_k": width, "B": texts},
        values={"bytes": a_word, "factor": share, "dense": share, "parameters": texts},
        traps={
            "only keys": ("bytes", a_word / 2),
            "counted by heads": ("bytes", a_word * share),
        },
    )


@question("What a table can hold", minutes=8, asks="why")
def what_a_table_holds(rng: Rng) -> Item:
    """Numbers of a state, and the least error of pairs with one-hot values."""
    d, width = int(rng.integers(3, 13)), int(rng.integers(3, 13))
    pairs = d + int(rng.integers(2, 20))
    kept, least = d * width + d, pairs - d
    return Item(
        statement=rf"""
Linear attention has keys of width ${d}$ and values of width ${width}$ and reads a long text.

**(a)** How many numbers does it keep of all the words it has read, the sum below the line among
them?

**(b)** Another one has features of width ${d}$ and rank ${d}$, and has read ${pairs}$ pairs whose
values are the rows of the identity. The squared errors of all answers are added up. What is the
least that any table can reach?

**(c)** Why does it not help to divide each answer by a number of its own?

**(d)** The right value is the largest entry of every answer. Does this contradict (b)?""",
        answer=rf"""
**(a)** A table, and the sum of the features: ${tex(kept)}$ numbers.

**(b)** ${tex(least)}$.

**(c)** All of them together are a matrix of rank at most ${d}$, and dividing a row by a number
does not raise the rank.

**(d)** No. The bound is on exact values. The largest entry may stand in the right place in more
answers than the table has rows.""",
        marking=(
            (
                2,
                "the numbers of the table and of the sum of features, and no length of a text",
            ),
            (2, "the number of pairs less the width of the keys"),
            (2, "the rank of the answers, which multiples of rows leave as it is"),
            (2, "exact values are told apart from the place of the largest entry"),
        ),
        given={"d": d, "width": width, "pairs": pairs},
        values={"kept": kept, "least": least},
        traps={"the sum below the line is forgotten": ("kept", d * width)},
    )
