"""What the page says of the real model's prompts, measured again where it is installed."""

import numpy as np
import pytest

from tformer import pretrained
from tformer.models.pretrained import PretrainedModel, from_checkpoint
from tformer_book.chapters.ch18 import real


@pytest.fixture(scope="module")
def model(checkpoint: pretrained.Checkpoint) -> PretrainedModel:
    return from_checkpoint(checkpoint)


@pytest.mark.parametrize("kind", ["labels, flipped", "word pairs"])
def test_a_prompt_is_answered_as_stored(model: PretrainedModel, kind: str) -> None:
    """One answer in nine may move on another processor, where two words are nearly equal."""
    text = real.lines(kind, np.random.default_rng((18, real.KINDS.index(kind), 0)))
    for name, row in real.asked(model, [text]).items():
        assert row[0] == pytest.approx(real.stored()[kind][name][0], abs=0.13), name


@pytest.mark.parametrize(
    ("kind", "few"),
    [("capitals", 0), ("capitals", 1), ("capitals", 2), ("labels", 1), ("labels, flipped", 2)],
)
def test_a_question_behind_few_examples_is_answered_as_stored(
    model: PretrainedModel, kind: str, few: int
) -> None:
    """One answer in nine may move, as above."""
    text = real.lines(kind, np.random.default_rng((18, real.KINDS.index(kind), 0)))
    kept = real.stored_few()[kind][str(few)][0]
    assert real.right_behind(model, text, few) == pytest.approx(kept, abs=0.13)


def test_a_prompt_asks_behind_its_colons(model: PretrainedModel) -> None:
    text = [real.Line("France", "Paris", "Paris"), real.Line("dog", "foo", "bar")]
    tokens, colons, right = real.prompt(text, model.tokenizer)
    assert model.tokenizer.decode(tokens) == "France: Paris\ndog: foo"
    assert [model.tokenizer.decode([tokens[i]]) for i in colons] == [":", ":"]
    assert model.tokenizer.decode([right[1]]) == " bar"


def test_answers_are_chosen_of_all_tokens_or_among_some() -> None:
    import torch

    scores = torch.tensor([[0.0, 3.0, 1.0, 2.0], [4.0, 0.0, 2.0, 1.0]])
    assert real.answers(scores).tolist() == [1, 0]
    assert real.answers(scores, [3, 2]).tolist() == [3, 2]


@pytest.mark.parametrize("kind", real.KINDS)
def test_lines_are_what_their_kind_says(kind: str) -> None:
    found = real.lines(kind, np.random.default_rng(0))
    wrong = [line.shown != line.right for line in found]
    assert all(wrong) if "flipped" in kind else any(wrong) == ("," in kind)
    if kind == "word pairs":
        assert sorted(found[:8]) == sorted(found[8:])
    else:
        assert len({line.key for line in found}) == 17


def test_cuts_spare_the_induction_heads_and_fall_on_their_layers() -> None:
    for name, heads in real.CUTS.items():
        if name.startswith("others"):
            assert not set(heads) & set(real.INDUCTION)
            assert [layer for layer, _ in heads] == [layer for layer, _ in real.INDUCTION]


def test_the_heads_are_those_of_chapter_17() -> None:
    from tformer_book.chapters.ch17.real import stored

    found = [tuple(row[:2]) for row in stored()["induction"]["found"]["induction"][:4]]
    assert sorted(found) == sorted(real.INDUCTION)
