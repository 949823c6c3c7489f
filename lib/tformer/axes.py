"""The legend: what each axis letter of a shape means. No other file defines a letter."""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["DIVIDES", "LEGEND"]

LEGEND: Mapping[str, str] = MappingProxyType(
    {
        "B": "batch",
        "T": "query positions",
        "S": "key positions",
        "d_model": "model width",
        "H": "heads",
        "G": "key/value heads",
        "d_k": "key width",
        "d_v": "value width",
        "d_ff": "hidden width of the feed-forward layer",
        "N": "vocabulary size",
        "L": "layers",
        "n_ctx": "positions, or distances, in a learned table",
        "n_experts": "experts",
        "d_e": "hidden width of an expert",
        "d_c": "width of a latent",
        "d_q": "width of what queries, or gates, are computed from",
        "d_r": "rotated width of latent attention",
        "n_taps": "taps of a convolution",
        "d_x": "channels of a convolution",
        "t_blocks": "blocks of query positions",
        "s_blocks": "blocks of key positions",
        "n_streams": "residual streams",
        "n_groups": "groups of heads in an output projection",
        "n_series": "windows that a token is pooled into",
        "n_window": "tokens of a pooled window",
        "n_index": "heads of an indexer",
        "d_i": "width of an indexer",
        "n_chosen": "experts of a token by a table",
    }
)
"""Axis letter to meaning. `...` is any number of leading axes, which broadcast."""

DIVIDES = (("G", "H"), ("n_groups", "H"))
"""Pairs of letters of which the first must divide the second: groups have equal size."""
