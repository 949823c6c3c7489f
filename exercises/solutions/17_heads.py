# %% [markdown]
# # Exercises for chapter 17: what heads learn
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
# without solutions: {download}`17_heads.ipynb <../17_heads.ipynb>`.

# %%
import numpy as np

from tformer_book.exercises import check, hint

tokens = np.array([5, 3, 8, 5, 3, 7, 5])

# %% [markdown]
# The last line is a text that repeats itself, to try things on. Each exercise has three hints. The
# first is a nudge, the last comes close to the answer. Ask for them one at a time: `hint("17.1")`,
# then `hint("17.1", 2)`.

# %%
hint("17.1")

# %% [markdown]
# ## 17.1 Votes
#
# ```{exercise} ★ warm-up, 10 minutes
# :label: ex-17-1
# :nonumber:
#
# A model has one layer with one head, and no norm. What the head adds to a word is read as logits
# of N answers. The votes of a word are the logits that it would add if it alone had the weight 1.
# Predict when the attention weights do not matter.
#
# Write `votes(x, w_v, w_o, u, weights)` for S words `x`, of shape `(S, d_model)`; the matrices
# `w_v`, `(d_model, d_v)`, and `w_o`, `(d_v, d_model)`; the unembedding `u`, `(d_model, N)`; and
# `weights` of shape `(T, S)`, 0 or more, whose rows add up to 1. Return the votes of each word,
# `(S, N)`; what the head adds to the logits at each of T positions, `(T, N)`; and True or False:
# would the same answer have the largest of these logits with any other weights, too? S, T and N are
# 1 or more. No two votes of a word are equal.
# ```

# %%
def votes(x, w_v, w_o, u, weights):
    """Votes (S, N), logits (T, N), and whether weights decide nothing."""
    ### BEGIN SOLUTION
    said = x @ (w_v @ w_o @ u)
    favourites = set(said.argmax(axis=1).tolist())
    return said, weights @ said, len(favourites) == 1
    ### END SOLUTION


# %%
check("17.1", votes)

# %% [markdown] exercise="why"
# The logits are a mean of the rows of votes. If all words vote for one answer, it wins with every
# mean, and a right answer says nothing about where the head looks. If two words favour two answers,
# a head that attends to one of them alone names that word's. Without positions the votes of a word
# are the same in every sentence, and can be read off the matrices before any sentence comes.

# %% [markdown]
# ## 17.2 Much weight, little brought
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-17-2
# :nonumber:
#
# A head may give the first word most of its weight while its value is close to 0. A map of weights
# shows what is attended to, and not what is added. Draw another map: of each row, the share of each
# key in what the head adds.
#
# Write `brought(weights, v, w_o)` for `weights` of shape `(..., T, S)`, values `v` of shape
# `(..., S, d_v)` and `w_o` of shape `(d_v, d_model)`. What key s brings to query t is a vector of
# width $d_{model}$; take its length, and divide it by the sum of the lengths of its row. Return
# these shares, `(..., T, S)`. Weights are 0 or more, and need not add up to 1. If all lengths of a
# row are 0, so are its shares. Values may be as small as $10^{-6}$, all of them, and weights as
# small as $10^{-9}$. Axes in front stack, the same ones for weights and values.
# ```

# %%
def brought(weights, v, w_o):
    """The share of each key in what is added: (..., T, S)."""
    ### BEGIN SOLUTION
    lengths = weights * np.linalg.norm(v @ w_o, axis=-1)[..., None, :]
    total = lengths.sum(axis=-1, keepdims=True)
    return lengths / np.where(total > 0, total, 1)
    ### END SOLUTION


# %%
check("17.2", brought)

# %% [markdown] exercise="why"
# A weight of 0.9 on a value of length 0 brings nothing: the head rests there, and what it adds
# comes from the last tenth. This map misleads in another way. Two keys may bring long vectors that
# cancel, and what is brought need not matter to the answer. To know that, change it and look.

# %% [markdown]
# ## 17.3 Where can a patch help?
#
# ```{exercise} ★★ core, 15 minutes
# :label: ex-17-3
# :nonumber:
#
# A model reads a sentence, and then reads it once more with the word at position p exchanged. Its
# answer is read at the last position, after the last block. A patch puts one vector of the second
# run into the first: that of one position, before the first block or after any of the blocks.
# Predict the map of all patches without a run.
#
# Write `patches(masks, p)` for `masks` of shape `(L, T, T)`: True at l, t, s where in block l some
# head lets word t attend to word s. Each block adds to its words, and else works on each by itself.
# Return whole numbers of shape `(L + 1, T)`, one row before the first block and one after each: 2
# where the patch brings the whole answer of the second run, whatever the model's numbers are; 0
# where it changes nothing, whatever they are; 1 elsewhere. If the exchange cannot reach the answer,
# all are 0. Masks need not be causal, nor hold the diagonal; L may be 0 to 100, and T may be 1.
# ```

# %%
def patches(masks, p):
    """What each patch does: 0, 1 or 2, of shape (L + 1, T)."""
    ### BEGIN SOLUTION
    T = masks.shape[1]
    steps = masks | np.eye(T, dtype=bool)  # a word keeps what it is
    hears, tells = [np.arange(T) == p], [np.arange(T) == T - 1]
    for step in steps:
        hears.append(step @ hears[-1])
    for step in steps[::-1]:
        tells.insert(0, tells[0] @ step)
    alive = np.array(hears) & np.array(tells)
    return alive * np.where(alive.sum(axis=1, keepdims=True) == 1, 2, 1)
    ### END SOLUTION


# %%
check("17.3", patches)

# %% [markdown] exercise="why"
# A patch does something only where the exchange arrives and from where the answer is still reached.
# It brings all back where no way leads around it. In a causal model the row before the first block
# has its 2 at p, and the row after the last at the last position, whatever was learnt: neither is a
# discovery. What a map of patches can show lies between them, in the positions with a 1.

# %% [markdown]
# ## 17.4 How much comes back
#
# ```{exercise} ★★ core, 10 minutes
# :label: ex-17-4
# :nonumber:
#
# A model prefers word a to word b in one run, called *clean*. In another run, called *corrupted*,
# it does not (or the other way round). We patch vectors from the clean run into the corrupted one.
# How much of the preference does each patch bring back? Measure it on the log-odds
# $\ln(p_a / p_b)$: the share is 0 if they stay as in the corrupted run, and 1 if they become those
# of the clean run.
#
# Write `recovered(clean, corrupted, patched, a, b)` for logits of the two runs, each of shape
# `(N,)`, and `patched` of shape `(..., N)`, a row of logits for each patch; a and b are two numbers
# of words. Return the shares, `(...)`, a single number for a single row. A share may be negative,
# or above 1. Where the log-odds of the two runs differ by less than $10^{-9}$ there is nothing to
# bring back, and all shares are 0; otherwise they differ by $10^{-3}$ or more. Logits are from
# −1000 to 1000, and may be whole numbers.
# ```

# %%
def recovered(clean, corrupted, patched, a, b):
    """Share of the log-odds that each patch brings back: (...)."""
    ### BEGIN SOLUTION
    runs = clean, corrupted, patched
    before, after, now = (x[..., a] - x[..., b] for x in runs)
    if abs(before - after) < 1e-9:
        return np.zeros(now.shape)
    return (now - after) / (before - after)
    ### END SOLUTION


# %%
check("17.4", recovered)

# %% [markdown] exercise="why"
# Log-odds are a difference of two logits: the sum that the softmax divides by cancels. So other
# words play no part, and what two parts of a model add to the logits is added up. Shares of
# probabilities have neither property. A small gap makes large shares: report it beside them.

# %% [markdown]
# ## 17.5 What would an induction head say?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-17-5
# :nonumber:
#
# A perfect induction head looks for the latest earlier position at which the text read as it does
# now. Then it says what came next there. Predict what it says at each position.
#
# Write `induced(tokens, n)` for T tokens, whole numbers from 0 to 10⁶, and a whole number n from 1
# on. At position t the text stands as at an earlier position s < t if the last n tokens up to t,
# itself included, are the same in the same order as the last n up to s. Return an array of T whole
# numbers: the token that follows the latest such s, −1 where there is none. The two stretches may
# overlap. T is from 0 to 400, and n may be larger.
# ```

# %%
def induced(tokens, n):
    """The token that is copied at each position: integers (T,)."""
    ### BEGIN SOLUTION
    said = np.full(len(tokens), -1)
    for t in range(n, len(tokens)):
        now = tokens[t - n + 1 : t + 1]
        for s in range(n - 1, t):
            if (tokens[s - n + 1 : s + 1] == now).all():
                said[t] = tokens[s + 1]
    return said
    ### END SOLUTION


# %%
check("17.5", induced)

# %% [markdown] exercise="why"
# Nothing is known about the tokens: the rule works on tokens drawn at random, which is how such
# heads are found. After the same token twice in a row, it says that token a third time. A longer
# stretch is found at fewer positions or as many, never at more.

# %% [markdown]
# ## 17.6 Which head moved the answer?
#
# ```{exercise} ★★ core, 12 minutes
# :label: ex-17-6
# :nonumber:
#
# The last block of a model has H heads. After it the vectors go through a last RMSNorm. Their dot
# product with `direction`, the difference of two columns of the unembedding, is then the log-odds
# of two answers. How much does each head move these? The norm stands in the way, because it divides
# by a root that depends on everything. Keep the root as it was, and what remains is a sum of parts.
#
# Write `moves(y, w_o, x, gain, direction)` for the heads' outputs `y`, `(..., H, T, d_v)`; `w_o` of
# shape `(H, d_v, d_model)`; the words `x` after the block, `(..., T, d_model)`, in which the heads
# are contained; the norm's `gain`, `(d_model,)`; and `direction`, `(d_model,)`. Return
# `(..., H, T)`: what each head adds to the log-odds at each word, if the norm divides each word by
# the root mean square of its `x`. Its eps is 0, and no row of x is 0. Axes in front stack.
# ```

# %%
def moves(y, w_o, x, gain, direction):
    """What each head adds to the log-odds: (..., H, T)."""
    ### BEGIN SOLUTION
    root = np.sqrt((x**2).mean(axis=-1))
    return y @ w_o @ (gain * direction) / root[..., None, :]
    ### END SOLUTION


# %%
check("17.6", moves)

# %% [markdown] exercise="why"
# With the root kept, the parts of all that was ever added to a word sum up to the log-odds. That is
# bookkeeping: it says what was written, and not what would happen without it. If a head is cut, the
# root changes, and if it stands in an earlier layer, so does all that reads it.

# %% [markdown]
# ## 17.7 What do these numbers show?
#
# ```{exercise} ★★★ challenge, 20 minutes
# :label: ex-17-7
# :nonumber:
#
# Some heads look as if they repeat what came before, so they are cut. Decide what the losses show.
# Each experiment is made on n texts, so all that is known of a difference is an interval: if its n
# values have the mean μ and the standard deviation σ, with n − 1 below the line, it reaches from
# $\mu - 2 \sigma / \sqrt{n}$ to $\mu + 2 \sigma / \sqrt{n}$. Differences are taken text by text.
#
# Write `shown(repeat, plain, draws, least)`. `repeat` has the shape `(2, n)`: losses on texts that
# repeat themselves, with all heads and with the heads cut. `plain` has the shape `(2, k)`, the same
# for k plain texts. `draws` has the shape `(m, n)`: losses on the repeated texts with as many
# *other* heads cut, drawn m times. n and k are 2 or more, and m may be 0. Return four times True or
# False, of shape `(4,)`:
#
# 1. The heads are needed for the repeat: the rise that the cut makes there lies above 0, with its
#    whole interval.
# 2. It is these heads: the first holds, and the cut's loss lies above that of every draw, with its
#    whole interval. If nothing was drawn, this is not shown.
# 3. The heads are needed for plain text: the rise there lies above 0, with its whole interval.
# 4. Plain text is spared: the interval of the rise there lies between `-least` and `least`, which
#    is above 0.
#
# An interval of length 0 may end on a limit, and then it lies neither above nor between.
# ```

# %%
def shown(repeat, plain, draws, least):
    """Which of four conclusions the losses allow: booleans (4,)."""
    ### BEGIN SOLUTION
    def interval(rise):
        reach = 2 * rise.std(axis=-1, ddof=1) / np.sqrt(rise.shape[-1])
        return rise.mean(axis=-1) - reach, rise.mean(axis=-1) + reach

    needed = interval(repeat[1] - repeat[0])[0] > 0
    others = interval(repeat[1] - draws)[0]
    these = needed and len(draws) > 0 and (others > 0).all()
    low, high = interval(plain[1] - plain[0])
    return np.array([needed, these, low > 0, -least < low and high < least])
    ### END SOLUTION


# %%
check("17.7", shown)

# %% [markdown] exercise="why"
# The second needs draws, because cutting any heads may make a model worse. The fourth is not the
# opposite of the third. Where the interval is wide, neither may be shown: “we found no harm” is not
# “there is none”. Where it is narrow, both may hold: the harm is there, and it is small. Take
# differences text by text. Their intervals can be narrow even where texts differ much.

# %% [markdown]
# ## 17.8 Heads that stand in for each other
#
# ```{exercise} ★★★ challenge, 15 minutes
# :label: ex-17-8
# :nonumber:
#
# Each head of a model was cut by itself, and nothing happened. Still the model may need them: where
# one is missing, another may do its work. Find out what it takes.
#
# Write `needed(loss, n, limit)` for n heads, from 1 to 8. `loss(off)` takes an array of n times
# True or False, True for heads that are cut, and returns the loss. Return two things: the loss with
# that one head cut whose cut makes it largest; and the smallest set of heads, True or False, of
# shape `(n,)`, whose cut takes the loss to `limit` or above. Of several sets of that size take the
# one with the largest loss; no two have the same. The empty set counts as well, and some set
# reaches the limit. To cut one more head may also make the loss smaller.
# ```

# %%
def needed(loss, n, limit):
    """Largest loss with one head cut, and the smallest set, as booleans."""
    ### BEGIN SOLUTION
    sets = [(i >> np.arange(n)) & 1 == 1 for i in range(2**n)]
    single = max(loss(off) for off in sets if off.sum() == 1)
    enough = [off for off in sets if loss(off) >= limit]
    return single, min(enough, key=lambda off: (off.sum(), -loss(off)))
    ### END SOLUTION


# %%
check("17.8", needed)

# %% [markdown] exercise="why"
# Cutting each head by itself finds only what no other head can replace. A search that adds the best
# head first and then the next best can miss a pair in which neither counts alone. A search that
# puts heads back one by one can end at a set that is not the smallest. With 8 heads there are 256
# sets. With 144 heads there are too many to try, so “not needed” is usually said of single cuts.
