"""*The Transformer Architecture: A Mathematical Introduction*: the page of a seminar."""

from __future__ import annotations

from functools import partial

import numpy as np

from tformer import reference as ref
from tformer_book.popular import tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases, Document, Line, cited, given, numbers, runs
from tformer_book.world.sources import THREE_TOKENS

RIGHT = THREE_TOKENS.right()
PUBLISHED = {"N": 0.076, "D": 0.095, "C": 0.050}
"""The exponents of the first scaling laws, for parameters, data, and compute spent well."""
FLOPS = {
    "big": 2.3e19,
    "best before, English to German": 7.7e19,
    "best before, English to French": 1.2e21,
}
"""Training costs in the second table of the paper of 2017."""


def _row(table: str, row: int) -> np.ndarray:
    return RIGHT[table][row]


def _formulas() -> list[Line]:
    return [
        runs(
            "softmax(QK^⊤/√d_k)V",
            "attention; printed three times",
            tried.formula,
            "eq-attention",
        ),
        runs("Q = XW^Q, K = XW^K, V = XW^V", "one input", tried.projections, "eq-projections"),
        runs(
            "e_{ij} = q_i · k_j / √d_k",
            "a score is a scaled dot product",
            _scores,
            "eq-attention-weights prop-table-of-dots",
        ),
        runs(
            "Var(q · k) = d_k",
            "independent coordinates of mean 0 and variance 1",
            tried.scaling_variance,
            "thm-dot-variance cor-scaled-variance",
        ),
        runs("α_{ij} = exp(e_{ij}) / Σ exp(e_{ik})", "softmax", tried.softmax_rows, "eq-softmax"),
        runs("output_i = Σ α_{ij} v_j", "a weighted sum", tried.weighted_sum, "thm-convex-hull"),
        runs("Concat(head_1, …, head_h)W^O", "heads", tried.heads_side_by_side, "thm-sum-of-heads"),
        runs(
            "softmax((QK^⊤ + M)/√d_k)V",
            "the mask is added before the division",
            tried.mask_inside_the_scale,
            "eq-to-additive thm-fill",
            "With −∞ the place does not matter; a finite number there would be divided too.",
        ),
        runs(
            "x_i = E[token_i]",
            "a row of a table for each word",
            tried_models.lookup,
            "eq-embedding",
        ),
        runs(
            "sin(pos/10000^{2i/d}), cos(pos/10000^{2i/d})",
            "sinusoidal encoding",
            tried_models.sinusoids,
            "eq-sinusoidal",
        ),
        runs(
            "γ ⊙ (x − μ)/σ + β",
            "LayerNorm",
            tried_models.layer_norm_formula,
            "eq-layer-norm",
            "Every program adds a small number to σ².",
        ),
        runs(
            "LayerNorm(x + Sublayer(x))",
            "the norm stands after the sum",
            tried_models.norm_after,
            "eq-block",
            "As in 2017; most models since GPT-2 have it before {cite:p}`radford2019,xiong2020`.",
        ),
        runs(
            "W_2 · ReLU(W_1 x + b_1) + b_2",
            "feed-forward layer, columns for rows",
            tried_models.feed_forward_by_hand,
            "eq-feed-forward",
        ),
        given("h_t = tanh(W_{hh}h_{t−1} + W_{xh}x_t + b)", "what a recurrent network does"),
    ]


def _example() -> list[Line]:
    see = "exm-three-tokens"
    estimate = "No scale gives the printed row: its middle score is half of the larger."
    follows = "As the printed weights have it."
    tables = (
        ("QKᵀ", "dots", ("0 4 2", "4 0 2", "2 2 2")),
        ("QKᵀ/√2", "scores", ("0 2.83 1.41", "2.83 0 1.41", "1.41 1.41 1.41")),
        ("weights", "weights", ("0.05 0.78 0.17", "0.78 0.05 0.17", "0.33 0.33 0.33")),
        ("output", "outputs", ("0.27 1.0", "1.73 1.0", "1.0 1.0")),
    )
    why = {("weights", 0): estimate, ("weights", 1): estimate} | {
        ("outputs", 0): follows,
        ("outputs", 1): follows,
    }
    vectors = ((THREE_TOKENS.q, "Q"), (THREE_TOKENS.k, "K"), (THREE_TOKENS.v, "V"))
    printed = ("2 0 / 0 2 / 1 1", "0 2 / 2 0 / 1 1", "2 1 / 0 1 / 1 1")
    return [
        given("n = 3, d = 4, d_k = d_v = 2", "the sizes"),
        given("X: 1 0 1 0 / 0 1 0 1 / 1 1 0 0", "three tokens"),
        given("W^Q: 1 0 / 0 1 / 1 0 / 0 1", "queries"),
        given("W^K: 0 1 / 1 0 / 0 1 / 1 0", "keys"),
        given("W^V: 1 1 / 0 0 / 1 0 / 0 1", "values"),
        *[
            numbers(text, name, partial(np.copy, table), see)
            for (table, name), text in zip(vectors, printed, strict=True)
        ],
        *[
            numbers(
                text,
                f"{name}, row {i + 1}",
                partial(_row, table, i),
                see,
                why.get((table, i), ""),
            )
            for name, table, rows in tables
            for i, text in enumerate(rows)
        ],
        numbers("mostly to B (0.78)", "A's weight on B", lambda: _row("weights", 0)[1], see),
        numbers("B to A (0.78)", "B's weight on A", lambda: _row("weights", 1)[0], see),
        runs(
            "attends mostly to B",
            "the largest weight of A is on B, and of B on A",
            lambda: {
                "A looks most at B, and B at A": _row("weights", 0).argmax() == 1
                and _row("weights", 1).argmax() == 0
            },
            see,
        ),
        runs(
            "C equally to all",
            "three weights of a third",
            lambda: {"all three are 1/3": tried.same(_row("weights", 2), np.full(3, 1 / 3))},
            see,
        ),
        runs(
            "dominated by B's value",
            "most of A's output is B's value, whose key fits best",
            lambda: {
                "the largest weight stands at the largest dot product": _row("weights", 0).argmax()
                == _row("dots", 0).argmax()
            },
            see,
        ),
    ]


def _words() -> list[Line]:
    return [
        runs(
            "purely attention-based mechanism",
            "attention is what a transformer is made of",
            tried_costs.attention_alone,
            "prop-share",
        ),
        runs(
            "maps sequences to sequences",
            "a row for each word, at any length",
            tried_models.same_block_everywhere,
            "eq-encoder",
        ),
        runs(
            "no inherent notion of sequential order",
            "positions must be told",
            tried.order_without_positions,
            "thm-equivariance thm-counting",
            "A causal mask tells order.",
        ),
        runs(
            "a weighted average of all other elements",
            "the average leaves the word itself out",
            tried.average_of_others,
            "thm-convex-hull",
        ),
        runs(
            "soft, differentiable version of database lookup",
            "sharper scores, harder lookup",
            tried.soft_lookup,
            "thm-hard-lookup",
        ),
        runs(
            "entirely composed of differentiable operations",
            "attention can be trained by gradients",
            _differentiable,
            "thm-attention-vjp",
        ),
        runs(
            "Computing h_t requires h_{t−1}",
            "recurrence cannot be parallel",
            tried_costs.recurrence,
            "16",
            "It is the bend that forces the wait; linear recurrences are computed at once.",
        ),
        runs(
            "leading to vanishing gradients",
            "what passes many steps fades",
            tried_costs.fading,
            "16",
            "Gates were invented against it.",
        ),
        runs(
            "computes attention for all positions at once",
            "fully parallel",
            tried_models.in_parallel,
            "thm-one-pass",
            "In training and in reading, not in writing.",
        ),
        runs(
            "O(n^2d) total operations",
            "the cost of a transformer",
            tried_costs.looking_alone,
            "prop-share prop-attention-cost",
            "That is the cost of looking alone.",
        ),
        cited(
            "O(n) sequential operations, each O(d^2)",
            "the cost of a recurrent network",
            "agrees",
            "A step multiplies with tables of width d.",
            "16",
        ),
        runs(
            "a learnable weighted average",
            "softmax-normalised dot products",
            tried.weighted_sum,
            "thm-convex-hull",
        ),
        given("The cat sat on the mat because it was soft", "a drawing to click, without numbers"),
    ]


def _world() -> list[Line]:
    return [
        cited("2014", "Bahdanau et al. introduce attention", "agrees", "{cite:p}`bahdanau2015`."),
        cited(
            "2017",
            "recurrence is left out entirely",
            "agrees",
            "{cite:p}`vaswani2017`.",
            "eq-block",
        ),
        runs(
            "100× less training time",
            "than the best models before it",
            _hundredfold,
            "16",
            "Ratios of training costs in the paper's second table {cite:p}`vaswani2017`.",
        ),
        cited(
            "Modern variants often use only encoder (BERT) or decoder (GPT)",
            "the original has both",
            "agrees",
            "{cite:p}`vaswani2017,devlin2019,radford2018`.",
            "def-architectures prop-one-stack",
        ),
        cited(
            "2018",
            "BERT and GPT",
            "agrees",
            "{cite:p}`devlin2019,radford2018`.",
            "def-architectures",
        ),
        cited("2020", "Vision Transformers", "agrees", "{cite:p}`dosovitskiy2021`.", "21"),
        cited(
            "hundreds of billions of parameters",
            "the size of GPT-4, Claude and Gemini",
            "loose",
            "GPT-4's report gives no size {cite:p}`openai2023`; nor do those of the other two.",
        ),
        cited(
            "trained on trillions of tokens",
            "the same three, decoder-only",
            "loose",
            "Not disclosed {cite:p}`openai2023`; known of open models such as Llama "
            "{cite:p}`touvron2023`.",
        ),
        cited(
            "emergent reasoning",
            "abilities appear with scale",
            "loose",
            "Whether they appear suddenly depends on the measure {cite:p}`schaeffer2023`.",
            "20",
        ),
        cited(
            "matching or exceeding CNNs",
            "Vision Transformers",
            "loose",
            "After pretraining on 14 million images or more; on ImageNet alone they stay below "
            "{cite:p}`dosovitskiy2021`.",
            "21",
        ),
        cited(
            "DALL-E, Stable Diffusion use Transformer-based",
            "image generators",
            "loose",
            "DALL-E's first version is one {cite:p}`ramesh2021`. Stable Diffusion was a "
            "convolutional U-Net with cross-attention {cite:p}`rombach2022`, and became a "
            "transformer in its third version {cite:p}`esser2024`.",
            "21",
        ),
        cited(
            "AlphaFold 2 uses attention",
            "to predict structures",
            "agrees",
            "{cite:p}`jumper2021`.",
            "21",
        ),
        cited(
            "Whisper, AudioLM",
            "audio as a sequence",
            "agrees",
            "{cite:p}`radford2023,borsos2023`.",
            "21",
        ),
        cited("Codex, Copilot", "models of code", "agrees", "{cite:p}`chen2021`."),
        numbers(
            "N^{-0.076}", "loss against parameters", lambda: PUBLISHED["N"], "20", _law(), "0.076"
        ),
        numbers("D^{-0.095}", "against data", lambda: PUBLISHED["D"], "20", _law(), "0.095"),
        numbers(
            "C^{-0.050}",
            "against compute",
            lambda: PUBLISHED["C"],
            "20",
            _law() + " This one holds for compute spent in the best way.",
            "0.050",
        ),
        cited(
            "predictable power laws",
            "one law for all",
            "loose",
            "A later fit has other exponents and a floor that no model passes "
            "{cite:p}`hoffmann2022`.",
            "20",
        ),
    ]


def _law() -> str:
    return "As published {cite:p}`kaplan2020`."


def _scores() -> Cases:
    q, k, _ = tried.rng().normal(size=(3, 5, 8))
    scores = np.array([[a @ b / np.sqrt(8) for b in k] for a in q])
    return {
        "entry by entry, and then softmax": tried.same(
            ref.softmax(scores), ref.attention_weights(q, k)
        )
    }


def _differentiable() -> Cases:
    q, k, v, grad = tried.rng().normal(size=(4, 5, 8))
    step = 1e-6
    first = ref.attention_vjp(q, k, v, grad)[0][0, 0]
    moved = [
        ref.attention(q + sign * step * np.eye(5, 8, 0) * (np.arange(5) == 0)[:, None], k, v)
        for sign in (1, -1)
    ]
    slope = ((moved[0] - moved[1]) * grad).sum() / (2 * step)
    return {"its gradient is the slope that small steps measure": tried.same(first, slope, 1e-6)}


def _hundredfold() -> Cases:
    ratios = {name: cost / FLOPS["big"] for name, cost in FLOPS.items() if name != "big"}
    return {f"{name}: {ratio:.1f} times less": ratio >= 100 for name, ratio in ratios.items()}


DOCUMENT = Document(
    "The Transformer Architecture: A Mathematical Introduction",
    "A page by Nir Naim for a seminar at Tel Aviv University: history, formulas, one example.",
    {
        "Formulas": _formulas(),
        "The worked example": _example(),
        "What is said": _words(),
        "History, uses, laws": _world(),
    },
    ("2022",),
)
