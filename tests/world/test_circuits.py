"""The circuits made by hand: shapes, what their matrices hold, and the numbers the book tells."""

import numpy as np
import pytest

from tformer_book.world import lexicon
from tformer_book.world.circuits import ANSWER, NOUNS, VETO, answer, kinds_of, named, veto

TIRED, WIDE = tuple(lexicon.SENTENCES)[:2]


def test_matrices_have_the_shapes_of_a_head() -> None:
    d_model = len(lexicon.FEATURES) + len(NOUNS)
    assert ANSWER.w_q.shape == ANSWER.w_k.shape == (d_model, 1)
    assert ANSWER.w_v.shape == (d_model, len(NOUNS))
    assert list(VETO) == list(lexicon.KINDS)
    for head in VETO.values():
        assert head.w_q.shape == head.w_k.shape == (len(lexicon.FEATURES), 1)
    assert named(("animal", "it", "gosh")).sum(axis=-1).tolist() == [3, 1, 0]


def test_kinds_of_a_noun_and_of_an_adjective() -> None:
    assert kinds_of("sofa") == ("cargo", "cloth")
    assert kinds_of("wide", "says") == ("place", "cargo")


def test_every_noun_votes_for_itself_and_an_adjective_for_its_kinds() -> None:
    votes = named(("street", "wide", "it")) @ ANSWER.w_v > 0
    assert [NOUNS[i] for i in np.flatnonzero(votes[0])] == ["street"]
    assert {NOUNS[i] for i in np.flatnonzero(votes[1])} == {
        noun for noun in NOUNS if {"place", "cargo"} & set(kinds_of(noun))
    }
    assert not votes[2].any()


@pytest.mark.parametrize("sentence", lexicon.SENTENCES)
def test_the_answer_is_right_and_looks_alike_in_all_sentences(sentence: str) -> None:
    weights, p = answer(sentence)
    assert NOUNS[int(p.argmax())] == lexicon.SENTENCES[sentence]
    assert weights[weights > 0.01] == pytest.approx(1 / 3, abs=1e-6)


def test_the_veto_layer_has_one_row_a_kind() -> None:
    tokens = lexicon.tokenise(WIDE)
    rows = dict(zip(VETO, veto(WIDE), strict=True))
    assert rows["place"][tokens.index("street")] > 0.99
    assert rows["cargo"] == pytest.approx([1 / 11] * 11 + [0], abs=1e-9)
    for kind in ("animate", "opening", "cloth", "food"):
        assert rows[kind][-1] > 0.999
    assert veto(TIRED).sum(axis=-1) == pytest.approx(1)
