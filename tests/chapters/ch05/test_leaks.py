"""Exercise 5.6 refuses no right answer: its layers leak as often as the statement says."""

from functools import partial

import numpy as np

from every import try_each
from tformer_book.exercises import check, process
from tformer_book.exercises.registry import exercises

CASES = exercises()["5.6"].table.only_cases()
DRAWS = 800  # a share of one half is then off by .018 (one standard deviation)


def leaks_by_draws(seed, n, layer, x):
    """Exchange each row n times, as a student may who has read the statement and no hint."""
    rng = np.random.default_rng(seed)
    found = np.zeros((len(x), len(x)), dtype=bool)
    for s in range(len(x)):
        for _ in range(n):
            other = np.array(x)
            other[s] = rng.normal(size=x.shape[1])
            found[:, s] |= (abs(layer(other) - layer(x)) > 1e-7).any(axis=1)
    return np.triu(found, k=1)


def shares(layer, x):
    """Return which share of random rows in the place of x[s] moves row t of the output."""
    rng, n, before = np.random.default_rng(8), len(x), layer(x)
    moved = np.zeros((n, n))
    for s in range(n):
        for _ in range(DRAWS):
            other = np.array(x)
            other[s] = rng.standard_normal(x.shape[1])
            moved[:, s] += (abs(layer(other) - before) > 1e-6).any(axis=1)
    return moved / DRAWS


def test_at_least_every_second_random_row_shows_a_leak_and_twenty_show_them_all():
    missed = {}

    def leaks_often(item):
        (want,) = exercises()["5.6"].table.want(item)
        share = shares(**item.handed)
        assert not np.triu(share, k=1)[~want].any()
        assert (share[want] > 0.44).all(), share[want].min()
        missed[item.words] = ((1 - share[want]) ** 20).sum()

    try_each(leaks_often, ((item.words, (item,)) for item in CASES))
    assert sum(missed.values()) < 1e-3, missed


def test_twenty_random_rows_are_enough_whatever_the_seed(monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)
    for seed in range(20):
        answer = partial(leaks_by_draws, seed, 20)
        assert check("5.6", lambda layer, x, answer=answer: answer(layer, x)) is None
