"""Common wrong guesses about released models: one line of a block changed, and what that moves."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.special import expit

from tformer.layer_configuration import LayerConfiguration
from tformer.reference import sinusoidal
from tformer_book.chapters.ch22 import blocks, listing, published, running

__all__ = ["GUESSES", "Guess", "moved"]


@dataclass(frozen=True)
class Guess:
    """A wrong line.

    Parameters
    ----------
    family : str
    says : str
        The guess, in a few words.
    old, new : str
        What the block has, once or more, and what is put in its place.
    """

    family: str
    says: str
    old: str
    new: str


NORMED = "    q, k = norm_heads(q, k, p.attention, c)\n"
TURNED = '    q, k = rope(q, turns, "half"), rope(k, turns, "half")\n'
INDENTED = '        q, k = rope(q, turns, "adjacent"), rope(k, turns, "adjacent")\n'
BARE = "        q, k = norm_heads(q, k, p.attention, c)\n"

GUESSES = (
    Guess("llama", "RoPE pairs neighbours", '"half"', '"adjacent"'),
    Guess("qwen3", "QK-norm after RoPE", NORMED + TURNED, TURNED + NORMED),
    Guess("qwen3", "QK-norm over all heads at once", "norm_heads", "norm_all"),
    Guess("llama4", "QK-norm before RoPE (it has no gain)", INDENTED + BARE, BARE + INDENTED),
    Guess("llama4", "the weight multiplies the expert's output", ", weigh_input=True", ""),
    Guess(
        "olmo2",
        "the norm comes after the sum, as in 2017",
        "x = x + rms_norm(merge(y, p.attention.heads), p",
        "x = rms_norm(x + merge(y, p.attention.heads), p",
    ),
    Guess("gemma3", "scores over the root of the head's width", ", scale=c.scale", ""),
    Guess("gemma2", "no soft cap of the scores", ", cap=c.cap", ""),
    Guess(
        "cohere",
        "one sublayer after the other",
        "return x + merge(z, p.attention.heads) + feed_forward(y, p.feed_forward, SILU)",
        "x = x + merge(z, p.attention.heads)\n"
        "    y = layer_norm(x, p.mixer_norm, c.eps)\n"
        "    return x + feed_forward(y, p.feed_forward, SILU)",
    ),
    Guess("cohere", "RoPE pairs halves", '"adjacent"', '"half"'),
    Guess(
        "smollm3",
        "RoPE in every layer",
        "if turns is not None:",
        "if (turns := EVERY) is not None:",
    ),
    Guess(
        "mixtral",
        "weights of the chosen not renormalised",
        "router(y, p.experts, c)",
        "router(y, p.experts, with_routing(c, renormalise=False))",
    ),
    Guess(
        "qwen3_moe",
        "weights of the chosen renormalised",
        "router(y, p.experts, c)",
        "router(y, p.experts, with_routing(c, renormalise=True))",
    ),
    Guess("gpt_oss", "no sink", "p.attention.sinks", "None"),
    Guess(
        "gpt_oss",
        "the sink is scaled like a score",
        "p.attention.sinks",
        "p.attention.sinks / len(q[0, 0]) ** 0.5",
    ),
    Guess(
        "gpt_oss",
        "YaRN without its factor on queries and keys",
        "turns, ",
        "turns / c.rotary.scaling.attention_factor, ",
    ),
    Guess("gpt_oss", "plain SwiGLU in the experts", '"clipped_swiglu"', '"silu"'),
    Guess(
        "deepseek_v3",
        "the routing bias counts in the weights",
        "weights = router(y, p.experts, c)",
        "weights = biased(router(y, p.experts, c), y, p)",
    ),
    Guess(
        "deepseek_v3",
        "scores over the root of the plain width alone",
        "scale=c.scale",
        "scale=m.w_k.shape[-1] ** -0.5",
    ),
    Guess(
        "deepseek_v3",
        "inner norms with ε of 1e-5",
        "gain, c)",
        "gain, replace(c, latent_eps=1e-5))",
    ),
    Guess("qwen3_next", "no gate behind attention", " * expit(y @ p.attention.w_gate)", ""),
    Guess(
        "qwen3_next",
        "RoPE of all coordinates",
        "first(q, turns), first(k, turns)",
        'rope(q, WIDE, "half"), rope(k, WIDE, "half")',
    ),
)
"""Common wrong guesses. One of them is none: without a gain QK-norm commutes with RoPE."""


def _biased(weights: np.ndarray, y: np.ndarray, p: Any) -> np.ndarray:
    """Weights of the same experts by their scores with the bias."""
    scores = (expit(y @ p.experts.w_router) + p.experts.choice_bias) * (weights != 0)
    return np.asarray(2.5 * scores / scores.sum(axis=-1, keepdims=True))


def _with_routing(c: LayerConfiguration, **choices: Any) -> LayerConfiguration:
    """The same layer, with other choices of its router."""
    if c.routing is None:
        raise ValueError("the layer has no experts")
    return replace(c, routing=replace(c.routing, **choices))


def changed(guess: Guess) -> Callable[..., np.ndarray]:
    """The block of a family with its wrong line."""
    block = listing.block_of(guess.family)
    source = inspect.getsource(block)
    if guess.old not in source:
        raise ValueError(f"{guess.family} has no line with {guess.old!r}")
    p, c = published.model(guess.family)
    n = len(published.fixtures()[guess.family]["tokens"])
    space = vars(blocks) | {
        "EVERY": running.turns(n, p.layers[0], c.layers[0]),
        "WIDE": sinusoidal(np.arange(n), 16),
        "biased": _biased,
        "replace": replace,
        "with_routing": _with_routing,
    }
    exec(source.replace(guess.old, guess.new), space)
    return space[block.__name__]


@cache
def moved(guess: Guess) -> float:
    """How far the logits of a small model move, over the largest; the class's own are right."""
    stored = published.fixtures()[guess.family]
    wrong = published.last_logits(guess.family, changed(guess))
    return running.difference(wrong, np.array(stored["logits"]))
