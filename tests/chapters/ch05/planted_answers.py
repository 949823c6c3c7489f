"""Mutants of answers to the exercises of chapter 5, and right answers unlike the book's."""

import itertools

import numpy as np

from shared_answers import softmax


def _from_scores(a, mask):
    """Logarithms of weights are scores: mask those."""
    with np.errstate(all="ignore"):
        scores = np.where(mask, np.log(np.asarray(a, dtype=float)), -np.inf)
        return np.nan_to_num(softmax(scores))


def _mask_by_pairs(attend, n):
    """Exchange one value after the other."""
    q, before = np.ones((n, 2)), attend(np.ones((n, 2)), np.ones((n, 2)), np.zeros((n, 1)))
    moved = [attend(q, q, np.eye(n)[:, [s]]) - before for s in range(n)]
    return np.concatenate(moved, axis=1).astype(bool)


def _unlike(n, size):
    """Return queries and keys whose scores differ."""
    return size * np.random.default_rng(0).standard_normal((2, n, 4))


def _mask_by_counting(attend, n):
    """Return a mask in which each row sees as many keys as it should, the first ones."""
    shown = attend(np.zeros((n, 1)), np.zeros((n, 1)), np.eye(n)) > 0
    return np.arange(n) < shown.sum(axis=1, keepdims=True)


def _conversations_by_loops(which, in_answer):
    if which.ndim > 1:
        return [_conversations_by_loops(*pair) for pair in zip(which, in_answer, strict=True)]
    n = len(which)
    return [
        [bool(which[t] == which[s] >= 0 and (s <= t or not in_answer[s])) for s in range(n)]
        for t in range(n)
    ]


def _shortest_paths(mask):
    """Floyd and Warshall's way."""
    n = len(mask)
    far = np.where(mask, 1.0, np.inf)
    np.fill_diagonal(far, 0)
    for middle in range(n):
        far = np.minimum(far, far[:, [middle]] + far[middle])
    return np.where(np.isinf(far), -1, far).tolist()


def _leaks_by_all_later_rows(layer, x, draws=30):
    """Compare pairs of texts that differ in one row alone."""
    rng, n = np.random.default_rng(7), len(x)
    found = np.zeros((n, n), dtype=bool)
    for _, s in itertools.product(range(draws), range(n)):
        one = rng.standard_normal(x.shape)
        two = one.copy()
        two[s] = 2 * rng.standard_normal(x.shape[1])
        found[:, s] |= ~np.isclose(layer(one), layer(two), rtol=0, atol=1e-7).all(axis=1)
    return found & (np.arange(n) > np.arange(n)[:, None])


def _leaks_by_slopes(layer, x, step=1e-6):
    n, d = x.shape
    found = np.zeros((n, n), dtype=bool)
    for s, j in itertools.product(range(n), range(d)):
        up = x.copy()
        up[s, j] += step
        found[:, s] |= (np.abs(layer(up) - layer(x)) / step > 1e-6).any(axis=1)
    return np.triu(found, k=1)


def _newest_by_rows(q, k, v):
    out = []
    for t in range(q.shape[-2]):
        end = k.shape[-2] - q.shape[-2] + t + 1
        scores = (q[..., t : t + 1, :] @ k[..., :end, :].mT) / q.shape[-1] ** 0.5
        out.append(softmax(scores) @ v[..., :end, :])
    return np.concatenate(out, axis=-2)


def _log_p_by_loops(logits, words):
    if words.ndim > 1:
        return [_log_p_by_loops(*pair) for pair in zip(logits, words, strict=True)]
    rows = zip(logits[:-1].tolist(), words[1:].tolist(), strict=True)
    return sum(row[w] - np.logaddexp.reduce(row) for row, w in rows)


def _transposed_too_much(q, k, v):
    n, m = q.shape[-2], k.shape[-2]
    scores = np.where(np.tri(n, m, m - n, dtype=bool), q @ k.T / q.shape[-1] ** 0.5, -np.inf)
    return softmax(scores) @ v


def _fill_by_logs(visible, hidden, share):
    odds = np.log(share) - np.log1p(-share)
    return odds + np.logaddexp.reduce(visible) - np.logaddexp.reduce(hidden)


MUTANTS = {
    "5.1": {
        "each row has its own": lambda a, mask: np.where(mask, a, 0) / a[mask].sum(),
        "changes the a it was given": lambda a, mask: a.__imul__(mask) / a.sum(-1, keepdims=True),
    },
    "5.2": {"a single number is asked for": lambda a, scores, hidden: np.log(a)},
    "5.3": {
        "stopped with": lambda attend, n: attend(np.zeros(n), np.zeros(n), np.eye(n)) > 0,
        "may lie below any limit, and come as 0": (
            lambda attend, n: attend(*_unlike(n, 1000), np.eye(n)) > 0,
            lambda attend, n: attend(*_unlike(n, 2), np.eye(n)) > 1e-3,
        ),
        "in the wrong places": _mask_by_counting,
    },
    "5.4": {
        "hidden from them": lambda which, in_answer: which[..., None] == which,
    },
    "5.5": {"two layers": lambda mask: np.eye(len(mask))[0]},
    "5.6": {
        "rounded away": _leaks_by_slopes,
        "changes the x it was given": lambda layer, x: (x.__imul__(2), layer(x))[0] > 9,
    },
    "5.7": {
        "quarter of four fifths": lambda visible, hidden, share: -np.inf,
        "does so twice over": lambda visible, hidden, share: np.clip(
            _fill_by_logs(visible, hidden, share), -5000, 5000
        ),
    },
    "5.8": {
        "True and False are asked for": lambda attn_mask, key_padding: (
            (1 - (attn_mask if attn_mask.dtype == bool else attn_mask < 0)[None] * 1)
            * (1 - key_padding[:, None, :] * 1)
        ),
        "its type tells": lambda attn_mask, key_padding: (
            (attn_mask == 0 if attn_mask.max() == 0 else attn_mask != 1)[None]
            & ~key_padding[:, None, :]
        ),
        "stopped with": lambda attn_mask, key_padding: ~(attn_mask | key_padding[:, None, :]),
    },
    "5.9": {
        "The last row is not asked": lambda logits, words: logits[words].sum(),
    },
    "5.10": {
        "reverses all axes": _transposed_too_much,
    },
}

RIGHT = {
    "5.1": [_from_scores],
    "5.2": [
        lambda a, scores, hidden: (
            np.log(1 - a.sum()) + np.logaddexp.reduce(np.delete(scores, hidden)) - np.log(a.sum())
        )
    ],
    "5.3": [_mask_by_pairs],
    "5.4": [_conversations_by_loops],
    "5.5": [_shortest_paths],
    "5.6": [_leaks_by_all_later_rows],
    "5.7": [
        lambda visible, hidden, share: (
            -np.logaddexp.reduce(np.subtract.outer(hidden, [np.logaddexp.reduce(visible)]).ravel())
            + np.log(share / (1 - share))
        )
    ],
    "5.8": [
        lambda attn_mask, key_padding: [((attn_mask == 0) & ~row).tolist() for row in key_padding]
    ],
    "5.9": [_log_p_by_loops],
    "5.10": [_newest_by_rows],
}
