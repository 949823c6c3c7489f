"""Answers to exercises 3.1, 3.3 and 3.10: a word exchanged, scores that rise, a veto."""

import numpy as np

from shared_answers import softmax


def _in_place(a, j, share):
    a[j] = share
    return a / a.sum()


def _by_scores(a, j, share):
    with np.errstate(divide="ignore"):
        scores = np.log(np.delete(a, j))
    return np.insert((1 - share) * softmax(scores), j, share)


def _by_difference(a, v, grad):
    steps = a * (v @ grad - a @ (v @ grad))
    return steps < 0


def _by_trial(a, v, grad):
    y = a @ v
    return [bool((value - y) @ grad < 0) for value in v]


def _veto(n, here=8.0, other=16.0, own=-40.0):
    return np.concatenate([here * np.eye(n), other + (own - other) * np.eye(n)])


WRONG = {
    "3.1": {
        "changes the a it was given": _in_place,
        "it should be (0.25, 0.5, 0.25)": lambda a, j, share: np.delete(a, j),
    },
    "3.3": {
        "it should be (False, True, True)": lambda a, v, grad: a @ v @ grad > 0,
    },
    "3.10": {
        "It lies on its side": lambda n: _veto(n).T,
        "it should be (4, 2). For": lambda n: _veto(n)[:n],
        "not finite": lambda n: _veto(n, own=-np.inf),
        "nothing knows which noun": lambda n: _veto(n, other=0.0, own=0.0),
        "the adjective draws": (
            lambda n: _veto(n, own=0.0),
            lambda n: _veto(n, own=16.0),
            lambda n: _veto(n, own=-6.0),
        ),
        "still gives": (
            lambda n: _veto(n, other=4.0),
            lambda n: _veto(n, other=0.0),
            lambda n: _veto(n)[::-1],
        ),
        "each counts": lambda n: _veto(n, here=3.0, other=9.0),
    },
}

RIGHT = {
    "3.1": [_by_scores],
    "3.3": [_by_difference, _by_trial, lambda *inputs: np.array(_by_trial(*inputs)).astype(int)],
    "3.10": [
        lambda n: _veto(n, 20, 45, -90),
        lambda n: _veto(n, own=-16.0),
        lambda n: _veto(n).astype(int).tolist(),
    ],
}
