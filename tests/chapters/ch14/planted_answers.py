"""Mutants of answers to the exercises of chapter 14, and right answers unlike the book's."""

from itertools import permutations, product

import numpy as np


def _adamw_in_loops(x, grad, mean, square, step, rate, betas, eps, decay):
    shape = np.shape(x)
    found = [[], [], []]
    each = (np.ravel(part).tolist() for part in (x, grad, mean, square))
    for one, slope, m, s in zip(*each, strict=True):
        m += (1 - betas[0]) * (slope - m)
        s += (1 - betas[1]) * (slope * slope - s)
        one -= rate * decay * one
        move = m / (1 - betas[0] ** step) / ((s / (1 - betas[1] ** step)) ** 0.5 + eps)
        for part, value in zip(found, (one - rate * move, m, s), strict=True):
            part.append(value)
    return [np.reshape(part, shape) for part in found]


def _rates_by_halves(steps, warmup, rate, last):
    up = [rate * t / warmup for t in range(1, warmup)]
    left = max(steps - warmup, 1)
    down = [np.sin(np.pi / 2 * (steps - t) / left) ** 2 for t in range(max(warmup, 1), steps + 1)]
    down = [1.0] if warmup == steps else down
    return up + [rate * (last + (1 - last) * share) for share in down]


def _clipped_by_hypot(w, b, largest):
    norm = 0.0
    for x in [*w.flat, *b]:
        norm = np.hypot(norm, x) if np.isfinite(x) else np.inf
        if norm == np.inf:
            return np.zeros_like(w, float), np.zeros_like(b, float), norm
    if norm <= largest:
        return w, b, norm
    return w / norm * largest, b / norm * largest, norm


def _factors_one_by_one(counts):
    total = sum(int(n) for row in counts for n in row)
    return [[len(counts) * n / total for n in row] for row in counts.tolist()]


def _saved_by_exponents(grads):
    some = np.abs(np.ravel(grads)[np.ravel(grads) != 0]).tolist()
    scale = 1
    while any(scale * x <= 2**-25 for x in some):
        scale *= 2
    return sum(x <= 2**-25 for x in some), scale, sum(scale * x >= 65520 for x in some)


def _noise_by_all_tosses(beta1, T):
    found = np.empty(T)
    for t in range(1, T + 1):
        weights = beta1 ** np.arange(t)[::-1] / (beta1 ** np.arange(t)).sum()
        if t <= 8:
            moves = [np.dot(weights, tosses) for tosses in product((-1, 1), repeat=t)]
            found[t - 1] = np.sqrt(np.mean(np.square(moves)))
        else:
            found[t - 1] = np.linalg.norm(weights)
    return found


def _plateaus_by_dictionaries(p):
    V, _, N = p.shape
    losses = []
    for known in (lambda i, j: 0, lambda i, j: frozenset((i, j)), lambda i, j: (i, j)):
        rows = {}
        for i, j in product(range(V), repeat=2):
            rows[known(i, j)] = rows.get(known(i, j), np.zeros(N)) + p[i, j]
        losses.append(
            -sum(x * np.log(x / row.sum()) for row in rows.values() for x in row if x > 0)
        )
    return losses


def _spike_with_corrections(size, beta1, beta2, steps):
    mean = square = 1.0
    longest = short = 0
    for grad in [size] + [1.0] * (steps - 1):
        mean += (1 - beta1) * (grad - mean)
        square += (1 - beta2) * (grad * grad - square)
        longest = max(longest, mean / square**0.5)
        short += 2 * mean < square**0.5
    return longest, short


def _adamw_in_place(x, grad, mean, square, step, rate, betas, eps, decay):
    mean *= betas[0]
    mean += (1 - betas[0]) * grad
    return x, mean, square


def _rates_as_words(steps, warmup, rate, last):
    return "fast"


def _one_array(w, b, largest):
    return np.concatenate([w.ravel(), b])


def _in_order(function, order):
    return lambda *inputs: [function(*inputs)[i] for i in order]


def _adamw_changed(change):
    def adamw(x, grad, mean, square, step, rate, betas, eps, decay):
        mean = betas[0] * mean + (1 - betas[0]) * grad
        square = betas[1] * square + (1 - betas[1]) * grad**2
        size = np.sqrt(square / (1 - betas[1] ** step))
        move = change(grad, mean / (1 - betas[0] ** step), size, eps)
        return x - rate * move - rate * decay * x, mean, square

    return adamw


def _waits_at_zero(grad, mean, size, eps):
    return np.where(grad == 0, 0.0, mean / (size + eps))


def _cut_at_the_rate(grad, mean, size, eps):
    return np.clip(mean / (size + eps), -1, 1)


def _the_larger_below(grad, mean, size, eps):
    return mean / np.maximum(size, eps)


def _clipped_with(top, decides=lambda w, b, norm, largest: norm > largest):
    def clipped(w, b, largest):
        every = np.concatenate([w.ravel(), b])
        if not np.isfinite(every).all():
            return np.zeros(w.shape), np.zeros(b.shape), np.inf
        scale = abs(top(w, b)) or 1.0
        norm = scale * np.sqrt(((every / scale) ** 2).sum())
        share = largest / norm if decides(w, b, norm, largest) else 1.0
        return share * w, share * b, norm

    return clipped


def _largest(w, b):
    return max(np.abs(w).max(), np.abs(b).max())


def _rows_clipped(w, b, largest):
    norm = _clipped_by_hypot(w, b, largest)[2]
    if norm == np.inf:
        return np.zeros(w.shape), np.zeros(b.shape), norm
    cut = [_clipped_by_hypot(row[None], 0 * b, largest)[0][0] for row in w]
    return np.array(cut), _clipped_by_hypot(b[None], 0 * b, largest)[0][0], norm


def _saved_changed(lost=None, infinite=None):
    def saved(grads):
        first, scale, third = _saved_by_exponents(grads)
        gone = (grads != 0) & (np.abs(grads) <= 2**-25)
        first = first if lost is None else lost(grads, gone)
        return first, scale, third if infinite is None else infinite(np.abs(scale * grads))

    return saved


def _longest_is_1_at_least(size, beta1, beta2, steps):
    longest, short = _spike_with_corrections(size, beta1, beta2, steps)
    return max(1, longest), short


def _short_by_the_square(size, beta1, beta2, steps):
    square, short = 1.0, 0
    for grad in [size] + [1.0] * (steps - 1):
        square += (1 - beta2) * (grad * grad - square)
        short += square > 4
    return _spike_with_corrections(size, beta1, beta2, steps)[0], short


def _adamw_stacked(*inputs):
    return np.array(_adamw_in_loops(*inputs))


def _rates_along_a_parabola(steps, warmup, rate, last):
    left = max(steps - warmup, 1)
    done = [max(t - warmup, 0) / left for t in range(1, steps + 1)]
    up = [min(t / max(warmup, 1), 1) for t in range(1, steps + 1)]
    return [rate * u * (last + (1 - last) * (1 - d) ** 2) for u, d in zip(up, done, strict=True)]


def _never_clipped(w, b, largest):
    return w, b, np.sqrt((w**2).sum() + (b**2).sum())


def _clipped_by_a_single_number(w, b, largest):
    *clipped, norm = _clipped_by_hypot(w, b, largest)
    long = max(np.abs(w).max(), np.abs(b).max()) > largest
    return *(clipped if long or norm == np.inf else (w, b)), norm


def _clipped_after_a_division_by_1e200(w, b, largest):
    if not np.isfinite([*w.flat, *b]).all():
        return 0 * np.nan_to_num(w), 0 * np.nan_to_num(b), np.inf
    norm = np.linalg.norm(np.concatenate([w.ravel(), b]) / 1e200) * 1e200
    share = largest / norm if norm > largest else 1.0
    return share * w, share * b, norm


def _noise_by_drawing(beta1, T):
    tosses = np.random.default_rng(0).choice([-1.0, 1.0], (4000, T))
    mean, found = np.zeros(4000), []
    for t in range(T):
        mean = beta1 * mean + (1 - beta1) * tosses[:, t]
        found.append(np.sqrt(np.mean((mean / (1 - beta1 ** (t + 1))) ** 2)))
    return found


def _saved_by_rounding(*types, few=0.0):
    """Round to these types, one after the other, and double the scale until few are lost."""

    def saved(grads):
        def lost(scale):
            small = scale * grads
            with np.errstate(over="ignore"):
                for one in types:
                    small = small.astype(one)
            return (small == 0) & (grads != 0), np.isinf(small).sum()

        scale = 1
        while lost(scale)[0].mean() > few:
            scale *= 2
        return lost(1)[0].sum(), scale, lost(scale)[1]

    return saved


def _plateaus_above(least):
    """Losses of a world in which nothing comes that is as rare as `least`."""

    def left(table):
        share = np.where(table > least, table, 1) / table.sum(axis=-1, keepdims=True).clip(least)
        return -(table * np.log(share))[table > least].sum()

    return lambda p: (left(p.sum(axis=(0, 1))), left((p + p.swapaxes(0, 1)) / 2), left(p))


def _clipped_by_one_factor(w, b, largest):
    if not (np.isfinite(w).all() and np.isfinite(b).all()):
        return np.zeros(w.shape), np.zeros(b.shape), np.inf
    norm = _clipped_by_hypot(w, b, largest)[2]
    factor = largest / norm if norm > largest else 1.0
    return w * factor, b * factor, norm


def _noise_in_closed_form(beta1, T):
    left = beta1 ** np.arange(1, T + 1)
    return np.sqrt((1 - beta1) / (1 + beta1) * (1 + left) / (1 - left))


def _nothing_infinite(grads):
    return *_saved_by_exponents(grads)[:2], 0


def _rates_as_rate(steps, warmup, rate, last):
    out, t = np.full(steps, rate), np.arange(1, steps + 1)
    up = t <= warmup
    out[up] = rate * t[up] / max(warmup, 1)
    wave = (1 + np.cos(np.pi * (t[~up] - warmup) / max(steps - warmup, 1))) / 2
    out[~up] = rate * (last + (1 - last) * wave)
    return out


MUTANTS = {
    "14.1": {
        "changes": _adamw_in_place,
        "All are right, and stand in another order: x first, then mean and square.": tuple(
            _in_order(_adamw_in_loops, order) for order in list(permutations(range(3)))[1:]
        ),
        "Return them one by one, with commas between them.": _adamw_stacked,
        "Where the gradient is 0 now": _adamw_changed(_waits_at_zero),
        "Your moves are cut at the rate": _adamw_changed(_cut_at_the_rate),
        "You took the larger one of root and eps": _adamw_changed(_the_larger_below),
    },
    "14.2": {
        "goes wrong only where whole numbers are handed over": _rates_as_rate,
        "returns a string": _rates_as_words,
        "Only step 3 is wrong.": _rates_along_a_parabola,
    },
    "14.3": {
        "it should return three arrays: w, b and norm": _one_array,
        "All are right, and stand in another order: w first": tuple(
            _in_order(_clipped_by_hypot, order) for order in list(permutations(range(3)))[1:]
        ),
        "w and b come back as they were, although": _never_clipped,
        "No number is above `largest` by itself": _clipped_by_a_single_number,
        "Your norm of everyday numbers is 0.": _clipped_after_a_division_by_1e200,
        "has to be the largest of all in size": (
            _clipped_with(lambda w, b: np.abs(w).max()),
            _clipped_with(lambda w, b: max(w.max(), b.max())),
        ),
        "the norm of w alone decides": _clipped_with(
            _largest, lambda w, b, norm, largest: np.hypot.reduce(w.ravel()) > largest
        ),
        "You compared the sum of squares with the limit": _clipped_with(
            _largest, lambda w, b, norm, largest: norm**2 > largest
        ),
        "You gave each row of w a norm of its own": _rows_clipped,
    },
    "14.4": {
        "A part may have many targets": lambda counts: (
            counts * len(counts) / counts.sum(dtype=np.int16)
        )
    },
    "14.5": {
        "your infinite is 0; it should be 1. It is always 0": _nothing_infinite,
        "You counted equal gradients once": _saved_changed(lambda grads, gone: len({*grads[gone]})),
        "You counted each row once": _saved_changed(
            lambda grads, gone: np.any(gone, axis=-1).sum()
        ),
        "Numbers from 65,520 on become infinite.": _saved_changed(
            infinite=lambda sizes: (sizes >= 65536).sum()
        ),
        "You round twice, first to float32": _saved_by_rounding(np.float32, np.float16),
        "You stop when most are saved": _saved_by_rounding(np.float16, few=0.01),
    },
    "14.6": {"That is close, but not to eight digits.": _noise_by_drawing},
    "14.7": {"You leave out what is rare": (_plateaus_above(1e-3), _plateaus_above(1e-8))},
    "14.8": {
        "Your longest move is 1 at least": _longest_is_1_at_least,
        "your short is 7; it should be 4": _short_by_the_square,
    },
}

RIGHT = {
    "14.1": [_adamw_in_loops],
    "14.2": [_rates_by_halves],
    "14.3": [_clipped_by_hypot, _clipped_by_one_factor],
    "14.4": [_factors_one_by_one],
    "14.5": [_saved_by_exponents, _saved_by_rounding(np.float16)],
    "14.6": [_noise_by_all_tosses, _noise_in_closed_form],
    "14.7": [_plateaus_by_dictionaries],
    "14.8": [_spike_with_corrections],
}
