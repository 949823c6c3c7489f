"""Exam questions of chapter 10: a block by hand, the bill, the start, an example that fails."""

from __future__ import annotations

import numpy as np

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, count_parameters
from tformer.parameters import FeedForwardParameters
from tformer.reference import feed_forward, layer_norm
from tformer_book.chapters.ch10.lists import NOTES, PLAIN, RELU
from tformer_book.exams import Item, distinct, question, tex

Rng = np.random.Generator
TINY = 1e-30


@question("The notes' block, one word", minutes=10, asks="error")
def one_word(rng: Rng) -> Item:
    """From the sum after attention to the final vector, and what the model can say at all."""
    a, b = (float(n) for n in distinct(rng, 2, 1, 20))
    low, high = sorted((a, b))
    total = np.array([low, high])
    first = layer_norm(total[None], PLAIN, TINY)[0].round(9)
    layer = FeedForwardParameters(NOTES.w_in, NOTES.w_out)
    added = feed_forward(first[None], layer, RELU)[0].round(9)
    last = layer_norm((first + added)[None], PLAIN, TINY)[0].round(9)
    logits = (last @ NOTES.unembedding).round(9)
    return Item(
        statement=rf"""
In a model of width two, norms stand after both sums: LayerNorm with $\varepsilon = 0$, no gain and
no bias. After attention the sum of a word is ${tex(total)}$. The layer is
$\operatorname{{relu}}(x W_1) W_2$ with $W_1 = {tex(NOTES.w_in)}$ and $W_2 = {tex(NOTES.w_out)}$.

**(a)** Give the vector after the first norm, what the layer adds, and the vector after the second
norm.

**(b)** The logits are the last vector times ${tex(NOTES.unembedding)}$. Give them.

**(c)** Somebody says: "the model names the first word because attention has found the noun". Which
other sums of two different numbers would have given another word? So what does the answer tell
about the sentence that was read?""",
        answer=rf"""
**(a)** ${tex(first)}$, ${tex(added)}$, ${tex(last)}$.

**(b)** ${tex(logits)}$.

**(c)** None. The first norm gives $(-1, 1)$, as here, or $(1, -1)$, to which the layer adds
$(1, 1/2)$; both become ${tex(last)}$. The answer is the same after every sentence, so it is no
evidence for anything that attention did.""",
        marking=(
            (4, "three vectors"),
            (2, "the logits"),
            (3, "both cases; the answer does not depend on the sentence"),
        ),
        given={"total": total},
        values={"first": first, "added": added, "last": last, "logits": logits},
        traps={
            "the third hidden unit left out": ("added", np.array([0.0, 1.0])),
            "the layer replaces the vector": ("last", -last),
        },
    )


@question("A small bill", minutes=10)
def small_bill(rng: Rng) -> Item:
    """Parameters and operations of a model of Llama's form with small sizes."""
    heads, groups, width = int(rng.choice([2, 3])), 1, int(rng.integers(1, 3))
    d = heads * width
    depth, words, hidden = int(rng.integers(2, 5)), int(rng.integers(2, 7)), 2 * d
    n = 10 * int(rng.integers(1, 6))
    sizes = Sizes(n, d, depth, heads, hidden, groups, biased=False, gated=True)
    form = Configuration(norm="rms", activation="silu", positions="rope")
    block = 2 * d * width * (heads + groups) + 3 * d * hidden
    total, flops = count_parameters(sizes, form), count_flops(sizes, words) // words
    looks = 4 * words * width * heads * depth
    return Item(
        statement=rf"""
A decoder has no biases, RMSNorm with a gain before both sublayers and at the end, {depth} blocks of
width {d}, {heads} heads of width {width} on one group of keys and values, gates with {hidden}
hidden units, {n} words, and a tied table.

**(a)** How many entries have the matrices of one block?

**(b)** How many parameters has the model?

**(c)** It reads {words} words. A multiplication and an addition are two operations; every word's
scores are computed with all {words} words. How many operations does *one* word take for scores and
mixture in all blocks? How many does it take in all matrix products together, with the logits?""",
        answer=rf"""
**(a)** ${tex(block)}$: queries and outputs for {heads} heads, keys and values for one group,
three matrices in the layer.

**(b)** ${tex(total)}$: the table, the blocks with two gains each, and the last gain.

**(c)** ${tex(looks)}$, four times the words, the width and the heads in each block; and
${tex(flops)}$: two for each entry of the blocks and of the table, and what attention takes.""",
        marking=(
            (3, "entries of a block"),
            (3, "table, blocks, gains"),
            (4, "attention; all products"),
        ),
        given={
            "n": n, "d": d, "depth": depth, "heads": heads, "groups": groups,
            "width": width, "hidden": hidden, "words": words,
        },
        values={"block": block, "total": total, "looks": looks, "flops": flops},
        traps={
            "keys for all heads": ("block", 4 * d * width * heads + 3 * d * hidden),
            "the table twice": ("total", total + n * d),
            "one operation an entry": ("flops", depth * block + n * d + looks),
        },
    )  # fmt: skip


@question("The start of a stack", minutes=8, asks="why")
def the_start(rng: Rng) -> Item:
    """Mean squares with and without narrower matrices, and what a silent tied model expects."""
    depth, m, a = int(rng.integers(3, 13)), int(rng.integers(1, 6)), int(rng.integers(1, 5))
    one, narrow = m + 2 * depth * a, m + a
    x = 5 * np.array([3.0, 4.0]) * int(rng.integers(1, 4))
    other = x[::-1].copy()
    same, different = float(x @ x), float(x @ other)
    return Item(
        statement=rf"""
A stack of {depth} blocks has norms before its sublayers. All matrices are drawn at random; each
sublayer adds vectors of mean square {a} that are uncorrelated with what is there. The first vectors
have the mean square {m}.

**(a)** Give the expected mean square after the stack.

**(b)** The matrices that write are divided by $\sqrt{{2L}}$. Give it again. Why does it no longer
depend on the depth?

**(c)** A tied model adds nothing yet, and has no norm. The vectors of two words are ${tex(x)}$ and
${tex(other)}$. After the first, give the logits of the first and of the second word. Why is the
word itself the likeliest whenever all vectors have one length?""",
        answer=rf"""
**(a)** ${tex(one)}$: two sublayers a block.

**(b)** ${tex(narrow)}$. Each adds $1/(2L)$ of what it added, and there are $2L$ of them.

**(c)** ${tex(same)}$ and ${tex(different)}$. By Cauchy and Schwarz no dot product of vectors of
that length is larger than the square of the length.""",
        marking=(
            (2, "two sublayers a block"),
            (3, "one share in all, with the reason"),
            (3, "both logits; Cauchy and Schwarz"),
        ),
        given={"depth": depth, "m": m, "a": a, "x": x},
        values={"one": one, "narrow": narrow, "same": same, "different": different},
        traps={
            "one sublayer a block": ("one", m + depth * a),
            "divided by the root only": ("narrow", one),
        },
    )


@question("What a right word proves", minutes=8, asks="why")
def proves(rng: Rng) -> Item:
    """Plain means of the words: what is kept of them, and what a layer can make of it."""
    n = int(rng.integers(4, 11))
    place, later = (int(p) for p in distinct(rng, 2, 1, n))
    share = np.array([1.0 / n])
    kept = n - 1
    factor = float(n)
    return Item(
        statement=rf"""
A decoder of one block reads {n} words. Its queries are 0, so that every word attends equally to all
words so far; values are one-hot vectors of the words, and no word occurs twice.

**(a)** What has attention brought to the last word, of word number {place} and of word number
{later}?

**(b)** By what must a hidden unit multiply this share, so that it is 1 if the word occurs?

**(c)** A unit should be on only if both words occur. Its input is the sum of the two shares, each
multiplied as in (b), less a constant. Which constant makes it 1 if both occur and 0 if one does?

**(d)** The model then names the right one of two nouns. What does this prove about its attention,
and what would you do to find out more?""",
        answer=rf"""
**(a)** ${tex(share[0])}$ of each: the weights are equal.

**(b)** By ${tex(factor)}$.

**(c)** ${tex(1)}$: both together give 2, one alone gives 1 and then 0.

**(d)** Nothing about a choice: these weights are the same in every text of {n} words. One has to
change or cut what the word attends to, and see whether the answer changes. (Cutting one of the
other ${tex(kept)}$ words takes its share out of the mean.)""",
        marking=(
            (2, "equal shares"),
            (1, "the number of words"),
            (2, "one"),
            (3, "no choice; an intervention"),
        ),
        given={"n": n},
        values={"share": share[0], "factor": factor, "taken": 1, "kept": kept},
        traps={"all weight on it": ("share", 1.0), "a share off": ("factor", 1.0 / n)},
    )
