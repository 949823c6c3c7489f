# %% [markdown]
# # Exercises for chapter 16: cost
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
# without solutions: {download}`16_cost.ipynb <../16_cost.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

k = np.array([[1.0, 2], [2, 1], [3, 3]])

# %% [markdown]
# The last line holds features of three keys, to try things on. Each exercise has three hints. The
# first is a nudge, the last comes close to the answer. Ask for them one at a time: `hint("16.1")`,
# then `hint("16.1", 2)`.

# %%
hint("16.1")

# %% [markdown]
# ## 16.1 From which word on?
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-16-1
# :nonumber:
#
# A decoder has L layers, each with H heads of width $d_k$, and all its matrices have c entries
# together. In a pass over few words the matrices usually take most operations. In a long one
# attention does, by its scores and its sums of values. Predict from how many words on.
#
# Write `overtakes(c, L, H, d_k)` for whole numbers from 1 on, c at most $10^{12}$. Return two whole
# numbers. Each is the least number of words, 1 or more, with which attention takes at least as many
# operations as the matrices: first if each word attends to all words, then if scores of later words
# are not computed.
# ```

# %%
def overtakes(c, L, H, d_k):
    """Words from which on attention takes as much: two whole numbers."""
    ### BEGIN SOLUTION
    width = L * H * d_k
    everything = int(np.ceil(c / (2 * width)))
    earlier = int(np.ceil(c / width)) - 1
    return everything, max(earlier, 1)
    ### END SOLUTION


# %%
check("16.1", overtakes)

# %% [markdown] exercise="why"
# Attention takes 4 L H d_k operations for each pair of words, and the matrices take 2 c for each
# word. With all pairs, T² of them, both are equal at T = c / (2 L H d_k). Without later words there
# are T (T + 1) / 2 pairs, and T + 1 takes the place of 2 T.

# %% [markdown]
# ## 16.2 Room for the cache
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-16-2
# :nonumber:
#
# Many models save memory in their cache. `n_global` layers keep the keys and values of all words;
# `n_local` layers have a window of r words, and keep those of the last r words only, or of all
# words while there are no more than r. Each layer has G groups, that is, G keys and G values of
# width $d_k$ for each word that it keeps, in float16. Predict how long texts may grow.
#
# Write `words_that_fit(room, n_global, n_local, r, G, d_k, B)`. There are `room` bytes for the
# caches of B texts of the same length. Return the largest number of words that each may have: 0 if
# not even one fits, `np.inf` if any number does. All arguments are whole numbers, `room` is from 0
# to $10^{15}$, the two numbers of layers may be 0, though not both, and the others are 1 or more.
# ```

# %%
def words_that_fit(room, n_global, n_local, r, G, d_k, B):
    """The most words that each text may have."""
    ### BEGIN SOLUTION
    entries = room // (4 * G * d_k * B)  # words, over all layers
    short = entries // (n_global + n_local)
    if short < r:
        return short
    return (entries - n_local * r) // n_global if n_global else np.inf
    ### END SOLUTION


# %%
check("16.2", words_that_fit)

# %% [markdown] exercise="why"
# While texts are no longer than the window, all layers keep all words. Later a local layer keeps r
# words and grows no more, so each further word needs room in the global layers alone. With five
# local layers for each global one, long texts come close to six times as long in the same room.

# %% [markdown]
# ## 16.3 Operations or bytes?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-16-3
# :nonumber:
#
# In a microsecond a machine makes at most F operations and moves at most D bytes, both at the same
# time. It multiplies n rows of a numbers by a matrix of shape (a, b). Each number has w bytes;
# rows, matrix and products are moved once each. Predict how long that takes, and from how many rows
# on the processor is busy all the time.
#
# Write `waits(n, a, b, w, F, D)` for whole numbers from 1 on, F and D at most $10^{12}$. Return two
# numbers: the microseconds that the product takes at least, and the number of rows with which
# operations and bytes take equally long. That need not be a whole number. It is `np.inf` if bytes
# take longer for every number of rows.
# ```

# %%
def waits(n, a, b, w, F, D):
    """Least time, and rows at which both take as long: two numbers."""
    ### BEGIN SOLUTION
    time = max(2 * n * a * b / F, w * (n * a + a * b + n * b) / D)
    gain = 2 * a * b / F - w * (a + b) / D  # of operations, with each row
    return time, w * a * b / D / gain if gain > 0 else np.inf
    ### END SOLUTION


# %%
check("16.3", waits)

# %% [markdown] exercise="why"
# The matrix is moved once for all rows, and each further row adds operations and a few bytes of its
# own. If the matrix is narrow, these few already take longer than the operations; then the
# processor waits however many rows there are. Then it helps to make two products in one program,
# which does not move what is between them.

# %% [markdown]
# ## 16.4 Parts that come finished
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-16-4
# :nonumber:
#
# The keys of a long text lie on several machines. Each has computed attention over its own keys and
# returns two things for every row: the output $y$, that is, the values weighted by the softmax over
# its keys, and $\lambda = \log \sum_s e^{x_s}$ over its scores. Put them together.
#
# Write `joined(y, lam)` for n parts and T rows, `y` of shape `(n, T, d_v)` and `lam` of shape
# `(n, T)`, both n and T at least 1. Return two arrays, the output over all keys, of shape
# `(T, d_v)`, and λ of all keys, of shape `(T,)`. A machine without a key for a row returns the
# output 0 and $\lambda = -\infty$; if all do, return these two for the row. Else λ is from $-10^5$
# to $10^5$.
# ```

# %%
def joined(y, lam):
    """Output and λ over the keys of all parts: (T, d_v) and (T,)."""
    ### BEGIN SOLUTION
    whole = np.logaddexp.reduce(lam, axis=0)
    shares = np.exp(lam - np.where(whole > -np.inf, whole, 0))
    return (shares[:, :, None] * y).sum(axis=0), whole
    ### END SOLUTION


# %%
check("16.4", joined)

# %% [markdown] exercise="why"
# (λ, 1, y) is a state of a part's keys, as {prf:ref}`thm-merge` allows any number for m. Shares of
# parts are a softmax over their λ. So a machine that has the queries need not send keys or scores,
# only d_v + 1 numbers a row; some programs spread long texts over machines in this way.

# %% [markdown]
# ## 16.5 One query, any blocks
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-16-5
# :nonumber:
#
# Keys and values of a text come in blocks, and each block can be seen once. One query attends to
# them. Some keys are hidden by a mask, perhaps all keys of a block, perhaps those of the first.
#
# Write `attended(q, blocks)` for a query of shape `(d_k,)` and an iterator over triples
# `(k, v, keep)`, of shapes `(S, d_k)`, `(S, d_v)` and `(S,)`. S differs from block to block and may
# be 0. The query attends to the keys where `keep` is True. Return the output of attention over all
# of
# them, of shape `(d_v,)`, with scores divided by $\sqrt{d_k}$, or zeros if there is no such key.
# Scores, those of hidden keys too, are from $-10^5$ to $10^5$. There is at least one block. Keep no
# more than one in memory.
# ```

# %%
def attended(q, blocks):
    """Attention of one query to keys that come in blocks: (d_v,)."""
    ### BEGIN SOLUTION
    top, total, output = -np.inf, 0.0, 0.0
    for k, v, keep in blocks:
        scores = np.where(keep, k @ q / np.sqrt(len(q)), -np.inf)
        new = max(top, scores.max(initial=-np.inf))
        level = new if new > -np.inf else 0.0
        shrink, terms = np.exp(top - level), np.exp(scores - level)
        top, total = new, shrink * total + terms.sum()
        output = shrink * output + terms @ v
    return output / total if total > 0 else output
    ### END SOLUTION


# %%
check("16.5", attended)

# %% [markdown] exercise="why"
# Three things are kept: the largest score, the sum of the exponentials below it, and the values
# summed with them. When a larger score comes, sum and output shrink by one factor. A block without
# an unmasked key changes nothing; its largest score is −∞, and −∞ must not be subtracted.

# %% [markdown]
# ## 16.6 The way back, one block
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-16-6
# :nonumber:
#
# A causal head has read T words. For each row two numbers have been kept: $\lambda_t$, the
# logarithm of the sum of its exponentials, and $\delta_t = u_t \cdot y_t$, the upstream gradient
# times the output. Now the gradient is computed, a block of keys at a time. Row t stands at
# position t, and the keys of this block at the positions `start`, `start + 1` and so on; a query
# attends to keys up to its own position. Scores are divided by $\sqrt{d_k}$.
#
# Write `block_gradients(q, k, v, u, lam, delta, start)` for `q` of shape `(T, d_k)`, all queries;
# `k` and `v` of shapes `(S, d_k)` and `(S, d_v)`, those of the block; `u` of shape `(T, d_v)`;
# `lam` and `delta` of shape `(T,)`. The block lies within the text. Return three arrays of the
# shapes of `q`, `k` and `v`: what this block adds to the gradient of the queries, and the gradients
# of its keys and values. Scores, those with later keys too, are from $-10^4$ to $10^4$.
# ```

# %%
def block_gradients(q, k, v, u, lam, delta, start):
    """What a block adds to the gradients: like q, like k, like v."""
    ### BEGIN SOLUTION
    scale = q.shape[1] ** -0.5
    earlier = start + np.arange(len(k)) <= np.arange(len(q))[:, None]
    scores = np.where(earlier, scale * q @ k.T, -np.inf)
    weights = np.exp(scores - lam[:, None])
    grads = scale * weights * (u @ v.T - delta[:, None])
    return grads @ k, grads.T @ q, weights.T @ u
    ### END SOLUTION


# %%
check("16.6", block_gradients)

# %% [markdown] exercise="why"
# λ and δ hold all that a block must know of the rest of the row. The sum over the row that the
# gradient of a softmax needs is δ, whichever keys are in the block; so blocks may come in any
# order, and what they add to the queries' gradient is summed.

# %% [markdown]
# ## 16.7 A recurrence that forgets
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-16-7
# :nonumber:
#
# Linear attention adds pair after pair to one table, and nothing is ever removed. A cure: let what
# is older fade. A word that stands n positions back counts $\gamma^n$ times, in the numerator and
# in the denominator:
#
# $$
# y_t = \frac{\sum_{s \le t} \gamma^{t - s} (q_t \cdot k_s)\, v_s}{\sum_{s \le t} \gamma^{t - s}\,
# q_t \cdot k_s} .
# $$
#
# Write `faded(q, k, v, gamma, state, total)`. `q` and `k`, of shape `(T, d)`, hold features
# already, from 0.01 to 100; `v` has the shape `(T, d_v)`, and γ is from 0 to 1. T words follow on a
# text of which `state`, of shape `(d, d_v)`, and `total`, of shape `(d,)`, have been kept: the sums
# of $\gamma^{t - s} k_s^\top v_s$ and of $\gamma^{t - s} k_s$ at its last word t, both 0 at the
# beginning of a text. Return three arrays: the rows $y$ of these T words, in which all words before
# count, and state and total after them. T is from 0 to 2000; $0^0$ is 1.
# ```

# %%
def faded(q, k, v, gamma, state, total):
    """Rows, state and total after T words: (T, d_v), (d, d_v) and (d,)."""
    ### BEGIN SOLUTION
    rows = np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        state = gamma * state + np.outer(k[t], v[t])
        total = gamma * total + k[t]
        rows[t] = q[t] @ state / (q[t] @ total)
    return rows, state, total
    ### END SOLUTION


# %%
check("16.7", faded)

# %% [markdown] exercise="why"
# One more place back for everything is one multiplication of the table. Words of long ago make room
# for new ones, and with γ below 1 the sums of bounded terms stay bounded, which helps in few bits.
# Some models with a recurrence in the place of attention find a γ for each word, from the word.

# %% [markdown]
# ## 16.8 Two texts, one state
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-16-8
# :nonumber:
#
# Linear attention has read n pairs of a key and a value, and kept $R = \sum_s k_s^\top v_s$ and
# $z = \sum_s k_s$. A later query sees R and z and nothing else. Show that the state does not
# determine the values: find other values for the same keys that leave the same state.
#
# Write `twin(k, v)` for features of keys, of shape `(n, d)`, between 0.01 and 10, and values of
# shape `(n, d_v)`, from −10 to 10. n is larger than d and at most 300; some keys may be equal.
# Return other values, of shape `(n, d_v)`, with the same R. At least one number has to differ by 1
# or more from what it is in `v`, and none may differ by more than 100.
# ```

# %%
def twin(k, v):
    """Other values that leave the same state: (n, d_v)."""
    ### BEGIN SOLUTION
    unseen = np.linalg.svd(k.T)[2][-1]  # k.T @ unseen = 0, as n > d
    return v + (unseen / np.abs(unseen).max())[:, None]
    ### END SOLUTION


# %%
check("16.8", twin)

# %% [markdown] exercise="why"
# kᵀ has more columns than rows, so something is sent to 0: a change of values that the state does
# not see. Every answer to every query is the same for both texts, whatever is done with the state
# later. Of n values at most d can be read back for sure; softmax attention keeps them all, and pays
# with a cache that grows.
