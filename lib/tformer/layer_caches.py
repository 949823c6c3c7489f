"""What each mixer of a layer keeps of earlier tokens; `tformer.layers` has these names too."""

from typing import Any

from tformer.parameters import KVCache, tree

__all__ = ["CompressedCache", "ConvolutionCache", "DeltaNetCache", "LatentCache", "LayerCache"]


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


@tree
class CompressedCache:
    """The cache of compressed attention: what keys, values and pooled windows are computed from.

    Parameters
    ----------
    kv : (..., S, d_k) array
        The rows of S tokens, normalised and rotated.
    pool_kv : (..., n_series, S, d_k) array, optional
        What is pooled of each token, and the logits of pooling; None without windows.
    pool : (..., n_series, S, d_k) array, optional
    index_kv : (..., n_series, S, d_i) array, optional
        The same for the keys of an indexer.
    index_pool : (..., n_series, S, d_i) array, optional
    """

    kv: Any
    pool_kv: Any = None
    pool: Any = None
    index_kv: Any = None
    index_pool: Any = None

    @property
    def length(self) -> int:
        """The number of cached tokens."""
        return int(self.kv.shape[-2])


LayerCache = KVCache | LatentCache | DeltaNetCache | ConvolutionCache | CompressedCache | None
"""The cache of one layer, by its mixer; None where keys and values are borrowed."""
