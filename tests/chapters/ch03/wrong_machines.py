"""Answers to exercises 3.11 and 3.12: a layer that looks words up, a sentence read back."""

import numpy as np


def _circle(n):
    angle = 2 * np.pi * np.arange(n) / n
    return np.stack([np.cos(angle), np.sin(angle)], axis=-1)


def _on_a_closed_circle(partner):
    angle = np.linspace(0, 2 * np.pi, len(partner))
    keys = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return 2000 * keys[partner], keys


def _on_a_line(partner):
    keys = np.stack([np.arange(1.0, len(partner) + 1)] * 2, axis=-1)
    return 200 * keys[partner], keys


def _on_a_spiral(partner):
    n = np.arange(1.0, len(partner) + 1)[:, None]
    return _by_keys(n * np.concatenate([np.cos(n / 20), np.sin(n / 20)], axis=-1), partner)


def _by_keys(keys, partner):
    return 200 * keys[partner], keys


def _on_a_parabola(partner):
    x = np.arange(len(partner)) - len(partner) / 2
    keys = np.stack([x, -(x**2) / 2], axis=-1)
    return 60 * np.stack([x, np.ones(len(x))], axis=-1)[partner], keys


def _recover_step_by_step(a, y, table):
    found = []
    for t in range(len(y)):
        past = sum((a[t, s] * table[w] for s, w in enumerate(found)), np.zeros(table.shape[1]))
        gaps = [np.linalg.norm(row - (y[t] - past) / a[t, t]) for row in table]
        found.append(int(np.argmin(gaps)))
    return found


WRONG = {
    "3.11": {
        "looks at itself": lambda partner: (200 * _circle(len(partner)), _circle(len(partner))),
        "roles of queries and keys": lambda partner: (
            200 * _circle(len(partner)),
            _circle(len(partner))[partner],
        ),
        "too small a lead": lambda partner: (
            5 * _circle(len(partner))[partner],
            _circle(len(partner)),
        ),
        "which has the longest key": _on_a_spiral,
        "lie on one line": (
            _on_a_line,
            lambda partner: _by_keys(np.stack([np.arange(len(partner)), 0 * partner], -1), partner),
        ),
        "lies among the others": lambda partner: _by_keys(
            np.concatenate([_circle(len(partner) - 1), [[0.1, 0.1]]])
            if len(partner) > 3
            else _circle(len(partner)),
            partner,
        ),
        "Several words get the same weight": lambda partner: (
            np.zeros((len(partner), 2)),
            _circle(len(partner)),
        ),
        "have the same key": (
            lambda partner: np.zeros((2, len(partner), 2)),
            lambda partner: _on_a_closed_circle(partner),
        ),
        "it should be (3, 2). For": lambda partner: (
            np.eye(len(partner) + 1),
            np.eye(len(partner) + 1),
        ),
        "lies on its side": lambda partner: np.stack(
            [200 * _circle(len(partner))[partner].T, _circle(len(partner)).T]
        ),
        "too large for a float64": lambda partner: (
            1e300 * _circle(len(partner))[partner],
            1e10 * _circle(len(partner)),
        ),
    },
    "3.12": {
        "of an array that is empty": lambda a, y, table: [
            np.flatnonzero((table == row).all(-1))[0] for row in y
        ],
    },
}

RIGHT = {
    "3.11": [_on_a_parabola],
    "3.12": [
        _recover_step_by_step,
        lambda a, y, table: np.abs((np.linalg.inv(a) @ y)[:, None] - table).max(-1).argmin(-1),
    ],
}
