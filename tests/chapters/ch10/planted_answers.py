"""Mistakes people make in the exercises of chapter 10, and right answers unlike the book's."""

import numpy as np


def _block_by_words(x, mix, w_in, w_out, order):
    def norm(row):
        return row * (len(row) / (row @ row)) ** 0.5

    read = [norm(row) if order == "pre" else row for row in x]
    rows = []
    for t in range(len(x)):
        row = x[t] + sum(mix[t, s] * read[s] for s in range(len(x)))
        row = row if order == "pre" else norm(row)
        given = norm(row) if order == "pre" else row
        row = row + np.maximum(given @ w_in, 0) @ w_out
        rows.append(row if order == "pre" else norm(row))
    return np.array(rows)


def _block_in_place(x, mix, w_in, w_out, order):
    def norm(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    x += mix @ (norm(x) if order == "pre" else x)
    x[:] = x if order == "pre" else norm(x)
    x += np.maximum((norm(x) if order == "pre" else x) @ w_in, 0) @ w_out
    return x if order == "pre" else norm(x)


def _by_steps(L, w, t):
    seen = {t}
    for _ in range(L):
        seen |= {s - back for s in seen for back in range(w) if s - back >= 1}
    return len(seen)


def _example_by_words(x, w_v, w_in, w_out):
    rows = []
    for t, row in enumerate(x):
        scores = np.array([row @ x[s] for s in range(t + 1)]) / len(row) ** 0.5
        p = np.exp(scores) / np.exp(scores).sum()
        row = row + sum(p[s] * (x[s] @ w_v) for s in range(t + 1))
        row = (row - row.mean()) / row.std()
        row = row + np.maximum(row @ w_in, 0) @ w_out
        rows.append((row - row.mean()) / row.std())
    return np.array(rows)


def _attended_by_sums(q, k, v, kept_k, kept_v):
    pairs = [*zip(kept_k, kept_v, strict=True), (k, v)]
    scores = [one @ q / len(q) ** 0.5 for one, _ in pairs]
    shares = [np.exp(s - max(scores)) for s in scores]
    return sum(p * one for p, (_, one) in zip(shares, pairs, strict=True)) / sum(shares)


MUTANTS = {"10.1": {"changes": _block_in_place}}
"""Words of the feedback -> the wrong answer, beside those that the checks themselves name."""

RIGHT = {
    "10.1": [_block_by_words],
    "10.2": [
        lambda N, d, L, n: sum(
            [N * d, n * d, 2 * d] + [d * (d + 1)] * 4 * L + [8 * d * d + 9 * d] * L
        )
    ],
    "10.3": [
        lambda T, N, d, L, H, G, d_k, d_ff: (
            2
            * T
            * (N * d + L * (2 * d * d_k * H + 2 * d * d_k * G + 3 * d * d_ff + 2 * T * d_k * H))
        )
    ],
    "10.4": [lambda L, w, t: _by_steps(L, w, t) if L * w < 60 else min(t, L * (w - 1) + 1)],
    "10.5": [lambda E, w: E @ E[w] * (len(E[w]) / (E[w] @ E[w])) ** 0.5],
    "10.6": [lambda m, a, L, narrow: m + sum(a / (2 * L) if narrow else a for _ in range(2 * L))],
    "10.7": [_example_by_words],
    "10.8": [_attended_by_sums],
}
