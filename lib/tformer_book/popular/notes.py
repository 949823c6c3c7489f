"""*Transformer ML*: notes that end with "Buy milk and", taken to its next word."""

from __future__ import annotations

from tformer_book.popular import notes_example, tried, tried_models
from tformer_book.popular.lines import Document, Line, cited, runs


def _formulas() -> list[Line]:
    return [
        runs(
            "Q = xW_Q, K = xW_K, V = xW_V",
            "one input gives query, key and value, by three matrices",
            tried.projections,
            "eq-projections",
        ),
        runs(
            "softmax(QK^⊤/√d_k + M) V",
            "the mask is added to the scores, before the softmax",
            tried.mask_is_added,
            "eq-conditioning eq-to-additive",
        ),
        runs(
            "Concat(head_1, …, head_h) W_O",
            "heads are put side by side and mixed by one matrix",
            tried.heads_side_by_side,
            "thm-sum-of-heads",
        ),
        runs(
            "FFN(x) = σ(xW_1 + b_1)W_2 + b_2",
            "two linear maps with a bend between them, word by word",
            tried_models.feed_forward_by_hand,
            "eq-feed-forward thm-each-word",
        ),
        runs(
            "X ← X + MHA(X), then LayerNorm",
            "the norm stands after the sum",
            tried_models.norm_after,
            "eq-block",
            "This is post-norm, as in the first transformer. The notes' own program, below, is "
            "pre-norm: another model.",
        ),
        runs(
            "X = X + MultiHeadSelfAttention(LayerNorm(X))",
            "the norm stands before each sublayer",
            tried_models.norm_before,
            "eq-block thm-variance",
        ),
        runs(
            "logits = Linear(X)",
            "the rows of a stack with norms before its sublayers go straight to the words",
            tried_models.last_norm,
            "eq-decoder thm-variance",
            "A pre-norm stack has one more norm at its end: its rows grow with depth.",
        ),
        runs(
            "maximize ∑_t log p(x_t | x_{<t})",
            "the objective is the sum of the logarithms of the words that came",
            tried_models.loss_by_hand,
            "eq-cross-entropy cor-distribution",
        ),
        runs(
            "O(n^2) in time and memory",
            "attention costs n² in both",
            tried.quadratic_twice,
            "prop-attention-cost",
            "Products: n² times the width. Memory: only if all weights are kept at once.",
        ),
    ]


def _words() -> list[Line]:
    return [
        runs(
            "processes a *set* of token embeddings",
            "without positions, order plays no part",
            tried.order_without_positions,
            "thm-equivariance thm-counting",
        ),
        runs(
            "attention is permutation-invariant",
            "order changes nothing",
            tried.invariant,
            "thm-equivariance prop-not-invariant",
            "It is *equivariant*: rows change places with their words.",
        ),
        runs(
            "any token directly “query” the entire sequence",
            "one step joins any two words",
            tried.one_hop,
            "prop-paths",
        ),
        runs(
            "All positions are processed simultaneously",
            "nothing waits for anything",
            tried_models.in_parallel,
            "thm-one-pass",
            "True of training and of reading a prompt, not of writing.",
        ),
        runs(
            "separate projections",
            "each head has matrices of its own",
            tried.heads_side_by_side,
            "thm-sum-of-heads prop-sharing",
            "As in 2017; many models now let heads share keys and values {cite:p}`ainslie2023`.",
        ),
        cited(
            "many modern models use rotary embeddings/ALiBi",
            "positions are turned in or said in the scores",
            "agrees",
            "{cite:p}`su2024,press2022`; Llama and its kin turn {cite:p}`touvron2023`.",
            "eq-rope eq-alibi-bias",
        ),
        cited(
            "RoPE, ALiBi) to extrapolate length",
            "both schemes carry a model beyond its training lengths",
            "loose",
            "ALiBi was made for it {cite:p}`press2022`; plain RoPE fails there and is mended by "
            "interpolation {cite:p}`chen2023,peng2024`.",
            "prop-base-change",
        ),
        cited(
            "Stabilize and speed training",
            "residual connections and LayerNorm",
            "agrees",
            "{cite:p}`xiong2020`; the place of the norm matters.",
            "thm-variance",
        ),
        cited(
            "often with GELU",
            "the nonlinearity",
            "agrees",
            "Since {cite:p}`radford2018,devlin2019`.",
            "eq-gelu",
        ),
        cited(
            "Encoder-decoder",
            "the original: the decoder looks at the encoder, and at itself causally",
            "agrees",
            "{cite:p}`vaswani2017`.",
            "eq-encoder-decoder",
        ),
        cited(
            "Decoder-only (e.g., GPT)",
            "next word",
            "agrees",
            "{cite:p}`radford2018`.",
            "def-architectures",
        ),
        cited(
            "Encoder-only (e.g., BERT)",
            "both ways",
            "agrees",
            "{cite:p}`devlin2019`.",
            "def-architectures",
        ),
        cited(
            "predict masked tokens from full context",
            "BERT's objective",
            "agrees",
            "{cite:p}`devlin2019`.",
            "13",
        ),
        cited(
            "T5): text-to-text tasks with a span-corruption objective",
            "T5's objective",
            "agrees",
            "{cite:p}`raffel2020`.",
            "13",
        ),
        cited(
            "FlashAttention), sparse/linear attention",
            "kernels that keep no table; others that look at less, or at something else",
            "agrees",
            "{cite:p}`dao2022,beltagy2020`.",
            "16",
        ),
        cited(
            "Vaswani et al., 2017",
            "the source of the architecture",
            "agrees",
            "{cite:p}`vaswani2017`.",
        ),
    ]


DOCUMENT = Document(
    "Transformer ML",
    "Notes: components, objectives, costs, and one example to the end.",
    {
        "Formulas and program": _formulas(),
        "What is said": _words(),
        "Buy milk and: the words": notes_example.embeddings(),
        "Buy milk and: attention": notes_example.attention(),
        "Buy milk and: norms, feed-forward, next word": notes_example.rest(),
    },
)
