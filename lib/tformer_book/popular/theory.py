"""*Transformer Theory*: a long introduction with three listings in C++."""

from __future__ import annotations

import numpy as np

from tformer import reference as ref
from tformer_book.popular import theory_formulas, theory_listings, tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases, Document, Line, cited, runs


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
            "True of pre-norm; after the sum, the norm rewrites the copy too.",
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
            "In BERT, on average, syntax is found lower than meaning {cite:p}`tenney2019`. "
            "Reasoning was not looked for.",
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
            "mapped to vectors via an embedding matrix E",
            "a row of a table for each word; then its place is added",
            tried_models.lookup,
            "eq-embedding",
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
        cited(
            "decoder-only (causal) … (LLMs)",
            "to write",
            "agrees",
            "{cite:p}`radford2018`.",
            "def-architectures prop-rows",
        ),
        cited(
            "encoder-only (BERT-like)",
            "to classify, retrieve, tag",
            "agrees",
            "{cite:p}`devlin2019`.",
            "def-architectures",
        ),
        cited(
            "encoder–decoder for sequence-to-sequence tasks",
            "translation, summaries",
            "loose",
            "A habit, not a need: decoders alone do both {cite:p}`radford2019`.",
            "exm-three-tasks prop-joint",
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
            "across GPUs/TPUs using data/model parallelism",
            "how large models are trained",
            "agrees",
            "{cite:p}`korthikanti2022`.",
            "14",
        ),
        cited(
            "simpler models might be preferable",
            "for small tables",
            "agrees",
            "Of tables with some ten thousand rows it is known: trees do better "
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
            "One new query with a cache has no future to hide.",
        ),
        cited(
            "Post-LN stacks can be unstable at depth",
            "many models have the norm before",
            "agrees",
            "They need a warm-up to train well {cite:p}`xiong2020`.",
            "thm-variance prop-one-layer-back",
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
            tried_costs.in_context,
            "18",
            "No parameter changes; but a layer of linear attention can compute what one step of "
            "gradient descent on a linear regression would give {cite:p}`vonoswald2023`.",
        ),
    ]


def _places_break_ties() -> Cases:
    rows, p, turned = tried.words(3), tried.heads(), np.array([2, 1, 0])
    places = ref.sinusoidal(np.arange(3), 8)
    y, z = (ref.multi_head_attention(x + places, p) for x in (rows, rows[turned]))
    return {"with places, the words in another order give other rows": not tried.same(y[turned], z)}


def _weights_stay() -> Cases:
    return {
        "the parameters are the same before and after": tried_costs.in_context()[
            "the parameters are the same before and after"
        ]
    }


def _one_for_all() -> Cases:
    machines = (lambda x: x, lambda x: 1 - x)
    functions = [dict(zip((0, 1), values, strict=True)) for values in np.ndindex(2, 2)]
    good = [f for f in functions if all(f[x] == m(x) for m in machines for x in (0, 1))]
    return {"some function of one bit equals both *copy* and *not*": bool(good)}


DOCUMENT = Document(
    "Transformer Theory",
    "A long introduction: key points, analogies, costs, three listings in C++.",
    {
        "Key points and prerequisites": _points(),
        "Overview, analogies, definition": _overview(),
        "When to use": _use(),
        "Common mistakes": _mistakes(),
        "Key formulas": theory_formulas.formulas(),
        "Complexity": theory_formulas.costs(),
        "Listing 1: attention": theory_listings.first(),
        "Listing 2: positions": theory_listings.second(),
        "Listing 3: a block": theory_listings.third(),
    },
)
