# %% [markdown]
# # Exercises for chapter 3: queries, keys and values
#
# Each exercise asks for one function. Write it, run its cell, then run the check below it. The
# check tries your function on small inputs and larger ones, and tells you the first thing that is
# wrong, with numbers that you can redo on paper. Any correct way of computing the answer will do.
# Keep the name. A `NameError` means that its cell has not been run, or that the name has changed.
# Numbers that are whole may come as integers, alone or in arrays.
#
# One star (★) marks a warm-up, two the core of the chapter, three a challenge. The minutes are
# what a reader needs who has just read the chapter.

# %% [markdown] exercise="book"
# Solutions are folded away below each exercise. To work on them yourself, take the notebook
# without solutions: {download}`03_attention.ipynb <../03_attention.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

q = np.array([[1.0]])
k = np.log([[1.0], [2.0], [3.0]])
v = np.array([[6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])

# %% [markdown]
# The last lines make the worked example of the chapter: one query, three keys, three values, and
# the output (4, 5). Unless an exercise says otherwise, the scale is $1/\sqrt{d_k}$, where $d_k$ is
# the width of the queries, and scores may be of any finite size: the checks try thousands, and rows
# of scores that lie thousands apart. Each exercise has three hints. The first is a nudge, the last
# comes close to the answer. Ask for them one at a time: `hint("3.1")`, then `hint("3.1", 2)`.

# %%
hint("3.1")

# %% [markdown]
# ## 3.1 One word is exchanged
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-3-1
# :nonumber:
#
# In one head of a first layer, “it” gives the words of a sentence the weights a. Then one word is
# exchanged for another, *tired* for *wide* perhaps, and you are told how much weight the new one
# gets. You see neither queries nor keys. Predict the whole row.
#
# Write `after(a, j, share)` for weights of shape `(S,)` with $S > 1$. Word j, counted from 0, is
# the one that is exchanged; it is not the query's own word, and it did not have all the weight. The
# new word gets the weight `share`, at least 0 and less than 1. Return the new weights, shape
# `(S,)`. Hidden words have the weight 0. Weights of 0 and 1 may also come as integers.
# ```

# %%
def after(a, j, share):
    """The row after word j was exchanged for one that gets `share`.

    (S,) to (S,).
    """
    ### BEGIN SOLUTION
    row = a * (1 - share) / (1 - a[j])
    row[j] = share
    return row
    ### END SOLUTION


# %%
check("3.1", after)

# %% [markdown] exercise="why"
# The ratio of two weights knows the query and two keys ({prf:ref}`prop-only-pairs`). So all the
# others are multiplied by one number, and as the row adds up to one, you know which. A single
# number tells all that the new word can do to this row.

# %% [markdown]
# ## 3.2 One sentence reads another
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-3-2
# :nonumber:
#
# In a translation each word of the new sentence attends to the old one. The two have different
# lengths, and different words ask and answer.
#
# Write `read(x, memory, w_q, w_k, w_v)`. The rows of x, shape `(..., T, d)`, give the queries; the
# rows of memory, shape `(..., S, d)`, give the keys and the values. The matrices have shapes
# `(d, d_k)`, `(d, d_k)` and `(d, d_v)`. Return the outputs, shape `(..., T, d_v)`.
# ```

# %%
def read(x, memory, w_q, w_k, w_v):
    """Attention from x to memory.

    (..., T, d) and (..., S, d) to (..., T, d_v).
    """
    ### BEGIN SOLUTION
    scores = (x @ w_q) @ (memory @ w_k).mT / np.sqrt(w_q.shape[-1])
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True) @ (memory @ w_v)
    ### END SOLUTION


# %%
check("3.2", read)

# %% [markdown] exercise="why"
# This is cross-attention. Given the same sentence twice, `read(x, x, …)`, it is self-attention:
# the formula does not know where its memory comes from.

# %% [markdown]
# ## 3.3 Better than the mixture
#
# ```{exercise} ★ warm-up, 12 minutes
# :label: ex-3-3
# :nonumber:
#
# A query gave the weights a to some keys, and their values were mixed into an output. The loss
# tells the output which way to move. Which scores will rise, if one small step of gradient descent
# is made on the scores of this query? Try to say it without a derivative of the softmax.
#
# Write `rises(a, v, grad)` for weights of shape `(S,)`, all of them positive and some as small as a
# millionth, values of shape `(S, d_v)`, and the derivatives of the loss with respect to the output,
# shape `(d_v,)`. Return an array of shape `(S,)` that is True where the score rises, however
# slowly, and False where it falls. The check has no score that stays where it is.
# ```

# %%
def rises(a, v, grad):
    """Which scores rise in a step of descent.

    (S,), (S, d_v) and (d_v,) to booleans (S,).
    """
    ### BEGIN SOLUTION
    return v @ grad < a @ v @ grad
    ### END SOLUTION


# %%
check("3.3", rises)

# %% [markdown] exercise="why"
# More of one value means less of all the others, in proportion to their weights: the output moves
# along the way from the mixture to that value. The loss falls if the value is better than the
# mixture, whether it is good or bad by itself. The weight says how fast the score moves, and never
# which way; a key that has hardly any weight hardly learns.

# %% [markdown]
# ## 3.4 Hidden keys
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-3-4
# :nonumber:
#
# Masking is deleting: a query's output should be what it would be if the hidden keys did not
# exist. What if none is left?
#
# Write `masked_attention(q, k, v, mask)` for arrays of shape `(..., T, d_k)`, `(..., S, d_k)` and
# `(..., S, d_v)`. The mask is boolean, True where query t may attend to key s, and broadcasts to
# `(..., T, S)`. Return the outputs, shape `(..., T, d_v)`. The query of a fully masked row gets
# zeros. A visible score may be as low as −10¹⁰, and a hidden one as high as it likes.
# ```

# %%
def masked_attention(q, k, v, mask):
    """Attention to the keys that the mask allows: (..., T, d_v)."""
    ### BEGIN SOLUTION
    scores = np.where(mask, q @ k.mT / np.sqrt(q.shape[-1]), -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    terms = np.exp(scores - np.where(np.isfinite(largest), largest, 0))
    total = terms.sum(axis=-1, keepdims=True)
    return terms / np.where(total == 0, 1, total) @ v
    ### END SOLUTION


# %%
check("3.4", masked_attention)

# %% [markdown] exercise="why"
# A score of −∞ gives a weight of exactly 0, so the hidden key is absent from the numerator and
# from the sum. Only a fully masked row needs care, once before the subtraction and once before the
# division.

# %% [markdown]
# ## 3.5 Sharp enough to look up
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-3-5
# :nonumber:
#
# As β grows, attention turns into a dictionary. A very large β is no good for learning, so one
# wants just enough of it.
#
# Write `beta_for_lookup(scores, v, eps)` for scores of shape `(S,)`, one of them larger than all
# others, and values of shape `(S, d_v)`. Return a β for which the mean of the values, weighted by
# the softmax of β times the scores, lies within eps of the value of the best key. Your β may not
# be larger than the one that the theorem on hard lookup asks for: the first of the chapter's deeper
# page. It needs the margin of the best score, and how far the farthest value lies from the best
# key's. Some other value differs from the best key's by more than eps.
# ```

# %%
def beta_for_lookup(scores, v, eps):
    """Inverse temperature that brings the output near the best value.

    A number.
    """
    ### BEGIN SOLUTION
    margin = np.diff(np.sort(scores)[-2:])[0]
    farthest = np.linalg.norm(v - v[scores.argmax()], axis=-1).max()
    return np.log((len(scores) - 1) * farthest / eps) / margin
    ### END SOLUTION


# %%
check("3.5", beta_for_lookup)

# %% [markdown] exercise="why"
# The bound falls exponentially, so each further digit of accuracy costs the same addition to β:
# about 2.3 divided by the margin. The margin counts most, since it divides everything.

# %% [markdown]
# ## 3.6 A distance inside a dot product
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-3-6
# :nonumber:
#
# With keys of equal length, attention is regression with a Gaussian kernel. Places on a line are
# keys of very different lengths. Can a dot product measure their distances all the same?
#
# Write `lifted(t, x, h)` for places t to ask about, shape `(T,)`, places x that were seen, shape
# `(S,)`, and the width h of the kernel. Return two tables, queries of shape `(T, d_k)` and keys of
# shape `(S, d_k)` with a $d_k$ of your choice, such that the softmax of `q @ k.T` (with scale 1)
# gives the weights of the Gaussian kernel: $e^{-(t - x)^2 / (2 h^2)}$, each row divided by its sum.
# Places may be a hundred widths away from each other.
# ```

# %%
def lifted(t, x, h):
    """Queries (T, d_k), keys (S, d_k) for a Gaussian kernel of width h."""
    ### BEGIN SOLUTION
    queries = np.stack([t / h, np.ones_like(t)], axis=-1)
    keys = np.stack([x / h, -((x / h) ** 2) / 2], axis=-1)
    return queries, keys
    ### END SOLUTION


# %%
check("3.6", lifted)

# %% [markdown] exercise="why"
# In $-(t - x)^2 / (2h^2)$ the term $-t^2/(2h^2)$ is the same for all keys and cancels in the
# softmax. What remains is $tx/h^2 - x^2/(2h^2)$, linear in the pair $(x, -x^2/(2h^2))$. One more
# coordinate lets a key pay for its length.

# %% [markdown]
# ## 3.7 Equivariant, invariant or neither
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-3-7
# :nonumber:
#
# You are handed a layer and may not attend inside. Does it care about the order of its rows?
#
# Write `kind_of(layer, x)`. The layer is a function that takes a table of the shape of x,
# `(T, d)`, and returns a table with as many rows. Return `"equivariant"` if a shuffle of the rows
# of x shuffles the rows of the output alike, `"invariant"` if it leaves the output as it was, and
# `"neither"` otherwise; *shuffle* means any permutation. The check has five rows, all different. No
# layer of it is both; where one is neither, outputs differ by 0.001 or more.
# ```

# %%
def kind_of(layer, x):
    """How a layer answers to a shuffle of its rows: one of three words."""
    ### BEGIN SOLUTION
    rng = np.random.default_rng(0)
    orders = [rng.permutation(len(x)) for _ in range(50)]
    output = layer(x)
    if all(np.allclose(layer(x[order]), output[order]) for order in orders):
        return "equivariant"
    if all(np.allclose(layer(x[order]), output) for order in orders):
        return "invariant"
    return "neither"
    ### END SOLUTION


# %%
check("3.7", kind_of)

# %% [markdown] exercise="why"
# A test by examples can refute a symmetry and never prove one for all inputs; fifty random
# permutations leave little room for doubt. One permutation is too few: a window that runs round in
# a circle respects all shifts, and a symmetric window respects the reversal.

# %% [markdown]
# ## 3.8 Two thin matrices for one taste
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-3-8
# :nonumber:
#
# A head pairs words by the bilinear form $M = W_Q W_K^\top$ and by nothing else. Suppose that you
# know which taste you want. Which two matrices give it?
#
# Write `factors(taste, width)` for a table of shape `(d, d)` whose rank is at most `width`. Return
# `w_q` and `w_k`, both of shape `(d, width)`, whose product $W_Q W_K^\top$ is the table. The table
# need not be symmetric. The width may be larger than the rank, and larger than d.
# ```

# %%
def factors(taste, width):
    """Matrices (d, width) for queries and keys with the taste (d, d)."""
    ### BEGIN SOLUTION
    u, sigma, vt = np.linalg.svd(taste)
    n = min(width, len(taste))
    w_q, w_k = np.zeros((2, len(taste), width))
    w_q[:, :n] = u[:, :n] * sigma[:n]
    w_k[:, :n] = vt[:n].T
    return w_q, w_k
    ### END SOLUTION


# %%
check("3.8", factors)

# %% [markdown] exercise="why"
# The singular values may go to either matrix, or in halves to both: any invertible matrix R turns
# $W_Q$, $W_K$ into $W_Q R$, $W_K R^{-\top}$ with the same product. A trained head has many pairs
# of matrices and one taste.

# %% [markdown]
# ## 3.9 How many pairs fit
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-3-9
# :nonumber:
#
# The retrieval theorem of the deeper page bounds the weight of the right key for a given number of
# pairs. A builder asks the other way round: how many pairs may I store?
#
# Write `pairs_that_fit(d, beta, share)`. Keys are random sign vectors of width d, and the scores
# are β times the cosine. Return the largest number n of pairs for which the bound of the theorem
# is at least `share`, a number between 0 and 1. It may exceed 10¹², too many to count up to, β may
# be in the thousands, and with β = 0 all keys weigh the same.
# ```

# %%
def pairs_that_fit(d, beta, share):
    """Number of pairs for which the right key keeps its share on average.

    An integer.
    """
    ### BEGIN SOLUTION
    other = ((1 + np.exp(-2 * beta / d)) / 2) ** d
    return int(1 + (1 / share - 1) / other)
    ### END SOLUTION


# %%
check("3.9", pairs_that_fit)

# %% [markdown] exercise="why"
# On average each wrong key weighs `other` times as much as the right one. Doubling the width at
# the same $\beta / d$ squares that number, so the room for pairs is squared too: capacity grows
# exponentially with the width.

# %% [markdown]
# ## 3.10 A veto
#
# ```{exercise} ★★ core, 20 minutes
# :label: ex-3-10
# :nonumber:
#
# No head of a first layer can turn. Several side by side can, if each prefers the nouns of one kind
# and is silenced by an adjective of another. The chapter shows keys that do it for six kinds. Why
# are they 8, 16 and −40? Build your own for any number of kinds.
#
# Write `veto_keys(n)` for n kinds, from 2 to 7. Return an array of shape `(2 n, n)`. Column h is
# the $W_K$ of head h, of key width 1. Row i is what a noun of kind i has, row n + i what an
# adjective adds to its key for each kind i that it speaks of. The query of “it” is 1, so scores are
# keys. In a sentence of 12 to 20 words stand “it”, a noun of kind i, a noun of another kind, and an
# adjective that speaks of kind i and of at most one kind more, not the other noun's. All other
# words, “it” among them, have the key 0. Averaged over all heads, the noun of kind i should get at
# least 0.9/n, nearly all that its own head has to give, and at least five times the weight of the
# other noun.
# ```

# %%
def veto_keys(n):
    """Keys of nouns and adjectives of n kinds in n heads: (2 n, n)."""
    ### BEGIN SOLUTION
    nouns = 8 * np.eye(n)
    adjectives = 16 - 56 * np.eye(n)
    return np.concatenate([nouns, adjectives])
    ### END SOLUTION


# %%
check("3.10", veto_keys)

# %% [markdown] exercise="why"
# Eight lifts a noun above twenty words of key 0: $e^8$ is about three thousand. Sixteen lifts an
# adjective as far above the noun. And −40 + 16 is far below 0, so that an adjective of two kinds
# does not silence the heads of which it speaks. At −16 it would have the key 0 there, which does
# no harm yet; at −6 it would have 10, and draw the weight. The mean turns, and no head has changed
# its ratio.

# %% [markdown]
# ## 3.11 Two numbers are enough
#
# ```{exercise} ★★★ challenge, 25 minutes
# :label: ex-3-11
# :nonumber:
#
# Every word of a small vocabulary has another word that it looks for: a verb its noun, a pronoun
# its name. Build a head by hand that finds it, however few numbers its keys have.
#
# Write `lookup_layer(partner)` for an array of N whole numbers, N from 2 to 12; word i looks for
# word `partner[i]`. Return two arrays of shape `(N, 2)`, whose rows i are the query and the key of
# word i. With scale $1/\sqrt 2$, and in any sentence of at most 20 of these words, each word should
# give at least 0.999 of its weight to the word it looks for, if that stands in the sentence (in one
# place or in several). Several words may look for the same one, and a word may look for itself.
# ```

# %%
def lookup_layer(partner):
    """Queries and keys by which word i attends to word partner[i]."""
    ### BEGIN SOLUTION
    angle = 2 * np.pi * np.arange(len(partner)) / len(partner)
    w_k = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return 200 * w_k[partner], w_k
    ### END SOLUTION


# %%
check("3.11", lookup_layer)

# %% [markdown] exercise="why"
# Keys on a circle have equal length, so each is the best match for its own direction. The lead
# over a neighbour is only $1 - \cos(2\pi/N)$, and long queries make up for that. With one-hot rows
# for the words, the two arrays are the matrices $W_Q$ and $W_K$; with the identity as $W_V$ every
# word copies the word it looks for. More width does not make more lookups possible. It makes them
# possible with shorter vectors.

# %% [markdown]
# ## 3.12 Read the sentence back
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-3-12
# :nonumber:
#
# After a causal layer each row is a mixture of all words up to its own. One might think that a
# mixture keeps the words secret. Does it, if the weights are known?
#
# Write `recover(a, y, table)`. The table of embeddings has shape `(N, d_v)`, one row for each word
# of a vocabulary, and all rows differ, some in one coordinate only. The values of a sentence of T
# words were rows of this table; y, shape `(T, d_v)`, is the output of causal attention with the
# weights a, shape `(T, T)`. Return the words, as places in the table, shape `(T,)`.
# ```

# %%
def recover(a, y, table):
    """Words of a sentence from its weights (T, T) and outputs (T, d_v).

    An array (T,).
    """
    ### BEGIN SOLUTION
    values = np.linalg.solve(a, y)
    gaps = values[:, np.newaxis] - table
    return (gaps**2).sum(axis=-1).argmin(axis=-1)
    ### END SOLUTION


# %%
check("3.12", recover)

# %% [markdown] exercise="why"
# Causal weights form a triangle with a positive diagonal, because each word may attend to itself
# and softmax leaves no weight at zero. Such a table has an inverse, so nothing is lost, up to
# rounding. Mixing is not forgetting.
