"""The formulas and costs of *Transformer Theory*; where they were images, letters were lost."""

from __future__ import annotations

from dataclasses import replace

from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, count_flops, count_parameters
from tformer_book.popular import tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases, Line, cited, runs


def formulas() -> list[Line]:
    return [
        runs(
            "scaled by the key dimension",
            "against saturation",
            _by_the_root,
            "eq-attention cor-entropy-scales",
            "By its square root.",
        ),
        cited(
            "Each head has separate projections and captures different relations",
            "heads differ",
            "loose",
            "Nothing makes them: many can be taken out at little loss {cite:p}`michel2019`, and "
            "many models share keys and values {cite:p}`ainslie2023`.",
            "prop-sharing",
        ),
        runs(
            "Heads are concatenated and projected back",
            "the layer",
            tried.heads_side_by_side,
            "thm-sum-of-heads",
        ),
        runs(
            "An MLP applied to each token independently",
            "with ReLU or GELU",
            tried_models.feed_forward_by_hand,
            "thm-each-word",
        ),
        cited(
            "is usually larger than",
            "d_ff than d; the letters were lost",
            "agrees",
            "Four times as large in 2017 {cite:p}`vaswani2017`.",
            "prop-share",
        ),
        runs(
            "standardizes features within each token",
            "then scale and shift",
            tried_models.layer_norm_listing,
            "eq-layer-norm",
        ),
        runs(
            "without vanishing gradients",
            "thanks to residuals",
            tried_models.residual_alone,
            "thm-variance",
            "With the norm after the sum, gradients can vanish all the same.",
        ),
        runs(
            "reason about relative and absolute positions",
            "sinusoids",
            tried_models.relative_and_absolute,
            "thm-sinusoidal-shift prop-waves-distinct",
        ),
        runs(
            "probabilities that sum to 1",
            "softmax, row by row",
            tried.softmax_rows,
            "eq-softmax",
        ),
        runs(
            "maximize the probability of the next token",
            "the loss; lower is better prediction",
            tried_models.loss_by_hand,
            "eq-cross-entropy",
        ),
        cited(
            "Validation loss tends to decrease approximately as a power law",
            "in N, C and D",
            "agrees",
            "{cite:p}`kaplan2020`.",
            "20",
        ),
        runs(
            "attention cost grows quadratically … FFN cost grows linearly",
            "in T; the second quadratically in the widths",
            tried_costs.feed_forward_costs,
            "prop-attention-cost prop-share",
        ),
    ]


def costs() -> list[Line]:
    return [
        runs(
            "O(T + h ) ≈ O(T + d)",
            "T d² + h T² d_k is T d² + T² d; powers were lost",
            tried_costs.layer_costs,
            "prop-attention-cost prop-head-cost",
        ),
        runs(
            "for long T the quadratic attention term dominates",
            "the FFN's is comparable or larger for moderate T, with d_ff = 4d",
            tried_costs.layer_costs,
            "prop-share",
        ),
        runs(
            "O() per head",
            "memory of the scores, T²",
            tried.quadratic,
            "prop-attention-cost",
        ),
        runs(
            "activation memory often dominates",
            "in training",
            _activations,
            "prop-kept",
            "Unless it is computed again, which is common for want of memory "
            "{cite:p}`korthikanti2022`.",
        ),
        runs(
            "flash attention (reducing memory traffic)",
            "helps",
            tried.exact_without_table,
            "16",
            "Exactly; {cite:p}`dao2022`.",
        ),
        runs(
            "each new token costs O(h L )",
            "h L d_k with a cache of L words",
            _with_cache,
            "eq-extend-cache exm-cache",
            "That is looking alone. The projections and the feed-forward layer are left out, and "
            "they are most of it up to L = 6 d.",
        ),
        runs(
            "avoids recomputing K/V for the history",
            "the cache",
            _cache_is_exact,
            "exm-cache",
        ),
        runs(
            "an N-layer stack multiplies these costs by N",
            "so O(N(T d² + T² d + T d d_ff))",
            _n_layers,
            "prop-share",
        ),
        cited(
            "near-linear or log-linear in T … trading exactness",
            "efficient variants",
            "agrees",
            "{cite:p}`beltagy2020,katharopoulos2020`.",
            "16",
        ),
    ]


def _by_the_root() -> Cases:
    q, k, v = tried.rng().normal(size=(3, 5, 8))
    y = ref.attention(q, k, v)
    return {
        "by √d_k": tried.same(tried.by_hand(q, k, v), y),
        "by d_k": tried.same(ref.attention(q, k, v, scale=1 / 8), y),
    }


def _with_cache() -> Cases:
    d, found = 64, {}
    for context in (d, 60 * d):
        parts = tried_costs.products(1, d, 4 * d)
        looking = 2 * context * d
        share = looking / (looking + parts["projections"] + parts["feed-forward"])
        found[f"at L = {context // d} d looking is {share:.0%} of a layer"] = share > 0.5
    return found


def _cache_is_exact() -> Cases:
    q, k, v = tried.rng().normal(size=(3, 9, 8))
    whole = ref.causal_attention(q, k, v)
    last = ref.causal_attention(q[5:], k, v, offset=5)
    return {"the last rows from the cache are those of the full pass": tried.same(last, whole[5:])}


def _activations() -> Cases:
    sizes = Sizes(50257, 768, 12, 12, 3072, n_positions=1024)
    of_parameters = 16 * count_parameters(sizes, Configuration()) / 1e9
    rows = 12 * (16 * 1024 * 768 + 12 * 1024**2)
    of_rows = 8 * 4 * rows / 1e9
    return {
        f"smallest GPT-2, 8 texts of 1024 words, float32: {of_rows:.1f} GB are kept for the way "
        f"back, {of_parameters:.1f} GB are parameters, gradients and the averages of AdamW": of_rows
        > of_parameters
    }


def _n_layers() -> Cases:
    one = tried_models.SMALL
    head = 2 * 100 * one.d_model * one.n_vocab
    costs = [count_flops(replace(one, n_layers=n), 100) - head for n in (1, 12)]
    return {"twelve layers cost twelve times one": costs[1] == 12 * costs[0]}
