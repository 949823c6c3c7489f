"""Exam questions of chapter 15: who stays, what a cache costs, a draft, a beam that looks ahead."""

from __future__ import annotations

import numpy as np

from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("Four words, three rules", minutes=9, asks="why")
def three_rules(rng: Rng) -> Item:
    """Four probabilities in hundredths: temperature ½, top-p and min-p, and which word differs."""

    def drawn() -> np.ndarray:
        return np.sort(rng.choice(np.arange(2, 60), 4, replace=False))[::-1]

    parts = draw(
        drawn,
        lambda x: bool(
            x.sum() == 100 and x[0] < 55 and x[1] <= 0.8 * x[0] and x[0] + x[1] < 90 and x[3] >= 3
        ),
    )
    a, b, c, _ = (int(x) for x in parts)
    share = (a + b + min(c - 1, 3)) / 100
    least = b / a if 10 * b % a == 0 else (b * 10 // a) / 10
    m = round(min(max(least, 0.1), 0.9), 1)
    by_min_p = int((10 * parts >= round(10 * m) * a).sum())
    return Item(
        statement=rf"""
A model gives four words the probabilities ${tex(parts / 100)}$.

**(a)** At temperature $1/2$, by which factor is the first word likelier than the second? Write it
as a power of a fraction.

**(b)** How many words does top-p keep with the share ${tex(share)}$?

**(c)** How many words does min-p keep with $m = {tex(m)}$?

**(d)** Somebody raises the temperature and leaves both rules as they are. Why does top-p never keep
fewer words then, and min-p neither?""",
        answer=rf"""
**(a)** By $({a}/{b})^2$, since every ratio is squared.

**(b)** The first two have ${tex((a + b) / 100)}$ together, which does not reach the share; the
third one does. So top-p keeps ${3}$.

**(c)** The bound is ${tex(m)}$ times ${tex(a / 100)}$, and ${by_min_p}$ of the four are at least as
large.

**(d)** Heat brings all ratios nearer to 1. The likelier words then have no more together than
before, so the share is reached no earlier; and each word comes nearer to the likeliest one.""",
        marking=(
            (2, "halving the temperature squares the ratio of two probabilities"),
            (2, "the word with which the share is reached stays as well"),
            (2, "each word is compared with a part of the likeliest one's probability"),
            (3, "ratios come nearer to one, which concerns sums and comparisons alike"),
        ),
        given={"parts": parts, "share": share, "m": m},
        values={"kept": 3, "by min-p": by_min_p, "together": (a + b) / 100},
        traps={
            "the word that reaches the share dropped": ("kept", 2),
            "one rule for the other": ("by min-p", 3),
            "compared with m itself": ("by min-p", int((parts / 100 >= m).sum())),
            "the word that reaches the share counted": ("together", (a + b + c) / 100),
        },
    )


@question("What a cache costs and saves", minutes=9)
def cache_bill(rng: Rng) -> Item:
    """Scores with and without a cache for a prompt and a few words, and the numbers it keeps."""
    n_prompt, n_tokens = distinct(rng, 2, 3, 8)
    layers, heads = distinct(rng, 2, 2, 6)
    width = int(rng.choice([4, 8]))
    lengths = np.arange(n_prompt, n_prompt + n_tokens)
    cached = int(n_prompt**2 + lengths[1:].sum())
    without = int((lengths**2).sum())
    kept = int(2 * layers * heads * width * lengths[-1])
    return Item(
        statement=rf"""
A decoder reads a prompt of {n_prompt} words and writes {n_tokens} words, one in each pass. A pass
that reads T words at once computes T × T scores in each head, those that the mask hides with them.

**(a)** How many scores does one head compute without a cache, all passes together?

**(b)** How many with a cache, which the first pass fills with the prompt?

**(c)** The model has {layers} layers of {heads} heads, all with keys and values of their own of
width {width}. How many numbers are in the cache after the last pass?""",
        answer=rf"""
**(a)** The passes read {n_prompt} to {lengths[-1]} words, and the squares add up to ${without}$.
The last word that is written is read by no pass.

**(b)** The prompt costs {n_prompt**2}, and each later pass as many scores as there are words up to
the new one, in all ${cached}$.

**(c)** A key and a value for each of {lengths[-1]} words, in every head of every layer, make
${kept}$ numbers.""",
        marking=(
            (3, "the passes grow by one word each, and the last written word is not read"),
            (3, "the prompt once in full, then one row of scores for every new word"),
            (3, "keys and values, of all words that were read, for all heads and layers"),
        ),
        given={
            "n_prompt": n_prompt,
            "n_tokens": n_tokens,
            "layers": layers,
            "heads": heads,
            "width": width,
        },
        values={"without": without, "cached": cached, "kept": kept},
        traps={
            "the last word read too": ("without", without + (n_prompt + n_tokens) ** 2),
            "the prompt forgotten": ("cached", int(lengths[1:].sum())),
            "keys alone": ("kept", kept // 2),
        },
    )


@question("A draft that is rejected", minutes=10, asks="proof")
def refused_draft(rng: Rng) -> Item:
    """Speculative decoding with three words in tenths: acceptance, what comes after, and why."""

    def pair() -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(1, 8, 3), rng.integers(1, 8, 3)

    p, q = draw(
        pair,
        lambda x: bool(
            x[0].sum() == x[1].sum() == 10 and np.maximum(x[0] - x[1], 0).sum() in (2, 4)
        ),
    )
    missing = np.maximum(p - q, 0)
    accepted = float(np.minimum(p, q).sum() / 10)
    again = missing / missing.sum()
    plain = float(q @ p / 100)
    return Item(
        statement=rf"""
A small model proposes one of three words by $q = {tex(q / 10)}$; a large model gives them
$p = {tex(p / 10)}$. Word $x$ is accepted with the chance $\min(1, p(x)/q(x))$; after a rejection a
word is drawn from the distribution $r$ that is proportional to $\max(p - q, 0)$.

**(a)** How often is a proposal accepted?

**(b)** Give $r$.

**(c)** Prove for any $p$ and $q$ that the word which is written in the end comes by $p$.""",
        answer=rf"""
**(a)** Each word is proposed and accepted with $\min(p, q)$; these add up to ${tex(accepted)}$.

**(b)** What the large model has beyond the small one, divided by its sum: $r = {tex(again)}$.

**(c)** Word $x$ is written in two ways. It is proposed and accepted with
$q(x) \min(1, p(x)/q(x)) = \min(p(x), q(x))$. Otherwise some word was rejected, which happens with
$1 - \sum_y \min(p(y), q(y)) = \sum_y \max(p(y) - q(y), 0)$, since $p$ adds up to 1, and this is the
sum by which $r$ was divided. So the second way has $\max(p(x) - q(x), 0)$, and both together are
$p(x)$. If nothing is ever rejected, the two distributions agree and nothing is left to prove.""",
        marking=(
            (2, "the smaller of the two probabilities, added up over the words"),
            (2, "the positive part of the difference, made to add up to one"),
            (4, "both ways to a word, the second with the chance of any rejection"),
            (1, "the case in which no proposal is ever rejected"),
        ),
        given={"p": p, "q": q},
        values={"accepted": accepted, "again": again},
        traps={
            "two draws that agree": ("accepted", plain),
            "the difference turned round": (
                "again",
                np.maximum(q - p, 0) / np.maximum(q - p, 0).sum(),
            ),
        },
    )


@question("The likeliest word and the likeliest text", minutes=9, asks="error")
def greedy_misses(rng: Rng) -> Item:
    """Two first words and their two followers: greedy, a beam of two, and what neither promises."""

    first, after_first, after_second = draw(
        lambda: np.array([rng.integers(51, 60), rng.integers(51, 60), rng.integers(75, 99)]),
        lambda x: bool((100 - x[0]) * x[2] > x[0] * x[1] and (x % 5 == 0).sum() >= 2),
    )
    greedy = float(first * after_first / 1e4)
    best = float((100 - first) * after_second / 1e4)
    return Item(
        statement=rf"""
A model writes two words. The first is A with probability ${tex(first / 100)}$ and otherwise B.
After A the likeliest word has ${tex(after_first / 100)}$, after B the likeliest has
${tex(after_second / 100)}$.

**(a)** Which probability has the text that greedy writing finds?

**(b)** Which has the text that a beam of two finds?

**(c)** “A beam that is two wide finds the likeliest text of any length, and the likeliest text is
what a reader wants.” What is wrong with either half?""",
        answer=rf"""
**(a)** Greedy begins with A and goes on with its likeliest follower: ${tex(greedy)}$.

**(b)** The beam keeps both first words, and B with its follower has ${tex(best)}$, which is more.

**(c)** With more than two beginnings, or over more steps, the beginning of the likeliest text may
be dropped before its better continuation is seen; only a beam as wide as there are beginnings is
sure. And the likeliest of all texts is often short or repeats itself, unlike a typical draw.""",
        marking=(
            (2, "the product along the path that takes the likeliest word each time"),
            (3, "both beginnings are kept, and the products of all followers compared"),
            (2, "a beginning that was dropped cannot come back"),
            (2, "the likeliest of all texts need not look like a drawn one"),
        ),
        given={"first": first, "after_first": after_first, "after_second": after_second},
        values={"greedy": greedy, "best": best},
        traps={
            "the sum for the product": ("greedy", float((first + after_first) / 100)),
            "the beam stays with greedy": ("best", greedy),
        },
    )
