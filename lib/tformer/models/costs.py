"""What a model costs as its text grows: operations, bytes, and for which a machine waits.

Bytes are those that must pass between memory and the processor if nothing stays in it from one
matrix product to the next: parameters and cache. What is small beside them (the rows themselves) is
left out.
"""

from typing import NamedTuple

from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, count_parameters

__all__ = [
    "Work",
    "attention_work",
    "cache_bytes",
    "crossing",
    "decode_work",
    "looking_flops",
    "looking_share",
    "prefill_work",
]


class Work(NamedTuple):
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


def looking_flops(sizes: Sizes, n_words: int, causal: bool = False) -> int:
    """Operations of all scores and weighted sums: 4 d_k for each head, layer and pair of words.

    If `causal`, of the pairs alone that may look, T (T + 1) / 2 instead of T².
    """
    pairs = n_words * (n_words + 1) // 2 if causal else n_words * n_words
    return 4 * sizes.head_width * sizes.n_heads * sizes.n_layers * pairs


def looking_share(sizes: Sizes, n_words: int, causal: bool = False) -> float:
    """The share of the operations of a forward pass that is `looking_flops`."""
    looks = looking_flops(sizes, n_words, causal)
    return looks / (n_words * _by_matrices(sizes) + looks)


def crossing(sizes: Sizes) -> float:
    """How many words a text has when looking takes as many operations as all the rest."""
    return _by_matrices(sizes) / looking_flops(sizes, 1)


def cache_bytes(sizes: Sizes, n_words: int, batch: int = 1, width: int = 2) -> int:
    """Bytes of the keys and values of all layers, `width` for each number."""
    return 2 * sizes.n_layers * sizes.groups * sizes.head_width * n_words * batch * width


def prefill_work(
    sizes: Sizes, configuration: Configuration, n_words: int, batch: int = 1, width: int = 2
) -> Work:
    """Reading texts in one pass: every parameter is read once, and the cache is written."""
    parameters = count_parameters(sizes, configuration)
    moved = width * parameters + cache_bytes(sizes, n_words, batch, width)
    return Work(count_flops(sizes, n_words, batch), moved)


def decode_work(
    sizes: Sizes, configuration: Configuration, n_words: int, batch: int = 1, width: int = 2
) -> Work:
    """Writing one word of each text, the last of `n_words`: parameters and the cache are read."""
    looks = n_words * looking_flops(sizes, 1)
    moved = width * count_parameters(sizes, configuration)
    moved += cache_bytes(sizes, n_words, batch, width)
    return Work(batch * (_by_matrices(sizes) + looks), moved)


def _by_matrices(sizes: Sizes) -> int:
    """Operations for one word that do not grow with the text: those of all matrices."""
    return count_flops(sizes, 1) - looking_flops(sizes, 1)


def attention_work(n_words: int, d_k: int, block: int | None = None, width: int = 2) -> Work:
    """One head of T words. Without a block, the table of scores is written and read, and so are the
    weights. With one, keys and values are read once for each block of queries, and no table is.
    """
    rows = 4 * n_words * d_k  # queries, keys, values, output
    if block is None:
        moved = rows + 4 * n_words * n_words
    else:
        moved = rows // 2 + 2 * n_words * d_k * -(-n_words // block)
    return Work(4 * n_words * n_words * d_k, width * moved)
