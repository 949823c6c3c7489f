"""Mistakes people make in the exercises of chapter 11, and right answers unlike the book's."""

import math
from collections import Counter

import numpy as np

from shared_answers import CUT, cut_among


def _by_cells(form, n, n_prefix):
    seen = {
        "encoder": lambda t, s: True,
        "decoder": lambda t, s: s <= t,
        "prefix": lambda t, s: s <= t or s < n_prefix,
    }[form]
    return np.array([[seen(t, s) for s in range(n)] for t in range(n)])


def _by_reach(n_source, n_target, text, place):
    n = n_source + n_target
    sees = np.tri(n, dtype=bool) | (np.arange(n) < n_source)
    return sees[:, place if text == "source" else n_source + place]


def _by_counter(beginnings, answers):
    pairs = Counter(zip(beginnings.tolist(), answers.tolist(), strict=True))
    best = {one: max(n for (b, _), n in pairs.items() if b == one) for one, _ in pairs}
    return sum(best.values()) / len(answers)


def _by_joint(beginnings, answers):
    pairs = Counter(zip(beginnings.tolist(), answers.tolist(), strict=True))
    alone = Counter(beginnings.tolist())
    n = len(answers)
    return sum(-m / n * math.log(m / alone[b]) for (b, _), m in pairs.items())


def _by_queries(x, memory, w_q, w_k, w_v):
    made = []
    for row in x:
        scores = [row @ w_q @ (w_k.T @ word) / w_k.shape[1] ** 0.5 for word in memory]
        terms = [math.exp(score) for score in scores]
        parts = [z / sum(terms) * (word @ w_v) for z, word in zip(terms, memory, strict=True)]
        made.append(sum(parts))
    return np.array(made)


def _by_differences(a, b):
    return 1 / (1 + np.exp(np.clip(_logsum(b) - _logsum(a), -700, 700)))


def _logsum(x):
    return np.logaddexp.reduce(x, axis=-1)


def _by_formula(form, n_source, n_tokens):
    return {
        "anew": n_tokens * n_source + n_tokens * (n_tokens + 1) // 2,
        "cache": n_source + n_tokens - 1,
        "pair": n_source + n_tokens,
    }[form]


def _by_search(mask):
    n = len(mask)
    sees = [{t} | {s for s in range(n) if mask[t][s]} for t in range(n)]
    further = [set().union(*(sees[s] for s in sees[t])) for t in range(n)]
    return np.array([[s in further[t] - sees[t] for s in range(n)] for t in range(n)])


def _changes_the_memory(x, memory, w_q, w_k, w_v):
    memory -= 0.5
    memory += 0.5
    memory *= 2
    scores = x @ w_q @ (memory / 2 @ w_k).T / w_k.shape[1] ** 0.5
    terms = np.exp(scores)
    return terms / terms.sum(axis=-1, keepdims=True) @ (memory / 2 @ w_v)


def _prefix_alone(form, n, n_prefix):
    opened = np.tile(np.arange(n) < n_prefix, (n, 1))
    return opened if form == "prefix" else np.tri(n, k=n if form == "encoder" else 0) > 0


def _joined_digits(beginnings, answers):
    pairs = [f"{one}{other}" for one, other in zip(beginnings, answers, strict=True)]
    best = {}
    for one, pair in zip(beginnings.tolist(), pairs, strict=True):
        best[one] = max(best.get(one, 0), pairs.count(pair))
    return sum(best.values()) / len(answers)


def _coded(beginnings, answers):
    codes, counts = np.unique(100 * beginnings + answers, return_counts=True)
    return sum(counts[codes // 100 == one].max() for one in np.unique(codes // 100)) / len(answers)


def _of_few_digits(beginnings, answers):
    return _by_counter(beginnings.astype(np.float32), answers)


def _joined_in_floats(beginnings, answers):
    pairs, counts = np.unique(beginnings * 1e9 + answers, return_counts=True)
    best = {}
    for pair, count in zip(pairs // 1e9, counts, strict=True):
        best[pair] = max(best.get(pair, 0), count)
    return sum(best.values()) / len(beginnings)


def _loss_of_few_digits(beginnings, answers):
    return _by_joint(beginnings.astype(np.float32), answers)


def _cross(x, memory, w_q, w_k, w_v, bound=np.inf, plus=0.0):
    scores = np.clip(x @ w_q @ (memory @ w_k).T / w_k.shape[1] ** 0.5, -bound, bound)
    terms = np.exp(scores)
    return terms / (terms.sum(axis=-1, keepdims=True) + plus) @ memory @ w_v


def _of_8_bits(mask, number=np.uint8):
    one = (mask | np.eye(len(mask), dtype=bool)).astype(number)
    return (one @ one > 0) & (one == 0)


def _values_of_the_text(x, memory, w_q, w_k, w_v):
    scores = x @ w_q @ (memory @ w_k).T / w_k.shape[1] ** 0.5
    terms = np.exp(scores)
    return terms / terms.sum(axis=-1, keepdims=True) @ (x @ w_v)


def _of_a_stack(a, b):
    top = max(a.max(), b.max())
    source, own = (np.exp(x - top).sum(axis=-1) for x in (a, b))
    return source / (source + own)


def _with_an_overflow(a, b):
    source, own = (np.logaddexp.reduce(x, axis=-1) for x in (a, b))
    return 1 / (1 + np.exp(own - source))


MUTANTS = {
    "11.1": {
        "True and False are asked for": lambda *given: _by_cells(*given).astype(int),
        "After the prefix words see those before them": _prefix_alone,
    },
    "11.2": {"True and False are asked for": lambda *given: [int(x) for x in _by_reach(*given)]},
    "11.3": {
        "different ones stay different": (_coded, _of_few_digits, _joined_in_floats),
        "another pair": _joined_digits,
    },
    "11.4": {"different ones stay different": _loss_of_few_digits},
    "11.5": {
        "cut off at a bound": lambda *given: _cross(*given, bound=80),
        "added to the sum": lambda *given: _cross(*given, plus=1e-12),
        "changes": _changes_the_memory,
        "they come from the memory": _values_of_the_text,
    },
    "11.6": {
        "taken for weights": lambda a, b: 1 / (1 + b.sum(axis=-1) / a.sum(axis=-1)),
        "One number was taken off all queries": _of_a_stack,
        "a warning appears: overflow encountered in exp": _with_an_overflow,
    },
    "11.7": {
        "an int is asked for": lambda form, S, n: (
            n * S + n * (n + 1) / 2 if form == "anew" else S + n - (form == "cache")
        )
    },
    "11.8": {
        "True and False are asked for": lambda mask: _by_search(mask).astype(np.int8),
        "more than 8 bits can count": (_of_8_bits, lambda mask: _of_8_bits(mask, np.int8)),
    },
}
"""Words of the feedback -> the wrong answer, beside those that the checks themselves name."""

RIGHT = {
    "11.1": [_by_cells],
    "11.2": [_by_reach],
    "11.3": [_by_counter],
    "11.4": [_by_joint],
    "11.5": [_by_queries],
    "11.6": [_by_differences],
    "11.7": [_by_formula],
    "11.8": [_by_search],
}
"""Right answers that go another way."""

MUTANTS.setdefault("11.5", {})[CUT] = cut_among("11.5", 0, 1, 2, 3, 4)
MUTANTS.setdefault("11.6", {})[CUT] = cut_among("11.6", 0, 1)
