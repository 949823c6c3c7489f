"""Mistakes people make in the exercises of chapter 10, and right answers unlike the book's."""

import numpy as np

from shared_answers import CUT, cut_among


def _block_by_words(x, mix, w_in, b_in, w_out, order):
    def norm(row):
        return row * (len(row) / (row @ row)) ** 0.5

    read = [norm(row) if order == "pre" else row for row in x]
    rows = []
    for t in range(len(x)):
        row = x[t] + sum(mix[t, s] * read[s] for s in range(len(x)))
        row = row if order == "pre" else norm(row)
        given = norm(row) if order == "pre" else row
        row = row + np.maximum(given @ w_in + b_in, 0) @ w_out
        rows.append(row if order == "pre" else norm(row))
    return np.array(rows)


def _block_in_place(x, mix, w_in, b_in, w_out, order):
    def norm(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    x += mix @ (norm(x) if order == "pre" else x)
    x[:] = x if order == "pre" else norm(x)
    x += np.maximum((norm(x) if order == "pre" else x) @ w_in + b_in, 0) @ w_out
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
        p = np.exp(scores - scores.max())
        p = p / p.sum()
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


def _rms(x):
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))


def _layer_norm(x):
    return (x - x.mean(axis=-1, keepdims=True)) / x.std(axis=-1, keepdims=True)


def _pre(x, mix, w_in, b_in, w_out):
    y = x + mix @ _rms(x)
    return y + np.maximum(_rms(y) @ w_in + b_in, 0) @ w_out


def _post(x, mix, w_in, b_in, w_out, between=_rms, last=_rms):
    y = between(x + mix @ x)
    return last(y + np.maximum(y @ w_in + b_in, 0) @ w_out)


def _one_norm_at_the_end(*given):
    *given, order = given
    return _pre(*given) if order == "pre" else _post(*given, between=lambda x: x)


def _one_norm_in_the_middle(*given):
    *given, order = given
    return _pre(*given) if order == "pre" else _post(*given, last=lambda x: x)


def _one_mean(*given):
    *given, order = given
    flat = {name: lambda x: x / np.sqrt((x**2).mean()) for name in ("between", "last")}
    return _pre(*given) if order == "pre" else _post(*given, **flat)


def _orders_exchanged(*given):
    *given, order = given
    return _post(*given) if order == "pre" else _pre(*given)


def _mixture_normed(x, mix, w_in, b_in, w_out, order):
    if order == "post":
        return _post(x, mix, w_in, b_in, w_out)
    y = x + _rms(mix @ x)
    return y + np.maximum(_rms(y) @ w_in + b_in, 0) @ w_out


def _normed_after_the_block(*given):
    *given, order = given
    return _rms(_pre(*given)) if order == "pre" else _post(*given)


def _layer_from_the_start(x, mix, w_in, b_in, w_out, order):
    def norm(x):
        return _rms(x) if order == "post" else x

    y = norm(x + mix @ (_rms(x) if order == "pre" else x))
    read = _rms(y) if order == "pre" else y
    return norm(x + np.maximum(read @ w_in + b_in, 0) @ w_out)


def _counted(norms=4, last=2, inner=5, matrices=4, biases=4, head=0):
    def parameters(N, d, L, n):
        block = (matrices + 8) * d * d + (biases + inner + norms) * d
        return N * d + n * d + L * block + last * d + head * N

    return parameters


def _with_eps(x, mix, w_in, b_in, w_out, order):
    def norm(x):
        return x / (np.sqrt((x**2).mean(axis=-1, keepdims=True)) + 1e-8)

    def before(x):
        return norm(x) if order == "pre" else x

    def after(x):
        return x if order == "pre" else norm(x)

    y = after(x + mix @ before(x))
    return after(y + np.maximum(before(y) @ w_in + b_in, 0) @ w_out)


def _of_32_bits(N, d, L, n):
    N, d, L, n = (np.array([size], dtype=np.int32) for size in (N, d, L, n))
    return int(_counted()(N, d, L, n)[0])


def _operations(T, N, d, L, H, G, d_k, d_ff, number=int):
    entries = 2 * d * d_k * (H + G) + 3 * d * d_ff
    return int(number(L * (2 * T * entries + 4 * T * T * H * d_k) + 2 * T * N * d))


def _example(x, w_v, w_in, w_out, columns=False, first=False, added=True):
    scores = x @ x.T / x.shape[1] ** 0.5
    scores[np.triu_indices(len(x), 1)] = -np.inf
    p = np.exp(scores)
    p = p / p.sum(axis=0 if columns else 1, keepdims=not columns)
    y = _layer_norm(x + p @ x @ w_v)
    made = np.maximum(y @ w_in, 0) @ w_out
    return _layer_norm((x if first else y if added else 0) + made)


def _attended(q, k, v, kept_k, kept_v, own=True, scale=0.5, plus=0.0):
    keys, values = (kept_k, kept_v)
    if own:
        keys, values = np.append(kept_k, [k], axis=0), np.append(kept_v, [v], axis=0)
    p = np.exp(keys @ q / len(q) ** scale)
    return (p / p.sum() if len(p) else p) @ values + plus * v


def _block_as_x(x, mix, w_in, b_in, w_out, order):
    def norm(y):
        out = np.zeros_like(y)
        out[...] = y / np.sqrt((y**2).mean(axis=-1, keepdims=True))
        return out

    if order == "pre":
        x = x + mix @ norm(x)
        return x + np.maximum(norm(x) @ w_in + b_in, 0) @ w_out
    x = norm(x + mix @ x)
    return norm(x + np.maximum(x @ w_in + b_in, 0) @ w_out)


MUTANTS = {
    "10.1": {
        "goes wrong only where whole numbers are handed over": _block_as_x,
        "changes": _block_in_place,
        "after each of the two sums; the first one": _one_norm_at_the_end,
        "after each of the two sums; the last one": _one_norm_in_the_middle,
        'With "post" one mean was taken of the whole table': _one_mean,
        "The two orders are exchanged": _orders_exchanged,
        "normed before they are mixed": _mixture_normed,
        "after the stack and not in the block": _normed_after_the_block,
        "The second sum starts from the vectors as they came in": _layer_from_the_start,
        "with eps = 0 nothing is added": _with_eps,
    },
    "10.2": {
        "The norms have biases too": _counted(norms=2, last=1),
        "one of them is missing": (_counted(matrices=3), _counted(matrices=3, biases=3)),
        "it is the one that has none": _counted(head=1),
        "with a bias for d of its 4 d units": _counted(inner=2),
        "an int is asked for": lambda N, d, L, n: _counted()(N, d, L, n) / 1,
        "more than a number of 32 bits holds": _of_32_bits,
        "Only the last digits are wrong": lambda N, d, L, n: int(_counted()(float(N), d, L, n)),
    },
    "10.3": {
        "an int is asked for": lambda T, N, d, L, H, G, d_k, d_ff: (
            2.0 * T * (N * d + L * (2 * d * d_k * (H + G) + 3 * d * d_ff + 2 * T * d_k * H))
        ),
        "every digit counts": lambda *given: _operations(*given, number=np.float32),
        "Only the last digits are wrong": lambda *given: _operations(*given, number=float),
    },
    "10.4": {"an int is asked for": lambda L, w, t: float(min(t, L * (w - 1) + 1))},
    "10.5": {
        "as a one-hot vector": lambda E, w: np.eye(len(E))[w],
        "with eps = 0 nothing is added": lambda E, w: (
            E @ E[w] / np.sqrt((E[w] ** 2).mean() + 1e-12)
        ),
        "the norm belongs to the vector": lambda E, w: _rms(E @ E[w]),
    },
    "10.6": {
        "L may be 0": lambda m, a, L, narrow: m + 2 * L * (a / (2 * L) if narrow else a),
        "two sublayers a block": lambda m, a, L, narrow: (
            m + 2 * L * (a / max(L, 1) if narrow else a)
        ),
        "Lengths were added up": lambda m, a, L, narrow: (
            (np.sqrt(m) + 2 * L * np.sqrt(a / (2 * max(L, 0.5)) if narrow else a)) ** 2
        ),
        "does not grow with what is there": lambda m, a, L, narrow: (
            m * (1 + a / (2 * max(L, 1) if narrow else 1)) ** (2 * L)
        ),
    },
    "10.7": {
        "it adds to those of the first norm": lambda *given: _example(*given, first=True),
        "What the layer makes should be added": lambda *given: _example(*given, added=False),
        "The softmax runs down the columns": lambda *given: _example(*given, columns=True),
    },
    "10.8": {
        "it attends to itself, too": lambda *given: _attended(*given, own=False),
        "added whole": lambda *given: _attended(*given, own=False, plus=1.0),
        "by the root of d_k, not by d_k": lambda *given: _attended(*given, scale=1.0),
    },
}
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
    "10.6": [
        lambda m, a, L, narrow: m + sum(a / (2 * L) if narrow else a for _ in range(2 * L)),
        lambda m, a, L, narrow: m + bool(L) * a if narrow else m + 2 * L * a,
    ],
    "10.7": [_example_by_words],
    "10.8": [_attended_by_sums],
}

MUTANTS.setdefault("10.7", {})[CUT] = cut_among("10.7", 0, 1, 2, 3)
MUTANTS.setdefault("10.8", {})[CUT] = cut_among("10.8", 0, 1, 2, 3, 4)
