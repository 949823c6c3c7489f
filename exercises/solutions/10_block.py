# %% [markdown]
# # Exercises for chapter 10: the block and the stack
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
# without solutions: {download}`10_block.ipynb <../10_block.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

x = np.array([[0.1, 1.0], [1.1, 0.0], [0.5, 0.7]])

# %% [markdown]
# The last line has the three vectors of “Buy milk and”. Each exercise has three hints. The first is
# a nudge, the last comes close to the answer. Ask for them one at a time: `hint("10.1")`, then
# `hint("10.1", 2)`.

# %%
hint("10.1")

# %% [markdown]
# ## 10.1 A block, two orders
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-10-1
# :nonumber:
#
# In this block the weights of attention are given as a table `mix` of shape `(T, T)`: attention
# returns `mix` times the vectors that it reads. The feed-forward layer has a ReLU and one bias,
# `b_in`, inside. Norm is RMSNorm with eps = 0 and without gain.
#
# Write `block(x, mix, w_in, b_in, w_out, order)` for vectors x of shape `(T, d)`, `w_in` of shape
# `(d, d_ff)`, `b_in` of shape `(d_ff,)` and `w_out` of shape `(d_ff, d)`. Return the vectors after
# the block. The order is `"pre"` or `"post"`.
# ```

# %%
def block(x, mix, w_in, b_in, w_out, order):
    """Vectors after the block: (T, d)."""
    ### BEGIN SOLUTION
    def norm(x):
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    if order == "pre":
        x = x + mix @ norm(x)
        return x + np.maximum(norm(x) @ w_in + b_in, 0) @ w_out
    x = norm(x + mix @ x)
    return norm(x + np.maximum(x @ w_in + b_in, 0) @ w_out)
    ### END SOLUTION


# %%
check("10.1", block)

# %% [markdown] exercise="why"
# With norms before, the sum itself is never normed, so a last norm has to stand after the stack.
# With norms after, the sublayers read what the norm before has left, and need none of their own.
# Without the bias the first of these two norms could be left out: the layer would give twice as
# much for a vector of twice the length, and the second norm would take that off again.

# %% [markdown]
# ## 10.2 Count the parameters
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-10-2
# :nonumber:
#
# A model of GPT-2's form: a vocabulary of N tokens, width d, L blocks, a table of n positions,
# biases everywhere but in the unembedding, four times as many hidden units as d, tied. LayerNorm
# with gain and bias stands before both sublayers of each block, and once more after the last block.
#
# Write `parameters(N, d, L, n)`. Return how many numbers it has, an int.
# ```

# %%
def parameters(N, d, L, n):
    """How many numbers the model has: an int."""
    ### BEGIN SOLUTION
    attention = 4 * d * d + 4 * d
    layer = 2 * d * 4 * d + 4 * d + d
    norms = 2 * 2 * d
    return N * d + n * d + L * (attention + layer + norms) + 2 * d
    ### END SOLUTION


# %%
check("10.2", parameters)

# %% [markdown] exercise="why"
# The number of heads does not occur: d_k times H is d, however it is cut.

# %% [markdown]
# ## 10.3 Count the operations
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-10-3
# :nonumber:
#
# A model of Llama's form, tied and without biases: a vocabulary of N tokens, width d, L blocks, H
# heads of width d_k on G groups of keys and values, gated layers with d_ff hidden units. Count
# additions and multiplications of all matrix products in a forward pass over T tokens: two for each
# entry of a matrix and each token. Scores and weighted sums are computed for all T² pairs, as
# programs do.
#
# Write `operations(T, N, d, L, H, G, d_k, d_ff)`. Return an int.
# ```

# %%
def operations(T, N, d, L, H, G, d_k, d_ff):
    """Operations of a forward pass over T words: an int."""
    ### BEGIN SOLUTION
    attention = 2 * d * d_k * H + 2 * d * d_k * G
    looking = 2 * T * d_k * H + 2 * T * d_k * H
    each = 2 * (attention + 3 * d * d_ff) + looking
    return T * (L * each + 2 * d * N)
    ### END SOLUTION


# %%
check("10.3", operations)

# %% [markdown] exercise="why"
# The embedding costs nothing when words are looked up, and 2 d N a word when logits are made.

# %% [markdown]
# ## 10.4 How far back?
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-10-4
# :nonumber:
#
# In every block of a decoder each token attends to itself and to the w − 1 tokens before it.
# Predict how many tokens can have an effect on the logits at position t. Positions count from 1.
#
# Write `reached(L, w, t)` for L blocks. Return an int.
# ```

# %%
def reached(L, w, t):
    """How many words count: an int."""
    ### BEGIN SOLUTION
    return min(t, 1 + L * (w - 1))
    ### END SOLUTION


# %%
check("10.4", reached)

# %% [markdown] exercise="why"
# A word that is seen brings what it has seen itself. So depth reaches farther than a window, by
# w − 1 words a block.

# %% [markdown]
# ## 10.5 A silent model
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-10-5
# :nonumber:
#
# A tied decoder has no positions, its blocks add nothing, and it ends with RMSNorm (eps = 0, no
# gain).
#
# Write `silent(E, w)` for a table E of shape `(N, d)` and the number w of the word that it has
# read. Return the logits of the next word, of shape `(N,)`.
# ```

# %%
def silent(E, w):
    """Logits after word w: (N,)."""
    ### BEGIN SOLUTION
    x = E[w] / np.sqrt((E[w] ** 2).mean())
    return E @ x
    ### END SOLUTION


# %%
check("10.5", silent)

# %% [markdown] exercise="why"
# Where all rows of E have one length and differ, the largest is that of w itself. Another word
# beats it if the length of its vector, times the cosine with the vector of w, exceeds the length of
# that.

# %% [markdown]
# ## 10.6 How long at the end?
#
# ```{exercise} ★★ core, 8 minutes
# :label: ex-10-6
# :nonumber:
#
# The first vectors have the mean square m. All matrices are drawn at random, independently and with
# mean 0. Each of the two sublayers of a block reads normed vectors and adds vectors of mean square
# a, if all matrices are drawn with one spread. With `narrow` those that write to the vectors are
# divided by √(2 L).
#
# Predict the expected mean square after L blocks, where L may be 0. Write
# `at_the_end(m, a, L, narrow)` with narrow True or False. Return a float.
# ```

# %%
def at_the_end(m, a, L, narrow):
    """Expected mean square: a float."""
    ### BEGIN SOLUTION
    if L == 0:
        return m
    return m + 2 * L * (a / (2 * L) if narrow else a)
    ### END SOLUTION


# %%
check("10.6", at_the_end)

# %% [markdown] exercise="why"
# To divide the spread by √(2 L) divides the mean square of what is added by 2 L, and 2 L such
# pieces add up to one whole.

# %% [markdown]
# ## 10.7 Milk and eggs, end to end
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-10-7
# :nonumber:
#
# A block as in the notes: one head, queries and keys are the vectors themselves, values are the
# vectors times `w_v`, a causal mask, scores over √d. LayerNorm (eps = 0, no gain, no bias) stands
# after both sums; the layer has a ReLU and no biases. Scores may be as large as a few thousand in
# size.
#
# Write `example(x, w_v, w_in, w_out)` for vectors x of shape `(T, d)`. Return the vectors after the
# block.
# ```

# %%
def example(x, w_v, w_in, w_out):
    """Vectors after the block: (T, d)."""
    ### BEGIN SOLUTION
    def norm(x):
        x = x - x.mean(axis=-1, keepdims=True)
        return x / np.sqrt((x**2).mean(axis=-1, keepdims=True))

    scores = x @ x.T / np.sqrt(x.shape[1])
    scores = np.where(np.tri(len(x)), scores, -np.inf)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    x = norm(x + weights @ (x @ w_v))
    return norm(x + np.maximum(x @ w_in, 0) @ w_out)
    ### END SOLUTION


# %%
check("10.7", example)

# %% [markdown] exercise="why"
# Try it with the vectors above and other matrices: of the two coordinates only their order is left
# after each norm.

# %% [markdown]
# ## 10.8 One word more
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-10-8
# :nonumber:
#
# The keys and values of S tokens are in a cache. A new token comes, with the query q, the key k and
# the value v.
#
# Write `attended(q, k, v, kept_k, kept_v)` for q and k of shape `(d_k,)`, v of shape `(d_v,)` and
# caches of shapes `(S, d_k)` and `(S, d_v)`, where S may be 0. Return the output of attention for
# the new token, of shape `(d_v,)`. Scores are divided by √d_k, and may be as large as a few
# thousand in size.
# ```

# %%
def attended(q, k, v, kept_k, kept_v):
    """What attention brings: (d_v,)."""
    ### BEGIN SOLUTION
    keys, values = np.vstack([kept_k, k]), np.vstack([kept_v, v])
    scores = keys @ q / np.sqrt(len(q))
    weights = np.exp(scores - scores.max())
    return weights @ values / weights.sum()
    ### END SOLUTION


# %%
check("10.8", attended)

# %% [markdown] exercise="why"
# The query is used once and never again: only keys and values are kept.
