"""Mutants of answers to the exercises of chapter 7, and right answers unlike the book's."""

import numpy as np


def _waves_by_loop(n, d):
    table = np.zeros((n, d))
    for t in range(n):
        for i in range(0, d, 2):
            angle = t / 10000 ** (i / d)
            table[t, i], table[t, i + 1] = np.sin(angle), np.cos(angle)
    return table


def _shift_by_fitting(delta, d):
    t = np.arange(4 * d)[:, None]
    frequency = 10000.0 ** (-np.arange(0, d, 2) / d)
    block = np.kron(np.diag(np.cos(delta * frequency)), np.eye(2))
    turn = np.kron(np.diag(np.sin(delta * frequency)), [[0, -1], [1, 0]])
    return (block + turn) * np.ones_like(t[0])


def _turn_by_complex(x, places):
    d = x.shape[-1]
    angles = np.asarray(places)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    z = (x[..., 0::2] + 1j * x[..., 1::2]) * np.exp(1j * angles)
    answer = np.empty(x.shape)
    answer[..., 0::2], answer[..., 1::2] = z.real, z.imag
    return answer


def _turn_in_place(x, places):
    d = x.shape[-1]
    angles = np.asarray(places)[:, None] * 10000.0 ** (-np.arange(0, d, 2) / d)
    a = x[..., 0::2].copy()
    x[..., 0::2] = a * np.cos(angles) - x[..., 1::2] * np.sin(angles)
    x[..., 1::2] = a * np.sin(angles) + x[..., 1::2] * np.cos(angles)
    return x


def _turn_one_table(x, places):
    if x.ndim > 2:
        return np.array([_turn_one_table(one, places) for one in x])
    return np.array([_turn_by_complex(row[None], [t])[0] for row, t in zip(x, places, strict=True)])


def _pairing_by_halves_first(f, d):
    matrix = np.array([f(row, 7) for row in np.eye(d)])
    block = np.kron(np.eye(d // 2), np.ones((2, 2)))
    if np.allclose(matrix * (1 - block), 0, atol=1e-9):
        return "neighbours"
    order = np.arange(d).reshape(2, -1).T.ravel()
    halves = matrix[order][:, order]
    return "halves" if np.allclose(halves * (1 - block), 0, atol=1e-9) else "neither"


def _converted_by_permutation(w, n_heads):
    width = w.shape[1] // n_heads
    order = np.arange(width).reshape(-1, 2).T.ravel()
    return w[:, np.concatenate([h * width + order for h in range(n_heads)])]


def _favourite_by_turning(q, k, omega, reach):
    best, most = 0, -np.inf
    for distance in range(reach + 1):
        c, s = np.cos(omega * distance), np.sin(omega * distance)
        score = (q[0] * c - q[1] * s) * k[0] + (q[0] * s + q[1] * c) * k[1]
        if score > most + 1e-9:
            best, most = distance, score
    return best


def _bias_by_loop(table, T, S, offset):
    m = len(table) // 2
    rows = [[table[min(max(s - t - offset, -m), m) + m] for s in range(S)] for t in range(T)]
    return np.array(rows).reshape(T, S)


def _keys_by_adding(slope, share):
    total, n, weight = 0.0, 0, 1 - np.exp(-slope)
    while n < 1 or total < share - 1e-12:
        total += weight * np.exp(-slope * n)
        n += 1
    return n


def _count_in_the_query(marks, a):
    row = np.stack([np.ones_like(marks), marks], axis=-1).astype(float)
    return row @ np.diag([np.log(a), 0.0]) + 0 * row, row[:, ::-1] * [1.0, 5.0], row[:, 1:]


def _count_around_the_mean(marks, a):
    k = np.log(a) * marks[:, None]
    return np.ones_like(k), k - k.mean(), marks[:, None]


def _diagnosis_by_loop(q, k, scores):
    n, d = q.shape
    places = np.arange(n)
    order = np.arange(d).reshape(2, -1).T.ravel()
    turn = _turn_by_complex
    found = {
        "right": turn(q, places) @ turn(k, places).T,
        "not turned": q @ k.T,
        "keys not turned": turn(q, places) @ k.T,
        "queries at 0": q @ turn(k, places).T,
        "halves": turn(q[:, order], places) @ turn(k[:, order], places).T,
        "backwards": turn(q, -places) @ turn(k, places).T,
    }
    return next(name for name, table in found.items() if np.allclose(table, scores, 0, 1e-8))


def _notices(scheme, change):
    """Say which scheme notices which change."""
    places = {"sinusoidal": 0, "ALiBi": 1, "RoPE": 1}.get(scheme, 3)
    return places <= ["in front", "between", "exchange"].index(change)


MUTANTS = {
    "7.2": {
        "knows distances only, and a word in front of all changes none.": lambda scheme, change: (
            _notices(scheme, change) or (scheme, change) == ("ALiBi", "in front")
        ),
        "know distances only, and B and C have then each other's.": lambda scheme, change: (
            _notices(scheme, change) and (scheme, change) != ("RoPE", "exchange")
        ),
    },
    "7.4": {"changes the x it was given": _turn_in_place},
    "7.10": {
        "queries and keys one width": lambda marks, a: (marks, marks, marks),
        "must not know its position": lambda marks, a: (
            np.zeros((len(marks), 1)),
            np.zeros((len(marks), 1)),
            np.arange(len(marks))[:, None],
        ),
        "must not know the text": _count_around_the_mean,
    },
}

RIGHT = {
    "7.1": [_waves_by_loop],
    "7.2": [_notices],
    "7.3": [_shift_by_fitting],
    "7.4": [_turn_by_complex, _turn_one_table],
    "7.5": [_pairing_by_halves_first],
    "7.6": [_converted_by_permutation],
    "7.7": [_favourite_by_turning],
    "7.8": [_bias_by_loop],
    "7.9": [_keys_by_adding],
    "7.10": [_count_in_the_query],
    "7.11": [lambda factor, d: np.exp(np.log(10000) + np.log(factor) / (1 - 2 / d))],
    "7.12": [_diagnosis_by_loop],
}
