"""Planted answers to the exercises of chapter 16, wrong and right."""

from fractions import Fraction

import numpy as np

from shared_answers import CUT, cut_among


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


def _words_less_all_windows(room, n_global, n_local, r, G, d_k, B):
    left = room - 4 * G * d_k * B * n_local * r
    if left < 0:
        return 0
    return left // (4 * G * d_k * B * n_global) if n_global else np.inf


def _words_of_one_text_shared(room, n_global, n_local, r, G, d_k, B):
    return _words_by_search(room, n_global, n_local, r, G, d_k, 1) // B


def _waits_in_numbers(n, a, b, w, F, D):
    return _waits_by_intensity(n, a, b, 1, F, D)


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


def _joined_along_the_rows(y, lam):
    whole = np.logaddexp.reduce(lam, axis=1)
    return (np.exp(lam - whole[:, None])[:, :, None] * y).sum(axis=0), whole


def _joined_as_if_undivided(y, lam):
    _, whole = _joined_row_by_row(y, lam)
    return y.sum(axis=0) / np.exp(np.where(whole > -np.inf, whole, 0))[:, None], whole


def _joined_with_a_finite_least(y, lam):
    empty = (lam == -np.inf).all(0)
    low = np.where(lam == -np.inf, -1e4, lam)
    top = low.max(0)
    e = np.exp(low - top)
    out = (e[..., None] * y).sum(0) / e.sum(0)[:, None]
    out[empty] = 0
    return out, np.where(empty, -np.inf, top + np.log(e.sum(0)))


def _joined_and_repaired(y, lam):
    output, whole = _joined_without_empty(y, lam)
    return np.nan_to_num(output), whole


def _states(q, blocks, skip, hidden=-np.inf, first=-np.inf, last=lambda y, total: y / total):
    top, total, output = first, 0.0, 0.0
    for k, v, keep in blocks:
        output = output + np.zeros(v.shape[1])
        if skip(keep):
            continue
        x = np.where(keep, k @ q / np.sqrt(len(q)), hidden)
        new = max(top, x.max())
        total = np.exp(top - new) * total + np.exp(x - new).sum()
        output = np.exp(top - new) * output + np.exp(x - new) @ v
        top = new
    return last(output, total) if total != 0 else output


def _attended_with_a_guard_for_empty_blocks(q, blocks):
    return _states(q, blocks, lambda keep: len(keep) == 0)


def _attended_and_repaired(q, blocks):
    return _states(
        q, blocks, lambda keep: len(keep) == 0, last=lambda y, total: np.nan_to_num(y / total)
    )


def _attended_with_low_scores(q, blocks):
    return _states(q, blocks, lambda keep: not keep.any(), hidden=-1e4)


def _attended_below_hidden_scores(q, blocks):
    top, total, output = -np.inf, 0.0, 0.0
    for k, v, keep in blocks:
        output = output + np.zeros(v.shape[1])
        if len(k):
            x = k @ q / np.sqrt(len(q))
            new = max(top, x.max())
            terms = np.exp(x - new) * keep
            total = np.exp(top - new) * total + terms.sum()
            output = np.exp(top - new) * output + terms @ v
            top = new
    return output / total if total else output


def _attended_from_the_newest(q, blocks):
    top, total, output = -np.inf, 0.0, 0.0
    for k, v, keep in blocks:
        output = output + np.zeros(v.shape[1])
        if not keep.any():
            continue
        x = k[keep] @ q / np.sqrt(len(q))
        factor, top = np.exp(top - x.max()), x.max()
        total = factor * total + np.exp(x - top).sum()
        output = factor * output + np.exp(x - top) @ v[keep]
    return output / total if total else output


def _attended_until_none(q, blocks):
    top, total, output = -np.inf, 0.0, 0.0
    for k, v, keep in blocks:
        output = output + np.zeros(v.shape[1])
        if not keep.any():
            break
        x = k[keep] @ q / np.sqrt(len(q))
        new = max(top, x.max())
        total = np.exp(top - new) * total + np.exp(x - new).sum()
        output = np.exp(top - new) * output + np.exp(x - new) @ v[keep]
        top = new
    return output / total if total else output


def _attended_and_divided_again(q, blocks):
    top, total, y = -np.inf, 0.0, 0.0
    for k, v, keep in blocks:
        y = y + np.zeros(v.shape[1])
        if keep.any():
            x = k[keep] @ q / np.sqrt(len(q))
            new = max(top, x.max())
            total = np.exp(top - new) * total + np.exp(x - new).sum()
            y = (np.exp(top - new) * y + np.exp(x - new) @ v[keep]) / total
            top = new
    return y


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


def _gradients(q, k, v, u, lam, delta, start, scale, weights=None, end=None):
    keep = np.arange(len(q))[:, None] >= start + np.arange(len(k))
    keep[len(q) if end is None else end :] = False
    x = np.where(keep, scale * q @ k.T, -np.inf)
    p = np.exp(x - lam[:, None]) if weights is None else weights(x)
    g = scale * p * (u @ v.T - delta[:, None])
    return g @ k, g.T @ q, p.T @ u


def _gradients_without_a_scale(q, k, *rest):
    return _gradients(q, k, *rest, scale=1)


def _gradients_scaled_by_values(q, k, v, *rest):
    return _gradients(q, k, v, *rest, scale=v.shape[1] ** -0.5)


def _gradients_divided_by_sums(q, k, v, u, lam, *rest):
    sums = np.exp(lam)[:, None]
    return _gradients(
        q, k, v, u, lam, *rest, scale=q.shape[1] ** -0.5, weights=lambda x: np.exp(x) / sums
    )


def _gradients_with_sums_along_keys(q, k, v, u, lam, *rest):
    return _gradients(
        q, k, v, u, lam, *rest, scale=q.shape[1] ** -0.5, weights=lambda x: np.exp(x - lam)
    )


def _gradients_with_low_scores(q, k, v, u, lam, delta, start):
    keep = np.tri(len(q), len(k), -start, dtype=bool)
    p = np.exp(np.where(keep, q @ k.T / q.shape[1] ** 0.5, -1e4) - lam[:, None])
    g = p * (u @ v.T - delta[:, None]) / q.shape[1] ** 0.5
    return g @ k, g.T @ q, p.T @ u


def _gradients_of_own_rows(q, k, v, u, lam, delta, start):
    end = start + len(k)
    return _gradients(q, k, v, u, lam, delta, start, scale=q.shape[1] ** -0.5, end=end)


def _gradients_with_start_turned_round(q, k, v, u, lam, delta, start):
    keep = np.tri(len(q), len(k), start, dtype=bool)
    p = np.exp(np.where(keep, q @ k.T / q.shape[1] ** 0.5, -np.inf) - lam[:, None])
    g = p * (u @ v.T - delta[:, None]) / q.shape[1] ** 0.5
    return g @ k, g.T @ q, p.T @ u


def _faded_afterwards(q, k, v, gamma, state, total):
    rows = np.zeros(v.shape)
    for t in range(len(q)):
        state, total = state + np.outer(k[t], v[t]), total + k[t]
        rows[t] = q[t] @ state / (q[t] @ total)
        state, total = gamma * state, gamma * total
    return rows, state, total


def _faded_once_more(q, k, v, gamma, state, total):
    rows, state, total = _faded_as_one_table(q, k, v, gamma, state, total)
    return rows, gamma * state, gamma * total


def _faded_in_new_rows_alone(q, k, v, gamma, state, total):
    rows = _faded_as_one_table(q, k, v, gamma, 0 * state, 0 * total)[0]
    return rows, *_faded_as_one_table(q, k, v, gamma, state, total)[1:]


def _faded_by_logarithms(q, k, v, gamma, state, total):
    rows, log = np.zeros(v.shape), np.log(gamma)
    for t in range(len(q)):
        back, older = np.exp(np.arange(t, -1, -1) * log), np.exp((t + 1) * log)
        weights = back * (k[: t + 1] @ q[t])
        below = weights.sum() + older * (q[t] @ total)
        rows[t] = (weights @ v[: t + 1] + older * (q[t] @ state)) / below
    back, older = np.exp(np.arange(len(q) - 1, -1, -1) * log), np.exp(len(q) * log)
    return rows, (back[:, None] * k).T @ v + older * state, back @ k + older * total


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


def _twin_by_least_squares(k, v):
    d, change = k.shape[1], np.zeros(len(k))
    change[:d], change[d] = np.linalg.lstsq(k[:d].T, k[d], rcond=None)[0], -1
    return v + (change / np.abs(change).max())[:, None]


def _twin_in_few_digits(k, v):
    change = np.linalg.svd(k.T.astype(np.float32))[2][-1].astype(float)
    return v + (change / np.abs(change).max())[:, None]


def _twin_by_the_largest(k, v):
    """Divided by the largest number, with its sign: another may be a thousand times as large."""
    change = np.linalg.svd(k.T)[2][-1]
    return v + (change / change.max())[:, None]


def _twin_as_values(k, v):
    out = v.copy()
    out[:, 0] = _twin_by_projection(k.astype(float), v.astype(float))[:, 0]
    return out


def _twin_as_keys(k, v):
    change = np.zeros(v.shape, dtype=k.dtype)
    change[...] = _twin_by_projection(k.astype(float), v.astype(float)) - v
    return v + change


MUTANTS = {
    "16.1": {
        "You rounded up before you doubled": _overtakes_word_by_word,
        "your second number is one too large": lambda c, L, H, d_k: (
            _overtakes_by_search(c, L, H, d_k)[0],
            max(c // (L * H * d_k), 1),
        ),
        "it should return two numbers": lambda c, L, H, d_k: c / (2 * L * H * d_k),
    },
    "16.2": {
        "With local layers alone 0 is divided by": _words_and_a_division,
        "the 16 bits of a number are two bytes": lambda room, *sizes: _words_by_search(
            room // 8, *sizes
        ),
        "you counted r in all": lambda room, n_global, n_local, r, G, d_k, B: (
            _words_by_search(room, n_global, n_local, r, G, d_k, B)
            if n_global == 0 or room // (4 * G * d_k * B) < (n_global + n_local) * r
            else (room // (4 * G * d_k * B) - r) // n_global
        ),
        "you counted r + 1": lambda room, n_global, n_local, r, *sizes: _words_by_search(
            room, n_global, n_local, r + 1, *sizes
        ),
        "what is divided is the room": _words_of_one_text_shared,
        "You found no room unless every local layer has its r words": _words_less_all_windows,
        "∞ comes from an overflow or a division by 0, unless it was written": lambda *_: np.inf,
        "A number of words is not negative": lambda room, *sizes: (
            _words_by_search(room, *sizes) or -1
        ),
    },
    "16.3": {
        "left of 0 and never again": _waits_below_zero,
        "Numbers were counted in place of bytes": _waits_in_numbers,
        "`//` and `int` do that": lambda *sizes: tuple(
            x // 1 if x < np.inf else x for x in _waits_by_intensity(*sizes)
        ),
    },
    "16.4": {
        "changes the lam it was given": _joined_in_place,
        "A row without a key in any part became nan: −∞ − (−∞) has no value": _joined_without_empty,
        "your λ is nan": _joined_and_repaired,
        "You put −10,000 in place of −∞": _joined_with_a_finite_least,
        "it goes over the parts of a row": _joined_along_the_rows,
        "You took y for values that are summed": _joined_as_if_undivided,
    },
    "16.5": {
        "Each block can be seen once; your second loop found none": _attended_twice,
        "it keeps the blocks": (_attended_at_once, _attended_and_kept),
        "A block without a visible key need not be empty": _attended_with_a_guard_for_empty_blocks,
        "to put 0 for it at the end": _attended_and_repaired,
        "The visible scores lie near −100,000": _attended_with_low_scores,
        "The largest score of the newest block with a key": _attended_from_the_newest,
        "You looked for the largest score among hidden keys": _attended_below_hidden_scores,
        "You stopped at a block without a visible key": _attended_until_none,
        "is divided again at the next one": _attended_and_divided_again,
    },
    "16.6": {
        "The mask came after the exponential": _gradients_with_a_late_mask,
        "1/√d_k is missing everywhere": _gradients_without_a_scale,
        "the width of the values": _gradients_scaled_by_values,
        "subtract before there is an exponential": _gradients_divided_by_sums,
        "λ belongs to rows": _gradients_with_sums_along_keys,
        "λ of a row may be as low": _gradients_with_low_scores,
        "All later rows attend to these keys too": _gradients_of_own_rows,
        "You subtracted `start`": _gradients_with_start_turned_round,
    },
    "16.7": {
        "changes the state it was given": _faded_in_place,
        "You fade after each word": _faded_afterwards,
        "faded once more than your rows needed": _faded_once_more,
        "Your rows leave out the words before": _faded_in_new_rows_alone,
        "exponentials of n times its logarithm": _faded_by_logarithms,
    },
    "16.8": {
        "an array of integers cuts off the fractions": (_twin_as_values, _twin_as_keys),
        "Keys may be equal": (_twin_by_the_first_keys, _twin_by_least_squares),
        "That is nearly the same state": _twin_in_few_digits,
        "choose a smaller one": _twin_by_the_largest,
        "it should be (2, 1)": lambda k, v: np.linalg.svd(k.T)[2][-1],
        "numbers that are not finite": lambda k, v: v / 0,
    },
}

MUTANTS.setdefault("16.4", {})[CUT] = cut_among("16.4", 0, 1)
MUTANTS.setdefault("16.6", {})[CUT] = cut_among("16.6", 0, 1, 2, 3, 4, 5)
MUTANTS.setdefault("16.7", {})[CUT] = cut_among("16.7", 0, 1, 2, 4, 5)
