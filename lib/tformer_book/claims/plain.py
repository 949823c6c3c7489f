"""A decoder and its parts in loops, a word and a head at a time: the library by another way.

It shares no code with the library, and has no batches. Claims compare the two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

__all__ = ["attention", "decoded", "heads", "logits", "looked_up", "softmax", "turned", "waves"]

Array = NDArray[Any]


def softmax(scores: Array) -> Array:
    """The softmax of each row."""
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return np.asarray(terms / terms.sum(axis=-1, keepdims=True))


def logits(tokens: Array, model: Any, c: Any, causal: bool = True) -> Array:
    """The logits of a decoder (of an encoder that is unembedded, if not causal), (T, N)."""
    rows = decoded(looked_up(tokens, model, c), model, c, causal)
    table = model.embedding if model.unembedding is None else model.unembedding.T
    return np.array([[word @ x for word in table] for x in rows])


def looked_up(tokens: Array, model: Any, c: Any) -> Array:
    """The vectors before the first block, (T, d_model)."""
    rows = [model.embedding[word].astype(float) for word in tokens]
    d = len(rows[0])
    for place, x in enumerate(rows):
        x *= math.sqrt(d) if c.scale_embedding else 1.0
        if c.positions == "learned":
            x += model.positions[place]
        if c.positions == "sinusoidal":
            x += waves([place], d, c.base)[0]
    return np.array(rows)


def decoded(x: Array, model: Any, c: Any, causal: bool = True) -> Array:
    """The vectors before the unembedding, from those that were looked up: (T, d_model)."""
    for block in model.blocks:
        parts = [(block.heads, block.heads_norm), (block.feed_forward, block.feed_forward_norm)]
        for part, norm in parts:
            if part is None:
                continue
            given = _normed(x, norm, c) if c.order == "pre" else x
            looking = part is block.heads
            added = _attention(given, part, model, c, causal) if looking else _layer(given, part, c)
            x = x + added if c.order == "pre" else _normed(x + added, norm, c)
    return _normed(x, model.norm, c)


def _normed(rows: Array, norm: Any, c: Any) -> Array:
    if norm is None:
        return rows
    found = []
    for x in rows:
        x = x - x.mean() if c.norm == "layer" else x
        y = x / math.sqrt((x * x).mean() + c.eps)
        y = y if norm.gain is None else norm.gain * y
        found.append(y if norm.bias is None else y + norm.bias)
    return np.array(found)


def _attention(rows: Array, layer: Any, model: Any, c: Any, causal: bool) -> Array:
    n, n_heads = len(rows), len(layer.w_q)
    mask = np.tri(n, dtype=bool) if causal else np.ones((n, n), dtype=bool)
    bias = np.array(
        [
            [[_bias(h, n_heads, s - t, model, c) for s in range(n)] for t in range(n)]
            for h in range(n_heads)
        ]
    )
    return heads(rows, layer, mask, bias, c if c.positions == "rope" else None)


def heads(
    rows: Array, layer: Any, mask: Array | None = None, bias: Array | None = None, c: Any = None
) -> Array:
    """What many heads add, (T, d_model): the sum over the heads, one by one.

    `bias` has a table for each head; with a configuration `c` queries and keys are turned.
    """
    found = np.zeros((len(rows), layer.w_o.shape[-1]))
    for h in range(len(layer.w_q)):
        group = h * len(layer.w_k) // len(layer.w_q)
        q = [_mapped(x, layer.w_q, layer.b_q, h) for x in rows]
        k, v = (
            [_mapped(x, w, b, group) for x in rows]
            for w, b in ((layer.w_k, layer.b_k), (layer.w_v, layer.b_v))
        )
        if c is not None:
            q, k = (
                [turned(x, t, c.base, c.pairing) for t, x in enumerate(some)] for some in (q, k)
            )
        found += attention(q, k, v, mask, None if bias is None else bias[h]) @ layer.w_o[h]
    return found if layer.b_o is None else found + layer.b_o


def attention(
    q: Any, k: Any, v: Any, mask: Array | None = None, bias: Array | None = None
) -> Array:
    """Attention, query by query over the keys that it may look at; 0 if there are none."""
    found = np.zeros((len(q), len(v[0])))
    for t, query in enumerate(q):
        seen = [s for s in range(len(k)) if mask is None or mask[t, s]]
        scores = [
            query @ k[s] / math.sqrt(len(query)) + (0 if bias is None else bias[t, s]) for s in seen
        ]
        for share, s in zip(softmax(np.array(scores)) if seen else (), seen, strict=True):
            found[t] += share * v[s]
    return found


def waves(places: Any, d: int, base: float = 10_000.0) -> Array:
    """Sine and cosine of each wave at each place, (T, d)."""
    found = np.zeros((len(places), d))
    for t, place in enumerate(places):
        for i in range(0, d, 2):
            angle = place / base ** (i / d)
            found[t, i : i + 2] = math.sin(angle), math.cos(angle)
    return found


def _mapped(x: Array, matrices: Array, biases: Array | None, which: int) -> Array:
    y = x @ matrices[which]
    return np.asarray(y if biases is None else y + biases[which])


def turned(x: Array, place: float, base: float = 10_000.0, pairing: str = "adjacent") -> Array:
    """A query or key, each pair of coordinates as a complex number that is turned."""
    d = len(x)
    turns = np.array([np.exp(1j * place / base ** (2 * i / d)) for i in range(d // 2)])
    half = pairing == "half"
    after = (x[: d // 2] + 1j * x[d // 2 :] if half else x[0::2] + 1j * x[1::2]) * turns
    pair = [after.real, after.imag]
    return np.concatenate(pair) if half else np.stack(pair, axis=1).ravel()


def _bias(h: int, n_heads: int, ahead: int, model: Any, c: Any) -> float:
    """What is added to a score, if the key stands so many places ahead of the query."""
    if c.positions == "alibi":
        return _slope(h, n_heads) * -abs(ahead)
    if c.positions == "relative":
        most = model.distances.shape[1] // 2
        return float(model.distances[h, min(max(ahead, -most), most) + most])
    return 0.0


def _slope(h: int, n_heads: int) -> float:
    """ALiBi's: 2^(−8/n), 2^(−16/n), …; beyond a power of two every other slope of the next."""
    power = 2 ** int(math.log2(n_heads))
    return 2.0 ** (-8 * (h + 1) / power if h < power else -4 * (2 * (h - power) + 1) / power)


def _layer(rows: Array, layer: Any, c: Any) -> Array:
    found = []
    for x in rows:
        inner = x @ layer.w_in + (0 if layer.b_in is None else layer.b_in)
        if layer.w_gate is None:
            hidden = _active(inner, c.activation)
        else:
            hidden = _active(x @ layer.w_gate, c.activation) * inner
        found.append(hidden @ layer.w_out + (0 if layer.b_out is None else layer.b_out))
    return np.array(found)


def _active(x: Array, name: str) -> Array:
    if name == "relu":
        return np.asarray(np.maximum(x, 0))
    if name == "silu":
        return np.asarray(x / (1 + np.exp(-x)))
    if name == "gelu":
        return np.asarray(x * (1 + erf(x / math.sqrt(2))) / 2)
    return np.asarray(x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2)
