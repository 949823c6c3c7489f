"""Exercises 22.1 and 22.2: from Llama to Qwen3, and a sink made of a key, a value and a bias."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.kinds import Parts, Several
from tformer_book.exercises.promises import promised, single, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray

# ---- 22.1 ---------------------------------------------------------------------------------


def _by_library(
    q: Array, k: Array, q_gain: Array, k_gain: Array, angles: Array, eps: float
) -> Array:
    sinusoids = np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(angles), -1)
    normed = (
        reference.rms_norm(x, NormParameters(gain), eps) for x, gain in ((q, q_gain), (k, k_gain))
    )
    q, k = (reference.rope(x, sinusoids, "half") for x in normed)
    each = [q[h] @ k[h * len(k) // len(q)].T for h in range(len(q))]
    return np.array(each) / np.sqrt(q.shape[-1])


def _heads() -> Iterator[Case]:
    why = (
        "The query is (2, 2) / √(4 + 12) times (2, 4), which is (1, 2), and the key "
        "(5, 7) / √(37 + 12) times (7, 14), which is (5, 14). Position 1 turns them by a right "
        "angle, to (−2, 1) and (−14, 5)."
    )
    right = np.array([[0.0], [np.pi / 2]])
    same: dict[str, Any] = {"q_gain": [2.0, 4], "k_gain": [7.0, 14], "angles": right, "eps": 12.0}
    want = np.array([[[33.0, -4], [4, 33]]]) / np.sqrt(2)
    yield case(q=[[[2.0, 2], [2, 2]]], k=[[[5.0, 7], [5, 7]]], **same, want=want, why=why)
    rng = np.random.default_rng(1)
    for H, G, T, d in ((1, 1, 3, 4), (4, 2, 2, 6), (6, 2, 4, 4), (3, 1, 5, 2), (2, 2, 3, 8)):
        angles = np.arange(1.0, T + 1)[:, None] * 0.7 ** np.arange(d // 2)
        gains = rng.uniform(0.3, 2, (2, d))
        q, k = 1 + integers(H, (H, T, d)), 1 + integers(T + 9, (G, T, d))
        want = _by_library(q, k, gains[0], gains[1], angles, 0.5)
        more: dict[str, Any] = {"angles": angles, "eps": 0.5, "want": want}
        yield case(q=q, k=k, q_gain=gains[0], k_gain=gains[1], **more)
    yield case(q=q, k=k, q_gain=gains[0], k_gain=gains[1], angles=angles, eps=1e-6)
    zero = "A query of zeros stays zero: `eps` keeps the division from 0 / 0."
    yield case(q=0 * q, k=k, q_gain=gains[0], k_gain=gains[1], angles=angles, eps=1e-6, why=zero)
    yield from promised(
        whole, single, q=q, k=k, q_gain=gains[0], k_gain=gains[1], angles=angles, eps=0.5
    )


@exercise(
    "22.1",
    praise="Heads alone and in groups, gains of all kinds, a large eps and a query of zeros.",
    hints=(
        "The new line changes lengths only, and a gain for each coordinate. Over which axis does "
        "the mean run?",
        "First the norm with its gain, for queries and for keys; then the rotation of both.",
        "For the rotation split the last axis in two halves. For the groups repeat each key "
        "H / G times, so that neighbouring heads share one.",
    ),
    cases=_heads,
    otherwise="Norm and gain in each head, then the rotation, then products over the root of d.",
    slips="""
        norm(q, q_gain), norm(k, k_gain) → q, k
        q, k = turn(q), turn(k) → q, k = norm(turn(q), q_gain), norm(turn(k), k_gain)
            You turned first. The gain then multiplies coordinates that have been turned already; it
            belongs before the rotation, with its norm.
        q, k = norm(q, q_gain), norm(k, k_gain) →
            The new line is missing: these are Llama's scores.
        q, k = norm(q, q_gain), norm(k, k_gain) → q = norm(q, q_gain)
            Only the queries went through the norm; the keys have one of their own.
        q, k = norm(q, q_gain), norm(k, k_gain) → k = norm(k, k_gain)
            Only the keys went through the norm; the queries have one of their own.
        norm(q, q_gain), norm(k, k_gain) → norm(q, k_gain), norm(k, q_gain)
            The gains are exchanged: the queries got that of the keys.
        norm(q, q_gain), norm(k, k_gain) → norm(q, q_gain), norm(k, q_gain)
            The keys got the gain of the queries.
        norm(q, q_gain), norm(k, k_gain) → norm(q, 1.0), norm(k, 1.0)
            The gains are missing: each coordinate is multiplied by a number of its own.
        return gain * x → return (1 + gain) * x
            You multiplied by 1 + gain. Some families store their gains so; here the gain
            multiplies as it is.
        return gain * x → return x / gain
            You divided by the gain.
        np.sqrt(mean + eps) → (np.sqrt(mean) + eps)
            eps belongs below the root, beside the mean of the squares.
        np.sqrt(mean + eps) → np.sqrt(mean + eps**2)
            eps is added as it is, and not squared.
        np.sqrt(mean + eps) → np.sqrt(mean)
            eps is missing below the root.
        np.sqrt(mean + eps) → np.sqrt(mean + 1e-6)
            You added a number of your own below the root; eps is given, and may be large.
        np.sqrt(mean + eps) → (mean + eps)
            The root is missing: you divided by the mean square.
        np.sqrt(mean + eps) → np.sqrt(np.maximum(mean, eps))
            eps is added to the mean square; you took it as a least value.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).sum(axis=-1, keepdims=True)
            You divided by the length of the vector: squares were added up. RMSNorm takes their
            mean, so a vector of d coordinates keeps the length √d.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).mean(axis=(0, -1), keepdims=True)
            Your norm runs over all heads at once. That is the norm over the whole projection, as
            in OLMo 2; here each head has its own.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).mean(axis=(-2, -1), keepdims=True)
            Your norm runs over all positions: a token would see those behind it. Each vector has
            its own.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).mean(axis=-2, keepdims=True)
            Your mean runs over the positions, and belongs over the coordinates of a head.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).mean()
            You took one mean for everything; each query and each key has a mean of its own.
        (x**2).mean(axis=-1, keepdims=True) → x.var(axis=-1, keepdims=True)
            You took the variance; the mean square does not subtract a mean.
        return gain * x → return gain * (x - x.mean(axis=-1, keepdims=True))
        (x**2).mean(axis=-1, keepdims=True) → x.var(axis=-1, keepdims=True)
            That is LayerNorm: RMSNorm subtracts no mean.
        np.split(x, 2, axis=-1) → x[..., 0::2], x[..., 1::2]
        np.concatenate([first, second], axis=-1) → np.stack([first, second], -1).reshape(x.shape)
            You turned neighbours, 2i and 2i + 1; a pair here is i and i + d / 2.
        sine = np.cos(angles), np.sin(angles) → sine = np.cos(angles), -np.sin(angles)
            You turned the other way round: positions count backwards.
        a * sine + b * cosine → a * sine - b * cosine
            The second coordinate of a pair is a sin + b cos; yours subtracts.
        q, k = turn(q), turn(k) → q = turn(q)
            The keys were not turned, so that scores depend on where a text begins.
        q, k = turn(q), turn(k) → k = turn(k)
            The queries were not turned, so that scores depend on where a text begins.
        q, k = turn(q), turn(k) →
            Nothing was turned: these scores know no positions.
        np.repeat(k, len(q) // len(k), axis=0) → np.tile(k, (len(q) // len(k), 1, 1))
            The groups take turns from head to head. Neighbouring heads share a group.
        / np.sqrt(q.shape[-1]) →
            The scale is missing: 1 over the root of d stays beside the norm.
        / np.sqrt(q.shape[-1]) → / q.shape[-1]
            You divided by d; the scale is one over its root.
        / np.sqrt(q.shape[-1]) → / np.sqrt(q.shape[-2])
            You divided by the root of T. The scale is one over the root of d, the width of a head.
        / np.sqrt(q.shape[-1]) → / np.sqrt(q.shape[-1] // 2)
            You scaled by the root of d / 2, the number of pairs.
        / np.sqrt(q.shape[-1]) → / np.sqrt(q.shape[-1] * len(q))
            You scaled by the root of the width of all heads together.
        np.sqrt(mean + eps) → (np.linalg.norm(x, axis=-1, keepdims=True) + eps)
            You divided by the length plus eps. Squares are averaged and not added up, and eps
            belongs below the root.
        turned = → c, s = (np.repeat(f(angles), 2, axis=-1) for f in (np.cos, np.sin)) ; turned =
        np.concatenate([first, second], axis=-1) → x * c + np.concatenate([-b, a], axis=-1) * s
            You gave each angle to two neighbours. The angle i belongs to the places i and
            i + d / 2.
        return q @ k.mT → return np.where(np.tri(len(angles)) > 0, 0, -np.inf) + q @ k.mT
            You masked later positions; the scores of all pairs are asked for, without a mask.
        q @ k.mT / np.sqrt(q.shape[-1]) → reference.softmax(q @ k.mT / np.sqrt(q.shape[-1]))
            You return weights; the scores before softmax are asked for.
        np.repeat(k, len(q) // len(k), axis=0) → k.mean(axis=0, keepdims=True)
            You averaged the keys of all groups; each head uses those of one group.
        np.repeat(k, len(q) // len(k), axis=0) → k
            There may be fewer groups than heads: each group serves H / G neighbouring heads.
        return q @ k.mT → return k @ q.mT
            The table is transposed: a row belongs to a query.
    """,
)
def qwen3_scores(
    q: Array, k: Array, q_gain: Array, k_gain: Array, angles: Array, eps: float
) -> Array:
    """Scaled scores of all heads."""

    def norm(x: Array, gain: Array) -> Array:
        mean = (x**2).mean(axis=-1, keepdims=True)
        return gain * x / np.sqrt(mean + eps)

    def turn(x: Array) -> Array:
        a, b = np.split(x, 2, axis=-1)
        cosine, sine = np.cos(angles), np.sin(angles)
        first, second = a * cosine - b * sine, a * sine + b * cosine
        turned = np.concatenate([first, second], axis=-1)
        return turned

    q, k = norm(q, q_gain), norm(k, k_gain)
    q, k = turn(q), turn(k)
    k = np.repeat(k, len(q) // len(k), axis=0)
    return q @ k.mT / np.sqrt(q.shape[-1])


# ---- 22.2 ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class _KeysValuesBias(Several):
    """Keys, values and a bias, compared by the outputs of attention."""

    def fit(self, f: Answer, got: Parts, want: Parts, said: str) -> None:
        """Raise Wrong where an array has a wrong shape, or where two stand in another order."""
        k, second, third = got
        if [x.shape for x in (k, third, second)] == [x.shape for x in want]:
            raise Wrong(f"With {said}, the second array is your bias. First keys, then values.")
        super().fit(f, got, want, said)

    def name(self, f: Answer, place: int) -> str:
        """Name an array."""
        return f"the array for the {self.names[place]}"


def _heard(k: Array, v: Array, bias: Array) -> Array:
    """The outputs of three queries at each position, the first of zeros."""
    q = np.random.default_rng(5).normal(size=(3, len(k), bias.shape[1], k.shape[2]))
    q[0] = 0
    scores = q @ k.mT / np.sqrt(k.shape[2]) + bias
    exps = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exps / exps.sum(axis=-1, keepdims=True) @ v


def _sinks() -> Iterator[Case]:
    why = (
        "With queries of zeros, tokens have the score 0 and the sink has 2. The first query "
        "attends to the first key and to the sink, so its output is 3 / (1 + e²). The second "
        "attends to all three, and has 9 / (2 + e²)."
    )
    yield case(k=[[[1.0, 0], [0, 1]]], v=[[[3.0], [6]]], sinks=[2.0], why=why)
    rng = np.random.default_rng(3)
    for H, T, d, e in ((1, 1, 3, 2), (2, 3, 4, 2), (3, 5, 2, 3), (2, 2, 2, 2), (3, 3, 3, 1)):
        k, v = rng.normal(size=(H, T, d)), rng.normal(size=(H, T, e))
        yield case(k=k, v=v, sinks=rng.normal(size=H) * 2)
    strong = "A sink of 30 takes nearly all of the weight, one of −30 next to none."
    for sink in (30.0, -30.0, 0.0):
        yield case(k=k, v=v, sinks=np.full(3, sink), why=strong if sink else "A sink may be 0.")
    for far, bias in ((300, "100"), (3e4, "1,000")):
        why = f"Scores may differ by far more: a bias of −{bias} hides no key."
        yield case(k=far * k, v=v, sinks=rng.normal(size=3), why=why)
    low = "All scores may lie far below 0, and the sink too."
    yield case(k=k, v=v, sinks=[-700.0, -2, -1], why=low)
    yield from promised(
        whole, single, k=integers(1, (2, 3, 4)), v=integers(2, (2, 3, 2)), sinks=np.array([1.0, -2])
    )


@exercise(
    "22.2",
    praise="One head and several, one token and many, sinks of 30, 0, −30 and −700.",
    hints=(
        "Which key has the same score with every query? What can then be added to that score?",
        "The sink takes weight and gives nothing: which value is that?",
        "A bias of −∞ hides a key. Mind the column of the sink: it is no later token, and is never "
        "hidden.",
    ),
    cases=_sinks,
    kind=_KeysValuesBias(
        names=("keys", "values", "bias"),
        by=_heard,
        called="the output of attention with your keys, values and bias (for queries of zeros, "
        "then for two others)",
    ),
    otherwise="One more key and value of zeros, and its score comes from the bias alone.",
    slips="""
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = sinks[:, None] / np.sqrt(d)
            You divided the sink by the root of d. It is a score already, and a bias is added after
            the scores have been scaled.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = sinks[:, None] * np.sqrt(d)
            You multiplied the sink by the root of d; a bias is not scaled.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = np.exp(sinks[:, None])
            You took the exponential of the sink; softmax does so by itself.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = np.log(np.abs(sinks[:, None]))
            You took the logarithm of the sink; it is a score, and softmax takes its exponential.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = -sinks[:, None]
            The sink has the wrong sign: a larger one takes more weight.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = 0.0
            The learned number has no effect: the new key's score is 0, or the number was added to
            all scores alike, which changes no weight.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = sinks[0]
            All heads have the sink of the first; each has its own.
        bias[:, :, T] = sinks[:, None] → bias[0, :, T] = sinks[0]
            Only the first head has its sink; in the others the score of the new key is 0.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = sinks.mean()
            All heads have the mean of the sinks; each has its own.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = sinks[::-1, None]
            The sinks stand in the wrong order of heads.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = np.resize(sinks, T)
            The sinks run along the queries. Each head has one, the same for all its queries.
        np.zeros((H, 1, d)) → np.ones((H, 1, d))
            The key of your sink is not zero, so its score depends on the query.
        np.zeros((H, 1, d)) → k.mean(axis=1, keepdims=True)
            The key of your sink is a mean of keys, so its score depends on the query.
        np.zeros((H, 1, d)) → k[:, :1]
            The key of your sink is that of the first token. A learned sink belongs to none.
        np.zeros((H, 1, d)) → np.repeat(sinks[:, None, None], d, axis=2)
            You wrote the sink into a key, where the query multiplies it; it is a bias.
        np.zeros((H, 1, d)) → np.repeat(sinks[:, None, None], d, axis=2)
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = 0.0
            The sink stands in the key alone, where the query multiplies it. It belongs into the
            bias.
        np.zeros((H, 1, v.shape[-1])) → np.ones((H, 1, v.shape[-1]))
            Your sink has a value of ones, and adds it to the output. It should add nothing.
        np.zeros((H, 1, v.shape[-1])) → np.repeat(sinks[:, None, None], v.shape[-1], axis=2)
            Your sink has the value sinks[h], and adds it to the output. It should add nothing.
        np.zeros((H, 1, v.shape[-1])) → v.mean(axis=1, keepdims=True)
            Your sink returns the mean of the values. It should add nothing.
        np.zeros((H, 1, v.shape[-1])) → v[:, :1]
            Your sink returns the value of the first token. It should add nothing.
        np.triu(np.ones((T, T), dtype=bool), 1) → np.zeros((T, T), dtype=bool)
            Later tokens are not hidden.
        np.triu(np.ones((T, T), dtype=bool), 1) → np.triu(np.ones((T, T), dtype=bool))
            A token does not attend to itself: your mask hides the diagonal too.
        np.triu(np.ones((T, T), dtype=bool), 1) → np.triu(np.ones((T, T), dtype=bool), 2)
            A token attends to the one after it: your mask begins one column too late.
        np.triu(np.ones((T, T), dtype=bool), 1) → np.tril(np.ones((T, T), dtype=bool), -1)
            You hid the earlier tokens; the later ones are to be hidden.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = -np.inf
            The sink is hidden: your causal mask covers its column as well.
        bias[:, :, T] = sinks[:, None] → bias[:, :, T] = -np.inf
        return → bias[:, -1, T] = sinks ; return
            Only the last query sees the sink; every query does.
        return → bias[:, 1:, T] = -np.inf ; return
            Only the first query sees the sink; every query does.
        return k, v, bias → return k, v, np.roll(bias, 1, axis=2)
            The bias of the sink comes first, and its key last: key i belongs to column i.
        return k, v, bias → return np.roll(k, 1, axis=1), np.roll(v, 1, axis=1), bias
            The key of the sink comes first, and its bias last: key i belongs to column i.
        np.where(later, -np.inf, 0.0) → later * -np.inf
            Your bias holds nan: 0 times −∞ has no value. Write −∞ where a key is hidden, and 0
            elsewhere.
        np.where(later, -np.inf, 0.0) → np.where(later, -1.0, 0.0)
            A bias of −1 makes later tokens weaker and does not hide them.
        np.where(later, -np.inf, 0.0) → np.where(later, -100.0, 0.0)
            A bias of −100 does not hide a later token whose score is larger by hundreds.
        np.where(later, -np.inf, 0.0) → np.where(later, -1000.0, 0.0)
            A bias of −1,000 does not hide a later token whose score is larger by thousands.
        np.where(later, -np.inf, 0.0) → np.where(later, 0.0, 1.0)
            Your bias is a mask of zeros and ones. Added to scores these do not hide anything.
    """,
)
def sink_as_key(k: Array, v: Array, sinks: Array) -> tuple[Array, Array, Array]:
    """Keys, values and a bias that make a causal attention with a sink."""
    H, T, d = k.shape
    k = np.concatenate([k, np.zeros((H, 1, d))], axis=1)
    v = np.concatenate([v, np.zeros((H, 1, v.shape[-1]))], axis=1)
    later = np.triu(np.ones((T, T), dtype=bool), 1)
    bias = np.zeros((H, T, T + 1))
    bias[:, :, :T] = np.where(later, -np.inf, 0.0)
    bias[:, :, T] = sinks[:, None]
    return k, v, bias
