"""Spoken digits as rows of log-mel frames, and the program that makes them from the recordings.

`python -m tformer_book.chapters.ch21.speech_frames CLONE` reads a clone of
github.com/Jakobovski/free-spoken-digit-dataset at `COMMIT` and writes speech.npz again. DATA.md has
the licence, CC BY-SA 4.0: it holds for speech.npz too.
"""

from __future__ import annotations

import sys
import wave
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

Array = np.ndarray
FILE = Path(__file__).with_name("speech.npz")
COMMIT = "26eb9aaf76e81b692f806f9140c2d2777410d7a1"
RATE, WINDOW, STEP, BANDS = 8000, 200, 80, 20
"""Samples a second; samples of a window (25 ms) and from one to the next (10 ms); mel bands."""
MOST, FLOOR, LEVEL = 80, 60.0, 2.0
"""Frames that are kept of a recording; decibels below its loudest band; decibels of a level."""
SPEAKERS, TAKES = 6, 23
"""Takes 0 to 22 of each digit of each speaker are kept, of 50."""


class Speech(NamedTuple):
    """Recordings in the order of digit, speaker and take; their frames are filled up with 0."""

    frames: Array
    """(n, 80, 20), from 0 (60 dB below the loudest band, or less) to 1."""
    length: Array
    """(n,) frames of each recording."""
    digit: Array
    speaker: Array
    take: Array


def mel(hertz: Array | float) -> Array:
    """Hertz on the mel scale, which is linear at first and then logarithmic."""
    return np.asarray(2595 * np.log10(1 + np.asarray(hertz) / 700))


@cache
def filters() -> Array:
    """(20, 129): a triangle for each band over the frequencies of a Fourier transform of 256."""
    edges = np.linspace(mel(0), mel(RATE / 2), BANDS + 2)
    at = mel(np.fft.rfftfreq(256, 1 / RATE))
    up = (at - edges[:-2, None]) / (edges[1:-1] - edges[:-2])[:, None]
    down = (edges[2:, None] - at) / (edges[2:] - edges[1:-1])[:, None]
    return np.asarray(np.clip(np.minimum(up, down), 0, None))


def log_mel(sound: Array) -> Array:
    """Levels of the bands of each window of a sound.

    Parameters
    ----------
    sound : (n_samples,) array
        At least one window, at 8,000 samples a second.

    Returns
    -------
    (n_frames, 20) array of uint8
        From 0 to 30, in steps of 2 dB; the loudest band of the sound has 30.
    """
    if len(sound) < WINDOW:
        raise ValueError(f"log_mel: a sound has at least {WINDOW} samples; got {len(sound)}")
    cut = np.lib.stride_tricks.sliding_window_view(sound, WINDOW)[::STEP]
    power = abs(np.fft.rfft(cut * np.hanning(WINDOW), 256)) ** 2
    decibels = 10 * np.log10(power @ filters().T + 1e-9)
    above = np.clip(decibels - decibels.max() + FLOOR, 0, None)
    return np.asarray(np.round(above / LEVEL), dtype=np.uint8)


def read(path: Path) -> Array:
    """The samples of a recording of the set, one channel of 16 bits."""
    with wave.open(str(path)) as sound:
        form = sound.getframerate(), sound.getnchannels(), sound.getsampwidth()
        if form != (RATE, 1, 2):
            raise ValueError(f"read: 8,000 Hz, 1 channel and 2 bytes are expected; got {form}")
        return np.frombuffer(sound.readframes(sound.getnframes()), dtype="<i2").astype(float)


def write(clone: Path, file: Path = FILE) -> None:
    """Make the stored frames from a clone of the set; speakers become numbers, in the order of
    their names."""
    sounds = clone / "recordings"
    names = sorted({path.stem.split("_")[1] for path in sounds.glob("*.wav")})
    kept = [
        log_mel(read(sounds / f"{digit}_{name}_{take}.wav"))[:MOST]
        for digit in range(10)
        for name in names
        for take in range(TAKES)
    ]
    lengths = np.array([len(one) for one in kept], dtype=np.uint8)
    np.savez_compressed(file, frames=np.concatenate(kept), lengths=lengths)


@cache
def recordings() -> Speech:
    """The stored recordings."""
    with np.load(FILE) as stored:
        frames, lengths = stored["frames"], stored["lengths"].astype(int)
    full = np.zeros((len(lengths), MOST, BANDS))
    full[np.arange(MOST) < lengths[:, None]] = frames * (LEVEL / FLOOR)
    digit, speaker, take = np.indices((10, SPEAKERS, TAKES)).reshape(3, -1)
    return Speech(full, lengths, digit, speaker, take)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
