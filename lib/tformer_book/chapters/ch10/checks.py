"""Exercises 10.1, 10.5, 10.7 and 10.8: a block, a silent model, an example, a cache."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tformer_book.exercises.promises import promised, whole
from tformer_book.exercises.registry import exercise
from tformer_book.exercises.samples import integers
from tformer_book.exercises.table import Case, case

Array = np.ndarray
LARGE = "Scores may be as large as a few thousand, and only their differences count."
EPS_IS_0 = "Vectors may be tiny: with eps = 0 nothing is added to what a vector is divided by."


def _blocks() -> Iterator[Case]:
    own = "One word with the vector (1, 7): after the norm (0.2, 1.4)."
    look: dict[str, Any] = {"mix": [[1.0]], "w_in": [[1.0], [0.0]]}
    look |= {"b_in": [1.0], "w_out": [[0.0, 2.0]]}
    yield case(x=[[1.0, 7]], **look, order="pre", want=[[1.2, 8.4 + 2.4]], why=own)
    yield case(x=[[1.0, 7]], **look, order="post", why="The sum itself is normed, twice.")
    for n, d, f in ((2, 2, 3), (3, 4, 5), (4, 3, 2)):
        x, mix = integers(n, (n, d)) + 0.5, np.tri(n) / np.arange(1, n + 1)[:, None]
        w_in, w_out = integers(d, (d, f)), integers(f, (f, d)) / 4
        b_in = integers(n + f, (f,)) / 2 + 0.25
        for order in ("pre", "post"):
            yield case(x=x, mix=mix, w_in=w_in, b_in=b_in, w_out=w_out, order=order)
    for order in ("pre", "post"):
        yield case(x=[[3e-9, 4e-9]], **look, order=order, why=EPS_IS_0)
    x, mix = np.array([[1.0, 2], [3, 1]]), np.array([[1.0, 0], [1, 2]])
    for order in ("pre", "post"):
        like = {"x": x, "mix": mix, "w_in": integers(3, (2, 3)), "b_in": np.array([1.0, 0, 2])}
        yield from promised(whole, **like, w_out=integers(4, (3, 2)), order=order)


@exercise(
    "10.1",
    praise="Both orders, one word and several.",
    hints=(
        "Two sublayers, and each adds. What does each read: the vector, or the vector normed?",
        'With "pre" the norm is taken of what a sublayer reads; with "post" of the sum.',
        "pre: add mix times the normed vectors; then to that sum what the layer makes of its norm.",
    ),
    cases=_blocks,
    otherwise=(
        "Two sublayers one after the other, each with a norm of its own and added to what it read."
    ),
    slips="""
        x + mix @ before(x) → mix @ before(x)
            Attention has replaced the vectors; it should be added to them.
        x + np.maximum(before(x) @ w_in + b_in, 0) → np.maximum(before(x) @ w_in + b_in, 0)
            What the layer makes should be added to the vectors.
        np.maximum(before(x) @ w_in + b_in, 0) → (before(x) @ w_in + b_in)
            The ReLU is missing.
        before(x) @ w_in → x @ w_in
            With "pre" the layer reads normed vectors.
        mix @ before(x) → mix @ x
            With "pre" attention reads normed vectors.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).sum(axis=-1, keepdims=True)
            Vectors were brought to length 1; after RMSNorm the mean square is 1.
        (x**2).mean(axis=-1, keepdims=True) → (x**2).mean()
            One mean was taken of the whole table; each vector has its own.
        if order == "pre" else x → if order == "post" else x
        x if order == "pre" else norm(x) → x if order == "post" else norm(x)
            The two orders are exchanged.
        if order == "pre" else x → if order == "post" else x
            What the sublayers read is normed in the wrong order: that belongs to "pre".
        x = after(x + mix @ before(x)) → x = x + mix @ before(x)
            With "post" a norm stands after each of the two sums; the first one is missing.
        return after(x + → return (x +
            With "post" a norm stands after each of the two sums; the last one is missing.
        return after(x + → return norm(x +
            With "pre" the last norm stands after the stack and not in the block.
        mix @ before(x) → before(mix @ x)
            With "pre" the vectors are normed before they are mixed, not what the mixing gives.
        x if order == "pre" else norm(x) → x
        mix @ before(x) → (mix @ before(x) if order == "pre" else norm(mix @ x))
            With "post" it is the sum that is normed, not what attention adds to it.
        else norm(x) → else x / np.sqrt((x**2).mean())
            With "post" one mean was taken of the whole table; each vector has its own.
        x = after(x + mix @ before(x)) → y, x = x, after(x + mix @ before(x))
        x + np.maximum → y + np.maximum
            The second sum starts from the vectors as they came in; attention's sum is lost.
        before(x) @ w_in + b_in → before(x) @ w_in
            The layer has a bias b_in.
        np.maximum(before(x) @ w_in + b_in, 0) → (np.maximum(before(x) @ w_in, 0) + b_in)
            The bias was added after the ReLU; it belongs before it.
        x / np.sqrt → (x - x.mean(axis=-1, keepdims=True)) / np.sqrt
        np.sqrt((x**2).mean(axis=-1, keepdims=True)) → x.std(axis=-1, keepdims=True)
            That is LayerNorm; RMSNorm does not take off the mean.
        mix @ before(x) → mix.T @ before(x)
            `mix` was transposed: its row t has the weights of word t.
        x + mix @ → before(x) + mix @
        x + np.maximum → before(x) + np.maximum
            Sublayers add to the vectors themselves, not to the normed copies.
        x = after(x + mix @ before(x)) → y, x = x, after(x + mix @ before(x))
        before(x) @ w_in → before(y if order == "pre" else x) @ w_in
            The layer reads the vectors to which attention has been added, not those before it.
    """,
)
def block(x: Array, mix: Array, w_in: Array, b_in: Array, w_out: Array, order: str) -> Array:
    """Vectors after a block whose weights of attention are given."""

    def norm(x: Array) -> Array:
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    def before(x: Array) -> Array:
        return norm(x) if order == "pre" else x

    def after(x: Array) -> Array:
        return x if order == "pre" else norm(x)

    x = after(x + mix @ before(x))
    return after(x + np.maximum(before(x) @ w_in + b_in, 0) @ w_out)


def _tables() -> Iterator[Case]:
    own = "The vector (3, 4) has length 5, and d is 2."
    yield case(E=[[3.0, 4], [0, 5]], w=0, want=[5 * 2**0.5, 4 * 2**0.5], why=own)
    yield case(E=[[3.0, 4], [0, 10]], w=1, want=[4 * 2**0.5, 10 * 2**0.5], why="Another word.")
    for n, d in ((1, 1), (4, 3), (3, 8), (9, 2)):
        yield case(E=integers(n + d, (n, d)) + 0.5, w=n - 1)
    yield case(E=[[3e-9, 4e-9], [0, 5e-9]], w=0, why=EPS_IS_0)
    yield case(E=[[3.0, 4], [6e-9, 0]], w=1, why=EPS_IS_0)


@exercise(
    "10.5",
    praise="Small vocabularies and larger ones, vectors of many widths.",
    hints=(
        "If no block adds anything, which vector arrives at the last norm?",
        "RMSNorm makes the vector's mean square 1. How long is it then?",
        "The vector is √d E_w / |E_w|; take its dot product with every row of E.",
    ),
    cases=_tables,
    otherwise="The head compares the normed vector of w with every row of E.",
    slips="""
        E @ row → row
            That is the normed vector; the logits are its dot products with every word's vector.
        x / np.sqrt((x**2).mean()) → x
            The vector was not normed.
        (x**2).mean() → (x**2).sum()
            After RMSNorm the vector has length √d, and not 1; nothing is divided by √d after that.
        x = E[w] → x = E[0]
            The word that was read is number w.
        E @ row → np.exp(E @ row) / np.exp(E @ row).sum()
            Those are probabilities; the logits were asked for.
        E @ row → (E @ row).argmax()
            That is the number of the likeliest word; a logit for each word was asked for.
        E @ row → E / np.sqrt((E**2).mean(axis=1, keepdims=True)) @ row
            Only the vector of the word that was read is normed, not those of the unembedding.
        np.sqrt((x**2).mean()) → (x**2).mean()
            RMSNorm divides by the root of the mean square.
        x / np.sqrt((x**2).mean()) → (x - x.mean()) / x.std()
            The mean was taken off: that is LayerNorm.
        E @ row → E @ x / np.sqrt((E**2).sum(axis=1) * (x**2).sum())
            Those are cosines; the logits are dot products.
        E @ row → (np.arange(len(E)) == w) * 1.0
            That is the word that was read, as a one-hot vector; the logits were asked for.
        x / np.sqrt((x**2).mean()) → x ;; E @ row → E @ row / np.sqrt(((E @ row) ** 2).mean())
            The dot products were normed; the norm belongs to the vector, before them.
        row = x / np.sqrt((x**2).mean()) → row = x
        E @ row → E @ row / np.sqrt((E**2).mean(axis=1))
            The rows of the table were normed and the vector that was read was not.
        x = E[w] → x = E[:, w] if E.shape[0] == E.shape[1] else E[w]
            The vector of word w is row w of E, not a column.
    """,
)
def silent(E: Array, w: int) -> Array:
    """Logits after word w of a tied model whose blocks add nothing."""
    x = E[w]
    row = x / np.sqrt((x**2).mean())
    return E @ row


def _examples() -> Iterator[Case]:
    w_in, w_out = np.array([[1.0, 0, -1], [0, 1, 1]]), np.array([[1.0, 0.5], [0, 1], [1, -1]])
    x = np.array([[0.1, 1.0], [1.1, 0.0], [0.5, 0.7]])
    yield case(
        x=x,
        w_v=np.diag([2.0, 1.0]),
        w_in=w_in,
        w_out=w_out,
        want=[[1, -1]] * 3,
        why="The example of the notes: every vector becomes (1, −1).",
    )
    one = "One word attends to itself alone."
    yield case(x=[[1.0, 2, 4]], w_v=np.eye(3), w_in=np.eye(3), w_out=np.eye(3), why=one)
    for n, d, f in ((2, 3, 2), (3, 4, 4), (5, 3, 6)):
        x = integers(n, (n, d)) / 2 + np.arange(d) / 3
        yield case(
            x=x, w_v=integers(d, (d, d)), w_in=integers(f, (d, f)), w_out=integers(n, (f, d))
        )
    far = np.array([[30.0, 20, 20], [-20, 30, -10], [60, 50, 40], [70, 35, 35.05]])
    w_v, w_in, w_out = integers(1, (3, 3)), integers(2, (3, 2)), integers(3, (2, 3))
    yield case(x=far, w_v=w_v, w_in=w_in, w_out=w_out, why=LARGE)
    x = np.array([[1.0, -2, 4], [3, 1, 0], [2, 2, 5]])
    yield from promised(whole, x=x, w_v=w_v, w_in=w_in, w_out=w_out)


@exercise(
    "10.7",
    praise="The notes' example, a single word, vectors of widths 3 and 4, scores of thousands.",
    hints=(
        "Write down the steps of the example: scores, mask, weights, outputs, sum, norm, layer.",
        "Queries and keys are the vectors; scores are divided by √d, later words get no weight.",
        "Norms stand after both sums, take off the mean and divide by the standard deviation.",
    ),
    cases=_examples,
    otherwise="Attention, sum, norm; then the layer, sum, norm.",
    slips="""
        np.where(np.tri(len(x)) > 0, scores, -np.inf) → scores
            Words attend to later ones; the mask is missing.
        x @ x.T / np.sqrt(x.shape[1]) → x @ x.T
            The scores were not divided by √d.
        weights @ (x @ w_v) → weights @ x
            The values are not multiplied by w_v.
        norm(x + weights @ (x @ w_v)) → x + weights @ (x @ w_v)
            The first sum was not normed.
        norm(x + np.maximum(x @ w_in, 0) @ w_out) → x + np.maximum(x @ w_in, 0) @ w_out
            The second sum was not normed.
        norm(x + weights @ (x @ w_v)) → norm(weights @ (x @ w_v))
            What attention brings should be added to the vectors.
        np.maximum(x @ w_in, 0) → (x @ w_in)
            The ReLU is missing.
        weights / weights.sum(axis=1, keepdims=True) → weights / weights.sum(axis=0, keepdims=True)
            Each column was made to add up to 1; each row of weights should.
        scores - scores.max(axis=1, keepdims=True) → scores
            exp(1000) is more than a float64 holds: measure the scores of a row from its largest.
        scores - scores.max(axis=1, keepdims=True) → scores - scores.max()
            One largest score was taken for all words, and rows far below it keep only zeros.
        scores.max(axis=1, keepdims=True) → (x @ x.T / x.shape[1] ** 0.5).max(axis=1)[:, None]
            The largest score was sought among later words, too; far below it only zeros are left.
        scores - scores.max(axis=1, keepdims=True) → np.clip(scores, -700, 700)
            Scores that are cut off at a bound lose their differences; only differences count.
        scores - scores.max(axis=1, keepdims=True) → scores - scores.max(axis=0, keepdims=True)
        weights / weights.sum(axis=1, keepdims=True) → weights / weights.sum(axis=0, keepdims=True)
            The softmax runs down the columns; it belongs to a row, the weights of one word.
        x = norm(x + weights @ (x @ w_v)) → y, x = x, norm(x + weights @ (x @ w_v))
        return norm(x + → return norm(y +
            The second sum starts from the vectors that came in; it adds to those of the first norm.
        norm(x + np.maximum(x @ w_in, 0) → norm(np.maximum(x @ w_in, 0)
            What the layer makes should be added to the vectors.
        x - x.mean(axis=1, keepdims=True) → x
            The mean was not taken off: that is RMSNorm.
        scores, -np.inf) → scores, 0.0)
            A masked score of 0 gets a weight; it should be −∞, or its weight 0.
        np.where(np.tri(len(x)) > 0, scores, -np.inf) → scores
        weights / weights.sum(axis=1, keepdims=True) → $ * np.tri(len(x))
            The weights were masked after the softmax: they no longer add up to 1.
        np.tri(len(x)) > 0 → np.tri(len(x)).T > 0
            Words attend to later ones, and not to those before them.
        np.sqrt(x.shape[1]) → np.sqrt(len(x))
            Scores are divided by √d, not by the root of the number of words.
        np.maximum(x @ w_in, 0) @ w_out → 0 * x
            The feed-forward layer is missing.
        x @ x.T → norm(x) @ norm(x).T
        norm(x + weights @ (x @ w_v)) → x + weights @ (norm(x) @ w_v)
        norm(x + np.maximum(x @ w_in, 0) @ w_out) → x + np.maximum(norm(x) @ w_in, 0) @ w_out
            Here the norms come after the sums, not before the sublayers.
        x @ x.T → (x := x @ w_v) @ x.T ;; weights @ (x @ w_v) → weights @ x
            Only the values are multiplied by w_v, not the vectors.
        x.mean(axis=1, keepdims=True) → x.mean(axis=0)
        (centred**2).mean(axis=1, keepdims=True) → (centred**2).mean(axis=0)
            The norm was taken over the words; each vector has its own.
        np.tri(len(x)) > 0 → np.tri(len(x), k=-1) + np.diag(np.arange(len(x)) == 0) > 0
            Each word attends to itself as well; here only the first one does.
    """,
)
def example(x: Array, w_v: Array, w_in: Array, w_out: Array) -> Array:
    """Final vectors of a block with one head, causal, with LayerNorm after both sums."""

    def norm(x: Array) -> Array:
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True))

    scores = x @ x.T / np.sqrt(x.shape[1])
    scores = np.where(np.tri(len(x)) > 0, scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    x = norm(x + weights @ (x @ w_v))
    return norm(x + np.maximum(x @ w_in, 0) @ w_out)


def _caches() -> Iterator[Case]:
    own = "Two equal scores: the mean of both values."
    yield case(q=[1.0], k=[2.0], v=[6.0], kept_k=[[2.0]], kept_v=[[4.0]], want=[5], why=own)
    empty: dict[str, Any] = {"kept_k": np.zeros((0, 2)), "kept_v": np.zeros((0, 1))}
    first = "The first word has no cache and gets its own value."
    yield case(q=[1.0, 2], k=[3.0, 4], v=[7.0], **empty, want=[7], why=first)
    for n, d, m in ((1, 3, 2), (4, 3, 2), (6, 2, 3)):
        q, k = integers(n, (2, d)) / 2
        keys, values = integers(d, (n, d)), integers(m, (n, m))
        yield case(q=q, k=k, v=integers(n + 9, (m,)), kept_k=keys, kept_v=values)
    for *kept, new in ((1998, 1999, 2000), (0, 1, 1000), (-2999, -2998, -3000), (2000, 0)):
        keys, values = np.array(kept, float)[:, None], np.arange(len(kept))[:, None] + 2.0
        yield case(q=[1.0], k=[float(new)], v=[1.0], kept_k=keys, kept_v=values, why=LARGE)
    q, k = integers(1, (2, 3))
    cache = {"kept_k": integers(2, (4, 3)), "kept_v": integers(3, (4, 2))}
    yield from promised(whole, q=q, k=k, v=integers(5, (2,)), **cache)


@exercise(
    "10.8",
    praise="An empty cache, caches of one to six words, and scores of thousands.",
    hints=(
        "Which words may the new one attend to? Itself is one of them.",
        "Put its key and value after those that were kept, then attend as ever.",
        "Keys times q over √d, their softmax, times the values; the new ones in the last rows.",
    ),
    cases=_caches,
    otherwise="The last word asks; all that was kept, and its own key and value, answer.",
    slips="""
        weights @ values → weights @ values[::-1]
            The values stand in reverse order beside their keys.
        np.concatenate([kept_k, k[None]]) → kept_k ;; np.concatenate([kept_v, v[None]]) → kept_v
            The new word does not attend to itself.
        np.concatenate([kept_k, k[None]]) → kept_k ;; np.concatenate([kept_v, v[None]]) → kept_v
        scores - scores.max() → scores
            The new word's own key and value are missing: it attends to itself, too.
        np.concatenate([kept_k, k[None]]) → kept_k ;; np.concatenate([kept_v, v[None]]) → kept_v
        scores - scores.max() → scores ;; weights / weights.sum() → $ if len(weights) else weights
        return weights @ values → return weights @ values + v
            The new word's own value was added whole; its weight comes from its key, like the rest.
        np.sqrt(len(q)) → len(q)
            Scores are divided by the root of d_k, not by d_k.
        keys @ q / np.sqrt(len(q)) → keys @ q
            The scores were not divided by √d_k.
        scores - scores.max() → scores
            exp(1000) is more than a float64 holds: measure all scores from the largest.
        scores.max() → scores[: max(len(kept_k), 1)].max()
            The largest score was sought among those that were kept; the new word's may be larger.
        scores.max() → scores[-1]
            The scores were measured from the new word's own, and another may be far larger.
        scores - scores.max() → np.clip(scores, -700, 700)
            Scores that are cut off at a bound lose their differences; only differences count.
        weights / weights.sum() → weights
            The weights do not add up to 1.
        keys @ q / np.sqrt(len(q)) → keys @ k / np.sqrt(len(q))
            The key was used to ask; the query asks.
        np.concatenate([kept_v, v[None]]) → np.concatenate([v[None], kept_v])
            Keys and values stand in different orders.
        np.concatenate([kept_k, k[None]]) → np.concatenate([k[None], kept_k])
            The new key stands first, and the new value last.
        np.sqrt(len(q)) → np.sqrt(len(keys))
            Scores are divided by √d_k, not by the root of the number of words.
        np.sqrt(len(q)) → np.sqrt(len(v))
            Scores are divided by √d_k; that was √d_v.
        weights @ values → values.mean(axis=0)
            All words got the same weight; the query decides.
        weights @ values → values[weights.argmax()]
            That is the value of one word; a mixture of all was asked for.
        return weights @ values → return weights
            Those are the weights; the values are to be mixed with them.
        weights @ values → weights @ values + v
            The new value was added once more; attention returns the weighted sum alone.
        np.concatenate([kept_k, k[None]]) → kept_k if len(kept_k) else k[None]
        np.concatenate([kept_v, v[None]]) → kept_v if len(kept_v) else v[None]
            The new word attends to the cache alone; its own key and value belong to them.
        keys @ q / → np.concatenate([kept_k, q[None]]) @ q /
            The query was compared with itself; the new word's key is what it is compared with.
        return weights @ values → w = weights[:-1] / max(weights[:-1].sum(), 1e-300); $
        weights @ values → (len(w) * (w @ kept_v) + v) / len(keys)
            The new value got as much weight as a word has on average; its score decides.
    """,
)
def attended(q: Array, k: Array, v: Array, kept_k: Array, kept_v: Array) -> Array:
    """What attention brings to a new word."""
    keys, values = np.concatenate([kept_k, k[None]]), np.concatenate([kept_v, v[None]])
    scores = keys @ q / np.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    weights = weights / weights.sum()
    return weights @ values
