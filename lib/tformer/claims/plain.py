"""A decoder in loops, a word and a head at a time: another way to what the library computes.

It shares no code with the library, and has no batches. Claims compare the two.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import erf

__all__ = ["decoded", "logits", "looked_up", "softmax"]

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
            for i in range(0, d, 2):
                angle = place / c.base ** (i / d)
                x[i : i + 2] += math.sin(angle), math.cos(angle)
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


def _attention(rows: Array, heads: Any, model: Any, c: Any, causal: bool) -> Array:
    n_heads, width = len(heads.w_q), heads.w_q.shape[-1]
    found = np.zeros((len(rows), heads.w_o.shape[-1]))
    for h in range(n_heads):
        group = h * len(heads.w_k) // n_heads
        ks = [_turned(_mapped(x, heads.w_k, heads.b_k, group), s, c) for s, x in enumerate(rows)]
        vs = [_mapped(x, heads.w_v, heads.b_v, group) for x in rows]
        for t, x in enumerate(rows):
            q = _turned(_mapped(x, heads.w_q, heads.b_q, h), t, c)
            seen = t + 1 if causal else len(rows)
            scores = [
                q @ ks[s] / math.sqrt(width) + _bias(h, n_heads, s - t, model, c)
                for s in range(seen)
            ]
            shares = softmax(np.array(scores))
            found[t] += sum(share * v for share, v in zip(shares, vs, strict=False)) @ heads.w_o[h]
    return found if heads.b_o is None else found + heads.b_o


def _mapped(x: Array, matrices: Array, biases: Array | None, which: int) -> Array:
    y = x @ matrices[which]
    return np.asarray(y if biases is None else y + biases[which])


def _turned(x: Array, place: int, c: Any) -> Array:
    """A query or key, each pair of coordinates as a complex number that is turned."""
    if c.positions != "rope":
        return x
    d = len(x)
    turns = np.array([np.exp(1j * place / c.base ** (2 * i / d)) for i in range(d // 2)])
    half = c.pairing == "half"
    turned = (x[: d // 2] + 1j * x[d // 2 :] if half else x[0::2] + 1j * x[1::2]) * turns
    pair = [turned.real, turned.imag]
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
