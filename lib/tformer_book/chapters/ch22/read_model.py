"""Read a model's code: the lines that its block changes, common wrong lines, and its cache."""

from __future__ import annotations

import difflib
import inspect
from functools import cache
from typing import Any

import traitlets

from tformer_book.chapters.ch22 import counting, guesses, listing
from tformer_book.widgets.base import BookWidget, finite

NAMES = {
    "llama": "Llama",
    "qwen3": "Qwen3",
    "olmo2": "OLMo 2",
    "gemma3": "Gemma 3",
    "mixtral": "Mixtral",
    "gpt_oss": "gpt-oss",
    "llama4": "Llama 4",
    "deepseek_v3": "DeepSeek-V3",
    "qwen3_next": "Qwen3-Next",
}
"""The families that a reader can choose."""
LENGTHS = (1.0, 6.0)
"""Logarithms to base 10 of the shortest and the longest text, in tokens."""
NONE = 1e-12
"""Less than this is rounding."""
GUESSES = 3
"""At most so many wrong guesses of a family are shown."""


@cache
def models() -> tuple[dict[str, Any], ...]:
    """What the page shows of each family: lines with a sign, guesses, bytes of the cache."""
    return tuple(_model(family, name) for family, name in NAMES.items())


def _model(family: str, name: str) -> dict[str, Any]:
    wrong = [one for one in guesses.GUESSES if one.family == family][:GUESSES]
    return {
        "name": name,
        "lines": [list(line) for line in listing.changes(family)],
        "guesses": [
            {
                "says": one.says,
                "moved": float(f"{guesses.moved(one):.1e}") if guesses.moved(one) > NONE else 0.0,
                "lines": _altered(one),
            }
            for one in wrong
        ],
        "kept": _bytes(family) if family in counting.DEFAULTS else None,
    }


def _said(moved: float) -> str:
    return f"{moved:.1e}" if moved else "rounding errors only"


def _bytes(family: str) -> dict[str, Any]:
    """Bytes of a cache for each token, whatever the length, and in windows of so many tokens."""
    kept, number = counting.kept(family), counting.NUMBER
    return {
        "per_token": number * kept.per_token,
        "fixed": number * kept.rows + counting.STATE * kept.states,
        "per_window": [[number * each, most] for each, most in kept.per_window],
    }


def _altered(guess: guesses.Guess) -> list[list[str]]:
    """The right block against the wrong one: lines that are gone, and lines in their place."""
    right = listing.lines(guess.family)
    source = inspect.getsource(listing.block_of(guess.family))
    wrong = [x[4:] for x in source.replace(guess.old, guess.new).splitlines()[1:]]
    return [[x[0], x[2:]] for x in difflib.ndiff(right, wrong) if x[0] != "?"]


class ReadModel(BookWidget):
    """A family, one wrong guess about it or none, and the length of a text.

    Parameters
    ----------
    model : int
        Which of `NAMES`.
    guess : int
        Which of its wrong guesses; -1 for none.
    length : float
        Logarithm to base 10 of the tokens of a text, 1 to 6.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    models: Any = traitlets.List().tag(sync=True)
    model = traitlets.Int(1).tag(sync=True)
    guess = traitlets.Int(-1).tag(sync=True)
    length = traitlets.Float(4.0).tag(sync=True)

    def __init__(self, model: int = 1, guess: int = -1, length: float = 4.0, **kwargs: Any) -> None:
        super().__init__(model=model, guess=guess, length=length, **kwargs)

    @traitlets.default("models")
    def _models(self) -> list[dict[str, Any]]:
        return list(models())

    @traitlets.validate("model", "guess")
    def _known(self, proposal: Any) -> int:
        name, value = proposal.trait.name, proposal.value
        least, most = (0, len(NAMES) - 1) if name == "model" else (-1, GUESSES - 1)
        if not least <= value <= most:
            raise ValueError(f"ReadModel: {name} must be {least} to {most}; got {value}")
        return int(value)

    @traitlets.validate("length")
    def _within(self, proposal: Any) -> float:
        [value] = finite("ReadModel: length", [proposal.value])
        if not LENGTHS[0] <= value <= LENGTHS[1]:
            raise ValueError(f"ReadModel: length must be 1 to 6; got {value}")
        return float(value)

    @property
    def n_tokens(self) -> int:
        """The length of the text, in tokens."""
        return round(10**self.length)

    def caches(self) -> dict[str, int]:
        """Bytes of each family's cache after this text, for those whose sizes are known."""
        return {
            name: counting.kept(family).total(self.n_tokens)
            for family, name in NAMES.items()
            if family in counting.DEFAULTS
        }

    def __repr__(self) -> str:
        one = models()[self.model]
        signs = [sign for sign, _ in one["lines"]]
        added = signs.count("+")
        lines = (
            f"{added} {'line' if added == 1 else 'lines'} added to Llama's, {signs.count('-')} gone"
        )
        guess = one["guesses"][self.guess : self.guess + 1] if self.guess >= 0 else []
        said = f'\n"{guess[0]["says"]}": logits move by {_said(guess[0]["moved"])}' if guess else ""
        return f"ReadModel, {one['name']}: {lines}{said}"

    def fallback(self) -> str:
        """For each family its changed lines, its guesses and its cache."""
        body, caches = "", self.caches()
        for one in models():
            signs = [sign for sign, _ in one["lines"]]
            wrong = "; ".join(f"{x['says']} ({_said(x['moved'])})" for x in one["guesses"])
            bytes_kept = f"{caches[one['name']] / 1e9:.3f}" if one["name"] in caches else "–"
            body += (
                f"<tr><th>{one['name']}</th><td>+{signs.count('+')} −{signs.count('-')}</td>"
                f"<td>{wrong or '–'}</td><td>{bytes_kept}</td></tr>"
            )
        return (
            "<p>Interactive figure, needs JavaScript: which of Llama’s seven lines a model "
            "changes, what a wrong line moves the logits by (of the largest), and the cache "
            f"after {self.n_tokens:,} tokens.</p><table><tr><th></th><th>lines</th>"
            f"<th>wrong guesses</th><th>cache, 10⁹ bytes</th></tr>{body}</table>"
        )
