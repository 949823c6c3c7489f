"""*Transformer Theory*: a long introduction with three listings in C++. Its formulas were images."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer.popular import cpp, tried, tried_models
from tformer.popular.lines import Cases, Document, Line, cited, given, runs
from tformer.world.sources import CPP_LISTING


def _points() -> list[Line]:
    return [
        runs(
            "layers of self-attention and feed-forward networks wrapped with residual connections",
            "a stack of blocks; said again under *Residual Connection*",
            tried_models.norm_before,
            "eq-block",
        ),
        runs(
            "lets every token look at every other token",
            "at any distance, in parallel",
            tried.one_hop,
            "prop-paths",
        ),
        runs(
            "Positional encoding injects order information",
            "so that attention knows where things are",
            _places_break_ties,
            "thm-equivariance def-sinusoidal",
        ),
        runs(
            "so very deep stacks of layers can be trained",
            "thanks to residuals and LayerNorm",
            tried_models.residual_alone,
            "thm-variance",
            "It matters where the norm stands.",
        ),
        cited(
            "under mild assumptions, transformers can simulate any Turing machine",
            "universality",
            "loose",
            "With numbers of any precision and as many steps of writing as the machine takes "
            "{cite:p}`perez2021`. With few digits and one pass, what a stack computes is bounded "
            "{cite:p}`merrill2023`.",
            "19",
        ),
        cited(
            "by reading examples in the prompt",
            "learning in context emerges from pretraining",
            "agrees",
            "{cite:p}`brown2020`.",
            "18",
        ),
        cited(
            "predictable improvements in loss",
            "with power-law exponents; said four times",
            "agrees",
            "{cite:p}`kaplan2020,hoffmann2022`; they differ in the exponents.",
            "20",
        ),
        runs(
            "scales quadratically in sequence length",
            "the cost of attention",
            tried.quadratic_twice,
            "prop-attention-cost",
            "Time does; memory need not.",
        ),
        runs(
            "Attention weights are probabilities derived via softmax",
            "positive, and one in sum",
            tried.softmax_rows,
            "eq-softmax",
        ),
        runs(
            "causal masking is key",
            "to predict the next word",
            tried.masked_future,
            "thm-causal",
        ),
        runs(
            "Softmax stability (log-sum-exp)",
            "is needed in large models",
            tried.overflow,
            "prop-naive-overflow eq-log-softmax",
        ),
    ]


def _overview() -> list[Line]:
    return [
        cited(
            "displace RNNs and CNNs in many sequence tasks",
            "history",
            "agrees",
            "{cite:p}`vaswani2017,devlin2019`.",
        ),
        runs(
            "regardless of distance",
            "dependencies are captured",
            tried.no_decay,
            "prop-disperses",
            "Of distance, yes; not of the number of words.",
        ),
        cited(
            "show emergent abilities",
            "large models; said three times",
            "loose",
            "Whether suddenly depends on the measure {cite:p}`schaeffer2023`.",
            "20",
        ),
        runs(
            "without changing their weights",
            "learning in context",
            _weights_stay,
            "18",
        ),
        runs(
            "mixes information from all other tokens",
            "every token",
            tried.average_of_others,
            "thm-convex-hull",
            "From itself too.",
        ),
        runs(
            "attention can tell “Alice spoke before Bob”",
            "through positions",
            _places_break_ties,
            "exm-box-and-bag",
        ),
        runs(
            "keeping a copy of your notes",
            "what residual connections are",
            tried_models.depth_without_residuals,
            "prop-unrolled thm-melt",
            "True of pre-norm; behind the sum, the norm rewrites the copy too.",
        ),
        runs(
            "standardizing everyone’s notes",
            "what LayerNorm does, token by token",
            tried_models.layer_norm_listing,
            "thm-sphere",
        ),
        runs(
            "the student’s private scratchpad",
            "the feed-forward network works on each word alone",
            tried_models.feed_forward_by_hand,
            "thm-each-word",
        ),
        cited(
            "some layers specialize in syntax … others in semantics",
            "and higher ones in reasoning",
            "loose",
            "Syntax tends to be found lower than meaning {cite:p}`tenney2019`; a layer of reasoning "
            "was not.",
            "17",
        ),
        runs(
            "T_θ(x) = M(x) … for any Turing machine M",
            "one transformer gives what any machine gives",
            _one_for_all,
            "19",
            "As printed one T serves all M. Either T depends on M, or M must be part of the input.",
        ),
        runs(
            "FFN(x) = (x + ) +",
            "two linear maps and a nonlinearity; the letters were lost",
            tried_models.feed_forward_by_hand,
            "eq-feed-forward",
        ),
        runs(
            "(Q,K,V) = ()V",
            "attention; the formula was lost",
            tried.formula,
            "eq-attention",
        ),
        runs(
            "minimizes next-token cross-entropy",
            "over a vocabulary, by teacher forcing",
            tried_models.loss_by_hand,
            "eq-cross-entropy thm-one-pass",
        ),
    ]


def _use() -> list[Line]:
    return [
        cited("decoder-only (causal) … (LLMs)", "to write", "agrees", "{cite:p}`radford2018`.", "11"),
        cited(
            "encoder-only (BERT-like)",
            "to classify, retrieve, tag",
            "agrees",
            "{cite:p}`devlin2019`.",
            "11",
        ),
        cited(
            "encoder–decoder for sequence-to-sequence tasks",
            "translation, summaries",
            "loose",
            "A habit, not a need: decoders alone do both {cite:p}`radford2019`.",
            "11",
        ),
        cited(
            "protein folding, and time-series forecasting",
            "and five other uses",
            "agrees",
            "{cite:p}`jumper2021` for the first.",
            "21",
        ),
        cited(
            "flexible, learnable or fixed mechanism",
            "positional encoding",
            "agrees",
            "Both are tried in chapter 7.",
            "def-sinusoidal prop-learned-rows",
        ),
        cited(
            "bigger models on more data tend to yield better",
            "performance",
            "agrees",
            "{cite:p}`hoffmann2022`.",
            "20",
        ),
        cited(
            "efficient attention variants (sparse, linear, local)",
            "for long sequences",
            "agrees",
            "{cite:p}`beltagy2020,katharopoulos2020`.",
            "16",
        ),
        cited(
            "simpler models might be preferable",
            "for small tables",
            "agrees",
            "{cite:p}`grinsztajn2022`.",
        ),
    ]


def _mistakes() -> list[Line]:
    return [
        runs(
            "Forgetting the 1/\\sqrt{d_k} scaling … always divide",
            "or the softmax saturates",
            tried.scaling_cures,
            "cor-entropy-scales thm-aligned",
            "Where queries and keys are aligned, √d_k is too little.",
        ),
        runs(
            "leaks future information",
            "without a causal mask",
            tried.masked_future,
            "thm-causal",
        ),
        runs(
            "upper-triangular masking during training and inference",
            "is needed in both",
            tried.mask_when_writing,
            "eq-causal-attention exm-cache",
            "One new query behind a cache has no future to hide.",
        ),
        runs(
            "Post-LN stacks can be unstable at depth",
            "pre-norm is steadier",
            tried_models.stable_before,
            "thm-variance prop-one-layer-back",
            "{cite:p}`xiong2020`.",
        ),
        runs(
            "subtract the row-wise max",
            "or softmax overflows",
            tried.overflow,
            "prop-naive-overflow",
        ),
        runs(
            "Q: T\\times d_k, K: T\\times d_k, V: T\\times d_v",
            "shapes; concatenated heads fit W^O",
            tried.heads_side_by_side,
            "def-multi-head",
        ),
        runs(
            "makes the model permutation-invariant over tokens",
            "to leave positions out",
            tried.invariant_or_not,
            "thm-equivariance prop-not-invariant thm-counting",
            "Rows are equivariant; only a mean over them is invariant, and only without a mask.",
        ),
        runs(
            "O(T^2) memory for scores",
            "for long contexts, chunking or caching",
            tried.exact_without_table,
            "prop-attention-cost",
            "Row by row, or in chunks, the table is never kept.",
        ),
        runs(
            "not gradient steps during inference",
            "learning in context is no update",
            tried_models.in_context,
            "18",
            "No parameter changes; but a layer can compute a step on parameters of its own making "
            "{cite:p}`vonoswald2023`.",
        ),
    ]


def _formulas() -> list[Line]:
    return [
        runs(
            "scaled by the key dimension",
            "against saturation",
            _by_the_root,
            "eq-attention cor-entropy-scales",
            "By its square root.",
        ),
        runs(
            "Each head has separate projections",
            "and captures different relations",
            tried.heads_may_share,
            "prop-sharing",
            "Keys and values are often shared; and nothing makes heads differ.",
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
            "With the norm behind the sum, gradients can vanish all the same.",
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
            tried_models.feed_forward_costs,
            "prop-attention-cost prop-share",
        ),
    ]


def _costs() -> list[Line]:
    return [
        runs(
            "O(T + h ) ≈ O(T + d)",
            "T d² + h T² d_k is T d² + T² d; powers were lost",
            tried_models.layer_costs,
            "prop-attention-cost prop-head-cost",
        ),
        runs(
            "for long T the quadratic attention term dominates",
            "the FFN's is comparable or larger for moderate T, with d_ff = 4d",
            tried_models.layer_costs,
            "prop-share",
        ),
        runs(
            "O() per head",
            "memory of the scores, T²",
            tried.quadratic,
            "prop-attention-cost",
        ),
        cited(
            "activation memory often dominates",
            "in training",
            "agrees",
            "{cite:p}`korthikanti2022`.",
            "12",
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
            "h L d_k behind a cache of L words",
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


def _first_listing() -> list[Line]:
    rows = (
        "{0.1, 0.2, 0.3, 0.4} {0.5, 0.4, 0.3, 0.2} {0.2, 0.1, 0.0, -0.1}",
        "{0.3, 0.1, 0.4, 0.2} {0.0, -0.1, 0.2, 0.1} {0.5, 0.3, 0.1, 0.2}",
        "{0.1, 0.0, 0.2, 0.3} {0.2, 0.1, 0.0, 0.1} {0.0, 0.3, 0.4, 0.1}",
    )
    return [
        *[given(text, name) for text, name in zip(rows, "QKV", strict=True)],
        given("vector<double>(p, 0.0), sum = 0.0, 1.0 / std::sqrt((double)d_k)", "zeros, the scale"),
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
            "Weights times values are T² d_v products; T d_k d_v would be a projection, and there is "
            "none.",
        ),
        runs(
            "≈ O(T^2 d) … Space: O(T^2 + T d)",
            "with one width d",
            tried_models.feed_forward_costs,
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


def _second_listing() -> list[Line]:
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


def _third_listing() -> list[Line]:
    return [
        given(
            "vector<double>(p, 0.0), sum = 0.0, 1.0 / std::sqrt((double)d_k)",
            "the first listing once more",
        ),
        given(
            "mean = 0.0, var = 0.0, 1.0 / std::sqrt(var + eps)", "of LayerNorm; its ε is the next line"
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
            tried_models.layer_costs,
            "prop-share",
        ),
        runs(
            "O(T^2 + T d + d d_ff) for activations and parameters",
            "space",
            _space,
            "prop-share",
            "The hidden units, T d_ff, are left out, and T d_ff can be more than all that is named.",
        ),
        cited(
            "mirroring modern stable designs",
            "norms before each sublayer",
            "agrees",
            "{cite:p}`radford2019,xiong2020`.",
            "eq-block",
        ),
    ]


def _places_break_ties() -> Cases:
    rows, p, turned = tried.words(3), tried.heads(), np.array([2, 1, 0])
    places = ref.sinusoidal(np.arange(3), 8)
    y, z = (ref.multi_head_attention(x + places, p) for x in (rows, rows[turned]))
    return {"with places, the words in another order give other rows": not tried.same(y[turned], z)}


def _weights_stay() -> Cases:
    return {"the parameters are the same before and after": tried_models.in_context()[
        "the parameters are the same before and after"
    ]}


def _one_for_all() -> Cases:
    machines = (lambda x: x, lambda x: 1 - x)
    functions = [dict(zip((0, 1), values, strict=True)) for values in np.ndindex(2, 2)]
    good = [f for f in functions if all(f[x] == m(x) for m in machines for x in (0, 1))]
    return {"some function of one bit equals both *copy* and *not*": bool(good)}


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
        parts = tried_models.products(1, d, 4 * d)
        looking = 2 * context * d
        share = looking / (looking + parts["projections"] + parts["feed-forward"])
        found[f"at L = {context // d} d looking is {share:.0%} of a layer"] = share > 0.5
    return found


def _cache_is_exact() -> Cases:
    q, k, v = tried.rng().normal(size=(3, 9, 8))
    whole = ref.causal_attention(q, k, v)
    last = ref.causal_attention(q[5:], k, v, offset=5)
    return {"the last rows from the cache are those of the full pass": tried.same(last, whole[5:])}


def _n_layers() -> Cases:
    from dataclasses import replace

    from tformer.models.sizes import count_flops

    one = tried_models.SMALL
    head = 2 * 100 * one.d_model * one.n_vocab
    costs = [count_flops(replace(one, n_layers=n), 100) - head for n in (1, 12)]
    return {"twelve layers cost twelve times one": costs[1] == 12 * costs[0]}


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
        f"it prints the library's rows; the first begins {first}": tried.same(listed, library, 1e-10)
    }


def _space() -> Cases:
    found = {}
    for n, d, hidden in ((1024, 512, 2048), (1024, 64, 65536)):
        named = n * n + n * d + d * hidden
        share = n * hidden / named
        found[f"T = {n}, d = {d}, d_ff = {hidden}: left out is {share:.1f} of what is named"] = share < 1
    return found


DOCUMENT = Document(
    "Transformer Theory",
    "A long introduction: key points, analogies, costs, three listings in C++.",
    {
        "Key points and prerequisites": _points(),
        "Overview, analogies, definition": _overview(),
        "When to use": _use(),
        "Common mistakes": _mistakes(),
        "Key formulas": _formulas(),
        "Complexity": _costs(),
        "Listing 1: attention": _first_listing(),
        "Listing 2: positions": _second_listing(),
        "Listing 3: a block": _third_listing(),
    },
)
