"""What the published classes gave: logits, parameters and caches of small models."""

from __future__ import annotations

import numpy as np

from tformer.models.layered import cached_layered_decoder
from tformer.parameters import leaves
from tformer_book.chapters.ch22 import counting, guesses, published, running
from tformer_book.chapters.ch22.plans import DEFAULTS
from tformer_book.claims.registry import claim, require

BOUND = 1e-13
"""Rounding in float64: the largest measured is 6e-15, and sums of other lengths round otherwise."""


@claim(
    "exm-published",
    "empirical",
    mutants={
        "Qwen3 norms queries and keys after RoPE": {"wrong": "QK-norm after RoPE"},
        "gpt-oss has no sink": {"wrong": "no sink"},
        "a window keeps every token": {"windows": False},
        "a pooled window leaves nothing of itself for the next": {"overlap": False},
        "biases for the choice of experts are parameters": {"biases": True},
    },
    scope="24 classes of transformers 5.24.0, 13 tokens, 30 cached",
)
def published_classes(
    wrong: str = "", windows: bool = True, overlap: bool = True, biases: bool = False
) -> str:
    """Our logits against the stored ones; formulas against what was counted in the classes."""
    for family in published.FAMILIES:
        stored = published.fixtures()[family]
        p, c = published.model(family)
        guessed = (x for x in guesses.GUESSES if (x.family, x.says) == (family, wrong))
        block = next(map(guesses.changed, guessed), None)
        got = published.last_logits(family, block)
        off = running.difference(got, np.array(stored["logits"]))
        require(off < BOUND, f"{family}: logits differ by {off:.1e} of the largest")
        applied = [i for layers, _ in c.stacks for i in layers]
        layers = [(p.layers[i], c.layers[i]) for i in applied]
        kept = counting.kept_of(tuple(counting.kept_by(*one) for one in layers))
        all_held = counting.kept_of(tuple(counting.held_by(*one) for one in layers))
        for n, numbers in stored["cached_numbers"].items():
            tokens = int(n)
            mine = kept.numbers(tokens)
            if not windows:
                mine += sum(each * (tokens - most) for each, most in kept.per_window)
            if not overlap:
                mine -= sum(pools.last for pools in kept.pooled)
            require(mine == numbers, f"{family}: {mine} numbers after {n} tokens, not {numbers}")
        for n in (7, len(stored["tokens"])):
            own = leaves(cached_layered_decoder(np.array(stored["tokens"])[:n], p, c)[1])
            held, want = sum(x.size for x in own), all_held.numbers(n)
            require(held == want, f"{family}: our cache holds {held} numbers, not {want}")
        total = counting.n_parameters(p)
        if biases:
            extra = [x.experts.choice_bias for x in p.layers if x.experts is not None]
            total += sum(x.size for x in extra if x is not None)
        want = stored["n_parameters"]
        require(total == want, f"{family}: {total} parameters, not {want}")
    for family in DEFAULTS:
        total, want = counting.both(family)[0], counting.COUNTED[family]
        require(total == want, f"{family}: {total} parameters by default, not {want}")
    return (
        f"{len(published.FAMILIES)} classes: logits to 1e-13 of the largest; numbers in the cache "
        "after 20 and 30 tokens, those in our own after 7 and 13, and parameters, exactly; seven "
        "default sizes counted"
    )
