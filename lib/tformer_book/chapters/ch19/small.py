"""Small machines with weights written by hand: count, vote, parity, induction, copy, sort, depth.

Each is a `Small`: `answers(words)` runs it on many words of one length at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from tformer.parameters import FeedForwardParameters, HeadParameters
from tformer_book.chapters.ch19.stream import SINK, Layer, M, Stream, run

BETA = 32.0
"""A score that is less by β leaves a weight of about 1e-14."""


@dataclass(frozen=True)
class Small:
    """A machine: its stream, its layers, how words come in and where answers come out.

    Parameters
    ----------
    stream : names of the columns
    layers : heads and feed-forward layers, in order
    embed : (n_words, n) integers -> (n_words, T, d_model) hidden states
    read : (n_words, T, d_model) hidden states -> answers
    causal : whether a token sees only what stands before it, and itself
    """

    stream: Stream
    layers: tuple[Layer, ...]
    embed: Callable[[np.ndarray], np.ndarray]
    read: Callable[[np.ndarray], np.ndarray]
    causal: bool = True

    @property
    def width(self) -> int:
        """d_model."""
        return len(self.stream.names)

    @property
    def heads(self) -> list[int]:
        """Heads in each attention layer."""
        return [x.w_q.shape[0] for x in self.layers if isinstance(x, HeadParameters)]

    @property
    def units(self) -> int:
        """Hidden units of all feed-forward layers."""
        fed = [x for x in self.layers if isinstance(x, FeedForwardParameters)]
        return sum(x.w_in.shape[1] for x in fed)

    def answers(self, words: Any, dtype: Any = np.float64, scale: float = 1.0) -> np.ndarray:
        """What the machine says of words of one length: (n_words, n) integers."""
        x = self.embed(np.asarray(words))
        return self.read(run(x, self.layers, self.causal, dtype, scale))


def words(n_letters: int, n: int) -> np.ndarray:
    """All words of n letters, (n_letters^n, n)."""
    found = list(product(range(n_letters), repeat=n))
    return np.array(found, dtype=int).reshape(n_letters**n, n)


def places(x: np.ndarray, stream: Stream) -> np.ndarray:
    """Write each position and its square into the columns t and tt, in place."""
    t = np.arange(x.shape[1])
    x[..., stream.at("t")], x[..., stream.at("tt")] = t, t * t
    return x


def letters(stream: Stream, word: np.ndarray, names: list[str], bos: bool = True) -> np.ndarray:
    """Embed words: 1 in the column `one`, BOS in front, and 1 in the column of each letter."""
    x = np.zeros((len(word), word.shape[1] + bos, len(stream.names)))
    x[..., stream.at("one")] = 1
    if bos:
        x[:, 0, stream.at("bos")] = 1
    for a, name in enumerate(names):
        x[:, int(bos) :, stream.at(name)] = word == a
    return x


def count(n_letters: int = 3) -> Small:
    """How often the letter at each position has occurred so far, itself included.

    One layer, one head: only equal letters have a score of 0; BOS is the sink.
    """
    names = [f"tok{a}" for a in range(n_letters)]
    s = Stream.of("one bos count " + " ".join(names))
    same = [({a: BETA}, {a: 1.0}) for a in names]
    head = [*same, ({"one": 1.0}, {"one": -BETA, "bos": BETA + SINK})]
    heads = s.heads((head, {"count": {"one": M, "bos": -M}}))
    return Small(s, (heads,), lambda w: letters(s, w, names), lambda y: y[:, 1:, s.at("count")])


def majority() -> Small:
    """Votes 0 and 1 become -1 and 1; the answer is their mean, read at the last token.

    One layer, one head, all scores 0, no feed-forward layer.
    """
    s = Stream.of("one vote mean")
    heads = s.heads(([({}, {})], {"mean": {"vote": 1}}))

    def embed(w: np.ndarray) -> np.ndarray:
        x = np.zeros((*w.shape, 3))
        x[..., 0], x[..., 1] = 1, 2 * w - 1
        return x

    return Small(s, (heads,), embed, lambda y: y[:, -1, s.at("mean")])


def parity() -> Small:
    """1 if the bits so far hold an even number of ones, -1 if an odd one, at every prefix.

    Two layers, one head each, no feed-forward layer: count the ones, then fetch what stands at
    the position of that number. The embedding of position t holds (-1)^t in the column sign.
    """
    s = Stream.of("one bos bit t tt sign k out")
    counts = s.heads(([({"one": 1}, {"bos": SINK})], {"k": {"bit": M}}))
    fetch = s.heads(
        ([({"k": 2 * BETA}, {"t": 1}), ({"one": 1}, {"tt": -BETA})], {"out": {"sign": 1}})
    )

    def embed(w: np.ndarray) -> np.ndarray:
        x = places(letters(s, w, []), s)
        x[:, 1:, s.at("bit")] = w
        x[..., s.at("sign")] = (-1.0) ** x[..., s.at("t")]
        return x

    return Small(s, (counts, fetch), embed, lambda y: y[:, 1:, s.at("out")])


def induction(n_letters: int = 3, longest: int = 64) -> Small:
    """What followed the latest earlier occurrence of the letter: (n_words, n, n_letters) weights.

    Two layers, one head each: fetch the letter before, then find the latest position whose letter
    before is mine. What stands where there is no earlier occurrence means nothing.
    """
    names, before, out = (
        [f"{kind}{a}" for a in range(n_letters)] for kind in ("tok", "prev", "out")
    )
    s = Stream.of("one t tt " + " ".join(names + before + out))
    back = [({"t": 2 * BETA, "one": -2 * BETA}, {"t": 1.0}), ({"one": 1.0}, {"tt": -BETA})]
    prev = s.heads((back, {p: {a: 1} for a, p in zip(names, before, strict=True)}))
    same = [({a: 2 * BETA * longest}, {p: 1.0}) for a, p in zip(names, before, strict=True)]
    latest = [*same, ({"one": BETA}, {"t": 1.0})]
    find = s.heads((latest, {o: {a: 1} for a, o in zip(names, out, strict=True)}))
    return Small(
        s,
        (prev, find),
        lambda w: places(letters(s, w, names, bos=False), s),
        lambda y: y[..., s.at(out[0]) :],
    )


def copy(n_letters: int = 3) -> Small:
    """The next letter of w SEP w SEP, where SEP is the letter `n_letters`.

    Two layers, one head each: find the separator, then fetch by the distance from it. Means
    something from the first SEP on. (n_words, T, n_letters + 1) weights.
    """
    names, out = ([f"{kind}{a}" for a in range(n_letters + 1)] for kind in ("tok", "out"))
    s = Stream.of("one t tt at " + " ".join(names + out))
    find = s.heads(([({"one": 64}, {names[-1]: 1})], {"at": {"t": 1}}))
    ask = {"t": 2 * BETA, "at": -2 * BETA}
    get = (
        [(ask, {"t": 1.0}), ({"one": 1.0}, {"tt": -BETA})],
        {o: {a: 1} for a, o in zip(names, out, strict=True)},
    )

    def embed(w: np.ndarray) -> np.ndarray:
        return places(letters(s, w, names, bos=False), s)

    return Small(s, (find, s.heads(get)), embed, lambda y: y[..., s.at(out[0]) :])


def depth() -> Small:
    """Brackets, 0 to close and 1 to open: the depth after each, and how many are below 0 so far.

    Two layers with a ReLU between them: (n_words, n, 2). A word is balanced if its last row
    is 0, 0.
    """
    s = Stream.of("one bos step depth low lows")
    total = [({"one": 1.0}, {"bos": SINK})]
    up = s.heads((total, {"depth": {"step": M}}))
    below = s.units(({"depth": -1}, {"low": 1}))
    lows = s.heads((total, {"lows": {"low": M}}))

    def embed(w: np.ndarray) -> np.ndarray:
        x = letters(s, w, [])
        x[:, 1:, s.at("step")] = 2 * w - 1
        return x

    read = [s.at("depth"), s.at("lows")]
    return Small(s, (up, below, lows), embed, lambda y: y[:, 1:, read])


def sort(n_letters: int = 3, n: int = 5) -> Small:
    """The letters of a word of n letters in order: (n_words, n, n_letters) weights; no mask.

    Two layers: two heads add up a rank (how many letters are smaller, and how many equal ones
    stand before), then place j fetches the letter of rank j. Positions are one-hot, too.
    """
    names, out = ([f"{kind}{a}" for a in range(n_letters)] for kind in ("tok", "out"))
    spots = [f"at{t}" for t in range(n)]
    s = Stream.of("one bos t tt rank square " + " ".join(names + out + spots))
    less = [({names[a]: BETA}, dict.fromkeys(names[:a], 1.0)) for a in range(1, n_letters)]
    same = [({a: BETA}, {a: 1.0}) for a in names]
    earlier = [({spots[t]: BETA}, dict.fromkeys(spots[:t], 1.0)) for t in range(1, n)]
    add = {"rank": {"one": M, "bos": -M}}

    def but(times: int) -> tuple[dict[str, float], dict[str, float]]:
        return {"one": 1.0}, {"one": -times * BETA, "bos": times * BETA + SINK}

    rank = s.heads(([*less, but(1)], add), ([*same, *earlier, but(2)], add))
    square = s.squares(square={"rank": 1})
    near = [
        ({"t": 2 * BETA}, {"rank": 1.0}),
        ({"one": 1.0}, {"square": -BETA, "bos": -1000 * BETA}),
    ]
    fetch = s.heads((near, {o: {a: 1} for a, o in zip(names, out, strict=True)}))

    def embed(w: np.ndarray) -> np.ndarray:
        x = letters(s, w, names)
        x[:, 1:, s.at("t")] = np.arange(n)
        x[:, 1:, s.at(spots[0]) :] = np.eye(n)
        return x

    first, last = s.at(out[0]), s.at(out[0]) + n_letters
    return Small(s, (rank, square, fetch), embed, lambda y: y[:, 1:, first:last], causal=False)
