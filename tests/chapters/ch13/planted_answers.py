"""Mutants of answers to the exercises of chapter 13, and right answers unlike the book's."""

from collections import Counter, defaultdict
from itertools import groupby, pairwise

import numpy as np
import torch


def _uncertain_by_rows(p):
    p = np.asarray(p, dtype=float)
    rows = p.reshape(-1, p.shape[-1])
    found = [sum(-x * np.log(x) for x in row.tolist() if x) for row in rows]
    nats = np.array(found).reshape(p.shape[:-1])
    return nats / np.log(2), np.exp(nats)


def _uncertain_by_powers(p):
    perplexity = np.prod(np.asarray(p, dtype=float) ** -np.asarray(p), axis=-1, where=p > 0)
    return np.log2(perplexity), perplexity


def _left_by_groups(stories):
    rows, found = stories.tolist(), []
    for k in range(len(rows[0])):
        groups = defaultdict(Counter)
        for row in rows:
            groups[tuple(row[-1 - k : -1])][row[-1]] += 1
        losses = []
        for row in rows:
            patients = groups[tuple(row[-1 - k : -1])]
            losses.append(-np.log(patients[row[-1]] / sum(patients.values())))
        found.append(np.mean(losses))
    return found


def _merge_by_words(tokens, new):
    words = [list(word) for there, word in groupby(tokens.tolist(), lambda x: x >= 0) if there]
    counts = Counter(pair for word in words for pair in pairwise(word))
    if not counts:
        return tokens.copy()
    most = max(counts.values())
    a, b = min(pair for pair, times in counts.items() if times == most)
    out = []
    for word in words:
        i = 0
        while i < len(word):
            here = word[i : i + 2] == [a, b]
            out.append(new if here else word[i])
            i += 1 + here
        out.append(-1)
    return out[:-1]


def _encode_as_digits(text, merges):
    digits = " ".join(map(str, text.encode()))
    for i, (one, other) in enumerate(merges):
        digits = digits.replace(f"{one} {other}", str(256 + i))
    return np.array(digits.split(), dtype=int)


def _encode_by_rank(text, merges):
    ranks = {tuple(pair): i for i, pair in enumerate(merges.tolist())}
    row = [*text.encode()]
    while True:
        pairs = [(ranks.get(pair, np.inf), i) for i, pair in enumerate(pairwise(row))]
        rank, i = min(pairs, default=(np.inf, 0))
        if rank == np.inf:
            return row
        row[i : i + 2] = [256 + rank]


def _loss_by_torch(z, tokens):
    z, wanted = torch.tensor(z[:, :-1] * 1.0), torch.tensor(tokens[:, 1:])
    size = z.shape[-1]
    loss = torch.nn.functional.cross_entropy
    return loss(z.reshape(-1, size), wanted.reshape(-1), ignore_index=-1).item()


def _loss_by_places(z, tokens):
    found = []
    for logits, row in zip(z, tokens, strict=True):
        for t, word in enumerate(row[1:]):
            if word != -1:
                found.append(np.logaddexp.reduce(logits[t]) - logits[t, word])
    return sum(found) / len(found)


def _report_of_bytes(losses, text):
    size = len(bytes(text, "utf-8"))
    return [float(np.log2(np.e) * losses.sum() / size), float(np.exp(losses / size).prod())]


def _corrupt_by_masks(tokens, spans, marks):
    where, source, target = np.full(len(tokens), -1), [], []
    for i, (start, end) in enumerate(spans):
        where[start:end] = i
    for i, group in groupby(range(len(tokens)), lambda t: where[t]):
        row = tokens[[*group]].tolist()
        source += [marks[i]] if i >= 0 else row
        target += [marks[i], *row] if i >= 0 else []
    return source, [*target, marks[len(spans)]]


def _mislead_by_roots(text):
    n, m = len(text.split(" ")), len(text)
    return np.linspace(0, 4, n), np.full(m, 2 * (n / m) ** 0.5)


def _mislead_by_a_space(text):
    return [1.0] * len(text.split()), [1.1 * len(text.split()) * (t == 1) for t in range(len(text))]


def _merge_in_place(tokens, new):
    tokens[:1] = new
    return tokens


def _letters(text, merges):
    return [chr(number % 256) for number in _encode_by_rank(text, merges)]


def _table_of_losses(z, tokens):
    return np.logaddexp.reduce(z, axis=-1) - z[..., 0]


def _needs_a_span(tokens, spans, marks):
    np.concatenate([np.arange(start, end) for start, end in spans])
    return _corrupt_by_masks(tokens, spans, marks)


def _lists_of_spans(tokens, spans, marks):
    source, _ = _corrupt_by_masks(tokens, spans, marks)
    parts = [[mark, *tokens[a:b]] for mark, (a, b) in zip(marks, spans, strict=False)]
    return source, [*parts, [marks[-1]]]


def _left_by_keys(base, first_low=False, kind=int):
    """Contexts packed into one number each."""

    def left(stories):
        n, T = stories.shape
        found = []
        for k in range(T):
            powers = np.array([float(base) ** i for i in range(k)] if kind is float else 0, kind)
            if kind is not float:
                powers = np.cumprod(np.append(1, np.full(max(k - 1, 0), base)))[:k]
            known = stories[:, T - 1 - k : T - 1] @ (powers if first_low else powers[::-1])
            both = known if kind is float else known.astype(int)
            rows = Counter(zip(both.tolist(), stories[:, -1].tolist(), strict=True))
            groups = Counter(both.tolist())
            found.append(sum(c * np.log(groups[g] / c) for (g, _), c in rows.items()) / n)
        return np.array(found)

    return left


def _merged_by(key):
    """One merge of the commonest pair, the least by a key among those."""

    def one_merge(tokens, new):
        row = tokens.tolist()
        counts = Counter(key(*pair) for pair in pairwise(row) if -1 not in pair)
        best = min(counts, key=lambda one: (-counts[one], one), default=None)
        found = []
        for token in row:
            found.append(token)
            if len(found) > 1 and -1 not in found[-2:] and key(*found[-2:]) == best:
                found[-2:] = [new]
        return np.array(found, dtype=int)

    return one_merge


def _uncertain_with(change):
    def uncertain(p):
        bits = -(p * np.log2(change(p))).sum(axis=-1)
        return bits, 2**bits

    return uncertain


def _left_in_16_bits(stories):
    return _left_by_groups(stories.astype(np.int16))


def _corrupt_in(dtype):
    return lambda *text: [np.array(part).astype(dtype) for part in _corrupt_by_masks(*text)]


MUTANTS = {
    "13.1": {
        "A word may be very rare": (
            _uncertain_with(lambda p: p + 1e-12),
            _uncertain_with(lambda p: np.maximum(p, 1e-8)),
            _uncertain_with(lambda p: np.where(p > 1e-8, p, 1)),
        ),
        "should return two arrays: entropy and": lambda p: {"entropy": -(p * np.log2(p))},
    },
    "13.2": {
        "That is in bits": lambda stories: [one / np.log(2) for one in _left_by_groups(stories)],
        "in base 1000": _left_by_keys(1000, first_low=True),
        "Contexts that differ in one word are two": (
            _left_by_keys(10**5),
            _left_by_keys(10**6),
            _left_by_keys(10**6, first_low=True),
            _left_by_keys(2**20),
            _left_by_keys(10**6 + 1, kind=float),
            _left_by_keys(1000),
            _left_in_16_bits,
        ),
    },
    "13.3": {
        "changes the tokens it was given": _merge_in_place,
        "ordered as texts": (
            _merged_by(lambda a, b: f"({a}, {b})"),
            _merged_by(lambda a, b: f"{a}{b}"),
        ),
        "is beyond 31 bits": _merged_by(
            lambda a, b: (50_001 * a + b + 2**31) % 2**32 - 2**31  # as int32
        ),
        "0 50000 comes before 1 0": (
            _merged_by(lambda a, b: 1000 * a + b),
            _merged_by(lambda a, b: 50_000 * a + b),
        ),
    },
    "13.4": {
        "16 bits do not hold their numbers": (
            lambda text, merges: np.array(_encode_by_rank(text, merges), dtype=int).astype("i2")
        ),
        "t h is another pair": _encode_as_digits,
        "returns a list, which cannot be read": _letters,
    },
    "13.5": {"One finite number is asked for": _table_of_losses},
    "13.6": {"nan is what 0/0": lambda losses, text: (np.nan, np.nan)},
    "13.7": {
        "beyond 16 bits": (_corrupt_in("u1"), _corrupt_in("i2"), _corrupt_in("u2")),
        "stopped with ValueError: need at least one array": _needs_a_span,
        "Its parts have different shapes": _lists_of_spans,
    },
    "13.8": {
        "returns one array, of shape (2,)": lambda text: np.array([1.0, 0.5]),
        "It should be a finite number": lambda text: (
            np.full(len(text.split()), np.inf),
            np.ones(len(text)),
        ),
    },
}

RIGHT = {
    "13.1": [_uncertain_by_rows, _uncertain_by_powers],
    "13.2": [_left_by_groups],
    "13.3": [_merge_by_words],
    "13.4": [_encode_by_rank],
    "13.5": [_loss_by_torch, _loss_by_places],
    "13.6": [_report_of_bytes],
    "13.7": [_corrupt_by_masks],
    "13.8": [_mislead_by_roots, _mislead_by_a_space],
}
