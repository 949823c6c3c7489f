"""A slider through training: what the machine writes, its loss, and where it looks."""

from html import escape
from typing import Any

import traitlets

from tformer_book.chapters.ch00.stages import STAGES, stored
from tformer_book.widgets.base import BookWidget

ENDINGS = ("tired", "wide")
SAID = {
    "": "right",
    "no sentence": "no sentence",
    "wrong cure": "a sentence; wrong cure",
    "wrong patient": "right cure; wrong patient",
    "wrong noun": "cure and patient fit; a noun does not suit the verb",
}
"""What is said of a written story, by its fault."""


class Training(BookWidget, uses="machine.js", holds="stages.json"):
    """Move through a thousand steps of training.

    Parameters
    ----------
    step : int
        The stage that is shown, one of `tformer_book.chapters.ch00.stages.STAGES`.
    ending : str
        "tired" or "wide": the sentence whose arcs are drawn.

    Raises
    ------
    ValueError
        If there is no such stage or ending.
    """

    step = traitlets.Int(100).tag(sync=True)
    ending = traitlets.Unicode("wide").tag(sync=True)

    @traitlets.validate("step", "ending")
    def _known(self, proposal: dict[str, Any]) -> Any:
        name, value = proposal["trait"].name, proposal["value"]
        known = STAGES if name == "step" else ENDINGS
        if value not in known:
            raise ValueError(f"Training: {name} must be one of {known}; got {value!r}")
        return value

    @property
    def stage(self) -> dict[str, Any]:
        """What is kept of the machine at this step."""
        found: dict[str, Any] = stored()["stages"][STAGES.index(self.step)]
        return found

    def __repr__(self) -> str:
        stage = self.stage
        shares = ", ".join(f"{name} {int(100 * stage[name] + 0.5)} %" for name in SHARES)
        return f"Training: step {self.step}, loss {stage['loss']:.2f}; {shares}"

    def fallback(self) -> str:
        pairs = zip(self.stage["texts"], self.stage["faults"], strict=True)
        items = "".join(f"<li>{escape(text)} ({SAID[fault]})</li>" for text, fault in pairs)
        return (
            "<p>Interactive figure, needs JavaScript: the machine at 23 stages of its training. "
            f"{escape(repr(self).removeprefix('Training: ').capitalize())}. It writes:</p>"
            f"<ul>{items}</ul>"
        )


SHARES = ("grammar", "cure", "right")
