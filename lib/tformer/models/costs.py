"""What a model costs as its text grows: operations, bytes, and for which a machine waits.

Bytes are those that must pass between memory and the processor if nothing stays in it from one
matrix product to the next: parameters and cache. What is small beside them (the rows themselves) is
left out.
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
    """Operations and the bytes moved for them.

    Attributes
    ----------
    flops : int
        Additions and multiplications.
    bytes : int
    """

    flops: int
    bytes: int

    @property
    def intensity(self) -> float:
        """Operations for each byte."""
        return self.flops / self.bytes

    def seconds(self, flops_a_second: float, bytes_a_second: float) -> float:
        """The roofline: whichever takes longer, if the two go on at the same time."""
        return max(self.flops / flops_a_second, self.bytes / bytes_a_second)


def attention_flops(sizes: Sizes, n_tokens: int, causal: bool = False) -> int:
    """Operations of all scores and weighted sums: 4 d_k for each head, layer and pair of words.

    If `causal`, of the pairs alone that may look, T (T + 1) / 2 instead of T².
    """
    pairs = n_tokens * (n_tokens + 1) // 2 if causal else n_tokens * n_tokens
    return 4 * sizes.head_width * sizes.n_heads * sizes.n_layers * pairs


def attention_share(sizes: Sizes, n_tokens: int, causal: bool = False) -> float:
    """The share of the operations of a forward pass that is `attention_flops`."""
    looks = attention_flops(sizes, n_tokens, causal)
    return looks / (n_tokens * _by_matrices(sizes) + looks)


def attention_crossover_length(sizes: Sizes) -> float:
    """How many words a text has when looking takes as many operations as all the rest."""
    return _by_matrices(sizes) / attention_flops(sizes, 1)


def kv_cache_bytes(sizes: Sizes, n_tokens: int, batch: int = 1, width: int = 2) -> int:
    """Bytes of the keys and values of all layers, `width` for each number."""
    return 2 * sizes.n_layers * sizes.groups * sizes.head_width * n_tokens * batch * width


def prefill_cost(
    sizes: Sizes, configuration: Configuration, n_tokens: int, batch: int = 1, width: int = 2
) -> Cost:
    """Reading texts in one pass: every parameter is read once, and the cache is written."""
    parameters = count_parameters(sizes, configuration)
    moved = width * parameters + kv_cache_bytes(sizes, n_tokens, batch, width)
    return Cost(count_flops(sizes, n_tokens, batch), moved)


def decode_cost(
    sizes: Sizes, configuration: Configuration, n_tokens: int, batch: int = 1, width: int = 2
) -> Cost:
    """Writing one word of each text, the last of `n_tokens`: parameters and the cache are read."""
    looks = n_tokens * attention_flops(sizes, 1)
    moved = width * count_parameters(sizes, configuration)
    moved += kv_cache_bytes(sizes, n_tokens, batch, width)
    return Cost(batch * (_by_matrices(sizes) + looks), moved)


def _by_matrices(sizes: Sizes) -> int:
    """Operations for one word that do not grow with the text: those of all matrices."""
    return count_flops(sizes, 1) - attention_flops(sizes, 1)


def attention_cost(n_tokens: int, d_k: int, block: int | None = None, width: int = 2) -> Cost:
    """One head of T words. Without a block, the table of scores is written and read, and so are the
    weights. With one, keys and values are read once for each block of queries, and no table is.
    """
    rows = 4 * n_tokens * d_k  # queries, keys, values, output
    if block is None:
        moved = rows + 4 * n_tokens * n_tokens
    else:
        moved = rows // 2 + 2 * n_tokens * d_k * -(-n_tokens // block)
    return Cost(4 * n_tokens * n_tokens * d_k, width * moved)
