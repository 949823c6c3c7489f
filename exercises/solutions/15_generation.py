# %% [markdown]
# # Exercises for chapter 15: generation
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
# without solutions: {download}`15_generation.ipynb <../15_generation.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

p = np.array([0.25, 0.5, 0, 0.25])

# %% [markdown]
# The last line holds probabilities of four words, to try things on. Each exercise has three hints.
# The first is a nudge, the last comes close to the answer. Ask for them one at a time:
# `hint("15.1")`, then `hint("15.1", 2)`.

# %%
hint("15.1")

# %% [markdown]
# ## 15.1 Warmer and colder
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-15-1
# :nonumber:
#
# A page prints the probabilities of the next word at temperature 1; the logits are unknown. Predict
# the probabilities at temperature τ, from 0 to ∞. At 0 and at ∞ take the limits.
#
# Write `temper(p, tau)` for probabilities of shape `(..., N)`, each row of which adds up to 1; some
# may be 0, and some may be equal. Return an array of the same shape. τ is one number, `np.inf` for
# ∞, and if it is above 0 it is 0.001 or more. There are at most 1000 words.
# ```

# %%
def temper(p, tau):
    """Probabilities at another temperature: (..., N)."""
    ### BEGIN SOLUTION
    likeliest = p.max(axis=-1, keepdims=True)
    if tau == 0:
        found = (p == likeliest).astype(float)
    else:
        found = np.where(p > 0, (p / likeliest) ** (1 / tau), 0)
    return found / found.sum(axis=-1, keepdims=True)
    ### END SOLUTION


# %%
check("15.1", temper)

# %% [markdown] exercise="why"
# Logits are known up to a constant: they are ln p. So temperature raises probabilities to the power
# 1/τ. Which word is the likeliest never changes. A word that cannot come stays out at every
# temperature, which is why heat alone makes no nonsense out of a model that excludes it.

# %% [markdown]
# ## 15.2 Who stays?
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-15-2
# :nonumber:
#
# Top-p keeps the likeliest words until their probabilities together reach a share, and the word
# with which they reach it stays as well. Words that tie share one fate: if one of them stays, all
# do. A word of probability 0 never stays.
#
# Write `kept(p, share)` for probabilities of shape `(N,)`, and a share above 0 and at most 1.
# Probabilities and shares are such that sums of them are exact. Return an array of N times True or
# False: whether word i stays.
# ```

# %%
def kept(p, share):
    """Which words stay with top-p: (N,) True or False."""
    ### BEGIN SOLUTION
    return np.array([p[p > one].sum() < share for one in p])
    ### END SOLUTION


# %%
check("15.2", kept)

# %% [markdown] exercise="why"
# A word stays if the likelier words leave the share unreached. Said so, nothing has to be sorted,
# ties need no rule of their own, and the likeliest word always stays.

# %% [markdown]
# ## 15.3 One number draws a word
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-15-3
# :nonumber:
#
# To draw a word, take a number u from 0 to below 1: the word is the first at which the sum of the
# probabilities, from word 0 up to it, exceeds u. In floats all sums may stay at or below u by
# rounding; then it is the last word whose probability is not 0.
#
# Write `drawn(p, u)` for probabilities of shape `(N,)`, some of which may be 0, and numbers of
# shape `(n,)`; n may be 0. Return the words, whole numbers of shape `(n,)`.
# ```

# %%
def drawn(p, u):
    """The word that each number draws: (n,) whole numbers."""
    ### BEGIN SOLUTION
    words = np.searchsorted(np.cumsum(p), u, side="right")
    return np.minimum(words, np.flatnonzero(p)[-1])
    ### END SOLUTION


# %%
check("15.3", drawn)

# %% [markdown] exercise="why"
# “Exceeds” and not “reaches”: with u = 0 a word of probability 0 in front would come otherwise. The
# other end needs care for a different reason: ten times 0.1, added up in floats, is less than 1.

# %% [markdown]
# ## 15.4 Why it repeats itself
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-15-4
# :nonumber:
#
# A model sees the last word only, and writes greedily: after word i it always writes
# `following[i]`. There are N words, at most 100 000, and each call has five seconds. Predict what
# comes of it: why does it end in a loop, whatever the table? It writes `start`, and then on without
# end; some words stand before the loop, perhaps none, and then the same words come again and again.
#
# Write `loop(following, start)` for an array of N whole numbers from 0 to N − 1. Return two
# numbers: how many words stand before the loop, `start` being the first of them if it is not in the
# loop, and how many words the loop has, at least one.
# ```

# %%
def loop(following, start):
    """Words before the loop, and words in it: two numbers."""
    ### BEGIN SOLUTION
    places, word = {}, start
    while word not in places:
        places[word] = len(places)
        word = following[word]
    return places[word], len(places) - places[word]
    ### END SOLUTION


# %%
check("15.4", loop)

# %% [markdown] exercise="why"
# There are N words, so of the first N + 1 that are written two are equal, and what followed the
# first follows the second. A model that sees the last n words has Nⁿ states instead of N, which is
# far more, and still finite. A draw breaks the loop because the same state has several successors.

# %% [markdown]
# ## 15.5 What a cache saves
#
# ```{exercise} ★ warm-up, 8 minutes
# :label: ex-15-5
# :nonumber:
#
# One head of a decoder reads a prompt, and words are written, one a pass. Predict how many scores
# it computes. A pass over T words without a cache computes T × T scores, those under the mask too.
# With a cache the first pass reads the prompt in the same way; every later pass reads one new word,
# which attends to all words up to itself.
#
# Write `counted(n_prompt, n_tokens)`. Both are from 1 to a million. Return two whole numbers: how
# many scores are computed until `n_tokens` words are written, with a cache and without.
# ```

# %%
def counted(n_prompt, n_tokens):
    """Scores with a cache, and without: two numbers."""
    ### BEGIN SOLUTION
    read = range(n_prompt, n_prompt + n_tokens)  # words, in each pass
    return n_prompt**2 + sum(read[1:]), sum(n**2 for n in read)
    ### END SOLUTION


# %%
check("15.5", counted)

# %% [markdown] exercise="why"
# The sum of squares grows with the cube of the length, the sum of lengths with its square. For one
# word as prompt and eighteen written words it is 2,109 scores against 171.

# %% [markdown]
# ## 15.6 A step of a beam
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-15-6
# :nonumber:
#
# Beam search goes on with B texts. `totals`, of shape `(B,)`, are the logarithms of their
# probabilities, and `logs`, of shape `(B, N)`, those of the next word after each, −∞ for a word
# that cannot come. Where `ended`, of shape `(B,)`, is True, a text has ended: it is not
# continued, and goes on competing with its total. All others compete with all their continuations.
#
# Write `beam_step(totals, logs, ended, width)`. Return three arrays for the best: which text it
# comes from, its new word, −1 for one that has ended, and its total. The best comes first. Of equal
# totals the earlier text comes first, and of these the smaller word. There are `width` of them,
# or fewer if no more can come; at least one can. Sums are exact.
# ```

# %%
def beam_step(totals, logs, ended, width):
    """Texts, words and totals of the best: three arrays."""
    ### BEGIN SOLUTION
    found = []
    for i, total in enumerate(totals):
        if ended[i]:
            found.append((-total, i, -1))
        else:
            words = np.flatnonzero(logs[i] > -np.inf)
            found += [(-total - logs[i, word], i, word) for word in words]
    best = np.array(sorted(found)[:width])
    return best[:, 1].astype(int), best[:, 2].astype(int), -best[:, 0]
    ### END SOLUTION


# %%
check("15.6", beam_step)

# %% [markdown] exercise="why"
# Two continuations of one text may push another text out. A total never rises as a text grows, so
# texts that ended early have an advantage; that is why many programs divide by the
# length.

# %% [markdown]
# ## 15.7 A draft, and what is missing
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-15-7
# :nonumber:
#
# A small model, the draft, proposes a word by its probabilities q. A large one, with p, accepts
# it, word x with the chance min(1, p(x)/q(x)). After a rejection a word is drawn from what is
# missing: from p − min(p, q), divided by its sum. Then the written word has the probabilities p.
#
# Write `speculate(p, q)` for two arrays of shape `(..., N)`, whose rows add up to 1; some of their
# numbers may be 0. Return two arrays: the chance that a proposal is accepted, of shape `(...)`, and
# the probabilities after a rejection, of shape `(..., N)`. Where p and q agree in every word
# nothing is rejected; return p there.
# ```

# %%
def speculate(p, q):
    """Chance of acceptance, and what comes else: (...) and (..., N)."""
    ### BEGIN SOLUTION
    both = np.minimum(p, q)
    missing = p - both
    rejected = missing.sum(axis=-1, keepdims=True)
    shares = missing / np.where(rejected > 0, rejected, 1)
    return both.sum(axis=-1), np.where(rejected > 0, shares, p)
    ### END SOLUTION


# %%
check("15.7", speculate)

# %% [markdown] exercise="why"
# Word x is accepted with min(p, q) in all, and comes after a rejection with what p has beyond that.
# Both together are p(x), whatever q is. A bad draft costs time; every word keeps its probability.

# %% [markdown]
# ## 15.8 Two rules that disagree
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-15-8
# :nonumber:
#
# “Top-p and min-p both cut off the tail, so they differ little.” Show why this does not follow.
# Find probabilities of n words of which top-p with the given share keeps all n, while min-p with
# the given m keeps one word only. As before, words that tie share one fate with top-p; and min-p
# keeps a word whose probability is at least m times the largest.
#
# Write `disagree(n, share, m)`. Return n probabilities. Leave a little room to both rules: the
# words that are likelier than the least likely one have together at most share − 10⁻⁶, and the
# second largest probability is at most (m − 10⁻⁶) times the largest. n is from 2 to 1000, share and
# m are between 0 and 1, and such that it is possible.
# ```

# %%
def disagree(n, share, m):
    """Probabilities of which top-p keeps all, and min-p one: (n,)."""
    ### BEGIN SOLUTION
    room = 1e-6
    least = 1 / (1 + (m - room) * (n - 1))  # others: m - room times that
    first = (least + share - room) / 2
    return np.append(first, np.full(n - 1, (1 - first) / (n - 1)))
    ### END SOLUTION


# %%
check("15.8", disagree)

# %% [markdown] exercise="why"
# Top-p asks how much the likelier words have together, min-p how one word compares with the
# likeliest. Let one word stand far above all others, which are equal: min-p drops these, and top-p
# keeps them as long as the one stays below the share.
