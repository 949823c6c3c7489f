"""Exam questions of chapter 7 about turning: scores, pairs, and what knows the distance only."""

from __future__ import annotations

from math import lcm

import numpy as np

from tformer.reference import dot, rope, rope_permutation, rope_vjp, sinusoidal
from tformer_book.exams import Item, choices, distinct, draw, question, tex

Rng = np.random.Generator


def hands(places: np.ndarray) -> np.ndarray:
    """Waves of two hands: half a turn per position for the first, a quarter for the second."""
    return sinusoidal(places, 4, base=4.0, interpolation=1 / np.pi)


def signed(rng: Rng, n: int) -> np.ndarray:
    """Different whole numbers from 1 to 9, each with a sign."""
    return np.array(distinct(rng, n, 1, 9)) * rng.choice([-1.0, 1.0], n)


@question("Quarter turns", minutes=12)
def quarter_turns(rng: Rng) -> Item:
    """Rotated query and key, scores by distance, and what interpolation does to them."""

    def scores(q: np.ndarray, k: np.ndarray) -> np.ndarray:
        return rope(np.tile(q, (4, 1)), hands(np.arange(4))) @ k

    def fits(rows: np.ndarray) -> bool:
        found = np.sort(scores(*rows).round(9))
        return bool(rows.any(axis=0).all() and found[-1] > found[-2])

    q, k = draw(lambda: rng.integers(-3, 5, (2, 4)).astype(float), fits)
    t, s = draw(
        lambda: (int(rng.integers(5, 20)), int(rng.integers(1, 20))),
        lambda x: x[0] > x[1] and (x[0] - x[1]) % 4 > 0,
    )
    moved, factor = int(rng.integers(20, 100)), int(rng.integers(2, 9))
    turned = rope(np.stack([q, k]), hands(np.array([t, s])))
    by_distance = scores(q, k)
    score = dot(turned[0], turned[1])
    best = int(by_distance.argmax())
    near = best or 1
    back = rope_vjp(hands(np.array([t, s])), np.stack([q, k]))
    halves = rope(np.stack([q, k]), hands(np.array([t, s])), "half")
    return Item(
        statement=rf"""
A head of width 4 pairs neighbouring coordinates and turns the query at position $t$ and the key at
position $s$. In each position the first pair goes on by half a turn, the second by a quarter turn,
which takes $(a, b)$ to $(-b, a)$. Let $q = {tex(q)}$ and $k = {tex(k)}$.

**(a)** Give the turned query for $t = {t}$, the turned key for $s = {s}$, and their dot product.

**(b)** Give the dot product for $t = {t + moved}$ and $s = {s + moved}$, and the reason.

**(c)** Give the dot products for the distances $t - s = 0, 1, 2, 3$. Which distances have the
highest score, in a long text? Why does a head have slower hands as well?

**(d)** The texts become {factor} times as long, and every position is divided by {factor} (position
interpolation). Which distance is now treated as distance {near} was? What does that mean for a head
that has learned to attend to the word just before?""",
        answer=rf"""
**(a)** ${tex(turned[0])}$, ${tex(turned[1])}$ and ${tex(score)}$.

**(b)** ${tex(score)}$ again: both are turned by the same angles, and the dot product depends on the
angles between the pairs, which stay.

**(c)** ${tex(by_distance)}$. The highest is at ${tex(best)}$, and at every distance that is larger
by a multiple of 4, since after four positions both hands are back. A slow hand tells these apart.

**(d)** Distance {factor * near}. All distances have shrunk by the factor {factor}: what the head
had learned about the word just before now holds for a word {factor} positions back. The word just
before stands at angles between those of two whole positions, which it has never met.""",
        marking=(
            (3, "both rows and their dot product"),
            (2, "the same, with the reason"),
            (3, "four dot products; the best, again and again; slow hands tell them apart"),
            (2, "the distance times the factor; the learned distance has moved"),
        ),
        given={"q": q, "k": k, "places": (t, s), "factor": factor, "near": near},
        values={"query": turned[0], "key": turned[1], "score": score}
        | {"scores": by_distance, "best": best, "far": factor * near},
        traps={
            "nothing is turned": ("score", dot(q, k)),
            "the query alone is turned": ("score", dot(turned[0], k)),
            "turned the other way": ("query", back[0]),
            "halves are pairs": ("query", halves[0]),
            "distances have grown": ("far", near / factor),
        },
    )


@question("Which two make a pair", minutes=12, asks="error")
def which_pair(rng: Rng) -> Item:
    """Tell the pairings and a mirror apart, convert columns, and convert them once too often."""
    x, t = signed(rng, 4), int(rng.choice([1, 3, 5, 7]))
    waves = hands(np.array([t]))
    adjacent, half = (rope(x[None], waves, pairing)[0] for pairing in ("adjacent", "half"))
    mirror = adjacent.copy()
    mirror[2:] = (waves[0, 2] * x[[3, 2]]).round()
    order = rng.permutation(3)
    results = [(adjacent, half, mirror)[i] for i in order]
    names = [("neighbours", "halves", "neither")[i] for i in order]
    verdict = ", ".join(f"{letter} {name}" for letter, name in zip("ABC", names, strict=True))
    swapped = {"neighbours": "halves", "halves": "neighbours", "neither": "neither"}
    wrong = ", ".join(f"{x} {swapped[name]}" for x, name in zip("ABC", names, strict=True))
    no = "ABC"[names.index("neither")]
    row, permutation = signed(rng, 6), rope_permutation(6)
    once, twice = row[permutation], row[permutation][permutation]
    return Item(
        statement=rf"""
Rotations of width 4 have two hands: in each position the first goes on by half a turn, the second
by a quarter turn. Three functions get the row ${tex(x)}$ at position {t} and return

{choices([f"${tex(y)}$" for y in results])}

**(a)** One pairs neighbouring coordinates, one pairs the first half with the second, one does
neither. Which is which?

**(b)** {no} returns rows of the right length, too. Which property of rotations does it lack, and
what becomes of the scores?

**(c)** A row of $W_Q$, of width 6, belongs to a head that pairs neighbours: ${tex(row)}$. Give the
row for code that pairs halves.

**(d)** A script makes this conversion twice, to $W_Q$ and to $W_K$. Give the row of (c) then. Its
author tests the score of a word with itself and finds it right. Why is that no test?

**(e)** What would that test have said if only $W_Q$ had been converted?""",
        answer=rf"""
**(a)** {verdict}.

**(b)** Two turns should add up: an odd number of quarter turns, done twice, is half a turn, which
takes $(a, b)$ to $(-a, -b)$. {no} exchanges two coordinates, up to a sign, and twice that gives
$(a, b)$. So its scores depend on the positions themselves, and not on the distance only.

**(c)** ${tex(once)}$: first the coordinates 0, 2, 4, then 1, 3, 5.

**(d)** ${tex(twice)}$. At distance 0 query and key are turned alike, so the score is the dot
product without any turning, and a permutation that is done to both does not change it: it is right
with any pairing.

**(e)** In general something wrong: the coordinates of the query then meet other coordinates of the
key.""",
        marking=(
            (3, "the three verdicts"),
            (3, "turns that add up; scores no longer by distance"),
            (1, "even coordinates first"),
            (3, "the row; at distance 0 turning and a common permutation cancel"),
            (1, "a permutation of one side does not cancel"),
        ),
        given={"results": results, "x": x, "place": t, "row": row},
        values={"verdict": verdict, "once": once, "twice": twice},
        traps={
            "the pairings exchanged": ("verdict", wrong),
            "the way back": ("once", row[np.argsort(permutation)]),
            "halves exchanged": ("once", np.roll(row, 3)),
            "twice is there and back": ("twice", row),
        },
    )


SCORES = {
    "rope": r"$(q R_t) \cdot (k R_s)$",
    "waves": r"$p_t \cdot p_s$",
    "ahead": r"$(p_t R_3) \cdot p_s$",
    "slope": r"$q \cdot k - \mu \lvert t - s \rvert$",
    "query": r"$(q R_t) \cdot k$",
    "against": r"$(q R_t) \cdot (k R_{-s})$",
    "added": r"$(q + p_t) \cdot (k + p_s)$",
    "matrix": r"$p_t N p_s^\top$, with any given matrix $N$",
    "place": r"$q \cdot k + \mu s$",
}
KNOW = list(SCORES)[:4]


@question("Nothing but the distance", minutes=15, asks="proof")
def nothing_but_distance(rng: Rng) -> Item:
    """Scores that depend on t − s only, a proof for one, and waves with exact numbers."""
    names = [*rng.choice(KNOW, 2, replace=False), *rng.choice(list(SCORES)[4:], 3, replace=False)]
    names = [str(names[i]) for i in rng.permutation(5)]
    letters = " and ".join(x for x, name in zip("ABCDE", names, strict=True) if name in KNOW)
    others = " and ".join(x for x, name in zip("ABCDE", names, strict=True) if name not in KNOW)
    turns = sorted(int(n) for n in rng.choice([2, 3, 4, 6], 3, replace=False))
    t, s = draw(
        lambda: [int(x) for x in rng.integers(10, 99, 2)],
        lambda x: x[0] > x[1] and all((x[0] - x[1]) % n for n in turns),
    )
    p, other = (
        np.concatenate(
            [sinusoidal(np.array([x]), 2, interpolation=n / (2 * np.pi))[0] for n in turns]
        )
        for x in (t, s)
    )
    meet, gap = dot(p, other), dot(p - other, p - other)
    return Item(
        statement=rf"""
Let $R_\delta$ turn pairs of coordinates, so that $R_\delta R_\varepsilon = R_{{\delta +
\varepsilon}}$ and $R_\delta^\top = R_{{-\delta}}$. Let $p_t$ be the sinusoidal row of position $t$,
with $p_{{t + \delta}} = p_t R_{{-\delta}}$, and let $q$ and $k$ be fixed rows and $\mu > 0$.

{choices([SCORES[name] for name in names])}

**(a)** Which of these scores depend on $t$ and $s$ only through $t - s$, for all $q$ and $k$?

**(b)** Prove for all rows and positions that $\lVert q R_t \rVert = \lVert q \rVert$ and
$(q R_t) \cdot (k R_s) = q R_{{t-s}} k^\top$.

**(c)** A sinusoidal row has three hands. They go round once in {turns[0]}, in {turns[1]} and in
{turns[2]} positions. Give $p_{{{t}}} \cdot p_{{{s}}}$ and $\lVert p_{{{t}}} - p_{{{s}}} \rVert^2$.
What is the first position after 0 with the same row as position 0?

**(d)** The row of position $t$ is added to the word. Why does a score of two words with positions,
in a first layer, not depend on $t - s$ only, even if $W_Q W_K^\top$ is the identity?""",
        answer=rf"""
**(a)** {letters}.

**(b)** $(q R_t) \cdot (k R_s) = q R_t R_s^\top k^\top = q R_t R_{{-s}} k^\top$, and this is
$q R_{{t-s}} k^\top$. For $k = q$ and $s = t$ this is $q R_0 q^\top = \lVert q \rVert^2$, because
$R_0$ turns nothing.

**(c)** Each hand gives the cosine of the angle that it goes on by in {t - s} positions:
$p_{{{t}}} \cdot p_{{{s}}} = {tex(meet)}$. Each row has the squared length 3, so the square of the
difference is $6 - 2 \cdot ({tex(meet)}) = {tex(gap)}$. Position ${tex(lcm(*turns))}$ is the first.

**(d)** $(x + p_t) \cdot (y + p_s) = x \cdot y + x \cdot p_s + p_t \cdot y + p_t \cdot p_s$. The
last part depends on the distance only. The two in the middle, a word with a position, do not.""",
        marking=(
            (3, "the right ones; a point off for each that is missing or too many"),
            (3, "transpose, sum of turns; the length as a special case"),
            (4, "cosines of the hands; squared difference; least common multiple"),
            (2, "four parts, and which of them knows a position"),
        ),
        given={"names": names, "turns": turns, "places": (t, s)},
        values={"letters": letters, "meet": meet, "gap": gap, "again": lcm(*turns)},
        traps={
            "the others": ("letters", others),
            "the sign of the distance": ("gap", 6 + 2 * meet),
            "a row has length 1": ("gap", 2 - 2 * meet),
            "the product of all rounds": ("again", int(np.prod(turns))),
            "the slowest hand decides": ("again", max(turns)),
        },
    )
