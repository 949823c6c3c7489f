"""Mistakes people make in the exercises of chapter 9, and right answers unlike the book's."""

import itertools
import math
from fractions import Fraction

import numpy as np

from shared_answers import CUT, cut_among


def _by_table(w):
    return np.array([[-1.0, -1], [1, -1], [-1, 1], [1, 1]])[np.asarray((w + 3) / 2).astype(int)]


def _by_loops(x, w_in, b_in, w_out, b_out):
    flat = x.reshape(-1, x.shape[-1])
    y = np.zeros((len(flat), w_out.shape[1]))
    for t, row in enumerate(flat):
        y[t] = b_out
        for i in range(w_in.shape[1]):
            y[t] += max(0.0, row @ w_in[:, i] + b_in[i]) * w_out[i]
    return y.reshape(*x.shape[:-1], w_out.shape[1])


def _gates_by_tanh(x, w_gate, w_in, w_out):
    gate = x @ w_gate
    return (gate * (1 + np.tanh(gate / 2)) / 2 * (x @ w_in)) @ w_out


def _gates_clipped(x, w_gate, w_in, w_out):
    gate = x @ w_gate
    return (gate / (1 + np.exp(-np.clip(gate, -30, 30))) * (x @ w_in)) @ w_out


def _by_pairs(parts, n, s):
    sees = np.eye(n, dtype=int)
    for part in parts:
        step = {"attention": np.ones((n, n)), "causal attention": np.tri(n)}.get(part, np.eye(n))
        sees = (step @ sees > 0).astype(int)
    return sees[:, s] > 0


def _by_probing(w, b, v):
    w, b, v = ([Fraction(int(x)) for x in part] for part in (w, b, v))
    bends = sorted({-y / x for x, y in zip(w, b, strict=True) if x})
    if not bends:
        return 1
    inner = [(s + t) / 2 for s, t in itertools.pairwise(bends)]
    points = [bends[0] - 1, *inner, bends[-1] + 1]
    slopes = [sum(x * z for x, y, z in zip(w, b, v, strict=True) if x * p + y > 0) for p in points]
    return 1 + sum(s != t for s, t in itertools.pairwise(slopes))


def _by_place(key):
    """Changes of the slope collected by a key of the place."""

    def pieces(w, b, v):
        changes = {}
        for x, y, z in zip(w, b, v, strict=True):
            if x:
                changes[key(y, x)] = changes.get(key(y, x), 0) + z * abs(x)
        return 1 + sum(change != 0 for change in changes.values())

    return pieces


def _by_gcd(w, b, v):
    changes = {}
    for x, y, z in zip(w.tolist(), b.tolist(), v.tolist(), strict=True):
        if x:
            shared = math.gcd(x, y) * (1 if x > 0 else -1)
            place = y // shared, x // shared
            changes[place] = changes.get(place, 0) + z * abs(x)
    return 1 + sum(map(bool, changes.values()))


def _on_a_grid(w, b, v):
    x = np.linspace(-10, 10, 20001)
    slopes = np.diff(np.maximum(0, np.outer(x, w) + b) @ v) / np.diff(x)
    slopes = slopes[np.append(True, np.abs(np.diff(slopes)) < 1e-6)]
    return 1 + int((np.abs(np.diff(slopes)) > 1e-6).sum())


def _in_floats(w, b, v):
    return _by_place(lambda y, x: Fraction(int(y), int(x)))(w, b, v.astype(float) / 1)


def _in_int64(w, b, v):
    on = w != 0
    places = np.array([Fraction(-int(y), int(x)) for x, y in zip(w[on], b[on], strict=True)])
    changes = v[on] * np.abs(w[on])
    with np.errstate(over="ignore"):
        return 1 + sum(changes[places == place].sum() != 0 for place in set(places))


def _dead(w_in, b_in, r):
    return -b_in >= r * np.linalg.norm(w_in, axis=0)


def _dead_for_some(n):
    def dead(w_in, b_in, r):
        x = np.random.default_rng(0).standard_normal((n, len(w_in)))
        x *= r / np.linalg.norm(x, axis=1, keepdims=True)
        return ~(x @ w_in + b_in > 0).any(axis=0)

    return dead


def _changes_its_row(p):
    p -= 1
    return np.maximum(0, p.sum(axis=-1) + 1)


def _moves(first=True, later=0, own=True, stop=False, ranked=False):
    def who_moves(parts, n, s):
        moved = [first and t == s for t in range(n)]
        for part in parts:
            if part == "attention" and not (ranked and "causal attention" in parts):
                moved = [True] * n
            if part == "causal attention":
                moved = [moved[t] or t >= s + later for t in range(n)]
                if stop:
                    break
        return np.array([moved[t] and (own or t != s) for t in range(n)])

    return who_moves


def _layer_as_x(x, w_in, b_in, w_out, b_out):
    y = np.zeros_like(x)
    y[...] = np.maximum(0, x @ w_in + b_in) @ w_out + b_out
    return y


def _layer_with_a_cut_bias(x, w_in, b_in, w_out, b_out):
    inner = x @ w_in
    inner += b_in.astype(inner.dtype)
    return np.maximum(0, inner) @ w_out + b_out


def _gates_as_x(x, w_gate, w_in, w_out):
    gate = x @ w_gate
    sigmoid = np.zeros_like(gate)
    sigmoid[...] = np.exp(-np.logaddexp(0, -gate))
    return (gate * sigmoid * (x @ w_in)) @ w_out


def _ways_of_64_bits(parts, n, s):
    ways = np.zeros(n, dtype=np.int64)
    ways[s] = 1
    for part in parts:
        sees = {"attention": np.ones((n, n)), "causal attention": np.tri(n)}.get(part, np.eye(n))
        ways = sees.astype(np.int64) @ ways
    return ways > 0


MUTANTS = {
    "9.3": {
        CUT: (_layer_as_x, _layer_with_a_cut_bias, *cut_among("9.3", *range(5), results=range(5)))
    },
    "9.4": {CUT: _gates_as_x},
    "9.2": {
        "changes": _changes_its_row,
        "One AND was made of all facts": lambda p: np.clip(1 - (1 - p).sum(), 0, None),
        "both belong to the last axis": lambda p: max(0, p.sum() - len(p) + 1),
        "Only facts of exactly 1": lambda p: np.all(p == 1, axis=-1),
        "a half counts as a half": lambda p: np.min(p, axis=-1) > 0,
    },
    "9.5": {
        "another from the start": _moves(first=False),
        "at the start and under a mask": _moves(first=False, later=1),
        "was left out; it moves as well": _moves(own=False),
        "The parts after causal attention": _moves(stop=True),
        "does not hide what another attention": _moves(ranked=True),
        "beyond 64 bits": _ways_of_64_bits,
        "changes the parts it was given": lambda parts, n, s: [parts.pop() for _ in [*parts]],
        "True and False are asked for": lambda parts, n, s: _by_pairs(parts, n, s) * 1,
    },
    "9.6": {
        "of d² parameters each": lambda d, d_ff, gated: (
            (2 + gated) * d * d_ff,
            (2 + gated) * d_ff / ((2 + gated) * d_ff + d),
        )
    },
    "9.7": {
        "an int is asked for": lambda w, b, v: float(_by_probing(w, b, v)),
        "compare fractions, not rounded numbers": (
            *(_by_place(lambda y, x, n=n: round(-y / x, n)) for n in (3, 5, 9, 12)),
            _by_place(lambda y, x: np.float32(-y / x)),
            _by_place(lambda y, x: -y / x),
            _on_a_grid,
        ),
        "slopes up exactly": _in_floats,
        "a sum of int64 makes 0": _in_int64,
    },
    "9.8": {
        "near one direction only": (
            _dead_for_some(1000),
            _dead_for_some(20_000),
            lambda w_in, b_in, r: r * np.linalg.norm(w_in, axis=0) + b_in <= 1e-3,
        ),
        "can arrive.": (
            lambda w_in, b_in, r: _dead(w_in, b_in.astype(w_in.dtype), r),
            lambda w_in, b_in, r: _dead(w_in.astype(b_in.dtype), b_in, r),
        ),
        "True and False are asked for": lambda w_in, b_in, r: np.where(
            r * np.linalg.norm(w_in, axis=0) + b_in <= 0, 1, 0
        ),
    },
}
"""Words of the feedback -> the wrong answer, beside those that the checks themselves name."""

RIGHT = {
    "9.1": [_by_table],
    "9.2": [lambda p: np.maximum(0, 1 - (1 - p).sum(axis=-1))],
    "9.3": [_by_loops],
    "9.4": [_gates_by_tanh, _gates_clipped],
    "9.5": [_by_pairs],
    "9.6": [
        lambda d, d_ff, gated: (
            (2 + gated) * d * d_ff,
            1 / (1 + 4 * d / ((2 + gated) * d_ff)),
        )
    ],
    "9.7": [_by_probing, _by_gcd],
    "9.8": [_dead],
}
