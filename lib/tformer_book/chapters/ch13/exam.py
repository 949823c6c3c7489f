"""Exam questions of chapter 13: merges, a loss and its floor, what compares, the last gradient."""

from __future__ import annotations

import numpy as np

from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator


@question("Two merges by hand", minutes=8, asks="why")
def two_merges(rng: Rng) -> Item:
    """Three words of few letters: what BPE merges, and what is left."""
    m, n, k = draw(lambda: distinct(rng, 3, 2, 9), lambda found: found[0] > found[1])
    before = 2 * m + 2 * n + 3 * k
    first, second = m + k, max(n, k)
    after = before - first - second
    return Item(
        statement=rf"""
A text has {m} times the word *ab*, {n} times *bc* and {k} times *abc*, a line each. BPE begins with
single letters, and no token reaches over the end of a word.

**(a)** How many tokens has the text before the first merge? Line ends do not count.

**(b)** Which pair is merged first, and how many tokens does this save?

**(c)** How many tokens are left after the second merge?

**(d)** A pair of two equal tokens stands in a text $c$ times. Why may its merge save fewer than $c$
tokens?""",
        answer=rf"""
**(a)** ${before}$.

**(b)** *ab*, which stands in *ab* and in *abc*: ${first}$ times, and as many tokens are saved.

**(c)** Now *bc* stands {n} times and the pair *ab*, *c* {k} times; the commoner one saves
${second}$, and ${after}$ are left.

**(d)** In three equal tokens in a row the pair stands twice, and its places overlap, so that only
one of them can be merged.""",
        marking=(
            (1, "the number of tokens at the start, without line ends"),
            (2, "the commonest pair, counted in both words that hold it"),
            (3, "pairs are counted again after the first merge is made"),
            (2, "places that overlap cannot both be merged"),
        ),
        given={"m": m, "n": n, "k": k},
        values={"before": before, "first": first, "second": second, "after": after},
        traps={
            "the pair inside abc forgotten": ("first", m),
            "not counted again": ("after", before - first - (n + k)),
        },
    )


@question("A loss and its parts", minutes=8)
def parts_of_a_loss(rng: Rng) -> Item:
    """Cross-entropy, entropy and divergence in bits, for shares that are powers of two."""
    powers = [[1, 2, 3, 4, 4], [2, 2, 2, 3, 3]]
    true, told = draw(
        lambda: tuple(rng.permutation(powers[int(i)]) for i in rng.integers(0, 2, 2)),
        lambda found: bool((found[0] != found[1]).any()),
    )
    r, p = 0.5**true, 0.5**told
    loss, entropy = float(r @ told), float(r @ true)
    other = float(p @ (true - told))
    return Item(
        statement=rf"""
Five words come with the probabilities $r = {tex(r)}$; a model gives them $p = {tex(p)}$. Count in
bits, with logarithms to base 2.

**(a)** Give the mean loss of the model.

**(b)** Give the least mean loss that a model can have here.

**(c)** Give the divergence $\operatorname{{KL}}(r \,\|\, p)$ and
$\operatorname{{KL}}(p \,\|\, r)$. Which of the two does the loss contain?""",
        answer=rf"""
**(a)** Each word's probability times its number of bits: ${tex(loss)}$.

**(b)** The entropy, ${tex(entropy)}$, reached by $p = r$.

**(c)** ${tex(loss - entropy)}$ and ${tex(other)}$. The loss is the entropy and the first one: the
mean is taken over what comes.""",
        marking=(
            (3, "the mean is taken with the true probabilities"),
            (2, "the entropy, as the least loss of any model"),
            (3, "both divergences, and which of them the loss holds"),
        ),
        given={"r": r, "p": p},
        values={
            "loss": loss,
            "entropy": entropy,
            "divergence": loss - entropy,
            "other": other,
        },
        traps={
            "the mean by the model": ("loss", float(p @ told)),
            "the entropy forgotten": ("divergence", loss),
            "one divergence for the other": ("divergence", other),
        },
    )


@question("Two models, two kinds of tokens", minutes=8, asks="why")
def two_kinds_of_tokens(rng: Rng) -> Item:
    """Perplexities and bits per byte of a model of words and of one of characters."""
    words, size, a, b = draw(
        lambda: (
            int(rng.integers(2, 12)),
            int(rng.integers(3, 9)),
            int(rng.integers(3, 8)),
            int(rng.integers(1, 4)),
        ),
        lambda x: x[3] < x[2] and x[2] != x[1] * x[3],
    )
    n_bytes = words * size
    first, second = words * a, n_bytes * b
    better = "A" if first < second else "B"
    return Item(
        statement=rf"""
A text of {n_bytes} bytes has {words} words of {size} letters each, spaces counted with them. Model
A reads words and has the perplexity {2**a} on it, model B reads letters and has the perplexity
{2**b}.

**(a)** How many bits does each model spend on the whole text?

**(b)** How many bits per byte has each? Which gives the text the larger probability?

**(c)** Why do the perplexities alone not tell?""",
        answer=rf"""
**(a)** A spends {words} times {a} bits, ${first}$; B {n_bytes} times {b}, ${second}$.

**(b)** ${tex(a)} / {size}$ and ${b}$ bits per byte: model {better}.

**(c)** A perplexity is that of one token, and B is asked {size} times as often as A.""",
        marking=(
            (3, "the bits of both texts"),
            (3, "bits per byte of both models, rightly compared"),
            (2, "a perplexity is that of one question, not of a text"),
        ),
        given={"words": words, "size": size, "a": a, "b": b},
        values={"first": first, "second": second},
        traps={
            "as many letters as words": ("second", words * b),
            "the perplexity for its logarithm": ("first", words * 2**a),
        },
    )


@question("A perfect model goes on training", minutes=10, asks="error")
def perfect_model(rng: Rng) -> Item:
    """Gradients of the logits at the true probabilities: one, their mean, their mean square."""
    tenths = draw(lambda: rng.integers(1, 8, 3), lambda x: x.sum() == 10 and len({*x}) > 1)
    came = int(rng.integers(3))
    r = tenths / 10
    one = (r - np.eye(3)[came]).round(9)
    square = float((1 - r @ r).round(9))
    single = float((one @ one).round(9))
    return Item(
        statement=rf"""
Three words come with the probabilities $r = {tex(r)}$, and a model gives exactly these.

**(a)** Word {came + 1} comes. Give the gradient of the loss with respect to the three logits, and
its squared length.

**(b)** Give the mean of the squared length over what may come.

**(c)** “The model is at the least possible loss, so its gradients are 0, and more training with the
same learning rate leaves it where it is.” What is wrong, and what is right in it?""",
        answer=rf"""
**(a)** The probabilities, less 1 at the word that came: ${tex(one)}$, of squared length
${tex(single)}$.

**(b)** $1 - \|r\|^2 = {tex(square)}$.

**(c)** The mean of the gradients over what may come is 0. Each single gradient is not, nor is the
mean of a batch in general, so the parameters go on moving; a falling rate or larger batches calm
them.""",
        marking=(
            (3, "the gradient and its squared length"),
            (3, "the mean square"),
            (3, "the mean is 0, the single gradients are not"),
        ),
        given={"r": r, "came": came},
        values={"one": one, "single": single, "square": square},
        traps={
            "the sign turned": ("one", -one),
            "nothing moves at the floor": ("square", 0.0),
        },
    )
