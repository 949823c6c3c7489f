"""The sizes of a model, its number of parameters and FLOPs, and its initialisation."""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tformer.configuration import Configuration
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    HeadParameters,
    ModelParameters,
    NormParameters,
    tree_map,
)

__all__ = ["Sizes", "count_flops", "count_parameters", "initialise"]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model; `initialise` checks that they fit.

    Parameters
    ----------
    n_vocab, d_model, n_layers, n_heads, d_ff : int
        Vocabulary, width of the residual stream, blocks, heads a block, hidden units a block.
    n_groups : int, optional
        Key/value heads (grouped-query attention); as many as heads if left out.
    d_k : int, optional
        Width of queries, keys and values; d_model / n_heads if left out.
    n_positions : int
        Learned positions, or relative distances (odd), where the configuration has them.
    biased : bool
        Whether linear layers and layer norms have biases.
    gated : bool
        Whether the feed-forward layer is gated, as SwiGLU.
    tied : bool
        Whether the unembedding is the transpose of the embedding.
    has_cross_attention : bool
        Whether blocks have cross-attention.
    """

    n_vocab: int
    d_model: int
    n_layers: int
    n_heads: int
    d_ff: int
    n_groups: int | None = None
    d_k: int | None = None
    n_positions: int = 0
    biased: bool = True
    gated: bool = False
    tied: bool = True
    has_cross_attention: bool = False

    @property
    def groups(self) -> int:
        """The number of key/value heads."""
        return self.n_heads if self.n_groups is None else self.n_groups

    @property
    def head_width(self) -> int:
        """Width of the queries, keys and values of a head, d_k."""
        return self.d_model // self.n_heads if self.d_k is None else self.d_k


def count_parameters(sizes: Sizes, configuration: Configuration) -> int:
    """The number of parameters of a model, by a formula.

    Embedding N d; each attention layer d d_k (2 H + 2 G); each feed-forward layer 2 d d_ff, or
    3 d d_ff if gated; and norms, biases and positions, which are small.
    """
    s, d, width = sizes, sizes.d_model, sizes.head_width
    norm = d * (2 if s.biased and configuration.norm == "layer" else 1)
    attention = 2 * d * width * (s.n_heads + s.groups) + norm
    attention += s.biased * (width * (s.n_heads + 2 * s.groups) + d)
    feed_forward = d * s.d_ff * (3 if s.gated else 2) + norm + s.biased * (s.d_ff + d)
    block = attention * (1 + s.has_cross_attention) + feed_forward
    last_norm = norm if configuration.order == "pre" else 0
    embeddings = s.n_vocab * d * (1 if s.tied else 2)
    each = {"learned": d, "relative": s.n_heads}.get(configuration.positions, 0)
    return embeddings + each * s.n_positions + s.n_layers * block + last_norm


def count_flops(sizes: Sizes, n_tokens: int, batch: int = 1) -> int:
    """FLOPs of the matrix products in a forward pass: additions and multiplications.

    Two for each matrix parameter and token, and 4 T d_k for each token and head that attends to T
    tokens, also to those that a causal mask hides. Norms, activations and softmax are left out:
    less than 1 % where the parameter matrices dominate. Softmax takes about 5 / (4 d_k) of the
    FLOPs of attention, 2 % with d_k = 64, and more than 1 % of all FLOPs for very long sequences.
    """
    s, width = sizes, sizes.head_width
    matrices = 2 * s.d_model * width * (s.n_heads + s.groups)
    matrices += s.d_model * s.d_ff * (3 if s.gated else 2)
    attention = 4 * n_tokens * width * s.n_heads
    each = s.n_layers * (2 * matrices + attention) + 2 * s.d_model * s.n_vocab
    return batch * n_tokens * each


def initialise(
    sizes: Sizes,
    configuration: Configuration,
    rng: np.random.Generator,
    std: float = 0.02,
    spread: float = 0.0,
) -> ModelParameters:
    """Initial parameters in float64: Gaussian, with a smaller std where they add to the residuals.

    Output projections add to the residual stream N = 2 L times (3 L with cross-attention). They are
    drawn with std / √N, so that the variance of their sum does not grow with depth. GPT-2 scales
    "residual layers" by 1 / √N, N being their number [radford2019]; that a block counts as two
    follows later implementations. Gains are 1, biases and relative biases 0. Tests need other
    values there: `spread` is the std of Gaussian noise that is added to all parameters at the end.

    Raises
    ------
    ValueError
        If a size does not fit: n_groups and n_heads, n_heads and d_model, or n_positions.
    """
    s, c, d, width = sizes, configuration, sizes.d_model, sizes.head_width
    _require_sizes(s, c)
    residual = 1 / math.sqrt((3 if s.has_cross_attention else 2) * max(s.n_layers, 1))

    def drawn(*shape: int, factor: float = 1.0) -> np.ndarray:
        return rng.normal(0, factor * std, shape)

    def zeros(*shape: int) -> Any:
        return np.zeros(shape) if s.biased else None

    def norm() -> NormParameters:
        return NormParameters(np.ones(d), zeros(d) if c.norm == "layer" else None)

    def heads() -> HeadParameters:
        return HeadParameters(
            drawn(s.n_heads, d, width),
            drawn(s.groups, d, width),
            drawn(s.groups, d, width),
            drawn(s.n_heads, width, d, factor=residual),
            zeros(s.n_heads, width),
            zeros(s.groups, width),
            zeros(s.groups, width),
            zeros(d),
        )

    def block() -> BlockParameters:
        feed = FeedForwardParameters(
            drawn(d, s.d_ff), drawn(s.d_ff, d, factor=residual), zeros(s.d_ff), zeros(d)
        )
        feed = replace(feed, w_gate=drawn(d, s.d_ff)) if s.gated else feed
        cross = (heads(), norm()) if s.has_cross_attention else (None, None)
        return BlockParameters(heads(), feed, norm(), norm(), *cross)

    made = ModelParameters(
        drawn(s.n_vocab, d),
        tuple(block() for _ in range(s.n_layers)),
        norm() if c.order == "pre" else None,
        drawn(s.n_positions, d) if c.positions == "learned" else None,
        np.zeros((s.n_heads, s.n_positions)) if c.positions == "relative" else None,
        None if s.tied else drawn(d, s.n_vocab),
    )
    return tree_map(lambda x: x + rng.normal(0, spread, x.shape), made) if spread else made


def _require_sizes(s: Sizes, c: Configuration) -> None:
    if s.groups < 1 or s.n_heads % s.groups:
        raise ValueError(f"Sizes: n_groups must divide {s.n_heads} heads; got {s.groups}")
    if s.d_k is None and s.d_model % s.n_heads:
        raise ValueError(f"Sizes: d_model must be a multiple of {s.n_heads} heads; got {s.d_model}")
    if c.positions in ("learned", "relative") and s.n_positions < 1:
        raise ValueError(f'Sizes: "{c.positions}" needs n_positions; got {s.n_positions}')
    if c.positions == "relative" and s.n_positions % 2 == 0:
        raise ValueError(f"Sizes: n_positions must be odd for distances; got {s.n_positions}")
