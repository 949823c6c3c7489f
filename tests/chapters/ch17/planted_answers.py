"""Planted answers to the exercises of chapter 17, wrong and right."""

from functools import partial
from itertools import combinations, pairwise, product
from statistics import mean, stdev

import numpy as np

from shared_answers import CUT, cut_among


def _votes_by_pairs(x, w_v, w_o, u, weights):
    table = [[float(word @ w_v @ w_o @ u[:, n]) for n in range(u.shape[1])] for word in x]
    logits = np.einsum("ts,sn->tn", weights, np.array(table))
    best = [row.index(max(row)) for row in table]
    return table, logits, min(best) == max(best)


def _votes_by_margins(x, w_v, w_o, u, weights):
    table = ((x @ w_v) @ w_o) @ u
    winner = np.argmax(weights[0] @ table)
    sure = bool((table[:, [winner]] >= table).all())
    return np.array(table), ((weights @ x) @ w_v @ w_o) @ u, np.bool_(sure)


def _brought_by_vectors(weights, v, w_o):
    what = weights[..., None] * (v @ w_o)[..., None, :, :]
    lengths = np.sqrt(np.einsum("...d,...d->...", what, what))
    total = lengths.sum(axis=-1)[..., None]
    return np.divide(lengths, total, out=np.zeros(lengths.shape), where=total > 0)


def _brought_by_the_gram(weights, v, w_o):
    squares = ((v @ (w_o @ w_o.T)) * v).sum(axis=-1)
    lengths = weights * np.sqrt(np.maximum(squares, 0))[..., np.newaxis, :]
    with np.errstate(all="ignore"):
        return np.nan_to_num(lengths / lengths.sum(axis=-1, keepdims=True))


def _patches_by_ways(masks, p):
    L, T = masks.shape[:2]
    if L > 20:  # too many ways to be listed
        return _patches_by_counts(masks, p)
    ways = (
        [
            way
            for way in product(range(T), repeat=L + 1)
            if way[0] == p and way[-1] == T - 1
            if all(s == t or masks[i, t, s] for i, (s, t) in enumerate(pairwise(way)))
        ]
        if T ** (L + 1) < 1e5
        else _ways(masks, p)
    )
    table = np.zeros((L + 1, T), int)
    for i in range(L + 1):
        places = {way[i] for way in ways}
        for place in places:
            table[i, place] = 2 if len(places) == 1 else 1
    return table


def _ways(masks, p):
    """All ways, grown step by step; only as many as end at each place are kept by what they met."""
    L, T = masks.shape[:2]
    steps = [masks[i] | np.eye(T, dtype=bool) for i in range(L)]
    back = [np.arange(T) == T - 1]
    for step in steps[::-1]:
        back.insert(0, (step & back[0][:, None]).any(axis=0))
    ways = [(p,)] if back[0][p] else []
    for step, good in zip(steps, back[1:], strict=True):
        ways = [(*way, t) for way in ways for t in range(T) if step[t, way[-1]] and good[t]]
    return ways


def _patches_by_counts(masks, p):
    L, T = masks.shape[:2]
    steps = [masks[i].astype(float) + np.diag(~np.diagonal(masks[i])) for i in range(L)]
    there = [np.eye(T)[p]]
    for step in steps:
        there.append(step @ there[-1])
    back = [np.eye(T)[-1]]
    for step in reversed(steps):
        back.append(back[-1] @ step)
    ways = np.array(there) * np.array(back[::-1])
    return np.where(ways == 0, 0, np.where(ways == there[-1][-1], 2, 1))


def _recovered_by_hand(clean, corrupted, patched, a, b):
    before, after = float(clean[a]) - clean[b], float(corrupted[a]) - corrupted[b]
    now = np.take(patched, a, axis=-1) - np.take(patched, b, axis=-1)
    if np.isclose(before, after, rtol=0, atol=1e-8):
        return np.zeros_like(now, dtype=float)
    return 1 - (before - now) / (before - after)


def _recovered_with_a_direction(clean, corrupted, patched, a, b):
    direction = np.eye(len(clean))[a] - np.eye(len(clean))[b]
    moved, gap = (patched - corrupted) @ direction, (clean - corrupted) @ direction
    return moved / gap if abs(gap) >= 1e-4 else moved * 0.0


def _induced_backwards(tokens, n):
    words = list(tokens)
    said = []
    for t in range(len(words)):
        answer = -1
        for s in range(t - 1, n - 2, -1):
            if words[s - n + 1 : s + 1] == words[t - n + 1 : t + 1]:
                answer = words[s + 1]
                break
        said.append(answer)
    return np.array(said, dtype=int)


def _induced_by_a_table(tokens, n):
    T = len(tokens)
    if n > T:
        return -np.ones(T, dtype=int)
    same = tokens[:, None] == tokens
    whole = np.ones((T - n + 1, T - n + 1), dtype=bool)
    for i in range(n):
        whole &= same[i : T - n + 1 + i, i : T - n + 1 + i]
    latest = np.where(np.tril(whole, -1), np.arange(T - n + 1), -1).max(axis=1)
    said = np.full(T, -1)
    said[n - 1 :] = np.where(latest < 0, -1, tokens[np.minimum(latest + n, T - 1)])
    return said


def _moves_head_by_head(y, w_o, x, gain, direction):
    size = (np.linalg.norm(x, axis=-1) / np.sqrt(x.shape[-1]))[..., np.newaxis]
    parts = [y[..., h, :, :] @ w_o[h] / size * gain @ direction for h in range(len(w_o))]
    return np.stack(parts, axis=-2)


def _moves_by_einsum(y, w_o, x, gain, direction):
    read = np.einsum("hed,d,d->he", w_o, gain, direction)
    scale = 1 / np.sqrt(np.mean(np.square(x), axis=-1))
    return np.einsum("...hte,he,...t->...ht", y, read, scale)


def _shown_in_loops(repeat, plain, draws, least):
    def ends(after, before):
        rise = [float(a - b) for a, b in zip(after, before, strict=True)]
        reach = 2 * stdev(rise) / len(rise) ** 0.5
        return mean(rise) - reach, mean(rise) + reach

    one = ends(repeat[1], repeat[0])[0] > 0
    two = one and bool(len(draws))
    for draw in draws:
        two = two and ends(repeat[1], draw)[0] > 0
    low, high = ends(plain[1], plain[0])
    return [one, two, low > 0, max(abs(low), abs(high)) < least]


def _shown_by_errors(repeat, plain, draws, least):
    def clear(rise):
        middle, error = rise.mean(), np.sqrt(rise.var(ddof=1) / rise.size)
        return middle > 2 * error, abs(middle) + 2 * error < least

    one = clear(repeat[1] - repeat[0])[0]
    below = sum(clear(repeat[1] - draw)[0] for draw in draws)
    return (one, one and 0 < len(draws) == below, *clear(plain[1] - plain[0]))


def _needed_by_size(loss, n, limit):
    def cut(heads):
        off = np.zeros(n, dtype=bool)
        off[list(heads)] = True
        return off

    single = max(loss(cut([h])) for h in range(n))
    for size in range(n + 1):
        sets = [cut(heads) for heads in combinations(range(n), size)]
        best = max(sets, key=loss)
        if loss(best) >= limit:
            return single, best
    raise AssertionError


def _needed_by_products(loss, n, limit):
    found, single = (n + 1, 0.0, None), -np.inf
    for off in product([False, True], repeat=n):
        x = loss(np.array(off))
        single = max(single, x) if sum(off) == 1 else single
        if x >= limit and (sum(off), -x) < found[:2]:
            found = sum(off), -x, off
    return [single, list(found[2])]


RIGHT = {
    "17.1": [_votes_by_pairs, _votes_by_margins],
    "17.2": [_brought_by_vectors, _brought_by_the_gram],
    "17.3": [_patches_by_ways, _patches_by_counts],
    "17.4": [_recovered_by_hand, _recovered_with_a_direction],
    "17.5": [_induced_backwards, _induced_by_a_table],
    "17.6": [_moves_head_by_head, _moves_by_einsum],
    "17.7": [_shown_in_loops, _shown_by_errors],
    "17.8": [_needed_by_size, _needed_by_products],
}


def _votes_without_the_question(x, w_v, w_o, u, weights):
    table = x @ w_v @ w_o @ u
    return table, weights @ table


def _brought_in_place(weights, v, w_o):
    weights *= np.linalg.norm(v @ w_o, axis=-1)[..., None, :]
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total > 0, total, 1)


def _brought_for_tables(weights, v, w_o):
    T, S = weights.shape
    out = np.zeros((T, S))
    for t in range(T):
        for s in range(S):
            out[t, s] = weights[t, s] * np.linalg.norm(v[s] @ w_o)
        out[t] /= out[t].sum() or 1
    return out


def _patches_by_the_last_mask(masks, p):
    return np.zeros((len(masks), masks.shape[1]), int)


def _patches_from_below(masks, p):
    return _patches_by_counts(masks, p) - 1


def _recovered_in_place(clean, corrupted, patched, a, b):
    clean -= corrupted
    patched = patched - corrupted
    return (patched[..., a] - patched[..., b]) / (clean[a] - clean[b])


def _induced_as_floats(tokens, n):
    return _induced_by_a_table(tokens, n) * 1.0


def _induced_by_keys(key, tokens, n):
    out, seen = np.full(len(tokens), -1), {}
    for t in range(n - 1, len(tokens)):
        now = key([int(x) for x in tokens[t - n + 1 : t + 1]])
        if now in seen:
            out[t] = tokens[seen[now] + 1]
        seen[now] = t
    return out


def _in_base_ten(stretch):
    return sum(x * 10**place for place, x in enumerate(stretch[::-1]))


def _in_sixteen_bits(stretch):
    return tuple(x % 2**16 for x in stretch)


def _joined_digits(stretch):
    return "".join(map(str, stretch))


def _moves_along_axis_one(y, w_o, x, gain, direction):
    root = np.sqrt((x**2).mean(axis=1, keepdims=True))
    return (y @ w_o / root * gain) @ direction


def _shown_in_words(repeat, plain, draws, least):
    return ["needed for the repeat"]


def _needed_by_numbers(loss, n, limit):
    return max(loss([h]) for h in range(n)), [True] * n


def _needed_in_bits(loss, n, limit):
    return max(loss(np.eye(n, dtype=int)[h]) for h in range(n)), [True] * n


def _patches_of_64_bits(masks, p):
    L, T = masks.shape[:2]
    steps = (masks | np.eye(T, dtype=bool)).astype(np.int64)
    there, back = [np.eye(T, dtype=np.int64)[p]], [np.eye(T, dtype=np.int64)[-1]]
    for i in range(L):
        there.append(steps[i] @ there[-1])
        back.append(back[-1] @ steps[-1 - i])
    ways = np.array(there) * np.array(back[::-1])
    return np.where(ways == 0, 0, np.where(ways == there[-1][-1], 2, 1))


MUTANTS = {
    "17.1": {"it should return three arrays": _votes_without_the_question},
    "17.2": {
        "changes the weights it was given": _brought_in_place,
        "every stack goes wrong": _brought_for_tables,
    },
    "17.3": {
        "beyond 64 bits": _patches_of_64_bits,
        "one row before the first block, and one after each": _patches_by_the_last_mask,
        "Each number is 0, 1 or 2": _patches_from_below,
    },
    "17.4": {
        "changes the clean it was given": _recovered_in_place,
        "The words lie along the last axis": lambda clean, corrupted, patched, a, b: (
            (patched[a] - patched[b] - corrupted[a] + corrupted[b])
            / (clean[a] - clean[b] - corrupted[a] + corrupted[b])
        ),
    },
    "17.5": {
        "an int is asked for": _induced_as_floats,
        "You made one number of a stretch, in base 10": partial(_induced_by_keys, _in_base_ten),
        "All tokens differ, though": partial(_induced_by_keys, _in_sixteen_bits),
        "nothing shows where one token ends": partial(_induced_by_keys, _joined_digits),
    },
    "17.6": {"Counted from the front": _moves_along_axis_one},
    "17.7": {
        "cannot be read as an array of numbers": _shown_in_words,
        "Losses may be whole numbers": cut_among("17.7", 0, 1, 2),
    },
    "17.8": {
        "asked with an array of": (_needed_by_numbers, _needed_in_bits),
    },
}

MUTANTS.setdefault("17.1", {})[CUT] = cut_among("17.1", 0, 1, 2, 3)
MUTANTS.setdefault("17.2", {})[CUT] = cut_among("17.2", 0, 1, 2)
MUTANTS.setdefault("17.4", {})[CUT] = cut_among("17.4", 0, 1, 2)
MUTANTS.setdefault("17.6", {})[CUT] = cut_among("17.6", 0, 1, 2, 3, 4)
