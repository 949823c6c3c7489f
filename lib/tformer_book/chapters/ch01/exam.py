"""Exam questions of chapter 1: what a dot product says, and what a table of them gives away."""

from __future__ import annotations

import numpy as np

from tformer.reference import (
    cosine_similarity,
    dot,
    norm,
    pairwise_dot,
    projection,
    squared_distance,
)
from tformer_book.exams import Item, draw, question, tex

Rng = np.random.Generator
LENGTHS = {3: (1, 2, 2), 5: (0, 3, 4), 7: (2, 3, 6), 9: (1, 4, 8)}
"""Rows of whole numbers whose length is a whole number."""


@question("Shadow and remainder", minutes=10)
def shadow(rng: Rng) -> Item:
    """Projection and remainder, another length of the key, and the best key of that length."""

    def row(lengths: list[int]) -> np.ndarray:
        row = rng.permutation(LENGTHS[int(rng.choice(lengths))])
        return row * rng.choice([-1.0, 1.0], 3) + 0.0

    q, k = draw(lambda: (row([3, 5, 7, 9]), row([3, 5])), lambda rows: dot(*rows) not in (0, 1))
    times = -int(rng.integers(2, 5))
    there, best = projection(q, k), float(norm(q) * norm(k))
    left, turned = q - there, float(dot(q, times * k))
    return Item(
        statement=rf"""
Let $q = {tex(q)}$ and $k = {tex(k)}$.

**(a)** Give $q \cdot k$, the projection of $q$ on the line through $k$, and the remainder.
Check that the remainder meets $k$ at a right angle.

**(b)** Now $k$ is replaced by ${times}k$. Give the new dot product and the new projection,
without computing the projection anew.

**(c)** Among all keys as long as $k$, which has the largest dot product with $q$, and how
large is it? Say what you rely on.

**(d)** In general a score can be small for two quite different reasons. Name them, and a
number that tells them apart.""",
        answer=rf"""
**(a)** $q \cdot k = {tex(dot(q, k))}$; the projection is ${tex(there)}$, the remainder
${tex(left)}$. Coordinate by coordinate, its products with $k$ are ${tex(left * k)}$, and they
add up to 0.

**(b)** The dot product is ${tex(turned)}$. The projection stays ${tex(there)}$: it is the
point of the *line* nearest to $q$, and the line is the same.

**(c)** The key that points the way $q$ does. By Cauchy–Schwarz no dot product exceeds
$\lVert q \rVert \lVert k \rVert = {tex(best)}$, and equality holds for multiples only.

**(d)** The directions may have little to do with each other, or one of the vectors may be
short. The cosine, from which both lengths are divided out, tells.""",
        marking=(
            (4, "dot product, projection, remainder, and the check"),
            (2, "the dot product multiplied; the projection kept, with the reason"),
            (2, "the direction of $q$; Cauchy–Schwarz, with its case of equality"),
            (1, "direction or length; the cosine"),
        ),
        given={"q": q, "k": k, "times": times},
        values={"dot": dot(q, k), "there": there, "left": left, "turned": turned, "best": best},
        traps={
            "divided by the length, not its square": ("there", dot(q, k) / norm(k) * k),
            "projected on the wrong vector": ("there", projection(k, q)),
            "the sign lost": ("turned", -turned),
            "the best key is k": ("best", dot(q, k)),
        },
    )


@question("Three measures", minutes=12, asks="why")
def three_judges(rng: Rng) -> Item:
    """Dot, cosine and distance name three winners; which change if query or keys change length."""

    def winners(q: np.ndarray, keys: np.ndarray) -> str | None:
        """The first by dot product, cosine and distance; None if one of them is not clear."""
        scores = [dot(q, keys), cosine_similarity(q, keys), -squared_distance(q, keys)]
        clear = all(np.sort(x)[-1] - np.sort(x)[-2] > 1e-6 for x in scores)
        return "".join("ABC"[int(np.argmax(x))] for x in scores) if clear else None

    def made() -> tuple[np.ndarray, np.ndarray]:
        return rng.integers(1, 4, 2).astype(float), rng.integers(-1, 8, (3, 2)).astype(float)

    def fits(drawn: tuple[np.ndarray, np.ndarray]) -> bool:
        q, keys = drawn
        first, later = winners(q, keys), winners(5 * q, keys)
        if first is None or later is None or dot(q, keys).min() <= 0:
            return False
        return len({*first}) == 3 and first[2] != later[2]

    q, keys = draw(made, fits)
    first, later = winners(q, keys) or "", winners(5 * q, keys) or ""
    dots, distances = dot(q, keys), squared_distance(q, keys)
    squares = dots**2 / dot(keys, keys)
    return Item(
        statement=rf"""
A query $q = {tex(q)}$ meets the keys $A = {tex(keys[0])}$, $B = {tex(keys[1])}$ and
$C = {tex(keys[2])}$.

**(a)** Which key comes first by the dot product, which by the cosine, which by (small)
distance? Say how you compared the cosines without roots.

**(b)** The query becomes five times as long. Which of the three rankings can change, and why
not the others? Who is nearest now?

**(c)** Instead, all keys are brought to length 1. Which key comes first by each measure now? No
further computation is needed: prove why.

**(d)** Attention uses the dot product of the keys as they are. What can a model say with the
length of a key?""",
        answer=rf"""
**(a)** By dot product {first[0]} (${tex(dots)}$), by cosine {first[1]}, by distance {first[2]}
(squared distances ${tex(distances)}$). As all dot products are positive, the cosines are in the
order of $(q \cdot k)^2 / \lVert k \rVert^2$, here ${tex(squares)}$.

**(b)** Only the distance. All dot products are multiplied by the same positive number, and the
cosines stay. Nearest is now {later[2]}.

**(c)** {first[1]}, by all three. For keys of length 1 the dot product is $\lVert q \rVert$
times the cosine, and $\lVert q - k \rVert^2 = \lVert q \rVert^2 + 1 - 2\, q \cdot k$ falls as
the dot product rises; the cosines have not changed.

**(d)** That the key matters: a long key scores high with every query that points its way, and
low with those in the opposite direction.""",
        marking=(
            (4, "three winners; cosines compared by squares or likewise"),
            (3, "only the distance, with reasons; the new winner"),
            (3, "one winner; both identities"),
            (1, "a long key scores high or low"),
        ),
        given={"q": q, "keys": keys},
        values={"dot": first[0], "cosine": first[1], "distance": first[2], "later": later[2]},
        traps={
            "the judges agree": ("cosine", first[0]),
            "nearest stays nearest": ("later", first[2]),
            "nearest is most alike in direction": ("distance", first[1]),
        },
    )


@question("The smudged entry", minutes=12, asks="why")
def smudged(rng: Rng) -> Item:
    """A table of rank two: one entry follows from the others."""

    def fits(rows: np.ndarray) -> bool:
        table = pairwise_dot(*rows)
        minors = [np.linalg.det(np.delete(np.delete(table, i, 0), i, 1)) for i in range(3)]
        return bool(np.abs(table).max() <= 12 and np.abs(minors).min() > 0.5)

    rows = draw(lambda: rng.integers(-2, 4, (2, 3, 2)).astype(float), fits)
    table = pairwise_dot(*rows)
    place = int(rng.integers(3))
    lost = float(table[place, place])
    shown = np.char.mod("%d", table)
    shown[place, place] = "?"
    grid = r" \\ ".join(" & ".join(row) for row in shown)
    others = np.delete(np.delete(table, place, 0), place, 1)
    return Item(
        statement=rf"""
Three queries and three keys of width 2 have the dot products

$$Q K^\top = \begin{{bmatrix}} {grid} \end{{bmatrix}} ,$$

one of which is smudged.

**(a)** Find it. (Hint: how are three rows of width 2 related, and what does that say of the
rows of the table?)

**(b)** Had the queries and keys width 3, could you still have found it? Prove your answer.

**(c)** A head has keys of width 64 and reads a thousand words. How many entries has its table
of scores, and of which rank can it be at most? Does the bound hold for the table of weights,
too, after a softmax of each row?""",
        answer=rf"""
**(a)** The rank of the table is at most 2, so its determinant is zero. It depends on the
smudged entry linearly, with the factor ${tex(np.linalg.det(others).round(9))}$, which is not
zero; the entry is ${tex(lost)}$.

**(b)** No. Every table of three by three is a table of dot products of width 3: take $K = I$
and $Q$ the table itself. So any number may stand there.

**(c)** A million entries, of rank at most 64. No: the softmax works entry by entry and then on
rows; the weights can have full rank.""",
        marking=(
            (2, "one row is a combination of the others, or: the determinant is zero"),
            (3, "the entry"),
            (2, "no, with two tables of factors"),
            (3, "a million; 64; not for the weights"),
        ),
        given={"shown": shown, "place": place},
        values={"lost": lost},
        traps={
            "rows add up to zero": ("lost", float(lost - table[place].sum())),
            "rank one: across times down over corner": (
                "lost",
                float(
                    table[place, place - 1]
                    * table[place - 1, place]
                    / (table[place - 1, place - 1] or 1)
                ),
            ),
        },
    )
