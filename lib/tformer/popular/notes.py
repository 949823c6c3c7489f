"""*Transformer ML*: notes that end with "Buy milk and", taken to its next word."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer import reference as ref
from tformer.popular import tried, tried_models
from tformer.popular.lines import Cases, Document, Line, cited, given, numbers, runs
from tformer.world import buy_milk
from tformer.world.buy_milk import POSITIONS, VOCABULARY, WORDS, steps

X = WORDS + POSITIONS


def of(table: str, row: int | None = None) -> np.ndarray:
    """Return a table of the example, or one row of it, as it should be."""
    whole = steps(X)[table]
    return whole if row is None else whole[row]


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
            "the norm stands behind the sum",
            tried_models.norm_behind,
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
            tried.heads_may_share,
            "prop-sharing",
            "Many models since 2023 let heads share keys and values {cite:p}`ainslie2023`.",
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
            "Encoder-decoder",
            "the original: the decoder looks at the encoder, and at itself causally",
            "agrees",
            "{cite:p}`vaswani2017`.",
            "eq-encoder-decoder",
        ),
        cited("Decoder-only (e.g., GPT)", "next word", "agrees", "{cite:p}`radford2018`.", "11"),
        cited("Encoder-only (e.g., BERT)", "both ways", "agrees", "{cite:p}`devlin2019`.", "11"),
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


def _embeddings() -> list[Line]:
    return [
        given("n = 3, d = 2", "three words of width two"),
        given("[0.1, 1.0]", "Buy"),
        given("[1.0, 0.1]", "milk"),
        given("[0.6, 0.6]", "and"),
        given("[0.0, 0.0], [+0.1, -0.1], [-0.1, +0.1]", "positions", "prop-learned-rows"),
        numbers(
            "[0.1, 1.0], [1.1, 0.0], [0.5, 0.7]",
            "words plus positions",
            lambda: X,
            "exm-position-listings",
        ),
        given("W_V: 2 0 / 0 1", "values double the first coordinate; queries and keys are the rows"),
        numbers("[0.2, 1.0], [2.2, 0.0], [1.0, 0.7]", "values", lambda: of("values")),
    ]


def _attention() -> list[Line]:
    why_scores = "The diagonal seems computed from another number."
    see, table = "exm-buy-milk", "scores"
    return [
        *[
            numbers(text, f"dot products, row {i + 1}", lambda i=i: of("dots", i), see)
            for i, text in enumerate(("1.01 0.11 0.75", "0.11 1.21 0.55", "0.75 0.55 0.74"))
        ],
        *[
            numbers(text, f"scaled scores, row {i + 1}", lambda i=i: of(table, i), see, why)
            for i, (text, why) in enumerate(
                (
                    ("0.7149 0.0778 0.5303", "1.01/√2 is 0.7142. " + why_scores),
                    ("0.0778 0.8550 0.3890", "1.21/√2 is 0.8556."),
                    ("0.5303 0.3890 0.5230", "0.74/√2 is 0.5233."),
                )
            )
        ],
        numbers("[0.7149, -∞, -∞]", "masked, row 1", lambda: of(table, 0)[:1], "exm-milk-masked"),
        numbers(
            "[0.0778, 0.8550, -∞]", "masked, row 2", lambda: of(table, 1)[:2], "exm-milk-masked"
        ),
        numbers("[0.5303, 0.3890, 0.5230]", "masked, row 3", lambda: of(table, 2), see),
        *[
            numbers(
                f"e^{{{power}}} ≈ {printed}",
                "the exponential of that number",
                lambda power=power: np.exp(float(power)),
                "eq-softmax",
                printed=printed,
            )
            for power, printed in (
                ("0.7149", "2.044"),
                ("0.0778", "1.081"),
                ("0.8550", "2.351"),
                ("0.5303", "1.699"),
                ("0.3890", "1.475"),
                ("0.5230", "1.687"),
            )
        ],
        numbers("[1, 0, 0]", "weights, row 1", lambda: of("weights", 0), see),
        numbers("[0.3149, 0.6851, 0]", "weights, row 2", lambda: of("weights", 1), see),
        numbers("[0.3497, 0.3034, 0.3470]", "weights, row 3", lambda: of("weights", 2), see),
        numbers("[0.2, 1.0]", "context, row 1", lambda: of("context", 0), see),
        numbers(
            "0.3149 v_1 + 0.6851 v_2 ≈ [1.5702, 0.3149]",
            "context, row 2",
            lambda: of("context", 1),
            see,
            "Right for the printed weights; these are off.",
            printed="1.5702 0.3149",
        ),
        numbers(
            "0.3497 v_1 + 0.3034 v_2 + 0.3470 v_3 ≈ [1.0844, 0.5926]",
            "context, row 3",
            lambda: of("context", 2),
            see,
            printed="1.0844 0.5926",
        ),
        runs(
            "looks back mainly to “milk”",
            "milk has the largest weight at *and*",
            _mainly_milk,
            see,
            "It has the smallest: the value of *milk* is long, the weight is not large.",
        ),
        runs(
            "W_V amplifies the food dimension",
            "the doubling turns the context of *and* towards food",
            _leans,
            see,
        ),
        runs(
            "nudging the model to continue the grocery list",
            "because of it the next word is food",
            _nudged,
            "exm-two-numbers 10",
            "The word is the same without the doubling, and for any other rows: see below.",
        ),
    ]


def _rest() -> list[Line]:
    two, ten = "exm-two-numbers", "10"
    wrong_sign = (
        "(−1)·(−1) + 1·1 is 2, not 0: a sign was lost in the third hidden unit. The two rows below "
        "it are right."
    )
    return [
        runs(
            "Residual + LayerNorm (pre-norm)",
            "the norms of the example stand before the sublayers",
            _is_pre_norm,
            "eq-block thm-variance",
            "They stand behind the sums: it is post-norm.",
        ),
        numbers("0.3 2.0", "sum, row 1", lambda: of("sum", 0)),
        numbers("2.6702 0.3149", "sum, row 2", lambda: of("sum", 1)),
        numbers("1.5844 1.2926", "sum, row 3", lambda: of("sum", 2)),
        numbers(
            "[0.3, 2.0] → [-1, +1]", "LayerNorm, row 1", lambda: of("normed", 0), two, "", "-1, +1"
        ),
        numbers(
            "[2.6702, 0.3149] → [+1, -1]", "row 2", lambda: of("normed", 1), two, "", "+1, -1"
        ),
        numbers(
            "[1.5844, 1.2926] → [+1, -1]", "row 3", lambda: of("normed", 2), two, "", "+1, -1"
        ),
        numbers("-1 1 / 1 -1 / 1 -1", "Z, once more", lambda: of("normed"), two),
        given("W_1: 1 0 -1 / 0 1 1", "first matrix of the feed-forward layer"),
        given("W_2: 1 0.5 / 0 1 / 1 -1", "second matrix"),
        numbers(
            "ReLU([-1, 1, 0]) = [0, 1, 0]",
            "hidden units for [−1, 1], before and after the ReLU",
            lambda: [*(of("normed", 0) @ buy_milk.W_1), *of("hidden", 0)],
            ten,
            wrong_sign,
        ),
        numbers("FFN output [0, 1]", "what the layer gives for [−1, 1]", lambda: of("fed", 0), ten),
        numbers(
            "ReLU([1, -1, -2]) = [1, 0, 0]",
            "hidden units for [1, −1]",
            lambda: [*(of("normed", 2) @ buy_milk.W_1), *of("hidden", 2)],
            ten,
        ),
        numbers("FFN output [1, 0.5]", "for [1, −1]", lambda: of("fed", 2), ten),
        numbers("FFN(Z): 0 1", "row 1", lambda: of("fed", 0), ten),
        numbers("FFN(Z): 1 0.5", "row 2", lambda: of("fed", 1), ten),
        numbers("FFN(Z): 1 0.5", "row 3", lambda: of("fed", 2), ten),
        numbers("U: -1 2", "second sum, row 1", lambda: of("second sum", 0), ten),
        numbers("U: 2 -0.5", "row 2", lambda: of("second sum", 1), ten),
        numbers("U: 2 -0.5", "row 3", lambda: of("second sum", 2), ten),
        numbers(
            "H: -1 +1",
            "output, row 1",
            lambda: of("output", 0),
            ten,
            "The lost sign turns the row round.",
        ),
        numbers("H: +1 -1", "output, row 2", lambda: of("output", 1), ten),
        numbers("H: +1 -1", "output, row 3", lambda: of("output", 2), ten),
        given("W_out: 1 0 / 0 1 / -1 1", "rows for eggs, bread, now"),
        numbers("h_3 = [1, -1]", "the row of *and*", lambda: of("output", 2), ten),
        runs(
            "L_3 = h_3 W_out",
            "the logits are this product",
            _logits_product,
            "eq-unembed",
            "W_out has a row for each word: it must be transposed.",
        ),
        numbers("[1, -1, -2]", "logits", lambda: of("logits", 2), ten),
        runs(
            "the model predicts “eggs”",
            "the first word has the largest logit",
            lambda: {"eggs is largest": VOCABULARY[of("logits", 2).argmax()] == "eggs"},
            ten,
        ),
        runs(
            "a common item co-listed with milk",
            "eggs come because milk was read",
            _eggs_anyway,
            "exm-two-numbers 10",
            "LayerNorm leaves two rows to tell apart, and the rest of the layer sends both to the "
            "same place.",
        ),
        runs(
            "the same math would push the next token toward “charger”",
            "with a row for *laptop* the next word is another",
            _charger,
            ten,
            "The first word of the list comes, whatever it is called.",
        ),
        runs(
            "only the numbers … change",
            "the steps are the same for any sentence",
            lambda: {
                "the layer is a block of the library": tried.same(
                    ref.block(X, *buy_milk.block_parameters(), causal=True), of("output")
                )
            },
            "eq-block",
        ),
    ]


def _mainly_milk() -> Cases:
    weights = of("weights", 2)
    said = ", ".join(f"{w:.4f}" for w in weights)
    return {f"milk is the largest of {said}": bool(weights.argmax() == 1)}


def _leans() -> Cases:
    plain = steps(X, np.eye(2))["context"][2]
    doubled = of("context", 2)
    return {
        f"with it ({doubled[0]:.3f}, {doubled[1]:.3f})": bool(doubled[0] > doubled[1]),
        f"without it ({plain[0]:.3f}, {plain[1]:.3f}), no lean": bool(plain[0] < plain[1]),
    }


def _nudged() -> Cases:
    plain = VOCABULARY[steps(X, np.eye(2))["logits"][2].argmax()]
    return {f"without the doubling comes {plain}, not another word": plain != "eggs"}


def _is_pre_norm() -> Cases:
    block, post = buy_milk.block_parameters()
    pre = ref.block(X, block, replace(post, order="pre"), causal=True)
    return {"norms before the sublayers give these rows": tried.same(pre, of("output"))}


def _logits_product() -> Cases:
    h = of("output", 2)
    try:
        as_printed = tried.same(h @ buy_milk.W_OUT, (1, -1, -2), 1e-9)
    except ValueError:
        as_printed = False
    return {
        "as printed, (2) times (3, 2)": as_printed,
        "transposed": tried.same(h @ buy_milk.W_OUT.T, (1, -1, -2), 1e-9),
    }


def random_words(n: int = 1000) -> set[str]:
    """Return the next words after n texts of three random rows, at all places."""
    rows = np.random.default_rng(0).normal(size=(n, 3, 2))
    return {VOCABULARY[i] for x in rows for i in steps(x)["logits"].argmax(axis=-1)}


def _eggs_anyway() -> Cases:
    return {"of 1000 random texts some end in another word": random_words() != {"eggs"}}


def _charger() -> Cases:
    laptop = WORDS[:, ::-1] + POSITIONS  # "techness" in the other coordinate
    same = {VOCABULARY[i] for i in steps(laptop)["logits"].argmax(axis=-1)}
    return {
        "another row, the same list of words": same != {"eggs"},
        "the list renamed, charger first": VOCABULARY[of("logits", 2).argmax()] == VOCABULARY[0],
    }


DOCUMENT = Document(
    "Transformer ML",
    "Notes: components, objectives, costs, and one example to the end.",
    {
        "Formulas and program": _formulas(),
        "What is said": _words(),
        "Buy milk and: the words": _embeddings(),
        "Buy milk and: attention": _attention(),
        "Buy milk and: norms, feed-forward, next word": _rest(),
    },
)
