"""Exercises 17.1 and 17.2: what each word votes for, and how much each key brings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.table import Case, case

Array = np.ndarray

# ---- 17.1 ---------------------------------------------------------------------------------


def _softmax(x: Array) -> Array:
    terms = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def _kinds(places: Array) -> int:
    return len(set(places.tolist()))


def _centred(table: Array) -> Array:
    return np.asarray(table - table.mean(axis=1, keepdims=True))


def _agree(table: Array, logits: Array) -> bool:
    return bool((logits.argmax(axis=1) == table.mean(axis=0).argmax()).all())


def _tried(table: Array, weights: Array) -> tuple[Array, Array, bool]:
    drawn = np.random.default_rng(0).dirichlet(np.ones(len(table)), 50)
    return table, weights @ table, _kinds((drawn @ table).argmax(axis=1)) == 1


def _above_all(table: Array) -> bool:
    """Whether each vote for one answer is above each vote for any other."""
    low, high = table.min(axis=0), table.max(axis=0)
    best = low.argmax()
    return bool((low[best] > np.delete(high, best)).all())


def _heads() -> Iterator[Case]:
    w_v, w_o = np.array([[1.0], [0], [2]]), np.array([[1.0, 2, -1]])
    head: dict[str, Any] = {"w_v": w_v, "w_o": w_o}
    x, u = np.array([[1.0, 5, 0], [0, 7, 1]]), np.array([[1.0, 0], [1, 1], [0, 3]])
    why = "The values are 1 and 2, and what a value of 1 adds is (1, 2, −1), read as (3, −1)."
    want: Any = ([[3.0, -1], [6, -2]], [[3.75, -1.25]], True)
    yield case(x=x, **head, u=u, weights=[[0.75, 0.25]], want=want, why=why)
    why = "The values are 1 and −2: word 0 votes for answer 0, and word 1 for answer 1."
    x = np.array([[1.0, 5, 0], [0, 7, -1]])
    want = ([[3.0, -1], [-6, 2]], [[0.75, -0.25], [-3.75, 1.25]], False)
    yield case(x=x, **head, u=u, weights=[[0.75, 0.25], [0.25, 0.75]], want=want, why=why)
    why = "Answer 0 leads at both places, and a head that attends to word 1 would say answer 1."
    want = ([[3.0, -1], [-6, 2]], [[0.75, -0.25], [1.875, -0.625]], False)
    yield case(x=x, **head, u=u, weights=[[0.75, 0.25], [0.875, 0.125]], want=want, why=why)
    why = "Each word votes most for answer 1, though word 0 favours answer 0 over answer 2."
    plain: dict[str, Any] = {"w_v": np.eye(3), "w_o": np.eye(3), "u": np.eye(3)}
    x = np.array([[4.0, 5, 1], [0, 3, 2], [-3, -1, -2]])
    weights = np.array([[0.5, 0.25, 0.25], [0, 0, 1], [0.25, 0.5, 0.25], [0, 1, 0]])
    want = (x, weights @ x, True)
    yield case(x=x, **plain, weights=weights, want=want, why=why)
    why = "Words 0 and 1 have the largest sum for answer 1, which is neither's first choice."
    x = np.array([[5.0, 4, 0], [0, 4, 5]])
    want = (x, [[2.5, 4, 2.5]], False)
    yield case(x=x, **plain, weights=[[0.5, 0.5]], want=want, why=why)
    why = "All votes are above 0, and answer 0 leads in both rows, with another one behind it."
    ahead = np.array([[5.0, 1, 2], [6, 2, 1]])
    want = (ahead, [[5.5, 1.5, 1.5]], True)
    yield case(x=ahead, **plain, weights=[[0.5, 0.5]], want=want, why=why)
    why = "All votes are above 0, and each word has a favourite of its own."
    own = np.array([[5.0, 1, 2], [1, 6, 2]])
    want = (own, [[4.0, 2.25, 2]], False)
    yield case(x=own, **plain, weights=[[0.75, 0.25]], want=want, why=why)
    why = "Nobody attends to word 1 here, but other weights may, and it votes for answer 2."
    hidden = np.array([[5.0, 4, 0], [0, 4, 5], [3, 2, 1]])
    want = (hidden, [[4.0, 3, 0.5], [5, 4, 0]], False)
    yield case(x=hidden, **plain, weights=[[0.5, 0, 0.5], [1, 0, 0]], want=want, why=why)
    yield case(x=x[:1], **plain, weights=[[1.0]], want=(x[:1], x[:1], True), why="One word alone.")
    one: dict[str, Any] = plain | {"u": np.ones((3, 1))}
    want = ([[9.0], [9]], [[9.0]], True)
    yield case(x=x, **one, weights=[[0.5, 0.5]], want=want, why="There is one answer only.")
    for seed, (S, T, N, d, d_v) in enumerate(
        ((3, 2, 4, 5, 2), (5, 3, 2, 4, 4), (4, 1, 3, 3, 1), (6, 4, 5, 4, 3), (2, 7, 6, 5, 5))
    ):
        rng = np.random.default_rng(seed)
        x, w_v, w_o = rng.normal(size=(S, d)), rng.normal(size=(d, d_v)), rng.normal(size=(d_v, d))
        u, weights = rng.normal(size=(d, N)), _softmax(2 * rng.normal(size=(T, S)))
        given: dict[str, Any] = {"x": x, "w_v": w_v, "w_o": w_o, "u": u, "weights": weights}
        yield case(**given, why=f"{S} words, {T} places, {N} answers.")
        table = x @ w_v @ w_o
        away = np.linalg.lstsq(table, 30 + np.arange(S), rcond=None)[0] if d_v >= S else u[:, 0]
        yield case(**given | {"u": np.column_stack([u, away])}, why=f"{N + 1} answers.")
    yield from promised(single, **given)
    head = {"w_v": np.array([[1.0, 2], [2, 1]]), "w_o": np.array([[2.0, 1], [1, 3]])}
    head |= {"x": np.array([[1.0, 2], [3, 1]]), "u": np.array([[1.0, 2], [3, 1]])}
    given = {name: head[name] for name in ("x", "w_v", "w_o", "u")}
    for rows in ([[1.0, 0], [0, 1]], [[0.5, 0.5], [0.25, 0.75]]):  # a list keeps its sums of 1
        yield from promised(whole, **given, weights=rows)


class Said(Several):
    """Votes and logits, and one True or False, which tells mistakes apart by all cases only."""

    weak = True


@exercise(
    "17.1",
    praise="Words that agree, words that do not, places that agree all the same, one word and one "
    "answer.",
    hints=(
        "Follow one word alone: its value, what that adds, and which logits that gives.",
        "Three products in a row give the votes. The head takes a mean of their rows. When does "
        "one answer win in every mean?",
        "Weights of 1 on a single word are among all weights. So compare the favourites of the "
        "words, `argmax` of each row of the votes.",
    ),
    cases=_heads,
    kind=Said(names=("votes", "logits", "answer to the question")),
    slips="""
        table = x @ w_v @ w_o @ u → table = (x + x @ w_v @ w_o) @ u
            You added the word itself, as a residual connection does; the votes are what the head
            adds.
        table = x @ w_v @ w_o @ u → table = x @ u
            You read the words themselves. What a head carries is their value, through both of its
            matrices.
        table = x @ w_v @ w_o @ u → table = x @ w_v @ u
            The matrix of the outputs is missing: a value has to be taken back to the words' width.
        x @ w_v @ w_o @ u → _softmax($)
            You made probabilities of the votes. Logits are what is added up, and a softmax comes
            after that.
        weights @ table → _softmax(weights @ table)
            Those are probabilities; logits are asked for, before the softmax.
        weights @ table → np.repeat(table.mean(axis=0, keepdims=True), len(weights), axis=0)
            Each word counts alike in your logits; each counts with its weight.
        weights @ table → np.repeat(table.sum(axis=0, keepdims=True), len(weights), axis=0)
            You added up all votes without their weights.
        weights @ table → _softmax(weights) @ table
            The weights went through a softmax once more; their rows add up to 1 already.
        weights @ table → (weights @ x) @ u
            Your logits are those of a mean of the words; it is their values that are added.
        weights @ table → table[weights.argmax(axis=1)]
            You took the votes of the word with the largest weight; the others are added too.
        weights @ table → weights @ (table == table.max(axis=1, keepdims=True))
            You counted favourites. Each word adds the whole size of its vote to each answer.
        _kinds(table.argmax(axis=1)) → _kinds((weights @ table).argmax(axis=1))
            You compared the places, with the weights that they have. Other weights may give another
            answer.
        _kinds(table.argmax(axis=1)) == 1 → _kinds((weights @ table).argmax(axis=1)) != 1
            You said whether the places differ in their answers. The exercise asks whether one
            answer wins, whatever the weights.
        _kinds(table.argmax(axis=1)) == 1 → _kinds(table.argmax(axis=1)) > 1
            The question is turned round: True where one answer wins, whatever the weights.
        _kinds(table.argmax(axis=1)) → _kinds(abs(table).argmax(axis=1))
            You looked for votes that are large in size. A vote far below 0 is one against.
        _kinds(table.argmax(axis=1)) → _kinds(table.argmin(axis=1))
            You compared what the words vote against.
        _kinds(table.argmax(axis=1)) == 1 → (np.sign(table) == np.sign(table[0])).all()
            You compared signs. What wins is the largest logit, which may stand beside other
            positive ones, or be negative.
        _kinds(table.argmax(axis=1)) == 1 → bool(np.allclose(table, table[0]))
            You asked for equal votes. To agree on the largest one is enough.
        _kinds(table.argmax(axis=1)) == 1 → (np.argsort(table) == np.argsort(table)[0]).all()
            You asked for the same order of all answers; only the first of them has to be the same.
        _kinds(table.argmax(axis=1)) → _kinds(table.argmax(axis=0))
            You looked for the word that votes most for each answer; each word has a favourite
            among the answers.
        _kinds(table.argmax(axis=1)) == 1 → _above_all(table)
            You compared the votes of one word with those of another. With each word, only its own
            votes compete.
        weights @ table → weights[:, :, None] * table
            The products with the weights are not added up yet: one sum over the words for each
            place.
        return table, → return weights @ table,
            You weighted the votes. They are what each word would add with the weight 1.
        x @ w_v @ w_o @ u → _centred($)
            You took the mean off each row. Logits stay as they come.
        _kinds(table.argmax(axis=1)) == 1 → table.argmax(axis=1) == table[0].argmax()
            You said it of each word; one True or False is asked for, of all words together.
        _kinds(table.argmax(axis=1)) == 1 → bool((table > 0).all(axis=0).any())
            You looked for an answer that all words vote for with more than 0. Another answer may
            have more still.
        _kinds(table.argmax(axis=1)) == 1 → True
            You said True each time. Where words favour different answers, weights decide.
        _kinds(table.argmax(axis=1)) == 1 → False
            You said False each time. Where all words favour one answer, weights decide nothing.
        _kinds(table.argmax(axis=1)) → _kinds(table[weights.max(axis=0) > 0].argmax(axis=1))
            You left out words of weight 0. With other weights they have a vote, too.
        _kinds(table.argmax(axis=1)) == 1 → _agree(table, weights @ table)
            You asked whether the places say what the plain mean of all votes says. Other weights
            are left out.
        weights @ table → (weights.T if len(weights) == len(table) else weights) @ table
            You transposed the weights; row t holds the weights of place t.
        weights @ table → weights @ (x + x @ w_v @ w_o) @ u
            You added the words themselves to the logits. Add their values alone.
        weights @ table → (weights[:, :, None] * table).sum(axis=0)
            You summed over the places. Sum over the words, for each place.
        table = x @ w_v @ w_o @ u → table = x @ w_v @ w_o
            The unembedding is missing. Multiply by u: votes are logits of N answers.
    """,
    mutants={
        "You tried some weights at random. Few draws come close to attending to one word alone, "
        "where the answer may be another.": lambda x, w_v, w_o, u, weights: _tried(
            x @ w_v @ w_o @ u, weights
        ),
    },
    otherwise="Value, output, unembedding; then the mean with the weights.",
)
def votes(x: Array, w_v: Array, w_o: Array, u: Array, weights: Array) -> tuple[Array, Array, bool]:
    """Votes of the words, logits of the places, and whether one answer wins with any weights."""
    table = x @ w_v @ w_o @ u
    return table, weights @ table, _kinds(table.argmax(axis=1)) == 1


# ---- 17.2 ---------------------------------------------------------------------------------


def _norms(x: Array) -> Array:
    return np.asarray(np.linalg.norm(x, axis=-1))


def _shares(pieces: Array) -> Array:
    total = pieces.sum(axis=-1, keepdims=True)
    return np.asarray(pieces / np.where(total > 0, total, 1))


def _projected(weights: Array, values: Array) -> Array:
    """Shares of the sum along its own direction."""
    whole = weights @ values
    along, square = whole @ values.mT, (whole * whole).sum(axis=-1, keepdims=True)
    return np.asarray(weights * along / np.where(square > 0, square, 1))


def _maps() -> Iterator[Case]:
    eye = np.eye(2)
    why = "The lengths of the values are 0, 5 and 10, and with the weights 0, 1 and 1."
    v = np.array([[0.0, 0], [3, 4], [-6, 8]])
    yield case(weights=[[0.7, 0.2, 0.1]], v=v, w_o=eye, want=[[0, 0.5, 0.5]], why=why)
    why = "W_O makes the values (0, 10), (6, 0) and (−2, 0) long: 10, 6 and 2."
    v, w_o = np.array([[0.0, 1], [3, 0], [-1, 0]]), np.array([[2.0, 0, 0], [0, 6, 8]])
    weights = np.array([[0.25, 0.25, 0.5], [0, 1, 0]])
    want = np.array([[2.5, 1.5, 1], [0, 5, 0]]) / 5
    yield case(weights=weights, v=v, w_o=w_o, want=want, why=why)
    why = "W_O takes the first number of a value only, and those of row 0's keys are 0."
    v, w_o = np.array([[0.0, 5], [0, -3], [2, 2]]), np.array([[1.0, 1], [0, 0]])
    weights = np.array([[0.5, 0.5, 0], [0.25, 0.25, 0.5]])
    yield case(weights=weights, v=v, w_o=w_o, want=[[0, 0, 0], [0, 0, 1]], why=why)
    why = "Row 1 attends to nothing."
    given: dict[str, Any] = {"v": np.array([[1.0, 0], [0, 3]]), "w_o": eye}
    yield case(weights=[[0.5, 0.5], [0, 0]], **given, want=[[0.25, 0.75], [0, 0]], why=why)
    why = "The two vectors cancel, and each is half of what comes."
    v = np.array([[1.0, 2], [-1, -2]])
    yield case(weights=[[0.5, 0.5]], v=v, w_o=eye, want=[[0.5, 0.5]], why=why)
    yield case(weights=[[0.25]], v=v[:1], w_o=eye, want=[[1.0]], why="One key brings all.")
    why = "Weights may be as small as 10⁻⁹, and values as 10⁻⁶."
    small: dict[str, Any] = {"v": np.array([[1e-6], [1e-6]]), "w_o": np.array([[0.5]])}
    yield case(weights=[[1e-9, 0.0]], **small, want=[[1.0, 0]], why=why)
    why = "Weights need not add up to 1."
    yield case(weights=[[4.0, 1], [0.5, 0.25]], **given, want=[[4 / 7, 3 / 7], [0.4, 0.6]], why=why)
    for seed, (T, S, d_v, d) in enumerate(((3, 4, 2, 5), (5, 2, 3, 3), (4, 4, 3, 2), (1, 6, 1, 4))):
        rng = np.random.default_rng(seed)
        v, w_o = rng.normal(size=(S, d_v)) * rng.exponential(size=(S, 1)), rng.normal(size=(d_v, d))
        weights = _softmax(2 * rng.normal(size=(T, S)))
        yield case(weights=weights, v=v, w_o=w_o)
        yield case(weights=weights, v=1e-6 * v, w_o=w_o, why="Values may be as small as 10⁻⁶.")
        yield case(weights=np.tri(T, S) * weights, v=v, w_o=w_o, why="Later words are hidden.")
        why = "Weights may be as small as 10⁻⁹, and values as 10⁻⁶."
        yield case(weights=1e-9 + 1e-9 * weights, v=1e-6 * v, w_o=w_o, why=why)
        yield case(weights=2e-9 - 1e-9 * weights, v=1e-6 * v, w_o=w_o, why=why)
    for front in ((1,), (2,), (2, 3), (4,)):
        v, weights = rng.normal(size=(*front, 4, 2)), rng.random((*front, 3 + len(front), 4))
        why = "Axes in front only stack."
        yield case(weights=weights, v=v, w_o=rng.normal(size=(2, 3)), why=why)
    yield from promised(single, weights=weights[0], v=v[0], w_o=rng.normal(size=(2, 3)))
    given = {
        "weights": np.array([[1.0, 2, 1], [3, 0, 2]]),
        "v": np.array([[2.0, 1], [1, 3], [2, 2]]),
    }
    yield from promised(whole, **given, w_o=np.array([[1.0, 2], [3, 1]]))


@exercise(
    "17.2",
    praise="Values of no length and small ones, a W_O that drops some, vectors that cancel, rows "
    "without anything, and stacks.",
    hints=(
        "What is added to query t is a sum over the keys. What is the part of key s in it?",
        "The part is the weight, times the value, times W_O. A weight is not negative, so the "
        "length of the part is the weight times a length that belongs to the key.",
        "The lengths are those of the rows of v @ w_o (`np.linalg.norm`), one for each column. "
        "Divide by sums of rows, and by 1 where a sum is 0.",
    ),
    cases=_maps,
    slips="""
        = weights
            Those are the weights. A key with a short value brings little, whatever its weight.
        = _shares(weights)
            Those are the weights, made to add up to 1: the values play no part.
        v @ w_o → v
            You measured the values before W_O, which makes some longer and others shorter.
        weights * lengths[..., None, :] → np.ones_like(weights) * lengths[..., None, :]
            The weights play no part: a key that is not attended to brings nothing.
        total = pieces.sum(axis=-1, keepdims=True) → total = np.ones_like(pieces[..., :1])
            Those are the lengths; divide them by the sum of their row.
        total = pieces.sum(axis=-1, keepdims=True) → total = _norms(weights @ v @ w_o)[..., None]
            You divided by the length of the sum. Vectors may cancel in it; the exercise asks for
            the sum of the lengths.
        total = pieces.sum(axis=-1, keepdims=True) → total = pieces.max(axis=-1, keepdims=True)
            You divided by the largest of the row, so that it becomes 1; divide by the sum.
        total = pieces.sum(axis=-1, keepdims=True) → total = pieces.sum(axis=-2, keepdims=True)
            You divided by the sums of the columns: the shares of a row add up to 1, not those of a
            key.
        pieces.sum(axis=-1, keepdims=True) → pieces.sum(axis=(-1, -2), keepdims=True)
            You divided by the sum of the whole table; each row has its own.
        total = pieces.sum(axis=-1, keepdims=True) → total = pieces.sum()
            You divided by the sum of everything; each row has its own.
        total = pieces.sum(axis=-1, keepdims=True) → total = _norms(pieces)[..., None]
            You divided by the root of the sum of squares: divide by the sum of the lengths.
        pieces / np.where(total > 0, total, 1) → pieces / total
            A row to which nothing comes is 0/0; its shares are 0.
        pieces / np.where(total > 0, total, 1) → np.where(total > 0, pieces / total, 1 / len(v.mT))
            You shared a row to which nothing comes out evenly; its shares are 0.
        pieces / np.where(total > 0, total, 1) → pieces / (total + 1e-9)
            Something small was added to the sum. Values may be as small as 10⁻⁶, and then it
            counts: treat a sum of 0 by itself.
        pieces / np.where(total > 0, total, 1) → pieces / (total + 1e-12)
            Something small was added to the sum, as little as 10⁻¹², and it is still seen where
            values are small: treat a sum of 0 by itself.
        pieces / np.where(total > 0, total, 1) → np.where(total > 1e-12, pieces / total, 0)
            You took small sums for 0. Values may be as small as 10⁻⁶, and weights as small as 10⁻⁹.
        np.where(total > 0, total, 1) → np.maximum(total, 1e-8)
            You let no sum be smaller than some bound; where weights and values are small, sums are,
            too.
        pieces / np.where(total > 0, total, 1) → _softmax(pieces)
            You took a softmax of the lengths; shares are lengths, divided by their sum.
        _norms(v @ w_o) → (v @ w_o).sum(axis=-1)
            You added up the numbers of a vector. Its length is the root of the sum of the squares.
        _norms(v @ w_o) → abs(v @ w_o).sum(axis=-1)
            You added up the sizes of the numbers of a vector. Its length is the root of the sum of
            the squares.
        _norms(v @ w_o) → abs(v @ w_o).max(axis=-1)
            You took the largest number of a vector for its length.
        _norms(v @ w_o) → ((v @ w_o) ** 2).sum(axis=-1)
            Those are squares of the lengths; the root is missing.
        pieces = weights * lengths[..., None, :] → pieces = (weights * lengths[..., None, :]) ** 2
            You squared the lengths of the parts, so that long ones count more.
        weights * lengths[..., None, :] → weights * lengths[..., :, None]
            The lengths stand along the rows, and belong to the keys, along the columns.
        _norms(v @ w_o) → np.linalg.norm(v @ w_o)
            One length was taken of all values together; each key has its own.
        _norms(v @ w_o) → _shares(_norms(v @ w_o))
        pieces / np.where(total > 0, total, 1) → pieces
            You made shares of the lengths before the weights came; the products have to be divided
            by their sum.
        pieces / np.where(total > 0, total, 1) → np.where(total > 0, pieces / total, weights)
            Where nothing comes you let the weights stand; the shares are 0.
        pieces / np.where(total > 0, total, 1) → $ * (total > 0).all()
            You returned 0 for the whole table because one row is 0; each row is treated by
            itself.
        pieces / np.where(total > 0, total, 1) → np.where(total > 0, $, 1 / pieces.shape[-1])
            Where all lengths of a row are 0 you made its shares equal; they are 0.
        lengths = _norms(v @ w_o) → lengths = _norms(v @ w_o).astype(np.float16).astype(float)
            The lengths went through float16, which holds three digits.
        pieces / np.where(total > 0, total, 1) → pieces / (total + 1e-8)
            You added 10⁻⁸ to the sum, and sums may be smaller. Treat a sum of 0 by itself.
        v @ w_o → v @ (w_o.mT if w_o.shape[0] == w_o.shape[1] else w_o)
            You transposed W_O. Values are rows: multiply them by W_O as it is.
        _norms(v @ w_o) → (v @ w_o).max(axis=-1)
            You took the largest number of a vector, with its sign. Take the vector's length.
    """,
    mutants={
        "You took how far each part goes along the sum of all. The exercise asks for lengths, "
        "whatever the direction.": lambda weights, v, w_o: _projected(weights, v @ w_o),
        "The lengths were not given an axis for the queries, so that those of one entry of a stack "
        "serve another.": lambda weights, v, w_o: _shares(weights * _norms(v @ w_o)),
    },
    otherwise="Each weight times the length of its value after W_O, divided by the row's sum.",
)
def brought(weights: Array, v: Array, w_o: Array) -> Array:
    """The share of each key in what the head adds."""
    lengths = _norms(v @ w_o)
    pieces = weights * lengths[..., None, :]
    total = pieces.sum(axis=-1, keepdims=True)
    return pieces / np.where(total > 0, total, 1)
