"""*Understanding Transformer Architectures*: a blog post of December 2024."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax as scipy_softmax

from tformer import reference as ref
from tformer.parameters import HeadParameters
from tformer.popular import tried, tried_models
from tformer.popular.lines import Cases, Document, Line, cited, given, numbers, runs

PAPER = (-0.5, -1.5, -0.5)
"""The powers of step, of the warm-up and of the width in the paper of 2017, equation 3."""
CAT = (0.05, 0.82, 0.03, 0.01, 0.02, 0.07)


def _listings() -> list[Line]:
    return [
        runs(
            "weights = softmax(scores)",
            "attention(Q, K, V) is attention",
            softmax_of_all,
            "eq-softmax",
            "`softmax` is never defined, and NumPy has none; SciPy's default takes one softmax over "
            "the whole table.",
        ),
        runs(
            "Q: Query matrix [seq_len, d_model]",
            "the shapes in the docstring",
            _docstring,
            "def-multi-head",
            "The next listing calls it with heads of width d_model / num_heads.",
        ),
        runs(
            "self.d_k = d_model // num_heads",
            "the listing of heads is a layer of heads",
            _heads_listing,
            "thm-sum-of-heads",
        ),
        runs(
            "# Split into multiple heads",
            "the input is split",
            _split,
            "eq-multi-head-attention",
            "Each head reads the whole input through matrices of its own.",
        ),
        given("10000.0", "base of the angles"),
        runs(
            "np.exp(np.arange(0, d_model, 2) * -(np.log(10000.0) / d_model))",
            "the listing of positions gives the sinusoids",
            tried_models.sinusoid_listing,
            "exm-position-listings",
            "An odd width has one sine more than cosines.",
        ),
        runs(
            "x = self.norm1(x + attn_output)",
            "the block: norms behind the sums",
            tried_models.norm_behind,
            "eq-block",
        ),
        runs(
            "x = self.norm1(x) / x = x + self.attention(x)",
            "this is pre-norm",
            tried_models.overwritten,
            "prop-unrolled eq-block",
            "The row itself is replaced by its norm, so what was in the stream is gone; pre-norm "
            "norms a copy.",
        ),
        runs(
            "Pre-norm is more stable than post-norm",
            "gradients are steadier",
            tried_models.stable_before,
            "thm-variance prop-one-layer-back",
            "At initialisation; {cite:p}`xiong2020` train both.",
        ),
        numbers(
            "step ** -0.5, warmup_steps ** -1.5, d_model ** -0.5",
            "the powers of the paper's schedule",
            lambda: PAPER,
            "14",
            "{cite:p}`vaswani2017`, section 5.3.",
        ),
        runs(
            "min(arg1, arg2), warmup_steps=4000",
            "up to step 4000, then down",
            tried_models.schedule,
            "14",
        ),
        runs(
            "max_norm=1.0",
            "the gradient's norm is cut to 1",
            _clipping,
            "14",
        ),
    ]


def _weights() -> list[Line]:
    return [
        runs(
            "0.05, 0.82, 0.03, 0.01, 0.02, 0.07 … High attention!",
            "weights of *it* on the first six of ten words",
            _sum_of_six,
            "exm-cat-weights",
            "The six add up to 1. So *tired*, which decides, gets next to nothing.",
        ),
        runs(
            "assign weights to all previous tokens",
            "*it* looks at the words before it",
            _previous,
            "def-mask eq-causal-mask",
            "At itself too; without a mask, at later words as well.",
        ),
        runs(
            "look at every other token",
            "in the sequence, simultaneously",
            tried.one_hop,
            "prop-paths",
        ),
        cited(
            "figure out what it refers to",
            "attention resolves the pronoun",
            "loose",
            "One head of a first layer cannot; two layers can.",
            "prop-only-pairs exm-change-of-query",
        ),
        cited(
            "What am I looking for? … What do I contain?",
            "what queries, keys and values are",
            "agrees",
            "As a picture.",
            "def-attention",
        ),
        runs(
            "prevents gradients from becoming too small",
            "the division by √d_k",
            tried.scaling_cures,
            "thm-jacobian-two-keys thm-aligned",
            "For scores of chance it does.",
        ),
        runs(
            "would be treated identically",
            "*Dog bites man* and *Man bites dog*, without positions",
            tried.dog_bites_man,
            "thm-equivariance thm-counting",
            "Each word gets the same row; behind a causal mask even that is not so.",
        ),
        runs(
            "no inherent notion of position",
            "attention",
            tried.order_without_positions,
            "thm-counting",
        ),
        runs(
            "PE(pos + k) can be represented as a linear function",
            "of PE(pos)",
            tried_models.shift_is_linear,
            "thm-sinusoidal-shift",
        ),
        runs(
            "allow the model to learn relative positions",
            "sinusoids",
            tried_models.relative_and_absolute,
            "thm-sinusoidal-shift eq-four-parts",
        ),
        cited(
            "Single attention heads can miss nuances",
            "one head keeps one preference",
            "agrees",
            "Read linearly; a reader that bends can recover two.",
            "thm-one-answer prop-mixture-read",
        ),
        cited(
            "Head 1: … Head 2: … Head 3: Might focus",
            "on syntax, meanings, nearby words",
            "agrees",
            "“Might”: heads for syntax, for neighbours and for rare words were found "
            "{cite:p}`voita2019`.",
            "17",
        ),
        cited(
            "each learning different patterns",
            "heads in parallel",
            "loose",
            "Many heads can be taken out at no loss {cite:p}`michel2019`.",
            "17",
        ),
    ]


def _why() -> list[Line]:
    return [
        runs(
            "Each token must wait for the previous one",
            "in a recurrent network",
            tried_models.recurrence,
            "16",
        ),
        runs(
            "Information from distant tokens gets diluted",
            "gradients vanish in RNNs and LSTMs",
            tried_models.fading,
            "12",
        ),
        runs(
            "Fixed context",
            "a limit of recurrent networks",
            tried_models.any_length,
            "16",
            "They read any length with a state of fixed size. It is the transformer whose context "
            "is fixed.",
        ),
        runs(
            "a single elegant idea",
            "attention solved it",
            tried_models.attention_alone,
            "prop-share",
        ),
        runs(
            "two linear layers with ReLU",
            "the feed-forward network",
            tried_models.feed_forward_by_hand,
            "eq-feed-forward",
        ),
        runs(
            "all positions are processed simultaneously",
            "unlike in RNNs",
            tried_models.in_parallel,
            "thm-one-pass",
        ),
        runs(
            "directly connect any two positions", "at any distance", tried.one_hop, "prop-paths"
        ),
        runs(
            "No more vanishing gradients over long sequences",
            "thanks to attention",
            tried.no_vanishing,
            "thm-saturation",
        ),
        runs(
            "Attention weights are interpretable",
            "they say what the model uses",
            tried.readable,
            "thm-two-matrices",
            "Disputed since {cite:p}`jain2019`; a weight says nothing of the value "
            "{cite:p}`kobayashi2020`.",
        ),
        cited(
            "GPT-3 uses the same fundamental structure",
            "as smaller models",
            "loose",
            "As GPT-2, but every other layer looks at a band only {cite:p}`brown2020`.",
        ),
        runs("O(n² · d)", "time of attention", tried_models.feed_forward_costs, "prop-attention-cost"),
        runs(
            "O(n²) for storing attention weights",
            "space",
            tried.quadratic_twice,
            "prop-attention-cost",
        ),
        runs(
            "n > 10,000",
            "long sequences, at which this becomes problematic",
            _ten_thousand,
            "prop-attention-cost",
        ),
        runs("Only attend to nearby tokens", "sparse attention", tried.nearby_only, "exm-global"),
        runs(
            "Approximate attention with linear complexity",
            "linear attention",
            tried.linear_attention,
            "16",
            "It is another function, trained as such {cite:p}`katharopoulos2020`.",
        ),
        runs(
            "Memory-efficient implementation of exact attention",
            "flash attention",
            tried.exact_without_table,
            "16",
            "{cite:p}`dao2022`.",
        ),
        runs(
            "just attention, normalization, and feed-forward layers",
            "what a transformer is",
            tried_models.depth_without_residuals,
            "thm-melt",
            "Without residual connections rows become one row.",
        ),
        runs(
            "any data that can be tokenized",
            "can be processed by transformers",
            tried_models.same_block_everywhere,
            "21",
        ),
    ]


def _practice() -> list[Line]:
    return [
        runs(
            "Use FP16 for forward/backward, FP32 for updates",
            "mixed precision",
            tried_models.half_precision,
            "exm-half-precision",
            "The loss is scaled up, or small gradients are lost {cite:p}`micikevicius2018`.",
        ),
        cited(
            "Gradient checkpointing: … Activation recomputation",
            "two ways to save memory",
            "loose",
            "Two names for one.",
            "12",
        ),
        cited("not batch norm", "LayerNorm", "agrees", "Over a row, not a batch.", "def-norms"),
        cited("unstable to train", "transformers", "agrees", "{cite:p}`xiong2020`.", "14"),
        cited("Handling 100K+ token sequences", "in research", "agrees", "So it was.", "16"),
        cited("everything from ChatGPT to protein folding", "uses", "agrees", "{cite:p}`jumper2021`."),
        cited("Vision Transformers (ViT)", "patches as tokens", "agrees", "{cite:p}`dosovitskiy2021`."),
        cited("AlphaFold: Protein structure", "the same architecture", "loose",
              "Attention over pairs and rows in a design of its own {cite:p}`jumper2021`."),
        cited("DALL-E: Image generation", "the same architecture", "loose",
              "Its first version {cite:p}`ramesh2021`."),
        cited("Whisper: Speech recognition", "the same architecture", "agrees",
              "{cite:p}`radford2023`."),
    ]


def softmax_of_all() -> Cases:
    """The listing with a softmax over rows, and with SciPy's as it is called."""
    q, k, v = tried.rng().normal(size=(3, 5, 8))
    scores = q @ k.T / np.sqrt(8)
    rows = scipy_softmax(scores, axis=-1) @ v
    whole = scipy_softmax(scores)
    least, most = whole.sum(axis=-1).min(), whole.sum(axis=-1).max()
    return {
        "with a softmax over each row it is attention": tried.same(rows, ref.attention(q, k, v)),
        f"with SciPy's, as called (rows then sum to {least:.2f} to {most:.2f})": tried.same(
            whole @ v, ref.attention(q, k, v)
        ),
    }


def _docstring() -> Cases:
    x, p = tried.words(), tried.heads(2)
    width = (x @ p.w_q[0]).shape[-1]
    return {
        "a single head of full width": (x @ tried.heads(1).w_q[0]).shape == x.shape,
        f"two heads: {width}, not {x.shape[-1]}": width == x.shape[-1],
    }


class _Heads:
    """Heads with matrices of their own, concatenated, and one last matrix."""

    def __init__(self, width: int, n_heads: int):
        rng = tried.rng()
        size = width // n_heads
        self.inputs = rng.normal(size=(n_heads, 3, width, size)) / np.sqrt(width)
        self.last = rng.normal(size=(n_heads * size, width)) / np.sqrt(width)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        outputs = [tried.by_hand(*(x @ w for w in ws)) for ws in self.inputs]
        return np.concatenate(outputs, axis=-1) @ self.last


def _heads_listing() -> Cases:
    x, layer = tried.words(), _Heads(8, 4)
    w_q, w_k, w_v = layer.inputs.swapaxes(0, 1)
    p = HeadParameters(w_q, w_k, w_v, layer.last.reshape(4, 2, 8))
    return {
        "it is the library's layer of heads": tried.same(layer(x), ref.multi_head_attention(x, p)),
        "at widths that do not divide too (8 by 3 keeps 6 of 8 numbers)": _Heads(8, 3).last.shape[0]
        == 8,
    }


def _split() -> Cases:
    p = tried.heads(4)
    return {"a head sees a part of the row only": p.w_q.shape[1] < 8}


def _clipping() -> Cases:
    import torch

    held = {}
    for name, size in (("a gradient of norm 5", 5.0), ("one of norm 0.5 stays", 0.5)):
        weight = torch.nn.Parameter(torch.zeros(4))
        weight.grad = torch.tensor([size, 0.0, 0.0, 0.0])
        torch.nn.utils.clip_grad_norm_([weight], max_norm=1.0)
        held[name] = abs(float(weight.grad.norm()) - min(size, 1.0)) < 1e-5
    return held


def _sum_of_six() -> Cases:
    return {
        f"they add up to {sum(CAT):.2f} and can be rounded weights": sum(CAT) <= 1 + 6 * 0.005,
        "they leave more than 0.03 for the other four": 1 - sum(CAT) + 6 * 0.005 > 0.03 + 1e-9,
    }


def _previous() -> Cases:
    x, p = tried.words(), tried.heads()
    causal, free = (ref.multi_head_weights(x, p, causal=c)[0, 2] for c in (True, False))
    return {
        "earlier words get weights": bool((causal[:2] > 0).all()),
        "no other does, behind a causal mask": bool((causal[2:] == 0).all()),
        "no other does, without one": bool((free[2:] == 0).all()),
    }


def _ten_thousand() -> Cases:
    gigabytes = 4 * 10_000**2 / 1e9
    return {f"one table of float32 weights at n = 10,000: {gigabytes:.1f} GB a head": gigabytes > 0.1}


DOCUMENT = Document(
    "Understanding Transformer Architectures",
    "A blog post with listings in NumPy and torch.",
    {
        "Listings": _listings(),
        "A sentence, positions, heads": _weights(),
        "Why, and at what cost": _why(),
        "In practice": _practice(),
    },
    ("2024", "100"),
)
