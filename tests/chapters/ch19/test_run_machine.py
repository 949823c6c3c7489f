"""Run a machine, in Python: its numbers, what it refuses and what it says."""

from typing import Any

import pytest

from tformer_book.chapters.ch19.machines import TABLES
from tformer_book.chapters.ch19.run_machine import RunMachine


def test_what_it_writes_is_right_until_something_breaks_it() -> None:
    for name in ("beaver 2", "beaver 3", "beaver 4", "bounce"):
        assert (one := RunMachine(TABLES[name], 120)).written == one.right
    assert RunMachine(start=8, single=True).written == RunMachine().right
    assert RunMachine(start=14, single=True).written != RunMachine().right
    assert RunMachine(start=20).written == RunMachine().right
    assert RunMachine(start=30).written != RunMachine().right
    assert RunMachine(power=4).written != RunMachine().right
    assert RunMachine(steps=120, beta=0.5).written != RunMachine(steps=120).right


def test_columns_are_the_head_and_what_the_cell_holds() -> None:
    one = RunMachine(steps=20)
    found = one.columns()
    assert len(found["P"]) == 20
    assert [round(x) for x in found["cell"][:-1]] == [int(name[1:]) for name in one.right]
    assert RunMachine(start=10).columns()["P"][0] == pytest.approx(1024, abs=1e-6)


def test_it_says_what_it_shows() -> None:
    assert repr(RunMachine(TABLES["beaver 2"])) == (
        "RunMachine 1RB 1LB; 1LA 1RH: A0 B0 A1 B0 A0 B1 H1\n"
        "7 tokens in float64 with β = 32, sink 2^80, first address 0: all right"
    )
    assert "first address 4096: token" in repr(RunMachine(start=12, single=True))
    assert "A0 B0 A1 B0 A0 B1 H1; 7 tokens" in RunMachine(TABLES["beaver 2"]).fallback()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"steps": 0}, "steps must be 1 to 300; got 0"),
        ({"steps": 301}, "steps must be 1 to 300; got 301"),
        ({"beta": 0.4}, "beta must be 0.5 to 32; got 0.4"),
        ({"beta": float("nan")}, r"beta\[0\] must be a finite number; got nan"),
        ({"power": 81}, "power must be 2 to 80; got 81"),
        ({"start": -1}, "start must be 0 to 30; got -1"),
        ({"table": "1RB"}, "rule '1RB' of state A is not like 1RB"),
        ({"table": "; ".join(["1RA 1RA"] * 9)}, "at most eight states"),
    ],
)
def test_it_refuses_in_words(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        RunMachine(**arguments)
