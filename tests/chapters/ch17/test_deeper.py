"""The deeper page of chapter 17: parts of a sum, what is left without them, and the pictures."""

import numpy as np
import pytest

from tformer_book.chapters.ch17 import figures_deeper, own, veto
from tformer_book.figures.style import svg


@pytest.mark.parametrize("name", veto.TALES)
def test_what_a_head_of_the_first_layer_loses_is_what_its_silence_changes(name: str) -> None:
    odds = veto.odds(veto.read(name))
    for head in range(4):
        (part,) = (one for one in own.parts(name) if one.name == f"first block, head {head}")
        left = veto.odds(veto.read(name, veto.silent(head)))
        assert part.lost == pytest.approx(odds - left, abs=1e-9)


@pytest.mark.parametrize("name", veto.TALES)
def test_the_lens_ends_with_the_logits_and_begins_with_the_word_alone(name: str) -> None:
    np.testing.assert_allclose(
        own.lens(name, "blocks.1.after"), veto.read(name)["logits"][-1], atol=1e-9
    )
    first = [own.lens(tale, "embedded") for tale in veto.TALES]
    np.testing.assert_array_equal(*first)


@pytest.mark.parametrize("name", veto.TALES)
def test_without_the_second_heads_other_words_matter_no_more(name: str) -> None:
    found = own.unfed(name)
    assert not found["blocks.1.attention"][-1].any()
    np.testing.assert_array_equal(found["blocks.1.between"][-1], found["blocks.0.after"][-1])


@pytest.mark.parametrize("draw", figures_deeper.__all__)
def test_figures_are_drawn(draw: str) -> None:
    assert svg(getattr(figures_deeper, draw)()).startswith("<")
