"""Values arrive as they are, or as something that is told the same; what is no value is refused."""

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from tformer_book.exercises import describe
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.habits import TRIED
from tformer_course.values import decode, decode_error, encode, encode_error

VALUES = [
    None, True, 3, -(10**40), 0.1, -0.0, float("inf"), 1e-320, "é", "", 2 + 3j,
    [], (), [1, (2.0, [None])], (np.float32(0.1), np.int8(-3), np.True_), {"a": [1]}, {1, 2},
    np.float64("nan"), np.array(3), np.zeros((0, 3)), np.arange(6).reshape(2, 3)[:, ::2],
    np.array([[True]]), np.array([1, 2], np.float16), np.array([1.5], ">f8"),
    np.array([1 + 2j]), np.arange(3, dtype=np.uint8), np.longdouble(1) / 3,
    Fraction(1, 2), [Fraction(-1, 3)],
]  # fmt: skip


def over(value, **both):
    return decode(json.loads(json.dumps(encode(value, both.get("lend")))), both.get("borrow"))


def alike(one, other):
    if isinstance(one, list | tuple):
        return type(one) is type(other) and all(map(alike, one, other)) and len(one) == len(other)
    if isinstance(one, np.ndarray | np.generic):
        same = np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
        return type(one) is type(other) and one.dtype == other.dtype and same
    return type(one) is type(other) and repr(one) == repr(other)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_arrives_as_it_is(value):
    assert alike(value, over(value))


@pytest.mark.parametrize(
    "value",
    [
        object(),
        b"bytes",
        iter([1]),
        len,
        np.array(["a"]),
        pytest.param(10**5000, id="long"),
        {},
    ],
)
def test_what_is_no_answer_is_told_the_same(value):
    answer = Answer(lambda: value)
    said = []
    for each in value, over(value):
        with pytest.raises(Wrong) as raised:
            answer.numbers(each, "nothing")
        said.append(str(raised.value).replace("a builtin", "a").replace("an int,", "a number,"))
    assert said[0] == said[1]
    assert describe.kind(over([value])) == "a list"


@pytest.mark.parametrize("value", [range(3), np.ma.array([1.0])], ids=repr)
def test_what_numpy_reads_arrives_as_an_array(value):
    assert type(over(value)) is np.ndarray
    assert np.array_equal(over(value), np.asarray(value))


@pytest.mark.parametrize("habit", TRIED)
def test_an_array_of_another_kind_keeps_its_kind(habit):
    assert type(over(np.ones(2).view(habit))) is habit


def test_a_generator_draws_the_same():
    kept = []
    lend = {"lend": lambda value: kept.append(value) or 0, "borrow": lambda kind, number: kind}
    generator = np.random.default_rng(3)
    generator.random(5)
    assert over(generator, **lend).random() == generator.random()
    assert (over(len, **lend), over(iter("ab"), **lend)) == ("calls", "items")
    assert len(kept) == 2
    with pytest.raises(TypeError, match="a Decimal cannot be handed"):
        over(Decimal("0.5"), **lend)


@pytest.mark.parametrize(
    "coded",
    [3, [], ["is", [1]], ["array", "|O", [1], "", ""], ["array", "<f8", [2], "AAAA", ""],
     ["calls", 0], ["array", "<f8", [0], "", "Answer"], ["draws", {}],
     ["fraction", 1, 0], ["fraction", "1", "2"], ["fraction", 1],
     ["exec", "1"], {"is": 1}, ["list", 3]],
)  # fmt: skip
def test_what_is_no_value_is_refused(coded):
    with pytest.raises((ValueError, TypeError, IndexError, KeyError)):
        decode(coded)


@pytest.mark.parametrize(
    "error",
    [KeyError("a"), NotImplementedError(), np.exceptions.AxisError(3, 2), ValueError("é"),
     UnicodeDecodeError("utf-8", b"x", 0, 1, "why"), type("Own", (Exception,), {})("x")],
)  # fmt: skip
def test_an_error_arrives_with_its_name_and_words(error):
    arrived = decode_error(encode_error(error, "line"))
    assert (type(arrived).__name__, str(arrived)) == (type(error).__name__, str(error))
    assert arrived.at == "line"
    for kind in NotImplementedError, np.exceptions.AxisError:
        assert isinstance(arrived, kind) == isinstance(error, kind)
