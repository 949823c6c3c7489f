"""Mistakes people make in the exercises of the first page, and right answers unlike the book's."""

import itertools

import numpy as np


def _cut_in_place(weights, asks, asked):
    weights[asks, asked] = 0
    weights[asks] /= weights[asks].sum()
    return weights


def _cut_by_the_rest(weights, asks, asked):
    after = weights.copy()
    after[asks] /= 1 - after[asks, asked]
    after[asks, asked] = 0
    return after


def _cut_with(divisor):
    def cut(weights, asks, asked):
        after = weights.copy()
        after[asks, asked] = 0
        after[asks] /= divisor(after[asks].sum())
        return after

    return cut


def _cut_by_scores(weights, asks, asked):
    with np.errstate(divide="ignore"):
        scores = np.log(weights)
    scores[asks, asked] = -np.inf
    terms = np.exp(scores)
    return terms / terms.sum(axis=1, keepdims=True)


def _look_at_all(queries, keys, t):
    hidden = np.where(np.tri(len(keys)) > 0, 0, -np.inf)
    scores = queries @ keys.T / np.sqrt(keys.shape[1]) + hidden
    terms = np.exp(scores - scores.max(axis=1, keepdims=True))
    return (terms / terms.sum(axis=1, keepdims=True))[t]


def _look_without_care(queries, keys, t):
    terms = np.exp(keys[: t + 1] @ queries[t] / np.sqrt(queries.shape[1]))
    return np.append(terms / terms.sum(), np.zeros(len(keys) - t - 1))


def _tell(who, cures, did):
    found = set()
    for verb, (one, other) in did.items():
        for a in who[one]:
            for b in set(who[other]) - {a}:
                start = f"the {a} did not {verb} the {b} because it was too "
                found |= {f"{start}{x} . so they {y} the {a} ." for x, y in cures[one].items()}
                found |= {f"{start}{x} . so they {y} the {b} ." for x, y in cures[other].items()}
    return found


def _tell_by_letters(who, cures, did):
    texts = []
    for text in _tell({"N": ("N",), "M": ("M",)}, {"N": {"A": "C"}, "M": {"A": "C"}}, PATTERN):
        for verb, (one, other) in did.items():
            kind = one if text.endswith("N .") else other
            for a, b in itertools.product(who[one], who[other]):
                for why, cure in cures[kind].items():
                    told = text.replace("N", a).replace("V", verb).replace("M", b)
                    texts += [told.replace("A", why).replace("C", cure)] * (a != b)
    return texts


def _hidden_at(score):
    def look(queries, keys, t):
        scores = keys @ queries[t] / np.sqrt(queries.shape[1])
        scores = np.where(np.arange(len(keys)) > t, score, scores)
        terms = np.exp(scores - scores.max())
        return terms / terms.sum()

    return look


def _numbers_as(dtype):
    return lambda text, words: np.array([words.index(w) for w in text.split()]).astype(dtype)


PATTERN = {"V": ("N", "M")}
MUTANTS = {
    "0.1": {
        "it should be (5": lambda text, words: [0] * len(text.split()),
        "may have very many words": tuple(map(_numbers_as, ("i1", "u1", "i2", "u2"))),
    },
    "0.2": {"none of the four names": lambda step: "wrong noun"},
    "0.3": {
        "(nan, nan)": _look_without_care,
        "got the score −100": _hidden_at(-100.0),
        "no number stands for a hidden word": (_hidden_at(-60.0), _hidden_at(-700.0)),
    },
    "0.4": {
        "changes the weights it was given": _cut_in_place,
        "has lost its digits": _cut_by_the_rest,
        "However little is left of a row": (
            _cut_with(lambda left: left + 1e-9),
            _cut_with(lambda left: max(left, 1e-8)),
            _cut_with(lambda left: left if left > 1e-4 else 1),
        ),
    },
    "0.5": {"One finite number is asked for": lambda p: -p * np.log(np.where(p > 0, p, 1))},
    "0.6": {
        "should return a list of texts": lambda who, cures, did: "\n".join(_tell(who, cures, did)),
        "may stand in the words too": _tell_by_letters,
        "come more than once": lambda who, cures, did: 2 * sorted(_tell(who, cures, did)),
        "is none of them. Every choice": lambda who, cures, did: (
            [x.upper() for x in _tell(who, cures, did)][:1] + sorted(_tell(who, cures, did))
        ),
    },
}

ORDER = ("no sentence", "wrong cure", "wrong patient", "right")
RIGHT = {
    "0.1": [lambda text, words: np.array([words.index(word) for word in text.split(" ")])],
    "0.2": [lambda step: ORDER[(step > 20) + (step > 60) + (step > 150)]],
    "0.3": [_look_at_all],
    "0.4": [_cut_by_scores],
    "0.5": [lambda p: float(sum(-x * np.log(x) for x in p if x))],
    "0.6": [_tell],
}
