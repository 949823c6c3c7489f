"""Mutants of answers to the exercises of chapter 15, and right answers unlike the book's."""

import numpy as np

from shared_answers import CUT, cut_among


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


def _counted_closed(n_prompt, n_tokens):
    def squares(n):
        return n * (n + 1) * (2 * n + 1) // 6

    last = n_prompt + n_tokens - 1
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
    ratio = np.divide(p, q, out=np.ones(p.shape), where=q > 0)
    accepted = (q * np.minimum(1, ratio)).sum(axis=-1)
    more = np.clip(p - q, 0, None)
    total = more.sum(axis=-1, keepdims=True)
    same = np.broadcast_to(total == 0, p.shape)
    return accepted, np.where(same, p, more / np.where(total == 0, 1, total))


def _disagree_near_the_share(n, share, m):
    first = share - max(1.5e-6, 1e-4 * (share - 1 / (1 + m * (n - 1))))
    return np.roll(_flat(n, first), n // 2)


def _disagree_at_the_edge(part):
    """As much for the likeliest word as the statement allows, or as little."""

    def answer(n, share, m):
        first = share - 1e-6 if part == "most" else 1 / (1 + (m - 1e-6) * (n - 1))
        return np.append(first, np.full(n - 1, (1 - first) / (n - 1)))

    return answer


RIGHT = {
    "15.1": [_temper_by_logs, _temper_row_by_row],
    "15.2": [_kept_by_sorting],
    "15.3": [_drawn_one_by_one],
    "15.4": [_loop_by_two_walkers],
    "15.5": [_counted_closed],
    "15.6": [_beam_by_lexsort],
    "15.7": [_speculate_by_shares],
    "15.8": [
        _disagree_near_the_share,
        _disagree_at_the_edge("most"),
        _disagree_at_the_edge("least"),
    ],
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


def _kept_with_room(room):
    """Top-p that takes what is nearly reached as reached, or what nearly ties as tied."""

    def answer(p, share):
        falling = np.sort(p)[::-1]
        least = falling[np.searchsorted(np.cumsum(falling), share - room.get("share", 0))]
        return (p >= least) | np.isclose(p, least, rtol=0, atol=room.get("tie", 0))

    return answer


def _loop_by_the_meeting(following, start):
    """The tortoise's steps until it meets the hare: a multiple of the length."""
    slow, fast, n = following[start], following[following[start]], 1
    while slow != fast:
        slow, fast, n = following[slow], following[following[fast]], n + 1
    length, fast = 1, following[slow]
    while slow != fast:
        fast, length = following[fast], length + 1
    return n, length


def _counted_in_floats(n_prompt, n_tokens):
    lengths = np.arange(n_prompt, n_prompt + n_tokens, dtype=float)
    return int(n_prompt**2 + lengths[1:].sum()), int((lengths**2).sum())


def _counted_by_true_division(n_prompt, n_tokens):
    last = n_prompt + n_tokens - 1
    later = (last * (last + 1) - n_prompt * (n_prompt + 1)) // 2
    squares = [n * (n + 1) * (2 * n + 1) / 6 for n in (last, n_prompt - 1)]
    return n_prompt**2 + later, int(squares[0] - squares[1])


def _counted_by_the_theorem(n_prompt, n_tokens):
    last = n_prompt + n_tokens - 1
    return last * (last + 1) // 2, last * (last + 1) * (2 * last + 1) // 6


def _beam_of(choose):
    """All continuations, the best first, of which some are chosen."""

    def answer(totals, logs, ended, width):
        found = _beam_by_lexsort(totals, logs, ended, logs.size + len(logs))
        rows = list(zip(*(part.tolist() for part in found), strict=True))
        rows = choose(rows, totals, width)
        return tuple(np.array(part) for part in zip(*rows, strict=True))

    return answer


def _ended_behind(rows, totals, width):
    return sorted(rows, key=lambda row: (-row[2], row[1] < 0))[:width]


def _cut_first(rows, totals, width):
    best = np.argsort(-totals, kind="stable")[:width]
    return [row for row in rows if row[0] in best][:width]


def _ended_in_any_case(rows, totals, width):
    ended = [row for row in rows if row[1] < 0]
    going = [row for row in rows if row[1] >= 0][: max(0, width - len(ended))]
    return [row for row in rows if row in ended + going]


def _width_of_those_that_go_on(rows, totals, width):
    return [r for r in rows if r[1] < 0 or r in [x for x in rows if x[1] >= 0][:width]]


def _speculate_with_room(room):
    """Rows that nearly agree are taken to agree."""

    def answer(p, q):
        more = np.maximum(p - q, 0)
        total = more.sum(axis=-1, keepdims=True)
        same = total < room
        return np.minimum(p, q).sum(axis=-1), np.where(same, p, more / np.where(same, 1, total))

    return answer


def _speculate_where_some_are_rejected(p, q):
    """Rows of which all is accepted, as far as a float can tell, are taken to agree."""
    accepted, rest = _speculate_by_shares(p, q)
    return accepted, np.where(accepted[..., None] == 1, p, rest)


def _speculate_without_the_rejected(p, q):
    rest = np.where(q < p, p, 0)
    total = rest.sum(axis=-1, keepdims=True)
    shares = np.divide(rest, total, out=p.copy(), where=total > 0)
    return np.minimum(p, q).sum(axis=-1), shares


def _flat(n, first):
    return np.append(first, np.full(n - 1, (1 - first) / (n - 1)))


def _temper_by_limits(cold, hot):
    """The limits, taken too early."""

    def answer(p, tau):
        return _temper_by_logs(p, 0 if tau < cold else np.inf if tau > hot else tau)

    return answer


def _temper_with_room(p, tau):
    usual = 0 < tau < np.inf
    return _temper_by_logs(p + 1e-300 if usual else p, tau)


def _disagree_by_halves(n, share, m):
    p = 0.5 ** np.arange(1, n + 1)
    return p / p.sum()


def _kept_nearly(p, share):
    found = np.zeros(len(p), dtype=bool)
    for level in np.unique(p[p > 0])[::-1]:
        found |= p == level
        if p[found].sum() >= share - 1e-11:
            return found
    return found


def _beam_above(least):
    def beam_step(totals, logs, ended, width):
        found = [
            (-total - one, i, word)
            for i, total in enumerate(totals)
            if not ended[i]
            for word, one in enumerate(logs[i])
            if one > least
        ]
        found += [(-totals[i], i, -1) for i in np.flatnonzero(ended)]
        best = np.array(sorted(found)[:width])
        return best[:, 1].astype(int), best[:, 2].astype(int), -best[:, 0]

    return beam_step


def _beam_of_texts_that_can_go_on(totals, logs, ended, width):
    """Leaves out every text after which no word can come, those that have ended among them."""
    some = np.flatnonzero(np.isfinite(logs).any(axis=1))
    text, word, total = _beam_by_lexsort(totals[some], logs[some], ended[some], width)
    return some[text], word, total


MUTANTS = {
    "15.1": {
        "Dividing probabilities by τ changes nothing": lambda p, tau: p,
        "The softmax of probabilities was taken": lambda p, tau: (
            np.exp(p / tau) / np.exp(p / tau).sum(axis=-1, keepdims=True)
        ),
        "At 0 you took a small temperature": lambda p, tau: _temper_by_logs(p, max(tau, 1e-3)),
        "nearly as likely as the likeliest get nothing": (
            lambda p, tau: _temper_by_logs(p, tau or 1e-8)
        ),
        "words that are nearly tied are not tied": lambda p, tau: (
            _temper_by_logs(np.where(np.isclose(p, p.max(-1, keepdims=True)), p.max(), p), tau)
            if tau == 0
            else _temper_by_logs(p, tau)
        ),
        "You gave a rare word the probability 0": tuple(
            lambda p, tau, least=least: _temper_by_logs(np.where(p < least, 0, p), tau)
            for least in (1e-6, 1e-12)
        ),
        "0.001 is not 0": _temper_by_limits(0.01, np.inf),
        "1000 is not ∞": (_temper_by_limits(0, 100), _temper_with_room),
    },
    "15.2": {
        "passed was dropped; without it the rest falls short": _drops_the_crossing,
        "Only the likeliest was kept": lambda p, share: p == p.max(),
        "½ does not reach the share": (_kept_with_room({"share": 1e-5}), _kept_nearly),
        "A rare word was dropped": tuple(
            lambda p, share, least=least: _kept_by_sorting(p, share) & (p > least)
            for least in (1e-6, 1e-12)
        ),
        "they do not tie": _kept_with_room({"tie": 1e-5}),
        "and count each; you counted one of them": lambda p, share: np.array(
            [sum({x for x in p.tolist() if x > one}) < share for one in p.tolist()]
        ),
        "Those are the numbers of the words that stay": lambda *given: np.flatnonzero(
            _kept_by_sorting(*given)
        ),
    },
    "15.3": {
        "`argmax` of nothing but False is 0": _drawn_by_argmax,
        "The sums were rounded": lambda p, u: np.minimum(
            np.searchsorted(np.cumsum(p).round(12), u, side="right"), np.flatnonzero(p)[-1]
        ),
        "The sums were divided by the last one": lambda p, u: _drawn_one_by_one(
            p / np.cumsum(p)[-1], u
        ),
        "The sums went through float32": lambda p, u: _drawn_one_by_one(
            p.astype(np.float32), u.astype(np.float32)
        ),
        "0.1 exceeds only the second u": lambda p, u: _drawn_one_by_one(
            p.astype(np.float32).astype(float), u
        ),
        "an int is asked for": (
            lambda p, u: _drawn_one_by_one(p, u).astype(float),
            lambda p, u: np.array([*_drawn_one_by_one(p, u)]),
        ),
    },
    "15.4": {
        "You waited for `start` to come again": _loop_that_waits_for_start,
        "It writes 0 2 3 1 2 3 1 …": _loop_by_the_meeting,
    },
    "15.5": {
        "That is the last pass alone": lambda n, m: (
            n * n + sum(range(n + 1, n + m)),
            (n + m - 1) ** 2,
        ),
        "a float has 53 bits": (_counted_in_floats, _counted_by_true_division),
        "You wrote the prompt too": _counted_by_the_theorem,
        "Your squares have 32 bits": lambda n, m: (
            _counted_closed(n, m)[0],
            int(np.square(np.arange(n, n + m, dtype=np.int32)).sum()),
        ),
        "Without a cache you left out what the mask hides": lambda n, m: (
            _counted_closed(n, m)[0],
            sum(k * (k + 1) // 2 for k in range(n, n + m)),
        ),
        "you began with one word": lambda n, m: (
            _counted_closed(n, m)[0],
            _counted_by_the_theorem(n, m)[1],
        ),
    },
    "15.6": {
        "competes with its total alone": _beam_of_texts_that_can_go_on,
        "The same numbers as floats come out right": cut_among("15.6", 0, 1),
        "only −∞ says that a word cannot come": (_beam_above(-50.0), _beam_above(-1e9)),
        "What has ended was treated like the rest": lambda totals, logs, ended, width: (
            _beam_by_lexsort(totals, logs, np.zeros_like(ended), width)
        ),
        "came after its equals": _beam_of(_ended_behind),
        "Texts were dropped before they were continued": _beam_of(_cut_first),
        "What has ended was kept in any case": _beam_of(_ended_in_any_case),
        "More than `width` came": _beam_of(_width_of_those_that_go_on),
    },
    "15.7": {
        CUT: cut_among("15.7", 0, 1),
        "your row adds up to 0": lambda p, q: (
            np.minimum(p, q).sum(axis=-1),
            np.nan_to_num(np.maximum(p - q, 0) / np.maximum(p - q, 0).sum(axis=-1, keepdims=True)),
        ),
        "something is missing, however little": _speculate_with_room(1e-2),
        "You take rows that nearly agree as equal": (
            _speculate_with_room(1e-8),
            _speculate_with_room(1e-15),
            _speculate_where_some_are_rejected,
        ),
        "Nearly equal rows were taken for equal": _speculate_with_room(1e-4),
        "accepted in part come too often": _speculate_without_the_rejected,
    },
    "15.8": {
        "is reached. top-p drops": (
            _disagree_by_halves,
            lambda n, share, m: _flat(n, 1.001 / (1 + m * (n - 1))),
        ),
        "which is not 10⁻⁶ below 0.9": lambda n, share, m: _flat(n, share - 1e-7),
        "which min-p keeps more than one": (
            lambda n, share, m: np.full(n, 1 / n),
            lambda n, share, m: _flat(n, 0.99 * share),
            lambda n, share, m: _flat(n, share - 1e-3),
            lambda n, share, m: _flat(n, 1 / (1 + m * (n - 1))),
            lambda n, share, m: _flat(n, (1 / (1 + m * (n - 1)) + share) / 2),
        ),
        "add up to 1.000001. They": lambda n, share, m: _disagree_near_the_share(n, share, m).round(
            6
        ),
        "it should be (4,)": lambda n, share, m: np.full(n + 1, 1 / (n + 1)),
    },
}
