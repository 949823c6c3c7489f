"""Type a sentence, and see every step to the next word, in the notes' model and in ours."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch10.lists import EPS, LOOKS, MODELS, PLACES, ListModel, steps
from tformer_book.widgets.base import BookWidget

START = "buy milk and"
EXAMPLES = (START, "pack laptop and", "buy laptop and", "buy and", "milk and laptop and")


def _plain(model: ListModel) -> dict[str, Any]:
    """A model as the page's script takes it."""
    tables = ("places", "w_v", "w_in", "w_out", "unembedding")
    return {
        "features": list(model.features),
        "words": {word: list(vector) for word, vector in model.words.items()},
        "answers": list(model.answers),
        **{name: getattr(model, name).tolist() for name in tables},
    }


class EndToEnd(BookWidget):
    """A sentence through one block with norms after the sums, to the scores of the next word.

    Parameters
    ----------
    text : str
        One to six words that the models know.
    model : str
        A name of `MODELS`.
    look : str
        One of `LOOKS`.
    doubled : bool
        Whether values are doubled.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    models = traitlets.Dict({name: _plain(one) for name, one in MODELS.items()}).tag(sync=True)
    looks = traitlets.List(traitlets.Unicode(), list(LOOKS)).tag(sync=True)
    examples = traitlets.List(traitlets.Unicode(), list(EXAMPLES)).tag(sync=True)
    most = traitlets.Int(PLACES).tag(sync=True)
    eps = traitlets.Float(EPS).tag(sync=True)
    text = traitlets.Unicode(START).tag(sync=True)
    model = traitlets.Unicode("as printed").tag(sync=True)
    look = traitlets.Unicode(LOOKS[0]).tag(sync=True)
    doubled = traitlets.Bool(True).tag(sync=True)

    def __init__(
        self,
        text: str = START,
        model: str = "as printed",
        look: str = LOOKS[0],
        doubled: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(text=text, model=model, look=look, doubled=doubled, **kwargs)

    @traitlets.validate("text")
    def _valid_text(self, proposal: Any) -> str:
        words = proposal.value.lower().split()
        strange = [word for word in words if word not in MODELS["both lists"].words]
        if strange or not 1 <= len(words) <= PLACES:
            known = ", ".join(MODELS["both lists"].words)
            raise ValueError(
                f"EndToEnd: text must be 1 to {PLACES} words of {known}; got {proposal.value!r}"
            )
        return " ".join(words)

    @traitlets.validate("model", "look")
    def _valid_name(self, proposal: Any) -> str:
        name, known = proposal.trait.name, {"model": tuple(MODELS), "look": LOOKS}
        if proposal.value not in known[name]:
            names = ", ".join(known[name])
            raise ValueError(f"EndToEnd: {name} must be one of {names}; got {proposal.value!r}")
        return str(proposal.value)

    @property
    def tables(self) -> dict[str, np.ndarray]:
        """Every table on the way, as `steps` names them."""
        return steps(MODELS[self.model], self.text, self.look, self.doubled)

    @property
    def scores(self) -> dict[str, float]:
        """The logits after the last word."""
        answers = MODELS[self.model].answers
        return dict(zip(answers, self.tables["logits"][-1].tolist(), strict=True))

    @property
    def says(self) -> list[str]:
        """The likeliest words: one, or several that tie."""
        best = max(self.scores.values())
        return [word for word, x in self.scores.items() if x > best - 1e-9]

    def __repr__(self) -> str:
        scores = ", ".join(f"{word} {x:.3f}" for word, x in self.scores.items())
        return f"EndToEnd: “{self.text}”, {self.model}: {scores}; next: {' or '.join(self.says)}"

    def fallback(self) -> str:
        """Every example in both models."""
        body = ""
        for text in EXAMPLES:
            cells = [" or ".join(EndToEnd(text, name).says) for name in MODELS]
            body += f"<tr><th>{text}</th>" + "".join(f"<td>{one}</td>" for one in cells) + "</tr>"
        head = "".join(f"<th>{name}</th>" for name in MODELS)
        return (
            "<p>Interactive figure, needs JavaScript: the next word after a few sentences.</p>"
            f"<table><tr><th></th>{head}</tr>{body}</table>"
        )
