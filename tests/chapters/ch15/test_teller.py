"""The model in the page, in Python: what it reads, says, refuses, and hands to the page."""

import base64
import json
import re
import zlib

import numpy as np
import pytest

from tformer import reference as ref
from tformer.tokens import BPE
from tformer_book.chapters.ch15 import teller as figure
from tformer_book.chapters.ch15.teller import EXAMPLES, TIRED, Teller, read, window, without
from tformer_book.storyteller import load
from tformer_book.storyteller.packed import PLACES, packed
from tformer_book.storyteller.stored import MERGES
from tformer_book.widgets import Quiz
from tformer_book.widgets.page import without_code

NAME = "tformer_book.chapters.ch15.teller.Teller"


@pytest.mark.parametrize("text", [*EXAMPLES.values(), "Grüße, 世界!"])
def test_what_is_read_is_the_whole_pass(text: str) -> None:
    teller, found = load(), read(window(text))
    want = ref.decoder(found.tokens, teller.parameters, teller.configuration)
    np.testing.assert_allclose(found.logits[-1], want, atol=2e-5)
    np.testing.assert_allclose(found.weights.sum(axis=-1), 1, atol=1e-5)


def test_what_a_reader_types_holds_no_control(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor would it, if the storyteller had tokens of control."""
    told = load()
    tokens = BPE.from_merges(MERGES.read_text("utf-8").splitlines(), ["<end>"])
    assert max(tokens.encode("Mia<end>")) == told.tokens.n_vocab
    monkeypatch.setattr(figure, "load", lambda: told._replace(tokens=tokens))
    assert max(window("Mia<end>")) < told.tokens.n_vocab


def test_a_head_that_is_off_adds_nothing_and_no_other_is_touched() -> None:
    row = window(TIRED)
    whole, cut = read(row), read(row, frozenset({5}))
    np.testing.assert_array_equal(whole.weights, cut.weights)  # what it looks at was there before
    np.testing.assert_array_equal(whole.logits[:3], cut.logits[:3])
    assert np.abs(whole.logits[3] - cut.logits[3]).max() > 0.01
    p = load().parameters
    for layer, (one, same) in enumerate(zip(without(p, {5}).blocks, p.blocks, strict=True)):
        changed = [(a != b).any() for a, b in zip(one.heads.w_o, same.heads.w_o, strict=True)]
        assert changed == [layer == 1 and head == 1 for head in range(4)]


def test_a_long_text_is_read_from_a_new_line_on() -> None:
    tales = [f"{TIRED} animal.\n"] * 9
    assert len(window("")) == 1
    assert window("".join(tales)) == window("".join(tales[:5]))
    assert len(window("".join(tales))) == 1 + 5 * (len(window(tales[0])) - 1) <= PLACES
    assert len(window("wug " * 200)) == PLACES
    assert len(window("a" * PLACES)) == PLACES


def test_the_page_gets_the_weights_in_a_file_of_their_own_and_the_notebook_does_not() -> None:
    widget = Teller()
    state = widget.get_state()
    assert packed() not in state.values()
    assert len(json.dumps(state["text"])) < 200
    models = {"1": {"state": state}, "2": {"state": Quiz.of_chapter(1).get_state()}}
    _, files = without_code(json.dumps({"state": models}, default=str))
    assert [name for name in files if name.endswith(".held.js")] == [f"{NAME}.held.js"]
    (text,) = re.findall(r'= "(.*)";\n$', files[f"{NAME}.held.js"])
    assert base64.b64decode(text) == packed()


def test_python_hands_the_weights_over_once_it_is_asked() -> None:
    sent = []
    for widget in (Teller(), Quiz.of_chapter(1)):
        widget.send = lambda content, buffers: sent.append((content, buffers))
        for content in ({"ask": "held"}, {"ask": "more"}, {}):
            widget._handle_custom_msg(content, [])
    assert sent == [({"ask": "held"}, [packed()]), ({"ask": "held"}, [b""])]


def test_what_is_packed_is_every_weight_in_float16() -> None:
    line, _, planes = zlib.decompress(packed(), 31).partition(b"\n")
    about = json.loads(line)
    assert (about["nVocab"], about["places"], about["eps"]) == (605, 128, 1e-5)
    numbers = np.frombuffer(planes, np.uint8).reshape(2, -1)[::-1].T.copy().view("<f2")[:, 0]
    p = load().parameters
    np.testing.assert_array_equal(numbers[: p.embedding.size], p.embedding.ravel())
    np.testing.assert_array_equal(numbers[-p.unembedding.size :], p.unembedding.T.ravel())
    assert len(packed()) <= 310_000


def test_it_says_what_it_shows() -> None:
    found = Teller().reading
    top = load().tokens.decode([found.p[-1].argmax()])
    assert f"of 22 tokens: next {top!r}" in repr(Teller())
    assert repr(Teller(selected=3)) != repr(Teller())
    assert Teller(off=[5, 1, 5]).off == [1, 5]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"text": "\ud800"}, "surrogates not allowed"),
        ({"selected": 128}, "selected must be -1 to 127; got 128"),
        ({"selected": -2}, "selected must be -1 to 127; got -2"),
        ({"head": 8}, "head must be 0 to 7; got 8"),
        ({"off": [0, 8]}, "off must hold 0 to 7; got 8"),
        ({"temperature": 2.1}, "temperature must be 0 to 2; got 2.1"),
        ({"p": -0.1}, "p must be 0 to 1; got -0.1"),
        ({"m": float("nan")}, "m must be 0 to 1; got nan"),
        ({"k": -1}, "k must be 0 to 605; got -1"),
        ({"seed": -1}, "seed must be 0 to"),
    ],
)
def test_what_is_out_of_range_is_refused(wrong: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Teller(**wrong)
