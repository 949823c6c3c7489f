"""A reader's own transformer: the book's file against the library, checks, lending, progress."""

import ast
import json
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import patch

import numpy as np
import pytest
import torch

from every import try_each
from tformer import reference
from tformer.parameters import NormParameters
from tformer_book.exercises import CheckFailed, process, verdict
from tformer_book.own import Unfit, check, load, progress, try_out
from tformer_book.own.__main__ import main
from tformer_book.own.checking import book_module, checks, judge
from tformer_book.own.parts import BEGIN, BOOK, PARTS, definitions, of_the_book
from tformer_book.own.samples import gpt2_parameters, parameters, small
from tformer_book.own.tryouts import TRYOUTS
from tformer_book.own.world import small_world

NAMES = list(of_the_book())
PAGE = Path(__file__).resolve().parents[1] / "chapters/00_your_transformer.ipynb"
HEAD = BEGIN.read_text(encoding="utf-8").partition("\n\n\n# 2.")[0]
SOFTMAX = """
def softmax(x, axis=-1):
    terms = torch.exp(x - x.amax(axis, keepdim=True))
    return terms / terms.sum(axis, keepdim=True)
"""


@pytest.fixture(scope="module")
def book():
    return book_module()


@pytest.fixture
def write(tmp_path):
    """Write a reader's file: what the desk begins with, and this."""

    def written(text, head=HEAD):
        path = tmp_path / "my_transformer.py"
        path.write_text(f"{head}\n\n{text}\n", encoding="utf-8")
        return path

    return written


# ---- the table of parts -------------------------------------------------------------------


def test_every_name_of_the_book_is_in_one_part_and_has_a_check_and_each_part_a_run():
    named = [name for part in PARTS for name in part.names]
    assert named == NAMES == list(checks())
    assert [part.chapter for part in PARTS] == sorted(TRYOUTS)
    comments = re.findall(r"^# (\d+)(?:, (\d+))?\. ", BOOK.read_text(encoding="utf-8"), re.M)
    assert {int(b or a) for a, b in comments} == {part.chapter for part in PARTS}


def test_lines_of_code_leave_out_comments_empty_lines_and_docstrings():
    source = '@mark\ndef f(x):\n    """One.\n\n    Two."""\n\n    # three\n    return x  # four\n'
    assert definitions(source)["f"].n_lines == 3


# ---- the book's file against the library --------------------------------------------------


def test_attention_rope_norms_and_units_are_those_of_the_library(book):
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=(2, n, 6, 4)) for n in (4, 2, 2))
    mask = np.asarray(book.causal_mask(6, 6))
    assert (mask == reference.causal_mask(6, 6)).all()
    x, w1, w2, w3 = rng.normal(size=(6, 8)), *rng.normal(size=(2, 8, 5)), rng.normal(size=(5, 8))
    gain, bias = rng.normal(size=(2, 8))
    t = torch.from_numpy
    pairs = [
        (book.softmax(t(x), 0), reference.softmax(x, axis=0)),
        (
            book.grouped_attention(t(q), t(k), t(v), t(mask)),
            reference.grouped_attention(q, k, v, mask),
        ),
        (
            book.blockwise_attention(t(q), t(q), t(q), t(mask), 4),
            reference.attention(q, q, q, mask),
        ),
        (
            book.rope(t(q), torch.arange(3, 9), 500.0),
            reference.rope(q, reference.sinusoidal(np.arange(3, 9), 4, base=500.0)),
        ),
        (book.rms_norm(t(x), t(gain)), reference.rms_norm(x, NormParameters(gain))),
        (
            book.layer_norm(t(x), t(gain), t(bias)),
            reference.layer_norm(x, NormParameters(gain, bias)),
        ),
        (
            book.swiglu(t(x), t(w1), t(w2), t(w3)),
            (reference.silu(x @ w1) * (x @ w2)) @ w3,
        ),
        (book.gelu(t(x)), reference.gelu_tanh(x)),
    ]
    for got, want in pairs:
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_llama_and_gpt2_are_those_of_transformers(book):
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    sizes = {"vocab_size": 11, "bos_token_id": None, "eos_token_id": None}
    tokens = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])
    c = small(book, n_groups=4, d_ff=12, base=0.0)
    published = GPT2LMHeadModel(
        GPT2Config(n_positions=32, n_embd=8, n_layer=2, n_head=4, n_inner=12, **sizes)
    )
    p = gpt2_parameters(c)
    published.double().eval().load_state_dict(
        {f"transformer.{name}": x for name, x in p.items()} | {"lm_head.weight": p["wte.weight"]}
    )
    with torch.no_grad():
        got, _ = book.gpt2(tokens, p, c)
        np.testing.assert_allclose(got, published(tokens).logits, rtol=1e-9, atol=1e-9)

    c = small(book, d_model=16, tied=False)
    published = LlamaForCausalLM(
        LlamaConfig(
            **sizes,
            hidden_size=16,
            intermediate_size=6,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            rms_norm_eps=1e-5,
            tie_word_embeddings=False,
        )
    )
    p = parameters(book, c)

    def half(x):  # the published class pairs coordinate i with i + d/2
        return x.unflatten(0, (-1, 2, 2)).transpose(1, 2).flatten(0, 2)

    turned = ("q_proj.weight", "k_proj.weight")
    published.double().eval().load_state_dict(
        {name: half(x) if name.endswith(turned) else x for name, x in p.items()}
    )
    with torch.no_grad():
        got, _ = book.transformer(tokens, p, c)
        np.testing.assert_allclose(got, published(tokens).logits, rtol=1e-5, atol=1e-6)


def test_a_text_read_in_two_parts_gives_the_same_logits(book):
    c = small(book)
    p, tokens = parameters(book, c), torch.tensor([3, 1, 4, 1, 5, 9])
    whole, caches = book.transformer(tokens, p, c)
    _, first = book.transformer(tokens[:2], p, c)
    later, both = book.transformer(tokens[2:], p, c, first)
    torch.testing.assert_close(later, whole[2:], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(both[1][0], caches[1][0], rtol=1e-12, atol=1e-12)


def test_training_takes_the_steps_of_torch(book):
    """AdamW with clipping, by PyTorch's own optimiser."""
    c = small(book, n_layers=1)
    p = {name: x.requires_grad_() for name, x in parameters(book, c).items()}
    q = {name: x.detach().clone().requires_grad_() for name, x in p.items()}
    groups = [[x for x in q.values() if (x.ndim > 1) is wide] for wide in (True, False)]
    adam = torch.optim.AdamW(
        [{"params": xs, "weight_decay": d} for xs, d in zip(groups, (0.1, 0.0), strict=True)],
        betas=(0.9, 0.95),
    )
    rows = torch.tensor([[1, 2, 3, 4], [5, 6, 7, -1]])
    for step, loss in book.train(p, c, lambda step: rows, 6, peak=0.5, warmup=2):
        want = torch.nn.functional.cross_entropy(
            book.transformer(rows[:, :-1].clamp(min=0), q, c)[0].mT, rows[:, 1:], ignore_index=-1
        )
        assert loss == pytest.approx(want.item(), rel=1e-9)
        adam.zero_grad()
        want.backward()
        torch.nn.utils.clip_grad_norm_(list(q.values()), 1.0)
        for group in adam.param_groups:
            group["lr"] = book.learning_rate(step, 6, 2, 0.5)
        adam.step()
    for name in p:
        torch.testing.assert_close(p[name], q[name], rtol=1e-9, atol=1e-9)


# ---- checks -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_the_book_is_right_and_each_slip_is_told_in_its_own_words(name, monkeypatch):
    monkeypatch.setattr(process, "CAN_FORK", False)
    assert judge(BOOK, name)[0]
    entry = checks()[name]
    assert entry.mutants or name == "Config"

    def told(sentence):
        correct, text = verdict(entry, entry.mutants[sentence], 30.0)
        assert not correct
        assert [other for other in entry.mutants if other in text] == [sentence]

    try_each(told, ((sentence, (sentence,)) for sentence in entry.mutants))


GENERATE = (
    "def generate(tokens, p, c, n, temperature=1.0, top_p=1.0, stop=None, model=None, rng=None):"
)
WRONG = {
    "a stub": ("def softmax(x, axis=-1):\n    raise NotImplementedError()", "empty template"),
    "nothing returned": ("def softmax(x, axis=-1):\n    x.exp()", "returned nothing"),
    "an argument less": ("def softmax(x):\n    return x", "takes"),
    "a line that fails": ("def softmax(x, axis=-1):\n    return x @ None", "`return x @ None`"),
    "no Python": ("def softmax(x, axis=-1)\n    return x", "Python cannot read the file"),
    "a top level that fails": (f"{SOFTMAX}\n1 / 0", "ZeroDivisionError"),
    "too few fields": (
        "@dataclass\nclass Config:\n    n_vocab: int",
        "takes 2 positional arguments",
    ),
    "another name": (
        "def parameter_shapes(c):\n    return {'wte': (c.n_vocab, c.d_model)}",
        "leaves out 11 of 11 names: `model.layers.0.self_attn.q_proj.weight`",
    ),
    "one thing returned": ("def block(x, w, c, cache=None, attend=None):\n    return x", "two"),
    "no gradient asked": (
        "def initialise(c, seed=0):\n"
        "    return {n: torch.ones(s) for n, s in parameter_shapes(c).items()}",
        "does not ask for a gradient",
    ),
    "no seed": (
        "def initialise(c, seed=0):\n    rng = torch.Generator().manual_seed(0)\n"
        "    return {n: torch.randn(s, generator=rng).requires_grad_()\n"
        "            for n, s in parameter_shapes(c).items()}",
        "the argument seed has no effect",
    ),
    "everything read again": (
        f"{GENERATE}\n    tokens = list(tokens)\n"
        "    for _ in range(n):\n"
        "        token = int((model or transformer)(torch.tensor(tokens), p, c)[0][-1].argmax())\n"
        "        yield token\n"
        "        tokens.append(token)",
        "After the first call hand over the new token alone",
    ),
    "another model": (
        f"{GENERATE}\n    yield from [1] * n",
        "`model` has no effect",
    ),
    "no generator": (
        f"{GENERATE}\n    caches, tokens = None, torch.as_tensor(tokens)\n"
        "    for _ in range(n):\n"
        "        logits, caches = (model or transformer)(tokens, p, c, caches)\n"
        "        yield (token := sample(logits[-1], temperature, top_p))\n"
        "        tokens = torch.tensor([token])\n"
        "        if token == stop:\n            return",
        "hand rng on to sample",
    ),
    "no blocks": (
        "def blockwise_attention(q, k, v, mask=None, size=256):\n"
        "    return attention(q, k, v, mask)",
        "a table of all 2 by 3 scores",
    ),
    "unequal seeds": (
        "def initialise(c, seed=0):\n"
        "    return {n: torch.randn(s).requires_grad_() for n, s in parameter_shapes(c).items()}",
        "other numbers the second time",
    ),
    "numbers for texts": ("def apply_merges(word, ranks):\n    return [1]", "list of texts"),
    "losses alone": (
        "def train(p, c, batch, steps, peak=3e-3, warmup=100, model=None):\n"
        "    yield from (0.1 for _ in range(steps))",
        "two numbers at each step",
    ),
    "a missing key": (
        "def transformer(tokens, p, c, caches=None, attend=None):\n"
        "    return p['model.embed_tokens.weight'][tokens]",
        "A model returns two things",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_answers_that_misbehave_are_told_why(case, write):
    text, words = WRONG[case]
    name = re.search(r"(?:def|class) (\w+)", text)[1]
    correct, said = judge(write(text), name)
    assert not correct
    assert words in said


def test_a_part_is_judged_with_the_parts_of_the_book_around_it(write):
    wrong = "def softmax(x, axis=-1):\n    return x\n\n\n"
    attention = ast.get_source_segment(
        BOOK.read_text(encoding="utf-8"), of_the_book()["attention_weights"].node
    )
    path = write(wrong + attention)
    assert judge(path, "attention_weights")[0]
    assert not judge(path, "softmax")[0]


def test_check_raises_what_is_wrong_and_prints_what_is_right(write, capsys):
    check("softmax", write(SOFTMAX))
    assert capsys.readouterr().out.startswith("✓ softmax, correct. Along any axis")
    with pytest.raises(CheckFailed, match=r"softmax, not yet\."):
        check("softmax", write("def softmax(x, axis=-1):\n    return x"))
    with pytest.raises(CheckFailed, match="has no rope yet"):
        check("rope", write(SOFTMAX))
    with pytest.raises(CheckFailed, match="no part rotary"):
        check("rotary", write(SOFTMAX))


def test_clipping_without_the_small_number_is_right_too(write):
    node = of_the_book()["train"].node
    text = ast.get_source_segment(BOOK.read_text(encoding="utf-8"), node)
    assert " + 1e-6)" in text
    assert judge(write(text.replace(" + 1e-6)", ")")), "train")[0]


# ---- lending ------------------------------------------------------------------------------


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
def test_a_file_gives_the_same_whichever_part_is_lent(missing, tmp_path, book):
    source = BOOK.read_text(encoding="utf-8")
    lines = source.splitlines()
    for name in missing:
        node = of_the_book()[name].node
        first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
        lines[first - 1 : node.end_lineno] = [""] * (node.end_lineno - first + 1)
    path = tmp_path / "my_transformer.py"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert missing[0] not in definitions(path.read_text(encoding="utf-8"))
    assert outcome(load(path)) == outcome(book)


def test_lent_parts_call_the_readers_at_any_depth(write):
    path = write("CALLS = []\ndef softmax(x, axis=-1):\n    CALLS.append(x)\n    return 0 * x")
    my = load(path)
    assert my.transformer.__code__.co_filename == str(BOOK)
    outcome(my)
    assert my.CALLS


def test_a_file_is_read_anew_each_time(write):
    path = write("def softmax(x, axis=-1):\n    return x")
    assert not judge(path, "softmax")[0]
    assert judge(write(SOFTMAX), "softmax")[0]


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
def test_what_lending_cannot_go_with_is_told_by_name(text, write):
    with pytest.raises(Unfit, match=TRAPS[text]):
        load(write(text))


# ---- from a terminal ----------------------------------------------------------------------


def test_progress_counts_parts_and_own_lines(write, capsys):
    progress(write(SOFTMAX + "\n\ndef rms_norm(x, gain, eps=1e-5):\n    return x\n"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Your transformer: 1 of 16 parts, 3 lines of your own. The book")
    assert lines[1].startswith("✓  2  softmax")
    assert lines[2].startswith("○  4  attention_weights")
    assert re.match(r"✗  8  rms_norm, layer_norm: rms_norm: .*", lines[6])
    progress(BOOK)
    first = capsys.readouterr().out.splitlines()[0]
    total = sum(found.n_lines for found in of_the_book().values())
    assert first == f"Your transformer: 16 of 16 parts, {total} lines of your own."


def test_a_part_that_is_half_there_is_not_done(write, capsys):
    text = "def split_heads(x, n):\n    return x.unflatten(-1, (n, -1)).transpose(-3, -2)"
    progress(write(text))
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


def test_a_chapter_checks_its_part_and_tries_it_right_or_not(write, monkeypatch, capsys):
    path = write("def softmax(x, axis=-1):\n    return x")
    monkeypatch.setitem(
        TRYOUTS, 2, (lambda my: iter(["tried it" * (my.__file__ == str(path))]), False)
    )
    assert main(["2", "--file", str(path)]) == 1
    out = capsys.readouterr().out
    assert "✗ softmax, not yet" in out
    assert "tried it" in out
    assert main(["2", "--file", str(write(SOFTMAX))]) == 0
    monkeypatch.setitem(TRYOUTS, 4, (lambda my: iter(["tried"]), False))
    assert main(["4", "--file", str(write("x = 1"))]) == 0
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
    book = BOOK.read_text(encoding="utf-8")
    for name, line in given.items():
        assert " ".join(line.split()) in book, name
    assert {*given, "Config"} == {*NAMES}
    folded = re.findall(r"(?s):::\{dropdown\}.*?```python\n(.*?)\n```", text)
    assert all(part in book for listing in folded for part in listing.split("\n\n\n"))
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
