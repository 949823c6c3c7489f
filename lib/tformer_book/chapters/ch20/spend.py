"""Spend a budget: parameters or tokens, and what a fitted law says of the loss."""

from __future__ import annotations

import math
from typing import Any

import traitlets

from tformer_book.chapters.ch20 import published
from tformer_book.experiments.scaling import Law
from tformer_book.widgets.base import BookWidget, finite

BUDGETS = (17.0, 26.0)
"""Logarithms to base 10 of the smallest and the largest budget, in FLOPs."""
SIZES = (7.0, 13.0)
"""The same of parameters."""
GOPHER = (math.log10(5.76e23), math.log10(280e9))
"""A budget and the parameters that it was spent on; with the same budget came [hoffmann2022] …"""
CHINCHILLA = math.log10(70e9)
"""… to so many parameters, and a lower loss."""
NAMES = ("refit, 240 runs", "as printed", "the same, all digits")


def laws() -> tuple[Law, ...]:
    """The laws that a reader can choose from, in the order of their names, as the page has them."""
    return tuple(
        Law(**one.digits()) for one in (published.refit(), published.PRINTED, published.SOURCE)
    )


class SpendBudget(BookWidget):
    """A budget of compute, the parameters that it is spent on, and the loss that a law predicts.

    Parameters
    ----------
    budget : float
        Logarithm to base 10 of the compute in FLOPs, 17 to 26.
    size : float
        Logarithm to base 10 of the parameters, 7 to 13.
    law : int
        0 for the refit, 1 for the constants as printed, 2 for those of the TeX source.

    Raises
    ------
    ValueError
        If an argument is outside what is said above.
    """

    laws: Any = traitlets.List().tag(sync=True)
    budget = traitlets.Float(GOPHER[0]).tag(sync=True)
    size = traitlets.Float(GOPHER[1]).tag(sync=True)
    law = traitlets.Int(0).tag(sync=True)
    sizes = traitlets.List([["280 billion", GOPHER[1]], ["70 billion", CHINCHILLA]]).tag(sync=True)

    def __init__(
        self, budget: float = GOPHER[0], size: float = GOPHER[1], law: int = 0, **kwargs: Any
    ) -> None:
        super().__init__(budget=budget, size=size, law=law, **kwargs)

    @traitlets.default("laws")
    def _laws(self) -> list[dict[str, Any]]:
        return [{"name": n, **law.digits()} for n, law in zip(NAMES, laws(), strict=True)]

    @traitlets.validate("budget", "size")
    def _within(self, proposal: Any) -> float:
        name = proposal.trait.name
        low, high = {"budget": BUDGETS, "size": SIZES}[name]
        [value] = finite(f"SpendBudget: {name}", [proposal.value])
        if not low <= value <= high:
            raise ValueError(f"SpendBudget: {name} must be {low:g} to {high:g}; got {value}")
        return float(value)

    @traitlets.validate("law")
    def _known(self, proposal: Any) -> int:
        if not 0 <= proposal.value < len(NAMES):
            raise ValueError(f"SpendBudget: law must be 0 to 2; got {proposal.value}")
        return int(proposal.value)

    @property
    def chosen(self) -> Law:
        """The law that is asked."""
        return laws()[self.law]

    @property
    def compute(self) -> float:
        """The budget, in FLOPs."""
        return float(10**self.budget)

    @property
    def bought(self) -> tuple[float, float]:
        """Parameters, and the tokens that are left for them."""
        n = float(10**self.size)
        return n, self.compute / 6 / n

    @property
    def parts(self) -> tuple[float, float, float]:
        """The floor, what too small a model adds, and what too few texts add."""
        (n, d), law = self.bought, self.chosen
        return law.floor, law.a / n**law.alpha, law.b / d**law.beta

    @property
    def worth(self) -> float:
        """The share of the budget for which the best size reaches the same loss.

        What lies above the floor falls, at the best size, as compute to the power of
        -α β / (α + β).
        """
        law = self.chosen
        best = law.loss(*law.optimum(self.compute)) - law.floor
        power = (law.alpha + law.beta) / (law.alpha * law.beta)
        return float((best / sum(self.parts[1:])) ** power)

    def __repr__(self) -> str:
        (n, d), (floor, small, few) = self.bought, self.parts
        best, tokens = self.chosen.optimum(self.compute)
        return (
            f"SpendBudget, {NAMES[self.law]}: {self.compute:.3g} FLOPs on {n:.3g} parameters and "
            f"{d:.3g} tokens, {d / n:.3g} a parameter\nloss {sum(self.parts):.3f} = floor "
            f"{floor:.3f} + too small {small:.3f} + too few texts {few:.3f}; best {best:.3g} "
            f"parameters, {tokens / best:.3g} tokens each; {self.worth:.0%} of the budget would do"
        )

    def fallback(self) -> str:
        """What each law says is best for the budget."""
        body = ""
        for name, law in zip(NAMES, laws(), strict=True):
            n, d = law.optimum(self.compute)
            body += (
                f"<tr><th>{name}</th><td>{n:.3g}</td><td>{d:.3g}</td><td>{d / n:.3g}</td>"
                f"<td>{law.loss(n, d):.3f}</td></tr>"
            )
        head = "".join(f"<th>{x}</th>" for x in ("parameters", "tokens", "tokens each", "loss"))
        return (
            "<p>Interactive figure, needs JavaScript: what a budget buys. The best for "
            f"{self.compute:.3g} FLOPs, by three laws:</p><table><tr><th></th>{head}</tr>{body}"
            "</table>"
        )
