"""Exam questions of chapter 5: what a mask hides, what leaks, and what reaches through layers."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer_book.chapters.ch05.fills import naive_softmax
from tformer_book.chapters.ch05.paths import reach
from tformer_book.exams import Item, choices, distinct, draw, question, tex

Rng = np.random.Generator


@question("Before and after", minutes=10)
def before_and_after(rng: Rng) -> Item:
    """Weights with a mask before the softmax and after it, and what the second kind tells."""
    odds = distinct(rng, 4, 1, 9)
    hidden = int(rng.integers(4))
    scores, mask = np.log(odds), np.arange(4) != hidden
    p = reference.softmax(scores)
    before = reference.softmax(np.where(mask, scores, -np.inf))
    after = p * mask
    first = int(np.flatnonzero(mask)[0])
    slope = -p[first] * p[hidden]
    logs = ", ".join(rf"\log {x}" for x in odds)
    return Item(
        statement=rf"""
A row has the scores $({logs})$, and key {hidden + 1} is to be hidden.

**(a)** Give the weights if it is hidden before the softmax, and if the weights are multiplied by
the mask after the softmax.

**(b)** What does each of the two rows add up to?

**(c)** The hidden score changes by a little. Give the derivative of the weight of key {first + 1}
in the hidden score, for both places of the mask. Which of the two rows knows the hidden key?""",
        answer=rf"""
**(a)** Before: ${tex(before)}$. After: ${tex(after)}$.

**(b)** Before: 1. After: ${tex(after.sum())}$.

**(c)** Before: 0, since the visible weights are a softmax of the visible scores. After: minus the
product of the two weights without a mask, ${tex(slope)}$. So the second row knows the hidden
key.""",
        marking=(
            (4, "both rows; two points each"),
            (1, f"the sums 1 and ${tex(after.sum())}$"),
            (3, "the derivatives: 0, and minus the product of two weights"),
            (1, "the row that was masked after the softmax knows the hidden key"),
        ),
        given={"odds": odds, "hidden": hidden},
        values={"before": before, "after": after, "sum": after.sum(), "slope": slope},
        traps={
            "the hidden share given out evenly": ("before", (p + p[hidden] / 3) * mask),
            "multiplied scores, exp(0) = 1": ("before", reference.softmax(scores * mask)),
            "the mask after the softmax divided again": ("after", before),
            "the sign of the derivative": ("slope", -slope),
        },
    )


@question("What the row gives away", minutes=10, asks="why")
def given_away(rng: Rng) -> Item:
    """The hidden score, read from a row that was masked after the softmax."""
    odds = np.array(distinct(rng, 3, 1, 12))
    late = odds[:2] / odds.sum()
    return Item(
        statement=rf"""
A program multiplies the weights by the mask after the softmax. In one row two keys are visible,
with the scores $\log {odds[0]}$ and $\log {odds[1]}$, and their weights in the result are
${tex(late[0])}$ and ${tex(late[1])}$. A third key is hidden.

**(a)** What is $e^s$ for its score $s$?

**(b)** “The hidden key has the weight 0, so nothing of it gets through.” Where is the mistake?

**(c)** Would it help to divide the row by its sum? Say why, and what a machine with few digits
may make of it.""",
        answer=rf"""
**(a)** ${tex(float(odds[2]))}$. The missing share is ${tex(1 - late.sum())}$, and shares are in
the ratio of the exponentials.

**(b)** Its value does not get through. Its score does, in the sum by which all weights of the
row were divided: the row is too short by the hidden share.

**(c)** On paper yes: divided by their sum, the weights are those of the visible scores alone.
But if the hidden score is larger by much, the visible exponentials are rounded to zero, and
$0/0$ is left.""",
        marking=(
            (3, "the missing share, and the ratio of shares"),
            (2, "the score stands in the sum of the softmax"),
            (1, "dividing is right on paper"),
            (2, "visible exponentials can be rounded to zero"),
        ),
        given={"late": late, "odds": odds[:2]},
        values={"hidden": float(odds[2]), "missing": 1 - late.sum()},
        traps={
            "the missing share taken for the exponential": ("hidden", 1 - late.sum()),
            "the mean of the visible ones": ("hidden", odds[:2].mean()),
            "the visible share": ("missing", late.sum()),
        },
    )


@question("Who can know whom", minutes=10)
def who_knows(rng: Rng) -> Item:
    """Windows and layers, forwards and backwards."""
    window, layers, n = draw(
        lambda: (int(rng.integers(2, 6)), int(rng.integers(2, 6)), int(rng.integers(20, 41))),
        lambda sizes: (sizes[0] - 1) * sizes[1] + 1 < sizes[2],
    )
    mask = reference.sliding_window_mask(n, n, window)
    known = int(reach(mask, layers)[-1].sum())
    needed = next(i for i in range(1, n) if reach(mask, i)[-1, 0])
    place = int(rng.integers(known + 1, n))
    back = place - known + 1
    return Item(
        statement=rf"""
A text has {n} words. In each layer a word may attend to itself and to the {window - 1} words
before it; all layers have residual connections.

**(a)** Of how many words can the last word know something after {layers} layers?

**(b)** How many layers does it take until the last word can know the first?

**(c)** Which is the earliest word of which word {place} can know something after {layers}
layers? Show the path.""",
        answer=rf"""
**(a)** ${known}$: in each layer {window - 1} further back, and itself.

**(b)** ${needed}$, the least number of steps of {window - 1} that cover {n - 1} places.

**(c)** Word ${back}$: from word {place} go {window - 1} places back in each of the {layers}
layers.""",
        marking=(
            (3, "layers times one less than the window, and itself"),
            (3, "division by one less than the window, rounded up"),
            (2, "the earliest word, with a path of longest steps"),
        ),
        given={"window": window, "layers": layers, "n": n, "place": place},
        values={"known": known, "needed": needed, "earliest": back},
        traps={
            "layers times window": ("known", layers * window),
            "a power of the window": ("known", window**layers),
            "the window counted without the word itself": ("needed", int(np.ceil(n / window))),
            "one step of the window a layer": ("earliest", place - layers * window),
        },
    )


PROGRAMS = {
    "right": "s <= t",
    "ahead": "s <= t + 1",
    "turned": "s >= t",
    "none": "s < n",
    "short": "s < t",
    "end": "s <= n - 1 - t",
}


def allowed(name: str, n: int) -> np.ndarray:
    """The mask of a program, with places t and s from 0."""
    t, s = np.indices((n, n))
    return {
        "right": s <= t,
        "ahead": s <= t + 1,
        "turned": s >= t,
        "none": s < n,
        "short": s < t,
        "end": s <= n - 1 - t,
    }[name]


@question("Four masks", minutes=12, asks="error")
def four_masks(rng: Rng) -> Item:
    """Leaks of four masks that are all called causal, and rows with no key to attend to."""
    n = int(rng.integers(5, 13))
    others = rng.choice(["ahead", "turned", "none", "end"], size=2, replace=False)
    names = [str(name) for name in rng.permutation(["right", "short", *others])]
    masks = [allowed(name, n) for name in names]
    causal = reference.causal_mask(n, n)
    leaks = np.array([int(reference.count_leaks(mask.astype(float), causal)) for mask in masks])
    blind = np.array([int((~mask.any(axis=1)).sum()) for mask in masks])
    right = "ABCD"[names.index("right")]
    programs = choices([f"`{PROGRAMS[name]}`" for name in names])
    return Item(
        statement=f"""
A text has n = {n} words; t and s run from 0. Four programs make a mask, true where word t may
attend to word s, and each is called causal by its author.

{programs}

**(a)** For each: how many pairs are there in which a word may attend to a later one?

**(b)** For each: how many words may look nowhere?

**(c)** Which one is the causal mask? One of the others leaks nothing and is wrong all the same:
which, what is wrong with it, and why does a count of leaks not find it?""",
        answer=f"""
**(a)** ${tex(leaks)}$, in the order A to D.

**(b)** ${tex(blind)}$.

**(c)** {right} is right. {"ABCD"[names.index("short")]} hides each word from itself, and the
first word from everything. A count of leaks asks whether too much is seen; here it is too
little.""",
        marking=(
            (4, "leaks; one point each"),
            (2, "one word may look nowhere with s < t, none with the others"),
            (1, "the right one"),
            (2, "a word is hidden from itself; a count of leaks is silent about too much hiding"),
        ),
        given={"n": n, "names": names},
        values={"leaks": leaks, "blind": blind, "right": right},
        traps={
            "all open pairs counted": ("leaks", np.array([int(mask.sum()) for mask in masks])),
            "no row is blind": ("blind", np.zeros(4)),
            "rows and columns exchanged": (
                "leaks",
                np.array([int(np.tril(mask, -1).sum()) for mask in masks]),
            ),
        },
    )


@question("A number in place of −∞", minutes=10, asks="why")
def finite_fill(rng: Rng) -> Item:
    """Three ways to hide all keys of a row."""
    odds = distinct(rng, 3, 1, 9)
    scores, fill = np.log(odds), int(rng.choice([50, 100, 200, 1000]))
    added = reference.softmax(scores - fill)
    written = naive_softmax(np.full(3, -float(fill)))
    ours = reference.attention_weights(
        scores[:1, None], np.ones((3, 1)), mask=np.zeros((1, 3), dtype=bool)
    )[0]
    logs = ", ".join(rf"\log {x}" for x in odds)
    return Item(
        statement=rf"""
A query has the scores $({logs})$ for three keys, and all three are hidden from it. Compute with
exact numbers.

**(a)** Program A adds $-{fill}$ to each score, program B writes $-{fill}$ over each score. Which
weights do they get?

**(b)** Which weights does the book's contract ask for?

**(c)** Why does a larger number than {fill} not help program A? And why does its mistake not
show in a row in which one key is visible?""",
        answer=rf"""
**(a)** A: ${tex(added)}$, as if nothing were hidden. B: ${tex(written)}$.

**(b)** ${tex(ours)}$.

**(c)** A softmax sees differences of scores only, and the same number in all of them changes no
difference, however large it is. If one key is visible, the number is not in all scores: the
hidden ones fall far below the visible one, and their weights become tiny.""",
        marking=(
            (3, "A gets the weights without a mask; B equal weights"),
            (1, "zeros"),
            (2, "shift invariance"),
            (1, "with a visible key the fill makes a difference of scores"),
        ),
        given={"odds": odds},
        values={"added": added, "written": written, "contract": ours},
        traps={
            "a small weight is no weight": ("added", np.zeros(3)),
            "adding levels the scores": ("added", np.full(3, 1 / 3)),
            "the contract shares out evenly": ("contract", np.full(3, 1 / 3)),
        },
    )


@question("One pass", minutes=12, asks="proof")
def one_pass(rng: Rng) -> Item:
    """Chances of texts of two letters from a table of conditionals, and why they add up to one."""
    parts = rng.integers(1, 8, size=7)
    table = parts / 8
    text = rng.integers(2, size=3)
    node, chance = 0, 1.0
    for letter in text:
        chance *= table[node] if letter == 0 else 1 - table[node]
        node = 2 * node + 1 + int(letter)
    length = int(rng.integers(5, 20))
    rows = length * (length + 1) // 2
    names = ["", "a", "b", "aa", "ab", "ba", "bb"]
    lines = ", ".join(
        f"after {name or 'nothing'} ${tex(value)}$"
        for name, value in zip(names, table, strict=True)
    )
    word = "".join("ab"[letter] for letter in text)
    return Item(
        statement=rf"""
A causal model writes texts of three letters, each a or b. The chance of a is: {lines}.

**(a)** How likely is the text {word}?

**(b)** Show that the chances of all eight texts add up to 1. Where do you use that no row of the
model sees the letter that it predicts?

**(c)** To get all conditionals of a text of {length} words, one program sends each beginning,
from 1 to {length} words, through the model by itself; another sends the whole text through once.
How many rows does each compute in a layer?""",
        answer=rf"""
**(a)** ${tex(chance)}$.

**(b)** Add over the last letter first. The first two factors do not contain it, because their
rows do not see it, and the last factors, for a and for b, add up to 1. Then add over the second
letter, and over the first. If a row saw the letter that it predicts, its factors for a and for b
would be taken from two different distributions, and need not add up to 1.

**(c)** ${rows}$ and ${length}$.""",
        marking=(
            (2, "the product of three conditionals"),
            (4, "adding from the last letter on; the other factors do not contain it"),
            (2, "a row that sees its letter speaks in two distributions"),
            (2, "the sum of the first numbers, and the length"),
        ),
        given={"table": table, "text": text, "length": length},
        values={"chance": chance, "rows": rows, "once": length},
        traps={
            "the three chances added": ("chance", float(table[0] + table[1] + table[3])),
            "the square of the length": ("rows", length * length),
            "one beginning too few": ("rows", length * (length - 1) // 2),
        },
    )
