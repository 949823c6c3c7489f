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

        every, moved = leaves(parameters), {id(x) for x in leaves(inner) if x.ndim > 1}
        self.inner = [id(x) in moved for x in every]
        super().__init__(self._split(every, inner=False), betas)
        self.parts = [part.detach() for part in self._split(every, inner=True)]
        self.muon = TorchMuon(self.parts, weight_decay=0.0, adjust_lr_fn="match_rms_adamw")

    def _split(self, every: list[Any], inner: bool) -> list[Any]:
        """Those that Muon moves, a matrix each, or the others."""
        some = [x for x, here in zip(every, self.inner, strict=True) if here == inner]
        return [part for x in some for part in (x if inner and x.ndim == 3 else [x])]

    def step(self, gradients: Any, rate: Any) -> None:
        """Make one step of both."""
        every = leaves(gradients)
        for part, grad in zip(self.parts, self._split(every, inner=True), strict=True):
            part.grad = grad
        self.muon.param_groups[0]["lr"] = rate
        self.muon.step()
        super().step(self._split(every, inner=False), rate)
