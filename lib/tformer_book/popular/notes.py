"""*Buy milk and*, the example of *Transformer ML*: every number that it prints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tformer import reference as ref
from tformer_book.popular import tried
from tformer_book.popular.lines import Cases
from tformer_book.world import buy_milk
from tformer_book.world.buy_milk import POSITIONS, VOCABULARY, WORDS, steps

X = WORDS + POSITIONS


def example(table: str, row: int | None = None) -> np.ndarray:
    """Return a table of the example, or one row of it, as it should be."""
    whole = steps(X)[table]
    return whole if row is None else whole[row]


def inputs() -> np.ndarray:
    """Return the words plus their positions."""
    return X


def seen_scores(row: int) -> np.ndarray:
    """Return the scores of a row that a causal mask leaves."""
    return example("scores", row)[: row + 1]


def exponential(score: float) -> float:
    """Return the exponential of a printed score."""
    return float(np.exp(score))


def hidden(row: int) -> np.ndarray:
    """Return the hidden units of a row, before and after the ReLU."""
    return np.array([example("normed", row) @ buy_milk.W_1, example("hidden", row)])


def predicts_eggs() -> Cases:
    """The largest logit after *and*."""
    return {
        "the logit of *eggs* is the largest": VOCABULARY[example("logits", 2).argmax()] == "eggs"
    }


def is_a_block() -> Cases:
    """The example, and the library's block with its parameters."""
    library = ref.block(X, *buy_milk.block_parameters(), causal=True)
    return {"the layer is a block of the library": tried.same(library, example("output"))}


def mainly_milk() -> Cases:
    """The weights at *and*."""
    weights = example("weights", 2)
    said = ", ".join(f"{w:.4f}" for w in weights)
    return {f"the weight on *milk* is the largest of {said}": bool(weights.argmax() == 1)}


def leans() -> Cases:
    """The context of *and*, with the doubling and without it."""
    plain = steps(X, np.eye(2))["context"][2]
    doubled = example("context", 2)
    return {
        f"with the doubling it is ({doubled[0]:.3f}, {doubled[1]:.3f})": bool(
            doubled[0] > doubled[1]
        ),
        f"without it ({plain[0]:.3f}, {plain[1]:.3f}), with food the smaller": bool(
            plain[0] < plain[1]
        ),
    }


def nudged() -> Cases:
    """The next word without the doubling."""
    plain = VOCABULARY[steps(X, np.eye(2))["logits"][2].argmax()]
    return {f"without the doubling, the next word is another one (it is {plain})": plain != "eggs"}


def is_pre_norm() -> Cases:
    """The example's block with its norms before the sublayers."""
    block, post = buy_milk.block_parameters()
    pre = ref.block(X, block, replace(post, order="pre"), causal=True)
    return {"norms before the sublayers give these outputs": tried.same(pre, example("output"))}


def logits_product() -> Cases:
    """The shapes of the last product, as printed and transposed."""
    h = example("output", 2)
    try:
        as_printed = tried.same(h @ buy_milk.W_OUT, (1, -1, -2), 1e-9)
    except ValueError:
        as_printed = False
    return {
        "as printed, with shapes (2) and (3, 2)": as_printed,
        "with W_out transposed": tried.same(h @ buy_milk.W_OUT.T, (1, -1, -2), 1e-9),
    }


def random_words() -> set[str]:
    """Return the next words after 100 texts of three random vectors, at all positions."""
    rows = np.random.default_rng(0).normal(size=(100, 3, 2))
    return {VOCABULARY[i] for x in rows for i in steps(x)["logits"].argmax(axis=-1)}


def eggs_anyway() -> Cases:
    """The next words of random texts."""
    return {"some of 100 random texts have another next word": random_words() != {"eggs"}}


def charger() -> Cases:
    """A vector of *laptop* for *milk* and the others; and another list of words."""
    laptop = WORDS[:, ::-1] + POSITIONS  # "techness" in the other coordinate
    same = {VOCABULARY[i] for i in steps(laptop)["logits"].argmax(axis=-1)}
    return {
        "with another vector and the same list of words": same != {"eggs"},
        "with the list renamed and *charger* first": VOCABULARY[example("logits", 2).argmax()]
        == VOCABULARY[0],
    }
