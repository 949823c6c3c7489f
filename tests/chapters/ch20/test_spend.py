"""Spend a budget, in Python: its numbers, what it refuses and what it says."""

import numpy as np
import pytest

from tformer_book.chapters.ch20.spend import CHINCHILLA, SpendBudget, laws


@pytest.mark.parametrize("law", [0, 1, 2])
def test_the_parts_add_up_to_the_loss_of_what_the_budget_buys(law: int) -> None:
    one = SpendBudget(21.0, 9.0, law)
    n, d = one.bought
    assert 6 * n * d == pytest.approx(1e21)
    assert sum(one.parts) == pytest.approx(float(laws()[law].loss(n, d)))
    assert one.parts[0] == laws()[law].floor


@pytest.mark.parametrize("law", [0, 1, 2])
def test_so_much_of_the_budget_would_do(law: int) -> None:
    for budget, size in ((19.0, 10.0), (23.76, 11.4), (24.0, 8.5)):
        one = SpendBudget(budget, size, law)
        n, d = one.chosen.optimum(one.worth * one.compute)
        assert float(one.chosen.loss(n, d)) == pytest.approx(sum(one.parts), abs=1e-12)
    best = float(np.log10(one.chosen.optimum(1e24)[0]))
    assert SpendBudget(24.0, best, law).worth == pytest.approx(1)


def test_it_says_what_it_shows() -> None:
    assert repr(SpendBudget()) == (
        "SpendBudget, refit, 240 runs: 5.76e+23 FLOPs on 2.8e+11 parameters and 3.43e+11 tokens, "
        "1.22 a parameter\nloss 1.992 = floor 1.817 + too small 0.051 + too few texts 0.125; best "
        "7.32e+10 parameters, 17.9 tokens each; 54% of the budget would do"
    )
    assert "100% of the budget" in repr(SpendBudget(size=CHINCHILLA))
    assert "<td>92.6</td>" in SpendBudget().fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"law": 3}, "law must be 0 to 2; got 3"),
        ({"law": -1}, "law must be 0 to 2; got -1"),
        ({"budget": 16.9}, "budget must be 17 to 26; got 16.9"),
        ({"size": 13.5}, "size must be 7 to 13; got 13.5"),
        ({"size": float("nan")}, r"size\[0\] must be a finite number; got nan"),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SpendBudget(**arguments)
