"""*Transformers*: a page of a collection of algorithms, with a diagram and a listing in PyTorch."""

from __future__ import annotations

import numpy as np
import torch

from tformer import fast
from tformer import reference as ref
from tformer_book.popular import tried, tried_models
from tformer_book.popular.lines import Cases, Document, Line, cited, given, runs


def _formulas() -> list[Line]:
    return [
        runs("Q = X W_Q, K = X W_K, V = X W_V", "projections", tried.projections, "eq-projections"),
        runs("softmax(QK^T/√d_k)V", "attention", tried.formula, "eq-attention"),
        runs(
            "Concat(head_1, …, head_h)W^O, head_i = Attention(QW_i^Q, KW_i^K, VW_i^V)",
            "heads",
            tried.heads_side_by_side,
            "thm-sum-of-heads",
            "In self-attention its Q, K and V are the words themselves.",
        ),
        runs(
            "a mask sets scores for future positions to -∞",
            "before the softmax",
            tried.mask_is_added,
            "thm-conditioning",
        ),
        runs(
            "keeps the softmax from saturating",
            "the division by √d_k, where vectors are wide",
            tried.scaling_cures,
            "cor-entropy-scales thm-aligned",
        ),
        runs("N×N matrix", "of weights, for N words", tried.quadratic, "prop-attention-cost"),
        runs(
            "O(N^2)",
            "compute, which limits the context; printed twice",
            tried.quadratic_twice,
            "prop-attention-cost",
        ),
    ]


def _listing() -> list[Line]:
    return [
        runs(
            "def self_attention(x, d_k=8)",
            "the function is self-attention",
            listing_is_attention,
            "exm-torch-listing",
        ),
        runs(
            "W_q = torch.randn(8, d_k)",
            "projection matrices, initialised",
            draws_again,
            "exm-torch-listing",
            "They are drawn in every call: nothing could be trained.",
        ),
        runs(
            "scores / (d_k ** 0.5)",
            "this keeps the softmax from saturating",
            saturates,
            "thm-random-matrices cor-scaled-variance",
            "Entries of variance 1 make scores of variance d² even so; they should have 1/d.",
        ),
        runs(
            "[3, 8], [3, d_k]",
            "shapes in the comments",
            _shapes,
            "eq-row-vector",
        ),
        given("AI is cool", "three words, drawn at random"),
        runs(
            "how much each token attends to others",
            "the printed rows",
            tried.softmax_rows,
            "eq-softmax",
            "And to itself.",
        ),
    ]


def _diagram() -> list[Line]:
    return [
        runs(
            "it → animal 48%, tired 28%, street 8%",
            "what *it* looks at in *… because it was tired*",
            _diagram_weights,
            "prop-only-pairs exm-change-of-query",
            "No model is named. In one head of a first layer these two weights keep their ratio "
            "whatever the last word is.",
        ),
        cited(
            "should borrow heavily from animal",
            "where the street would be too wide, from *street*",
            "loose",
            "Two layers do it, or a vote; one head of a first layer does not.",
            "prop-only-pairs exm-answer-by-votes exm-change-of-query",
        ),
        runs(
            "each token creates scores against other tokens",
            "and averages their values",
            tried.average_of_others,
            "thm-convex-hull",
            "Itself included.",
        ),
        runs(
            "from the most relevant ones",
            "a new row is built",
            tried.most_relevant_only,
            "exm-softmax-by-hand",
            "From all of them, in shares.",
        ),
        cited(
            "One head can track pronouns, another … syntactic roles",
            "what heads do",
            "agrees",
            "“Can”: such heads were found {cite:p}`voita2019`.",
            "17",
        ),
        cited(
            "learns these heads from data",
            "without grammar rules",
            "agrees",
            "{cite:p}`voita2019`.",
            "17",
        ),
        runs(
            "computing vector similarity with all other tokens, regardless of distance",
            "contextual rows",
            tried.one_hop,
            "prop-paths",
        ),
    ]


def _words() -> list[Line]:
    return [
        cited(
            "replace recurrence with attention", "what is new", "agrees", "{cite:p}`vaswani2017`."
        ),
        runs(
            "encoders, tokens can attend bidirectionally",
            "and causally in decoders",
            tried.masked_future,
            "thm-causal",
        ),
        runs(
            "direct paths between distant positions",
            "self-attention creates",
            tried.one_hop,
            "prop-paths",
        ),
        runs(
            "without information decay",
            "over thousands of words",
            tried.no_decay,
            "prop-disperses",
            "Distance costs nothing; company does.",
        ),
        runs(
            "Processes sequences all at once",
            "in parallel on thousands of GPUs; printed twice",
            tried_models.in_parallel,
            "thm-one-pass",
            "In training and in reading, not in writing.",
        ),
        runs(
            "they require manual positional encodings",
            "to know word order",
            tried.order_without_positions,
            "thm-counting",
            "With a causal mask order is known without; and encodings may be learned.",
        ),
        cited(
            "requiring huge datasets to train from scratch",
            "for want of the CNN's assumptions",
            "loose",
            "Of Vision Transformers {cite:p}`dosovitskiy2021`; with strong augmentation ImageNet "
            "suffices {cite:p}`touvron2021`.",
            "21",
        ),
        cited(
            "vision (Vision Transformers), audio, and biological structures (AlphaFold)",
            "where else",
            "agrees",
            "{cite:p}`dosovitskiy2021,radford2023,jumper2021`.",
            "21",
        ),
        runs(
            "can be represented as scaled dot-product attention weights",
            "relations in a context; an assumption",
            _second_order,
            "thm-bilinear-rank thm-one-answer",
            "One head says what two words have to do with each other; a third needs another layer.",
        ),
        cited(
            "Sequence token order is encoded via positional variables",
            "an assumption",
            "agrees",
            "Or by the mask.",
            "thm-counting",
        ),
        cited(
            "pp. 5998-6008",
            "where the paper of 2017 stands",
            "agrees",
            "{cite:p}`vaswani2017`, NIPS 30; the conference was renamed a year later.",
        ),
    ]


def run_listing(x: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return output and weights as the listing has them: fresh Gaussian projections every call."""
    w_q, w_k, w_v = (torch.randn(8, 8, generator=generator) for _ in range(3))
    scores = (x @ w_q) @ (x @ w_k).T / 8**0.5
    weights = torch.softmax(scores, dim=-1)
    return weights @ (x @ w_v), weights


def listing_is_attention() -> Cases:
    """The listing's output against the library's attention with the same draws."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 8, generator=generator)
    state = generator.get_state()
    output, _ = run_listing(x, generator)
    generator.set_state(state)
    q, k, v = (x @ torch.randn(8, 8, generator=generator) for _ in range(3))
    return {
        "with the same draws it is the library's attention": bool(
            (output - fast.attention(q, k, v)).abs().max() < 1e-3
        )
    }


def draws_again() -> Cases:
    """The same words, given twice."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, 8, generator=generator)
    first, second = (run_listing(x, generator)[1] for _ in range(2))
    return {"the same words have the same weights in the next call": torch.equal(first, second)}


def saturates() -> Cases:
    """The mean largest weight over many calls, as listed and with entries of variance 1/8."""
    generator = torch.Generator().manual_seed(0)
    listed, usual = [], []
    for _ in range(400):
        x = torch.randn(3, 8, generator=generator)
        listed.append(float(run_listing(x, generator)[1].max(dim=-1).values.mean()))
        q, k = (x @ torch.randn(8, 8, generator=generator) / 8**0.5 for _ in range(2))
        usual.append(float(fast.attention_weights(q, k).max(dim=-1).values.mean()))
    as_listed, scaled = float(np.mean(listed)), float(np.mean(usual))
    return {
        f"as listed (largest of three weights {as_listed:.2f} in the mean)": as_listed < 0.8,
        f"with entries of variance 1/8 ({scaled:.2f})": scaled < 0.8,
    }


def _shapes() -> Cases:
    output, weights = run_listing(torch.ones(3, 8), torch.Generator().manual_seed(0))
    return {"outputs (3, 8), weights (3, 3)": output.shape == (3, 8) and weights.shape == (3, 3)}


def _diagram_weights() -> Cases:
    weights = np.array([0.48, 0.28, 0.08])
    last = {name: tried.rng().normal(size=8) * i for i, name in enumerate(("tired", "wide"), 1)}
    rows, p = tried.words(4), tried.heads(1)
    ratios = []
    for row in last.values():
        looked = ref.multi_head_weights(np.vstack([rows[:3], row]), p)[0, 2]
        ratios.append(looked[0] / looked[1])
    return {
        f"they can be one row: {weights.sum():.0%}, and the rest for other words": weights.sum()
        <= 1,
        "in a first layer another last word changes *animal* to *street*": abs(
            ratios[0] - ratios[1]
        )
        > 1e-9,
    }


def _second_order() -> Cases:
    rows, p = tried.words(4), tried.heads(1)
    other = np.vstack([rows[:3], -rows[3:]])
    first, second = (ref.multi_head_weights(x, p)[0, 0] for x in (rows, other))
    return {
        "of two words, through their rows": not tried.same(first[3], second[3]),
        "of two words as a third decides": not tried.same(
            first[1] / first[2], second[1] / second[2]
        ),
    }


DOCUMENT = Document(
    "Transformers",
    "A page of a collection of algorithms: formulas, a diagram, a listing in PyTorch.",
    {
        "Formulas": _formulas(),
        "The listing": _listing(),
        "The sentence and the diagram": _diagram(),
        "What is said": _words(),
    },
    ("2017",),
)
