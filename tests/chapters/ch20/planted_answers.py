"""Mutants of answers to the exercises of chapter 20, and right answers unlike the book's."""

from decimal import Decimal
from functools import partial

import numpy as np
import scipy.optimize


def _flops_by_products(d, n_layers, n_vocab, T):
    shapes = [(d, d)] * 4 + [(d, 4 * d), (4 * d, d)]
    once = n_layers * (sum(2 * n * m for n, m in shapes) + 2 * 2 * T * d) + 2 * d * n_vocab
    numbers = n_layers * sum(n * m for n, m in shapes) + 2 * n_vocab * d
    return 3 * once, 6 * numbers


def _exponent_by_lstsq(x, loss, floor):
    table = np.stack([np.ones(len(x)), -np.log(x)], axis=1)
    return np.linalg.lstsq(table, np.log(loss - floor), rcond=None)[0][1]


def _spend_by_search(floor, a, b, alpha, beta, compute):
    def slope(u):
        return beta * b * np.exp(beta * (u - np.log(compute / 6))) - alpha * a * np.exp(-alpha * u)

    n = np.exp(scipy.optimize.brentq(slope, -60, 120, xtol=1e-12))
    d = compute / 6 / n
    return [n, d, floor + a / n**alpha + b / d**beta]


def _constants_by_cases(n, d, loss, alpha, beta):
    table = np.stack([np.ones(len(n)), 1 / n**alpha, 1 / d**beta], axis=1) / loss[:, None]
    best, found = np.inf, np.zeros(3)
    for used in ([0, 1, 2], [0, 1], [0, 2], [1, 2], [0], [1], [2]):
        some = np.zeros(3)
        some[used] = np.linalg.lstsq(table[:, used], np.ones(len(n)), rcond=None)[0]
        error = ((table @ some - 1) ** 2).sum()
        if some.min() >= 0 and error < best - 1e-15:
            best, found = error, some
    return found[0], found[1], found[2]


def _constants_by_a_short_search(n, d, loss, alpha, beta):
    def off(z):
        return float(np.sum(((z[0] + z[1] * n**-alpha + z[2] * d**-beta) / loss - 1) ** 2))

    return tuple(scipy.optimize.minimize(off, [2.0, 400.0, 400.0], bounds=[(0, None)] * 3).x)


def _misled_by_polyfit(floor, a, power, x1, x2, x3):
    losses = [floor + a / x**power for x in (x1, x2)]
    line = np.polyfit(np.log([x1, x2]), np.log(losses), 1)
    return -line[0] - power, np.exp(np.polyval(line, np.log(x3))) - floor - a / x3**power


def _width_by_sums(x, y, group, times, rng):
    names = sorted(set(group.tolist()))
    sums = np.array(
        [[np.sum(z[group == g]) for z in (np.ones(len(x)), x, y, x * x, x * y)] for g in names]
    )
    counts = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=times)
    n, sx, sy, sxx, sxy = (counts @ sums).T
    low, high = np.percentile((n * sxy - sx * sy) / (n * sxx - sx * sx), [2.5, 97.5])
    return high - low


def _width_by_lstsq(x, y, group, times, rng):
    """A loop over draws with matrices built anew: slow, and right."""
    slopes = []
    for _ in range(times):
        chosen = rng.choice(np.unique(group), size=len(np.unique(group)))
        i = [k for name in chosen for k in np.flatnonzero(group == name)]
        table = np.stack([x[i], np.ones(len(i))], axis=1)
        slopes.append(np.linalg.lstsq(table, y[i], rcond=None)[0][0])
    low, high = np.quantile(slopes, [0.025, 0.975])
    return high - low


def _missed_by_real_law(alpha, beta, away):
    a, b, compute = 300.0, 2000.0, 6e18
    n = (alpha * a * (compute / 6) ** beta / (beta * b)) ** (1 / (alpha + beta)) * np.exp(away)
    loss = a / n**alpha + b / (compute / 6 / n) ** beta
    scaled = loss / loss.min()
    table = np.stack([away**0.0, away, away**2.0], axis=1)
    _, slope, bend = np.linalg.lstsq(table, scaled, rcond=None)[0]
    return -slope / (2 * bend)


def _crossing_by_search(one, other):
    def advice(law, log_c):
        _, a, b, alpha, beta = law
        log_p = log_c - np.log(6)
        log_n = (np.log(alpha * a / (beta * b)) + beta * log_p) / (alpha + beta)
        return log_p - 2 * log_n

    def gap(log_c):
        return advice(one, log_c) - advice(other, log_c)

    at = scipy.optimize.brentq(gap, -3000, 3000, xtol=1e-12)
    return np.exp(at), np.exp(advice(one, at)), 1 if gap(at + 1) > 0 else 2


def _exponent_in_place(x, loss, floor):
    loss -= floor
    return -np.polyfit(np.log(x), np.log(loss), 1)[0]


def _exponent_without_a_sign(x, loss, floor):
    return abs(np.polyfit(np.log(x), np.log(loss - floor), 1)[0])


def _width_in_words(x, y, group, times, rng):
    return "wide"


def _width(x, y, group, times, rng, ends=(0.025, 0.975), fewer=0, by_size=False):
    names = np.unique(group)
    sums = np.array(
        [[z[group == g].sum() for z in (x**0, x, y, x * x, x * y)] for g in names.tolist()]
    )
    shares = [np.mean(group == g) for g in names] if by_size else np.ones(len(names)) / len(names)
    n, sx, sy, sxx, sxy = (rng.multinomial(len(names) - fewer, shares, size=times) @ sums).T
    with np.errstate(all="ignore"):
        slopes = (n * sxy - sx * sy) / (n * sxx - sx * sx)
    return np.diff(np.quantile(slopes[np.isfinite(slopes)], ends))[0]


def _between_2_and_98_percent(x, y, group, times, rng):
    return _width(x, y, group, times, rng, ends=(0.02, 0.98))


def _between_3_and_97_percent(x, y, group, times, rng):
    return _width(x, y, group, times, rng, ends=(0.03, 0.97))


def _one_group_fewer(x, y, group, times, rng):
    return _width(x, y, group, times, rng, fewer=1)


def _runs_by_polyfit(x, y, group, times, rng):
    """Single runs drawn, and NumPy's own line, which warns where all stand at one place."""
    drawn = rng.integers(len(x), size=(times, len(x)))
    slopes = [np.polyfit(x[one], y[one], 1)[0] for one in drawn]
    low, high = np.quantile(slopes, [0.025, 0.975])
    return high - low


def _groups_by_size(x, y, group, times, rng):
    return _width(x, y, group, times, rng, by_size=True)


def _with_a_seed_of_its_own(x, y, group, times, rng):
    return _width(x, y, group, times, np.random.default_rng(5))


def _without_a_seed(x, y, group, times, rng):
    return _width(x, y, group, times, np.random.default_rng())


def _negative_ones_dropped(rounds, n, d, loss, alpha, beta):
    table = np.stack([np.ones(len(n)), n**-alpha, d**-beta], axis=1) / loss[:, None]
    kept = [0, 1, 2]
    for _ in range(rounds):
        found = np.zeros(3)
        found[kept] = np.linalg.lstsq(table[:, kept], np.ones(len(n)), rcond=None)[0]
        kept = [place for place in kept if found[place] > 0]
    return tuple(found)


def _missed_beside_a_floor(compute):
    a, b = 477.8, 2143.0

    def missed(alpha, beta, away):
        best = (alpha * a / (beta * b) * (compute / 6) ** beta) ** (1 / (alpha + beta))
        n = best * np.exp(away)
        bend, slope, _ = np.polyfit(away, 1.8 + a / n**alpha + b / (compute / 6 / n) ** beta, 2)
        return -slope / (2 * bend)

    return missed


def _vertex_on_a_grid(alpha, beta, away):
    fitted = np.polyfit(away, np.exp(-alpha * away) / alpha + np.exp(beta * away) / beta, 2)
    grid = np.linspace(-6, 6, 20001)
    return grid[np.polyval(fitted, grid).argmin()]


def _flops_as_decimals(d, n_layers, n_vocab, T):
    return [Decimal(x) for x in _flops_by_products(d, n_layers, n_vocab, T)]


def _asks_by_difference(one, other):
    return *_crossing_by_search(one, other)[:2], 2 - int(one[3] - one[4] > other[3] - other[4])


def _exponent_above_a_little(x, loss, floor):
    return -np.polyfit(np.log(x), np.log(loss - floor + 1e-9), 1)[0]


def _exponent_of_few_digits(x, loss, floor):
    above = np.float32(loss) - np.float32(floor)
    return -np.polyfit(np.log(x), np.log(above.astype(float)), 1)[0]


def _width_of_whole_losses(x, y, group, times, rng):
    return _width_by_sums(x, y.astype(x.dtype), group, times, rng)


def _crossing_beside(place):
    def crossing(one, other):
        kind = (one, other)[place].dtype
        return _crossing_by_search(one.astype(kind), other.astype(kind))

    return crossing


def _asks_by_a_clear_lead(one, other):
    powers = [(law[3] - law[4]) / (law[3] + law[4]) for law in (one, other)]
    return *_crossing_by_search(one, other)[:2], 2 - int(powers[0] - powers[1] > 0.01)


MUTANTS = {
    "20.2": {
        "small differences count in a logarithm": (
            _exponent_above_a_little,
            _exponent_of_few_digits,
        ),
        "changes the loss it was given": _exponent_in_place,
        "The sign is lost": _exponent_without_a_sign,
    },
    "20.1": {"float() makes plain numbers of such ones.": _flops_as_decimals},
    "20.4": {
        "Several constants came out negative": partial(_negative_ones_dropped, 3),
        "fitted again, once": partial(_negative_ones_dropped, 2),
        "a search for the constants has to go on to the lowest point": _constants_by_a_short_search,
    },
    "20.6": {
        "returns a string": _width_in_words,
        "Whole numbers may come as integers": _width_of_whole_losses,
        "Which quantiles are yours?": (_between_2_and_98_percent, _between_3_and_97_percent),
        "One group too few was drawn": _one_group_fewer,
        "Larger groups were drawn more often": _groups_by_size,
        "they say little more than 14 runs": _runs_by_polyfit,
        "it is `rng` that should draw": _with_a_seed_of_its_own,
        "something beside `rng` draws": _without_a_seed,
    },
    "20.7": {
        "That is close, and four digits are compared.": (
            _missed_beside_a_floor(1e24),
            _vertex_on_a_grid,
        )
    },
    "20.8": {
        "You compared α − β": _asks_by_difference,
        "at nearly the same rate": _asks_by_a_clear_lead,
        "The same numbers as floats come out right": (_crossing_beside(0), _crossing_beside(1)),
    },
}

RIGHT = {
    "20.1": [_flops_by_products],
    "20.2": [_exponent_by_lstsq],
    "20.3": [_spend_by_search],
    "20.4": [_constants_by_cases],
    "20.5": [_misled_by_polyfit],
    "20.6": [_width_by_sums, _width_by_lstsq],
    "20.7": [_missed_by_real_law, _missed_beside_a_floor(1e21)],
    "20.8": [_crossing_by_search],
}
