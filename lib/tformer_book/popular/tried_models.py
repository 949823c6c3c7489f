"""What several documents say of blocks, stacks and training, tried."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from math import pi

import numpy as np
import torch

from tformer import fast
from tformer import reference as ref
from tformer.configuration import Configuration
from tformer.models.sizes import Sizes, initialise
from tformer.parameters import (
    BlockParameters,
    FeedForwardParameters,
    NormParameters,
    tree_map,
)
from tformer_book.popular.lines import Cases
from tformer_book.popular.tried import D, T, heads, rng, same, words

PLAIN = Configuration(activation="relu", positions="none")
SMALL = Sizes(n_vocab=11, d_model=8, n_layers=2, n_heads=2, d_ff=32)


def layer(width: int = D, hidden: int = 4 * D) -> FeedForwardParameters:
    """A feed-forward layer with biases, drawn."""
    draw = np.random.default_rng(2)
    w_in, w_out = draw.normal(size=(width, hidden)), draw.normal(size=(hidden, width))
    return FeedForwardParameters(
        w_in / np.sqrt(width),
        w_out / np.sqrt(hidden),
        0.1 * draw.normal(size=hidden),
        0.1 * draw.normal(size=width),
    )


def normed(x: np.ndarray) -> np.ndarray:
    """LayerNorm without gain and bias."""
    return ref.layer_norm(x, NormParameters())


def fed(x: np.ndarray, p: FeedForwardParameters) -> np.ndarray:
    """A feed-forward layer with a ReLU, by hand."""
    return np.maximum(x @ p.w_in + p.b_in, 0) @ p.w_out + p.b_out


def block(order: str) -> tuple[BlockParameters, Configuration]:
    """A block with norms before or after its sublayers."""
    parts = (heads(), layer(), NormParameters(), NormParameters())
    return BlockParameters(*parts), replace(PLAIN, order=order)


def feed_forward_by_hand() -> Cases:
    """Two linear maps with a ReLU between them; column form; a changed neighbour."""
    x, p = words(), layer()
    columns = p.w_out.T @ np.maximum(p.w_in.T @ x.T + p.b_in[:, None], 0) + p.b_out[:, None]
    y = ref.feed_forward(x, p, PLAIN)
    other = ref.feed_forward(np.vstack([x[:1], -x[1:]]), p, PLAIN)
    return {
        "computed by hand, it is the library's layer": same(fed(x, p), y),
        "with vectors as columns too": same(columns.T, y),
        "a token's output does not depend on other tokens": same(other[0], y[0], 0),
    }


def norm_after() -> Cases:
    """LayerNorm(x + sublayer(x)), twice, against the library's block with norms after the sums."""
    x = words()
    p, configuration = block("post")
    y = normed(x + ref.multi_head_attention(x, p.heads))
    y = normed(y + fed(y, layer()))
    return {"it is the library's post-norm block": same(y, ref.block(x, p, configuration))}


def norm_before() -> Cases:
    """X + sublayer(LayerNorm(X)), twice, against the library's block with norms before."""
    x = words()
    p, configuration = block("pre")
    y = x + ref.multi_head_attention(normed(x), p.heads)
    y = y + fed(normed(y), layer())
    return {"it is the library's pre-norm block": same(y, ref.block(x, p, configuration))}


def overwritten() -> Cases:
    """The snippet x = norm(x); x = x + attention(x), called pre-norm."""
    x, p = words(), heads()
    snippet = normed(x) + ref.multi_head_attention(normed(x), p)
    right = x + ref.multi_head_attention(normed(x), p)
    zero = normed(10 * x)
    return {
        "the snippet is x + attention(norm(x))": same(snippet, right),
        "where attention adds nothing, x is unchanged": same(zero, 10 * x),
    }


def last_norm() -> Cases:
    """Size of rows after 2 and after 32 pre-norm blocks; the library's decoder norms them."""
    draw, x, sizes = rng(), words(16, 32), replace(SMALL, d_model=32, d_ff=128, n_layers=1)
    size = []
    for _ in range(32):
        [p] = initialise(sizes, PLAIN, draw, std=1 / np.sqrt(32)).blocks
        x = ref.block(x, p, PLAIN, causal=True)
        size.append(float(np.sqrt((x**2).mean())))
    model = initialise(SMALL, PLAIN, rng(), std=0.5)
    logits = ref.decoder(np.arange(8), model, PLAIN)
    return {
        "each position has a logit for each token": logits.shape == (8, SMALL.n_vocab),
        f"vectors keep their size (root mean square {size[1]:.1f}, then {size[-1]:.1f})": size[-1]
        < 1.5 * size[1],
    }


def arriving(order: str, seed: int) -> float:
    """The share of the upstream gradient's norm that arrives below 64 random blocks of width 16."""
    draw, configuration = np.random.default_rng(seed), replace(PLAIN, order=order)
    sizes = replace(SMALL, d_model=16, d_ff=64, n_layers=1)
    start = torch.from_numpy(draw.normal(size=(8, 16))).requires_grad_()
    x = start
    for _ in range(64):
        [p] = initialise(sizes, configuration, draw, std=1 / 4).blocks
        x = fast.block(x, tree_map(torch.from_numpy, p), configuration, causal=True)
    grad = torch.from_numpy(draw.normal(size=(8, 16)))
    [reached] = torch.autograd.grad(x, start, grad)
    return float(reached.norm() / grad.norm())


@cache
def spread(order: str) -> tuple[float, float]:
    """The least and the largest share that arrives, of three stacks."""
    shares = [arriving(order, seed) for seed in range(3)]
    return min(shares), max(shares)


def residual_alone() -> Cases:
    """Whether a residual stack keeps its gradient wherever the norms stand."""
    before, after = spread("pre"), spread("post")
    return {
        f"pre-norm: below 64 blocks, {before[0]:.2g} times the upstream gradient or more": before[0]
        > 0.5,
        f"post-norm: {after[1]:.1g} times the upstream gradient or less": after[1] > 0.5,
    }


def layer_norm_formula() -> Cases:
    """(x − μ)/σ against the library's LayerNorm; and a row of equal numbers."""
    x, gain, bias = rng().normal(size=(3, D))
    y = gain * (x - x.mean()) / x.std() + bias
    library = ref.layer_norm(x, NormParameters(gain, bias))
    equal = np.full(D, 2.0)
    with np.errstate(invalid="ignore"):
        alone = (equal - equal.mean()) / equal.std()
    return {
        "an ordinary vector agrees to four digits": same(y, library, 1e-4),
        "a vector of equal numbers (it gives 0/0 without ε)": bool(np.isfinite(alone).all()),
    }


def layer_norm_listing() -> Cases:
    """LayerNorm with ε, gain and bias, against the library's; mean and variance of a row."""
    x, gain, bias = rng().normal(size=(3, D))
    y = gain * (x - x.mean()) / np.sqrt(x.var() + 1e-5) + bias
    rows = normed(words())
    moments = rows.mean(axis=-1), rows.var(axis=-1)
    return {
        "with ε under the root it is the library's": same(
            y, ref.layer_norm(x, NormParameters(gain, bias))
        ),
        "each vector has mean 0 and variance 1": same(moments[0], np.zeros(T))
        and same(moments[1], np.ones(T), 1e-4),
    }


def gelu_form() -> Cases:
    """The tanh form with 0.5, 0.044715 and √(2/π), and the exact GELU."""
    x = np.linspace(-6, 6, 2001)
    form = 0.5 * x * (1 + np.tanh(np.sqrt(2 / pi) * (x + 0.044715 * x**3)))
    error = np.abs(form - ref.gelu(x)).max()
    return {
        "it is the library's tanh form": same(form, ref.gelu_tanh(x)),
        f"it is near GELU (they differ by at most {error:.1e})": bool(error < 5e-4),
    }


def waves(width: int = 8) -> np.ndarray:
    """sin and cos of pos/10000^(2i/d), term by term."""
    rows = np.zeros((6, width))
    for place, column in np.ndindex(6, width):
        angle = place / 10000.0 ** ((column - column % 2) / width)
        rows[place, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return rows


def sinusoids() -> Cases:
    """The formula, entry by entry, against the library's."""
    return {"entry by entry it is the library's": same(waves(), ref.sinusoidal(np.arange(6), 8))}


def sinusoid_listing() -> Cases:
    """The NumPy listing with even and odd widths."""
    held = {}
    for name, width in (("even widths", 8), ("odd widths", 7)):
        places, columns = np.arange(6)[:, np.newaxis], np.arange(0, width, 2)
        angles, rows = places * np.exp(-columns * np.log(10000.0) / width), np.zeros((6, width))
        rows[:, 0::2] = np.sin(angles)
        try:
            rows[:, 1::2] = np.cos(angles)
            held[name] = same(rows, waves(width))
        except ValueError:
            held[f"{name} raise an error"] = False
    return held


def shift_is_linear() -> Cases:
    """PE(p + k) as one matrix times PE(p), the same for all p."""
    rows = ref.sinusoidal(np.arange(40), 8)
    matrix = np.linalg.lstsq(rows[:30], rows[5:35], rcond=None)[0]
    turns = same(matrix @ matrix.T, np.eye(8), 1e-9)
    return {
        "one rotation moves every position by five": turns
        and same(rows[:35] @ matrix, rows[5:], 1e-9)
    }


def relative_and_absolute() -> Cases:
    """Dot products of sinusoidal rows, and the rows themselves."""
    rows = ref.sinusoidal(np.arange(50), 16)
    dots = rows @ rows.T
    return {
        "a dot product depends on the distance alone": same(dots[1:, 1:], dots[:-1, :-1], 1e-9),
        "no two positions have the same vector": len(np.unique(rows.round(9), axis=0)) == 50,
    }


def loss_by_hand() -> Cases:
    """Cross-entropy, and the logarithm of the probability of a whole text."""
    tokens = np.array([3, 1, 4, 1, 5])
    model = initialise(SMALL, PLAIN, rng(), std=0.5)
    logits = ref.decoder(tokens, model, PLAIN)[:-1]
    chances = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    came = chances[np.arange(4), tokens[1:]]
    return {
        "it is minus the sum of log p of the tokens that came": same(
            ref.cross_entropy(logits, tokens[1:]).sum(), -np.log(came).sum()
        )
    }


def in_parallel() -> Cases:
    """One pass against one word at a time; and what a next word waits for."""
    tokens = np.array([3, 1, 4, 1, 5])
    model = initialise(SMALL, PLAIN, rng(), std=0.5)
    whole = ref.decoder(tokens, model, PLAIN)
    single = np.vstack([ref.decoder(tokens[: n + 1], model, PLAIN)[-1] for n in range(5)])
    other = ref.decoder(np.append(tokens[:-1], 6), model, PLAIN)[-1]
    return {
        "one pass over a given text gives the predictions at all positions": same(whole, single),
        "the token after next is known before the next is chosen": same(other, whole[-1]),
    }


def lookup() -> Cases:
    """Rows of a table."""
    table, tokens = words(11), np.array([3, 1, 4])
    one_hot = np.eye(11)[tokens]
    return {
        "a row of the table is a one-hot vector times the table": same(
            ref.embedding(tokens, table), one_hot @ table
        )
    }


def same_block_everywhere() -> Cases:
    """A block on any rows of numbers: words, patches, columns of a spectrogram."""
    p, configuration = block("pre")
    found = [ref.block(words(n), p, configuration).shape for n in (1, 49, 300)]
    return {"1, 49 and 300 vectors go through one block": found == [(1, D), (49, D), (300, D)]}


def depth_without_residuals() -> Cases:
    """Mean cosine between rows after 8 blocks: with residuals and feed-forward, and without."""
    found = {}
    for residual in (1.0, 0.0):
        x = words(16, 32)
        for seed in range(8):
            draw = np.random.default_rng(seed)
            sizes = replace(SMALL, d_model=32, d_ff=128, n_layers=1)
            [p] = initialise(sizes, PLAIN, draw, std=1 / np.sqrt(32)).blocks
            x = residual * x + ref.multi_head_attention(normed(x), p.heads)
        unit = x / np.linalg.norm(x, axis=-1, keepdims=True)
        found[residual] = float((unit @ unit.T)[~np.eye(16, dtype=bool)].mean())
    return {
        f"with residuals, vectors differ (mean cosine {found[1.0]:.2f} after 8 layers)": found[1.0]
        < 0.9,
        f"without residuals, they do too ({found[0.0]:.2f})": found[0.0] < 0.9,
    }
