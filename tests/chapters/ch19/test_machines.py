"""Machines of chapter 19: tables that are refused, runs, tapes, the adder and small machines."""

from itertools import pairwise

import numpy as np
import pytest

from tformer.parameters import leaves
from tformer_book.chapters.ch19 import figures, small
from tformer_book.chapters.ch19.adder import Adder
from tformer_book.chapters.ch19.listing import listing
from tformer_book.chapters.ch19.machines import TABLES, machine
from tformer_book.chapters.ch19.stream import Stream, run
from tformer_book.chapters.ch19.turing import layers, table


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1RB 1LB; 1LA", "state B has 1 rules; the first has 2"),
        ("1RB 1LC; 1LA 1RH", "rule '1LC' of state A is not like 1RB"),
        ("2RB 1LB; 1LA 1RH", "rule '2RB' of state A is not like 1RB"),
        ("1XB 1LB; 1LA 1RH", "rule '1XB' of state A is not like 1RB"),
        ("1R 1LB; 1LA 1RH", "rule '1R' of state A is not like 1RB"),
        ("", "state A has 0 rules"),
    ],
)
def test_a_table_is_refused_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        table(text)


@pytest.mark.parametrize("name", TABLES)
def test_what_is_written_without_a_teacher_is_the_run_and_its_tape(name: str) -> None:
    one = machine(name)
    want, tape = one.simulate((), 120)
    got = one.generate((), 120)
    assert got == want
    assert _marked(one.tape(got)) == _marked(tape)


def _marked(tape: dict[int, int]) -> dict[int, int]:
    return {cell: a for cell, a in tape.items() if a}


def test_programs_do_their_job() -> None:
    one = machine("increment")
    for number in range(1, 40):
        word = [1 + int(digit) for digit in f"{number:b}"]
        tape = one.simulate(word, 100)[1]
        digits = [tape[c] - 1 for c in sorted(tape) if tape[c]]
        assert int("".join(map(str, digits)), 2) == number + 1
    for a in range(4):
        tape = machine("copy").simulate([1] * a, 200)[1]
        assert sorted(c for c, x in tape.items() if x == 1) == [*range(a), *range(a + 1, 2 * a + 1)]
        tape = machine("add").simulate([1] * a + [0] + [1, 1], 200)[1]
        assert sorted(c for c, x in tape.items() if x) == [*range(a + 2)]


def test_busy_beavers_run_as_long_as_is_known() -> None:
    found = [len(machine(f"beaver {n}").simulate((), 200)[0]) - 1 for n in (2, 3, 4)]
    assert found == [6, 21, 107]


def test_the_layers_hold_what_the_page_says() -> None:
    shapes = [leaves(layer)[0].shape for layer in layers()]
    assert shapes == [(1, 10, 2), (10, 4), (1, 10, 3)]


def test_listing_ends_where_the_machine_halts() -> None:
    found = [*listing(machine("palindrome"), [1, 2, 1])]
    assert [name for name, _ in found][-1] == "H1"
    for (_, (_, cell)), (name, _) in pairwise(found):
        assert round(cell) == int(name[1:])


def test_the_adder_writes_sums_bit_by_bit() -> None:
    a, b = np.mgrid[:16, :16].reshape(2, -1)
    np.testing.assert_array_equal(Adder(4).add(a, b), a + b)
    with pytest.raises(ValueError, match="n must be 2 or more; got 1"):
        Adder(1)


def test_float32_adds_as_well() -> None:
    adder = Adder(6)
    a, b = np.mgrid[:64, :64].reshape(2, -1)
    sums = (a + b)[:, None] >> np.arange(7) & 1
    text = np.concatenate([adder.text(a, b), sums[:, :-1]], axis=-1)
    got = adder.logits(text, 13, np.float32)
    assert got.dtype == np.float32
    np.testing.assert_array_equal(got > 0, sums == 1)


def test_squares_are_of_either_sign() -> None:
    s = Stream.of("a b square")
    x = np.array([[-3.0, 1, 0], [2, -5, 0], [0, 0, 0]])
    y = run(x, [s.squares(square={"a": 1, "b": 2})])
    np.testing.assert_array_equal(y[:, 2], (x[:, 0] + 2 * x[:, 1]) ** 2)
    np.testing.assert_array_equal(y[:, :2], x[:, :2])


def test_the_sawtooth_of_the_figure_is_the_adder() -> None:
    adder = Adder(4)
    a, b = np.mgrid[:16, :16].reshape(2, -1)
    sums = (a + b)[:, None] >> np.arange(5) & 1
    text = np.concatenate([adder.text(a, b), sums[:, :-1]], axis=-1)
    bit = text[:, 10:]
    i = np.arange(1, 5)
    of = [np.pad(x[:, None] >> np.arange(4) & 1, ((0, 0), (0, 1))) for x in (a, b)]
    v = 6 * sum(x[:, i] for x in of) + 2 * sum(x[:, i - 1] for x in of) - bit
    np.testing.assert_allclose(adder.logits(text, 10), figures.fold(v), atol=1e-5)


def test_answers_keep_their_precision() -> None:
    assert small.count().answers([[0, 1, 0]], np.float32).dtype == np.float32
    np.testing.assert_allclose(small.count().answers([[0, 1, 0]], np.float32), [[1, 1, 2]], 1e-5)
