"""The machine of the first page: its file, its arithmetic, and that training makes it again."""

import hashlib
import json
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch

from tformer_book.chapters.ch00.engine import FILE, decode, encode, opening, trained, untrained
from tformer_book.chapters.ch00.listing import progress, results, sample, whole
from tformer_book.chapters.ch00.measure import (
    CUTS,
    IT,
    LAST,
    LOUD,
    SECOND,
    TROUBLE,
    answers,
    circuit,
    cuts,
    loud,
    shares,
)
from tformer_book.chapters.ch00.stages import PROMPTS, STAGES, stage, stored, written
from tformer_book.pipeline.notebook.normalise import code_cells, load
from tformer_book.world.stories import CURES, DID, fault, stories

ROOT = Path(__file__).parents[3]
ROOM = files("tformer_book.chapters.ch00")
FORTY = (ROOM / "minimal_gpt.py").read_text(encoding="utf-8")
SHA256 = "ae2a6b5292355d4812d31161408f8d3660911893cc822a51d90e2ae1b6bb8e79"
TOLD, HELD_OUT = stories().split()


@pytest.fixture(scope="module")
def again() -> dict:
    """The forty lines, trained again: most of a minute."""
    names: dict = {}
    threads = torch.get_num_threads()
    exec(compile(FORTY.rpartition("\nprint(")[0], "minimal_gpt.py", "exec"), names)
    names["losses"] = [loss for _, loss in names["train"](1000)]
    torch.set_num_threads(threads)
    return names


def guesses(names: dict, rows: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        return torch.softmax(names["machine"](torch.tensor(rows))[0], -1).numpy()


def test_the_weights_are_those_that_were_committed() -> None:
    assert hashlib.sha256((ROOM / FILE).read_bytes()).hexdigest() == SHA256
    assert (
        sum(np.size(x) for x in (trained().E, trained().P, trained().U))
        + sum(np.size(x) for block in trained().blocks for x in block)
        == 30_816
    )
    assert trained().words == TOLD.words


def test_training_again_gives_the_same_loss_and_the_same_answers(again: dict) -> None:
    assert again["losses"] == pytest.approx(stored()["losses"], abs=1e-2)
    ours = shares(lambda rows: trained().guesses(rows)[0], HELD_OUT, TOLD)
    theirs = shares(lambda rows: guesses(again, rows), HELD_OUT, TOLD)
    assert theirs == pytest.approx(ours, abs=1e-4)
    assert (theirs["cure"], theirs["patient"]) == (1, 1)


def test_numpy_computes_what_the_forty_lines_compute(again: dict) -> None:
    """And twenty bits of each number leave no chance off by more than 1e-5, on every story."""
    rows = stories().tokens()[:, :-1]
    p, _ = trained().guesses(rows)
    assert np.abs(p - guesses(again, rows)).max() < 1e-5
    looks = again["machine"](torch.tensor(rows[0]))[1]
    for layer, look in enumerate(looks):
        ours = trained().guesses(rows[:1])[1][layer, 0]
        np.testing.assert_allclose(ours, look.detach().numpy(), atol=1e-5)


def test_the_dice_of_the_untrained_machine_are_those_of_the_forty_lines() -> None:
    names: dict = {}
    exec(compile(FORTY.partition("# Every number")[0], "minimal_gpt.py", "exec"), names)
    rows = TOLD.tokens()[:3, :-1]
    np.testing.assert_allclose(untrained().guesses(rows)[0], guesses(names, rows), atol=1e-12)


def test_forty_lines_and_one_to_run_them_stand_on_the_page() -> None:
    """In the same order, and each where the page speaks of it."""
    lines = [line for line in FORTY.splitlines() if line and not line.startswith("#")]
    assert len(lines) == 41
    cells = code_cells(load(ROOT / "chapters" / "00_whole_machine.ipynb"))
    page = "\n".join(cell.source for cell in cells)
    places = [page.index(line) for line in lines[5:-1]]
    assert sorted(places) == places
    assert all(line in page for line in lines[:5])
    assert all(len(line) <= 76 for line in lines)


def test_a_machine_written_as_text_comes_back_within_half_a_unit() -> None:
    tables = [np.array([[1.0, -0.3], [0.2, 1e-7]]), np.array([[2.0, -2.0, 0.5]]), np.eye(2)]
    block = [np.full((2, 2), x) for x in (0.1, 0.2, 0.3, -0.4, 0.5, 0.6)]
    found = decode(json.loads(json.dumps(encode(("a", "b"), tables + block))))
    assert found.words == ("a", "b")
    for one, table in zip(
        (found.E, found.P, found.U, *found.blocks[0]), tables + block, strict=True
    ):
        assert np.abs(one - table).max() <= np.abs(table).max() / (2**19 - 1) / 2 + 1e-15


def test_a_reading_is_that_of_many_texts_and_the_lens_ends_at_the_guess() -> None:
    machine = trained()
    for prompt in PROMPTS.values():
        found = machine.read(prompt)
        p, weights = machine.guesses(found.tokens[None])
        np.testing.assert_allclose(found.p, p[0], atol=1e-12)
        np.testing.assert_allclose(found.weights, weights[:, 0], atol=1e-12)
        np.testing.assert_allclose(machine.lens(prompt)["feed-forward 2"], found.p[-1], atol=1e-12)
        assert not np.triu(found.weights, 1).any()
    assert opening("the dog was . so they woke the dog .") == ". the dog was . so they woke the"


def test_a_cut_hides_one_word_from_one_other_and_nothing_else() -> None:
    found = trained().read(PROMPTS["wide"], [CUTS["second noun to it"]])
    whole = trained().read(PROMPTS["wide"])
    assert found.weights[0, IT, SECOND] == 0
    assert found.weights[0].sum(axis=-1) == pytest.approx(1)
    changed = np.abs(found.weights[0] - whole.weights[0]).max(axis=-1) > 0
    assert np.flatnonzero(changed).tolist() == [IT]
    assert found.p[LAST].argmax() != whole.p[LAST].argmax()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (". the wug", "does not know the word 'wug'"),
        ("", "reads 1 to 19 words; got 0"),
        (" ".join(["the"] * 20), "reads 1 to 19 words; got 20"),
    ],
)
def test_it_refuses_in_words(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        trained().read(text)


def test_the_stages_are_of_one_run_that_ends_at_the_machine_of_the_page() -> None:
    stages = stored()["stages"]
    assert [one["step"] for one in stages] == list(STAGES)
    assert len(stored()["losses"]) == 1000
    last = stage(1000, trained(), TOLD)
    assert last["texts"] == stages[-1]["texts"]
    for name in ("loss", "grammar", "cure", "right"):
        assert last[name] == pytest.approx(stages[-1][name], abs=1e-3)
    assert stage(0, untrained(), TOLD) == stages[0]
    for one in stages:
        assert [fault(text) for text in one["texts"]] == one["faults"]


def test_at_a_hundred_steps_it_praises_the_goose() -> None:
    found = stored()["stages"][STAGES.index(100)]
    goose = "the ladder did not stop the cow because it was too shy . so they praised the goose ."
    assert (found["texts"][0], found["faults"][0]) == (goose, "wrong patient")


def test_the_same_dice_write_the_same_stories() -> None:
    assert written(trained(), 3) == written(trained(), 5)[:3]
    assert written(trained(), 3, dice=1) != written(trained(), 3)


def test_the_stored_results_of_this_seed_are_those_of_the_machine() -> None:
    ours = shares(lambda rows: trained().guesses(rows)[0], HELD_OUT, TOLD)
    ours |= circuit(trained(), HELD_OUT) | cuts(trained(), HELD_OUT)
    kept = results()["as it is"]["0"]
    assert {name: kept[name] for name in ours} == pytest.approx(ours, abs=2e-4)
    right, second = answers(trained(), HELD_OUT)
    assert right.all()
    assert second.sum() == 252


def test_the_bar_grows_with_the_steps() -> None:
    assert progress(500, 8.4) == "\r" + "█" * 20 + "░" * 20 + " step  500  loss  8.40"
    assert sample(". the dog") == "\n  the dog"


def test_what_the_page_prints_runs_alone_and_is_the_same_machine(tmp_path: Path) -> None:
    """In a folder of its own, where our package cannot be imported: words, stories, first steps."""
    alone, _, run = whole().rpartition("\n")
    assert re.findall(r"^(?:import|from) .*", alone, re.MULTILINE) == [
        "import numpy as np",
        "import torch",
    ]
    assert run == FORTY.splitlines()[-1]
    assert all(len(line) <= 76 for line in alone.splitlines())
    asks = """
import sys, json
print(json.dumps({
    "words": words, "lessons": lessons.tolist(), "held_out": [" ".join(text) for text in held_out],
    "losses": [loss for step, loss in train(3)], "written": len(write(".", 18).split()),
    "ours": [name for name in sys.modules if name.startswith("tformer")],
}))"""
    blocked = "import sys; sys.modules['tformer'] = None\n"
    (tmp_path / "minimal_gpt.py").write_text(blocked + alone + asks, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "minimal_gpt.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = json.loads(ran.stdout)
    assert tuple(found["words"]) == TOLD.words
    assert found["lessons"] == TOLD.tokens().tolist()
    assert found["held_out"] == [f". {text}" for text in HELD_OUT]
    assert found["losses"] == pytest.approx(stored()["losses"][:3], abs=1e-3)
    assert found["written"] == 19
    assert found["ours"] == ["tformer"]


def test_every_verb_joins_a_noun_with_loud_troubles_and_one_without() -> None:
    kinds = {kind for kind, troubles in CURES.items() if set(troubles) <= set(LOUD)}
    assert kinds == {"animal", "hole"}
    assert {why for kind in kinds for why in CURES[kind]} == set(LOUD)
    assert all((one in kinds) != (other in kinds) for one, other in DID.values())
    heard = trained().guesses(HELD_OUT.tokens()[:, : LAST + 1])[1][0, :, LAST, TROUBLE]
    assert heard[loud(HELD_OUT)].min() > 0.64
    assert heard[~loud(HELD_OUT)].max() < 0.16
