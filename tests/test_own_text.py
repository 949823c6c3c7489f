"""Training a reader's file on any text: reading, plan, steps, kills, and what is compared."""

import math
import os
import signal
import subprocess
import sys
import zlib
from collections import Counter
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from every import try_each
from own_fixtures import HEAD
from tformer.tokens.pretokenizer import pretokenize
from tformer_book.own import __main__ as command
from tformer_book.own import corpus as corpora
from tformer_book.own import plan as plans
from tformer_book.own.corpus import (
    LEAST,
    LONGEST,
    TextError,
    baselines,
    learn_merges,
    read_corpus,
    read_text,
    words,
)
from tformer_book.own.plan import Plan, configuration, make_plan
from tformer_book.own.steps import LENGTH, batches, first_state, held_out_nats, training_step
from tformer_book.own.text import open_trained, train_on_text

STOPS = """
import os, signal
lent, calls = adamw, []

def adamw(*arguments, **options):
    calls.append(1)
    if len(calls) == int(os.environ.get("STOP_AT", "0")):
        os.kill(os.getpid(), int(os.environ["STOP_BY"]))
    return lent(*arguments, **options)
"""
N_CALLS = 20  # of adamw in a step of a model of two layers
BEFORE = 4 * 2 * N_CALLS  # those that compare `train` with `training_step`
STEPS = 8


def prose(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    known = ["the", "dog", "cat", "saw", "a", "river", "and", "it", "slept"]
    found = ""
    while len(found) < n:
        found += " ".join(rng.choice(known, size=8)) + ".\n"
    return found


def quiet(line):
    """Say nothing."""


@pytest.fixture(autouse=True)
def _one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# ---- the text -----------------------------------------------------------------------------

TEXTS = {
    "prose": prose(),
    "no spaces": prose(9000).replace(" ", "").replace(".\n", ""),
    "Chinese": "河边有一只猫，猫看见了狗。狗睡着了；" * 150,
    "code": 'def f(x):\r\n    if x > 10:\r\n\t\treturn "it\'s"  # 2024\r\n' * 150,
    "digits": "".join(str(n) for n in range(2000)),
    "white": "a" + (" " * 60 + "\n\n\t b 1") * 100,
    "signs": "'" * 50 + "!?…'s 're" * 500,
    "all of Unicode": "".join(map(chr, [*range(0x800), *range(0x1F600, 0x1F900)])) * 3,
}


def test_any_text_is_split_and_cut_without_a_loss(own_book):
    def whole(text):
        corpus = read_corpus(read_text(text), own_book)
        assert corpus.text + corpus.held_out == text
        assert corpus.tokenizer.decode(corpus.tokens.tolist()) == corpus.text
        assert corpus.tokenizer.decode(corpus.asked.tolist()) == corpus.held_out
        assert 0.04 * len(text) < len(corpus.held_out) <= 0.1 * len(text)
        assert max(map(len, words(text))) <= LONGEST

    try_each(whole, ((name, (text,)) for name, text in TEXTS.items()))


def test_merges_are_learnt_within_words_also_within_parts_of_long_ones():
    def apart(text):
        parts = [*words(text)]
        joined = [*pretokenize("0".join(parts))]
        assert joined[::2] == parts
        assert {*joined[1::2]} == {"0"}

    try_each(apart, ((name, (text,)) for name, text in TEXTS.items()))
    assert learn_merges("ab" * 3000, 2) == ["a b", "ab ab"]
    across = learn_merges(("b" + "a" * (LONGEST - 2) + "c") * 300, 60)  # "cb" only between parts
    assert across
    assert not any("cb" in merge.replace(" ", "") for merge in across)


def test_short_words_are_cut_as_the_library_cuts_them(own_book):
    corpus = read_corpus(prose(), own_book)
    assert corpus.tokens.tolist() == corpus.tokenizer.encode(corpus.text)
    assert corpus.held_out.startswith(prose()[len(corpus.text) :][:10])
    assert corpus.text.endswith("\n")


def test_a_file_is_read_to_the_byte(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(("é\r\n" * LEAST).encode())
    assert read_text(path) == "é\r\n" * LEAST


def test_only_the_beginning_of_a_huge_text_is_read(monkeypatch):
    monkeypatch.setattr(corpora, "MOST", LEAST + 1)
    assert read_text("é" * LEAST) == "é" * (LEAST // 2)  # half a character is left out


BAD = {
    b"": "text.txt is empty. It needs 5,000 bytes",
    b"too short": r"has 9 bytes and needs 5,000 or more, about two pages",
    b"fa\xe7ade " * 1000: r"is not UTF-8: its byte 2 is 0xe7\. Save it as UTF-8",
}


@pytest.mark.parametrize("data", BAD, ids=("empty", "short", "Latin-1"))
def test_a_text_that_does_not_do_is_refused_by_its_reason(data, tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(data)
    with pytest.raises(TextError, match=BAD[data]):
        read_text(path)


def test_half_a_character_and_a_text_of_few_tokens_are_refused(write_own, tmp_path):
    with pytest.raises(TextError, match="half a character at place 5,000"):
        read_text("a" * 5000 + "\ud800")
    with pytest.raises(TextError, match="repeats itself so much that it is 75 tokens long; 128"):
        train_on_text("😀" * 2000, tmp_path / "f", file=write_own(), steps=1, say=quiet)


def test_the_prose_of_the_book_is_the_default_where_its_pages_are(monkeypatch, tmp_path):
    assert "\n\n# Your own transformer\n" in read_text(None)
    monkeypatch.setattr(corpora, "CHAPTERS", tmp_path)
    with pytest.raises(TextError, match=r"only its package. Name a text"):
        read_text(None)


def test_an_apply_merges_that_loses_letters_is_told(own_book):
    for wrong in (lambda word, ranks: [word[0]], lambda word, ranks: [word]):
        my = SimpleNamespace(**{**vars(own_book), "apply_merges": wrong})
        with pytest.raises(TextError, match=r"Your apply_merges cuts 'Ġ?\w+' into \['"):
            read_corpus(prose(), my)


# ---- what is compared ---------------------------------------------------------------------


def test_counts_of_tokens_and_pairs_give_what_loops_give(own_book):
    corpus = read_corpus(prose(), own_book)
    a, b, n = corpus.tokens.tolist(), corpus.asked.tolist(), corpus.tokenizer.n_vocab
    ones, twos = Counter(a), Counter(pairwise(a))
    followers = Counter(x for x, _ in twos)
    single = {x: (ones[x] + 1) / (len(a) + n) for x in range(n)}
    assert sum(single.values()) == pytest.approx(1)
    unigram = bigram = 0.0
    for x, y in zip([a[-1], *b], b, strict=False):
        unigram -= math.log2(single[y])
        kinds, total = followers[x], sum(twos[x, z] for z in ones)
        mixed = (twos[x, y] + kinds * single[y]) / (total + kinds) if total else single[y]
        bigram -= math.log2(mixed)
    found, size = baselines(corpus), len(corpus.held_out.encode())
    assert found["unigram"] == pytest.approx(unigram / size)
    assert found["bigram"] == pytest.approx(bigram / size)
    data = prose().encode()
    grown = len(zlib.compress(data, 9)) - len(zlib.compress(corpus.text.encode(), 9))
    assert found["zlib"] == 8 * grown / size


def test_each_token_held_out_is_predicted_once(own_book):
    c = configuration(own_book, 20, 32, 2)
    p = first_state(own_book, c, 0, "float64").p
    tokens = torch.from_numpy(np.random.default_rng(0).integers(20, size=LENGTH + 9))
    known, total = [7, *tokens.tolist()], 0.0
    for i in range(1, len(known)):
        first = (i - 1) // (LENGTH - 1) * (LENGTH - 1)
        with torch.no_grad():
            logits = own_book.transformer(torch.tensor(known[first:i]), p, c)[0][-1]
        total -= torch.log_softmax(logits, -1)[known[i]].item()
    assert held_out_nats(own_book, p, c, 7, tokens) == pytest.approx(total, rel=1e-9)


# ---- steps and kills ----------------------------------------------------------------------


def test_steps_are_those_of_train_digit_for_digit(own_book):
    c = configuration(own_book, 50, 32, 2)
    tokens = torch.from_numpy(np.random.default_rng(0).integers(50, size=1000))
    batch, state = batches(tokens, 0, 2), first_state(own_book, c, 0, "float32")
    p = {name: x.detach().clone().requires_grad_() for name, x in state.p.items()}
    for _, loss in own_book.train(p, c, batch, 5, peak=0.1, warmup=2):
        state, ours = training_step(own_book, state, c, batch, 5, 2, 0.1)
        assert ours == loss
    assert all((state.p[name] == x).all() for name, x in p.items())


def train(folder, file, **options):
    text = options.pop("text", prose())
    return train_on_text(
        text, folder, file=file, **{"steps": STEPS, "save_every": 0, "say": quiet, **options}
    )


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    file = folder / "my_transformer.py"
    file.write_text(f"{HEAD}\n{STOPS}\n", encoding="utf-8")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    trained = train(folder / "f", file)
    torch.set_num_threads(threads)
    return trained


def same(one, other):
    """Whether two trainings have come to the same numbers, digit for digit."""
    assert one.losses == other.losses
    assert one.held_out == other.held_out
    assert all((one.p[name] == x).all() for name, x in other.p.items())
    assert one.write(1.0, 20) == other.write(1.0, 20)


def test_a_training_that_was_killed_goes_on_to_the_same_numbers(tmp_path, write_own, uninterrupted):
    file, text = write_own(STOPS), tmp_path / "text.txt"
    text.write_text(prose(), encoding="utf-8")
    program = (
        "import torch; from pathlib import Path; torch.set_num_threads(1)\n"
        "from tformer_book.own.text import train_on_text\n"
        f"train_on_text(Path({str(text)!r}), {str(tmp_path / 'f')!r}, file={str(file)!r}, "
        f"steps={STEPS}, save_every=0)"
    )
    killed = BEFORE + 4 * N_CALLS + 7  # in the midst of step 5
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "STOP_AT": str(killed), "STOP_BY": str(int(signal.SIGKILL))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == -signal.SIGKILL, found.stderr
    assert "step 4 of 8: bits a byte" in found.stdout
    said = []
    again = train(tmp_path / "f", file, say=said.append)
    assert "Going on after step 4." in said
    same(again, uninterrupted)


def test_ctrl_c_saves_the_last_whole_step_and_says_how_to_go_on(
    tmp_path, write_own, monkeypatch, uninterrupted
):
    monkeypatch.setenv("STOP_AT", str(BEFORE + 3 * N_CALLS + 7))
    monkeypatch.setenv("STOP_BY", str(int(signal.SIGINT)))
    said = []
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "f", write_own(STOPS), save_every=1000, say=said.append)
    assert said[-1] == "Stopped after step 3. The same command goes on from there."
    monkeypatch.setenv("STOP_AT", "0")
    again = train(tmp_path / "f", write_own(STOPS), say=said.append)
    assert "Going on after step 3." in said
    same(again, uninterrupted)
    once_more = train(tmp_path / "f", write_own(STOPS), say=said.append)  # only writes
    same(once_more, uninterrupted)
    assert len(once_more.lines) == STEPS


def test_a_kill_before_the_first_checkpoint_begins_anew(tmp_path, write_own, monkeypatch):
    monkeypatch.setenv("STOP_AT", str(BEFORE + 2 * N_CALLS + 7))
    monkeypatch.setenv("STOP_BY", str(int(signal.SIGINT)))
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "f", write_own(STOPS))
    (tmp_path / "f/checkpoint.safetensors").unlink()
    monkeypatch.setenv("STOP_AT", "0")
    again = train(tmp_path / "f", write_own(STOPS))
    assert [line["step"] for line in again.lines] == [*range(1, STEPS + 1)]


def test_checkpoints_are_as_often_as_is_asked(tmp_path, write_own, monkeypatch):
    saved = []
    monkeypatch.setattr(
        "tformer_book.own.text.CheckpointFolder.save", lambda self, step, _: saved.append(step)
    )
    train(tmp_path / "f", write_own(), steps=4)
    train(tmp_path / "g", write_own(), steps=4, save_every=1000)
    assert saved == [1, 2, 3, 4, 4]


def test_another_training_in_a_folder_is_refused(tmp_path, write_own):
    folder, file = tmp_path / "f", write_own()
    train(folder, file, steps=1)
    for options, told in (
        ({"text": prose(seed=1)}, "began with another text"),
        ({"steps": 2}, "began with steps 1, not 2"),
        ({"size": (64, 2)}, "began with d_model 32, not 64"),
        ({"seed": 3}, "began with seed 0, not 3"),
        ({"minutes": 3}, r"began with minutes 15\.0, not 3\.0"),
    ):
        with pytest.raises(TextError, match=f"{told}. To go on with it, change that back"):
            train(folder, file, **{"steps": 1, **options})
    with pytest.raises(TextError, match=r"began with another my_transformer\.py, or an older book"):
        train(folder, write_own("x = 1"), steps=1)
    (folder / "plan.json").write_text("{", encoding="utf-8")
    with pytest.raises(TextError, match=r"plan.json cannot be read: .* Take another folder"):
        train(folder, file, steps=1)


def test_a_trained_model_is_opened_without_its_text(tmp_path, write_own):
    folder, file = tmp_path / "f", write_own()
    with pytest.raises(TextError, match=r"There is no trained model in .*f\. "):
        open_trained(folder, file=file)
    trained = train(folder, file, steps=2)
    opened = open_trained(folder, file=file)
    assert opened.tokenizer.tokens == trained.corpus.tokenizer.tokens
    assert opened.write("the dog", 1.0, 20) == trained.write(1.0, 20, "the dog")
    assert opened.write("the dog", 0, 1) == trained.write(0, 1, "the dog")
    with pytest.raises(TextError, match="needs a token to go on from"):
        opened.write("")
    (folder / "merges.json").unlink()
    with pytest.raises(TextError, match=r"merges\.json cannot be read"):
        open_trained(folder, file=file)
    train(folder, file, steps=2)
    assert open_trained(folder, file=file).p.keys() == trained.p.keys()


def test_a_loss_is_told_in_bits_a_byte_of_the_text_that_is_trained_on(own_book):
    corpus = read_corpus(prose(), own_book)
    even = math.log(corpus.tokenizer.n_vocab)  # each token as likely as any other
    bits = len(corpus.tokens) * math.log2(corpus.tokenizer.n_vocab) / len(corpus.text.encode())
    assert corpus.loss_in_bits(even) == pytest.approx(bits)


def test_a_loss_that_is_no_number_stops_and_is_not_saved(tmp_path, write_own):
    file = write_own("def learning_rate(step, *rest):\n    return math.nan if step == 2 else 1e-3")
    with pytest.raises(TextError, match="The loss of step 3 is nan"):
        train(tmp_path / "f", file, save_every=1000)
    assert not (tmp_path / "f/checkpoint.safetensors").exists()


def test_a_train_of_other_steps_is_told_and_one_of_the_same_is_not(tmp_path, write_own):
    said, wrong = [], "def train(p, c, batch, steps, **_):\n    yield from [(1, 0.5)] * steps"
    train(tmp_path / "f", write_own(wrong), steps=1, say=said.append)
    assert said[0].startswith("Your train has other losses")
    train(tmp_path / "g", write_own(), steps=1, say=said.append)
    assert sum(line.startswith("Your train has") for line in said) == 1


def test_the_bill_is_what_pytorch_counts(uninterrupted):
    planned, counted = uninterrupted.flops()
    assert counted == pytest.approx(planned, rel=0.01)
    c, plan = uninterrupted.c, uninterrupted.plan
    assert planned == STEPS * 4 * LENGTH * (
        6 * sum(x.numel() for x in uninterrupted.p.values()) + 12 * 2 * 32 * LENGTH
    )
    assert (c.n_layers, c.d_model, plan.n_tokens) == (2, 32, STEPS * 4 * LENGTH)


def test_the_bill_counts_attention_that_pytorch_computes_in_one_operation(tmp_path, write_own):
    fused = """
def grouped_attention(q, k, v, mask=None, attend=None):
    fused = torch.nn.functional.scaled_dot_product_attention
    return attend(q, k, v, mask) if attend else fused(q, k, v, attn_mask=mask, enable_gqa=True)
"""
    planned, counted = train(tmp_path / "f", write_own(fused), steps=1).flops()
    assert counted == pytest.approx(planned, rel=0.01)


def test_a_little_training_lowers_what_a_byte_costs(uninterrupted):
    held = [*uninterrupted.held_out.values()]
    assert held == sorted(held, reverse=True)


# ---- the plan, and the command ------------------------------------------------------------


def test_more_minutes_take_a_larger_model_and_no_text_is_read_more_than_twenty_times(
    own_book, monkeypatch
):
    corpus = SimpleNamespace(tokens=torch.zeros(2 * 10**6), tokenizer=SimpleNamespace(n_vocab=256))
    monkeypatch.setattr(plans, "_measured", lambda my, c, *rest: my.n_parameters(c) / 1e6)
    asked = {"text": "", "file": "", "minutes": 1.0, "seed": 0, "dtype": "float32"}

    def of(minutes):
        plan = make_plan(own_book, corpus, {**asked, "minutes": minutes})
        return plan, own_book.n_parameters(
            configuration(own_book, 256, plan.d_model, plan.n_layers)
        )

    previous = 0
    for minutes in (0.01, 1.0, 10.0, 300.0):
        plan, size = of(minutes)
        assert size >= previous
        previous = size
        seconds = plan.steps * size / 1e6
        assert seconds <= 60 * minutes * 0.9 or plan.steps == 1
        assert plan.n_tokens >= 5 * size or plan.d_model == 32
    assert previous > 10**6
    plan, _ = of(100_000.0)
    assert 0.99 * 40e6 < plan.n_tokens <= 40e6
    assert plan.d_model == 256


def test_the_command_trains_says_what_it_plans_and_refuses_another_text(
    tmp_path, write_own, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    write_own()
    Path("tale.txt").write_text(prose(), encoding="utf-8")
    assert command.main(["train", "tale.txt", "--minutes", "0.01"]) == 0
    out = capsys.readouterr().out
    for line in (
        "The folder: trained_tale",
        "The plan: ",
        "FLOPs",
        "To beat, in bits a byte",
        "this model",
        "temperature 0.7",
    ):
        assert line in out
    assert "at the measured" in out
    assert Path("trained_tale/checkpoint.safetensors").exists()
    assert command.main(["write", "trained_tale", "--start", "the cat", "--tokens", "5"]) == 0
    assert capsys.readouterr().out.startswith("the cat")
    assert command.main(["write", "nowhere"]) == 2
    assert "Nothing was written. There is no trained model in nowhere" in capsys.readouterr().err
    Path("tale.txt").write_text(prose(seed=2), encoding="utf-8")
    assert command.main(["train", "tale.txt", "--minutes", "0.01"]) == 2
    assert "Nothing was trained. The training in trained_tale began with another text" in (
        capsys.readouterr().err
    )
    assert command.main(["train", "nothing.txt"]) == 2
    assert command.main(["train", "tale.txt", "--minutes", "-1", "--folder", "other"]) == 2
    assert "minutes must be above 0; got -1.0" in capsys.readouterr().err


def test_the_command_ends_as_ctrl_c_does(write_own, monkeypatch):
    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "train_on_text", stopped)
    assert command.main(["train", "--file", str(write_own())]) == 130


def test_a_plan_is_a_recipe_with_all_that_a_kill_would_lose():
    with pytest.raises(TypeError, match="text"):
        Plan(steps=1, rate=1e-3)
