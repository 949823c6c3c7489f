"""Exam questions of chapter 19."""

from __future__ import annotations

from itertools import count

import numpy as np

from tformer_book.exams import Item, draw, question, tex

Rng = np.random.Generator


@question("A sink of weight M", minutes=8)
def a_sink(rng: Rng) -> Item:
    """A mean, nearly a sum, and up to which number a finite sink counts."""
    n, sink = int(rng.integers(3, 7)), int(rng.integers(4, 25))
    v = draw(lambda: rng.integers(-3, 6, n), lambda x: x.sum() not in (0, 1))
    total = int(v.sum())
    summed, off = sink * total / (sink + n), n * n / (sink + n)
    largest = next(k for k in count() if 2 * (k + 1) ** 2 >= sink + k + 1)
    return Item(
        statement=rf"""
An attention head gives {n} tokens the score $0$. Their values are ${tex(v)}$.

**(a)** Give its output.

**(b)** One more token stands in front of them, with the score $\log {sink}$ and the value $0$. Give
the new output, multiplied by ${sink}$.

**(c)** Now all {n} values are $1$, and the head should count them. By how much is the output of
(b), multiplied by ${sink}$, too small?

**(d)** A counter rounds this output to the nearest whole number. Up to how many ones is the error
below one half?""",
        answer=rf"""
**(a)** The mean, ${tex(total / n)}$.

**(b)** The exponentials are ${sink}$ and {n} ones, so each value has the weight
$1/({sink} + {n})$. The output is ${tex(summed)}$.

**(c)** ${n} - {sink} \cdot {n} / ({sink} + {n})$ is ${tex(off)}$.

**(d)** The error $n^2/({sink} + n)$ grows with $n$. It is below one half up to $n = {largest}$.""",
        marking=(
            (1, "the mean of the values"),
            (2, "the exponential of the sink stands below the line beside all tokens"),
            (2, "the error of a count, by its difference to n or as n²/(M + n)"),
            (2, "the error is compared with one half, and the last number that fits is named"),
        ),
        given={"v": v, "M": sink},
        values={"mean": total / n, "summed": summed, "off": off, "largest": largest},
        traps={
            "the sum": ("summed", float(total)),
            "the sink counts as one token": ("summed", sink * total / (n + 1)),
            "the tokens count as one": ("summed", sink * total / (sink + 1)),
            "not multiplied": ("summed", total / (sink + n)),
            "the first that fails": ("largest", largest + 1),
        },
    )


def _walk(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Five steps on two cells, and a sixth at the cell that was visited three times."""
    cells = np.array([0, *rng.permutation([0, 0, 1, 1]), 0])
    return cells, rng.integers(0, 6, 6)


def _kept(cells: np.ndarray, writes: np.ndarray) -> list[int]:
    return [int(w) for c, w in zip(cells[:5], writes[:5], strict=True) if c == cells[5]]


@question("What a cell holds", minutes=10, asks="why")
def cell_holds(rng: Rng) -> Item:
    """The changes of a run, and what two heads read from it."""
    cells, writes = draw(
        lambda: _walk(rng),
        lambda x: len(set(_kept(*x))) > 1 and _kept(*x)[-1] * 3 != sum(_kept(*x)),
    )
    tape, changes = {0: 0, 1: 0}, []
    for cell, symbol in zip(cells[:5].tolist(), writes[:5].tolist(), strict=True):
        changes.append(symbol - tape[cell])
        tape[cell] = symbol
    past = _kept(cells, writes)
    mean, held = sum(past) / len(past), past[-1]
    steps = [
        f"| {t} | {c} | {w} |"
        for t, (c, w) in enumerate(zip(cells[:5], writes[:5], strict=True), 1)
    ]
    table = "\n".join(["| step | cell | writes |", "|---|---|---|", *steps])
    return Item(
        statement=rf"""
A machine has written on two cells, which both held $0$ at first. Before step 6 it stands at the
cell $0$.

{table}

**(a)** Give the change of each step: what it writes, less what the cell held.

**(b)** An attention head looks at the earlier steps at the cell $0$ with equal scores. Its values
are the symbols written. What does it read?

**(c)** A second one has the changes as values, and a sink, so that it adds them up. What does it
read?

**(d)** Why is the reading of (c) the content of the cell, however often it was visited? And why
need it not know which visit was the last?""",
        answer=rf"""
**(a)** ${tex(np.array(changes))}$.

**(b)** The mean of what was written there, ${tex(mean)}$.

**(c)** ${tex(held)}$.

**(d)** Each change takes away what the visit before it left and adds what is new. In the sum all
but the last symbol are taken away again. A sum does not depend on the order of its terms.""",
        marking=(
            (3, "each change is against the last symbol at the same cell, or 0"),
            (2, "the mean over the visits of this cell only"),
            (1, "the last symbol that was written there"),
            (2, "what one visit adds, the next one takes away"),
            (1, "a sum has no order"),
        ),
        given={"cells": cells, "writes": writes[:5]},
        values={"changes": np.array(changes), "mean": mean, "held": held},
        traps={
            "against the step before": ("changes", np.diff(writes[:5], prepend=0)),
            "the symbols as changes": ("changes", writes[:5]),
            "all cells": ("mean", float(writes[:5].mean())),
            "divided by one more": ("mean", sum(past) / (len(past) + 1)),
            "the last step of all": ("held", int(writes[4]) if cells[4] else -1),
        },
    )


@question("One token of many", minutes=10, asks="why")
def one_token(rng: Rng) -> Item:
    """The bound of one token's influence, the longest text, and which assumption parity breaks."""
    ratio, k, share = (int(rng.integers(low, high)) for low, high in ((2, 10), (2, 8), (2, 7)))
    size = int(rng.integers(1, 4))
    n = 1 + ratio * k
    bound, equal = 2 * size / (1 + k), 2 * size / n
    longest = 1 + ratio * (share - 1)
    return Item(
        statement=rf"""
An attention head sees $n$ tokens. All values lie between $-{size}$ and ${size}$. The largest
exponential of a score is at most ${ratio}$ times the smallest one, whatever the tokens are.

**(a)** For $n = {n}$, by how much can one token change the output at most?

**(b)** By how much at most if all scores are always equal?

**(c)** The next layer says yes for an output of ${tex(size / share)}$ or more, and no for
${tex(-size / share)}$ or less. Up to which $n$ can one token turn a no into a yes?

**(d)** The parity of $n$ bits turns with every single bit. Still two layers with positions compute
it for every $n$: they count the ones and look the count up in a table of positions. Why does this
not contradict (c)?""",
        answer=rf"""
**(a)** Its weight is largest with the largest exponential, beside {n - 1} of the smallest. The
change is at most $2 \cdot {size} / (1 + {n - 1}/{ratio})$, that is ${tex(bound)}$.

**(b)** Every weight is $1/{n}$, so it is ${tex(equal)}$.

**(c)** It must change by ${tex(2 * size / share)}$ at least, so $1 + (n - 1)/{ratio}$ is at
most ${share}$: up to $n = {longest}$.

**(d)** There the scores are not bounded by one number for all $n$. In the second layer they grow
with the square of the position, so the largest exponential is not at most ${ratio}$ times the
smallest one. The sink that counts in the first layer has to grow with the text, too.""",
        marking=(
            (2, "the ratio of exponentials stands with the other n − 1 tokens"),
            (1, "equal weights"),
            (2, "the change from no to yes is twice the margin, and the formula is solved for n"),
            (3, "bounded scores are named as the assumption, and where the look-up breaks it"),
        ),
        given={"n": n, "ratio": ratio, "size": size, "share": share},
        values={"bound": bound, "equal": equal, "longest": longest},
        traps={
            "half of the change": ("bound", size / (1 + k)),
            "n in place of n − 1": ("bound", 2 * size / (1 + n / ratio)),
            "equal scores": ("bound", equal),
            "only from 0": ("longest", 1 + ratio * (2 * share - 1)),
            "one less": ("longest", longest - 1),
        },
    )


def _two_columns(rng: Rng) -> tuple[tuple[int, int], tuple[int, int], set[int]]:
    """Sum and digit of two columns of three summands, and the carries that may go on from them.

    The second column alone fits two carries.
    """
    first, third = (int(x) for x in rng.integers(0, 4, 2))
    digit, seen = int(rng.integers(0, 2)), third % 2
    inner = [(first + came) // 2 for came in range(3) if (first + came) % 2 == digit]
    known = {(third + came) // 2 for came in inner if (third + came) % 2 == seen}
    return (first, digit), (third, seen), known


@question("The carry of three", minutes=10, asks="error")
def carry_of_three(rng: Rng) -> Item:
    """The rule for two summands, where it fails for three, and what repairs it."""
    pairs = np.array([[1, 0], rng.integers(0, (3, 2))])
    carry = (pairs[:, 0] > pairs[:, 1]).astype(int)
    (first, digit), (third, seen), known = draw(lambda: _two_columns(rng), lambda x: len(x[2]) == 1)
    on = [(third + came) // 2 for came in range(3) if (third + came) % 2 == seen]
    m = int(rng.integers(5, 60))
    columns = next(k for k in count() if 2**k >= m)
    return Item(
        statement=rf"""
An adder writes a sum in binary from the lowest column on. It sees the bits of each column and the
digits already written. For two summands it finds a carry from the column before: there the sum of
the two bits is $u$, the digit written is $s$, and the carry is $1$ if $u - s \ge 1$, else $0$.

**(a)** Give the carry for two summands with $u = 1$ and $s = 0$, and with $u = {pairs[1, 0]}$ and
$s = {pairs[1, 1]}$.

**(b)** With three summands a column has $u = {third}$ and $s = {seen}$. Any carry from 0 to 2 may
have come in. Give the smaller and the larger carry that may go on.

**(c)** In the column before that one $u = {first}$ and $s = {digit}$. Which carry goes on from the
column of (b)?

**(d)** A student says: "If $u - s \ge 1$ tells a carry of two summands, $u - s \ge 2$ tells the
second carry of three." What is wrong? How many columns back tell the carry of ${m}$ summands in any
case?""",
        answer=rf"""
**(a)** ${tex(carry)}$.

**(b)** The digit tells only that the carry that came in was even, $0$ or $2$. The
carries that may go on are ${tex(np.array(on))}$.

**(c)** Of these two only one fits both columns: ${tex(min(known))}$ goes on.

**(d)** For three summands the same $u$ and $s$ belong to two carries, as (b) shows, so no rule in
$u$ and $s$ can tell them apart. Each column halves the carries that are left:
${tex(columns)}$ columns for ${m}$ summands.""",
        marking=(
            (1, "the rule for two summands"),
            (3, "both carries that came in are found by the digit, and what goes on from each"),
            (2, "the column before rules one of them out"),
            (2, "one pair of u and s has two carries, so any rule in them fails"),
            (2, "the carries are halved by each column, from m down to one"),
        ),
        given={"pairs": pairs, "three": (third, seen), "before": (first, digit), "m": m},
        values={
            "carry": carry,
            "on": np.array(on),
            "known": min(known),
            "columns": columns,
        },
        traps={
            "half of the sum": ("carry", pairs[:, 0] // 2),
            "any carry came in": ("on", np.array([third // 2, (third + 1) // 2])),
            "the column before is not used": ("known", sum(on) - min(known)),
            "one column for each summand": ("columns", m - 1),
            "rounded down": ("columns", columns - 1),
        },
    )
