"""The cost of a model by sequence length: FLOPs, bytes moved, and which of the two takes longer.

Bytes are those that are moved between memory and the processor if nothing stays in its caches from
one matrix product to the next: parameters and KV cache. The activations, which are small beside
them, are left out.
"""

from typing import NamedTuple

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, count_parameters

__all__ = [
    "Cost",
    "attention_cost",
    "attention_crossover_length",
    "attention_flops",
    "attention_share",
    "decode_cost",
    "kv_cache_bytes",
    "prefill_cost",
]


class Cost(NamedTuple):
    """FLOPs, and the bytes moved for them.

    Attributes
    ----------
    flops : int
        Additions and multiplications.
    bytes : int
        Between memory and the processor.
    """

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Arithmetic intensity: FLOPs per byte."""
        return self.flops / self.bytes

    def seconds(self, flops_a_second: float, bytes_a_second: float) -> float:
        """The time of the roofline model: the longer of the two, as both overlap."""
        return max(self.flops / flops_a_second, self.bytes / bytes_a_second)


def attention_flops(sizes: Sizes, n_tokens: int, causal: bool = False) -> int:
    """FLOPs of all scores and weighted sums: 4 d_k for each head, layer and pair of tokens.

    If `causal`, only the T (T + 1) / 2 pairs that the mask allows are counted, instead of T².
    """
    pairs = n_tokens * (n_tokens + 1) // 2 if causal else n_tokens * n_tokens
    return 4 * sizes.head_width * sizes.n_heads * sizes.n_layers * pairs


def attention_share(sizes: Sizes, n_tokens: int, causal: bool = False) -> float:
    """The share of `attention_flops` in the FLOPs of a forward pass."""
    attention = attention_flops(sizes, n_tokens, causal)
    return attention / (n_tokens * _parameter_flops(sizes) + attention)


def attention_crossover_length(sizes: Sizes) -> float:
    """The sequence length at which attention takes as many FLOPs as all parameter matrices."""
    return _parameter_flops(sizes) / attention_flops(sizes, 1)


def kv_cache_bytes(sizes: Sizes, n_tokens: int, batch: int = 1, width: int = 2) -> int:
    """Bytes of the keys and values of all layers, `width` bytes a number."""
    return 2 * sizes.n_layers * sizes.groups * sizes.head_width * n_tokens * batch * width


def prefill_cost(
    sizes: Sizes, configuration: Configuration, n_tokens: int, batch: int = 1, width: int = 2
) -> Cost:
    """Prefill, the forward pass over a prompt: parameters are read once, the cache is written."""
    parameters = count_parameters(sizes, configuration)
    moved = width * parameters + kv_cache_bytes(sizes, n_tokens, batch, width)
    return Cost(count_flops(sizes, n_tokens, batch), moved)


def decode_cost(
    sizes: Sizes, configuration: Configuration, n_tokens: int, batch: int = 1, width: int = 2
) -> Cost:
    """Decoding the last of `n_tokens` in each sequence: parameters and cache are read."""
    attention = n_tokens * attention_flops(sizes, 1)
    moved = width * count_parameters(sizes, configuration)
    moved += kv_cache_bytes(sizes, n_tokens, batch, width)
    return Cost(batch * (_parameter_flops(sizes) + attention), moved)


def _parameter_flops(sizes: Sizes) -> int:
    """FLOPs per token of all products with parameter matrices, whatever the sequence length."""
    return count_flops(sizes, 1) - attention_flops(sizes, 1)


def attention_cost(n_tokens: int, d_k: int, block: int | None = None, width: int = 2) -> Cost:
    """Attention in one head over T tokens, without a block or blockwise.

    Without a block, the T × T scores and weights are written to memory and read back. With blocks
    of that many queries, keys and values are read once a block, and scores are not stored.
    """
    rows = 4 * n_tokens * d_k  # queries, keys, values, output
    if block is None:
        moved = rows + 4 * n_tokens * n_tokens
    else:
        moved = rows // 2 + 2 * n_tokens * d_k * -(-n_tokens // block)
    return Cost(4 * n_tokens * n_tokens * d_k, width * moved)
