"""Exercises 2.10 and 2.11: a sum that arrives in pieces, a draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import takewhile

import numpy as np

from tformer import reference
from tformer_book.exercises.answer import Answer, Wrong
from tformer_book.exercises.describe import show
from tformer_book.exercises.registry import Test, exercise
from tformer_book.exercises.table import INTEGERS, Case, case, memory_test

Array = np.ndarray

Mutant = Callable[..., Array]
_WEIGHTS = np.array([1.0, 1, 4])  # here the usual mistakes differ from each other


class _Stream:
    """An iterator over chunks: once, and each chunk stays as it is handed out."""

    def __init__(self, *chunks: Sequence[float] | Array, dtype: type = float) -> None:
        self.chunks: list[Array] = [np.array(chunk, dtype=dtype) for chunk in chunks]
        self.handed: list[Array] = []
        self.loops, self.ended = 0, False

    def __iter__(self) -> _Stream:
        self.loops += 1
        if self.ended and self.loops > 1:
            raise Wrong("The chunks can be read once; your second loop found none.")
        return self

    def __next__(self) -> Array:
        for old, new in zip(self.chunks, self.handed, strict=False):
            if not np.array_equal(old, new, equal_nan=True):
                raise Wrong(
                    f"Your function changes a chunk it was given, from {show(old)} to "
                    f"{show(new)}, and its owner may still need it. Compute in a new array."
                )
        if len(self.handed) == len(self.chunks):
            self.ended = True
            raise StopIteration
        self.handed.append(self.chunks[len(self.handed)].copy())
        return self.handed[-1]


def _streams() -> Iterator[Case | Test]:
    def of(*chunks: Sequence[float] | Array, want: float | None = None, why: str = "") -> Case:
        said = "the chunks " + " then ".join(show(np.array(c)) for c in chunks)
        return case(
            chunks=_Stream(*chunks), want=want, why=why, said=said if chunks else "no chunk"
        )

    log2, log4 = np.log([2, 4]).tolist()
    why = "The log-sum-exp of one score is that score: what do you start from?"
    yield of([0], want=0.0, why=why)
    yield of([0, log2], [log4], want=float(np.log(7)))
    yield of([0, 0], [1], why="The old sum has to be measured from the new maximum.")
    yield of([1], [0, 0], why="A chunk below the maximum adds its small terms, and no height.")
    yield of([1000], [1000], why="Measure every score from the largest one so far.")
    yield of([0], [1000], why="The maximum rose by 1000: is a factor 0 · ∞ formed?")
    yield of([-1000], [-1000], why="exp(−1000) is rounded to 0. Measure from the maximum.")
    yield of([-np.inf], [0], want=0.0)
    yield of([-np.inf, -np.inf], [2], [1], why="A score of −∞ adds 0 to the sum.")
    for score in -20_000.0, 20_000.0:
        why = "No float is wide enough without a shift. Measure every score from the largest."
        yield of([score], [score - 1], why=why)
    low = "The largest score so far starts at −∞; any other number can lie above every score."
    yield of([-1e30], want=-1e30, why=low)
    yield of([], [-2e9], [-2e9], why=low)
    yield of([-np.inf], [-np.inf, -np.inf], why="With −∞ alone the sum is 0 and its logarithm −∞.")
    yield of([-np.inf, 5], [], [-np.inf], want=5.0, why="A score of −∞ adds 0 to the sum.")
    yield of([0], [-2000], want=0.0, why="A chunk may lie thousands below those before it.")
    yield of([4000, 3999], [-5000], [-5001, 3998], why="Chunks may lie thousands apart.")
    yield case(
        chunks=_Stream([2, 0], [], [3, 1], dtype=int),
        want=float(reference.logsumexp(np.array([2.0, 0, 3, 1]))),
        why=INTEGERS,
        said="the chunks (2, 0) then () then (3, 1), all of integers",
    )
    yield of([3], [1, 0, 2], [2], [0, 4], why="A maximum stays until a larger score comes.")
    yield of([0], [], [0], want=log2, why="An empty chunk changes nothing.")
    yield of(want=-np.inf, why="With no term the sum is 0 and its logarithm −∞.")
    rng, two = np.random.default_rng(0), "it keeps the chunks. Two numbers are enough to remember."
    parts = [rng.normal(size=n) for n in (3, 1, 4)]
    yield of(*parts, want=float(reference.logsumexp(np.concatenate(parts))))
    chunks = (rng.normal(size=100) for _ in range(400))
    yield memory_test(1e5, "400 chunks of 100 scores", two, said="400 chunks", chunks=chunks)


def _until_empty(chunks: Iterable[Array]) -> float:
    return streamed_lse(takewhile(len, chunks))


def _mean(chunks: Iterable[Array]) -> float:
    kept = [*chunks]
    return float(streamed_lse(kept) - np.log(sum(map(len, kept))))


@exercise(
    "2.10",
    praise="One pass, one chunk in memory at a time, and the same number as if all scores had been "
    "there at once: rising, falling, −∞ and empty chunks included, and scores of any size.",
    hints=(
        "Keep two numbers: the largest score so far, and the sum of exponentials measured from it.",
        "When a chunk brings a larger score, the old sum was measured from the wrong height. By "
        "which factor is it too large?",
        "The factor is e^{old − new}. At the start the largest score is −∞ and the sum 0: take "
        "care that −∞ − (−∞) is never formed.",
    ),
    cases=_streams,
    slips="""
        = streamed_lse([*chunks][:-1])
            The last chunk is left out of the sum.
        = streamed_lse([*chunks][1:])
            The first chunk is left out of the sum.
        max(top, max(chunk, default=-np.inf)) → max(chunk, default=-np.inf)
            Measure from the largest score so far, and not from that of the latest chunk: where it
            lies far below, the sum so far grows beyond every float.
        = np.exp(streamed_lse(chunks))
            The logarithm of the sum is missing.
        = np.logaddexp(0, streamed_lse(chunks))
            What you start from counts as a score of 0. With nothing added the result is −∞.
        = np.mean([streamed_lse([chunk]) for chunk in chunks])
            You averaged the results of the chunks.
        = sum(streamed_lse([chunk]) for chunk in chunks)
            You added the results of the chunks. Their exponentials add up, the logarithms do not.
        = max((streamed_lse([chunk]) for chunk in chunks), default=-np.inf)
            That is the largest of the results of the chunks; the exponentials of all chunks add up.
        = streamed_lse([*chunks][-1:])
            That is the result of one chunk alone, the last.
        total * np.exp(top - new) → total
            When the maximum rises, the sum so far has to shrink: it was measured from the old
            maximum.
        total * np.exp(top - new) → (total and total * np.exp(new - top))
            The factor for the old sum stands upside down: where the maximum rises, that sum
            shrinks.
        total * np.exp(top - new) → total * (top == new)
            You forgot the chunks before the maximum rose.
        = np.log(sum(np.exp(chunk).sum() for chunk in chunks))
            exp(1000) overflows. Measure every score from the largest one so far.
        max(top, max(chunk, → (top if top > -np.inf else max(chunk,
            The first chunk's maximum served for all chunks, and a later score lies 1000 above it.
            Let the maximum rise.
        new > -np.inf → True
            The maximum before this chunk was −∞, and −∞ − (−∞) is nan.
        new > -np.inf → len(chunk) ;; top + np.log(total) → $ if total > 0 else -np.inf
            −∞ − (−∞) made nan of the sum, and nan passed for a sum of nothing.
        top + np.log(total) → np.log(total)
            The sum was measured from the maximum, which is to be added to its logarithm.
    """,
    mutants={
        "The loop ends at the first empty chunk; others may follow.": _until_empty,
        "That is the logarithm of the mean of the exponentials; it is that of their sum.": _mean,
    },
)
def streamed_lse(chunks: Iterable[Array]) -> float:
    """log Σ exp over an iterator of chunks."""
    top, total = -np.inf, 0.0
    for chunk in chunks:
        new = max(top, max(chunk, default=-np.inf))
        if new > -np.inf:
            total = total * np.exp(top - new) + np.exp(chunk - new).sum()
            top = new
    return float(top + np.log(total))


def _noisy(sums: Callable[[Array, Array, np.random.Generator], Array]) -> Mutant:
    """Draw the place of the largest sum, made from scores, uniform numbers and the generator."""

    def draw(x: Array, rng: np.random.Generator, size: int) -> Array:
        return np.asarray(sums(x, rng.uniform(size=(size, len(x))), rng).argmax(axis=-1))

    return draw


def _gumbel(u: Array) -> Array:
    return -np.log(-np.log(u))


_DRAW_MUTANTS = {
    "The noise was multiplied with the scores; add it.": _noisy(lambda x, u, _: x * _gumbel(u)),
    "The smallest sum was taken; the largest wins.": _noisy(lambda x, u, _: -x - _gumbel(u)),
    "The noise is twice as large as it should be, like scores at half of β.": _noisy(
        lambda x, u, _: x + 2 * _gumbel(u)
    ),
    "Noise from a logistic distribution does not give softmax; Gumbel noise does.": _noisy(
        lambda x, u, _: x + np.log(u / (1 - u))
    ),
    "The weights were multiplied by uniform numbers, which favours the large ones.": _noisy(
        lambda x, u, _: np.exp(x) * u
    ),
    "Noise from a normal distribution does not give softmax; Gumbel noise does.": _noisy(
        lambda x, u, rng: x + rng.normal(size=u.shape)
    ),
    "The noise −log U is exponential; one more logarithm is missing.": _noisy(
        lambda x, u, _: x - np.log(u)
    ),
    "The sign of the noise is reversed: G = −log(−log U).": _noisy(lambda x, u, _: x - _gumbel(u)),
    "The noise was added to the weights; add it to the scores.": _noisy(
        lambda x, u, _: reference.softmax(x) + _gumbel(u)
    ),
    "Every index comes up equally often: the scores have no effect.": _noisy(lambda x, u, _: u),
    "The largest score always wins: the noise is missing, or too small to matter, or every "
    "score gets the same noise.": _noisy(lambda x, u, _: x + 0 * u),
}


@exercise(
    "2.11",
    praise="In 20 000 draws every score came up as often as its weight says, with −∞ never drawn, "
    "scores of 1000 welcome, and the same draws from the same generator.",
    hints=(
        "Add to each score a random number of its own and take the largest. Only the distribution "
        "of that number has to be right.",
        "If U is uniform between 0 and 1, then −log U has an exponential distribution. One more "
        "step of the same kind gives the one you need.",
        "G = −log(−log U). Each draw needs fresh noise for each score: a table of `size` rows.",
    ),
    mutants=_DRAW_MUTANTS,
)
def draw(f: Answer) -> None:
    """Indices with probabilities softmax(x), by the Gumbel-max trick or otherwise."""
    x, size = np.log(_WEIGHTS), 20_000
    said = f"x = (0, 0, ln 4) and {size} draws"
    got = _drawn(f, x, size, said)
    _judge_frequencies(f, np.bincount(got, minlength=3) / size, said)
    if not np.array_equal(got, _drawn(f, x, size, said)):
        raise Wrong(
            f"With the same rng, {f.name} draws differently the second time. Take every random "
            "number from the rng you are given, so that an experiment can be repeated."
        )
    if np.array_equal(got, _drawn(f, x, size, said, seed=6)):
        raise Wrong(
            f"With another rng, {f.name} draws the same again: its random numbers come from a "
            "generator that was seeded inside. Take them from the rng you are given."
        )
    halves = got[: size // 2], got[size // 2 :]
    if np.array_equal(*halves) or np.mean(got[1:] == got[:-1]) > 0.6:
        raise Wrong(f"With {said}, neighbouring draws repeat each other; each needs fresh noise.")
    for added in 1000, -1000, 20_000:
        words = f"scores near {show(added)}, whose exponentials no float holds"
        far = np.bincount(_drawn(f, x + added, size, words), minlength=3) / size
        if np.abs(far - _WEIGHTS / 6).max() > 0.02:
            raise Wrong(
                f"With {show(added)} added to every score, the draws change; softmax does not."
            )
    for place in range(3):
        scores = np.where(np.arange(3) == place, -np.inf, 0.0)
        words = f"x = {show(scores)}"
        found = np.bincount(_drawn(f, scores, 2000, words), minlength=3)
        if found[place]:
            raise Wrong(f"With {words}, {f.name} draws index {place}, whose weight is 0.")
        if found.max() > 1200:
            raise Wrong(f"With {words}, the two others should come up equally often.")
    for lone in np.array([[-1000, -np.inf], [-np.inf, -20_000]]):
        words = f"x = {show(lone)}"
        if np.isinf(lone[_drawn(f, lone, 10, words)]).any():
            raise Wrong(
                f"With {words}, {f.name} draws the score −∞, whose weight is 0 however low the "
                "others lie. No number serves as −∞."
            )
    _judge_width(f)
    _judge_pairs(f)
    _judge_counts(f)
    for few, draws in ((2.0,), 5), ((0.0, 1.0), 1), ((3.0, 1.0, 0.0, 2.0), 4), ((0, 2, 1), 6):
        _drawn(f, np.array(few), draws, f"x = {show(few)} and size = {draws}")


def _judge_width(f: Answer) -> None:
    """Many draws from scores far apart, where noise a little too narrow or too wide shows."""
    x, size = np.array([0.0, 2, -1, 1]), 60_000
    said = f"x = {show(x)} and {size} draws"
    found = np.bincount(_drawn(f, x, size, said), minlength=4) / size
    right = reference.softmax(x)
    if np.abs(found - right).max() > 0.009:
        raise Wrong(
            f"With {said}, {f.name} draws the indices with frequencies {show(found, 3)}; softmax "
            f"says {show(right, 3)}. Noise that is a little too narrow or too wide does that, like "
            "scores at another β."
        )


def _judge_pairs(f: Answer) -> None:
    """Two draws at a time, many times: independent ones agree as often as chance says."""
    said = "x = (0, 0) and size = 2, 400 times"
    pairs = np.array([_drawn(f, np.zeros(2), 2, said, seed) for seed in range(400)])
    alike = float(np.mean(pairs[:, 0] == pairs[:, 1]))
    if abs(alike - 0.5) > 0.13:
        raise Wrong(
            f"With {said}, the two draws of {f.name} agree in {show(alike, 2)} of the calls; "
            "independent ones do in half of them. Each draw needs chance of its own."
        )


def _judge_counts(f: Answer) -> None:
    """Twenty draws at a time, many times: how often an index comes up varies as chance says."""
    said = "x = (0, 0) and size = 20, 400 times"
    counts = [_drawn(f, np.zeros(2), 20, said, seed).sum() for seed in range(400)]
    spread = float(np.var(counts))
    if not 3.5 < spread < 6.7:
        less = "less" if spread < 5 else "more"
        raise Wrong(
            f"With {said}, {f.name} draws index 1 so often that the variance of its count is "
            f"{show(spread, 2)}, {less} than the 5 of independent draws. Each draw needs chance of "
            "its own: none may be made from another, or to even it out."
        )


def _drawn(f: Answer, x: Array, size: int, said: str, seed: int = 5) -> Array:
    got = f.array(said, x=x, rng=np.random.default_rng(seed), size=size)
    if got.shape != (size,):
        why = " The best of each column was taken; it is that of each draw." * (
            got.shape == (len(x),)
        )
        raise Wrong(f"With {said}, {f.name} returns shape {got.shape}, not {(size,)}.{why}")
    whole = got.astype(np.int64)
    if not ((whole == got) & (whole >= 0) & (whole < len(x))).all():
        raise Wrong(
            f"With {said}, {f.name} returns {show(got[0])} among its draws; the indices are "
            f"0 to {len(x) - 1}."
        )
    return whole


def _judge_frequencies(f: Answer, found: Array, said: str) -> None:
    right = _WEIGHTS / 6
    if np.abs(found - right).max() < 0.02:
        return
    why, least = "Index i should come up with the weight that softmax gives to score i.", 0.015
    if found[0] == 0 < found[1]:
        why = (
            "Index 0 never comes up, and softmax gives it one draw in six: are the draws one index "
            "too far, or is a smaller score left out?"
        )
    if np.ptp(found) < 2 / 20_000:
        why, least = "Each index was taken in its turn; one that was drawn may come again.", 0.0
    for reason, mistaken in _DRAW_MUTANTS.items():
        places = mistaken(np.log(_WEIGHTS), np.random.default_rng(1), 40_000)
        gap = np.abs(found - np.bincount(places, minlength=3) / 40_000).max()
        why, least = (reason, gap) if gap < least else (why, least)
    raise Wrong(
        f"With {said}, {f.name} draws the three indices with frequencies {show(found, 3)}; "
        f"softmax says {show(right, 3)}. {why}"
    )
