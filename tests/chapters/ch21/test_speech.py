"""Frames, splits, masks and warping of spoken digits: by hand, and by what must hold."""

import wave
from pathlib import Path

import numpy as np
import pytest

from tformer.parameters import leaves, tree_map
from tformer_book.chapters.ch21 import speech, speech_frames


def test_a_tone_is_loudest_in_its_band() -> None:
    """Twice as loud is the same: levels are counted from the loudest band."""
    at = np.arange(2000) / speech_frames.RATE
    edges = np.linspace(0, speech_frames.mel(4000), 22)
    for hertz in (400.0, 1000.0, 2600.0):
        tone = 1000 * np.sin(2 * np.pi * hertz * at)
        levels = speech_frames.log_mel(tone)
        assert levels.shape == (23, 20)
        assert levels.max() == 30
        band = abs(edges[1:-1] - speech_frames.mel(hertz)).argmin()
        assert (levels.argmax(axis=1) == band).all()
        np.testing.assert_array_equal(levels, speech_frames.log_mel(2 * tone))
    with pytest.raises(ValueError, match="at least 200 samples; got 199"):
        speech_frames.log_mel(at[:199])


def test_a_recording_of_another_rate_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "0_x_0.wav"
    with wave.open(str(path), "wb") as sound:
        sound.setparams((1, 2, 16000, 0, "NONE", "NONE"))
        sound.writeframes(bytes(1000))
    with pytest.raises(ValueError, match=r"got \(16000, 1, 2\)"):
        speech_frames.read(path)


def test_no_speaker_and_no_take_of_the_test_is_in_the_training() -> None:
    said_by, take = speech.recordings()[3:]
    chosen, asked = speech.split()
    assert (len(chosen), len(asked)) == (900, 300)
    assert set(take[asked]) == {*range(5)}
    assert set(take[chosen]) == {*range(5, 20)}
    for who in range(6):
        chosen, asked = speech.split(who)
        assert (len(chosen), len(asked)) == (900, 50)
        assert set(said_by[asked]) == {who}
        assert who not in said_by[chosen]
        assert not set(take[asked]) & set(take[chosen])


def test_what_fills_up_is_not_seen() -> None:
    """Other numbers there change no logit; and without positions shuffled tokens do not."""
    import torch

    from tformer import fast

    rows = np.array([0, 400, 900])
    model = tree_map(lambda x: torch.tensor(x), speech.start(100, 48, 10, 16, 0))
    x, real, mask = (a.double() if a.is_floating_point() else a for a in speech.given(rows))
    found = speech.logits(x, real, mask, model, fast)
    other = speech.logits(x + 7 * (1 - real), real, mask, model, fast)
    np.testing.assert_allclose(found, other, atol=1e-12)
    assert found.shape == (3, 10)
    bare = tree_map(lambda x: torch.tensor(x), speech.start(100, 48, 10, 0, 0))
    moved = speech.given(rows, speech.shuffled(rows))[0].double()
    assert not torch.equal(moved, x)
    want = speech.logits(x, real, mask, bare, fast)
    np.testing.assert_allclose(speech.logits(moved, real, mask, bare, fast), want, atol=1e-12)


def test_a_stretched_row_is_near() -> None:
    x = np.array([[0.0], [1.0], [5.0], [0.0]])
    slow = np.array([[0.0], [0.0], [1.0], [5.0]])
    other = np.array([[5.0], [1.0], [0.0], [9.0]])
    found = speech.warped(x, 3, np.array([slow, other]), np.array([4, 3]))
    np.testing.assert_allclose(found, [0, 10 / 6])


def test_a_training_begins_as_it_did() -> None:
    model = speech.trained(0, 2, until=20)
    found = sum(float((x.detach().double() ** 2).sum()) for x in leaves(model))
    assert found == pytest.approx(922.435515, rel=1e-6)
