"""Exercises 12.1, 12.3, 12.4 and 12.5: what the parts of a model pass back."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import fractions, promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _linear_steps() -> Iterator[Case]:
    one = "One word: dx = dy wᵀ, and dw has x down its rows, times dy."
    want = ([[5, 11]], [[2, 4], [6, 12]], [1, 2])
    yield case(x=[[2, 6]], w=[[1, 2], [3, 4]], dy=[[1, 2]], want=want, why=one)
    for n, d, m in ((2, 1, 1), (2, 2, 2), (3, 2, 4), (5, 4, 1), (4, 4, 4)):
        why = "Each word uses matrix and bias once, and the gradients of uses add up."
        given = integers(n, (n, d)), integers(d, (d, m)), integers(m + 9, (n, m))
        yield case(x=given[0], w=given[1], dy=given[2], why=why)
    yield from promised(whole, fractions, x=given[0], w=given[1], dy=given[2])


@exercise(
    "12.1",
    praise="One word and several, square matrices and others.",
    hints=(
        "Each result has the shape of what it belongs to: which product has that shape?",
        "dx is dy times the transposed matrix. What is summed over in dw?",
        "dw = xᵀ dy sums over the words, and so does db, of dy alone.",
    ),
    cases=_linear_steps,
    otherwise="Every word uses the matrix and the bias, so their gradients are sums over words.",
    kind=Several(names=("dx", "dw", "db")),
    slips="""
        dy @ w.T, x.T @ dy, dy.sum(axis=0) → x.T @ dy, dy @ w.T, dy.sum(axis=0)
            The first two stand in the wrong order: dx comes first.
        dy.sum(axis=0) → dy.mean(axis=0)
            The bias got a mean over the words; each word uses it once, and uses add up.
        dy.sum(axis=0) → dy[0]
            The bias got the gradient of the first word only.
        dy.sum(axis=0) → dy.sum(axis=1)
            The bias was summed over the coordinates; it has one number for each of them.
        dy.sum(axis=0) → dy
            The bias is one row, used by every word: its gradients add up.
        x.T @ dy → x.T @ dy / len(x)
            The matrix got a mean over the words; uses add up.
        x.T @ dy → np.outer(x[0], dy[0])
            The matrix got the part of the first word only.
        dy @ w.T → dy @ np.linalg.pinv(w)
            You inverted the matrix; going back is not going forward the other way round.
        dy @ w.T → dy @ (w if w.shape[0] == w.shape[1] else w.T)
            The matrix has to be turned over on the way back: what came along its rows returns to
            them.
        dy.sum(axis=0) → np.full(w.shape[1], float(len(x)))
            Each word counts as 1; what comes back to the bias is dy.
    """,
)
def linear_back(x: Array, w: Array, dy: Array) -> tuple[Array, Array, Array]:
    """Gradients of vectors, matrix and bias."""
    return dy @ w.T, x.T @ dy, dy.sum(axis=0)


def _rows_of_logits() -> Iterator[Case]:
    even = "Equal logits predict 1/2 each; the mean over two rows halves what goes back."
    yield case(
        z=[[0, 0], [0, 0]], words=np.array([0, 1]), want=[[-0.25, 0.25], [0.25, -0.25]], why=even
    )
    sure = "A single row: what was predicted, less 1 at the word that came."
    yield case(z=[[0, np.log(3)]], words=np.array([1]), want=[[0.25, -0.25]], why=sure)
    for n, size in ((1, 5), (3, 4), (6, 2), (4, 30)):
        words = np.random.default_rng(n).integers(0, size, n)
        yield case(z=integers(n, (n, size)), words=words)
    far = np.array([[1000.0, 1001.0, 999.0], [0.0, 1.0, 2.0]])
    yield case(z=far, words=np.array([2, 1]), why="Large logits must not overflow.")
    far = np.array([[1000.0, 999.0, 998.0], [-1000.0, -999.0, -998.0], [0.0, 1.0, 3.0]])
    why = "Each row has a largest logit of its own: these lie 2000 apart."
    yield case(z=far, words=np.array([2, 0, 1]), why=why)


@exercise(
    "12.3",
    praise="Few words and many, sure rows, even ones and large logits.",
    hints=(
        "What does a single row pass back? See what was predicted and what came.",
        "What softmax predicts, less 1 at the word that came; mind large logits.",
        "The loss is a mean over n rows: each row passes back 1/n of it.",
    ),
    cases=_rows_of_logits,
    otherwise="Each row is the softmax, less 1 at its own word, divided by the number of rows.",
    slips="""
        (p - came) → (p - came) * p * (1 - p)
            The softmax was gone through twice: p, less 1 at the word that came, has it already.
        (p - came) / len(z) → p - came
            The loss is a mean over the rows; each row passes back one n-th.
        (p - came) / len(z) → (came - p) / len(z)
            The sign is turned: this leads uphill.
        (p - came) / len(z) → p / len(z)
            What came is not taken off.
        np.arange(z.shape[1]) == words[:, None] → np.isin(np.arange(z.shape[1]), words)
            The words of all rows were taken off in each row; each has one word that came.
        (p - came) / len(z) → -came / p / len(z)
            That is the gradient by the probabilities; the logits are one step further.
        (p - came) / len(z) → (p - came) / z.size
            It is divided by the number of logits; the mean runs over the rows.
        (p - came) / len(z) → (p - came) * p / len(z)
            The softmax was passed twice: p − e holds for the logits already.
        np.exp(z - z.max(axis=1, keepdims=True)) → np.exp(z - z.max())
            One number is taken off all rows: rows far below become zeros over zeros.
        np.exp(z - z.max(axis=1, keepdims=True)) → np.exp(z - z.max(axis=1).mean())
            A mean of the rows' largest logits is taken off: rows far above it overflow.
        e.sum(axis=1, keepdims=True) → e.sum()
            The probabilities of all rows together add up to 1; each row should.
        z - z.max(axis=1, keepdims=True) → z - z.max(axis=0, keepdims=True)
        e.sum(axis=1, keepdims=True) → e.sum(axis=0, keepdims=True)
            The softmax runs down the columns; each row of logits has its own.
    """,
)
def loss_back(z: Array, words: Array) -> Array:
    """Gradient of the mean cross-entropy by the logits."""
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    came = np.arange(z.shape[1]) == words[:, None]
    return (p - came) / len(z)


def _attentions() -> Iterator[Case]:
    one = "With a single key its weight is 1 whatever the score: only the value learns."
    want = ([[0, 0]], [[0, 0]], [[3, 5]])
    yield case(q=[[1, 2]], k=[[3, 4]], v=[[1, 1]], dy=[[3, 5]], want=want, why=one)
    two = "Both keys are 0: weights 1/2, and a change of the query moves no score."
    halves = ([[0.0]], [[-0.5], [0.5]], [[1.0], [1.0]])
    yield case(q=[[1]], k=[[0], [0]], v=[[0], [1]], dy=[[2]], want=halves, why=two)
    for t, s, d in ((2, 3, 2), (3, 3, 4), (4, 2, 9), (1, 5, 2), (4, 4, 3)):
        given = [integers(t, (t, d)), integers(s + 5, (s, d)), integers(s + 9, (s, d + 1))]
        yield case(q=given[0], k=given[1], v=given[2], dy=integers(t + 20, (t, d + 1)))
    k, v, dy = [[1], [0.999], [0.998]], [[3, 1], [0, 2], [1, 5]], [[1, 2], [4, -1], [2, 3]]
    for size in (1000, -1000):
        why = f"All scores lie near {size}. Softmax depends on their differences alone."
        yield case(q=[[size], [0.999 * size], [0.998 * size]], k=k, v=v, dy=dy, why=why)
    far = "The scores lie near 1000, near −1000 and near 1: each row has its own largest."
    yield case(q=[[1000], [-1000], [1]], k=k, v=v, dy=dy, why=far)
    given = [integers(1, (2, 3)), integers(2, (4, 3)), integers(3, (4, 2))]
    yield from promised(whole, q=given[0], k=given[1], v=given[2], dy=integers(4, (2, 2)))


def _below(level: Array, s: Array) -> Array:
    """A softmax with one number taken off all scores."""
    e = np.exp(s - level)
    return np.asarray(e / e.sum(axis=1, keepdims=True))


def _below_a_mean(s: Array) -> Array:
    return _below(s.max(axis=1).mean(), s)


@exercise(
    "12.4",
    praise="One key and several, more queries than keys and fewer, and scores of a thousand.",
    hints=(
        "Go there first and keep the weights; then take the steps in the opposite order.",
        "Values: Aᵀ dY. Weights: dA = dY Vᵀ. Scores: A ⊙ (dA − the row's mean of dA by A).",
        "Queries: dS K, keys: dSᵀ Q, both divided by √d_k once more.",
    ),
    cases=_attentions,
    otherwise="Go back step by step: values, weights, softmax, scores, then queries and keys.",
    kind=Several(names=("dq", "dk", "dv")),
    slips="""
        a * (da - (a * da).sum(axis=1, keepdims=True)) → a * da
            Softmax's −pᵀ p is forgotten: what one weight gains the others lose.
        a * (da - (a * da).sum(axis=1, keepdims=True)) → a * (1 - a) * da
            That is the diagonal of softmax's Jacobian alone: a score moves all weights of its row.
        a * (da - (a * da).sum(axis=1, keepdims=True)) → da
            The softmax is forgotten.
        (a * da).sum(axis=1, keepdims=True) → (a * da).sum(axis=0, keepdims=True)
            The sum runs over the queries; a row of weights belongs to one query.
        (a * da).sum(axis=1, keepdims=True) → (a * da).sum()
            The sum runs over the whole table; each row of weights has one of its own.
        (a * da).sum(axis=1, keepdims=True) → da.mean(axis=1, keepdims=True)
            The mean of dA must be weighted by A.
        ds @ k / root, ds.T @ q / root → ds @ k, ds.T @ q
            The scale is forgotten in the backward pass: the scores were divided by √d_k.
        ds @ k / root, ds.T @ q / root → ds @ k / root**2, ds.T @ q / root**2
            The scale is applied twice: once in the forward pass is once in the backward pass.
        ds @ k / root, ds.T @ q / root → ds @ k / root, ds.T @ q
            The keys miss the scale.
        ds @ k / root, ds.T @ q / root → ds @ k, ds.T @ q / root
            The queries miss the scale.
        a.T @ dy → a.T @ dy / len(q)
            The values got a mean over the queries; uses add up.
        ds @ k / root, ds.T @ q / root → ds.T @ q / root, ds @ k / root
            Queries and keys are exchanged: dq comes first, and has as many rows as q.
        root = np.sqrt(q.shape[1]) → root = np.sqrt(v.shape[1])
            The scores are divided by the root of the width of the keys, not of the values.
        q @ k.T / root → np.where(np.tri(len(q), len(k)) > 0, q @ k.T / root, -np.inf)
            You hid later keys; here every query attends to all keys.
        q @ k.T / root → q @ k.T
            The forward pass misses the scale, so the weights are others.
        ds.T @ q / root → ds @ q / root
            For the keys the table of scores is transposed: its columns belong to them.
        ds.T @ q / root → (ds if len(q) == len(k) else ds.T) @ q / root
            With as many keys as queries both products fit; the keys still need the transposed.
        a.T @ dy → a @ dy
            For the values the weights are transposed: a value gathers from all that attended to it.
        ds @ k / root, ds.T @ q / root, a.T @ dy → a.T @ dy, ds.T @ q / root, ds @ k / root
            They stand in reverse order: dq comes first, dv last.
        reference.softmax(q @ k.T / root) → _below(np.array(0.0), q @ k.T / root)
            The exponential of a large score overflows, and all of a row's may be 0: take the
            largest score of each row off before.
        reference.softmax(q @ k.T / root) → _below((q @ k.T / root).max(), q @ k.T / root)
            One number is taken off the scores of all rows: rows far below are left with 0/0.
        reference.softmax(q @ k.T / root) → _below_a_mean(q @ k.T / root)
            A mean of the rows' largest scores is taken off: rows far above it overflow.
        np.sqrt(q.shape[1]) → np.sqrt(len(k))
            The scores were divided by the root of the number of keys, not of their width.
        a.T @ dy → (a if len(q) == len(k) else a.T) @ dy
            With as many keys as queries both a and its transpose fit; dv needs the transpose.
        q @ k.T / root → np.clip(q @ k.T / root, -50, 50)
            Scores that are cut off at a bound lose their differences, and only these count.
    """,
)
def attention_back(q: Array, k: Array, v: Array, dy: Array) -> tuple[Array, Array, Array]:
    """Gradients of queries, keys and values."""
    root = np.sqrt(q.shape[1])
    a = reference.softmax(q @ k.T / root)
    da = dy @ v.T
    ds = a * (da - (a * da).sum(axis=1, keepdims=True))
    return ds @ k / root, ds.T @ q / root, a.T @ dy


def _tables_of_words() -> Iterator[Case]:
    twice = (
        "Word 1 was read twice and gathers both gradients; word 2 was not, and the head uses it."
    )
    yield case(
        tokens=np.array([1, 1]),
        dx=[[1], [2]],
        x=[[1], [1]],
        dz=[[0, 0, 4], [0, 0, 1]],
        want=[[0], [3], [5]],
        why=twice,
    )
    for n, size, d in ((1, 3, 2), (4, 3, 2), (6, 9, 3), (5, 2, 4)):
        tokens = np.random.default_rng(n).integers(0, size, n)
        given = integers(n, (n, d)), integers(n + 7, (n, d)), integers(n + 3, (n, size))
        yield case(tokens=tokens, dx=given[0], x=given[1], dz=given[2])
    yield from promised(whole, fractions, tokens=tokens, dx=given[0], x=given[1], dz=given[2])


@exercise(
    "12.5",
    praise="Words that occur twice, once and never.",
    hints=(
        "The table is used twice, as lookup and as head: find both parts, and add.",
        "The head is a linear step with the transposed table: z = x Eᵀ.",
        "Lookup: row w gathers dx of every place with word w (np.add.at). Head: dzᵀ x.",
    ),
    cases=_tables_of_words,
    otherwise="The table is used twice, and its gradient is the sum over both uses.",
    slips="""
        table + dz.T @ x → table
            Only the lookup is counted; the head uses the table as well.
        table + dz.T @ x → dz.T @ x
            Only the head is counted; the words were looked up as well.
        table + dz.T @ x → table + dz.T @ x * np.isin(range(len(table)), tokens)[:, None]
            The head uses the vectors of all words, also of those that were not read.
        table + dz.T @ x → table + dz.T @ x / len(x)
            The head's part became a mean over the places; uses add up.
        np.add.at(table, tokens, dx) → np.add.at(table, tokens, x)
            The lookup passes back gradients, dx, and not the vectors.
        table + dz.T @ x → (table + dz.T @ x) / 2
            A mean was taken; uses add up.
        np.add.at(table, tokens, dx) → table[tokens] = dx
            A word that occurs twice keeps its last gradient only, with `=` and with `+=`.
        return table + dz.T @ x → back = dz.T @ x; back[tokens] = dx; return back
            The lookup's part has replaced that of the head; the two add up.
        dz.T @ x → dz.T @ dx
            The head was given the vectors x, not their gradients.
        table + dz.T @ x → table - dz.T @ x
            The parts are subtracted; uses add up.
        np.zeros((dz.shape[1], dx.shape[1])) → np.zeros((max(tokens) + 1, dx.shape[1]))
        return table + dz.T @ x → return table + (dz.T @ x)[: len(table)]
            The table was made for the words that were read; it has a row for each word that has a
            logit.
        np.add.at(table, tokens, dx) → times = (tokens == tokens[:, None]).sum(axis=1); $
        tokens, dx) → tokens, dx / times[:, None])
            The gradients of a word that was read several times were averaged; they add up.
    """,
)
def table_back(tokens: Array, dx: Array, x: Array, dz: Array) -> Array:
    """Gradient of a tied table of words."""
    table = np.zeros((dz.shape[1], dx.shape[1]))
    np.add.at(table, tokens, dx)
    return table + dz.T @ x
