"""Planted answers to the exercises of chapter 16, wrong and right."""

from fractions import Fraction

import numpy as np


def _overtakes_by_search(c, L, H, d_k):
    def first(pairs):
        low, high = 0, 1
        while 4 * L * H * d_k * pairs(high) < 2 * c * high:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            enough = 4 * L * H * d_k * pairs(middle) >= 2 * c * middle
            low, high = (low, middle) if enough else (middle, high)
        return high

    return np.array([first(lambda T: T * T), first(lambda T: T * (T + 1) // 2)])


def _overtakes_by_fractions(c, L, H, d_k):
    crossing = Fraction(c, 2 * L * H * d_k)
    return float(-(-crossing // 1)), float(max(-((1 - 2 * crossing) // 1), 1))


def _words_by_search(room, n_global, n_local, r, G, d_k, B):
    def bytes_of(T):
        return 2 * 2 * G * d_k * B * (n_global * T + n_local * min(T, r))

    if n_global == 0 and bytes_of(r) <= room:
        return float("inf")
    low, high = 0, 1
    while bytes_of(high) <= room:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bytes_of(middle) <= room else (low, middle)
    return low


def _words_as_the_larger(room, n_global, n_local, r, G, d_k, B):
    a_word = 4.0 * G * d_k * B
    everywhere = np.floor(room / (a_word * (n_global + n_local)))
    with np.errstate(all="ignore"):
        beyond = np.floor_divide(room - a_word * n_local * r, a_word * np.float64(n_global))
    return everywhere if everywhere < r else beyond if n_global else np.inf


def _waits_by_intensity(n, a, b, w, F, D):
    flops = 2 * n * a * b
    intensity = 2 / w / (1 / n + 1 / a + 1 / b)
    left = 2 * D / (w * F) - 1 / a - 1 / b
    return flops / min(F, intensity * D), 1 / left if left > 0 else float("inf")


def _waits_by_lines(n, a, b, w, F, D):
    def times(rows):
        work = Fraction(2 * rows * a * b, F)
        return work, Fraction(w * (rows * (a + b) + a * b), D)

    (work, moved), (more, further) = times(0), times(1)
    more, further = more - work, further - moved
    rows = moved / (more - further) if more > further else np.inf
    return [float(max(times(n))), float(rows)]


def _joined_two_at_a_time(y, lam):
    out, level = y[0].astype(float), lam[0].astype(float)
    for other, its in zip(y[1:], lam[1:], strict=True):
        new = np.logaddexp(level, its)
        safe = np.where(np.isfinite(new), new, 0)
        out = np.exp(level - safe)[:, None] * out + np.exp(its - safe)[:, None] * other
        level = new
    return out, level


def _joined_row_by_row(y, lam):
    n, T, d_v = y.shape
    rows, levels = [], []
    for t in range(T):
        some = [i for i in range(n) if lam[i, t] > -np.inf]
        if not some:
            rows.append([0.0] * d_v)
            levels.append(-np.inf)
            continue
        top = max(lam[i, t] for i in some)
        parts = {i: float(np.exp(lam[i, t] - top)) for i in some}
        total = sum(parts.values())
        rows.append(sum(part / total * y[i, t] for i, part in parts.items()))
        levels.append(top + np.log(total))
    return np.array(rows), np.array(levels)


def _attended_key_by_key(q, blocks):
    level, output = -np.inf, None
    for k, v, keep in blocks:
        output = np.zeros(v.shape[1]) if output is None else output
        for key, value, seen in zip(k, v, keep, strict=True):
            if seen:
                score = float(key @ q) * len(q) ** -0.5
                new = np.logaddexp(level, score)
                output = np.exp(level - new) * output + np.exp(score - new) * value
                level = new
    return output


def _attended_by_finished_blocks(q, blocks):
    y, level = 0.0, -np.inf
    for k, v, keep in blocks:
        k, v = k[keep], v[keep]
        if not len(k):
            y = y + np.zeros(v.shape[1])
            continue
        x = (q / np.sqrt(q.size)) @ k.T
        own = np.logaddexp.reduce(x)
        new = np.logaddexp(level, own)
        y = y * np.exp(level - new) + np.exp(own - new) * (np.exp(x - own) @ v)
        level = new
    return y


def _gradients_in_loops(q, k, v, u, lam, delta, start):
    dq, dk, dv = (np.zeros(x.shape) for x in (q, k, v))
    for t in range(len(q)):
        for s in range(min(len(k), t - start + 1)):
            weight = np.exp(q[t] @ k[s] / np.sqrt(q.shape[1]) - lam[t])
            slope = weight * (u[t] @ v[s] - delta[t]) / np.sqrt(q.shape[1])
            dq[t] += slope * k[s]
            dk[s] += slope * q[t]
            dv[s] += weight * u[t]
    return dq, dk, dv


def _gradients_of_the_rows_that_look(q, k, v, u, lam, delta, start):
    rows = slice(start, None)
    keep = np.tri(len(q) - start, len(k), dtype=bool)
    x = np.einsum("td,sd->ts", q[rows], k) / q.shape[1] ** 0.5 - lam[rows, None]
    p = np.where(keep, np.exp(np.where(keep, x, 0)), 0)
    g = p * (np.einsum("te,se->ts", u[rows], v) - delta[rows, None]) / q.shape[1] ** 0.5
    dq = np.concatenate([np.zeros((start, q.shape[1])), g @ k])
    return [dq, np.einsum("ts,td->sd", g, q[rows]), np.einsum("ts,te->se", p, u[rows])]


def _faded_by_the_table(q, k, v, gamma, state, total):
    T = len(q)
    back = np.arange(T)[:, None] - np.arange(T)
    fade = np.where(back >= 0, float(gamma) ** np.maximum(back, 0), 0)
    older = float(gamma) ** np.arange(1, T + 1)[:, None]
    scores = fade * (q @ k.T)
    above = scores @ v + older * (q @ state)
    below = scores.sum(axis=1, keepdims=True) + older * (q @ total)[:, None]
    last = fade[-1:] if T else np.zeros((1, 0))
    end = older[-1, 0] if T else 1.0
    state, total = end * state + (k.T * last) @ v, end * total + (k.T * last).sum(axis=1)
    return above / below, state, total


def _faded_as_one_table(q, k, v, gamma, state, total):
    table = np.hstack([state, total[:, None]])
    pairs = np.hstack([v, np.ones((len(v), 1))])
    rows = []
    for asked, key, pair in zip(q, k, pairs, strict=True):
        table = gamma * table + key[:, None] * pair
        found = asked @ table
        rows.append(found[:-1] / found[-1])
    return np.array(rows).reshape(v.shape), table[:, :-1], table[:, -1]


def _twin_by_projection(k, v):
    rng = np.random.default_rng(0)
    while True:
        x = rng.normal(size=v.shape)
        x = x - k @ np.linalg.lstsq(k, x, rcond=None)[0]
        x = x - k @ np.linalg.lstsq(k, x, rcond=None)[0]
        if np.abs(x).max() > 1e-6:
            return v + 3 * x / np.abs(x).max()


def _twin_by_elimination(k, v):
    table, places = k.T.astype(float).copy(), []
    for column in range(len(k)):
        row = len(places)
        pivot = row + np.abs(table[row:, column]).argmax() if row < len(table) else row
        if row == len(table) or abs(table[pivot, column]) < 1e-9:
            change = np.zeros(len(k))
            change[column] = 1
            for place, at in enumerate(places):
                change[at] = -table[place, column]
            change /= np.abs(change).max()
            w = v.astype(float).copy()
            w[:, -1] -= 50 * change
            return w
        table[[row, pivot]] = table[[pivot, row]]
        table[row] /= table[row, column]
        others = np.arange(len(table)) != row
        table[others] -= np.outer(table[others, column], table[row])
        places.append(column)
    raise AssertionError


RIGHT = {
    "16.1": [_overtakes_by_search, _overtakes_by_fractions],
    "16.2": [_words_by_search, _words_as_the_larger],
    "16.3": [_waits_by_intensity, _waits_by_lines],
    "16.4": [_joined_two_at_a_time, _joined_row_by_row],
    "16.5": [_attended_key_by_key, _attended_by_finished_blocks],
    "16.6": [_gradients_in_loops, _gradients_of_the_rows_that_look],
    "16.7": [_faded_by_the_table, _faded_as_one_table],
    "16.8": [_twin_by_projection, _twin_by_elimination],
}


def _overtakes_word_by_word(c, L, H, d_k):
    found = 1
    while 4 * L * H * d_k * found < 2 * c:
        found += 1
    return found, max(2 * found - 1, 1)


def _words_and_a_division(room, n_global, n_local, r, G, d_k, B):
    a_word = 4 * G * d_k * B
    short = room // (a_word * (n_global + n_local))
    return short if short < r else (room - a_word * n_local * r) // (a_word * n_global)


def _waits_below_zero(n, a, b, w, F, D):
    left = 2 * D / (w * F) - 1 / a - 1 / b
    time = max(2 * n * a * b / F, w * (n * a + a * b + n * b) / D)
    return time, 1 / left


def _joined_in_place(y, lam):
    lam -= lam.max(axis=0)
    return _joined_row_by_row(y, lam)


def _joined_without_empty(y, lam):
    top = lam.max(axis=0)
    terms = np.exp(lam - top)
    total = terms.sum(axis=0)
    return (terms[..., None] * y).sum(axis=0) / total[:, None], top + np.log(total)


def _attended_twice(q, blocks):
    top = max((k[keep] @ q).max(initial=-np.inf) for k, _, keep in blocks)
    terms = [(np.exp(k @ q / np.sqrt(len(q)) - top) * keep, v) for k, v, keep in blocks]
    return sum(x @ v for x, v in terms) / sum(x.sum() for x, _ in terms)


def _attended_at_once(q, blocks):
    k, v, keep = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return _attended_key_by_key(q, [(k, v, keep)])


def _attended_and_kept(q, blocks):
    return _attended_key_by_key(q, [*blocks])


def _gradients_with_a_late_mask(q, k, v, u, lam, delta, start):
    keep = np.arange(len(q))[:, None] >= start + np.arange(len(k))
    p = np.exp(q @ k.T / q.shape[1] ** 0.5 - lam[:, None]) * keep
    g = p * (u @ v.T - delta[:, None]) / q.shape[1] ** 0.5
    return g @ k, g.T @ q, p.T @ u


def _faded_in_place(q, k, v, gamma, state, total):
    rows = np.zeros(v.shape)
    for t in range(len(q)):
        state *= gamma
        state += np.outer(k[t], v[t])
        total = gamma * total + k[t]
        rows[t] = q[t] @ state / (q[t] @ total)
    return rows, state, total


def _twin_by_the_first_keys(k, v):
    d, change = k.shape[1], np.zeros(len(k))
    change[:d], change[d] = np.linalg.solve(k[:d].T, k[d]), -1
    return v + (change / np.abs(change).max())[:, None]


MUTANTS = {
    "16.1": {
        "You rounded up before you doubled": _overtakes_word_by_word,
        "it should return two numbers": lambda c, L, H, d_k: c / (2 * L * H * d_k),
    },
    "16.2": {
        "With local layers alone 0 is divided by": _words_and_a_division,
        "A number of words is not negative": lambda room, *sizes: (
            _words_by_search(room, *sizes) or -1
        ),
    },
    "16.3": {"left of 0 and never again": _waits_below_zero},
    "16.4": {
        "changes the lam it was given": _joined_in_place,
        "−∞ − (−∞) has no value": _joined_without_empty,
    },
    "16.5": {
        "Each block can be seen once; your second loop found none": _attended_twice,
        "it keeps the blocks": (_attended_at_once, _attended_and_kept),
    },
    "16.6": {"The mask came after the exponential": _gradients_with_a_late_mask},
    "16.7": {"changes the state it was given": _faded_in_place},
    "16.8": {
        "Keys may be equal": _twin_by_the_first_keys,
        "it should be (2, 1)": lambda k, v: np.linalg.svd(k.T)[2][-1],
        "numbers that are not finite": lambda k, v: v / 0,
    },
}
