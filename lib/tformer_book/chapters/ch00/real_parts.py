"""The arrays of the real model: shapes and parameters by its sizes, and what the book has shown.

What is said of an array, in all blocks or in some, is built so, was measured on a page of the book,
or is not known. A test compares every number of these texts with what was measured.
"""

from __future__ import annotations

from math import prod
from typing import Any

from tformer.models.known import SMOL
from tformer_book.chapters.ch00.view_parts import BUILT, MEASURED, UNKNOWN

__all__ = ["GROUPS", "PARTS", "Part", "total"]

Part = dict[str, Any]
GROUPS = ("Text", "Block", "End")
N, D, F, L = SMOL.n_vocab, SMOL.d_model, SMOL.d_ff, SMOL.n_layers
H, G, WIDTH = SMOL.n_heads, SMOL.groups, SMOL.head_width
ALL = (0, L - 1)
DEEPER = "17_heads_deeper.html#"
RESIDUAL = "08_residual_stream.html#"

LEFT_OUT = (
    8.40, 3.15, 1.00, 0.10, 0.15, 0.10, 0.25, 0.20, 0.90, 0.22, 0.37, 1.77, 0.19, 0.24,
    0.16, 0.18, 0.15, 0.08, 0.18, 0.21, 0.15, 0.22, 0.23, 0.25, 0.47, 0.17, 0.18, 0.32,
    1.07, 1.55,
)  # fmt: skip
"""The mean rise of the loss on four passages without each block, from chapter 17's deeper page."""

Said = tuple[tuple[int, int], str, str, str]
"""First and last block of which it is said, the status, the text, and where it was shown."""


def _patterns(first: int, last: int, rise: str) -> Said:
    said = f"With other patterns in blocks {first} to {last}, the loss rises by {rise}."
    return (first, last), MEASURED, said, f"{DEEPER}exm-patterns"


def _left_out(block: int) -> Said:
    cost = LEFT_OUT[block]
    said = f"Without block {block} the loss on four passages rises by {cost:.2f} nats a token."
    return (block, block), MEASURED, said, f"{DEEPER}exm-left-out"


NORM: list[Said] = [
    (
        ALL,
        MEASURED,
        "LayerNorm in place of all these norms costs little: the loss goes from 2.82 to 2.86.",
        f"{RESIDUAL}fig-mistakes",
    )
]
SHARED: list[Said] = [
    (ALL, BUILT, f"{H // G} heads share one head of keys and values.", "06_many_heads.html")
]
WEIGHTS: list[Said] = [
    _patterns(0, 9, "more than 3.2 nats (means of other texts, or even weights)"),
    _patterns(10, 19, "less than 1.0 nats (means of other texts) or more than 1.5 (even weights)"),
    _patterns(20, 29, "0.3 to 0.6 nats (means of other texts) or more than 0.8 (even weights)"),
    (
        (12, 29),
        MEASURED,
        "An attention sink: in three texts the first token has a mean weight above 0.35.",
        f"{DEEPER}exm-sink",
    ),
    (
        (16, 16),
        MEASURED,
        "Head 0 attends to the previous token, score 0.90. Without it, most of what a repeat of "
        "random words saves is lost.",
        f"{DEEPER}fig-induction",
    ),
    (
        (11, 11),
        MEASURED,
        "Head 1 attends to the previous token, score 0.89. Without it a repeat of random words "
        "costs only 0.18 nats more.",
        f"{DEEPER}fig-induction",
    ),
    (
        (1, 1),
        MEASURED,
        "Head 2 attends to the previous token, score 0.82. Without it a repeat of random words "
        "costs only 0.41 nats more.",
        f"{DEEPER}fig-induction",
    ),
    (
        (17, 18),
        MEASURED,
        "Induction heads: 17.3, 17.4, 18.6 and 18.7. Without them, four fifths of what a repeat of "
        "random words saves are lost.",
        f"{DEEPER}fig-induction",
    ),
]
WRITTEN: list[Said] = [
    (ALL, UNKNOWN, "What each head writes. The book has split this sum only in a small model.",
     f"{DEEPER}exm-own-part"),
]  # fmt: skip
UNITS: list[Said] = [(ALL, UNKNOWN, f"What one of the {F:,} hidden units does.", "")]
FED: list[Said] = [
    ((0, 9), UNKNOWN, "What is written into which number.", ""),
    (
        (10, 10),
        MEASURED,
        "If it adds nothing to the first token, the loss changes by less than 0.02.",
        f"{DEEPER}exm-parked",
    ),
    (
        (11, 11),
        MEASURED,
        "It makes the sink. If it adds nothing to the first token, the loss at late positions "
        "rises by more than 0.6 nats, and the weight on that token falls below 0.05.",
        f"{DEEPER}exm-parked",
    ),
    ((12, 29), UNKNOWN, "What is written into which number.", ""),
]
AFTER: list[Said] = [
    *map(_left_out, range(L)),
    (
        (11, 11),
        MEASURED,
        "In eight passages the norm of the first token's vector is below 900 up to block 10, and "
        "above 17,000 after this block.",
        f"{DEEPER}exm-parked",
    ),
    (
        (29, 29),
        MEASURED,
        "By the lens, this block changes the likeliest token at 0.36 to 0.45 of the positions.",
        f"{DEEPER}exm-left-out",
    ),
]
LENS: list[Said] = [
    (
        ALL,
        MEASURED,
        "Read by the lens after most blocks, the model does worse than a guess among all tokens. "
        "This does not show that these blocks do nothing.",
        f"{DEEPER}fig-heads-lens",
    )
]


def _built(said: str, source: str = "") -> list[Said]:
    return [(ALL, BUILT, said, source)]


def _part(group: int, caption: str, name: str, axes: str, page: str, said: list[Said],
          *shape: Any, **tables: tuple[int, ...]) -> Part:  # fmt: skip
    keys = ("blocks", "status", "said", "source")
    return {
        "group": group, "caption": caption, "name": name, "axes": axes, "page": page,
        "shape": list(shape), "said": [dict(zip(keys, one, strict=True)) for one in said],
        "tables": {key: list(sizes) for key, sizes in tables.items()},
        "count": sum(map(prod, tables.values())),
    }  # fmt: skip


T = "T"
NUMBERS, HEADS = "tokens × numbers", "heads × tokens × numbers"
PARTS: tuple[Part, ...] = (
    _part(0, "tokens", "tokens", "tokens", "13_language_modelling",
          _built(f"Each token is one of {N:,} pieces of text. A space belongs to the next piece."),
          T),
    _part(0, "E[x]", "embedded tokens", NUMBERS, "01_dot_products",
          _built("Each token has a row of E. Positions are not added; they turn q and k.",
                 "07_position.html"), T, D, E=(N, D)),
    _part(1, "norm(h)", "normed vectors, for attention", NUMBERS, "08_residual_stream", NORM,
          T, D, gain=(D,)),
    _part(1, "q", "queries", HEADS, "07_position",
          _built(f"{H} heads; each query is turned by its position."), H, T, WIDTH,
          W_Q=(H, D, WIDTH)),
    _part(1, "k", "keys", HEADS, "06_many_heads", SHARED, G, T, WIDTH, W_K=(G, D, WIDTH)),
    _part(1, "v", "values", HEADS, "06_many_heads", SHARED, G, T, WIDTH, W_V=(G, D, WIDTH)),
    _part(1, "weights", "attention weights", "heads × tokens × tokens", "02_softmax", WEIGHTS,
          H, T, T),
    _part(1, "change", "change by attention", NUMBERS, "06_many_heads", WRITTEN, T, D,
          W_O=(H, WIDTH, D)),
    _part(1, "h", "residual stream after attention", NUMBERS, "08_residual_stream",
          _built("The change is added; nothing that was there is overwritten."), T, D),
    _part(1, "norm(h)", "normed vectors, for feed-forward", NUMBERS, "08_residual_stream", NORM,
          T, D, gain=(D,)),
    _part(1, "hidden units", "hidden units", "tokens × hidden units", "09_feed_forward", UNITS,
          T, F, gate=(D, F), W_in=(D, F)),
    _part(1, "change", "change by feed-forward", NUMBERS, "09_feed_forward", FED, T, D,
          W_out=(F, D)),
    _part(1, "h", "residual stream after the block", NUMBERS, "10_block", AFTER, T, D),
    _part(2, "norm(h)", "normed vectors, for the lens and the end", NUMBERS,
          "08_residual_stream", NORM, T, D, gain=(D,)),
    _part(2, "logits", "logits", "tokens × vocabulary", "13_language_modelling", LENS, T, N),
    _part(2, "probabilities", "probabilities of the next token", "tokens × vocabulary",
          "15_generation",
          _built("Each row adds up to 1. E is used again for the logits, so the end has no table.",
                 "10_block.html"), T, N),
)  # fmt: skip
"""All arrays, in the order in which they are computed; those of group 1 stand in each block."""


def total(group: int | None = None) -> int:
    """The number of parameters: of one group, its blocks counted once, or of the model."""
    if group is not None:
        return sum(part["count"] for part in PARTS if part["group"] == group)
    return sum(total(one) * (L if one == 1 else 1) for one in range(len(GROUPS)))
