"""What *Transformer Theory* says of its own, and its three listings in C++, tried."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, count_parameters
from tformer_book.popular import cpp, tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases
from tformer_book.world.sources import CPP_LISTING


def places_break_ties() -> Cases:
    """Three tokens and their reverse, with positions."""
    rows, p, turned = tried.words(3), tried.heads(), np.array([2, 1, 0])
    places = ref.sinusoidal(np.arange(3), 8)
    y, z = (ref.multi_head_attention(x + places, p) for x in (rows, rows[turned]))
    return {
        "with positions, the same tokens in another order give other outputs": not tried.same(
            y[turned], z
        )
    }


def weights_stay() -> Cases:
    """In-context learning leaves parameters as they are."""
    return {
        "the parameters are the same before and after": tried_costs.in_context()[
            "the parameters are the same before and after"
        ]
    }


def one_for_all() -> Cases:
    """Two machines of one bit, and all functions of one bit."""
    machines = (lambda x: x, lambda x: 1 - x)
    functions = [dict(zip((0, 1), values, strict=True)) for values in np.ndindex(2, 2)]
    good = [f for f in functions if all(f[x] == m(x) for m in machines for x in (0, 1))]
    return {"some function of one bit equals both *copy* and *not*": bool(good)}


def by_the_root() -> Cases:
    """Scores divided by √d_k and by d_k."""
    q, k, v = tried.rng().normal(size=(3, 5, 8))
    y = ref.attention(q, k, v)
    return {
        "by √d_k": tried.same(tried.by_hand(q, k, v), y),
        "by d_k": tried.same(ref.attention(q, k, v, scale=1 / 8), y),
    }


def with_cache() -> Cases:
    """The share of scores and weighted sums in a layer, for one token with a cache."""
    d, found = 64, {}
    for context in (d, 60 * d):
        parts = tried_costs.products(1, d, 4 * d)
        scores = 2 * context * d
        share = scores / (scores + parts["projections"] + parts["feed-forward"])
        found[f"at L = {context // d} d it is {share:.0%} of the cost of a layer"] = share > 0.5
    return found


def cache_is_exact() -> Cases:
    """The last outputs, with a cache and in one pass."""
    q, k, v = tried.rng().normal(size=(3, 9, 8))
    whole = ref.causal_attention(q, k, v)
    last = ref.causal_attention(q[5:], k, v, offset=5)
    return {
        "the last outputs with the cache are those of the full pass": tried.same(last, whole[5:])
    }


def activations() -> Cases:
    """Bytes of activations, and of all that is kept for each parameter."""
    sizes = Sizes(50257, 768, 12, 12, 3072, n_positions=1024)
    of_parameters = 16 * count_parameters(sizes, Configuration()) / 1e9
    rows = 12 * (16 * 1024 * 768 + 12 * 1024**2)
    of_rows = 8 * 4 * rows / 1e9
    name = (
        f"smallest GPT-2, 8 texts of 1024 tokens, float32: {of_rows:.1f} GB of activations for the "
        f"backward pass; {of_parameters:.1f} GB of parameters, gradients and moments of AdamW"
    )
    return {name: of_rows > of_parameters}


def n_layers() -> Cases:
    """The cost of one layer and of twelve."""
    one = tried_models.SMALL
    head = 2 * 100 * one.d_model * one.n_vocab
    costs = [count_flops(replace(one, n_layers=n), 100) - head for n in (1, 12)]
    return {"twelve layers cost twelve times as much as one": costs[1] == 12 * costs[0]}


def listing_is_attention() -> Cases:
    """The outputs of the first listing."""
    right = CPP_LISTING.right()["outputs"]
    y = tried.by_hand(CPP_LISTING.q, CPP_LISTING.k, CPP_LISTING.v)
    first = ", ".join(f"{number:.4f}" for number in right[0])
    return {f"it prints the library's outputs; the first is {first}": tried.same(y, right)}


def places() -> Cases:
    """The outputs of the second listing."""
    library = cpp.EMBEDDINGS + ref.sinusoidal(np.arange(4), 8)
    last = ", ".join(f"{number:.4f}" for number in library[3][:4])
    return {
        f"it prints the library's vectors; the last begins {last}": tried.same(
            cpp.with_places(), library
        )
    }


def time_of_listing() -> Cases:
    """Multiplications of the first listing when the widths double."""

    def counted(n: int, width: int) -> int:
        return n * n * width + n * n * width

    growth = counted(8, 32) / counted(8, 16)
    printed = (64 * 32 + 8 * 32 * 32) / (64 * 16 + 8 * 16 * 16)
    return {
        f"twice the widths: {growth:.1f} times the products, as printed ({printed:.1f})": growth
        == printed
    }


def block() -> Cases:
    """The outputs of the third listing."""
    listed, library = cpp.block_as_listed(), cpp.block_by_library()
    first = ", ".join(f"{number:.4f}" for number in library[0][:4]).replace("-", "−")
    return {
        f"it prints the library's outputs; the first begins {first}": tried.same(
            listed, library, 1e-10
        )
    }


def space() -> Cases:
    """The hidden units beside the numbers that the document counts."""
    found = {}
    for n, d, hidden in ((1024, 512, 2048), (1024, 64, 65536)):
        named = n * n + n * d + d * hidden
        share = n * hidden / named
        found[f"T = {n}, d = {d}, d_ff = {hidden}: left out is {share:.1f} of what is counted"] = (
            share < 1
        )
    return found


def numbers_of_positions() -> Cases:
    """How many numbers the second listing adds."""
    return {
        "there is one number for each position and column": ref.sinusoidal(np.arange(6), 8).size
        == 6 * 8
    }
