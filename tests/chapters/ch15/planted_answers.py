"""Mutants of answers to the exercises of chapter 15, and right answers unlike the book's."""

import numpy as np


def _temper_by_logs(p, tau):
    with np.errstate(divide="ignore"):
        z = np.log(p) - np.log(p.max(axis=-1, keepdims=True))
    if tau == 0:
        z = np.where(z == 0, 0.0, -np.inf)
    elif np.isinf(tau):
        z = np.where(z > -np.inf, 0.0, -np.inf)
    else:
        z = z / tau
    terms = np.exp(z)
    return terms / terms.sum(axis=-1, keepdims=True)


def _temper_row_by_row(p, tau):
    rows = []
    for row in np.asarray(p).reshape(-1, p.shape[-1]).tolist():
        top = max(row)
        if tau == 0:
            powers = [float(x == top) for x in row]
        else:
            powers = [(x / top) ** (1 / tau) if x else 0.0 for x in row]
        rows.append([x / sum(powers) for x in powers])
    return np.array(rows).reshape(p.shape)


def _kept_by_sorting(p, share):
    falling = np.sort(p)[::-1]
    n = int(np.searchsorted(np.cumsum(falling), share)) + 1
    return p >= falling[n - 1]


def _drawn_one_by_one(p, u):
    found = []
    for one in u.tolist():
        total, word = 0.0, None
        for i, x in enumerate(p.tolist()):
            total += x
            word = i if x else word
            if total > one:
                break
        found.append(word)
    return np.array(found, dtype=int)


def _loop_by_two_walkers(following, start):
    slow, fast = following[start], following[following[start]]
    while slow != fast:
        slow, fast = following[slow], following[following[fast]]
    before, slow = 0, start
    while slow != fast:
        slow, fast, before = following[slow], following[fast], before + 1
    length, fast = 1, following[slow]
    while slow != fast:
        fast, length = following[fast], length + 1
    return before, length


def _counted_closed(n_prompt, n_words):
    def squares(n):
        return n * (n + 1) * (2 * n + 1) // 6

    last = n_prompt + n_words - 1
    later = last * (last + 1) // 2 - n_prompt * (n_prompt + 1) // 2
    return n_prompt**2 + later, squares(last) - squares(n_prompt - 1)


def _beam_by_lexsort(totals, logs, ended, width):
    live = (logs > -np.inf) & ~ended[:, None]
    i, word = np.nonzero(live)
    i, word = np.append(np.flatnonzero(ended), i), np.append(np.full(ended.sum(), -1), word)
    total = totals[i] + np.where(word < 0, 0, logs[i, np.maximum(word, 0)])
    order = np.lexsort((word, i, -total))[:width]
    return i[order], word[order], total[order]


def _speculate_by_shares(p, q):
    ratio = np.divide(p, q, out=np.ones_like(p), where=q > 0)
    accepted = (q * np.minimum(1, ratio)).sum(axis=-1)
    more = np.clip(p - q, 0, None)
    total = more.sum(axis=-1, keepdims=True)
    same = np.broadcast_to(total == 0, p.shape)
    return accepted, np.where(same, p, more / np.where(total == 0, 1, total))


def _disagree_near_the_share(n, share, m):
    first = share - 1e-4 * (share - 1 / (1 + m * (n - 1)))
    p = np.full(n, (1 - first) / (n - 1))
    p[n // 2] = first
    return p


RIGHT = {
    "15.1": [_temper_by_logs, _temper_row_by_row],
    "15.2": [_kept_by_sorting],
    "15.3": [_drawn_one_by_one],
    "15.4": [_loop_by_two_walkers],
    "15.5": [_counted_closed],
    "15.6": [_beam_by_lexsort],
    "15.7": [_speculate_by_shares],
    "15.8": [_disagree_near_the_share],
}


def _drops_the_crossing(p, share):
    order = np.argsort(-p, kind="stable")
    found = np.zeros(len(p), dtype=bool)
    found[order[np.cumsum(p[order]) <= share]] = True
    return found


def _drawn_by_argmax(p, u):
    return (np.cumsum(p)[None, :] > u[:, None]).argmax(axis=1)


def _loop_that_waits_for_start(following, start):
    word, n = following[start], 1
    while word != start and n < len(following):
        word, n = following[word], n + 1
    return 0, n


def _disagree_by_halves(n, share, m):
    p = 0.5 ** np.arange(1, n + 1)
    return p / p.sum()


MUTANTS = {
    "15.1": {
        "Dividing probabilities by τ changes nothing": lambda p, tau: p,
        "The softmax of probabilities was taken": lambda p, tau: (
            np.exp(p / tau) / np.exp(p / tau).sum(axis=-1, keepdims=True)
        ),
    },
    "15.2": {
        "passed was dropped; without it the rest falls short": _drops_the_crossing,
        "Only the likeliest was kept": lambda p, share: p == p.max(),
    },
    "15.3": {
        "`argmax` of nothing but False is 0": _drawn_by_argmax,
        "an int is asked for": lambda p, u: _drawn_one_by_one(p, u).astype(float),
    },
    "15.4": {
        "all words up to the first repetition": _loop_that_waits_for_start,
    },
    "15.5": {
        "That is the last pass alone": lambda n, m: (
            n * n + sum(range(n + 1, n + m)),
            (n + m - 1) ** 2,
        ),
    },
    "15.6": {
        "What has ended was treated like the rest": lambda totals, logs, ended, width: (
            _beam_by_lexsort(totals, logs, np.zeros_like(ended), width)
        ),
    },
    "15.7": {
        "your row adds up to 0": lambda p, q: (
            np.minimum(p, q).sum(axis=-1),
            np.nan_to_num(np.maximum(p - q, 0) / np.maximum(p - q, 0).sum(axis=-1, keepdims=True)),
        ),
    },
    "15.8": {
        "which top-p keeps too few": _disagree_by_halves,
        "which min-p keeps more than one": lambda n, share, m: np.full(n, 1 / n),
        "it should be (4,)": lambda n, share, m: np.full(n + 1, 1 / (n + 1)),
    },
}
