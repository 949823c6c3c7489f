"""Exercises 3.11 to 3.13: a layer that looks words up, a sentence read back, a table in strips."""

from __future__ import annotations

import numpy as np

from tformer import reference
from tformer.exercises import say
from tformer.exercises.answer import Answer, Wrong
from tformer.exercises.kinds import parts
from tformer.exercises.registry import exercise
from tformer.exercises.samples import integers
from tformer.exercises.scales import wrong_scales


@exercise(
    "3.11",
    praise="In every sentence each word gives at least 0.999 of its weight to the word it looks "
    "for, with keys of width two, for up to twelve words.",
    hints=(
        "Give every word a point in the plane as its key, and let each word's query be the point "
        "of the word it looks for. Which points make each key the best match for itself?",
        "On a circle all keys have the same length, so a query prefers the key of its own "
        "direction. The lead over the neighbour may be small.",
        "Make the queries longer until the lead is large: with twelve words on the circle, a lead "
        "of 10 in the scaled scores is reached well before a length of 200.",
    ),
)
def lookup_layer(f: Answer) -> None:
    """W_Q, W_K of width two by which word i looks at word partner[i]."""
    for seed, words in enumerate([[1, 2, 0], [1, 2, 0], [1, 0], [0, 0, 0], [3, 3, 1, 0]]):
        _judge_lookup_layer(f, np.array(words), seed)
    rng = np.random.default_rng(5)
    for seed, n in enumerate([5, 7, 12]):
        _judge_lookup_layer(f, rng.integers(0, n, n), seed)


def _judge_lookup_layer(f: Answer, partner: np.ndarray, seed: int) -> None:
    n = len(partner)
    said = f.said(partner=partner)
    value = f.raw(said, partner=partner).value
    w_q, w_k = parts(f, value, said, ("w_q", "w_k"))
    for part, name in (w_q, "w_q"), (w_k, "w_k"):
        if part.shape != (n, 2):
            side = " It lies on its side." * (part.shape == (2, n))
            raise Wrong(f"With {said}, {name} has shape {part.shape}; it should be {(n, 2)}.{side}")
        if not np.isfinite(part).all():
            raise Wrong(f"With {said}, {name} holds numbers that are not finite.")
    whole, rng = np.arange(n), np.random.default_rng(seed)
    for sentence in [whole, whole[::-1], *rng.integers(0, n, (5, 2 * n))]:
        _judge_looks(f, said, partner, sentence, w_q.astype(float), w_k.astype(float))


def _judge_looks(
    f: Answer,
    said: str,
    partner: np.ndarray,
    sentence: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
) -> None:
    """Each word of the sentence whose partner is in it should look there, and nowhere else."""
    weights = reference.attention_weights(w_q[sentence], w_k[sentence])
    if np.isnan(weights).any():
        raise Wrong(f"With {said}, the scores are too large for a float64. Make w_q smaller.")
    for word, row in zip(sentence.tolist(), weights, strict=True):
        shares = np.bincount(sentence, row, len(partner))
        wanted, found = int(partner[word]), int(shares.argmax())
        if wanted not in sentence or shares[wanted] >= 0.999:
            continue
        head = (
            f"With {said} and the sentence {say.show(sentence)}, word {word} gives word {wanted} "
            f"a weight of {say.pair(shares[wanted], 0.999)[0]}; at least 0.999 is asked for."
        )
        if found == wanted and shares[found] > np.sort(shares)[:-1].max() + 1e-9:
            raise Wrong(f"{head} It looks at the right word, with too small a lead over the rest.")
        raise Wrong(f"{head} {_where_it_looks(partner, word, found, shares, w_q, w_k)}")


def _where_it_looks(
    partner: np.ndarray,
    word: int,
    found: int,
    shares: np.ndarray,
    w_q: np.ndarray,
    w_k: np.ndarray,
) -> str:
    best = (w_q @ w_k.T).argmax(axis=-1)
    same = np.flatnonzero(np.isclose(w_k, w_k[found], rtol=1e-12).all(axis=-1)).tolist()
    if partner[word] in same and len(same) > 1:
        return f"Words {same[0]} and {same[1]} have the same key, so no query can tell them apart."
    if shares[found] < np.sort(shares)[-2] + 1e-9:
        return "Several words get the same weight."
    if (best == np.arange(len(best))).all():
        return "Every word looks at itself. Where does the query learn about the partner?"
    if len(set(partner.tolist())) == len(partner) and (best[partner] == np.arange(len(best))).all():
        return (
            "Each word looks at the word whose partner it is, as if the roles of queries and keys "
            "were exchanged."
        )
    if (best == best[0]).all() and reference.norm(w_k).argmax() == best[0]:
        return f"Every word looks at word {best[0]}, which has the longest key."
    return f"Word {found} gets {say.show(shares[found])}, the largest."


@exercise(
    "3.12",
    praise="Every sentence was read back from its mixed rows, with words that repeat, long "
    "embeddings beside short ones, and weights that spread over the whole past.",
    hints=(
        "The rows of y are mixtures, and you are given the weights of each mixture. Which equation "
        "ties y, the weights and the unmixed rows together?",
        "A triangular table with a positive diagonal can be inverted: the first word is not mixed "
        "at all, the second only with the first, and so on.",
        "Once the rows are unmixed, each equals a row of the table, up to rounding. Find the "
        "nearest by distance; a dot product would prefer long embeddings.",
    ),
)
def recover(f: Answer) -> None:
    """The words behind the outputs of causal attention."""
    table = np.array([[1.0, 1], [2, 0], [0, 2], [5, 5]])
    for words, weights in [
        ([2], [[1]]),
        ([1, 2], [[1, 0], [0.8, 0.2]]),
        ([2, 1, 0], [[1, 0, 0], [0.5, 0.5, 0], [0.25, 0.25, 0.5]]),
        ([0, 3], [[1, 0], [0.2, 0.8]]),
    ]:
        _check_recovery(f, np.array(words), np.array(weights, dtype=float), table)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n, d = 4 + seed, 2 + seed % 3
        table = rng.normal(size=(12, d)) * rng.uniform(0.5, 4, (12, 1))
        q, k = rng.normal(size=(2, n, 2))
        weights = reference.attention_weights(q, k, mask=np.tri(n, dtype=bool))
        _check_recovery(f, rng.integers(0, 12, n), weights, table)


def _check_recovery(f: Answer, words: np.ndarray, a: np.ndarray, table: np.ndarray) -> None:
    y = a @ table[words]
    why = "There is a word for each row of y, and a times their embeddings should give y."
    mistakes = _wrong_words(a, y, table) | {
        "Those are the embeddings; their places in the table are asked for.": table[words],
        "Those are rows of zeros with a one; the place of the one is asked for.": (
            np.eye(len(table))[words]
        ),
    }
    f.expect(words, mistakes, why, a=a, y=y, table=table)


def _wrong_words(a: np.ndarray, y: np.ndarray, table: np.ndarray) -> dict[str, np.ndarray]:
    def nearest(rows: np.ndarray) -> np.ndarray:
        return ((rows[:, np.newaxis] - table) ** 2).sum(axis=-1).argmin(axis=-1)

    dots = np.linalg.solve(a, y) @ table.T
    return {
        "You looked for the embedding nearest to each row of y, which is a mixture. Undo the "
        "mixing first.": nearest(y),
        "The largest dot product goes to a long embedding. Look for the nearest one.": (
            dots.argmax(axis=-1)
        ),
        "Embeddings 0 and 3 have the same direction, and the same cosine with every row. Look for "
        "the nearest one.": (dots / reference.norm(table)).round(9).argmax(axis=-1),
        "The weights were used on their side: row t of a mixed the words into row t of y.": (
            nearest(np.linalg.solve(a.T, y))
        ),
        "You divided each row by its own weight; the words before it are still in it.": (
            nearest(y / np.diag(a)[:, np.newaxis])
        ),
        "One over each entry is not the inverse of a table: `a**-1` is taken entry by entry.": (
            nearest((1 / a) @ y)
        ),
    }


@exercise(
    "3.13",
    praise="The same numbers as from the whole table, for 1 to 257 queries, for rows of scores far "
    "apart, and with memory for a small part of the table only.",
    hints=(
        "A row of the output needs only its own row of scores. So the rows can be computed a few "
        "at a time.",
        "Take a strip of, say, 64 queries, compute its outputs, and write them into their place. "
        "The last strip may be shorter.",
        "Slices that run past the end are cut by NumPy, so `q[start : start + 64]` is right for "
        "the last strip too. The softmax is that of the definition, row by row.",
    ),
)
def attention_in_strips(f: Answer) -> None:
    """Attention without the whole table of weights."""
    q, k, v = np.ones((1, 1)), np.log([[1.0], [2.0], [3.0]]), np.array([[6.0, 0], [0, 6], [6, 6]])
    none = {
        "Nothing was computed. Fewer queries than fill a strip still need one.": np.zeros((1, 2))
    }
    f.expect([[4.0, 5]], none | _wrong_strips(q, k, v), q=q, k=k, v=v)
    apart = np.array([[1000.0], [0]])
    far = (
        "The scores of the two rows are 1000 apart, and exp(−1000) is 0. Each row needs a maximum "
        "of its own."
    )
    over = {"exp(1000) is more than a float64 can hold.": [[np.nan], [1.0]]}
    ones = np.ones((2, 1))
    f.expect([[1.0], [1.0]], over, far, q=apart, k=ones, v=ones)
    for n in (2, 3, 7, 64, 65, 100, 130, 257):
        q, k, v = (
            integers(n, (n, 4)),
            integers(n + 1, (n // 2 + 2, 4)),
            integers(n + 2, (n // 2 + 2, 2)),
        )
        _check_rows(f, q, k, v)
    _check_memory(f)


def _check_rows(f: Answer, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    want = reference.attention(q, k, v)
    said = f"{len(q)} queries, {len(k)} keys" if q.size > say.FEW else f.said(q=q, k=k, v=v)
    got = f.array(said, q=q, k=k, v=v)
    f.judge(got, want, _wrong_strips(q, k, v), _which_rows(got, want), said)


def _wrong_strips(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> dict[str, np.ndarray]:
    scores = q @ k.T / q.shape[-1] ** 0.5
    return {
        why: reference.attention(q, k, v, scale=scale) for why, scale in wrong_scales(q, k).items()
    } | {
        "The softmax runs down the columns; each query needs weights that add up to one.": (
            reference.softmax(scores, axis=0) @ v
        ),
        "The numbers are cut to whole ones. Of which type is the array that you write into?": (
            np.trunc(reference.attention(q, k, v))
        ),
    }


def _which_rows(got: np.ndarray, want: np.ndarray) -> str:
    """Say which rows of an answer are right, if only these can be."""
    if got.ndim == 2 and len(got) < len(want) and got.shape[1] == want.shape[1]:
        if np.allclose(got, want[: len(got)]):
            return "The last rows are missing: what becomes of the last strip?"
        if np.allclose(got, want[-len(got) :]):
            return "Only the last strip is there: what becomes of those before it?"
    if got.shape == want.shape:
        right = np.isclose(got, want, atol=1e-8).all(axis=-1)
        first = int(right.argmin())
        if first > 3 and not right[first:].any():
            return f"All rows before row {first} are right: what becomes of the rest?"
    return "Compare with the definition, row by row."


def _check_memory(f: Answer) -> None:
    n = 1500
    q, k, v = integers(1, (n, 2)), integers(2, (n, 2)), integers(3, (n, 2))
    peak = f.peak_bytes(said=f"{n} queries and keys", q=q, k=k, v=v)
    if peak > 6e6:
        raise Wrong(
            f"The numbers are right, but for {n} queries and {n} keys {f.name} holds "
            f"{peak / 1e6:.0f} MB at once, and one table of weights takes {8 * n * n / 1e6:.0f} "
            "MB. Keep a few rows of it at a time."
        )
