# %% [markdown]
# # Exercises for chapter 5: masking
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
# without solutions: {download}`05_masking.ipynb <../05_masking.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

causal = np.tri(3, dtype=bool)

# %% [markdown]
# The last line makes the causal mask of three words. In every mask True means *may attend*. By the
# book's contract a fully masked row has the weights zero and the output zero. Each exercise has
# three hints. The first is a nudge, the last comes close to the answer. Ask for them one at a time:
# `hint("5.1")`, then `hint("5.1", 2)`.

# %%
hint("5.1")

# %% [markdown]
# ## 5.1 A mask after the fact
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-5-1
# :nonumber:
#
# You are shown the weights of a head that saw everything, and you have no scores. Predict its
# weights with a mask before the softmax.
#
# Write `with_mask(a, mask)` for weights of shape `(..., T, S)`, each row a softmax, and a mask that
# broadcasts to them. Return the masked weights. In a row that is not fully masked, the visible
# weights add up to at least 10⁻⁶.
# ```

# %%
def with_mask(a, mask):
    """The weights that the mask would have made: (..., T, S)."""
    ### BEGIN SOLUTION
    kept = np.where(mask, a, 0.0)
    total = kept.sum(axis=-1, keepdims=True)
    return kept / np.where(total == 0, 1, total)
    ### END SOLUTION


# %%
check("5.1", with_mask)

# %% [markdown] exercise="why"
# Masked weights are the old ones given that a visible key is drawn
# ({prf:ref}`thm-conditioning`). Scores are not needed: the softmax keeps their differences as
# ratios of weights. So to mask late and *divide again* is right on paper. In a program it fails
# where the visible weights have underflowed to zero.

# %% [markdown]
# ## 5.2 Reading the future
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-5-2
# :nonumber:
#
# In a head whose mask comes after the softmax, a row sees all keys but one. You hold the weights
# of that row, with a zero for the hidden key, and the scores of the visible keys. What is the score
# that you were not to see?
#
# Write `eavesdrop(a, scores, hidden)` for the late-masked weights of a row, shape `(S,)`, its
# scores, shape `(S,)`, and the position of the hidden key, counted from 0. The score at that
# position has been replaced by 0. Return the hidden score, a number. The hidden key's share was
# between 0.001 and 0.999. Visible scores may lie a thousand apart.
# ```

# %%
def eavesdrop(a, scores, hidden):
    """The score of the hidden key: a number."""
    ### BEGIN SOLUTION
    best = a.argmax()
    return scores[best] + np.log((1 - a.sum()) / a[best])
    ### END SOLUTION


# %%
check("5.2", eavesdrop)

# %% [markdown] exercise="why"
# What is missing from the sum is the share of the hidden key, and a ratio of two shares is the
# exponential of the difference of two scores. So a late mask does not blur the future: up to
# rounding, it tells the hidden score.

# %% [markdown]
# ## 5.3 Which mask is it?
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-5-3
# :nonumber:
#
# A library has an attention function with a mask inside, and its manual is silent. You can call it
# with queries, keys and values of your choice.
#
# Write `find_mask(attend, n)` for n from 1 to 30. The function `attend(q, k, v)` takes three tables
# with n rows each, q and k of one width, v of any, and returns its outputs, with the mask before
# the softmax. Return the mask, shape `(n, n)`, True where row t may attend to row s. The output of
# a fully masked row is zero.
# ```

# %%
def find_mask(attend, n):
    """The mask inside a function of attention: booleans (n, n)."""
    ### BEGIN SOLUTION
    nothing = np.zeros((n, 1))
    return attend(nothing, nothing, np.eye(n)) > 0
    ### END SOLUTION


# %%
check("5.3", find_mask)

# %% [markdown] exercise="why"
# With equal scores every visible key gets the same weight, and unit vectors as values make the
# output the table of weights. One call tells all. For a whole model, with layers and residual
# connections, there is no such shortcut: see exercise 5.6.

# %% [markdown]
# ## 5.4 Questions and answers, packed
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-5-4
# :nonumber:
#
# Several conversations are packed into one table. Each is a question followed by an answer. The
# question is read as a whole: every word of a conversation may attend to all words of its question.
# The answer is written word by word: each word of it is seen by itself and by the words after it in
# the same conversation, and by no earlier one. Conversations do not meet. Padding sees nothing and
# is seen by nobody.
#
# Write `conversation_mask(which, in_answer)`. The numbers `which`, shape `(..., T)`, say to which
# conversation each word belongs, and are −1 for padding; the booleans `in_answer`, shape
# `(..., T)`, are True for words of an answer. Return the mask, shape `(..., T, T)`. A conversation
# stands in one piece, its question or its answer may be empty, and conversations may stand in any
# order.
# ```

# %%
def conversation_mask(which, in_answer):
    """Who may attend to whom: booleans (..., T, T)."""
    ### BEGIN SOLUTION
    same = which[..., :, None] == which[..., None, :]
    real = which[..., None, :] >= 0
    earlier = np.tri(which.shape[-1], dtype=bool)
    return same & real & (earlier | ~in_answer[..., None, :])
    ### END SOLUTION


# %%
check("5.4", conversation_mask)

# %% [markdown] exercise="why"
# The sentence of the exercise *is* the formula: same conversation and not padding and (earlier or
# in the question). Because the same number is asked of both words, padding is excluded once.

# %% [markdown]
# ## 5.5 How many layers until it knows
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-5-5
# :nonumber:
#
# Through one layer a word knows what its mask shows; through two, what those words know. Predict
# for every pair of words how many layers it takes.
#
# Write `layers_needed(mask)` for a mask of shape `(T, T)` that is the same in all layers. Each
# layer has a residual connection, so that a row keeps what it knows. Return whole numbers of shape
# `(T, T)`: at t, s the smallest number of layers after which row t can know word s; 0 where s is t
# itself, and −1 if no number is enough. The check goes up to 40 words.
# ```

# %%
def layers_needed(mask):
    """Smallest number of layers from word s to row t: integers (T, T)."""
    ### BEGIN SOLUTION
    n = len(mask)
    known = np.eye(n, dtype=bool)
    needed = np.where(known, 0, -1)
    for layer in range(1, n):
        known = known | (mask @ known)
        needed[known & (needed < 0)] = layer
    return needed
    ### END SOLUTION


# %%
check("5.5", layers_needed)

# %% [markdown] exercise="why"
# It is the length of the shortest path ({prf:ref}`prop-paths`). A path that visits no word twice
# has at most T − 1 steps, so what T − 1 layers do not show, none will. With a window of w words the
# answer is the distance divided by w − 1, rounded up; a few words that all may attend to, and that
# attend to all, bring every pair within two.

# %% [markdown]
# ## 5.6 A leak detector
#
# ```{exercise} ★★★ challenge, 25 minutes
# :label: ex-5-6
# :nonumber:
#
# Here are five layers that somebody calls causal. The first subtracts from every row the mean of
# all rows. The second divides every column by its spread over the rows. The third masks its weights
# after the softmax. The fourth has a mask whose edge is off by one. The fifth computes its softmax
# with the largest score of the *whole* row subtracted first, hidden scores included. For scores
# of ordinary size one of the five is innocent. Which?
#
# Build a detector and find out. Write `leaks(layer, x)` for a layer, a function from tables like x
# to tables with as many rows, of any width, and a table x of shape `(T, d)`. Return booleans of
# shape `(T, T)`: True at t, s if row t of the output depends on the *later* row s of the input,
# s > t. The check has the five and twenty-four more. Suppose that row t depends on row s. Put a
# random row of standard normal numbers in the place of x[s]: with a chance of at least one half
# some number of output t moves by more than 10⁻⁶. So twenty such rows miss a leak once in a
# million times. Small steps may move nothing, for some of the layers round. Differences below 10⁻⁹
# are rounding errors, and outputs may be as large as a million.
# ```

# %%
def leaks(layer, x):
    """Where a later row leaks into an earlier one: booleans (T, T)."""
    ### BEGIN SOLUTION
    rng = np.random.default_rng(0)
    before, found = layer(x), np.zeros((len(x), len(x)), dtype=bool)
    for s in range(len(x)):
        for _ in range(40):
            other = np.array(x, dtype=float)
            other[s] = rng.standard_normal(x.shape[1])
            moved = np.abs(layer(other) - before).max(axis=-1)
            found[:, s] |= moved > 1e-8
    return np.triu(found, k=1)
    ### END SOLUTION


# %%
check("5.6", leaks)

# %% [markdown] exercise="why"
# The fifth is innocent: the shift cancels ({prf:ref}`thm-shift-invariance`), whatever it knows.
# (Unless a hidden score is so much larger that all visible exponentials underflow.) The two
# statistics are easily overlooked, because no mask is anywhere near them. A gradient
# would have missed the layer that rounds; an exchange of rows sees it. An exchange that changes a
# row only a little, or turns its sign, or changes one coordinate, misses others.

# %% [markdown]
# ## 5.7 Minus how much?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-5-7
# :nonumber:
#
# A program adds a number f to hidden scores where this book adds −∞. How large must it be?
# Predict it without trying.
#
# Write `fill(visible, hidden, share)` for the scores of the visible keys, shape `(n,)`, those of
# the hidden keys, shape `(m,)`, both not empty, and a number between 0 and 1. Return the f with
# which the hidden keys together get exactly this share of the weight. The share may be as small as
# 10⁻³⁰⁰, and scores may lie thousands from zero.
# ```

# %%
def fill(visible, hidden, share):
    """What is added to the hidden scores: a number."""
    ### BEGIN SOLUTION
    def lse(z):
        return z.max() + np.log(np.exp(z - z.max()).sum())

    return np.log(share) - np.log1p(-share) + lse(visible) - lse(hidden)
    ### END SOLUTION


# %%
check("5.7", fill)

# %% [markdown] exercise="why"
# The odds of the hidden keys are the ratio of two sums of exponentials, so their logarithm is a
# difference of two log-sum-exps. Without knowing the scores no number is safe. With scores of
# ordinary size −10⁹ is absurdly large, and it still does not help the row whose keys are all
# hidden.

# %% [markdown]
# ## 5.8 True means hide
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-5-8
# :nonumber:
#
# A program comes with masks of two kinds. One is either boolean, with True for *hide*, or
# *additive*, with 0 for *may attend* and −∞ for *hide*; it has the shape `(T, S)`. The other says
# which keys are padding: booleans of shape `(B, S)`, one row for each sentence of a batch. A key is
# visible if neither hides it.
#
# Write `may_look(attn_mask, key_padding)`. An additive mask may be of the type float32 or float64.
# Return booleans of shape `(B, T, S)`, True for *may attend*.
# ```

# %%
def may_look(attn_mask, key_padding):
    """One mask in the book's convention: booleans (B, T, S)."""
    ### BEGIN SOLUTION
    hides = attn_mask if attn_mask.dtype == bool else attn_mask < 0
    return ~(hides | key_padding[:, None, :])
    ### END SOLUTION


# %%
check("5.8", may_look)

# %% [markdown] exercise="why"
# Hidden by one *or* the other is visible by one *and* the other: De Morgan's law, in whichever
# convention you like. The middle axis stands for the queries. Put the padding there, and the real
# words read it.

# %% [markdown]
# ## 5.9 A thousand questions, one pass
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-5-9
# :nonumber:
#
# A causal stack has read a text once. Word 0 is the symbol for the start. Row t has seen words 0
# to t and holds the logits of the word that comes next. How likely was the text?
#
# Write `log_probability(logits, words)` for logits of shape `(..., T, N)` and words, whole numbers
# from 0 to N − 1, of shape `(..., T)` with T > 1. Return the logarithm of the probability of words
# 1 to T − 1 given word 0, shape `(...,)`. Logits may lie thousands apart.
# ```

# %%
def log_probability(logits, words):
    """Log-probability of each text, given its first word: (...,)."""
    ### BEGIN SOLUTION
    rows, following = logits[..., :-1, :], words[..., 1:, None]
    largest = rows.max(axis=-1, keepdims=True)
    terms = np.exp(rows - largest).sum(axis=-1, keepdims=True)
    lse = largest + np.log(terms)
    chosen = np.take_along_axis(rows, following, axis=-1)
    return (chosen - lse).sum(axis=(-2, -1))
    ### END SOLUTION


# %%
check("5.9", log_probability)

# %% [markdown] exercise="why"
# The answer to the question about word t + 1 stands in row t, and the last row answers a question
# about a word that is not there. Forget the shift, and the model is asked for the word that it has
# just been shown. That is a leak that no mask prevents.

# %% [markdown]
# ## 5.10 The newest words ask
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-5-10
# :nonumber:
#
# A model that writes keeps the keys and values of all earlier words. When T new words arrive, only
# they ask: the queries belong to the *last* T of S words.
#
# Write `newest(q, k, v)` for arrays of shape `(..., T, d_k)`, `(..., S, d_k)` and `(..., S, d_v)`
# with T ≤ S. Return the outputs of causal attention for these queries, shape `(..., T, d_v)`, with
# the scale $1/\sqrt{d_k}$. Scores may be of any finite size, thousands for instance, or as low as a
# float64 can be.
# ```

# %%
def newest(q, k, v):
    """Causal attention of the last T words of S: (..., T, d_v)."""
    ### BEGIN SOLUTION
    n, m = q.shape[-2], k.shape[-2]
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    scores = np.where(np.tri(n, m, m - n, dtype=bool), scores, -np.inf)
    terms = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return terms / terms.sum(axis=-1, keepdims=True) @ v
    ### END SOLUTION


# %%
check("5.10", newest)

# %% [markdown] exercise="why"
# Query t stands at position S − T + t of the text: the mask is a triangle in the lower right
# corner. With T = 1 it hides nothing at all, since the newest word may attend to everything. By
# {prf:ref}`thm-causal` the earlier rows need not be computed again: nothing new has reached them.
