"""Planted answers to the exercises of chapter 19, wrong and right."""

import math
from fractions import Fraction

import numpy as np

# Right answers, by other ways than the book's


def _reads_by_softmax(v, M):
    def weights(*scores):
        e = np.exp(np.array(scores) - max(scores))
        return e / e.sum()

    def counted(n):
        return Fraction(M * n, M + n)

    n = len(v)
    with_sink = weights(math.log(M), *[0.0] * n)
    low, high = 0, 1
    while high - counted(high) < Fraction(1, 2):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        good = middle - counted(middle) < Fraction(1, 2)
        low, high = (middle, high) if good else (low, middle)
    return np.array([weights(*[0.0] * n) @ v, M * (with_sink[1:] @ v), low])


def _reads_by_a_root(v, M):
    most = (1 + math.isqrt(8 * M + 1)) // 4
    return sum(v) / len(v), sum(v) / (1 + len(v) / M), most - (2 * most**2 - most == M)


def _rows_by_a_dict(text):
    groups = [part.strip().split(" ") for part in text.split(";")]
    move, q_of = {"L": -1, "S": 0, "R": 1}, {"H": len(groups)}
    table = np.empty((len(groups), len(groups[0]), 3))
    for q in range(len(groups)):
        q_of["ABCDEFG"[q]] = q
    for q, group in enumerate(groups):
        for a in range(len(group)):
            w, d, r = group[a]
            table[q, a] = move[d], q_of[r], float(w) - a
    return table.reshape(-1, 3)


def _rows_as_lists(text):
    n, out = text.count(";") + 1, []
    for group in text.split(";"):
        for a, triple in enumerate(group.split()):
            state = n if triple[2] == "H" else ord(triple[2]) - ord("A")
            out += [[(triple[1] == "R") - (triple[1] == "L"), state, int(triple[0]) - a]]
    return out


def _doubling_with_other_states(b):
    """A reads the leading digit; F and G carry 0 and 1; E is never reached."""
    right = ["0LF"] + [f"{s}RB" for s in range(1, b + 1)]
    never = ["0SH"] * (b + 1)
    back = [
        ["0RH" if not c else "2RH"]
        + [f"{(2 * v + c) % b + 1}L{'FG'[(2 * v + c) >= b]}" for v in range(b)]
        for c in (0, 1)
    ]
    return ";".join(map(" ".join, [right, right, never, never, never, *back]))


def _doubling_that_walks_back(b):
    """Doubles in B and C, then walks to the end of the word and halts in D."""
    table = {"A": "0LB", "B": "0RD", "C": "2RD", "D": "0LH"}
    for s in range(1, b + 1):
        table["A"] += f" {s}RA"
        table["D"] += f" {s}RD"
        for name, twice in (("B", 2 * s - 2), ("C", 2 * s - 1)):
            symbol, after = (twice + 1, "B") if twice < b else (twice - b + 1, "C")
            table[name] += f" {symbol}L{after}"
    return "; ".join(table.values())


def _visits_by_tapes(cells, writes):
    tape, written, means, changes = {}, {}, [], []
    for cell, symbol in zip(np.asarray(cells).tolist(), np.asarray(writes).tolist(), strict=True):
        past = written.setdefault(cell, [])
        means.append(np.mean(past) if past else 0.0)
        changes.append(symbol - tape.get(cell, 0))
        tape[cell] = symbol
        past.append(symbol)
    return means, changes


def _visits_by_a_table(cells, writes):
    cells, writes = np.asarray(cells, float), np.asarray(writes, float)
    T = len(cells)
    same = (cells[:, None] == cells) & np.tri(T, k=-1, dtype=bool)
    last = np.where(same, np.arange(T), -1).max(axis=1)
    held = np.where(last >= 0, writes[last], 0)
    return same @ writes / np.maximum(same.sum(axis=1), 1), writes - held


def _visits_on_an_array(cells, writes):
    """Cells are used as an index, shifted so that the leftmost one is 0."""
    at = cells - cells.min()
    tape, total, times = (np.zeros(at.max() + 1) for _ in range(3))
    means, changes = [], []
    for cell, symbol in zip(at, writes, strict=True):
        means.append(total[cell] / times[cell] if times[cell] else 0)
        changes.append(symbol - tape[cell])
        tape[cell] = symbol
        total[cell] += symbol
        times[cell] += 1
    return np.array(means), np.array(changes)


def _failure_by_whole_numbers(beta, p):
    def near(x):
        sign, x, shift = (-1 if x < 0 else 1), abs(x), max(abs(x).bit_length() - p, 0)
        low, rest = divmod(x, 2**shift)
        up = 2 * rest > 2**shift or (2 * rest == 2**shift and low % 2 == 1)
        return sign * (low + up) * 2**shift

    def score(P, C):
        product = near(near(2 * beta * P) * C)
        return near(near(product - near(beta * near(P * P))) - near(beta * near(C * C)))

    P = 1
    while score(P, P) > max(score(P, P - 1), score(P, P + 1)):
        P += 1
    return P


def _failure_on_the_right_alone(beta, p):
    """Where P − 1 ties or wins, P + 1 does so at an address no larger; tried for all β and p."""
    P = 1
    while True:
        own, right = (_score_in_fractions(beta, p, P, C) for C in (P, P + 1))
        if right >= own:
            return np.float64(P)
        P += 1


def _score_in_fractions(beta, p, P, C):
    def near(x):
        if x == 0:
            return 0
        unit = 2.0 ** (math.floor(math.log2(abs(x))) + 1 - p)
        return round(x / unit) * unit

    product = near(near(beta * P * 2) * C)
    return near(near(product - near(near(P * P) * beta)) - near(near(C * C) * beta))


def _steep_by_atanh_like(n, V, gamma):
    votes = 2 - n % 2
    if gamma > V or (gamma >= V and n > 1):
        B = float("inf")
    else:
        others = (V - gamma) / gamma if gamma else 0
        B = 0.0 if n == 1 or others >= n - 1 else 0.5 * (math.log(n - 1) - math.log(others))
    return votes / n, B, np.bool_(votes * V >= gamma * n)


def _steep_by_halving(n, V, gamma):
    def reach(B):
        return V / (1 + (n - 1) * np.exp(-2 * B))

    margin = (2.0 if n % 2 == 0 else 1.0) / n
    low, high = 0.0, 400.0
    if gamma > V or (gamma == V and n > 1):
        return margin, np.inf, margin * V >= gamma
    if reach(0.0) >= gamma:
        return margin, 0.0, margin * V >= gamma
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if reach(middle) >= gamma else (middle, high)
    return [margin, high, float(margin * V >= gamma)]


def _carries_by_numbers(m, sums, digits):
    n = len(sums)
    whole = sum(int(s) << i for i, s in enumerate(sums))
    shown = sum(int(d) << i for i, d in enumerate(digits))
    fits = [(whole + c) >> n for c in range(m) if (whole + c) % 2**n == shown]
    return np.array([fits[0], fits[-1], math.ceil(math.log2(m))])


def _carries_by_sets(m, sums, digits):
    fits = set(range(m))
    for s, d in zip(sums, digits, strict=True):
        fits = {(s + c - d) / 2 for c in fits if (s + c - d) % 2 == 0}
    return min(fits), max(fits), len(f"{m - 1:b}")


def _sharp_by_newton(S, error):
    beta = max(math.log(2 * (S - 1) / error), 0.02)
    k = np.arange(1, 400)
    for _ in range(200):
        e = np.exp(-beta * k**2)
        beta = max(beta + (2 * (S - 1) * e.sum() - error) / (2 * (S - 1) * (k**2 * e).sum()), 1e-3)
    return beta


def _sharp_by_halving_logs(S, error):
    low, high = math.log(1e-3), math.log(50)
    while high - low > 1e-10:
        middle = (low + high) / 2
        leak = sum(2 * (S - 1) * math.exp(-math.exp(middle) * k * k) for k in range(1, 300))
        low, high = (low, middle) if leak <= error else (middle, high)
    return np.array([math.exp(high)])


def _sharp_to_five_digits(S, error):
    return float(f"{_sharp_by_newton(S, error):.4e}")


def _sharp_rounded_up(S, error):
    unit = 10.0 ** (math.floor(math.log10(_sharp_by_newton(S, error))) - 4)
    return math.ceil(_sharp_by_newton(S, error) / unit) * unit


RIGHT = {
    "19.1": [_reads_by_softmax, _reads_by_a_root],
    "19.2": [_rows_by_a_dict, _rows_as_lists],
    "19.3": [_doubling_with_other_states, _doubling_that_walks_back],
    "19.4": [_visits_by_tapes, _visits_by_a_table, _visits_on_an_array],
    "19.5": [_failure_by_whole_numbers, _failure_on_the_right_alone],
    "19.6": [_steep_by_atanh_like, _steep_by_halving],
    "19.7": [_carries_by_numbers, _carries_by_sets],
    "19.8": [
        _sharp_by_newton,
        _sharp_by_halving_logs,
        _sharp_to_five_digits,
        _sharp_rounded_up,
    ],
}


# Wrong answers


def _most(M):
    most = (1 + math.isqrt(8 * M + 1)) // 4
    return most - (2 * most**2 - most == M)


def _reads(first=np.mean, second=lambda v, M: M * v.sum() / (M + len(v)), most=_most):
    return lambda v, M: (first(v), second(v, M), most(M))


def _reads_by_rounding(M):
    """Python rounds one half to the even neighbour."""
    return next(n for n in range(10**7) if round(M * (n + 1) / (M + n + 1)) != n + 1)


def _reads_up_to_the_length(v, M):
    good = [n for n in range(len(v) + 1) if 2 * n * n < M + n]
    return v.mean(), M * v.sum() / (M + len(v)), max(good)


def _reads_in_place(v, M):
    v *= M / (M + len(v))
    return v.mean() * (M + len(v)) / M, v.sum(), _most(M)


def _rows(change=lambda w, a: w - a, state=None, move="LSR".index):
    def rows(text):
        groups = [group.split() for group in text.split(";")]
        name = state or (lambda r: len(groups) if r == "H" else ord(r) - 65)
        return [
            [move(d) - 1, name(r), change(int(w), a)]
            for group in groups
            for a, (w, d, r) in enumerate(group)
        ]

    return rows


def _doubling(go="0LB", end=("0SH", "2SH"), digit=lambda v, c, b: (2 * v + c) % b, carries=None):
    def doubling(b):
        on = carries or (lambda v, c, b: (2 * v + c) // b)
        a = " ".join([go, *(f"{s}RA" for s in range(1, b + 1))])
        states = [
            " ".join([end[c], *(f"{digit(v, c, b) + 1}L{'BC'[on(v, c, b)]}" for v in range(b))])
            for c in (0, 1)
        ]
        return "; ".join([a, *states])

    return doubling


def _doubling_of_nonzero_digits(b):
    """Digits are taken for their own symbols, so 0 and the blank are one."""
    a, low, high = ["0LB"], ["0SH"], ["1SH"]
    for v in range(1, b):
        a.append(f"{v}RA")
        low.append(f"{2 * v % b}L{'BC'[2 * v // b]}")
        high.append(f"{(2 * v + 1) % b}L{'BC'[(2 * v + 1) // b]}")
    return "; ".join(map(" ".join, [a, low, high]))


def _doubling_of_symbols(b):
    """The symbol s is read and written as the digit s."""
    states = [["0LB", *(f"{s}RA" for s in range(1, b + 1))], ["0SH"], ["1SH"]]
    for s in range(1, b + 1):
        for carry in (0, 1):
            onward, kept = divmod(2 * s + carry, b)
            states[carry + 1].append(f"{kept}L{'BC'[onward == 1]}")
    return "; ".join(map(" ".join, states))


def _visits(mean=np.mean, content=lambda past: past[-1], seen=lambda cells, t: cells[:t]):
    def visits(cells, writes):
        means, changes = [], []
        for t in range(len(cells)):
            past = writes[: len(seen(cells, t))][seen(cells, t) == cells[t]]
            means.append(mean(past) if len(past) else 0)
            changes.append(writes[t] - (content(past) if len(past) else 0))
        return means, changes

    return visits


def _visits_on_a_list(cells, writes):
    """The tape is an array as long as the text, and a cell an index of it."""
    means, _ = _visits_by_tapes(cells, writes)
    tape, changes = np.zeros(len(cells)), []
    for cell, symbol in zip(cells.astype(int), writes, strict=True):
        changes.append(symbol - tape[cell])
        tape[cell] = symbol
    return means, changes


def _visits_halfway(cells, writes):
    mean, means = {}, []
    for cell, symbol in zip(cells.tolist(), writes.tolist(), strict=True):
        means.append(mean.get(cell, 0))
        mean[cell] = (mean[cell] + symbol) / 2 if cell in mean else symbol
    return means, _visits_by_tapes(cells, writes)[1]


def _visits_in_whole_numbers(cells, writes):
    means, changes = _visits_by_tapes(cells, writes)
    kept = np.zeros_like(writes)
    kept[:] = means
    return kept, changes


def _failure(score=None, wins=np.greater_equal, rint=np.rint):
    def failure(beta, p):
        def near(x):
            m, e = np.frexp(x)
            return np.ldexp(rint(m * 2.0**p), e - p)

        def given(P, C):
            product = near(near(2 * beta * P) * C)
            return near(near(product - near(beta * near(P * P))) - near(beta * near(C * C)))

        at = np.arange(1.0, 2 ** (p / 2 + 3))
        made = (lambda P, C: score(near, beta, P, C)) if score else given
        own = made(at, at)
        lost = wins(made(at, at - 1), own) | wins(made(at, at + 1), own)
        return int(at[lost.argmax()])

    return failure


def _squares_rounded_once(near, beta, P, C):
    product = near(near(2 * beta * P) * C)
    return near(near(product - near(beta * P * P)) - near(beta * C * C))


def _failure_against_zero(beta, p):
    P = 1
    while max(_score_in_fractions(beta, p, P, C) for C in (P - 1, P + 1)) < 0:
        P += 1
    return P


def _times_at_the_end(near, beta, P, C):
    return near(beta * near(near(near(near(2 * P) * C) - near(P * P)) - near(C * C)))


def _steep(margin=lambda n: (2 - n % 2) / n, B=None, has=None):
    def steep(n, V, gamma):
        _, needed, reached = _steep_by_atanh_like(n, V, gamma)
        made = has(n, V, gamma) if has else reached
        return margin(n), B(n, V, gamma) if B else needed, made

    return steep


def _carries(m, sums, digits, of=None, columns=lambda m: (m - 1).bit_length()):
    low, high, _ = _carries_by_sets(m, sums, digits)
    return (low, high, columns(m)) if of is None else (*of(m, sums, digits), columns(m))


def _carries_that_came_in(m, sums, digits):
    low, high, _ = _carries_by_sets(m, sums, digits)
    left = sum(int(s - d) << i for i, (s, d) in enumerate(zip(sums, digits, strict=True)))
    return 2 ** len(sums) * low - left, 2 ** len(sums) * high - left


def _carries_into_the_last(m, sums, digits):
    return [2 * c + digits[-1] - sums[-1] for c in _carries_by_sets(m, sums, digits)[:2]]


def _carries_below_two(m, sums, digits):
    fits = {0, 1}
    for s, d in zip(sums, digits, strict=True):
        fits = {(s + c) // 2 for c in fits if (s + c) % 2 == d}
    return min(fits, default=0), max(fits, default=0)


def _carries_of_two(m, sums, digits):
    """The rule of the adder for two summands."""
    carry = int(sums[-1] > digits[-1])
    return carry, carry, 1


def _sharp(weight=lambda beta, k: np.exp(-beta * k**2), sides=2, most=lambda S: S - 1, top=400):
    def sharp(S, error):
        low, high, k = 0.0, 60.0, np.arange(1.0, top)
        for _ in range(100):
            beta = (low + high) / 2
            leak = sides * most(S) * weight(beta, k).sum()
            low, high = (beta, high) if leak > error else (low, beta)
        return high

    return sharp


def _shares(beta, k):
    weights = np.exp(-beta * k**2)
    return weights / (1 + 2 * weights.sum())


MUTANTS: dict[str, dict[str, object]] = {
    "19.1": {
        "changes the v it was given": _reads_in_place,
        "its value is 0": _reads(second=lambda v, M: (M * v.sum() + M * M) / (M + len(v))),
        "is not below 1/2": _reads(most=_reads_by_rounding),
        "k stands below the line as well": _reads(most=lambda M: math.isqrt(M // 2)),
        "You stopped at the length of v": _reads_up_to_the_length,
        "The largest k is 0 if there is none": lambda v, M: (
            v.mean(),
            M * v.sum() / (M + len(v)),
            _most(M) or None,
        ),
        "A number of tokens is whole": _reads(most=lambda M: 0.25 + (1 + 8 * M) ** 0.5 / 4),
        "and stand in another order": lambda v, M: _reads_by_a_root(v, M)[::-1],
        "it should return three numbers": lambda v, M: M * v.sum() / (M + len(v)),
    },
    "19.2": {
        "A change is below 0 where": _rows(change=lambda w, a: abs(w - a)),
        "H got the number of its letter": _rows(state=lambda r: ord(r) - 65),
        "A machine that stays was moved to the left": _rows(move=lambda d: 2 * (d == "R")),
        "out of bounds for uint8": lambda text: np.array(_rows_as_lists(text), np.uint8),
        "cannot be read as an array of numbers": lambda text: [t[::-1] for t in text.split()],
    },
    "19.3": {
        "returns a list, not a string": lambda b: _doubling()(b).split("; "),
        "the table has 3 triples for each state": lambda b: _doubling()(2),
        "the table has 2 triples for each state": _doubling_of_nonzero_digits,
        "and no state C": lambda b: _doubling()(b).rpartition(";")[0],
        "A triple is a string of three": lambda b: _doubling()(b).lower(),
        "one to seven groups": (
            lambda b: "",
            lambda b: _doubling()(b) + "; 0SH",
            lambda b: "; ".join([_doubling()(b), *[_doubling()(b).partition(";")[0]] * 5]),
        ),
        "Only one group was found": (
            lambda b: _doubling()(b).replace("; ", "\n"),
            lambda b: _doubling()(b).replace(";", ","),
        ),
        "The last group is empty": lambda b: _doubling()(b) + ";",
        "0 to b, the blank first": (
            lambda b: _doubling()(b).replace("2", "9"),
            lambda b: "; ".join(g.partition(" ")[2] for g in _doubling()(b).split("; ")),
        ),
        "You took the symbol s for the digit s": _doubling_of_symbols,
        "A carry goes on as it should": _doubling(digit=lambda v, c, b: 2 * v % b),
        "that is exactly b carries": _doubling(carries=lambda v, c, b: int(2 * v + c > b)),
        "without halting": lambda b: " ".join(f"{s}SA" for s in range(b + 1)),
    },
    "19.4": {
        "A mean weighs all visits alike": _visits_halfway,
        "−1 is the last place": _visits_on_a_list,
        "You took the mean over all earlier steps": (
            lambda c, w: (
                [w[:t].mean() if t else 0 for t in range(len(c))],
                _visits_by_tapes(c, w)[1],
            )
        ),
        "an array of whole numbers that is written into": _visits_in_whole_numbers,
        "A symbol that was written twice": _visits(mean=lambda past: np.mean(list(set(past)))),
        "are two cells": lambda c, w: _visits_by_tapes(np.abs(c), w),
        "and you took the first": _visits(content=lambda past: past[0]),
        "It begins with 0/0": lambda c, w: (
            np.array([w[:t][c[:t] == c[t]].sum() / (c[:t] == c[t]).sum() for t in range(len(c))]),
            w,
        ),
    },
    "19.5": {
        "A neighbour with the same score": _failure(wins=np.greater),
        "you took the larger": _failure(rint=lambda x: np.floor(x + 0.5)),
        "squares alone begin to fail": _failure(score=_times_at_the_end),
        "not with 0: rounding": _failure_against_zero,
        "Round the square first": _failure(score=_squares_rounded_once),
        "You rounded to float32": lambda beta, p: _failure()(beta, 24),
        "as well. Round after each": lambda beta, p: -1,
    },
    "19.6": {
        "such votes differ by two at least": _steep(margin=lambda n: 1 / n),
        "½ ln n is how B grows": _steep(
            B=lambda n, V, g: np.log(n) / 2 if g < V or (n == 1 and g == V) else np.inf
        ),
        "float division by zero": lambda n, V, gamma: (
            (2 - n % 2) / n,
            max(0, math.log(gamma * (n - 1) / (V - gamma)) / 2),
            (2 - n % 2) * V >= n * gamma,
        ),
        "is not asked: with equal scores": _steep(has=lambda n, V, g: g <= V),
        "a margin of 2V/n": _steep(has=lambda n, V, g: g <= V / n),
        "B is np.inf if no B is enough": lambda n, V, gamma: (
            (2 - n % 2) / n,
            None if gamma >= V else _steep_by_halving(n, V, gamma)[1],
            (2 - n % 2) * V >= n * gamma,
        ),
        "You never say True": _steep(has=lambda n, V, g: False),
        "which cannot be read": _steep(has=lambda n, V, g: "yes"),
    },
    "19.7": {
        "you gave those that came into": lambda *x: _carries(*x, of=_carries_that_came_in),
        "One column does not tell the carry": _carries_of_two,
        "those that leave it": lambda *x: _carries(*x, of=_carries_into_the_last),
        "and you tried 0 and 1": lambda *x: _carries(*x, of=_carries_below_two),
        "Columns are whole": lambda *x: _carries(*x, columns=math.log2),
        "round the logarithm up": lambda *x: _carries(*x, columns=lambda m: int(np.log2(m))),
        "for three summands and for four": lambda *x: _carries(*x, columns=lambda m: 2),
        "you began at the last one": lambda m, s, d: _carries_by_sets(m, s[::-1], d[::-1]),
    },
    "19.8": {
        "one on either side": _sharp(sides=1),
        "so the largest content is S − 1": _sharp(most=lambda S: S),
        "What the cell itself holds is no leak": (
            lambda S, error: np.inf,
            lambda S, error: _sharp()(S, error - S + 1) if error > S - 1 else 0,
        ),
        "You divided by the sum over": (
            lambda S, error: _sharp(weight=_shares)(S, error) if error < S - 1 else 0
        ),
        "You counted three cells": _sharp(top=4),
        "search as finely": (
            _sharp(top=5),
            lambda S, error: round(_sharp()(S, error), 2),
            lambda S, error: np.ceil(99 * _sharp()(S, error)) / 99,
        ),
        "A larger error allows a smaller β": lambda S, error: _sharp()(S, 0.5),
    },
}
