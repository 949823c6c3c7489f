"""*Understanding Transformer Architectures*: a blog post of December 2024."""

from __future__ import annotations

from tformer import reference as ref
from tformer_book.popular import post_listings, tried, tried_costs, tried_models
from tformer_book.popular.lines import Cases, Document, Line, cited, runs

CAT = (0.05, 0.82, 0.03, 0.01, 0.02, 0.07)


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
        runs(
            "three learned transformations: Query (Q), Key (K), and Value (V)",
            "of one input",
            tried.projections,
            "eq-projections",
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
            "Each word gets the same row; with a causal mask even that is not so.",
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
            "Many heads can be taken out at little loss {cite:p}`michel2019`.",
            "17",
        ),
    ]


def _why() -> list[Line]:
    return [
        runs(
            "Each token must wait for the previous one",
            "in a recurrent network or an LSTM",
            tried_costs.waiting,
            "16",
        ),
        runs(
            "Information from distant tokens gets diluted",
            "gradients vanish in RNNs and LSTMs",
            tried_costs.fading,
            "16",
        ),
        runs(
            "Fixed context",
            "a limit of recurrent networks",
            tried_costs.any_length,
            "16",
            "They read any length with a state of fixed size. It is the transformer whose context "
            "is fixed.",
        ),
        runs(
            "a single elegant idea",
            "attention solved it",
            tried_costs.attention_alone,
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
        runs("directly connect any two positions", "at any distance", tried.one_hop, "prop-paths"),
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
        runs(
            "O(n² · d)", "time of attention", tried_costs.feed_forward_costs, "prop-attention-cost"
        ),
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
            tried_costs.half_precision,
            "exm-half-precision",
            "The loss is scaled up, or small gradients are lost {cite:p}`micikevicius2018`.",
        ),
        cited(
            "Gradient checkpointing: … Activation recomputation",
            "two ways to save memory",
            "loose",
            "Two names for one.",
            "prop-kept prop-groups",
        ),
        cited("not batch norm", "LayerNorm", "agrees", "Over a row, not a batch.", "def-norms"),
        cited(
            "unstable to train",
            "transformers",
            "agrees",
            "With norms after the sums, without a warm-up {cite:p}`xiong2020`.",
            "14",
        ),
        cited("Handling 100K+ token sequences", "in research", "agrees", "So it was.", "16"),
        cited(
            "everything from ChatGPT to protein folding", "uses", "agrees", "{cite:p}`jumper2021`."
        ),
        cited(
            "Vision Transformers (ViT)", "patches as tokens", "agrees", "{cite:p}`dosovitskiy2021`."
        ),
        cited(
            "AlphaFold: Protein structure",
            "the same architecture",
            "loose",
            "Attention along the rows and the columns of an alignment, and among pairs of its "
            "places, in a design of its own {cite:p}`jumper2021`.",
        ),
        cited(
            "DALL-E: Image generation",
            "the same architecture",
            "loose",
            "Its first version {cite:p}`ramesh2021`.",
        ),
        cited(
            "Whisper: Speech recognition",
            "the same architecture",
            "agrees",
            "{cite:p}`radford2023`.",
        ),
    ]


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
        "no other does, with a causal mask": bool((causal[2:] == 0).all()),
        "no other does, without one": bool((free[2:] == 0).all()),
    }


def _ten_thousand() -> Cases:
    gigabytes = 4 * 10_000**2 / 1e9
    return {
        f"one table of float32 weights at n = 10,000: {gigabytes:.1f} GB a head": gigabytes > 0.1
    }


DOCUMENT = Document(
    "Understanding Transformer Architectures",
    "A blog post with listings in NumPy and torch.",
    {
        "Listings": post_listings.listings(),
        "A sentence, positions, heads": _weights(),
        "Why, and at what cost": _why(),
        "In practice": _practice(),
    },
    ("2024",),
)
