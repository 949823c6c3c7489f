# %% [markdown]
# # Exercises for chapter 11: three architectures
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
# without solutions: {download}`11_three_architectures.ipynb <../11_three_architectures.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

# %% [markdown]
# Each exercise has three hints. The first is a nudge, the last comes close to the answer. Ask for
# them one at a time: `hint("11.1")`, then `hint("11.1", 2)`.

# %%
hint("11.1")

# %% [markdown]
# ## 11.1 Three masks
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-11-1
# :nonumber:
#
# Write `mask_of(form, n, n_prefix)` for the forms `"encoder"`, `"decoder"` and `"prefix"`. Return a
# table of True and False, shape `(n, n)`: True in row t and column s if word t may attend to word
# s.
# In a prefix decoder each word sees the first `n_prefix` words (0 to n of them) and the words up to
# itself. The two other forms ignore `n_prefix`.
# ```


# %%
def mask_of(form, n, n_prefix):
    """Who may attend to whom: (n, n)."""
    ### BEGIN SOLUTION
    t, s = np.arange(n)[:, None], np.arange(n)
    if form == "encoder":
        return np.ones((n, n), dtype=bool)
    causal = s <= t
    return causal | (s < n_prefix) if form == "prefix" else causal
    ### END SOLUTION


# %%
check("11.1", mask_of)

# %% [markdown] exercise="why"
# The three are one family. A prefix of no word is the decoder, a prefix of all words the encoder
# ({prf:ref}`prop-one-stack`).

# %% [markdown]
# ## 11.2 Who is moved?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-11-2
# :nonumber:
#
# An encoder–decoder reads S source words and has T target words, with two blocks on either side.
# You replace one word. Predict which vectors after the last blocks may change: the encoder's
# vectors first, then the decoder's.
#
# Write `moved(n_source, n_target, text, place)`, where text is `"source"` or `"target"` and place
# counts in that text from 0. Return True and False, shape `(n_source + n_target,)`.
# ```


# %%
def moved(n_source, n_target, text, place):
    """Which vectors may change: (n_source + n_target,)."""
    ### BEGIN SOLUTION
    rows = np.zeros(n_source + n_target, dtype=bool)
    if text == "source":
        rows[:] = True
    else:
        rows[n_source + place :] = True
    return rows
    ### END SOLUTION


# %%
check("11.2", moved)

# %% [markdown] exercise="why"
# Information flows from the source to the target and never back. This is why the source is encoded
# once, however much is written ({prf:ref}`thm-who-knows`).

# %% [markdown]
# ## 11.3 The best guess
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-11-3
# :nonumber:
#
# All texts are equally likely. For each text we know its beginning and its right answer, both as
# whole numbers from 0 to 10⁸.
#
# Write `best_guess(beginnings, answers)` for two arrays of shape `(n,)`, n at least 1. Return the
# largest share of right answers that a function of the beginning can reach.
# ```


# %%
def best_guess(beginnings, answers):
    """The largest share of right answers."""
    ### BEGIN SOLUTION
    right = 0
    for one in np.unique(beginnings):
        here = answers[beginnings == one]
        _, counts = np.unique(here, return_counts=True)
        right += counts.max()
    return right / len(answers)
    ### END SOLUTION


# %%
check("11.3", best_guess)

# %% [markdown] exercise="why"
# No causal model that is read at this place does better, however large it is
# ({prf:ref}`thm-best-guess`).

# %% [markdown]
# ## 11.4 The least loss
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-11-4
# :nonumber:
#
# Take the same texts. A model knows only the beginning, and gives each answer a probability. Its
# loss on a text is −ln of the probability of the right answer.
#
# Write `least_loss(beginnings, answers)`. Return the least mean loss over all texts that such a
# model can have, in nats.
# ```


# %%
def least_loss(beginnings, answers):
    """The entropy of the answer, given the beginning."""
    ### BEGIN SOLUTION
    total = 0.0
    for one in np.unique(beginnings):
        here = answers[beginnings == one]
        _, counts = np.unique(here, return_counts=True)
        total -= (counts * np.log(counts / counts.sum())).sum()
    return total / len(answers)
    ### END SOLUTION


# %%
check("11.4", least_loss)

# %% [markdown] exercise="why"
# If the mean loss over all texts falls below this number, something leaks: the model has seen more
# than the beginning.

# %% [markdown]
# ## 11.5 Cross-attention
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-11-5
# :nonumber:
#
# Write `cross(x, memory, w_q, w_k, w_v)`, one head of cross-attention: x has the shape `(T, d)`,
# memory `(S, d)`, the matrices `(d, d_k)`, `(d, d_k)` and `(d, d_v)`. Return its output, shape
# `(T, d_v)`. The scores are divided by √d_k and are between −100 and 100.
# ```


# %%
def cross(x, memory, w_q, w_k, w_v):
    """One head that attends to a memory: (T, d_v)."""
    ### BEGIN SOLUTION
    q, k, v = x @ w_q, memory @ w_k, memory @ w_v
    scores = q @ k.T / np.sqrt(k.shape[-1])
    terms = np.exp(scores)
    return terms / terms.sum(axis=-1, keepdims=True) @ v
    ### END SOLUTION


# %%
check("11.5", cross)

# %% [markdown] exercise="why"
# No word of the memory is earlier or later than a query, so there is no causal mask. The output has
# one row for each query.

# %% [markdown]
# ## 11.6 The share of the source
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-11-6
# :nonumber:
#
# A prefix decoder reads source and target in a row. A query gives scores `a` to the words of the
# source, shape `(..., S)`, and `b` to the visible words of the target, shape `(..., T)`, S and T at
# least 1.
#
# Write `share(a, b)`. Return the part of the query's weight that goes to the source, shape `(...)`.
# Scores may be as large as a few thousand in size; no warning may appear, and no NaN.
# ```


# %%
def share(a, b):
    """The weight on the source: (...)."""
    ### BEGIN SOLUTION
    top = np.maximum(a.max(axis=-1), b.max(axis=-1))[..., None]
    source = np.exp(a - top).sum(axis=-1)
    own = np.exp(b - top).sum(axis=-1)
    return source / (source + own)
    ### END SOLUTION


# %%
check("11.6", share)

# %% [markdown] exercise="why"
# In an encoder–decoder both attentions count in full. In a single stack they compete, and with
# equal
# scores the longer text gets the larger share ({prf:ref}`prop-joint`).

# %% [markdown]
# ## 11.7 The bill
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-11-7
# :nonumber:
#
# S words are given, and n are written after them, both at least 1. Predict how many vectors go
# through the stack.
#
# Write `rows(form, n_source, n_tokens)`. The form is `"anew"`: for each word an encoder reads all
# words so far and a blank after them. Or `"cache"`: a decoder with a cache of keys and values. Or
# `"pair"`: an encoder–decoder whose decoder has a cache and begins with a sign for the start; count
# the vectors of both. Return an int.
# ```


# %%
def rows(form, n_source, n_tokens):
    """Vectors that go through a stack."""
    ### BEGIN SOLUTION
    if form == "anew":
        return sum(n_source + i for i in range(1, n_tokens + 1))
    return n_source + n_tokens - (form == "cache")
    ### END SOLUTION


# %%
check("11.7", rows)

# %% [markdown] exercise="why"
# The last word never goes through the decoder, because nobody asks what comes after it
# ({prf:ref}`prop-rows`).

# %% [markdown]
# ## 11.8 What a second layer can tell
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-11-8
# :nonumber:
#
# A stack has the same mask in each block, and each block adds its result to its vectors. Predict
# which words a vector can know after two blocks, and not after one.
#
# Write `news(mask)` for a table of True and False of shape `(n, n)`, not always with a full
# diagonal. Return such a table: True in row t and column s if the vector of word t can depend on
# word s after two blocks, and cannot after one.
# ```


# %%
def news(mask):
    """What two blocks can tell and one cannot: (n, n)."""
    ### BEGIN SOLUTION
    one = mask | np.eye(len(mask), dtype=bool)
    two = one.astype(int) @ one.astype(int) > 0
    return two & ~one
    ### END SOLUTION


# %%
check("11.8", news)

# %% [markdown] exercise="why"
# For the masks of all architectures of the chapter the answer has no True. It has some for a window
# of two words or more, if the text is longer than the window.
