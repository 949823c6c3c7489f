"""What the storyteller writes: one row of the next word, and whole texts, found in several ways.

The row of this chapter is the storyteller's row of the next word after *… because it was too*.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from tformer import reference
from tformer.models.beam_search import Hypothesis, beam_search
from tformer.models.generate import generate
from tformer.parameters import tree_map
from tformer_book import storyteller
from tformer_book.storyteller.tales import parted
from tformer_book.world.stories import CURES

__all__ = ["ANIMAL", "MISSED", "ROW", "STREET", "WORDS", "begun", "coin", "likeliest"]
__all__ += [
    "logits",
    "missed",
    "of_animal",
    "searched",
    "shares",
    "text_of",
    "texts",
    "unread",
    "written",
]

ROW = "Mia came by. The animal did not cross the street because it was too"
MISSED = "Mia came by. The table did not enter the lift because it was too"
"""A beginning after which greedy generation misses the likeliest text."""
ANIMAL, STREET = tuple(CURES["animal"]), tuple(CURES["road"])
WORDS = (*ANIMAL, *STREET)
"""What an animal and a street may be too much of: tired first, wide among the last."""
LONGEST = 24
SEARCHED = Path(__file__).with_name("searched.json")


@cache
def begun(text: str) -> np.ndarray:
    """The tokens of a text at the beginning of a line."""
    return np.array(storyteller.load().tokens.encode(f"\n{text}", control=False))


@cache
def logits(text: str = ROW) -> np.ndarray:
    """The storyteller's row of the next token after a text, (N,), computed in float64."""
    _, parameters, configuration = storyteller.load()
    wide = tree_map(lambda x: x.astype(float), parameters)
    return reference.decoder(begun(text), wide, configuration)[-1]


def numbers() -> list[int]:
    """The tokens of `WORDS`; each is one."""
    return [storyteller.load().tokens.encode(f" {word}")[0] for word in WORDS]


def shares(row: np.ndarray) -> np.ndarray:
    """The probabilities of `WORDS` in a row of logits of all tokens."""
    return reference.softmax(row)[numbers()]


def coin() -> np.ndarray:
    """Logits of `WORDS` for somebody who tosses a coin for the noun, and then draws a word."""
    p = [0.5 / len(ANIMAL)] * len(ANIMAL) + [0.5 / len(STREET)] * len(STREET)
    return np.log(p)


def of_animal(p: np.ndarray) -> float:
    """The probability that the word is one for the animal, from those of `WORDS`."""
    return float(p[: len(ANIMAL)].sum())


def log_rows(tokens: np.ndarray, caches: Any) -> tuple[np.ndarray, Any]:
    """The storyteller as what `beam` asks for."""
    _, parameters, configuration = storyteller.load()
    rows, caches = reference.cached_decoder(tokens, parameters, configuration, caches)
    return reference.log_softmax(rows.astype(float)), caches


def stop() -> int:
    """The token that ends a line."""
    return int(storyteller.load().tokens.encode("\n")[0])


@cache
def texts(text: str, width: int) -> list[Hypothesis]:
    """What a beam of some width finds after a text, to the end of the line."""
    return beam_search(log_rows, begun(text), LONGEST, width, stop())


def text_of(words: tuple[int, ...] | list[int]) -> str:
    """Tokens as text, without the end of the line."""
    return storyteller.load().tokens.decode(list(words)).strip()


@cache
def likeliest(text: str) -> tuple[Hypothesis, int]:
    """The likeliest of all texts to the end of the line, and how many beginnings were read.

    The likeliest beginning is gone on with first. A text is never likelier than its beginning, so
    once a text that has ended is the likeliest of what is open, nothing can be likelier.
    """
    order = count()
    open_: list[Any] = [(0.0, 0, (), begun(text), None)]
    n_read = 0
    while True:
        cost, _, words, new, cache_ = heapq.heappop(open_)
        if words and words[-1] == stop():
            return Hypothesis(-cost, words), n_read
        rows, cache_ = log_rows(new, cache_)
        n_read += 1
        for word, log in enumerate(rows[-1]):
            longer: Any = (cost - log, next(order), (*words, word), np.array([word]), cache_)
            heapq.heappush(open_, longer)


def missed(begin: str) -> bool:
    """Whether greedy generation does not find the likeliest text after a beginning."""
    return likeliest(begin)[0].tokens != texts(begin, 1)[0].tokens


def unread() -> list[str]:
    """The beginnings, up to *too*, of the tales with pairs of nouns that were never read."""
    told = {text.split(" . so")[0].rsplit(" ", 1)[0] for text in parted()[1]}
    return [f"Mia came by. T{text[1:]}" for text in sorted(told)]


def searched() -> dict[str, Any]:
    """After how many beginnings it was searched, and where greedy generation missed; as stored."""
    return dict(json.loads(SEARCHED.read_text(encoding="utf-8")))


def written(
    text: str, change: Callable[[np.ndarray], np.ndarray], seed: int, n_tokens: int = LONGEST
) -> str:
    """What the storyteller writes by chance: its logits changed, then a word drawn."""
    _, parameters, configuration = storyteller.load()
    rng = np.random.default_rng(seed)

    def choose(row: np.ndarray) -> int:
        return int(reference.sample(change(row.astype(float)), rng.random(())))

    return text_of(
        [
            *generate(
                reference.cached_decoder,
                begun(text),
                parameters,
                configuration,
                n_tokens,
                choose,
                stop(),
            )
        ]
    )


if __name__ == "__main__":
    begun_ = unread()
    told_ = {"beginnings": len(begun_), "missed": [text for text in begun_ if missed(text)]}
    SEARCHED.write_text(json.dumps(told_, indent=1) + "\n", encoding="utf-8")
