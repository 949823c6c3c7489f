"""What each mixer of a layer keeps of earlier tokens; `tformer.layers` has these names too."""

from typing import Any

from tformer.parameters import KVCache, tree

__all__ = ["ConvolutionCache", "DeltaNetCache", "LatentCache", "LayerCache"]


@tree
class LatentCache:
    """The cache of latent attention: what all keys and values are computed from.

    Parameters
    ----------
    latent : (..., S, d_c) array
        The normalised latents of S tokens.
    k : (..., S, d_r) array
        Their shared coordinates of keys, rotated.
    """

    latent: Any
    k: Any

    @property
    def length(self) -> int:
        """The number of cached tokens."""
        return int(self.latent.shape[-2])


@tree
class DeltaNetCache:
    """The cache of a gated delta net: its size does not depend on the number of tokens.

    Parameters
    ----------
    state : (..., H, d_k, d_v) real array
        In float32 at least.
    q : (..., G, n_taps, d_k) array
        The last n_taps - 1 projected queries before the convolution, after zeros; the first row is
        not used.
    k : (..., G, n_taps, d_k) array
    v : (..., H, n_taps, d_v) array
    """

    state: Any
    q: Any
    k: Any
    v: Any


@tree
class ConvolutionCache:
    """The cache of a short convolution: the last rows of its input.

    Parameters
    ----------
    x : (..., n_taps, d_x) array
        The last n_taps - 1 rows, after zeros; the first row is not used.
    """

    x: Any


LayerCache = KVCache | LatentCache | DeltaNetCache | ConvolutionCache | None
"""The cache of one layer, by its mixer; None where keys and values are borrowed."""
