"""Exercises that take functions of a reader's own file: which, through what, and what is said."""

import ast
import linecache
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from exercise_tools import told
from tformer_book.exercises import CheckFailed, check, process, registry
from tformer_book.own import check as check_part
from tformer_book.own import hint, mine, progress
from tformer_book.own.__main__ import main
from tformer_book.own.checking import checks, judge
from tformer_book.own.parts import BOOK, accepted, answered_with, defined_in, of_the_book
from tformer_book.pipeline.generators.exercises import instructor, solved, sources, student

OTHER = Path(__file__).with_name("other_transformer.py")
ROOT = Path(__file__).resolve().parents[1]
LONG = ("self_attention", "block", "transformer", "gpt2", "train", "generate", "attention_patterns")
SOFTMAX = "def softmax(x, axis=-1):\n    "


@pytest.fixture(autouse=True)
def desk(tmp_path, monkeypatch):
    """A folder of the reader's, and no process of its own for each check."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(process, "CAN_FORK", False)
    return tmp_path


def write(text):
    Path("my_transformer.py").write_text(text, encoding="utf-8")


def answer(number):
    """What the statement of an exercise says to hand over."""
    return eval(accepted()[number], {"mine": mine, "np": np})


# ---- which exercises ----------------------------------------------------------------------


@pytest.mark.parametrize("file", [BOOK, OTHER], ids=["book", "another style"])
@pytest.mark.parametrize("number", accepted())
def test_each_exercise_takes_the_functions_of_a_right_file(number, file, capsys):
    write(file.read_text(encoding="utf-8"))
    check(number, answer(number), seconds=30.0)
    assert capsys.readouterr().out.startswith(f"✓ Exercise {number}, correct.")


def test_parts_in_another_style_pass_their_own_checks():
    names = [name for name in defined_in(OTHER) if name in of_the_book()]
    assert {*LONG, "rms_norm", "numerical_derivative"} <= {*names}
    wrong = {name: judge(OTHER, name, 30.0) for name in names}
    assert {name: said for name, said in wrong.items() if not said[0]} == {}


def test_the_table_names_exercises_and_parts_that_there_are():
    assert set(accepted()) <= set(registry.exercises())
    assert len(accepted()) >= 14
    assert answered_with(of_the_book()) == list(accepted())
    assert answered_with(["softmax", "attention_weights"]) == ["2.1", "4.7"]


SLIPS = {
    "0.3": (
        "scores.masked_fill(~mask, -math.inf)",
        "scores.masked_fill(~mask, 0)",
        "The later words got the score 0",
    ),
    "2.1": (
        "torch.exp(x - x.amax(axis, keepdim=True))",
        "torch.exp(x)",
        "the answer of softmax is (nan, nan)",
    ),
    "3.2": (
        "/ math.sqrt(q.shape[-1])\n    return softmax",
        "/ q.shape[-1]\n    return softmax",
        "You divided by d_k",
    ),
    "4.7": (
        "~mask, -math.inf))\n",
        "~mask, -math.inf), -2)\n",
        "The softmax runs down the columns",
    ),
    "5.10": (".tril(S - T)", ".tril()", "the first query was taken for the first word"),
    "6.2": (
        "x.unflatten(-1, (n_heads, -1)).transpose(-3, -2)",
        "x.unflatten(-1, (-1, n_heads)).movedim(-1, -3)",
        "You dealt the columns out in turn",
    ),
    "6.4": (
        "/ math.sqrt(q.shape[-1])\n    return softmax",
        "/ math.sqrt(q.shape[-1] * q.shape[-3])\n    return softmax",
        "the scale",
    ),
    "6.7": (
        "q.unflatten(-3, (k.shape[-3], -1))  #",
        "q.unflatten(-3, (-1, k.shape[-3])).transpose(-4, -3)  #",
        "the answer of grouped_attention is",
    ),
    "7.4": (
        "[a * cos - b * sin, a * sin + b * cos]",
        "[a * cos + b * sin, b * cos - a * sin]",
        "turned the other way round",
    ),
    "8.1": (
        "return rms_norm(x - x.mean(-1, keepdim=True), gain, eps) + bias",
        "return gain * (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True) + eps).sqrt()",
        "The variance has d − 1 in the denominator",
    ),
    "9.4": (
        "(gate * torch.sigmoid(gate) * (x @ w_in))",
        "(torch.sigmoid(gate) * (x @ w_in))",
        "The gates are sigmoids.",
    ),
    "10.8": (
        "k, v = torch.cat([cache[0], k], -2), torch.cat([cache[1], v], -2)",
        "pass",
        "That is v as it was given.",
    ),
    "11.5": (
        "return attention_weights(q, k, mask) @ v",
        "return attention_weights(q, k, mask)",
        "Those are the weights",
    ),
    "13.5": (
        "logits, targets = logits[:, :-1], tokens[:, 1:]\n",
        "logits, targets = logits, tokens\n",
        "each position is asked for the token that it reads",
    ),
    "14.1": ("- rate * decay * x, mean", "- decay * x, mean", "not multiplied by the rate"),
    "14.2": ("if step < warmup:", "if False:", "Only the first step is wrong."),
}


@pytest.mark.parametrize("number", accepted())
def test_an_exercise_refuses_a_part_with_a_slip_and_says_which(number):
    right, wrong, words = SLIPS[number]
    text = BOOK.read_text(encoding="utf-8")
    assert text.count(right) == 1
    write(text.replace(right, wrong))
    assert words in told(number, answer(number))


# ---- the bridge ---------------------------------------------------------------------------

SEEN = """
def rope(x, positions, base=10000.0):
    return x.dtype, positions.dtype, torch.is_grad_enabled(), (torch.ones(1) / 2).dtype

def attention(q, k, v, mask=None):
    return [str(x.dtype).removeprefix("torch.") for x in (q, k, v, mask)]

def next_token_loss(logits, tokens):
    return (logits.sum() * 0 + tokens.sum() / 2).requires_grad_()

def adamw(x, grad, mean, square, step, rate, betas=(0.9, 0.95), eps=1e-8, decay=0.1):
    return [type(one).__name__ for one in (x, grad, mean, square, step, rate, betas[0])]

def parts(x, pair=None):
    return {"sum": [x.sum(), pair[0] + pair[1]], "mask": x > 1}, x.float()
"""


def test_arrays_become_tensors_of_their_type_and_whole_numbers_floats_where_no_tokens_are():
    write(SEEN)
    whole, single = np.array([[1, 2]]), np.ones((1, 2), dtype=np.float32)
    dtypes = mine.rope(whole, np.array([3]))
    assert dtypes == (torch.float64, torch.int64, False, torch.float64)
    assert mine.rope(single, positions=np.array([3], dtype=np.int32))[:2] == (
        torch.float32,
        torch.int64,
    )
    mask = np.array([True])
    assert mine.attention(whole, single, np.ones(2), mask) == [
        *("float64", "float32", "float64", "bool"),
    ]
    assert torch.get_default_dtype() == torch.float32
    assert torch.is_grad_enabled()


def test_the_arguments_of_a_part_are_known_where_a_reader_has_renamed_them():
    write("def rope(rows, places, base=1.0):\n    return rows, torch.eye(5)[places]")
    rows, turned = mine.rope(np.array([[1, 2]]), np.array([3]))
    assert rows.dtype == float
    assert turned.tolist() == [[0, 0, 0, 1, 0]]


def test_tensors_come_back_as_arrays_and_those_without_axes_as_numbers():
    write(SEEN)
    loss = mine.next_token_loss(np.ones((1, 2, 3)), np.array([[0, 1]]))
    assert isinstance(loss, float)
    assert loss == 0.5
    found, few = mine.parts(np.array([1.0, 2]), (np.ones(2), np.float64(1)))
    assert found["sum"][0] == 3.0
    assert isinstance(found["sum"][1], np.ndarray)
    assert found["sum"][1].tolist() == [2.0, 2.0]
    assert found["mask"].tolist() == [False, True]
    assert few.dtype == np.float32


def test_numbers_stay_numbers_but_where_a_part_takes_arrays():
    write(SEEN)
    given = mine.adamw(1, 2.0, np.float64(3), np.array(4), 5, np.float64(0.5), (0.5, 0.5))
    assert given == ["Tensor"] * 4 + ["int", "float", "float"]


def test_a_function_keeps_its_name_and_signature_and_precision_comes_back_after_an_error():
    write(f"{SOFTMAX}raise ValueError('no')")
    assert mine.softmax.__name__ == "softmax"
    with pytest.raises(ValueError, match="no"):
        mine.softmax(np.ones(2))
    assert torch.get_default_dtype() == torch.float32
    write("def softmax(x):\n    return x")
    assert "its first line reads `def softmax(x)`" in told("2.1", mine.softmax)


@pytest.mark.parametrize("change", ["x -= x.amax(axis, keepdim=True)", "x.exp_()"])
def test_a_change_in_place_is_seen(change):
    write(f"{SOFTMAX}{change}\n    return x.softmax(axis)")
    assert "softmax changes the x it was given" in told("2.1", mine.softmax)


def test_what_cannot_be_shared_is_copied():
    write("def parts(x):\n    x += 1\n    return x")
    x = np.arange(3.0)
    assert mine.parts(x[::-1]).tolist() == [3, 2, 1]
    assert mine.parts(np.broadcast_to(x[1], 2)).tolist() == [2, 2]
    assert x.tolist() == [0, 1, 2]


def test_an_error_is_told_with_the_line_of_the_file_as_it_stands_now():
    write(f"{SOFTMAX}return x @ None")
    assert "(at `return x @ None`)" in told("2.1", mine.softmax)
    write(f"{SOFTMAX}y = 1\n    return x.nothing")
    assert "(at `return x.nothing`)" in told("2.1", lambda x, axis: mine.softmax(x, axis))
    linecache.getlines(str(Path("my_transformer.py").absolute()))  # as a traceback does
    write(f"{SOFTMAX}y = 1\n    return x.missing")
    with pytest.raises(AttributeError) as caught:
        mine.softmax(np.ones(2))
    assert caught.value.at == "return x.missing"
    write(f"{SOFTMAX}raise NotImplementedError()")
    assert "softmax is still the empty template" in told("2.1", mine.softmax)


def test_a_line_that_calls_a_lent_part_wrongly_is_the_readers():
    write("def attention(q, k, v, mask=None):\n    return attention_weights(q, k.T[0], mask) @ v")
    assert "(at `return attention_weights(q, k.T[0], mask) @ v`)" in told("3.2", answer("3.2"))


def test_the_file_is_read_anew_at_each_use():
    write(f"{SOFTMAX}return x")
    assert mine.softmax(np.ones(2)).tolist() == [1, 1]
    write(f"{SOFTMAX}return 2 * x")
    assert mine.softmax(np.ones(2)).tolist() == [2, 2]
    assert dir(mine) == ["softmax"]


def test_what_is_lent_or_missing_answers_nothing():
    write(f"{SOFTMAX}return x.softmax(axis)\n\n\ndef helper(x):\n    return 3 * x")
    assert mine.helper(np.ones(1)).tolist() == [3]
    with pytest.raises(AttributeError, match="has no rope yet; the book lends it"):
        mine.rope  # noqa: B018
    with pytest.raises(AttributeError, match=r"my_transformer.py has no rotary$"):
        mine.rotary  # noqa: B018
    assert "has no attention yet; the book lends it" in told("3.2", answer("3.2"))


def test_without_a_file_it_is_said_how_to_begin_one_and_a_notebook_can_show_mine():
    with pytest.raises(FileNotFoundError, match=r"python -m tformer_book\.own begin"):
        mine.softmax  # noqa: B018
    assert getattr(mine, "_repr_html_", None) is None


# ---- where a reader meets it --------------------------------------------------------------


def test_notebooks_say_what_to_hand_over_and_assignments_do_not():
    texts = {"student": "", "solved": "", "instructor": ""}
    for path in sources(ROOT):
        for make in (student, solved, instructor):
            texts[make.__name__] += "\n".join(
                cell.source for cell in make(path).cells if cell.cell_type == "markdown"
            )
    asked = [f"```python\nfrom tformer_book.own import mine\n\ncheck(\"{number}\", {text})\n```"
             for number, text in accepted().items()]  # fmt: skip
    for text in texts["student"], texts["solved"]:
        assert [text.count(one) for one in asked] == [1] * len(asked)
        assert text.count("**Part of your transformer.**") == len(asked)
    assert "own import mine" not in texts["instructor"]
    for one in asked:
        ast.parse(one.removeprefix("```python\n").removesuffix("```"))


def test_progress_lists_the_exercises_that_right_parts_can_answer(capsys):
    write(f"{SOFTMAX}return x.softmax(axis)\n\n\ndef rope(x, positions, base=1.0):\n    return x")
    progress()
    assert capsys.readouterr().out.splitlines()[-1] == "It can answer these exercises: 2.1."
    write("x = 1")
    progress()
    assert "exercises" not in capsys.readouterr().out


# ---- hints --------------------------------------------------------------------------------


def test_long_parts_have_hints_and_six_slips_or_more(capsys):
    hinted = {name for name, entry in checks().items() if entry.hints}
    assert hinted == {*LONG, "numerical_derivative"}
    for name in (*LONG, "rms_norm", "numerical_derivative"):
        assert len(checks()[name].mutants) >= 6, name
    hint("train")
    assert "The next one: python -m tformer_book.own hint train 2" in capsys.readouterr().out
    assert main(["hint", "train", "3"]) == 0
    assert "Hint 3 of 3." in capsys.readouterr().out
    hint("train", 4)
    hint("softmax")
    assert capsys.readouterr().out == "train has hints 1 to 3.\nsoftmax has no hints.\n"
    assert main(["hint"]) == 2
    assert "The parts are softmax, " in capsys.readouterr().err


def test_a_wrong_part_is_told_of_its_hints_if_it_has_any():
    write("def block(x, w, c, cache=None, attend=None):\n    return x\n\n\n" + SOFTMAX + "return x")
    with pytest.raises(CheckFailed, match=r"For a hint: `python -m tformer_book.own hint block`$"):
        check_part("block")
    with pytest.raises(CheckFailed) as caught:
        check_part("softmax")
    assert not re.search("hint", str(caught.value))
