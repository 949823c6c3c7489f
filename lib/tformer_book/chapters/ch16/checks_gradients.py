"""Exercise 16.6: what one block of keys adds to the gradients."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer import reference
from tformer_book.exercises.kinds import Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray


def _whole(q: Array, k: Array, v: Array, u: Array) -> tuple[Array, Array]:
    """What is kept of the way there: λ and δ of each row."""
    mask = reference.causal_mask(len(q), len(k))
    scores = np.where(mask, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
    y = reference.attention(q, k, v, mask)
    return reference.logsumexp(scores), (u * y).sum(axis=-1)


def _softmax(scores: Array) -> Array:
    terms = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=1, keepdims=True))


def _ways() -> Iterator[Case]:
    log3 = float(np.log(3))
    q, k = np.array([[0.0, 0, 0, 0], [2, 0, 0, 0]]), np.array([[log3, 0, 0, 0], [0, 2, 0, 0]])
    v, u = np.array([[4.0], [8]]), np.array([[5.0], [1]])
    lam, delta = _whole(q, k, v, u)  # (0, ln 4) and (20, 5)
    inputs: dict[str, Any] = {"q": q, "u": u, "lam": lam, "delta": delta}
    why = (
        "Row 1 gives its two keys the weights 3/4 and 1/4. Of key 1 its gradient is "
        "1/4 · (1 · 8 − 5) = 3/4; row 0 does not attend to it."
    )
    want = (np.array([[0.0, 0, 0, 0], [0, 0.75, 0, 0]]), np.array([[0.75, 0, 0, 0]]), [[0.25]])
    last: dict[str, Any] = {"q": q, "k": k[1:], "v": v[1:], "u": u, "lam": lam, "delta": delta}
    yield case(**last, start=1, want=want, why=why)
    why = "Row 0 attends to key 0 alone, and row 1 gives it 3/4: its gradient is 3/4 · (1 · 4 − 5)."
    want = (
        np.array([[0.0, 0, 0, 0], [-0.375 * log3, 0, 0, 0]]),
        np.array([[-0.75, 0, 0, 0]]),
        [[5.75]],
    )
    one: dict[str, Any] = {"q": q, "k": k[:1], "v": v[:1], "u": u, "lam": lam, "delta": delta}
    yield case(**one, start=0, want=want, why=why)
    both: dict[str, Any] = {
        "q": q,
        "k": k,
        "v": v,
        **{name: inputs[name] for name in ("u", "lam", "delta")},
    }
    yield case(**both, start=0, why="The whole text in one block.")
    for seed, (T, d_k, d_v) in enumerate(((4, 3, 2), (7, 2, 5), (6, 5, 3), (9, 4, 1))):
        rng = np.random.default_rng(seed)
        q, k = rng.normal(0, 1.5, (2, T, d_k))
        v, u = rng.normal(size=(2, T, d_v))
        lam, delta = _whole(q, k, v, u)
        at_once = reference.blockwise_attention_vjp(q, k, v, u, causal=True)[:3]
        everything: dict[str, Any] = {"q": q, "k": k, "v": v, "u": u, "lam": lam, "delta": delta}
        yield case(**everything, start=0, want=at_once, why="The whole text in one block.")
        for first, end in ((0, T // 2), (1, 3), (T // 2, T), (T - 1, T)):
            why = f"{end - first} keys from position {first} on, of {T}."
            block = everything | {"k": k[first:end], "v": v[first:end]}
            yield case(**block, start=first, why=why)
    few: dict[str, Any] = {"q": np.ones((1, 1)), "k": np.ones((1, 1)), "v": np.array([[7.0]])}
    row: dict[str, Any] = {
        "u": np.array([[3.0]]),
        "lam": np.array([1.0]),
        "delta": np.array([21.0]),
    }
    why = "One word attends to itself with the weight 1: nothing can shift."
    yield case(**few, **row, start=0, want=([[0.0]], [[0.0]], [[3.0]]), why=why)
    q, k = np.array([[100.0], [0.0], [1.0]]), np.array([[1.0], [100.0], [3.0]])
    v, u = np.array([[1.0, 2], [3, 4], [5, 6]]), np.array([[1.0, 1], [2, 1], [1, 3]])
    lam, delta = _whole(q, k, v, u)
    far: dict[str, Any] = {"q": q, "k": k[1:], "v": v[1:], "u": u, "lam": lam, "delta": delta}
    why = "Row 0 has the score 10,000 with key 1, which comes later: its weight is 0, not e^9900."
    yield case(**far, start=1, why=why)
    yield case(**(far | {"k": k[1:2], "v": v[1:2]}), start=1, why=why)
    why = "Scores and λ are near 10,000 and −10,000: only their difference has an exponential."
    q, k = np.array([[-100.0], [100.0], [99.0]]), np.array([[99.99], [100.0], [99.98]])
    lam, delta = _whole(q, k, v, u)
    high: dict[str, Any] = {"q": q, "k": k, "v": v, "u": u, "lam": lam, "delta": delta}
    yield case(**high, start=0, why=why)
    yield case(**(high | {"k": k[:2], "v": v[:2]}), start=0, why=why)
    yield from promised(
        single,
        q=integers(1, (3, 4)),
        k=integers(2, (2, 4)),
        v=integers(3, (2, 2)),
        u=integers(4, (3, 2)),
        lam=np.array([3.0, 4, 5]),
        delta=np.array([1.0, 0, -2]),
        start=1,
    )
    some: dict[str, Any] = {"q": integers(1, (3, 2)), "k": integers(2, (2, 2))}
    some |= {"v": integers(3, (2, 2)), "u": integers(4, (3, 2))}
    yield from promised(whole, **some, lam=np.array([2.0, 1, 3]), delta=integers(5, (3,)), start=1)


@exercise(
    "16.6",
    praise="Blocks at the beginning, in the middle and at the end, the whole text, and later "
    "scores far above λ.",
    hints=(
        "First compute the block's weights again, from its scores and λ. Which rows have none?",
        "The gradient of a score is its weight times (u · v − δ), and this holds for each score by "
        "itself.",
        "Set scores of later keys to −∞ before the exponential. The gradient of a scaled score "
        "goes to query and key through the factor 1/√d_k; values get weights times u.",
    ),
    cases=_ways,
    kind=Several(names=("gradient of queries", "gradient of keys", "gradient of values")),
    slips="""
        u @ v.T - delta[:, None] → u @ v.T
            δ is not subtracted: a larger weight of one key makes those of all others smaller.
        p * (u @ v.T - delta[:, None]) → p * (u @ v.T) - delta[:, None]
            δ stands in the bracket: it is subtracted from u · v, and the weight multiplies both.
        u @ v.T - delta[:, None] → u @ v.T - delta
            δ belongs to rows; as (T,) it is laid along the keys. It needs a second axis.
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores - lam)
            λ belongs to rows; as (T,) it is laid along the keys. It needs a second axis.
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores - lam)
        u @ v.T - delta[:, None] → u @ v.T - delta
            λ and δ belong to rows; as (T,) they are laid along the keys. They need a second axis.
        u @ v.T - delta[:, None] → u @ v.T + delta[:, None]
            δ is added; what a key gains is measured from the mean of the row, so δ is subtracted.
        u @ v.T - delta[:, None] → u @ v.T - (p * (u @ v.T)).sum(axis=1, keepdims=True)
            You took the sum of u · v over this block with its weights. Keys outside of the block
            belong to the sum as well; δ is the sum over all.
        p = np.exp(scores - lam[:, None]) → p = _softmax(scores)
            You took a softmax over the block, and where a row attends to no key of it that is nan.
            λ stands for all keys of the row.
        p = np.exp(scores - lam[:, None]) → p = np.nan_to_num(_softmax(scores))
            You took a softmax over the block. The keys outside of it have weights as well, and λ
            stands for all of them.
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores)
            λ is not subtracted: those are exponentials, and no weights.
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores) / lam[:, None]
            You divided by λ, which is the logarithm of the sum: subtract it before the exponential.
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores + lam[:, None])
            λ is added to the scores; to divide by the sum it is subtracted.
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores) / np.exp(lam)[:, None]
            e^λ and the exponentials of scores may be more than a float holds, or all be 0: subtract
            before there is an exponential.
        np.where(places > here, -np.inf, scale * q @ k.T) → scale * q @ k.T
            Every row attended to every key of the block; a query attends to keys up to its own
            position.
        places = start + np.arange(len(k)) → places = np.arange(len(k))
            You counted the keys of the block from 0; the first one stands at `start`.
        places = start + np.arange(len(k)) → places = np.arange(len(k)) - start
            You subtracted `start`: the keys of the block stand that many positions later,
            not earlier.
        places > here → (places > here) | (here >= start + len(k))
            Only the rows at the block's own positions attended to it. All later rows attend to
            these keys too.
        places > here → places >= here
            A query attends to its own position too; you hid it.
        places > here → places < here
            You hid the keys before a query; those after it are hidden.
        places > here → places > here + 1
            One key too many: a query attended to the one that follows it.
        places > here, -np.inf, → places > here, 0,
            A later key got the score 0, whose exponential counts. Its score is −∞.
        places > here, -np.inf, → places > here, -1e4,
            Later keys got a negative score that is not −∞; λ of a row may be as low.
        np.where(places > here, -np.inf, scale * q @ k.T) → scale * q @ k.T
        p = np.exp(scores - lam[:, None]) → p = np.exp(scores - lam[:, None]) * (places <= here)
            The mask came after the exponential: a later score far above λ made ∞ there, and 0 · ∞
            is nan.
        np.where(places > here, -np.inf, scale * q @ k.T) → scale * q @ k.T
        u @ v.T - delta[:, None] → np.where(places > here, 0, u @ v.T - delta[:, None])
            Later keys have a gradient of 0 in your scores, but their values still get weights.
        scale * q @ k.T → q @ k.T
            The scores are not divided by √d_k.
        return scale * grad @ k, scale * grad.T @ q, → return grad @ k, grad.T @ q,
            The gradients of queries and keys pass through the scaled score: 1/√d_k is missing.
        np.sqrt(q.shape[1]) → np.sqrt(len(k))
            You divided by the root of the number of keys; √d_k is the width's.
        np.sqrt(q.shape[1]) → np.sqrt(v.shape[1])
            You divided by the root of the width of the values; that of queries and keys is d_k.
        scale = 1 / np.sqrt(q.shape[1]) → scale = 1.0
            1/√d_k is missing everywhere: in the scores, and where their gradients go to queries and
            keys.
        scale = 1 / np.sqrt(q.shape[1]) → scale = 1 / q.shape[1]
            The scores are divided by d_k; its root is asked for.
        return scale * grad @ k, → return (scale * grad @ k)[start:],
            The rows before the block are missing; what it adds to them is 0.
        return scale * grad @ k, → return grad @ k,
            The queries' gradient passes through the scaled score: 1/√d_k is missing there.
        scale * grad.T @ q, → grad.T @ q,
            The keys' gradient passes through the scaled score: 1/√d_k is missing there.
        return scale * grad @ k, scale * grad.T @ q, → return scale * p @ k, scale * p.T @ q,
            You multiplied queries and keys by weights; the gradient of a score is asked for there.
        p.T @ u → grad.T @ u
            The values are summed with the weights, so their gradient takes these, and not the
            gradient of the scores.
        p.T @ u → scale * grad.T @ u
            For the values you took the scaled gradient of the scores; values are summed with the
            weights, so these are what their gradient takes.
        p.T @ u → p.T @ u - p.T @ (delta[:, None] * np.ones_like(u))
            δ belongs to the gradient of the scores; that of the values is weights times u.
        grad = p * (u @ v.T - delta[:, None]) → grad = p * (delta[:, None] - u @ v.T)
            The signs of the gradients of queries and keys are turned round.
        scale * grad @ k → scale * (grad * (here < start + len(k))) @ k
            You gave queries after the block no gradient; they attend to its keys as well.
    """,
    otherwise="Weights from scores and λ, gradients of scores from weights, u · v and δ.",
)
def block_gradients(
    q: Array, k: Array, v: Array, u: Array, lam: Array, delta: Array, start: int
) -> tuple[Array, Array, Array]:
    """What one block of keys adds to the gradients of queries, keys and values."""
    scale = 1 / np.sqrt(q.shape[1])
    here = np.arange(len(q))[:, None]
    places = start + np.arange(len(k))
    scores = np.where(places > here, -np.inf, scale * q @ k.T)
    p = np.exp(scores - lam[:, None])
    grad = p * (u @ v.T - delta[:, None])
    return scale * grad @ k, scale * grad.T @ q, p.T @ u
