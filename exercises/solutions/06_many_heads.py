# %% [markdown]
# # Exercises for chapter 6: many heads
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
# without solutions: {download}`06_many_heads.ipynb <../06_many_heads.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

y = np.array([[[2.0, 1.0]], [[1.0, 3.0]]])
w_o = np.array([[1.0, 2, 0], [0, 1, 1], [2, 0, 1], [1, 1, 0]])

# %% [markdown]
# The last lines are the example of the chapter's first figure: two heads with an output of width 2
# for a single word, and a $W_O$ that writes rows of width 3. Together they give (7, 8, 2). Each
# exercise has three hints. The first is a nudge, the last comes close to the answer. Ask for them
# one at a time: `hint("6.1")`, then `hint("6.1", 2)`.

# %%
hint("6.1")

# %% [markdown]
# ## 6.1 One head is switched off
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-6-1
# :nonumber:
#
# You know the output of a layer and the output of one of its heads. Now this head is switched
# off: its output is zero. Predict what the layer returns. You cannot run the other heads again.
#
# Write `without(out, y, w_o, h)`. The output of the layer is `out`, shape `(..., T, d_model)`.
# The outputs of all heads are y, shape `(..., H, T, d_v)`, but only that of head h can be used:
# the others are lost, and hold NaN. The matrix `w_o` has the shape `(H * d_v, d_model)`. As an
# index in Python, h is 0 for the first head. Return the new output, shape `(..., T, d_model)`.
# ```


# %%
def without(out, y, w_o, h):
    """Output of the layer without head h: (..., T, d_model)."""
    ### BEGIN SOLUTION
    d_v = y.shape[-1]
    return out - y[..., h, :, :] @ w_o[h * d_v : (h + 1) * d_v]
    ### END SOLUTION


# %%
check("6.1", without)

# %% [markdown] exercise="why"
# The layer is a sum ({prf:ref}`thm-sum-of-heads`), so we can subtract what the head has added.
# Nothing else is needed. In a trained model this is *ablation*: subtract a head, and see what the
# rest of the model says.

# %% [markdown]
# ## 6.2 Cut into heads
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-6-2
# :nonumber:
#
# One product makes the queries of all heads at once. The first head has the first d_k columns,
# the second head the next d_k, and so on.
#
# Write `split_heads(x, n_heads)` for x of shape `(..., T, H * d_k)`, with H = `n_heads`. Return
# the tables of all heads, shape `(..., H, T, d_k)`.
# ```


# %%
def split_heads(x, n_heads):
    """Tables of all heads.

    (..., T, H * d_k) to (..., H, T, d_k).
    """
    ### BEGIN SOLUTION
    cut = x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads)
    return np.moveaxis(cut, -2, -3)
    ### END SOLUTION


# %%
check("6.2", split_heads)

# %% [markdown] exercise="why"
# Splitting an axis and moving an axis are two steps. A single `reshape` can do the first only. It
# reads the numbers in the order in which they are stored, word by word, and so gives the first
# head numbers of the first words only.

# %% [markdown]
# ## 6.3 The bill
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-6-3
# :nonumber:
#
# A layer of width `d_model` has H = `n_heads` heads and G = `n_groups` tables of keys and values,
# with $d_k = d_v = d_{\text{model}} / H$ and without biases. It has read a text of n tokens, and
# every token attends to every token. Predict what it costs.
#
# Write `bill(d_model, n_heads, n_groups, n)`. Return three numbers: the parameters of the layer,
# the numbers in its cache (keys and values of all tokens), and the number of attention weights.
# ```


# %%
def bill(d_model, n_heads, n_groups, n):
    """Parameters, numbers in the cache, entries of all weights."""
    ### BEGIN SOLUTION
    kept = d_model * n_groups // n_heads  # columns of keys, and of values
    return 2 * d_model * (d_model + kept), 2 * n * kept, n_heads * n * n
    ### END SOLUTION


# %%
check("6.3", bill)

# %% [markdown] exercise="why"
# With $G = H$ the parameters are $4 d_{\text{model}}^2$, whatever H is. Sharing makes two of the
# four matrices narrower by the factor $G/H$, and the cache too. It does not change the number of
# attention weights: each head still has its own.

# %% [markdown]
# ## 6.4 A layer of heads
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-6-4
# :nonumber:
#
# Put the layer together, from matrices that hold all heads side by side.
#
# Write `layer(x, w_q, w_k, w_v, w_o, n_heads)` for x of shape `(..., T, d)`, matrices of shapes
# `(d, H * d_k)`, `(d, H * d_k)`, `(d, H * d_v)` and `(H * d_v, d)`, and H = `n_heads`. Head h has
# the columns, or rows, number h of H equal blocks. Return self-attention without a mask, scaled by
# $1/\sqrt{d_k}$, of shape `(..., T, d)`.
# ```


# %%
def layer(x, w_q, w_k, w_v, w_o, n_heads):
    """Multi-head self-attention: (..., T, d)."""
    ### BEGIN SOLUTION
    parts = [np.split(w, n_heads, axis=1) for w in (w_q, w_k, w_v)]
    blocks = np.split(w_o, n_heads)
    total = 0
    for q, k, v, o in zip(*parts, blocks, strict=True):
        scores = (x @ q) @ (x @ k).mT / np.sqrt(q.shape[1])
        terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
        a = terms / terms.sum(axis=-1, keepdims=True)
        total = total + a @ (x @ v) @ o
    return total
    ### END SOLUTION


# %%
check("6.4", layer)

# %% [markdown] exercise="why"
# The sum over heads is the definition. Fast programs make one product for all heads, split,
# attend with a further axis, and merge: the same numbers in larger pieces.

# %% [markdown]
# ## 6.5 The same head?
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-6-5
# :nonumber:
#
# Two heads have different matrices. Do they add the same to every sentence?
#
# Write `same_head(one, other)`. Each head is a list of four arrays: $W_Q$ and $W_K$ of shape `(d,
# d_k)`, $W_V$ of shape `(d, d_v)` and its block of $W_O$ of shape `(d_v, d)`. Both heads work on
# rows of the same width d, but their $d_k$ and $d_v$ may differ. Each scales by the root of its
# own $d_k$. Return True if they add the same to every sentence, and False if not. The numbers of
# the matrices are of ordinary size, and where heads differ, they do so by much more than rounding.
# ```


# %%
def same_head(one, other):
    """Whether two heads are the same function."""

    ### BEGIN SOLUTION
    def circuits(w_q, w_k, w_v, w_o):
        return w_q @ w_k.T / np.sqrt(w_q.shape[1]), w_v @ w_o

    (m, u), (m_other, u_other) = circuits(*one), circuits(*other)
    if not np.allclose(u, u_other):
        return False
    return bool(np.allclose(u, 0) or np.allclose(m, m_other))
    ### END SOLUTION


# %%
check("6.5", same_head)

# %% [markdown] exercise="why"
# A head is two matrices ({prf:ref}`thm-two-matrices`). If it writes nothing, it does not matter
# where it attends. Comparing the four factors entry by entry does not answer the question: many
# factors give the same two matrices.

# %% [markdown]
# ## 6.6 Heads move house
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-6-6
# :nonumber:
#
# Somebody has sorted the heads of a trained layer by what they seem to do: the head with the new
# index h had the index `order[h]` before. The matrices for queries, keys and values are in the
# new order. $W_O$ was forgotten, and the model writes nonsense.
#
# Write `mended(w_o, order)` for the old `w_o`, shape `(H * d_v, d)`, and `order`, an array of H
# numbers that holds each of 0 to H − 1 once. Return the $W_O$ with which the layer computes what
# it did before, shape `(H * d_v, d)`.
# ```


# %%
def mended(w_o, order):
    """W_O for heads in a new order: (H * d_v, d)."""
    ### BEGIN SOLUTION
    blocks = w_o.reshape(len(order), -1, w_o.shape[1])
    return blocks[order].reshape(w_o.shape)
    ### END SOLUTION


# %%
check("6.6", mended)

# %% [markdown] exercise="why"
# In a sum the order of the terms does not matter; a head and its block must stay together. So
# "head 7 of layer 3" names a place in a file. Two trainings of one model have no reason to put
# the same head there.

# %% [markdown]
# ## 6.7 Shared keys
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-6-7
# :nonumber:
#
# In grouped-query attention H heads share G tables of keys and values, and consecutive heads
# share: with six heads and two tables, the first three heads use the first table.
#
# Write `grouped(q, k, v)` for queries of shape `(..., H, T, d_k)`, keys `(..., G, S, d_k)` and
# values `(..., G, S, d_v)`, where G divides H. Return the outputs of all heads, shape `(..., H, T,
# d_v)`.
# ```


# %%
def grouped(q, k, v):
    """Grouped-query attention: (..., H, T, d_v)."""
    ### BEGIN SOLUTION
    times = q.shape[-3] // k.shape[-3]
    k, v = (np.repeat(table, times, axis=-3) for table in (k, v))
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True) @ v
    ### END SOLUTION


# %%
check("6.7", grouped)

# %% [markdown] exercise="why"
# Repeating is easy to read, but it copies the keys that sharing was meant to save. Without
# copies: give the queries a further axis, `(..., G, H // G, T, d_k)`, and let keys and values
# broadcast along it.

# %% [markdown]
# ## 6.8 One key for all
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-6-8
# :nonumber:
#
# H heads with keys of their own should become a multi-query layer, with one table of keys. Every
# head should keep its attention weights in every sentence. So the one key has to be wider.
#
# Write `one_key(w_q, w_k)` for arrays of shape `(H, d, d_k)`. Return two arrays: the queries'
# matrices of the new layer, shape `(H, d, H * d_k)`, and the keys' matrix of all heads, shape
# `(d, H * d_k)`. The new layer scales its scores by the root of its own key width, H d_k.
# ```


# %%
def one_key(w_q, w_k):
    """Matrices of a multi-query layer with the same weights.

    (H, d, d_k) twice to (H, d, H * d_k) and (d, H * d_k).
    """
    ### BEGIN SOLUTION
    n_heads, d, d_k = w_q.shape
    wide = np.zeros((n_heads, d, n_heads, d_k))
    for h in range(n_heads):
        wide[h, :, h] = w_q[h] * np.sqrt(n_heads)
    return wide.reshape(n_heads, d, -1), np.concatenate(list(w_k), axis=-1)
    ### END SOLUTION


# %%
check("6.8", one_key)

# %% [markdown] exercise="why"
# Nothing is saved: the cache holds as many numbers as before, and the queries are H times as
# wide, mostly zeros. A multi-query layer saves only as much as the heads' keys have in common. If
# the H matrices $W_K$ together have a rank of less than H d_k, a narrower key would do.

# %% [markdown]
# ## 6.9 As few heads as possible
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-6-9
# :nonumber:
#
# A kind of noun belongs to a head if its nouns have the higher of two scores there. So each of n
# kinds has a set of heads (see the picture on the deeper page, *Sets of heads*). For the veto, no
# kind may belong to all the heads of another. Different sets are not enough: a kind that belongs
# to all the heads of another can never lose to it.
#
# Write `belongs(n)` for n from 2 to 40. Return an array of True and False of shape `(H, n)`, with
# the least possible number H of heads: True where a kind (column) belongs to a head (row).
# ```


# %%
def belongs(n):
    """Which kinds belong to which heads, with the fewest heads.

    An array (H, n).
    """
    ### BEGIN SOLUTION
    n_heads = 1
    while True:
        heads = np.arange(n_heads)[:, None]
        every = np.arange(2**n_heads) >> heads & 1  # a column for each set
        half = every[:, every.sum(axis=0) == n_heads // 2]
        if half.shape[1] >= n:
            return half[:, :n].astype(bool)
        n_heads += 1
    ### END SOLUTION


# %%
check("6.9", belongs)

# %% [markdown] exercise="why"
# By {prf:ref}`thm-sperner` there is no larger family than all sets of half the heads. So forty
# kinds fit into eight heads: seven have room for 35.

# %% [markdown]
# ## 6.10 Who and whom
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-6-10
# :nonumber:
#
# A word's vector has m columns of content, then three marks (nominative, accusative, verb), each 0
# or 1, and then 2m empty columns: m for *who* and m for *whom*. The verb has to collect the content
# of the nominative in the first slot and that of the accusative in the second. Other words have a
# content and no mark.
#
# Write `collect(m)`. Return four arrays for two heads, with shapes `(2, d, d_k)`, `(2, d, d_k)`,
# `(2, d, d_v)` and `(2, d_v, d)`, where d = 3m + 3, with any $d_k$ and $d_v$. Scaled by
# $1/\sqrt{d_k}$, the layer should write the two contents into the slots of the verb, up to 0.001,
# and nothing into its other columns. Contents are numbers between −1 and 1, sentences have up to
# 20 words, and the verb has a content as well.
# ```


# %%
def collect(m):
    """W_Q, W_K, W_V and W_O of two heads that collect who and whom."""
    ### BEGIN SOLUTION
    d = 3 * m + 3
    w_q, w_k = np.zeros((2, d, 1)), np.zeros((2, d, 1))
    w_v, w_o = np.zeros((2, d, m)), np.zeros((2, m, d))
    w_q[:, m + 2] = 20
    w_v[:, :m] = np.eye(m)
    for h in (0, 1):
        w_k[h, m + h] = 1
        w_o[h, :, m + 3 + h * m : m + 3 + (h + 1) * m] = np.eye(m)
    return w_q, w_k, w_v, w_o
    ### END SOLUTION


# %%
check("6.10", collect)

# %% [markdown] exercise="why"
# A score of 20 leaves less than $20 e^{-20}$ for all other words. Each head attends by the mark
# and copies the content. Its block of $W_O$ writes where the other head does not. By
# {prf:ref}`thm-one-answer` no single head of this kind could write both.

# %% [markdown]
# ## 6.11 Two heads, any number of kinds
#
# ```{exercise} ★★★ challenge, 25 minutes
# :label: ex-6-11
# :nonumber:
#
# With two scores in a head, two heads serve two kinds. With many scores they serve any number:
# one head prefers the kinds more and more, the other less and less. Which scores must an
# adjective have?
#
# Write `graded(n)` for n from 2 to 8. Return scores of shape `(2, 2 n)`: those that “it” gives in
# two heads to nouns of the n kinds, then to adjectives that say them. A sentence has nouns of two
# different kinds, an adjective that says the kind of one of them, and up to 12 other words of
# score 0. Averaged over the two heads, the noun that fits should always get at least 1.01 times
# the weight of the other.
# ```


# %%
def graded(n):
    """Scores of nouns and adjectives of n kinds in two heads: (2, 2 n)."""
    ### BEGIN SOLUTION
    angle = np.pi / 2 * (np.arange(n) + 0.5) / n
    nouns = np.log([np.sin(angle), np.cos(angle)])
    return np.concatenate([nouns, 12 - nouns], axis=1)
    ### END SOLUTION


# %%
check("6.11", graded)

# %% [markdown] exercise="why"
# In each head the adjective's score is high where that of its kind is low, and low where it is
# high. So the sum of a noun's two weights becomes a dot product of two directions, largest where
# they agree. The margin is $1/\cos$ of the angle between neighbours, and shrinks as kinds are
# added.
