"""A sentence, end to end, in Python: its steps are those of the library's block."""

import numpy as np
import pytest

from tformer import reference
from tformer.configuration import Configuration
from tformer_book.chapters.ch10.end_to_end import EXAMPLES, START, EndToEnd
from tformer_book.chapters.ch10.lists import EPS, LOOKS, MODELS, PRINTED, logits
from tformer_book.world.sources import slips


def widgets() -> list[EndToEnd]:
    """Every example, model and setting."""
    return [
        EndToEnd(text, model, look, doubled)
        for text in (*EXAMPLES, "now", "milk bread laptop phone and now")
        for model in MODELS
        for look in LOOKS
        for doubled in (True, False)
    ]


@pytest.mark.parametrize("name", MODELS)
def test_the_steps_end_where_the_block_does(name: str) -> None:
    model = MODELS[name]
    c = Configuration(order="post", activation="relu", eps=EPS)
    for text in EXAMPLES:
        widget = EndToEnd(text, name)
        rows = reference.block(model.start(text), model.block(), c, causal=True)
        np.testing.assert_allclose(widget.tables["rows"], rows, atol=1e-12)
        assert widget.scores == pytest.approx(logits(model, text))


def test_looks_are_what_they_are_called() -> None:
    for widget in widgets():
        weights, n = widget.tables["weights"], len(widget.text.split())
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        assert not np.triu(weights, 1).any()
        if widget.look == "equal shares":
            np.testing.assert_allclose(weights[-1], 1 / n)
        if widget.look == "only itself":
            np.testing.assert_array_equal(weights, np.eye(n))


def test_every_printed_number_is_compared() -> None:
    right = PRINTED.right()
    for name, rows in PRINTED.printed.items():
        assert [len(row.split()) for row in rows] == [right[name].shape[1]] * 3
    assert {one.table for one in slips(PRINTED)} >= {"scores", "inner", "rows"}


def test_it_says_what_it_shows() -> None:
    assert repr(EndToEnd(START, "both lists")) == (
        "EndToEnd: “buy milk and”, both lists: eggs 1.337, charger -1.068, now -0.269; next: eggs"
    )
    assert "<tr><th>pack laptop and</th><td>eggs</td><td>charger</td></tr>" in (
        EndToEnd().fallback()
    )
    assert EndToEnd("buy and", "both lists").says == ["eggs", "charger"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            {"text": "buy wine and"},
            "text must be 1 to 6 words of buy, pack, .*; got 'buy wine and'",
        ),
        ({"text": ""}, "text must be 1 to 6 words"),
        ({"text": "buy " * 7}, "text must be 1 to 6 words"),
        ({"model": "mine"}, "model must be one of as printed, both lists; got 'mine'"),
        (
            {"look": "hard"},
            "look must be one of as computed, equal shares, only itself; got 'hard'",
        ),
    ],
)
def test_it_refuses_in_words(arguments: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EndToEnd(**arguments)
