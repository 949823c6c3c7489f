"""Cuts in small models, in Python: numbers, what is packed, said and refused."""

import json
import zlib

import numpy as np
import pytest

from tformer import reference as ref
from tformer.models.hooks import run_with_hooks
from tformer_book.chapters.ch17.circuits import CONFIGURATION, IT, NOUNS, SHOWN, sentences, shown
from tformer_book.chapters.ch17.cutting import SENTENCE, Cutting, asked, packed, read, told
from tformer_book.world.stories import patient

CUTS = [[0, 0, IT, 11], [0, 0, 11, 1], [0, 1, IT, 6], [1, 0, IT, 1], [1, 1, 0, 0]]


def zeros(name: str, cuts: list[list[int]]) -> dict:
    """Changes that multiply the weights that are cut by 0."""
    changes = {}
    for layer, one in enumerate(shown(name).blocks):
        kept = np.ones((len(one.heads.w_q), 12, 12))
        for i, head, t, s in cuts:
            if i == layer and head < len(kept):
                kept[head, t, s] = 0
        changes[f"blocks.{layer}.weights"] = lambda w, kept=kept: w * kept
    return changes


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("cuts", [[], CUTS[:1], CUTS], ids=len)
def test_the_numbers_are_those_of_a_run_with_weights_put_to_0(name: str, cuts: list) -> None:
    tokens = sentences()[0].numbers(SENTENCE)
    found = run_with_hooks(tokens, shown(name), CONFIGURATION, zeros(name, cuts), causal=False)
    widget, layers = Cutting(name, cuts=cuts), len(shown(name).blocks)
    for i, table in enumerate(widget.reading.weights):
        np.testing.assert_array_equal(table, found[f"blocks.{i}.weights"])
    if asked(name) == "noun":
        want = ref.softmax(found["logits"][IT])[tokens[list(NOUNS)]]
    else:
        on = found[f"blocks.{layers - 1}.weights"][:, IT][:, list(NOUNS)].mean(axis=0)
        want = on / on.sum()
    np.testing.assert_allclose(widget.reading.nouns, want, atol=1e-15)
    np.testing.assert_array_equal(widget.before.nouns, read(name, SENTENCE).nouns)


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.parametrize("why", ["tired", "wide"])
def test_before_any_cut_every_model_is_right(name: str, why: str) -> None:
    text = SENTENCE.replace("tired", why)
    assert np.argmax(read(name, text).nouns) == (why == "wide")


def test_another_word_that_is_likelier_is_told() -> None:
    street = Cutting("votes", SENTENCE.replace("tired", "wide"), cuts=[[0, 0, IT, NOUNS[1]]])
    word = street.reading.likeliest
    assert word not in ("", "animal", "street")
    assert f", likeliest {word}; before any cut" in repr(street)
    assert "likeliest" not in repr(Cutting("votes"))
    assert read("query", SENTENCE).likeliest == ""


def test_what_the_model_has_not_cannot_be_cut() -> None:
    cut = Cutting("votes", cuts=[[1, 0, IT, 1], [0, 1, IT, 1]])
    np.testing.assert_array_equal(cut.reading.nouns, cut.before.nouns)


def test_who_looks_at_neither_noun_has_no_share() -> None:
    cuts = [[1, 0, IT, t] for t in NOUNS]
    np.testing.assert_array_equal(read("query", SENTENCE, cuts).nouns, [0, 0])


def test_a_weight_that_is_cut_is_0_and_the_others_of_its_row_stay() -> None:
    cut, whole = read("query", SENTENCE, CUTS[:1]).weights[0], read("query", SENTENCE).weights[0]
    assert cut[0, IT, 11] == 0 < whole[0, IT, 11]
    cut[0, IT, 11] = whole[0, IT, 11]
    np.testing.assert_array_equal(cut, whole)


def test_what_can_be_told_are_the_beginnings_of_the_stories() -> None:
    assert SENTENCE in told()
    numbered = {tuple(row) for part in sentences() for row in part.tokens}
    assert {tuple(sentences()[0].numbers(text)) for text in told()} == numbered
    assert all(len(text.split()) == 12 for text in told())
    with pytest.raises(ValueError, match="is no story"):
        patient(SENTENCE)  # no beginning is a story


def test_what_is_packed_is_every_weight_that_plays_a_part() -> None:
    line, _, planes = zlib.decompress(packed(), 31).partition(b"\n")
    about = json.loads(line)
    assert [one["name"] for one in about["models"]] == list(SHOWN)
    assert tuple(about["words"]) == sentences()[0].words
    assert about["eps"] == CONFIGURATION.eps
    numbers = np.frombuffer(planes, np.uint8).reshape(2, -1)[::-1].T.copy().view("<f2")[:, 0]
    first, last = (shown(list(SHOWN)[i]) for i in (0, -1))
    np.testing.assert_array_equal(numbers[: first.embedding.size], first.embedding.ravel())
    assert asked(list(SHOWN)[-1]) == "noun"
    np.testing.assert_array_equal(numbers[-last.unembedding.size :], last.unembedding.ravel())
    assert len(packed()) <= 200_000


def test_the_models_are_no_part_of_its_state_and_are_handed_over() -> None:
    widget, sent = Cutting(), []
    assert all(not isinstance(value, bytes) for value in widget.get_state().values())
    widget.send = lambda content, buffers: sent.append((content, buffers))
    widget._handle_custom_msg({"ask": "held"}, [])
    assert sent == [({"ask": "held"}, [packed()])]


@pytest.mark.parametrize("name", SHOWN)
def test_it_says_what_it_shows(name: str) -> None:
    widget = Cutting(name, cuts=CUTS[:1])
    now, before = (
        f"animal {one.nouns[0]:.3f}, street {one.nouns[1]:.3f}"
        for one in (widget.reading, widget.before)
    )
    assert repr(widget) == (
        f"Cutting: {name}, “{SENTENCE}”, 1 look cut\n{now}; before any cut {before}"
    )
    assert "0 looks cut" in repr(Cutting(name))
    rows = sum(len(table) for table in widget.reading.weights)
    assert widget.fallback().count("<tr>") == 1 + rows
    assert now in widget.fallback()


def test_of_the_first_layer_the_row_of_a_chosen_word_stands_there() -> None:
    html = Cutting("query", word=1).fallback()
    assert "first layer, head 0, “animal”" in html
    assert "second layer, head 0, “it”" in html
    assert "first layer, head 0, “it”" in Cutting("veto", word=1).fallback()


def test_cuts_stand_once_and_in_order() -> None:
    assert Cutting(cuts=[CUTS[2], CUTS[0], CUTS[2]]).cuts == [CUTS[0], CUTS[2]]
    assert Cutting(cuts=[tuple(CUTS[0])]).cuts == [CUTS[0]]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"name": "vetoes"}, "name must be one of votes, .*; got 'vetoes'"),
        ({"sentence": "the animal slept"}, "sentence must be the first twelve words of a story"),
        ({"sentence": SENTENCE.replace("tired", "hot")}, "must be the first twelve words"),
        ({"word": 12}, "word must be 0 to 11; got 12"),
        ({"word": -1}, "word must be 0 to 11; got -1"),
        ({"cuts": [[0, 0, 8]]}, r"each from 0 to below 2, 2, 12, 12; got \[0, 0, 8\]"),
        ({"cuts": [[2, 0, 8, 1]]}, r"cuts must hold .*; got \[2, 0, 8, 1\]"),
        ({"cuts": [[0, 2, 8, 1]]}, r"cuts must hold .*; got \[0, 2, 8, 1\]"),
        ({"cuts": [[0, 0, 12, 1]]}, r"cuts must hold .*; got \[0, 0, 12, 1\]"),
        ({"cuts": [[0, 0, 8, -1]]}, r"cuts must hold .*; got \[0, 0, 8, -1\]"),
    ],
)
def test_what_is_out_of_range_is_refused(wrong: dict, words: str) -> None:
    with pytest.raises(ValueError, match=f"Cutting: .*{words}"):
        Cutting(**wrong)
