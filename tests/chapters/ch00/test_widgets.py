"""The figures to touch of the first page, in Python: what they say, and what they refuse."""

import pytest

from tformer_book.chapters.ch00.stages import PROMPTS, STAGES
from tformer_book.chapters.ch00.training import SAID, Training
from tformer_book.chapters.ch00.typed import EXAMPLES, Typed, tidy
from tformer_book.world.stories import FAULTS


def test_it_is_parked_at_the_step_at_which_it_praises_the_goose() -> None:
    assert repr(Training()).startswith("Training: step 100, loss 12.91; grammar 69 %, cure 47 %")
    html = Training().fallback()
    assert "praised the goose . (right cure; wrong patient)" in html
    assert html.count("<li>") == 6
    assert set(SAID) == {"", *FAULTS}


@pytest.mark.parametrize("step", STAGES)
def test_every_stage_can_be_asked_for(step: int) -> None:
    assert Training(step=step).stage["step"] == step


def test_examples_can_be_read_and_break_it_as_the_page_says() -> None:
    found = {name: repr(Typed(text=text)) for name, text in EXAMPLES.items()}
    assert "next animal 0.987" in found["tired"]
    assert "next street 0.913" in found["wide"]
    assert "next street" in found["wide, but woken"]
    assert "next animal 0.51" in found["the wall is wide"]
    assert "next the 1.000" in found["an empty page"]
    assert repr(Typed()) in Typed().fallback().replace("As drawn, ", "Typed: ")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The animal, did", ". the animal did"),
        (PROMPTS["tired"], PROMPTS["tired"]),
        ("tired.so", ". tired . so"),
        ("", "."),
        (". . the", ". . the"),
    ],
)
def test_a_text_is_tidied(text: str, found: str) -> None:
    assert tidy(text) == found
    assert Typed(text=text).text == found


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Training(step=99), "step must be one of .*; got 99"),
        (lambda: Training(ending="sad"), "ending must be one of .*; got 'sad'"),
        (lambda: Typed(text="the wug"), "does not know the word 'wug'"),
        (lambda: Typed(text="the " * 19), "reads 1 to 19 words; got 20"),
        (lambda: Typed(selected=19), "selected must be -1 to 18; got 19"),
    ],
)
def test_they_refuse_in_words(make, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        make()
