"""What several documents say of attention, tried: each function names its cases and what held."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from tformer import reference as ref
from tformer.parameters import HeadParameters
from tformer_book.popular.lines import Cases

T, D = 5, 8
"""How many words, and how wide, where any number would do."""


def same(got: Any, want: Any, tolerance: float = 1e-12) -> bool:
    """Whether two arrays have one shape and agree within a tolerance; NaN agrees with nothing."""
    got, want = np.asarray(got), np.asarray(want)
    return got.shape == want.shape and bool((np.abs(got - want) <= tolerance).all())


def rng() -> np.random.Generator:
    """The generator that every trial starts from."""
    return np.random.default_rng(0)


def words(n: int = T, width: int = D) -> np.ndarray:
    """Rows of chance, (n, width)."""
    return rng().normal(size=(n, width))


def by_hand(q: np.ndarray, k: np.ndarray, v: np.ndarray, hidden: Any = 0.0) -> np.ndarray:
    """The formula, term by term, with `hidden` added to the scores."""
    scores = q @ k.T / np.sqrt(q.shape[-1]) + hidden
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True) @ v


def heads(n_heads: int = 2, width: int = D) -> HeadParameters:
    """A layer of heads, drawn."""
    shape = (n_heads, width, width // n_heads)
    drawn = np.random.default_rng(1).normal(size=(4, *shape)) / np.sqrt(width)
    return HeadParameters(drawn[0], drawn[1], drawn[2], drawn[3].mT)


def formula() -> Cases:
    """Softmax of scaled scores times values, and the library's attention."""
    q, k, v = rng().normal(size=(3, T, D))
    return {
        "computed term by term, it is the library's attention": same(
            by_hand(q, k, v), ref.attention(q, k, v)
        )
    }


def projections() -> Cases:
    """Queries, keys and values from one input by three matrices; the layer is what follows."""
    x, p = words(), heads(1)
    q, k, v = (x @ w[0] for w in (p.w_q, p.w_k, p.w_v))
    layer = ref.multi_head_attention(x, p)
    return {
        "with attention after them, they are a layer of one head": same(
            by_hand(q, k, v) @ p.w_o[0], layer
        )
    }


def heads_side_by_side() -> Cases:
    """Concatenated heads times one matrix, against the library's sum over heads."""
    x, p = words(), heads(4)
    each = zip(p.w_q, p.w_k, p.w_v, strict=True)
    outputs = [by_hand(x @ q, x @ k, x @ v) for q, k, v in each]
    joined = np.concatenate(outputs, axis=-1) @ p.w_o.reshape(-1, D)
    return {"it is the sum over the heads": same(joined, ref.multi_head_attention(x, p))}


def softmax_rows() -> Cases:
    """Positive weights that sum to one, row by row."""
    scores = rng().normal(size=(T, T))
    p = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return {
        "exp over the sum is the library's softmax": same(p, ref.softmax(scores)),
        "every weight is above 0 and every row sums to 1": bool((p > 0).all())
        and same(p.sum(axis=-1), np.ones(T)),
    }


def weighted_sum() -> Cases:
    """Each output is the sum of weights times values, and stays among the values."""
    q, k, v = rng().normal(size=(3, T, D))
    weights, y = ref.attention_weights(q, k), ref.attention(q, k, v)
    summed = [sum(a * row for a, row in zip(line, v, strict=True)) for line in weights]
    inside = (v.min(axis=0) <= y) & (y <= v.max(axis=0))
    return {
        "outputs are sums of weights times values": same(summed, y),
        "they stay within the range of the values": bool(inside.all()),
    }


def average_of_others() -> Cases:
    """Whether the average leaves a word itself out."""
    weights = ref.attention_weights(*rng().normal(size=(2, T, D)))
    return {
        "it is a weighted average": same(weights.sum(axis=-1), np.ones(T)),
        "a token's own value has weight 0": bool((np.diag(weights) == 0).all()),
    }


def most_relevant_only() -> Cases:
    """Whether anything is left out."""
    q, k = rng().normal(size=(2, T, D))
    sharp = ref.attention_weights(q, k, scale=20.0).max(axis=-1)
    return {
        "scores far apart put nearly all weight on one token": bool(np.median(sharp) > 0.99),
        "some token gets weight 0": bool((ref.attention_weights(q, k) == 0).any()),
    }


def mask_is_added() -> Cases:
    """Minus infinity added before the softmax, against the library's mask."""
    q, k, v = rng().normal(size=(3, T, D))
    seen = ref.causal_mask(T, T)
    hidden = ref.to_additive(seen)
    weights = ref.attention_weights(q, k, seen)
    return {
        "adding −∞ is masking": same(by_hand(q, k, v, hidden), ref.attention(q, k, v, seen)),
        "later tokens get weight 0 exactly": bool((weights[~seen] == 0).all()),
    }


def mask_inside_the_scale() -> Cases:
    """The mask added before the division by √d_k."""
    q, k, v = rng().normal(size=(3, T, D))
    seen = ref.causal_mask(T, T)
    hidden = ref.to_additive(seen)
    scores = (q @ k.T + hidden) / np.sqrt(D)
    y = ref.softmax(scores) @ v
    return {"with −∞ it makes no difference": same(y, ref.attention(q, k, v, seen))}


def masked_future() -> Cases:
    """Another last word, with a causal mask and without."""
    x, p = words(), heads()
    other = np.vstack([x[:-1], -x[-1:]])
    before, after = (ref.multi_head_attention(y, p, causal=True)[:-1] for y in (x, other))
    free, freed = (ref.multi_head_attention(y, p)[:-1] for y in (x, other))
    return {
        "with the mask, earlier outputs do not depend on the last token": same(before, after, 0),
        "without it they do, and this is the leak": not same(free, freed),
    }


def mask_when_writing() -> Cases:
    """One new query with a cache, with the mask and without."""
    q, k, v = rng().normal(size=(3, T, D))
    cached = ref.attention(q[-1:], k, v)
    whole = ref.attention(q, k, v, ref.causal_mask(T, T))[-1:]
    return {
        "in training, with all queries at once": not same(ref.attention(q, k, v)[0], v[0]),
        "in generation, with one query and a cache": not same(cached, whole),
    }


def one_hop() -> Cases:
    """The first word's influence on the last, at a distance of 300."""
    x, p = words(300), heads()
    other = np.vstack([-x[:1], x[1:]])
    first, second = (ref.multi_head_attention(y, p)[-1] for y in (x, other))
    return {"changing the first of 300 tokens changes the last output": not same(first, second)}


def no_decay() -> Cases:
    """The largest weight when a key that fits has 10 or 10,000 others beside it."""
    lead = 3.0
    few, many = (np.exp(lead) / (np.exp(lead) + n) for n in (10, 10_000))
    x = words(50)
    near, far = (
        ref.attention_weights(x[:1], x[order]) for order in (slice(None), slice(None, None, -1))
    )
    return {
        "a weight does not depend on the distance": same(near, far[:, ::-1]),
        f"a lead of 3 keeps its weight ({few:.2f} with 10 others, {many:.3f} with 10,000)": bool(
            many > few / 2
        ),
    }


def no_vanishing() -> Cases:
    """The gradient that reaches a far word's value, and one through a saturated row."""
    q, k, v = rng().normal(size=(3, 1000, D))
    weights = ref.attention_weights(q[-1:], k)
    moved = ref.attention(q[-1:], k, v + np.eye(1000, D)) - ref.attention(q[-1:], k, v)
    norm = float(np.abs(ref.softmax_jacobian(ref.softmax(np.array([0.0, 1.0, 30.0])))).max())
    return {
        "a value 1000 tokens away counts with its weight, in one step": same(
            moved[0, 0], weights[0, 0]
        ),
        f"the gradient through a saturated softmax, {norm:.0e}, does not vanish": norm > 1e-6,
    }


def scaling_variance() -> Cases:
    """Every pair of rows of signs, mean 0 and variance 1: the variance of their dot product."""
    widths = range(1, 6)
    found = []
    for d in widths:
        signs = np.array(list(product((-1, 1), repeat=d)))
        found.append((signs @ signs.T).var())
    return {
        "over all vectors of ±1, of width 1 to 5, it is d_k": same(found, list(widths)),
        "divided by √d_k, the dot product has variance 1": same(
            np.divide(found, widths), np.ones(5)
        ),
    }


def scaling_cures() -> Cases:
    """Largest weights among 16 keys of width 256: random keys, and one aligned with the query."""
    q, k = rng().normal(size=(2, 200, 16, 256))
    plain, scaled = (
        ref.attention_weights(q, k, scale=s).max(axis=-1).mean() for s in (1.0, 1 / 16)
    )
    tied = ref.attention_weights(q, q).max(axis=-1).mean()
    return {
        f"random keys: mean largest weight {plain:.2f} without, {scaled:.2f} with it": bool(
            plain > 0.8 > scaled
        ),
        f"aligned keys: {tied:.2f} with it, still saturated": bool(tied < 0.8),
    }


def reordered(*order: int) -> list[np.ndarray]:
    """The rows of a layer of heads and those after a shuffle; then both with a causal mask."""
    x, p = words(len(order)), heads()
    return [
        ref.multi_head_attention(rows, p, causal=causal)
        for causal in (False, True)
        for rows in (x, x[list(order)])
    ]


SHUFFLE = (2, 0, 1, 4, 3)


def invariant() -> Cases:
    """The rows after the words were shuffled."""
    y, shuffled, *_ = reordered(*SHUFFLE)
    return {"the outputs stay the same": same(shuffled, y)}


def invariant_or_not() -> Cases:
    """Rows, and their mean, after a shuffle; without a mask and with one."""
    y, z, a, b = reordered(*SHUFFLE)
    return {
        "the mean of the outputs stays the same": same(y.mean(axis=0), z.mean(axis=0)),
        "the output at each position stays the same": same(y, z),
        "the mean stays the same with a causal mask": same(a.mean(axis=0), b.mean(axis=0)),
    }


def order_without_positions() -> Cases:
    """Whether order matters without positions: in an encoder, and with a causal mask."""
    y, z, a, b = reordered(*SHUFFLE)
    return {
        "without a mask, each token has the same output after a shuffle": same(y[list(SHUFFLE)], z),
        "with a causal mask too": same(a[list(SHUFFLE)], b),
    }


def dog_bites_man() -> Cases:
    """Each word's row in *dog bites man* and in *man bites dog*, without positions."""
    y, z, a, b = reordered(2, 1, 0)
    return {
        "in an encoder, each word has the same output in both": same(y[::-1], z),
        "in a decoder, *bites* has it too": same(a[1], b[1]),
    }


def soft_lookup() -> Cases:
    """Sharper and sharper scores: from a mean to one value."""
    k, v = np.eye(4), words(4)
    sharp = ref.attention(k[:1], k, v, scale=200.0)
    return {
        "scores far apart give the value of the matching key": same(sharp, v[:1]),
        "equal scores give the mean of the values": same(
            ref.attention(0 * k[:1], k, v)[0], v.mean(axis=0)
        ),
    }


def overflow() -> Cases:
    """Exponentials of 1000, with and without the maximum taken off."""
    scores = np.array([1000.0, 999.0])
    with np.errstate(over="ignore", invalid="ignore"):
        naive = np.exp(scores) / np.exp(scores).sum()
    shifted = np.exp(scores - scores.max())
    return {
        "without it, e¹⁰⁰⁰ overflows and the weights are NaN": bool(np.isnan(naive).all()),
        "with it, the weights are right": same(
            shifted / shifted.sum(), ref.softmax(np.array([1.0, 0.0]))
        ),
    }


def rows_with_epsilon() -> Cases:
    """The listing's softmax, which adds 1e-12 to each denominator."""
    q, k, _ = rng().normal(size=(3, T, D))
    scores = q @ k.T / np.sqrt(D)
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    listed = terms / (terms.sum(axis=-1, keepdims=True) + 1e-12)
    short = float((1 - listed.sum(axis=-1)).max())
    return {
        "the weights are right to 12 digits": same(listed, ref.softmax(scores), 1e-11),
        f"the rows sum to 1 (they are short by {short:.0e})": short == 0,
    }


def quadratic() -> Cases:
    """Numbers in the table of weights, and products, when the text doubles."""
    tables = [ref.attention_weights(*rng().normal(size=(2, n, D))).size for n in (16, 32)]
    return {"with twice the tokens, the table is four times as large": tables[1] == 4 * tables[0]}


def quadratic_twice() -> Cases:
    """Time and memory of attention when the text doubles; and by rows."""
    without = all(exact_without_table().values())
    return {
        **quadratic(),
        "the table is stored (it need not be: by rows, outputs are equal to 1e-12)": not without,
    }


def exact_without_table() -> Cases:
    """Attention by rows of weights that are thrown away, against attention."""
    q, k, v = rng().normal(size=(3, 64, D))
    return {
        "the outputs are the same without the table": same(
            ref.blockwise_attention(q, k, v), ref.attention(q, k, v)
        )
    }


def nearby_only() -> Cases:
    """What a sliding window sees, and a mask with one global word."""
    window = ref.sliding_window_mask(8, 8, 3)
    one_global = window | (np.arange(8) == 0)
    return {
        "a sliding window is sparse and allows what is near": bool(window.sum() < 64),
        "no sparse mask allows what is far": not bool(one_global[7, 0]),
    }


def linear_attention() -> Cases:
    """Attention with the feature map elu + 1 in place of the exponential of a product."""
    q, k, v = rng().normal(size=(3, 64, D))
    f = [np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))) for x in (q, k)]
    summed = (f[0] @ (f[1].T @ v)) / (f[0] @ f[1].sum(axis=0))[:, np.newaxis]
    error = np.abs(summed - ref.attention(q, k, v)).max()
    table = f[0] @ f[1].T
    return {
        "no table of weights is needed": same(
            summed, table / table.sum(axis=-1, keepdims=True) @ v
        ),
        f"its outputs are those of softmax (they differ by up to {error:.1f})": bool(error < 0.1),
    }


def readable() -> Cases:
    """Two quite different rows of weights over values that are alike."""
    apart, alike = words(2), np.ones((2, D))
    turned = [[np.array([[a, 1 - a]]) @ v for a in (0.99, 0.01)] for v in (apart, alike)]
    return {
        "other weights give another output where values differ": not same(*turned[0]),
        "and where values are equal": not same(*turned[1]),
    }
