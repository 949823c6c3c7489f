"""RoPE as layers of released models use it: of some coordinates, with scaled frequencies."""

import torch
from torch import Tensor

from tformer.fast.positions import rope
from tformer.fast.precision import wide
from tformer.layer_configuration import LayerConfiguration
from tformer.rotary import rotary_frequencies, rotated_width


def rotary_sinusoids(
    x: Tensor,
    width: int,
    c: LayerConfiguration,
    positions: Tensor | None,
    offset: int,
    whole: bool = False,
) -> Tensor | None:
    """Return sines and cosines (..., T, n) for the new tokens x (..., T, d_model), or None.

    `positions` are those of all tokens, cached ones first; `whole` rotates all of `width`.
    """
    if c.rotary is None:
        return None
    n = rotated_width(c.rotary, None if whole else c.rotary.width, width)
    frequencies = torch.from_numpy(rotary_frequencies(c.rotary, n)).to(x.device)
    at = positions_of(x, positions, offset)
    angles = at.unsqueeze(-1) * frequencies
    factor = 1.0 if c.rotary.scaling is None else c.rotary.scaling.attention_factor
    waves = factor * torch.stack([angles.sin(), angles.cos()], dim=-1)
    return waves.flatten(-2).to(wide(x).dtype)


def positions_of(x: Tensor, positions: Tensor | None, offset: int) -> Tensor:
    """Return the positions of the new tokens: as given, or counted from `offset`."""
    if positions is None:
        return torch.arange(offset, offset + x.shape[-2], device=x.device)
    return positions[..., offset:]


def rotate_some(x: Tensor, sinusoids: Tensor, pairing: str) -> Tensor:
    """Rotate the first coordinates of x, as many as there are sinusoids; the rest stays."""
    n = sinusoids.shape[-1]
    rotated = rope(x[..., :n], sinusoids, pairing)
    rest = x[..., n:].expand(*rotated.shape[:-1], x.shape[-1] - n)
    return torch.cat([rotated, rest], dim=-1)
