"""Parameters of a model, those that one token uses, and the numbers that its cache keeps."""

from __future__ import annotations

import re
from functools import cache
from math import prod
from typing import NamedTuple

from tformer.layer_configuration import LayerConfiguration
from tformer.layers import CompressedAttentionParameters, LayeredParameters, LayerParameters
from tformer.parameters import leaves, named_leaves
from tformer_book.chapters.ch22.plans import DEFAULTS, configuration, parameters

__all__ = [
    "COUNTED",
    "DEFAULTS",
    "Kept",
    "both",
    "held_by",
    "kept",
    "kept_by",
    "kept_of",
    "n_active",
    "n_parameters",
]

UNTRAINED = re.compile(r".*choice_bias|layers\.\d+\.(scale|token_experts)")
"""Arrays that no gradient trains: biases and tables for the choice of experts, layers' factors."""
NUMBER, STATE = 2, 4
"""Bytes of a cached number in bfloat16, and of a number of a state, which is kept in float32."""
COUNTED = {
    "llama": 6_738_415_616,
    "mixtral": 46_702_792_704,
    "gemma3": 2_628_658_432,
    "gpt_oss": 116_829_156_672,
    "llama4": 107_769_861_120,
    "deepseek_v3": 671_026_404_352,
    "qwen3_next": 79_674_391_296,
}
"""Parameters of the published classes at these sizes, counted on PyTorch's meta device."""


class Pools(NamedTuple):
    """Numbers that a cache keeps of pooled windows, each of `size` tokens.

    A whole window leaves `row` numbers, and each token of the one that is not yet whole leaves
    `token`. Of the last whole window `last` numbers stay, which are pooled into the next one.
    """

    size: int
    row: int
    token: int
    last: int

    def numbers(self, n_tokens: int) -> int:
        """Numbers after so many tokens."""
        n_whole, n_rest = divmod(n_tokens, self.size)
        return n_whole * self.row + n_rest * self.token + (self.last if n_whole else 0)


class Kept(NamedTuple):
    """Numbers that a cache keeps for each token, in rows whatever the length, and in states.

    `per_window` holds a pair for each kind of window: numbers a token, and how many tokens it
    keeps. `pooled` holds the windows that are pooled, if there are any.
    """

    per_token: int = 0
    rows: int = 0
    states: int = 0
    per_window: tuple[tuple[int, int], ...] = ()
    pooled: tuple[Pools, ...] = ()

    def numbers(self, n_tokens: int) -> int:
        """Numbers after so many tokens."""
        windows = sum(each * min(n_tokens, most) for each, most in self.per_window)
        pooled = sum(x.numbers(n_tokens) for x in self.pooled)
        return self.per_token * n_tokens + self.rows + self.states + windows + pooled

    def total(self, n_tokens: int) -> int:
        """Bytes after so many tokens."""
        return NUMBER * self.numbers(n_tokens) + (STATE - NUMBER) * self.states

    def besides(self) -> int:
        """Bytes that do not grow with a long text, at most: rows, states, windows not pooled."""
        windows = sum(each * most for each, most in self.per_window)
        windows += sum((x.size - 1) * x.token + x.last for x in self.pooled)
        return NUMBER * (self.rows + windows) + STATE * self.states


def n_parameters(p: LayeredParameters) -> int:
    """All that is trained by gradients."""
    return sum(prod(x.shape) for name, x in named_leaves(p) if not UNTRAINED.fullmatch(name))


def n_active(p: LayeredParameters, top_k: int) -> int:
    """Those that one token uses: top_k experts a layer, and of an untied embedding none."""
    total = n_parameters(p)
    for layer in p.layers:
        if layer.experts is not None:
            own = ("w_in", "w_gate", "w_out", "b_in", "b_gate", "b_out")
            arrays = leaves([getattr(layer.experts, name) for name in own])
            each = sum(prod(x.shape[1:]) for x in arrays)
            total -= (layer.experts.w_in.shape[0] - top_k) * each
    return total if p.unembedding is None else total - prod(p.embedding.shape)


def both(family: str) -> tuple[int, int]:
    """All parameters of a model of the default sizes, and those that one token uses."""
    plan = DEFAULTS[family]
    p = parameters(plan)
    return n_parameters(p), n_active(p, plan.top_k)


def kept_by(p: LayerParameters, c: LayerConfiguration) -> Kept:
    """What one layer keeps; a window keeps the tokens that a later query can still see."""
    if p.compressed is not None:
        return _kept_compressed(p.compressed, c)
    if p.latent is not None:
        return Kept(p.latent.w_kv_down.shape[1] + p.latent.w_k_shared.shape[1])
    if p.convolution is not None:
        return Kept(rows=prod(p.convolution.kernel.shape))
    if p.delta is not None:
        kernels = (p.delta.kernel_q, p.delta.kernel_k, p.delta.kernel_v)
        (h, _, d_v), d_k = kernels[2].shape, kernels[1].shape[-1]
        return Kept(rows=sum(prod(x.shape) for x in kernels), states=h * d_k * d_v)
    if c.kv_layer is not None:
        return Kept()
    if p.shared is not None:
        each = 2 * prod(p.shared.w_k.shape[::2])  # key and value come apart by norm and RoPE
    elif p.attention is not None:
        heads = p.attention.heads
        each = len(heads.w_k) * (heads.w_k.shape[-1] + heads.w_v.shape[-1])
    else:
        raise ValueError("kept_by: the layer has no mixer")
    most = c.window or c.chunk
    return Kept(each) if most is None else Kept(per_window=((each, most - 1),))


def _kept_compressed(p: CompressedAttentionParameters, c: LayerConfiguration) -> Kept:
    """What compressed attention keeps: a window of rows that are keys and values, and its pools.

    A pooled window becomes a row and, for an indexer, a key. Each token is held twice for each
    series until its window is whole: what is pooled, and the logits. Only the last series is pooled
    into a token's own window.
    """
    each, most = p.w_kv.shape[-1], (c.window or 0) - 1
    if p.b_pool is None:  # the class stores the rows as keys and again as values
        return Kept(per_window=((2 * each, most),))
    row = each if p.index_gain is None else each + len(p.index_gain)
    n_series, size, _ = p.b_pool.shape
    pools = Pools(size, row, 2 * n_series * row, 2 * (n_series - 1) * size * row)
    return Kept(per_window=((each, most),), pooled=(pools,))


def held_by(p: LayerParameters, c: LayerConfiguration) -> Kept:
    """What one layer keeps in the library's own cache, which forgets no token and pools none."""
    if p.compressed is not None:
        series = ("w_kv", "w_pool_kv", "w_pool", "w_index_kv", "w_index_pool")
        arrays = leaves([getattr(p.compressed, name) for name in series])
        return Kept(sum(x[..., 0, :].size for x in arrays))
    one = kept_by(p, c)
    windows = sum(each for each, _ in one.per_window)
    return one._replace(per_token=one.per_token + windows, per_window=())


def kept_of(layers: tuple[Kept, ...]) -> Kept:
    """What several layers keep together."""
    windows: dict[int, int] = {}
    for one in layers:
        for each, most in one.per_window:
            windows[most] = windows.get(most, 0) + each
    return Kept(
        sum(x.per_token for x in layers),
        sum(x.rows for x in layers),
        sum(x.states for x in layers),
        tuple((each, most) for most, each in windows.items()),
        tuple(pools for x in layers for pools in x.pooled),
    )


@cache
def kept(family: str) -> Kept:
    """What a model of the default sizes keeps."""
    plan = DEFAULTS[family]
    layers = zip(parameters(plan).layers, configuration(plan), strict=True)
    return kept_of(tuple(kept_by(p, c) for p, c in layers))
