"""The three C++ listings of *Transformer Theory*: what they give, line by line."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer_book.popular import cpp, tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases, Line, cited, given, runs
from tformer_book.world.sources import CPP_LISTING


def first() -> list[Line]:
    rows = (
        "{0.1, 0.2, 0.3, 0.4} {0.5, 0.4, 0.3, 0.2} {0.2, 0.1, 0.0, -0.1}",
        "{0.3, 0.1, 0.4, 0.2} {0.0, -0.1, 0.2, 0.1} {0.5, 0.3, 0.1, 0.2}",
        "{0.1, 0.0, 0.2, 0.3} {0.2, 0.1, 0.0, 0.1} {0.0, 0.3, 0.4, 0.1}",
    )
    return [
        *[given(text, name) for text, name in zip(rows, "QKV", strict=True)],
        given(
            "vector<double>(p, 0.0), sum = 0.0, 1.0 / std::sqrt((double)d_k)", "zeros, the scale"
        ),
        runs(
            "Scaled Dot-Product Attention (single head)",
            "the listing is attention",
            _listing_is_attention,
            "exm-cpp-attention",
        ),
        runs(
            "x /= (sum + 1e-12)",
            "the weights are a softmax",
            tried.rows_with_epsilon,
            "prop-epsilon-denominator exm-epsilon",
            "Off by 1e-12 of their size here: the largest term is 1, so nothing is divided by 0.",
        ),
        runs(
            "O(T^2 d_k + T d_k d_v)",
            "time of the listing",
            _time_of_listing,
            "prop-attention-cost",
            "Weights times values are T² d_v products; T d_k d_v would be a projection, and "
            "there is none.",
        ),
        runs(
            "≈ O(T^2 d) … Space: O(T^2 + T d)",
            "with one width d",
            tried_costs.feed_forward_costs,
            "prop-attention-cost",
        ),
        runs(
            "scaled by 1/sqrt(d_k) for stability",
            "scores",
            tried.scaling_variance,
            "cor-scaled-variance",
        ),
        runs(
            "returning a contextualized representation per token",
            "weights average values",
            tried.weighted_sum,
            "thm-convex-hull",
        ),
    ]


def second() -> list[Line]:
    return [
        given("{0.1, 0.2, 0.1, 0.0, -0.1, 0.05, 0.2, -0.05}", "a word"),
        given("{0.0, -0.1, 0.2, 0.3, 0.1, -0.2, 0.0, 0.05}", "a word"),
        given("{0.2, 0.1, -0.1, 0.1, 0.0, 0.2, -0.2, 0.1}", "a word"),
        given("{-0.1, 0.3, 0.2, -0.2, 0.1, -0.1, 0.05, 0.0}", "a word"),
        given("vector<double>(d_model, 0.0)", "zeros"),
        runs(
            "pos / std::pow(10000.0, (double)i / d_model)",
            "the sinusoidal encoding, and its sum with the words",
            _places,
            "eq-sinusoidal exm-position-listings",
        ),
        runs(
            "absolute and relative position information",
            "what the sum provides",
            tried_models.relative_and_absolute,
            "thm-sinusoidal-shift",
        ),
        runs(
            "O(T · d_model)",
            "time and space",
            lambda: {
                "a number for each place and column": ref.sinusoidal(np.arange(6), 8).size == 6 * 8
            },
            "eq-sinusoidal",
        ),
    ]


def third() -> list[Line]:
    return [
        given(
            "vector<double>(p, 0.0), sum = 0.0, 1.0 / std::sqrt((double)d_k)",
            "the first listing once more",
        ),
        given(
            "mean = 0.0, var = 0.0, 1.0 / std::sqrt(var + eps)",
            "of LayerNorm; its ε is the next line",
        ),
        runs(
            "layernorm(…, double eps=1e-5)",
            "LayerNorm with gain and bias",
            tried_models.layer_norm_listing,
            "eq-layer-norm",
        ),
        runs("x /= (sum + 1e-12)", "softmax", tried.rows_with_epsilon, "prop-epsilon-denominator"),
        runs(
            "sqrt(2.0 / M_PI), x + 0.044715 * x * x * x, 0.5 * x * (1.0 + std::tanh(k * t))",
            "GELU",
            tried_models.gelu_form,
            "eq-gelu-tanh exm-tanh-form",
            "It is the tanh form.",
        ),
        given(
            "nd(0.0, 1.0/std::sqrt((double)in)), b.assign(out, 0.0)",
            "matrices of variance 1/in, biases 0",
            "thm-variance",
        ),
        given("ln1_g 1.0, ln1_b 0.0, ln2_g 1.0, ln2_b 0.0", "gains and biases of the norms"),
        given("mt19937 rng(42), nd(0.0, 1.0), nd(rng) * 0.1, d_ff = 32", "the input"),
        runs(
            "Minimal Transformer Block (Pre-LN, single-head)",
            "the block, from the input that the seed 42 draws",
            _block,
            "eq-block",
            "Run with GCC's generator; another C++ library draws other numbers.",
        ),
        runs(
            "O(T d^2 + T^2 d + T d d_ff)",
            "time",
            tried_costs.layer_costs,
            "prop-share",
        ),
        runs(
            "O(T^2 + T d + d d_ff) for activations and parameters",
            "space",
            _space,
            "prop-share",
            "The hidden units, T d_ff, are left out, and can be more than all that is named.",
        ),
        cited(
            "mirroring modern stable designs",
            "norms before each sublayer",
            "agrees",
            "{cite:p}`radford2019,xiong2020`.",
            "eq-block",
        ),
    ]


def _listing_is_attention() -> Cases:
    right = CPP_LISTING.right()["outputs"]
    y = tried.by_hand(CPP_LISTING.q, CPP_LISTING.k, CPP_LISTING.v)
    first = ", ".join(f"{number:.4f}" for number in right[0])
    return {f"it prints the library's rows; the first is {first}": tried.same(y, right)}


def _places() -> Cases:
    library = cpp.EMBEDDINGS + ref.sinusoidal(np.arange(4), 8)
    last = ", ".join(f"{number:.4f}" for number in library[3][:4])
    return {
        f"it prints the library's rows; the last begins {last}": tried.same(
            cpp.with_places(), library
        )
    }


def _time_of_listing() -> Cases:
    def counted(n: int, width: int) -> int:
        return n * n * width + n * n * width

    growth = counted(8, 32) / counted(8, 16)
    printed = (64 * 32 + 8 * 32 * 32) / (64 * 16 + 8 * 16 * 16)
    return {
        f"widths doubled, products grow {growth:.1f}-fold, as printed ({printed:.1f})": growth
        == printed
    }


def _block() -> Cases:
    listed, library = cpp.block_as_listed(), cpp.block_by_library()
    first = ", ".join(f"{number:.4f}" for number in library[0][:4]).replace("-", "−")
    return {
        f"it prints the library's rows; the first begins {first}": tried.same(
            listed, library, 1e-10
        )
    }


def _space() -> Cases:
    found = {}
    for n, d, hidden in ((1024, 512, 2048), (1024, 64, 65536)):
        named = n * n + n * d + d * hidden
        share = n * hidden / named
        found[f"T = {n}, d = {d}, d_ff = {hidden}: left out is {share:.1f} of what is named"] = (
            share < 1
        )
    return found
