"""Exam questions of chapter 11: who can know whom, best guesses, two attentions, the bill."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch11 import counts, forms
from tformer_book.exams import Item, draw, question, tex

Rng = np.random.Generator


@question("Who can know whom", minutes=12, asks="why")
def who_can_know(rng: Rng) -> Item:
    """Words that a vector can know in four architectures; why depth does not matter."""
    n = int(rng.integers(8, 20))
    prefix = int(rng.integers(3, n - 3))
    early, late = int(rng.integers(1, prefix)), int(rng.integers(prefix + 1, n))

    def count(form: str, t: int) -> int:
        return int(forms.known(form, n, prefix)[t - 1].sum())

    return Item(
        statement=rf"""
Two texts of together ${n}$ words stand in a row, a source of ${prefix}$ words and a target of
${n - prefix}$. Words count from 1. How many of the ${n}$ words can the vector of word ${early}$
know, and how many that of word ${late}$,

**(a)** in an encoder that reads both, **(b)** in a decoder that reads both,

**(c)** in an encoder–decoder?

**(d)** The decoder of (b) has one layer. How do the numbers change if it has ten? Give the
reason.""",
        answer=rf"""
**(a)** ${n}$ and ${n}$. **(b)** ${count("decoder", early)}$ and ${count("decoder", late)}$.

**(c)** ${count("pair", early)}$, all of the source, and ${count("pair", late)}$: the source and the
target up to its own place.

**(d)** Not at all. A word sees only words before it, and these see only words before them, which it
sees already. Ten steps lead no farther than one.""",
        marking=(
            (2, "all words, twice"),
            (2, "up to its own place"),
            (4, "the whole source for both"),
            (3, "what is seen by a seen word is seen"),
        ),
        given={"n": n, "prefix": prefix, "early": early, "late": late},
        values={
            "decoder early": count("decoder", early),
            "decoder late": count("decoder", late),
            "pair early": count("pair", early),
            "pair late": count("pair", late),
        },
        traps={
            "the word itself is not counted": ("decoder late", late - 1),
            "the source is read causally": ("pair early", early),
            "the source is forgotten": ("pair late", late - prefix),
        },
    )


@question("The best guess", minutes=12)
def best_guess(rng: Rng) -> Item:
    """Right answers of a causal stack and an encoder, counted by hand; a loss that is too low."""

    def kinds() -> tuple[int, int, int, int]:
        one, two, three = (int(x) for x in rng.integers(1, 6, 3))
        return one, two, three, int(rng.integers(2, 7))

    one, two, coin, pairs = draw(kinds, lambda x: x[0] > x[1])
    total = pairs * (one + two) + 2 * coin
    right = pairs * one + coin
    return Item(
        statement=rf"""
In a small world a story names two things, says “it”, and ends with a trouble. It is about ${pairs}$
pairs of an animal and a plant, and one pair of two stones. An animal has ${one}$ troubles of its
own, a plant ${two}$, and either stone ${coin}$ of its own. Every pair occurs with every trouble of
either of its two things, once; the stories are equally likely.

**(a)** How many stories are there?

**(b)** A decoder is asked at “it” which of the two is meant. In how many stories can it be right at
best? And at the last word?

**(c)** An encoder is asked at “it”. In how many can it be right at best?

**(d)** Someone reports a decoder that is right at “it” in all stories that it is tried on. Name two
mistakes that could explain this.""",
        answer=rf"""
**(a)** ${pairs} \cdot ({one} + {two}) + 2 \cdot {coin} = {total}$.

**(b)** After an animal and a plant it says the animal, right in ${one}$ of ${one + two}$; after
the stones either, right in ${coin}$ of ${2 * coin}$: ${right}$ stories. At the last word all
${total}$, because each trouble belongs to one of the two.

**(c)** In all ${total}$: its vector may depend on the trouble.

**(d)** A leak: a mask that is off, or a norm over words. Or the vector of the last word was read in
the place of that of “it”. Also good: the stories that it was tried on were
chosen, so that they are not equally likely.""",
        marking=(
            (2, "pairs times troubles, and the stories with two of a kind as well"),
            (4, "the commoner answer after each beginning; all at the last word"),
            (2, "all"),
            (2, "one for each mistake that would let a decoder be right there"),
        ),
        given={"one": one, "two": two, "coin": coin, "pairs": pairs},
        values={"stories": total, "decoder": right, "encoder": total},
        traps={
            "a coin for every pair": ("decoder", pairs * (one + two) / 2 + coin),
            "all of a kind": ("decoder", pairs * one + 2 * coin),
            "as the decoder": ("encoder", right),
        },
    )


@question("Two attentions, or one", minutes=12, asks="error")
def two_looks(rng: Rng) -> Item:
    """A joint softmax against two that are added; where a sentence about cross-attention errs."""
    one, two = (int(x) for x in rng.integers(1, 4, 2))
    n = int(rng.integers(1, 4))
    v, u = (4 * int(x) for x in rng.choice([-3, -2, -1, 1, 2, 3], 2, replace=False))
    terms = (one * 2, two)  # source: words of score ln 2; target: words of score 0
    share = terms[0] / sum(terms)
    shared = share * v + (1 - share) * u
    return Item(
        statement=rf"""
A query gives each of ${one}$ words of a source the score $\ln 2$ and each of ${two}$ visible words
of a target the score $0$. All words of the source have the value ${v}$, all of the target ${u}$.

**(a)** An encoder–decoder attends to each text separately and adds the results. What is the sum?

**(b)** A prefix decoder has one softmax over both texts. Which share of the weight goes to the
source, and what is the result?

**(c)** The source gets ${n}$ more words of score $\ln 2$ and value ${v}$. What becomes of (a), and
why?

**(d)** “A decoder has no cross-attention, so it cannot use a source.” What is wrong?""",
        answer=rf"""
**(a)** The source gives ${v}$, the target ${u}$, because the weights of each add up to 1.
Together ${v + u}$.

**(b)** ${tex(share)}$, and ${tex(shared)}$.

**(c)** It stays ${v + u}$: the mean of equal values does not change with their number.

**(d)** If the source stands before the target, the causal mask hides none of it from the target's
words. They attend to it by self-attention.""",
        marking=(
            (2, "the sum of two means"),
            (4, "two for the share, two for the mixture"),
            (2, "unchanged"),
            (2, "the source in front"),
        ),
        given={"one": one, "two": two, "v": v, "u": u},
        values={"added": v + u, "share": share, "shared": shared},
        traps={
            "a mean of the two results": ("added", (v + u) / 2),
            "words are counted": ("share", one / (one + two)),
            "as in (a)": ("shared", v + u),
        },
    )


@question("What writing costs", minutes=10)
def what_writing_costs(rng: Rng) -> Item:
    """Vectors that go through three architectures; which of them may keep keys and values."""
    s, n = int(rng.integers(10, 60)), int(rng.integers(5, 30))
    rows = {form: counts.rows_to_write(form, s, n) for form in ("encoder", "decoder", "pair")}
    return Item(
        statement=rf"""
${s}$ words are given and ${n}$ are written. How many vectors go through the stack

**(a)** of an encoder that reads, anew for each word, all words so far and a blank after them,

**(b)** of a decoder with a cache of keys and values,

**(c)** of an encoder–decoder (both sides together), whose decoder has a cache and begins with a
sign for the start?

**(d)** Why can the encoder of (a) have no such cache?""",
        answer=rf"""
**(a)** ${n} \cdot {s} + {n} \cdot {n + 1} / 2 = {rows["encoder"]}$.

**(b)** ${rows["decoder"]}$: the last word is not read. **(c)** ${rows["pair"]}$.

**(d)** Every word may attend to the new one, so all vectors change with it from the first layer on,
and the keys and values of the next layers with them.""",
        marking=(
            (3, "the sum; two without the blanks"),
            (2, "each word once, less the last"),
            (2, "the source once, the start, no last word"),
            (2, "earlier vectors change"),
        ),
        given={"s": s, "n": n},
        values={"anew": rows["encoder"], "cache": rows["decoder"], "pair": rows["pair"]},
        traps={
            "the blank is not counted": ("anew", n * s + n * (n - 1) // 2),
            "the last word is read": ("cache", s + n),
            "the start is not counted": ("pair", s + n - 1),
        },
    )
