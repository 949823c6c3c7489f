# %% [markdown]
# # Exercises for chapter 12: backpropagation through attention
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
# without solutions: {download}`12_backpropagation.ipynb <../12_backpropagation.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

rng = np.random.default_rng(0)
x = rng.standard_normal((5, 8))

# %% [markdown]
# The last line makes five vectors of width 8, to try things on. A name that begins with d is a
# gradient: `dy` has the shape of `y`. Each exercise has three hints. The first is a nudge, the last
# comes close to the answer. Ask for them one at a time: `hint("12.1")`, then `hint("12.1", 2)`.

# %%
hint("12.1")

# %% [markdown]
# ## 12.1 A linear step
#
# ```{exercise} ★ warm-up, 6 minutes
# :label: ex-12-1
# :nonumber:
#
# Write `linear_back(x, w, dy)` for the step `y = x @ w + b` with x of shape `(n, d)` and w of
# shape `(d, m)`. Return the three gradients `dx`, `dw` and `db`.
# ```

# %%
def linear_back(x, w, dy):
    """Gradients of vectors, matrix and bias: (n, d), (d, m), (m,)."""
    ### BEGIN SOLUTION
    return dy @ w.T, x.T @ dy, dy.sum(axis=0)
    ### END SOLUTION


# %%
check("12.1", linear_back)

# %% [markdown] exercise="why"
# The shapes nearly decide it. Matrix and bias are used once for each word, and the gradients of
# uses add up: no factor 1/n stands before the sum.

# %% [markdown]
# ## 12.2 Who receives a gradient?
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-12-2
# :nonumber:
#
# A decoder has `n_blocks` blocks, perhaps none. In each block a word attends to itself and to the
# `window - 1` words before it. All parameters are random. The loss is that of the prediction at
# position t alone. Predict whether the vector that enters the stack at position s receives a
# gradient other than 0.
#
# Write `receives(t, s, n_blocks, window)`. Return True or False.
# ```

# %%
def receives(t, s, n_blocks, window):
    """Whether position s receives a gradient from position t: a bool."""
    ### BEGIN SOLUTION
    return 0 <= t - s <= n_blocks * (window - 1)
    ### END SOLUTION


# %%
check("12.2", receives)

# %% [markdown] exercise="why"
# A gradient goes back wherever a change went forward. Each block reaches window − 1 words further.
# A position that a mask hides receives nothing.

# %% [markdown]
# ## 12.3 A loss
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-12-3
# :nonumber:
#
# Write `loss_back(z, words)` for logits of shape `(n, N)` and the n words that came, as whole
# numbers. Logits are from −1000 to 1000. Return the gradient of the *mean* cross-entropy with
# respect to the logits.
# ```

# %%
def loss_back(z, words):
    """Gradient of the mean cross-entropy: (n, N)."""
    ### BEGIN SOLUTION
    e = np.exp(z - z.max(axis=1, keepdims=True))
    p = e / e.sum(axis=1, keepdims=True)
    p[np.arange(len(z)), words] -= 1
    return p / len(z)
    ### END SOLUTION


# %%
check("12.3", loss_back)

# %% [markdown] exercise="why"
# It is the prediction minus the target, and 1/n for the mean. A row adds up to 0: what one logit
# should gain the others should lose.

# %% [markdown]
# ## 12.4 Attention
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-12-4
# :nonumber:
#
# Write `attention_back(q, k, v, dy)` for attention without a mask, with scores divided by the root
# of the width of the keys. Scores are from −1000 to 1000. Return `dq`, `dk` and `dv`.
# ```

# %%
def attention_back(q, k, v, dy):
    """Gradients of queries, keys and values, in their shapes."""
    ### BEGIN SOLUTION
    root = np.sqrt(q.shape[1])
    s = q @ k.T / root
    e = np.exp(s - s.max(axis=1, keepdims=True))
    a = e / e.sum(axis=1, keepdims=True)
    da = dy @ v.T
    ds = a * (da - (a * da).sum(axis=1, keepdims=True))
    return ds @ k / root, ds.T @ q / root, a.T @ dy
    ### END SOLUTION


# %%
check("12.4", attention_back)

# %% [markdown] exercise="why"
# The backward pass has four products, the forward pass two. The sum that is subtracted belongs to
# the row of one query. With a single key it leaves nothing.

# %% [markdown]
# ## 12.5 A table used twice
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-12-5
# :nonumber:
#
# A tied table E of shape `(N, d)` is looked up, `E[tokens]`, and used as unembedding,
# `z = x @ E.T`.
#
# Write `table_back(tokens, dx, x, dz)`. Here dx is the gradient of the vectors that were looked
# up, x are the vectors that the unembedding reads, and dz is the gradient of the logits z. Return
# the gradient of the table.
# ```

# %%
def table_back(tokens, dx, x, dz):
    """Gradient of the tied table: (N, d)."""
    ### BEGIN SOLUTION
    table = (dz.T @ x).astype(float)  # whole numbers have no room for parts
    np.add.at(table, tokens, dx)
    return table
    ### END SOLUTION


# %%
check("12.5", table_back)

# %% [markdown] exercise="why"
# The lookup scatters: every position adds to the row of its word. `table[tokens] += dx` would add
# only once to a word that occurs twice. The unembedding gives every word of the vocabulary a
# gradient, also those that do not occur.

# %% [markdown]
# ## 12.6 The best step
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-12-6
# :nonumber:
#
# Each value of a function is off by at most eps. For a central quotient, m bounds the third
# derivative; for a one-sided one, $( f(x + h) - f(x) ) / h$, m bounds the second, and its error is
# at most $m h / 2 + 2\, \text{eps} / h$. Predict the step at which the bound is least.
#
# Write `best_step(eps, m, central)`. Return a float.
# ```

# %%
def best_step(eps, m, central):
    """Step at which the bound is least: a float."""
    ### BEGIN SOLUTION
    return (3 * eps / m) ** (1 / 3) if central else 2 * (eps / m) ** 0.5
    ### END SOLUTION


# %%
check("12.6", best_step)

# %% [markdown] exercise="why"
# The central quotient can afford a larger step, since its error grows with h² only, and a larger
# step suffers less from rounding.

# %% [markdown]
# ## 12.7 What is kept?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-12-7
# :nonumber:
#
# A stack has `n_layers` blocks of width d with d_ff = 4 d. As in the chapter, a block keeps 16 T d
# + H T² numbers of a text. With `every = 0` all of them are kept. Otherwise only the vectors before
# each group of `every` blocks are kept (all groups are full). In the backward pass the blocks of
# one group at a time are run again, and all their numbers kept until the group is done.
#
# Predict the largest number that is kept at a time: when the last group has been run again, with
# the vectors before all groups. (So those before the last group are counted twice: as kept
# vectors, and among the numbers of its first block.)
#
# Write `kept_numbers(T, d, n_heads, n_layers, every)`. Return an int.
# ```

# %%
def kept_numbers(T, d, n_heads, n_layers, every):
    """Numbers kept of a text: an int."""
    ### BEGIN SOLUTION
    block = 16 * T * d + n_heads * T**2
    if every == 0:
        return n_layers * block
    return n_layers // every * T * d + every * block
    ### END SOLUTION


# %%
check("12.7", kept_numbers)

# %% [markdown] exercise="why"
# A table of vectors is a sixteenth of a block or less. So groups of one block are best for stacks
# of up to 32 blocks; see the deeper page.

# %% [markdown]
# ## 12.8 A colleague's mistake
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-12-8
# :nonumber:
#
# A colleague hands in the gradient ds of a table of scores. You know a, the softmax of each row of
# scores, and da, the gradient of a. Find out how ds was computed: `"right"`; `"no sum"` (nothing is
# subtracted from da); `"wrong axis"` (the subtracted sum runs over the queries); `"no softmax"`
# (ds is da); `"turned"` (the right one with the other sign).
#
# Write `slip(a, da, ds)` for tables of shape `(T, S)`. Return one of these five strings. Two
# ways to add up the same numbers may differ in the last digits. Gradients may be as small as 10⁻¹².
# ```

# %%
def slip(a, da, ds):
    """How ds was computed: a str."""
    ### BEGIN SOLUTION
    right = a * (da - (a * da).sum(axis=1, keepdims=True))
    wrong = a * (da - (a * da).sum(axis=0, keepdims=True))
    tables = {"right": right, "no sum": a * da, "wrong axis": wrong}
    tables |= {"no softmax": da, "turned": -right}
    near = 1e-9 * np.abs(da).max()
    for name, table in tables.items():
        if np.allclose(ds, table, atol=near):
            return name
    ### END SOLUTION


# %%
check("12.8", slip)

# %% [markdown] exercise="why"
# Make each mistake on purpose, and compare. The chapter's table does this for 32 mistakes and a
# whole model.
