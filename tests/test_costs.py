"""What a text costs: formulas against caches that are made, and against PyTorch's counter."""

import numpy as np
import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from tformer import fast, reference
from tformer.configuration import Configuration
from tformer.models import costs
from tformer.models.sizes import Sizes, count_flops, initialise
from tformer.parameters import leaves, tree_map

GPT = Configuration(activation="gelu_tanh")
LLAMA = Configuration(norm="rms", activation="silu", positions="rope")
MODELS = {
    "gpt": (Sizes(11, 8, 2, 2, 32, n_positions=64), GPT),
    "llama": (Sizes(13, 12, 3, 4, 20, n_groups=2, d_k=6, biased=False, gated=True), LLAMA),
}
models = pytest.mark.parametrize(("sizes", "c"), MODELS.values(), ids=MODELS)


def counted(sizes: Sizes, c: Configuration, n_tokens: int) -> int:
    p = tree_map(torch.from_numpy, initialise(sizes, c, np.random.default_rng(0)))
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        fast.decoder(torch.zeros(n_tokens, dtype=torch.int64), p, c)
    return int(counter.get_total_flops())


@models
def test_looking_is_what_grows_with_the_square(sizes: Sizes, c: Configuration) -> None:
    """Of counts at T, 2 T and 3 T, the second difference has the square alone."""
    one, two, three = (counted(sizes, c, 16 * n) for n in (1, 2, 3))
    assert (three - 2 * two + one) // 2 == costs.attention_flops(sizes, 16)


@models
def test_at_the_crossing_half_is_looking(sizes: Sizes, c: Configuration) -> None:
    n = costs.attention_crossover_length(sizes)
    below, above = int(n), int(n) + 1
    assert costs.attention_share(sizes, below) <= 0.5 <= costs.attention_share(sizes, above)
    rest = count_flops(sizes, above) - costs.attention_flops(sizes, above)
    pairs = above * (above + 1) // 2
    each = 4 * sizes.head_width * sizes.n_heads * sizes.n_layers
    assert costs.attention_flops(sizes, above, causal=True) == each * pairs
    share = costs.attention_share(sizes, above, causal=True)
    assert share == pytest.approx(each * pairs / (rest + each * pairs))


@models
@pytest.mark.parametrize("width", [4, 8])
def test_a_cache_has_so_many_bytes(sizes: Sizes, c: Configuration, width: int) -> None:
    p = initialise(sizes, c, np.random.default_rng(0))
    p = tree_map(lambda x: x.astype(f"f{width}"), p)
    _, caches = reference.cached_decoder(np.zeros((3, 7), np.int64), p, c)
    assert sum(x.nbytes for x in leaves(caches)) == costs.kv_cache_bytes(sizes, 7, 3, width)


@models
def test_writing_a_text_word_by_word_makes_the_products_of_reading_it(
    sizes: Sizes, c: Configuration
) -> None:
    """All words, each looking at those up to itself; and all parameters are read each time."""
    steps = [costs.decode_cost(sizes, c, n) for n in range(1, 10)]
    whole = costs.prefill_cost(sizes, c, 9)
    saved = costs.attention_flops(sizes, 9) - costs.attention_flops(sizes, 9, causal=True)
    assert sum(step.flops for step in steps) == whole.flops - saved
    caches = sum(costs.kv_cache_bytes(sizes, n) for n in range(1, 10))
    parameters = whole.bytes - costs.kv_cache_bytes(sizes, 9)
    assert sum(step.bytes for step in steps) == 9 * parameters + caches


def test_the_roofline_waits_for_the_slower_of_the_two() -> None:
    work = costs.Cost(600, 100)
    assert work.intensity == 6
    assert work.seconds(60, 100) == 10
    assert work.seconds(600, 10) == 10


def test_a_table_is_most_of_what_is_moved() -> None:
    work = costs.attention_cost(4096, 64)
    assert work.flops == 4 * 4096**2 * 64
    assert work.bytes == 2 * (4 * 4096**2 + 4 * 4096 * 64)
    blocks = costs.attention_cost(4096, 64, 1024)
    assert blocks.bytes == 2 * 4096 * 64 * (2 + 2 * 4)
