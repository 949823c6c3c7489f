"""The claim of chapter 21 on speech: who wins depends on whether the speaker has been heard."""

from __future__ import annotations

import numpy as np

from tformer_book.chapters.ch21 import speech
from tformer_book.chapters.ch21.speech_frames import SPEAKERS, recordings
from tformer_book.claims.registry import claim, require
from tformer_book.claims.tools import near

SIMPLE = {"known": (0.777, 0.947, 0.973), "new": (0.523, 0.770, 0.680)}
"""Mean frame, mean frames of eight parts, nearest recording: the share that is right."""
RIGHT = {
    "positions": {"known": (0.940, 0.964), "new": (0.633, 0.741)},
    "no positions": {"known": (0.946, 0.974), "new": (0.653, 0.711)},
}
"""Between what the shares of three transformers lie."""


@claim(
    "exm-speech",
    "empirical",
    mutants={
        "a new speaker costs more than a third": {"lost": 0.35},
        "the transformer beats the nearest recording": {"best": 1},
        "and the eight parts, for new speakers": {"beats": 1},
        "a test speaker is heard in training": {"leak": True},
    },
    scope="42 trainings; 300 recordings of six speakers",
)
def speech_(lost: float = 0.15, best: int = -1, beats: int = -1, leak: bool = False) -> str:
    """Splits from takes and speakers; linear fits by least squares with rows for the ridge."""
    told, everyone = speech.stored(), (*range(SPEAKERS),)
    for who in (None, *everyone):
        chosen, asked = speech.split(None if leak else who)
        heard = set(recordings().speaker[chosen])
        require(len(chosen) == 900, f"{len(chosen)} recordings are for training")
        require(not set(chosen) & set(asked), "a recording is in both parts")
        require(who is None or who not in heard, f"speaker {who} is heard in training")
    shares = {}
    for name, two in RIGHT.items():
        found = {kind: np.sum(told[name][kind], axis=1) / 300 for kind in two}
        for kind, (low, high) in two.items():
            inside = low <= found[kind].min() and found[kind].max() <= high
            require(inside, f"{name}, {kind}: {found[kind]}")
        gap = found["known"].min() - found["new"].max()
        require(gap > lost, f"{name}: new speakers cost {gap:.3f}")
        shares[name] = {kind: x.max() for kind, x in found.items()}
    simple = {
        "known": [fitted(1, None), fitted(8, None)],
        "new": [sum(fitted(count, who) for who in everyone) for count in (1, 8)],
    }
    for name, most in shares.items():
        ahead = most["new"] - simple["new"][1] / 300
        require(beats * ahead > 0, f"{name}: {ahead:+.3f} to eight parts, new speakers")
    simple["known"].append(sum(speech.nearest()))
    for name, most in shares.items():
        ahead = most["known"] - simple["known"][2] / 300
        require(best * ahead >= 0, f"{name}: {ahead:+.3f} to the nearest recording")
    simple["new"].append(sum(speech.everyone(speech.nearest)))
    for kind, counts in simple.items():
        shared = np.array(counts) / 300
        require(near(shared, SIMPLE[kind], 1e-3), f"{kind} speakers: {shared}")
    return "linear fits by least squares, nearest recordings again, to .001; 42 stored trainings"


def fitted(count: int, speaker: int | None) -> int:
    """How many a linear fit gets right; means of parts in loops, ridge as larger least squares."""
    frames, length, digit, _, _ = recordings()
    chosen, asked = speech.split(speaker)

    def described(i: int) -> list[float]:
        row = [1.0]
        for part in range(count):
            first = part * length[i] // count
            last = -(-(part + 1) * length[i] // count)
            row += [float(x) for x in frames[i, first:last].mean(0)]
        return row

    a, b = (np.array([described(i) for i in rows]) for rows in (chosen, asked))
    rows = np.vstack([a, np.eye(a.shape[1])])
    wanted = np.vstack([np.eye(10)[digit[chosen]], np.zeros((a.shape[1], 10))])
    found = (b @ np.linalg.lstsq(rows, wanted)[0]).argmax(1)
    return int((found == digit[asked]).sum())
