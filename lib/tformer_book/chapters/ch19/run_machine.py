"""Run a machine: its table is the embedding, its text the run, token by token."""

from __future__ import annotations

from typing import Any

import numpy as np
import traitlets

from tformer_book.chapters.ch19.machines import TABLES
from tformer_book.chapters.ch19.stream import run
from tformer_book.chapters.ch19.turing import STREAM, Machine, layers, table
from tformer_book.widgets.base import BookWidget, finite

MOST = 300
"""Tokens that a reader can ask for, GO among them."""
PRESETS = ("beaver 2", "beaver 3", "beaver 4", "bounce")
RANGES = {"steps": (1, MOST), "beta": (0.5, 32.0), "power": (2, 80), "start": (0, 30)}


class RunMachine(BookWidget):
    """A machine as a transformer, token by token, with all that can break it.

    Parameters
    ----------
    table : str
        The rules, such as "1RB 1LB; 1LA 1RH": at most eight states and five symbols.
    steps : int
        Tokens from GO on, 1 to 300.
    beta : float
        Sharpness of the second layer, 0.5 to 32.
    power : int
        The sink weighs 2^power, 2 to 80.
    start : int
        The first cell has the address 2^start, or 0 if `start` is 0; 0 to 30.
    single : bool
        Whether every operation is rounded to float32.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    table = traitlets.Unicode(TABLES["beaver 4"]).tag(sync=True)
    steps = traitlets.Int(20).tag(sync=True)
    beta = traitlets.Float(32.0).tag(sync=True)
    power = traitlets.Int(80).tag(sync=True)
    start = traitlets.Int(0).tag(sync=True)
    single = traitlets.Bool(False).tag(sync=True)
    presets = traitlets.List([[name, TABLES[name]] for name in PRESETS]).tag(sync=True)

    def __init__(self, table: str = TABLES["beaver 4"], steps: int = 20, **kwargs: Any) -> None:
        super().__init__(table=table, steps=steps, **kwargs)

    @traitlets.validate("steps", "beta", "power", "start")
    def _within(self, proposal: Any) -> Any:
        name = proposal.trait.name
        low, high = RANGES[name]
        [value] = finite(f"RunMachine: {name}", [proposal.value])
        if not low <= value <= high:
            raise ValueError(f"RunMachine: {name} must be {low:g} to {high:g}; got {value}")
        return proposal.value

    @traitlets.validate("table")
    def _readable(self, proposal: Any) -> str:
        one = table(proposal.value)
        if len(one.states) > 8 or one.n_symbols > 5:
            raise ValueError("RunMachine: table has at most eight states and five symbols")
        return str(proposal.value)

    @property
    def machine(self) -> Machine:
        """The machine of the table."""
        return table(self.table)

    @property
    def address(self) -> int:
        """Of the first cell."""
        return 2**self.start if self.start else 0

    @property
    def written(self) -> list[str]:
        """What the transformer writes after GO."""
        dtype = np.float32 if self.single else np.float64
        settings: Any = {"beta": self.beta, "k": self.power}
        return self.machine.generate((), self.steps - 1, dtype, self.address, **settings)

    @property
    def right(self) -> list[str]:
        """What a plain program says of the same steps."""
        return self.machine.simulate((), self.steps - 1)[0]

    def columns(self) -> dict[str, np.ndarray]:
        """What the layers hand over at each token from GO on: P and cell, in float64."""
        one = self.machine
        tokens = [*one.prompt(), *map(one.names.index, self.written)]
        x = one.embedding[tokens]
        x[1, STREAM.at("move")] = self.address
        y = run(x, layers(self.beta, self.power))[1:]
        return {name: y[:, STREAM.at(name)] for name in ("P", "cell")}

    def __repr__(self) -> str:
        got, want = self.written, self.right
        wrong = next((i for i, (a, b) in enumerate(zip(got, want, strict=False)) if a != b), None)
        said = "all right" if wrong is None else f"token {wrong + 1} is wrong"
        kind = "float32" if self.single else "float64"
        return (
            f"RunMachine {self.table}: {' '.join(got[-8:])}\n{len(got)} tokens in {kind} with "
            f"β = {self.beta:g}, sink 2^{self.power}, first address {self.address}: {said}"
        )

    def fallback(self) -> str:
        said = repr(self).removeprefix("RunMachine ").replace("\n", "; ")
        return f"<p>Interactive figure, needs JavaScript: a transformer runs {said}</p>"
