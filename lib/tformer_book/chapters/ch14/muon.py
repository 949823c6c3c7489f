"""Muon for the matrices of blocks, beside Adam for all else, in the loop of the bench."""

from __future__ import annotations

from typing import Any

from tformer.parameters import leaves
from tformer_book.experiments.training import Adam

__all__ = ["Muon"]


class Muon(Adam):
    """PyTorch's Muon [jordan2024] for some matrices, Adam for the other parameters.

    Muon replaces the mean gradient of a matrix by the nearest matrix with orthonormal rows or
    columns, to within the five steps of an iteration. Here each head has its own matrices, so
    they are made orthogonal head by head. The rate is scaled as in [liu2025], so that a move has
    about the length that Adam's has at the same rate.

    Parameters
    ----------
    parameters : tree of tensors
    inner : tree of tensors
        Those of the blocks, as they stand in `parameters`; arrays of two axes or, with heads first,
        of three are moved by Muon.
    betas : pair of floats
        Of Adam.
    """

    def __init__(
        self, parameters: Any, inner: Any, betas: tuple[float, float] = (0.9, 0.95)
    ) -> None:
        from torch.optim import Muon as TorchMuon

        super().__init__(parameters, betas)
        chosen = {id(x) for x in leaves(inner) if x.ndim > 1}
        self.chosen = [id(x) in chosen for x in leaves(parameters)]
        self.parts = [
            list(x) if x.ndim == 3 else [x]
            for x, here in zip(self.leaves, self.chosen, strict=True)
            if here
        ]
        self.muon = TorchMuon(
            [part for parts in self.parts for part in parts],
            weight_decay=0.0,
            adjust_lr_fn="match_rms_adamw",
        )

    def step(self, gradients: Any, rate: Any) -> None:
        """Make one step of both; Adam is shown gradients of 0 where Muon moves, and stays."""
        every = leaves(gradients)
        matrices = [g for g, here in zip(every, self.chosen, strict=True) if here]
        for parts, grad in zip(self.parts, matrices, strict=True):
            for part, one in zip(parts, grad if grad.ndim == 3 else [grad], strict=True):
                part.grad = one
        self.muon.param_groups[0]["lr"] = rate
        self.muon.step()
        others = [0 * g if here else g for g, here in zip(every, self.chosen, strict=True)]
        super().step(others, rate)
