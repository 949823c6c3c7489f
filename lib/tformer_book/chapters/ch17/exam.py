"""Exam questions of chapter 17: votes, two weights of a head, patches, and what cuts allow."""

from __future__ import annotations

import numpy as np

from tformer_book.exams import Item, distinct, draw, question, tex

Rng = np.random.Generator
NOUNS = ("dog", "gate")


@question("A sum of votes", minutes=10, asks="error")
def summed(rng: Rng) -> Item:
    """Three words looked at, two answers; one value exchanged; the weights mislead."""

    def drawn() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first = int(rng.integers(1, 4))
        second = first + int(rng.integers(1, 3))
        says = np.diag(rng.integers(2, 9, 2))
        troubles = np.stack([rng.integers(1, 10, 2), rng.integers(1, 10, 2)])
        return np.array([first, second, 10 - first - second]), says, troubles * [[1, -1], [-1, 1]]

    def sums(x: tuple[np.ndarray, np.ndarray, np.ndarray], trouble: int) -> np.ndarray:
        made: np.ndarray = x[0] @ np.vstack([x[1], x[2][trouble]])
        return made

    def fits(x: tuple[np.ndarray, np.ndarray, np.ndarray]) -> bool:
        one, other = sums(x, 0), sums(x, 1)
        return bool(x[0][2] > 2 and one[0] > one[1] and other[1] > other[0])

    x = draw(drawn, fits)
    weights, says, troubles = x
    first, second = (sums(x, trouble) / 10 for trouble in (0, 1))
    plain = says.sum(axis=0) + troubles[0]
    return Item(
        statement=rf"""
An encoder has one layer of attention with one head, and a last RMSNorm. It reads “the dog did not
pass the gate because it was too *hungry*”. There “it” has the weights {_listed(weights)}
on *dog*, *gate* and *hungry*. Its other weights, and what its own vector says, are so small that
you may leave them out. With the weight 1 the value of each word would add to the logits of two
answers:

| | *dog* | *gate* |
|---|---|---|
| *dog* | {says[0, 0]} | {says[0, 1]} |
| *gate* | {says[1, 0]} | {says[1, 1]} |
| *hungry* | ${troubles[0, 0]}$ | ${troubles[0, 1]}$ |
| *narrow* | ${troubles[1, 0]}$ | ${troubles[1, 1]}$ |

**(a)** Give the sums for *dog* and for *gate*, before the last norm.

**(b)** Which of the two does the encoder prefer, and why need you not know by what the last norm
divides?

**(c)** Only the value of *hungry* is exchanged for that of *narrow*; all weights stay. Give both
sums, and say which answer is preferred now.

**(d)** “The gate has more weight than the dog. So the model takes ‘it’ for the gate.” What is wrong
with this, and what can a change of the answer in (c) not be due to?""",
        answer=rf"""
**(a)** Weight times what each value says, added up: ${tex(first)}$.

**(b)** It prefers {NOUNS[0]}. The last norm divides both sums by the same positive number, which
does not change their order.

**(c)** ${tex(second)}$, so it prefers {NOUNS[1]}.

**(d)** A weight says how much of a value is added, and not for which answer this value speaks; the
word behind *too* speaks for both answers as well. In (c) no weight has changed, so the new answer
is not due to other weights. It comes from one value.""",
        marking=(
            (2, "every weight times every entry of its word, added for each answer"),
            (2, "one positive divisor for both answers leaves their order"),
            (2, "the third row replaced, with the weights as they were"),
            (3, "weights are told apart from what values say"),
        ),
        given={"weights": weights, "says": says, "troubles": troubles},
        values={"first": first, "second": second, "named": NOUNS[0], "then": NOUNS[1]},
        traps={
            "weights left out": ("first", plain),
            "the third word left out": ("first", weights[:2] @ says / 10),
            "the larger weight taken for the answer": ("named", NOUNS[1]),
            "the answer kept with the weights": ("then", NOUNS[0]),
        },
    )


def _listed(tenths: np.ndarray) -> str:
    one, two, three = (f"${tex(x / 10)}$" for x in tenths)
    return f"{one}, {two} and {three}"


@question("The share of two weights", minutes=12, asks="proof")
def two_weights(rng: Rng) -> Item:
    """One head of a first layer: another last word, a ratio that stays, and a bound."""
    a, b = distinct(rng, 2, 1, 9)
    last, others = (int(x) for x in rng.integers(1, 9, 2))
    power = int(rng.integers(1, 4))
    total = a + b + last + others
    then = total + (2**power - 1) * last
    share = a / (a + b)
    inside = (a + b) ** 2 / (a * b)
    larger = r"\log 2" if power == 1 else rf"{power} \log 2"
    return Item(
        statement=rf"""
In a first layer each vector depends on its own word and place alone. There “it” gives, in one head,
the nouns $i$ and $j$ of a sentence the weights ${tex(a / total)}$ and ${tex(b / total)}$, and the
last word ${tex(last / total)}$. In a second sentence only the last word is another one. Its score
is larger by ${larger}$. The first sentence means noun $i$, the second noun $j$.

**(a)** Give the weight on noun $i$ in the second sentence.

**(b)** Which share of the weight on both nouns together does the right noun have, in the first
sentence and in the second?

**(c)** The loss of a sentence is $-\log$ of this share. The mean of the two losses is
$\tfrac12 \log x$. Give $x$.

**(d)** Prove that no head of a first layer brings this mean below $\log 2$, whatever its matrices,
and say when it is reached.""",
        answer=rf"""
**(a)** The exponential of the last score is multiplied by {2**power}, and the others stay. The sum
grows from {total} parts to {then}, and noun $i$ keeps its {a}: ${tex(a / then)}$.

**(b)** ${tex(share)}$ and ${tex(1 - share)}$: both weights have shrunk by the same factor.

**(c)** $x$ is 1 over the product of the two shares: ${tex(inside)}$.

**(d)** The queries of “it” and the keys of both nouns are made of these words and their places
alone, so the two scores are the same in both sentences, and so is the share $r$ of noun $i$. It is
right in the first, and $1 - r$ in the second. The mean loss is
$-\tfrac12 \log \bigl(r (1 - r)\bigr)$. As $r (1 - r) = \tfrac14 - (r - \tfrac12)^2$ is at most
$\tfrac14$, the mean is at least $\tfrac12 \log 4 = \log 2$. It is reached when both nouns have the
same weight.""",
        marking=(
            (3, "one exponential changes, and with it the sum that all are divided by"),
            (2, "the ratio of both nouns stays; the right one changes places"),
            (2, "a sum of two logarithms as the logarithm of one product"),
            (4, "scores that do not know the last word, the product of both shares, the case"),
        ),
        given={"a": a, "b": b, "last": last, "others": others, "power": power},
        values={
            "weight": a / then,
            "right": share,
            "right then": 1 - share,
            "inside": inside,
        },
        traps={
            "the weight kept": ("weight", a / total),
            "the last word left out": ("weight", a / (total - last)),
            "the share of the same noun": ("right then", share),
            "the product upside down": ("inside", 1 / inside),
        },
    )


@question("What a patch brings", minutes=10, asks="why")
def patched(rng: Rng) -> Item:
    """Log-odds of two runs of a decoder and of patches: shares, and where they are sure."""

    def drawn() -> tuple[int, int, int]:
        return int(rng.integers(2, 9)), -int(rng.integers(2, 9)), int(rng.integers(-9, 9))

    d, e, found = draw(drawn, lambda x: x[1] < x[2] < x[0] and x[2] != 0)
    parts = int(rng.choice([2, 4, 5]))
    wanted = d + (e - d) / parts
    share = (found - d) / (e - d)
    return Item(
        statement=rf"""
A decoder of three blocks reads “the dog did not pass the gate because it was too narrow so they
widened the”. The logit of *gate* minus that of *door*, at the last word, is ${d}$. In a second run
*door* stands instead of *gate*, and the same difference is ${e}$. Patches put one vector of
the second run into the first.

**(a)** A patch at *too*, after the first block, makes the difference ${tex(found)}$. Which share
does it recover?

**(b)** At *because*, after the first block, a patch recovers ${tex(1 / parts)}$. What is the
difference with this patch?

**(c)** What is the difference after a patch at *dog*, after the second block? And after one at the
last word, after the third block? Give reasons that hold for every decoder.

**(d)** Now *narrow* is exchanged for *hungry* instead. Somebody patches at “it” after each block,
finds that nothing is recovered, and writes: “this decoder does not resolve the pronoun.” What is
wrong, and at which words should one look?""",
        answer=rf"""
**(a)** The part of the way from ${d}$ to ${e}$: ${tex(share)}$.

**(b)** ${tex(wanted)}$.

**(c)** At *dog* it stays ${tex(d)}$. This word stands before the exchanged one, its vectors are the
same in both runs, and to put in an equal vector changes nothing. At the last word, after the
last block, it is ${tex(e)}$: the logits are made of this vector alone.

**(d)** “It” stands before the exchanged word, so the patch brings nothing in any decoder, whatever
it has learnt. The result is about the mask. One should look at the exchanged word and at those
behind it, up to the last.""",
        marking=(
            (2, "the change that the patch makes over the change between the runs"),
            (2, "the share of the whole change, from the first run on"),
            (3, "equal vectors before the exchanged word; the logits come from the last vector"),
            (3, "the mask forbids it for all parameters; the exchanged word and later ones"),
        ),
        given={"d": d, "e": e, "found": found, "parts": parts},
        values={"share": share, "wanted": wanted, "before": float(d), "last": float(e)},
        traps={
            "what is left of the way": ("share", 1 - share),
            "a quotient of log-odds": ("share", found / e),
            "a share of the second log-odds": ("wanted", e / parts),
            "nothing recovered taken for a difference of 0": ("before", 0.0),
        },
    )


@question("What cuts allow to say", minutes=11, asks="why")
def allowed(rng: Rng) -> Item:
    """Right answers in a hundred after single cuts and a double one, with controls."""
    names = [str(x) for x in rng.permutation(list("PQR"))]
    whole = int(rng.integers(94, 100))
    lost = [int(x) for x in rng.integers(0, 3, 2)]
    harm, both = int(rng.integers(25, 45)), int(rng.integers(25, 45))
    controls = draw(
        lambda: np.sort(rng.integers(0, 7, 4)), lambda x: bool(x.sum() % 4 == 0 and x[-1] > 3)
    )
    right = dict(zip(names, (whole - x for x in (*lost, harm)), strict=True))
    mean = controls.sum() / 4
    beyond, more = harm - mean, both - sum(lost)
    quiet = sorted(names[:2])
    return Item(
        statement=rf"""
A model is right in {whole} of 100 sentences. If one head of its second layer is silenced, it is
right in

| head P | head Q | head R | four other heads, one at a time |
|---|---|---|---|
| {right["P"]} | {right["Q"]} | {right["R"]} | {", ".join(str(whole - x) for x in controls)} |

With both {quiet[0]} and {quiet[1]} silenced it is right in {whole - both}. The three were chosen
because of what they attend to, before any of these counts was made.

**(a)** Which of the three heads harms the model more than every control if it is silenced? By how
many sentences does its loss exceed the mean loss of the controls?

**(b)** By how many sentences is the loss with {quiet[0]} and {quiet[1]} silenced larger than both
single losses together?

**(c)** “Neither {quiet[0]} nor {quiet[1]} harms more than a control. So the model does not use
them.” What do the counts say to this, and what may be going on? What may one conclude from either
single cut?

**(d)** Which control is missing for (b), and how would you choose it? What would you say if it lost
{both} sentences as well?""",
        answer=rf"""
**(a)** Head {names[2]}. It loses {harm} sentences and the controls ${tex(mean)}$ on average, so
the difference is ${tex(beyond)}$.

**(b)** By ${tex(more)}$: {both} less the {sum(lost)} of both single cuts.

**(c)** They do not bear it out: without both, many answers are lost. Either head may bring what the
other one brings too, or begin to when the other is silent, so that one is enough. From a single cut
without harm follows only that the rest of the model is enough without this head.

**(d)** Two other heads at once, of the same layer, drawn without regard to what their cut does;
best several such draws. If they lost {both} as well, the harm could be that of any two silent
heads, and nothing would be shown about {quiet[0]} and {quiet[1]}.""",
        marking=(
            (2, "the losses are compared with each control and with their mean"),
            (2, "the loss of the double cut less both single losses"),
            (3, "two that can stand in for each other, and what a harmless cut leaves open"),
            (3, "as many heads of the same layer, drawn; equal harm would show nothing"),
        ),
        given={
            "whole": whole,
            "right": right,
            "both": whole - both,
            "quiet": quiet,
            "controls": whole - controls,
        },
        values={"head": names[2], "beyond": beyond, "more": more},
        traps={
            "a head that loses less than a control": ("head", names[0]),
            "the controls left out": ("beyond", harm),
            "the single losses left out": ("more", both),
        },
    )
