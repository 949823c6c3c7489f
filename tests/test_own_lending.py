"""A reader's own transformer: parts that are lent, progress from a terminal, and runs."""

import json
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import pytest
import torch

from own_fixtures import SOFTMAX
from tformer_book.own import Unfit, load, progress, try_out
from tformer_book.own.__main__ import main
from tformer_book.own.checking import judge
from tformer_book.own.parts import BEGIN, BOOK, PARTS, definitions, of_the_book
from tformer_book.own.samples import parameters, small
from tformer_book.own.tryouts import TRYOUTS
from tformer_book.own.world import small_world

NAMES = list(of_the_book())
PAGE = Path(__file__).resolve().parents[1] / "chapters/00_your_transformer.ipynb"


def outcome(my):
    """What a module makes of a small model: logits, a text, a step of training, patterns."""
    c = small(my)
    p, tokens = parameters(my, c), torch.tensor([3, 1, 4, 1, 5])
    logits = my.transformer(tokens, p, c)[0]
    text = list(my.generate(tokens, p, c, 3, temperature=0))
    patterns = my.attention_patterns(tokens, p, c)[1]
    q = {name: x.clone().requires_grad_() for name, x in p.items()}
    losses = list(my.train(q, c, lambda step: tokens[None], 2))
    return logits.tolist(), text, patterns[1].tolist(), losses


@pytest.mark.parametrize("missing", [*([name] for name in NAMES), NAMES])
def test_a_file_gives_the_same_whichever_part_is_lent(missing, tmp_path, own_book):
    source = BOOK.read_text(encoding="utf-8")
    lines = source.splitlines()
    for name in missing:
        node = of_the_book()[name].node
        first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
        lines[first - 1 : node.end_lineno] = [""] * (node.end_lineno - first + 1)
    path = tmp_path / "my_transformer.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert missing[0] not in definitions(path.read_text(encoding="utf-8"))
    assert outcome(load(path)) == outcome(own_book)


def test_lent_parts_call_the_readers_at_any_depth(write_own):
    path = write_own("CALLS = []\ndef softmax(x, axis=-1):\n    CALLS.append(x)\n    return 0 * x")
    my = load(path)
    assert my.transformer.__code__.co_filename == str(BOOK)
    outcome(my)
    assert my.CALLS


def test_a_file_is_read_anew_each_time(write_own):
    path = write_own("def softmax(x, axis=-1):\n    return x")
    assert not judge(path, "softmax")[0]
    assert judge(write_own(SOFTMAX), "softmax")[0]


TRAPS = {
    "def grouped_attention(q, k, v, mask=None, attend=attention):\n    return attend(q, k, v)": (
        r"line \d+: grouped_attention has the default `attention`"
    ),
    "def train(p, c, batch, steps, losses=[]):\n    return losses": r"default `\[\]`, which all",
    "def train(p, c, batch, steps, *, seen={}):\n    return seen": r"default `{}`, which all",
    "linear = 3": "`linear` is now a value of type int",
    "math = None": "`math` is now a value of type NoneType",
    "softmax = 0.5": "`softmax` is now a value of type float, and should be a function",
}


@pytest.mark.parametrize("text", TRAPS)
def test_what_lending_cannot_go_with_is_told_by_name(text, write_own):
    with pytest.raises(Unfit, match=TRAPS[text]):
        load(write_own(text))


# ---- from a terminal ----------------------------------------------------------------------


def test_progress_counts_parts_and_own_lines(write_own, capsys):
    progress(write_own(SOFTMAX + "\n\ndef rms_norm(x, gain, eps=1e-5):\n    return x\n"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Your transformer: 1 of 16 parts, 3 lines of your own. The book")
    assert lines[1].startswith("✓  2  softmax")
    assert lines[2].startswith("○  4  attention_weights")
    assert re.match(r"✗  8  rms_norm, layer_norm: rms_norm: .*", lines[6])
    progress(BOOK)
    first = capsys.readouterr().out.splitlines()[0]
    total = sum(found.n_lines for found in of_the_book().values())
    assert first == f"Your transformer: 16 of 16 parts, {total} lines of your own."


def test_a_part_that_is_half_there_is_not_done(write_own, capsys):
    text = "def split_heads(x, n):\n    return x.unflatten(-1, (n, -1)).transpose(-3, -2)"
    progress(write_own(text))
    line = capsys.readouterr().out.splitlines()[4]
    assert line.startswith("✗  6")
    assert "still lent: merge_heads, grouped_attention" in line


def test_begin_writes_a_file_once_and_what_it_begins_with_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["progress"]) == 2
    assert "python -m tformer_book.own begin" in capsys.readouterr().err
    assert main(["begin"]) == 0
    assert main(["begin"]) == 2
    assert "nothing was changed" in capsys.readouterr().err
    assert main([]) == 0
    assert main(["show", "softmax"]) == 0
    assert "def softmax(x, axis=-1):" in capsys.readouterr().out
    assert main(["show", "rotary"]) == 2
    with pytest.raises(SystemExit):
        main(["99"])
    short = BEGIN.read_text(encoding="utf-8").replace(" 400, ", " 2, ").replace("% 50", "% 1")
    exec(compile(short, "my_transformer.py", "exec"), {"__name__": "__main__"})
    assert re.search(r"^step 2: \d+\.\d{3} nats a token$", capsys.readouterr().out, re.MULTILINE)


def test_a_chapter_checks_its_part_and_tries_it_right_or_not(write_own, monkeypatch, capsys):
    path = write_own("def softmax(x, axis=-1):\n    return x")
    monkeypatch.setitem(
        TRYOUTS, 2, (lambda my: iter(["tried it" * (my.__file__ == str(path))]), False)
    )
    assert main(["2", "--file", str(path)]) == 1
    out = capsys.readouterr().out
    assert "✗ softmax, not yet" in out
    assert "tried it" in out
    assert main(["2", "--file", str(write_own(SOFTMAX))]) == 0
    monkeypatch.setitem(TRYOUTS, 4, (lambda my: iter(["tried"]), False))
    assert main(["4", "--file", str(write_own("x = 1"))]) == 0
    assert "attention is lent by the book" in capsys.readouterr().out


# ---- runs ---------------------------------------------------------------------------------


def test_the_small_world_is_the_one_of_the_first_page():
    world = small_world()
    assert world.lessons.shape[1] == world.asked.shape[1]
    assert world.text(world.lessons[0]).startswith(". the ")
    assert (world.batch(3) == world.batch(3)).all()
    assert (world.batch(3) != world.batch(4)).any()
    assert world.right(SimpleNamespace(transformer=oracle(world)), None, None) == "504 of 504"


def oracle(world):
    def transformer(tokens, p, c):
        logits = torch.zeros(*tokens.shape, len(world.words))
        logits[:, -1] = torch.nn.functional.one_hot(
            torch.from_numpy(world.asked[:, -1]), len(world.words)
        )
        return logits, None

    return transformer


def test_the_page_gives_the_first_lines_of_the_book_and_runs_each_chapter():
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells)
    given = {name: line for line, name in re.findall(r"(?ms)^(def (\w+)\(.*?\):)$", text)}
    own_book = BOOK.read_text(encoding="utf-8")
    for name, line in given.items():
        assert " ".join(line.split()) in own_book, name
    assert {*given, "Config"} == {*NAMES}
    folded = re.findall(r"(?s):::\{dropdown\}.*?```python\n(.*?)\n```", text)
    assert all(part in own_book for listing in folded for part in listing.split("\n\n\n"))
    assert sum(sum(f.n_lines for f in definitions(x).values()) for x in folded) == sum(
        found.n_lines for found in of_the_book().values()
    )
    assert re.findall(r"^try_out\((\d+)\)$", text, re.M) == [str(part.chapter) for part in PARTS]


def test_a_run_needs_a_chapter_that_has_a_part():
    with pytest.raises(ValueError, match=r"chapter must be one of 2, 4, .*; got 3"):
        try_out(3)


def test_the_run_of_heads_says_that_a_low_loss_saw_the_answer() -> None:
    my = load(BOOK)
    assert not any("Tokens are mixed up" in line for line in TRYOUTS[6][0](my))
    with patch.multiple(my, split_heads=lambda x, n: x.reshape(*x.shape[:-2], n, x.shape[-2], -1)):
        *_, last = TRYOUTS[6][0](my)
    assert "Tokens are mixed up" in last


def test_without_a_cut_every_token_can_be_sampled() -> None:
    my = load(BOOK)
    for n, seed in product((605, 5000, 50257), range(3)):
        logits = 4 * torch.randn(n, generator=torch.Generator().manual_seed(seed))
        with patch.object(torch, "multinomial", wraps=torch.multinomial) as drawn:
            my.sample(logits)
        assert (drawn.call_args[0][0] > 0).all()
